package engine

import (
	"context"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// securityContext is one impersonation.
type securityContext struct {
	user     *principal // in db; nil for a login
	db       *database
	login    *login
	noRevert bool
}

// userIn returns the user that the session is in a database, nil if it may not be there.
func (p *planner) userIn(db *database) *principal {
	if n := len(p.contexts); n > 0 {
		c := p.contexts[n-1]
		if c.user != nil {
			if c.db == db {
				return c.user
			}
			if db.id == 2 || db.id == 1 {
				return db.principals[2]
			}
			if c.login == nil || !c.db.trust {
				return nil
			}
		}
	}
	lg := p.login
	if lg == nil {
		return nil
	}
	if lg.sysadmin() || db.owner == lg {
		return db.principals[1]
	}
	for _, u := range db.principals {
		if !u.role && u.login == lg {
			return u
		}
	}
	if db.id <= 2 || db.id == 4 {
		return db.principals[2] // guest
	}
	return nil
}

// all reports whether the session may do anything in a database.
func (p *planner) all(db *database) bool {
	u := p.userIn(db)
	return u != nil && (u.id == 1 || inRole(u, "db_owner"))
}

// roles are the roles of a principal, nested ones too.
func roles(u *principal) map[*principal]bool {
	set := map[*principal]bool{}
	var walk func(u *principal)
	walk = func(u *principal) {
		for _, r := range u.memberOf {
			if !set[r] {
				set[r] = true
				walk(r)
			}
		}
	}
	walk(u)
	return set
}

func inRole(u *principal, name string) bool {
	for r := range roles(u) {
		if foldName(r.name) == foldName(name) {
			return true
		}
	}
	return false
}

// implying are the permissions on an object that include another.
func implying(permission string) []string {
	list := []string{permission, "CONTROL"}
	switch permission {
	case "VIEW DEFINITION":
		list = append(list, "ALTER", "TAKE OWNERSHIP")
	}
	return list
}

// permitted reports whether a principal has a permission on an object.
func (p *planner) permitted(o *object, permission string) bool {
	db := o.db
	u := p.userIn(db)
	if u == nil {
		return false
	}
	if u.id == 1 {
		return true
	}
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	mine := roles(u)
	mine[u] = true
	mine[db.principals[0]] = true
	owner := o.ownerID()
	for r := range mine {
		if r == owner {
			return true
		}
		if r.fixed && r.role && r.name == "db_owner" {
			return true
		}
	}
	granted := false
	for r := range mine {
		if !r.fixed || !r.role {
			continue
		}
		data := o.kind == "U" || o.kind == "V" || o.kind == "TF" || o.kind == "IF" || o.kind == "SN"
		switch r.name {
		case "db_datareader":
			granted = granted || permission == "SELECT" && data
		case "db_datawriter":
			granted = granted || data && (permission == "INSERT" || permission == "UPDATE" || permission == "DELETE")
		case "db_ddladmin":
			granted = granted || permission == "ALTER" || permission == "REFERENCES"
		case "db_denydatareader":
			if permission == "SELECT" && data {
				return false
			}
		case "db_denydatawriter":
			if data && (permission == "INSERT" || permission == "UPDATE" || permission == "DELETE") {
				return false
			}
		}
	}
	for _, g := range db.grants {
		if !mine[g.grantee] {
			continue
		}
		match := g.class == 0 || g.class == 3 && g.major == o.schema.id || g.class == 1 && g.major == o.id
		if o.kind == "TYPE" {
			match = g.class == 0 || g.class == 3 && g.major == o.schema.id || g.class == 6 && g.major == o.id
		}
		if !match {
			continue
		}
		for _, want := range implying(permission) {
			if g.permission != want {
				continue
			}
			if g.state == "DENY" {
				return false
			}
			granted = true
		}
	}
	return granted
}

// databasePermitted reports whether the session has a permission on a database.
func (p *planner) databasePermitted(db *database, permission string) bool {
	u := p.userIn(db)
	if u == nil {
		return false
	}
	if u.id == 1 {
		return true
	}
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	mine := roles(u)
	mine[u] = true
	mine[db.principals[0]] = true
	granted := permission == "CONNECT"
	for r := range mine {
		if !r.fixed || !r.role {
			continue
		}
		switch r.name {
		case "db_owner":
			return true
		case "db_ddladmin":
			granted = granted || strings.HasPrefix(permission, "CREATE ") && permission != "CREATE ROLE" || strings.HasPrefix(permission, "ALTER ANY SCHEMA")
		case "db_securityadmin":
			granted = granted || permission == "CREATE ROLE" || permission == "ALTER ANY ROLE" || permission == "VIEW DEFINITION"
		case "db_accessadmin":
			granted = granted || permission == "ALTER ANY USER" || permission == "CREATE SCHEMA"
		}
	}
	for _, g := range db.grants {
		if g.class != 0 || !mine[g.grantee] {
			continue
		}
		if g.permission == permission || g.permission == "CONTROL" || g.permission == "ALTER" && strings.HasPrefix(permission, "CREATE ") {
			if g.state == "DENY" {
				return false
			}
			granted = true
		}
	}
	return granted
}

// checkObject is error 229.
func (p *planner) checkObject(o *object, permission string) error {
	if o.system || p.permitted(o, permission) {
		return nil
	}
	return sqlError(229, 14, 5, "The %s permission was denied on the object '%s', database '%s', schema '%s'.", permission, o.name, o.db.name, o.schema.name)
}

// checkAll checks what a plan needs.
func (p *planner) checkAll(list []permissionCheck) error {
	for _, c := range list {
		if err := p.checkObject(c.obj, c.permission); err != nil {
			return err
		}
	}
	return nil
}

// checkAlter fails with the given error unless the session may alter an object.
func (p *planner) checkAlter(o *object, number int32, message string) error {
	if o.table != nil && o.table.temporary || p.permitted(o, "ALTER") {
		return nil
	}
	if strings.Contains(message, "%s") {
		return sqlError(number, 16, 1, message, o.name)
	}
	return sqlError(number, 16, 1, "%s", message)
}

// checkCreate is error 262, or 2760: creating needs the permission in the database and
// ALTER on the schema.
func (p *planner) checkCreate(db *database, s *schema, permission string) error {
	if permission == "" || p.all(db) {
		return nil
	}
	if !p.databasePermitted(db, permission) {
		return sqlError(262, 14, 1, "%s permission denied in database '%s'.", permission, db.name)
	}
	u := p.userIn(db)
	if s == nil || s.owner == u || inRole(u, "db_ddladmin") {
		return nil
	}
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	mine := roles(u)
	mine[u] = true
	for _, g := range db.grants {
		if mine[g.grantee] && (g.class == 3 && g.major == s.id || g.class == 0) && (g.permission == "ALTER" || g.permission == "CONTROL") && g.state != "DENY" {
			return nil
		}
	}
	return sqlError(2760, 16, 1, "The specified schema name \"%s\" either does not exist or you do not have permission to use it.", s.name)
}

// checkDatabase is error 15247 or 262 for what needs a database permission.
func (p *planner) checkDatabase(db *database, permission string) error {
	if p.databasePermitted(db, permission) {
		return nil
	}
	return sqlError(15247, 16, 1, "User does not have permission to perform this action.")
}

// checkServer fails unless the login is a sysadmin, or in the server role that allows it.
func (p *planner) checkServer(permission string, number int32, message string) error {
	if p.login != nil && p.login.sysadmin() && !p.impersonatesUser() {
		return nil
	}
	if p.login != nil && !p.impersonatesUser() {
		switch {
		case permission == "CREATE ANY DATABASE" && p.login.serverIn["dbcreator"],
			permission == "ALTER ANY LOGIN" && p.login.serverIn["securityadmin"],
			permission == "ALTER ANY CONNECTION" && p.login.serverIn["processadmin"]:
			return nil
		}
	}
	return sqlError(number, 14, 1, "%s", message)
}

func (p *planner) impersonatesUser() bool {
	n := len(p.contexts)
	return n > 0 && p.contexts[n-1].user != nil
}

// defaultSchema is the schema in which the session's one-part names resolve first.
func (p *planner) defaultSchema(db *database) string {
	if u := p.userIn(db); u != nil && u.defaultSchema != "" {
		return u.defaultSchema
	}
	return "dbo"
}

// impersonateModule switches to the principal of EXECUTE AS in a module.
func (p *planner) impersonateModule(m *module) error {
	db := p.srv.findDatabase(m.database)
	p.srv.mu.RLock()
	o := db.objects[m.id]
	p.srv.mu.RUnlock()
	var u *principal
	switch {
	case m.executeAs == "OWNER":
		if o != nil {
			u = o.ownerID()
		}
	case m.executeAs == "SELF":
		u, _ = m.owner.(*principal)
		if u == nil && o != nil {
			u = o.ownerID()
		}
	default:
		name := strings.Trim(m.executeAs, "'")
		p.srv.mu.RLock()
		u = db.principalNamed(name)
		p.srv.mu.RUnlock()
		if u == nil || u.role {
			return sqlError(15517, 16, 1, "Cannot execute as the database principal because the principal \"%s\" does not exist, this type of principal cannot be impersonated, or you do not have permission.", name)
		}
	}
	if u == nil {
		return nil
	}
	p.contexts = append(p.contexts[:len(p.contexts):len(p.contexts)], securityContext{user: u, db: db, login: u.login})
	if u.login != nil {
		p.login = u.login
	}
	return nil
}

// executeAs is the statement EXECUTE AS.
func (p *planner) executeAs(ctx context.Context, kind, name string, noRevert bool) error {
	switch kind {
	case "CALLER":
		return nil
	case "LOGIN":
		p.srv.mu.RLock()
		l := p.srv.logins[foldName(name)]
		p.srv.mu.RUnlock()
		if l == nil || !p.login.sysadmin() && l != p.login {
			return sqlError(15406, 16, 1, "Cannot execute as the server principal because the principal \"%s\" does not exist, this type of principal cannot be impersonated, or you do not have permission.", name)
		}
		p.contexts = append(p.contexts[:len(p.contexts):len(p.contexts)], securityContext{login: p.login, noRevert: noRevert})
		p.login = l
		return nil
	}
	db := p.db
	p.srv.mu.RLock()
	u := db.principalNamed(name)
	p.srv.mu.RUnlock()
	if u == nil || u.role || !p.all(db) && p.userIn(db) != u {
		allowed := false
		if u != nil && !u.role {
			me := p.userIn(db)
			p.srv.mu.RLock()
			for _, g := range db.grants {
				if g.class == 4 && g.major == u.id && g.grantee == me && g.permission == "IMPERSONATE" && g.state != "DENY" {
					allowed = true
				}
			}
			p.srv.mu.RUnlock()
		}
		if !allowed {
			return sqlError(15517, 16, 1, "Cannot execute as the database principal because the principal \"%s\" does not exist, this type of principal cannot be impersonated, or you do not have permission.", name)
		}
	}
	p.contexts = append(p.contexts[:len(p.contexts):len(p.contexts)], securityContext{user: u, db: db, login: p.login, noRevert: noRevert})
	if u.login != nil {
		p.login = u.login
	}
	return nil
}

// revert is REVERT: it ends the last EXECUTE AS; without one it does nothing.
func (p *planner) revert() error {
	n := len(p.contexts)
	if n == 0 {
		return nil
	}
	c := p.contexts[n-1]
	if c.noRevert {
		return sqlError(15196, 16, 1, "The current security context is non-revertible. The \"Revert\" statement failed.")
	}
	p.contexts = p.contexts[:n-1]
	p.login = c.login
	if p.login == nil {
		p.login = p.original
	}
	return nil
}

func (p *planner) currentUser() string {
	if u := p.userIn(p.db); u != nil {
		return u.name
	}
	return "guest"
}

func (p *planner) loginName() string {
	if n := len(p.contexts); n > 0 && p.contexts[n-1].user != nil && p.contexts[n-1].user.login == nil {
		return "S-1-9-3-" + p.contexts[n-1].user.name
	}
	if p.login == nil {
		return ""
	}
	return p.login.name
}

func (p *planner) originalLogin() string { return p.original.name }

func (p *planner) isMember(role string) (member, ok bool) { return p.isRoleMember(role, "") }

func (p *planner) isRoleMember(role, name string) (member, ok bool) {
	u := p.userIn(p.db)
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	if name != "" {
		u = p.db.principalNamed(name)
	}
	r := p.db.principalNamed(role)
	if u == nil || r == nil || !r.role {
		return false, false
	}
	if r.id == 0 {
		return true, true
	}
	if u.id == 1 && r.name == "db_owner" {
		return true, true
	}
	return roles(u)[r], true
}

func (p *planner) isServerRoleMember(role, name string) (member, ok bool) {
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	l := p.login
	if name != "" {
		l = p.srv.logins[foldName(name)]
	}
	known := false
	for _, r := range serverRoles {
		known = known || r == foldName(role)
	}
	if l == nil || !known {
		return false, false
	}
	return foldName(role) == "public" || l.serverIn[foldName(role)] || l.sysadmin() && foldName(role) == "sysadmin", true
}

// serverRoles are the fixed server roles.
var serverRoles = []string{"public", "sysadmin", "securityadmin", "serveradmin", "setupadmin", "processadmin", "diskadmin", "dbcreator", "bulkadmin"}

// hasPermission is HAS_PERMS_BY_NAME.
func (p *planner) hasPermission(securable, class, permission string) (value.Value, error) {
	yes := func(b bool) (value.Value, error) {
		n := int64(0)
		if b {
			n = 1
		}
		return value.NewInt(value.Int, n), nil
	}
	permission = strings.ToUpper(permission)
	switch strings.ToUpper(class) {
	case "DATABASE":
		db := p.db
		if securable != "" {
			if db = p.srv.findDatabase(strings.Trim(securable, "[]")); db == nil {
				return value.NewNull(value.Int), nil
			}
		}
		return yes(p.databasePermitted(db, permission))
	case "OBJECT":
		o := p.objectNamed(securable)
		if o == nil {
			return value.NewNull(value.Int), nil
		}
		return yes(p.permitted(o, permission))
	case "SCHEMA":
		p.srv.mu.RLock()
		s := p.db.schemaNamed(strings.Trim(securable, "[]"))
		p.srv.mu.RUnlock()
		if s == nil {
			return value.NewNull(value.Int), nil
		}
		return yes(p.permitted(&object{db: p.db, schema: s, kind: "U"}, permission))
	case "":
		return yes(p.login.sysadmin())
	}
	return value.NewNull(value.Int), nil
}

// allLogins lists the server's logins.
func (p *planner) allLogins() []*login {
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	all := make([]*login, 0, len(p.srv.logins))
	for _, l := range p.srv.logins {
		all = append(all, l)
	}
	return all
}
