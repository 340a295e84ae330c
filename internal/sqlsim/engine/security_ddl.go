package engine

import (
	"context"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
)

func (p *planner) execCreateLogin(ctx context.Context, st *tsql.CreateLogin) error {
	if st.Windows {
		return tsql.Unsupported(st.Line, "Windows logins")
	}
	if err := p.checkServer("ALTER ANY LOGIN", 15247, "User does not have permission to perform this action."); err != nil {
		return err
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	p.srv.mu.RLock()
	l := p.srv.logins[foldName(st.Name)]
	p.srv.mu.RUnlock()
	if st.Alter {
		if l == nil {
			return lineAt(sqlError(15151, 16, 1, "Cannot alter the login '%s', because it does not exist or you do not have permission.", st.Name), st.Pos)
		}
		old := *l
		p.srv.alter(tx, func() {
			if st.HasPassword {
				l.password = st.Password
			}
			if st.DefaultDatabase != "" {
				l.database = st.DefaultDatabase
			}
			if st.Enable != nil {
				l.disabled = !*st.Enable
			}
			for _, o := range st.Options {
				if o.Name == "NAME" {
					delete(p.srv.logins, foldName(l.name))
					l.name = o.Value
					p.srv.logins[foldName(l.name)] = l
				}
			}
		}, func() {
			delete(p.srv.logins, foldName(l.name))
			*l = old
			p.srv.logins[foldName(l.name)] = l
		})
		return nil
	}
	if l != nil {
		return lineAt(sqlError(15025, 16, 1, "The server principal '%s' already exists.", st.Name), st.Pos)
	}
	p.srv.alter(tx, func() {
		l = p.srv.addLogin(st.Name, st.Password)
		if st.DefaultDatabase != "" {
			l.database = st.DefaultDatabase
		}
	}, func() { delete(p.srv.logins, foldName(st.Name)) })
	return nil
}

func (p *planner) execCreateUser(ctx context.Context, st *tsql.CreateUser) error {
	if st.External || st.Password != "" {
		return tsql.Unsupported(st.Line, "contained and external users")
	}
	db := p.db
	if err := p.checkDatabase(db, "ALTER ANY USER"); err != nil {
		return err
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	p.srv.mu.RLock()
	u := db.principalNamed(st.Name)
	name := st.Login
	if name == "" {
		name = st.Name
	}
	l := p.srv.logins[foldName(name)]
	p.srv.mu.RUnlock()
	if st.Alter {
		if u == nil || u.role {
			return lineAt(sqlError(15151, 16, 1, "Cannot alter the user '%s', because it does not exist or you do not have permission.", st.Name), st.Pos)
		}
		old := *u
		p.srv.alter(tx, func() {
			if st.DefaultSchema != "" {
				u.defaultSchema = st.DefaultSchema
			}
			if st.NewName != "" {
				u.name = st.NewName
			}
			if st.Login != "" {
				u.login = l
			}
		}, func() { *u = old })
		return nil
	}
	if u != nil {
		return lineAt(sqlError(15023, 16, 1, "User, group, or role '%s' already exists in the current database.", st.Name), st.Pos)
	}
	if !st.WithoutLogin {
		if l == nil {
			return lineAt(sqlError(15007, 16, 1, "'%s' is not a valid login or you do not have permission.", name), st.Pos)
		}
		p.srv.mu.RLock()
		for _, other := range db.principals {
			if !other.role && other.login == l && !(other.id == 1 && db.owner != l) {
				p.srv.mu.RUnlock()
				return lineAt(sqlError(15063, 16, 1, "The login already has an account under a different user name."), st.Pos)
			}
		}
		p.srv.mu.RUnlock()
	}
	nu := &principal{name: st.Name, defaultSchema: st.DefaultSchema, created: p.srv.clock.Now().UTC(), withoutLogin: st.WithoutLogin}
	if nu.defaultSchema == "" {
		nu.defaultSchema = "dbo"
	}
	if !st.WithoutLogin {
		nu.login = l
	}
	p.srv.alter(tx, func() {
		nu.id = db.nextUser
		db.nextUser++
		db.principals[nu.id] = nu
		db.grants = append(db.grants[:len(db.grants):len(db.grants)], &grantRow{class: 0, grantee: nu, grantor: db.principals[1], permission: "CONNECT", state: "GRANT"})
	}, func() {
		delete(db.principals, nu.id)
		db.dropGrants(nu)
	})
	return nil
}

// dropGrants removes what a principal was granted.
func (db *database) dropGrants(u *principal) {
	var keep []*grantRow
	for _, g := range db.grants {
		if g.grantee != u {
			keep = append(keep, g)
		}
	}
	db.grants = keep
}

func (p *planner) execCreateRole(ctx context.Context, st *tsql.CreateRole) error {
	if st.Server {
		return tsql.Unsupported(st.Line, "user-defined server roles")
	}
	db := p.db
	if !p.databasePermitted(db, "CREATE ROLE") {
		return lineAt(sqlError(15247, 16, 1, "User does not have permission to perform this action."), st.Pos)
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	p.srv.mu.RLock()
	exists := db.principalNamed(st.Name)
	owner := p.userIn2(db)
	if st.Owner != "" {
		owner = db.principalNamed(st.Owner)
	}
	p.srv.mu.RUnlock()
	if exists != nil {
		return lineAt(sqlError(15023, 16, 1, "User, group, or role '%s' already exists in the current database.", st.Name), st.Pos)
	}
	if owner == nil {
		return lineAt(sqlError(15151, 16, 1, "Cannot find the principal '%s', because it does not exist or you do not have permission.", st.Owner), st.Pos)
	}
	r := &principal{name: st.Name, role: true, owner: owner, created: p.srv.clock.Now().UTC()}
	p.srv.alter(tx, func() {
		r.id = db.nextUser
		db.nextUser++
		db.principals[r.id] = r
	}, func() { delete(db.principals, r.id) })
	return nil
}

// userIn2 is userIn, dbo when there is none.
func (p *planner) userIn2(db *database) *principal {
	if u := p.userIn(db); u != nil {
		return u
	}
	return db.principals[1]
}

func (p *planner) execAlterRole(ctx context.Context, st *tsql.AlterRole) error {
	if st.Server {
		return p.alterServerRole(ctx, st)
	}
	db := p.db
	if !p.databasePermitted(db, "ALTER ANY ROLE") {
		return lineAt(sqlError(15151, 16, 1, "Cannot alter the role '%s', because it does not exist or you do not have permission.", st.Name), st.Pos)
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	p.srv.mu.RLock()
	r := db.principalNamed(st.Name)
	m := db.principalNamed(st.Member)
	p.srv.mu.RUnlock()
	if r == nil || !r.role {
		return lineAt(sqlError(15151, 16, 1, "Cannot alter the role '%s', because it does not exist or you do not have permission.", st.Name), st.Pos)
	}
	if st.Action == "NAME" {
		old := r.name
		p.srv.alter(tx, func() { r.name = st.NewName }, func() { r.name = old })
		return nil
	}
	if m == nil {
		return lineAt(sqlError(15151, 16, 1, "Cannot add the principal '%s', because it does not exist or you do not have permission.", st.Member), st.Pos)
	}
	if m.id == 1 {
		return lineAt(sqlError(15405, 16, 1, "Cannot use the special principal '%s'.", m.name), st.Pos)
	}
	before := m.memberOf
	if st.Action == "ADD" {
		if m == r || roles(r)[m] {
			return lineAt(sqlError(15413, 11, 1, "Cannot make a role a member of itself."), st.Pos)
		}
		if roles(m)[r] {
			for _, x := range m.memberOf {
				if x == r {
					return nil
				}
			}
		}
		p.srv.alter(tx, func() { m.memberOf = append(before[:len(before):len(before)], r) }, func() { m.memberOf = before })
		return nil
	}
	p.srv.alter(tx, func() { m.memberOf = without(before, r) }, func() { m.memberOf = before })
	return nil
}

func (p *planner) alterServerRole(ctx context.Context, st *tsql.AlterRole) error {
	if err := p.checkServer("ALTER ANY SERVER ROLE", 15151, "Cannot alter the server role '"+st.Name+"', because it does not exist or you do not have permission."); err != nil {
		return err
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	p.srv.mu.RLock()
	l := p.srv.logins[foldName(st.Member)]
	p.srv.mu.RUnlock()
	known := false
	for _, r := range serverRoles {
		known = known || r == foldName(st.Name)
	}
	if !known {
		return lineAt(sqlError(15151, 16, 1, "Cannot alter the server role '%s', because it does not exist or you do not have permission.", st.Name), st.Pos)
	}
	if l == nil {
		return lineAt(sqlError(15151, 16, 1, "Cannot add the principal '%s', because it does not exist or you do not have permission.", st.Member), st.Pos)
	}
	old := l.serverIn
	roles := map[string]bool{}
	for k, v := range old {
		roles[k] = v
	}
	if st.Action == "ADD" {
		roles[foldName(st.Name)] = true
	} else {
		delete(roles, foldName(st.Name))
	}
	p.srv.alter(tx, func() { l.serverIn = roles }, func() { l.serverIn = old })
	return nil
}

// objectPermissions are what ALL stands for, and which permissions an object can have.
func objectPermissions(kind string) []string {
	switch kind {
	case "P", "FN":
		return []string{"EXECUTE"}
	case "IF", "TF":
		return []string{"SELECT"}
	case "SO":
		return []string{"UPDATE"}
	}
	return []string{"SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES"}
}

func (p *planner) execPermission(ctx context.Context, st *tsql.Permission) error {
	if len(st.Columns) > 0 {
		return tsql.Unsupported(st.Line, "permissions on columns")
	}
	db := p.db
	if st.Object.Database != "" {
		if db = p.srv.findDatabase(st.Object.Database); db == nil {
			return lineAt(sqlError(911, 16, 1, "Database '%s' does not exist. Make sure that the name is entered correctly.", st.Object.Database), st.Pos)
		}
	}
	class, major := 0, int32(0)
	kind := ""
	var owner *principal
	missing := func(what string) error {
		return lineAt(sqlError(15151, 16, 1, "Cannot find the %s '%s', because it does not exist or you do not have permission.", what, st.Object.Name), st.Pos)
	}
	switch st.Class {
	case "", "DATABASE":
		if st.Class == "DATABASE" && st.Object.Name != "" {
			if db = p.srv.findDatabase(st.Object.Name); db == nil {
				return missing("database")
			}
		}
		if st.Class == "" && st.Object.Name != "" {
			o, err := p.objectFor(st.Object)
			if err != nil || o == nil {
				return missing("object")
			}
			class, major, kind, owner, db = 1, o.id, o.kind, o.ownerID(), o.db
		}
	case "OBJECT":
		o, err := p.objectFor(st.Object)
		if err != nil || o == nil {
			return missing("object")
		}
		class, major, kind, owner, db = 1, o.id, o.kind, o.ownerID(), o.db
	case "SCHEMA":
		p.srv.mu.RLock()
		s := db.schemaNamed(st.Object.Name)
		p.srv.mu.RUnlock()
		if s == nil {
			return missing("schema")
		}
		class, major, owner = 3, s.id, s.owner
	case "TYPE":
		t := p.typeNamed(st.Object.Schema, st.Object.Name)
		if t == nil {
			return missing("type")
		}
		class, major, owner = 6, t.id, t.schema.owner
	case "USER", "ROLE":
		p.srv.mu.RLock()
		u := db.principalNamed(st.Object.Name)
		p.srv.mu.RUnlock()
		if u == nil {
			return missing(strings.ToLower(st.Class))
		}
		class, major = 4, u.id
	case "SERVER":
		return p.serverPermission(ctx, st)
	default:
		return tsql.Unsupported(st.Line, "permissions on %s", st.Class)
	}
	if st.Class == "" && st.Object.Name == "" {
		server := len(st.Permissions) > 0
		for _, perm := range st.Permissions {
			server = server && serverPermissions[perm]
		}
		if server {
			return p.serverPermission(ctx, st)
		}
	}
	me := p.userIn(db)
	mayGrant := p.all(db) || owner != nil && me == owner || me != nil && inRole(me, "db_securityadmin")
	if !mayGrant && me != nil {
		p.srv.mu.RLock()
		mine := roles(me)
		mine[me] = true
		for _, g := range db.grants {
			if mine[g.grantee] && g.state == "GRANT_WITH_GRANT_OPTION" && g.class == class && g.major == major || mine[g.grantee] && g.permission == "CONTROL" && g.state != "DENY" && (g.class == 0 || g.class == class && g.major == major) {
				mayGrant = true
			}
		}
		p.srv.mu.RUnlock()
	}
	if !mayGrant {
		if class == 0 {
			return lineAt(sqlError(4613, 16, 1, "Grantor does not have GRANT permission."), st.Pos)
		}
		return missing("object")
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	var grantees []*principal
	p.srv.mu.RLock()
	for _, n := range st.Principals {
		u := db.principalNamed(n)
		if u == nil {
			p.srv.mu.RUnlock()
			return lineAt(sqlError(15151, 16, 1, "Cannot find the user '%s', because it does not exist or you do not have permission.", n), st.Pos)
		}
		if u.id == 1 || u.id == 3 || u.id == 4 {
			p.srv.mu.RUnlock()
			return lineAt(sqlError(4624, 16, 1, "Cannot grant, deny, or revoke permissions to sa, dbo, entity owner, information_schema, sys, or yourself."), st.Pos)
		}
		grantees = append(grantees, u)
	}
	p.srv.mu.RUnlock()
	var perms []string
	for _, perm := range st.Permissions {
		if perm == "EXEC" {
			perm = "EXECUTE"
		}
		if perm == "ALL" || perm == "ALL PRIVILEGES" {
			perms = append(perms, objectPermissions(kind)...)
			continue
		}
		if class == 1 && !objectCanHave(kind, perm) {
			return lineAt(sqlError(4629, 16, 1, "Granted or revoked privilege %s is not compatible with object.", perm), st.Pos)
		}
		perms = append(perms, perm)
	}
	before := db.grants
	after := append([]*grantRow(nil), before...)
	for _, u := range grantees {
		for _, perm := range perms {
			var keep []*grantRow
			for _, g := range after {
				if g.grantee == u && g.permission == perm && g.class == class && g.major == major {
					if st.Action == "REVOKE" && st.GrantOption && g.state == "GRANT_WITH_GRANT_OPTION" {
						c := *g
						c.state = "GRANT"
						keep = append(keep, &c)
					}
					continue
				}
				keep = append(keep, g)
			}
			after = keep
			if st.Action == "REVOKE" {
				continue
			}
			state := st.Action
			if st.Action == "GRANT" && st.GrantOption {
				state = "GRANT_WITH_GRANT_OPTION"
			}
			grantor := owner
			if grantor == nil {
				grantor = db.principals[1]
			}
			after = append(after, &grantRow{class: class, major: major, grantee: u, grantor: grantor, permission: perm, state: state})
		}
	}
	p.srv.alter(tx, func() { db.grants = after }, func() { db.grants = before })
	return nil
}

func objectCanHave(kind, perm string) bool {
	switch perm {
	case "CONTROL", "ALTER", "VIEW DEFINITION", "TAKE OWNERSHIP", "REFERENCES":
		return true
	case "VIEW CHANGE TRACKING":
		return kind == "U"
	}
	for _, k := range objectPermissions(kind) {
		if k == perm {
			return true
		}
	}
	return kind == "SN" && (perm == "EXECUTE" || perm == "SELECT")
}

// serverPermissions are the permissions on the server that are known.
var serverPermissions = map[string]bool{
	"VIEW SERVER STATE": true, "VIEW SERVER PERFORMANCE STATE": true, "VIEW ANY DATABASE": true, "CONNECT SQL": true, "ALTER ANY LOGIN": true,
	"CREATE ANY DATABASE": true, "ALTER ANY CONNECTION": true, "VIEW ANY DEFINITION": true, "CONTROL SERVER": true, "ALTER TRACE": true, "ALTER SERVER STATE": true,
}

// serverPermission grants a permission on the server. Those that this server checks are
// those of fixed roles; the others have no effect here.
func (p *planner) serverPermission(ctx context.Context, st *tsql.Permission) error {
	if err := p.checkServer("CONTROL SERVER", 4613, "Grantor does not have GRANT permission."); err != nil {
		return err
	}
	for _, perm := range st.Permissions {
		switch perm {
		case "VIEW SERVER STATE", "VIEW SERVER PERFORMANCE STATE", "VIEW ANY DATABASE", "CONNECT SQL", "VIEW ANY DEFINITION":
		default:
			return tsql.Unsupported(st.Line, "the server permission %s; use a server role", perm)
		}
	}
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	for _, n := range st.Principals {
		if p.srv.logins[foldName(n)] == nil {
			return lineAt(sqlError(15151, 16, 1, "Cannot find the login '%s', because it does not exist or you do not have permission.", n), st.Pos)
		}
	}
	return nil
}

// objectFor finds an object of any kind by name, without following synonyms.
func (p *planner) objectFor(name tsql.ObjectName) (*object, error) { return p.lookup(name) }

func (p *planner) execAlterAuthorization(ctx context.Context, st *tsql.AlterAuthorization) error {
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	if strings.EqualFold(st.Class, "DATABASE") {
		db := p.srv.findDatabase(st.Object.Name)
		p.srv.mu.RLock()
		l := p.srv.logins[foldName(st.Principal)]
		p.srv.mu.RUnlock()
		if db == nil || l == nil {
			return lineAt(sqlError(15151, 16, 1, "Cannot find the principal '%s', because it does not exist or you do not have permission.", st.Principal), st.Pos)
		}
		if err := p.checkServer("CONTROL SERVER", 15247, "User does not have permission to perform this action."); err != nil {
			return err
		}
		old, oldLogin := db.owner, db.principals[1].login
		p.srv.alter(tx, func() { db.owner, db.principals[1].login = l, l }, func() { db.owner, db.principals[1].login = old, oldLogin })
		return nil
	}
	db := p.db
	if err := p.checkDatabase(db, "CONTROL"); err != nil {
		return err
	}
	p.srv.mu.RLock()
	u := db.principalNamed(st.Principal)
	s := db.schemaNamed(st.Object.Name)
	r := db.principalNamed(st.Object.Name)
	p.srv.mu.RUnlock()
	if u == nil && !st.SchemaOwner {
		return lineAt(sqlError(15151, 16, 1, "Cannot find the principal '%s', because it does not exist or you do not have permission.", st.Principal), st.Pos)
	}
	switch strings.ToUpper(st.Class) {
	case "SCHEMA":
		if s == nil {
			return lineAt(sqlError(15151, 16, 1, "Cannot find the schema '%s', because it does not exist or you do not have permission.", st.Object.Name), st.Pos)
		}
		old := s.owner
		p.srv.alter(tx, func() { s.owner = u }, func() { s.owner = old })
	case "ROLE":
		if r == nil || !r.role {
			return lineAt(sqlError(15151, 16, 1, "Cannot find the role '%s', because it does not exist or you do not have permission.", st.Object.Name), st.Pos)
		}
		old := r.owner
		p.srv.alter(tx, func() { r.owner = u }, func() { r.owner = old })
	case "", "OBJECT":
		o, err := p.lookup(st.Object)
		if err != nil || o == nil {
			return lineAt(sqlError(15151, 16, 1, "Cannot find the object '%s', because it does not exist or you do not have permission.", st.Object.Name), st.Pos)
		}
		old := o.owner
		p.srv.alter(tx, func() { o.owner = u }, func() { o.owner = old })
	default:
		return tsql.Unsupported(st.Line, "ALTER AUTHORIZATION ON %s", st.Class)
	}
	return nil
}
