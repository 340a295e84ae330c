package engine

import (
	"sort"
	"strings"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func init() {
	defineView("sys.databases", "name sysname, database_id int, source_database_id int, owner_sid sid, create_date datetime, compatibility_level tinyint, collation_name sysname, user_access tinyint, user_access_desc desc, is_read_only bit, is_auto_close_on bit, is_auto_shrink_on bit, state tinyint, state_desc desc, is_in_standby bit, is_cleanly_shutdown bit, snapshot_isolation_state tinyint, snapshot_isolation_state_desc desc, is_read_committed_snapshot_on bit, recovery_model tinyint, recovery_model_desc desc, page_verify_option tinyint, page_verify_option_desc desc, is_auto_create_stats_on bit, is_auto_update_stats_on bit, is_ansi_nulls_on bit, is_ansi_padding_on bit, is_ansi_warnings_on bit, is_arithabort_on bit, is_concat_null_yields_null_on bit, is_numeric_roundabort_on bit, is_quoted_identifier_on bit, is_recursive_triggers_on bit, is_trustworthy_on bit, is_db_chaining_on bit, is_parameterization_forced bit, is_broker_enabled bit, log_reuse_wait tinyint, log_reuse_wait_desc desc, is_encrypted bit, is_query_store_on bit, containment tinyint, containment_desc desc, delayed_durability tinyint, delayed_durability_desc desc, is_accelerated_database_recovery_on bit, is_optimized_locking_on bit, replica_id uuid, group_database_id uuid", func(v *viewer, add func(...any)) {
		for _, db := range v.databases() {
			access := map[string]int{"MULTI_USER": 0, "SINGLE_USER": 1, "RESTRICTED_USER": 2}[db.single]
			model := map[string]int{"FULL": 1, "BULK_LOGGED": 2, "SIMPLE": 3}[db.recovery]
			snap, snapDesc := 0, "OFF"
			if db.snapshots {
				snap, snapDesc = 1, "ON"
			}
			var collation any = db.collation.Name()
			state, stateDesc := 0, "ONLINE"
			if v.p.srv.recovering(db) {
				state, stateDesc, collation = 2, "RECOVERING", nil
			}
			on := func(name string) bool { return strings.EqualFold(db.options[name], "ON") }
			add(db.name, db.id, nil, []byte{1}, db.created, db.compat, collation, access, db.single, false, on("AUTO_CLOSE"), on("AUTO_SHRINK"), state, stateDesc, false, false, snap, snapDesc, db.rcsi, model, db.recovery, 2, "CHECKSUM", true, true,
				on("ANSI_NULLS"), on("ANSI_PADDING"), on("ANSI_WARNINGS"), on("ARITHABORT"), on("CONCAT_NULL_YIELDS_NULL"), on("NUMERIC_ROUNDABORT"), on("QUOTED_IDENTIFIER"), false, db.trust, false, false, false, 0, "NOTHING", false, on("QUERY_STORE"), 0, "NONE", 0, "DISABLED", on("ACCELERATED_DATABASE_RECOVERY"), false, nil, nil)
		}
	})
	defineView("sys.sysdatabases", "name sysname, dbid smallint, cmptlevel tinyint", func(v *viewer, add func(...any)) {
		for _, db := range v.databases() {
			add(db.name, db.id, db.compat)
		}
	})
	defineView("sys.database_principals", "name sysname, principal_id int, type c1, type_desc desc, default_schema_name sysname, create_date datetime, modify_date datetime, owning_principal_id int, sid sid, is_fixed_role bit, authentication_type int, authentication_type_desc desc, default_language_name sysname", func(v *viewer, add func(...any)) {
		for _, u := range v.principals() {
			typ, desc := "S", "SQL_USER"
			auth, authDesc := 0, "NONE"
			if u.role {
				typ, desc = "R", "DATABASE_ROLE"
			} else if u.login != nil {
				auth, authDesc = 1, "INSTANCE"
			}
			var owner, sch any
			if u.owner != nil {
				owner = u.owner.id
			}
			if !u.role && u.defaultSchema != "" {
				sch = u.defaultSchema
			}
			add(u.name, u.id, typ, desc, sch, u.created, u.created, owner, sidOf(u.login, u.id), u.fixed && u.role && u.id != 0, auth, authDesc, nil)
		}
	})
	defineView("sys.database_role_members", "role_principal_id int, member_principal_id int", func(v *viewer, add func(...any)) {
		add(16384, 1)
		for _, u := range v.principals() {
			for _, r := range u.memberOf {
				add(r.id, u.id)
			}
		}
	})
	defineView("sys.database_permissions", "class tinyint, class_desc desc, major_id int, minor_id int, grantee_principal_id int, grantor_principal_id int, type c4, permission_name sysname, state c1, state_desc desc", func(v *viewer, add func(...any)) {
		v.p.srv.mu.RLock()
		defer v.p.srv.mu.RUnlock()
		for _, g := range v.db.grants {
			desc := map[int]string{0: "DATABASE", 1: "OBJECT_OR_COLUMN", 3: "SCHEMA", 4: "DATABASE_PRINCIPAL", 6: "TYPE"}[g.class]
			state := map[string]string{"GRANT": "G", "DENY": "D", "GRANT_WITH_GRANT_OPTION": "W"}[g.state]
			add(g.class, desc, g.major, 0, g.grantee.id, g.grantor.id, permissionCode(g.permission), g.permission, state, g.state)
		}
	})
	defineView("sys.server_principals", "name sysname, principal_id int, sid sid, type c1, type_desc desc, is_disabled bit, create_date datetime, modify_date datetime, default_database_name sysname, default_language_name sysname, owning_principal_id int, is_fixed_role bit", func(v *viewer, add func(...any)) {
		v.p.srv.mu.RLock()
		defer v.p.srv.mu.RUnlock()
		var list []*login
		for _, l := range v.p.srv.logins {
			list = append(list, l)
		}
		sort.Slice(list, func(i, j int) bool { return list[i].id < list[j].id })
		for _, l := range list {
			add(l.name, l.id, sidOf(l, 0), "S", "SQL_LOGIN", l.disabled, l.created, l.created, l.database, "us_english", nil, false)
		}
		for i, r := range serverRoles {
			add(r, i+2, []byte{byte(i + 2)}, "R", "SERVER_ROLE", false, v.p.srv.started, v.p.srv.started, nil, nil, 1, true)
		}
	})
	defineView("sys.sql_logins", "name sysname, principal_id int, sid sid, type c1, type_desc desc, is_disabled bit, create_date datetime, default_database_name sysname, is_policy_checked bit, is_expiration_checked bit", func(v *viewer, add func(...any)) {
		v.p.srv.mu.RLock()
		defer v.p.srv.mu.RUnlock()
		for _, l := range v.p.srv.logins {
			add(l.name, l.id, sidOf(l, 0), "S", "SQL_LOGIN", l.disabled, l.created, l.database, false, false)
		}
	})
	defineView("sys.server_role_members", "role_principal_id int, member_principal_id int", func(v *viewer, add func(...any)) {
		v.p.srv.mu.RLock()
		defer v.p.srv.mu.RUnlock()
		for _, l := range v.p.srv.logins {
			for i, r := range serverRoles {
				if l.serverIn[r] {
					add(i+2, l.id)
				}
			}
		}
	})
	defineView("sys.configurations", "configuration_id int, name sysname, value int, minimum int, maximum int, value_in_use int, description str, is_dynamic bit, is_advanced bit", func(v *viewer, add func(...any)) {
		for i, c := range []struct {
			name     string
			val      int
			min, max int
		}{{"max degree of parallelism", 0, 0, 32767}, {"cost threshold for parallelism", 5, 0, 32767}, {"max server memory (MB)", 2147483647, 128, 2147483647}, {"nested triggers", 1, 0, 1}, {"optimize for ad hoc workloads", 0, 0, 1}, {"user connections", 0, 0, 32767}, {"clr enabled", 0, 0, 1}, {"xp_cmdshell", 0, 0, 1}, {"Agent XPs", 1, 0, 1}, {"remote access", 1, 0, 1}, {"blocked process threshold (s)", 0, 0, 86400}} {
			add(1500+i, c.name, c.val, c.min, c.max, c.val, c.name, true, false)
		}
	})
	defineView("sys.dm_tran_locks", "resource_type desc, resource_subtype desc, resource_database_id int, resource_description desc, resource_associated_entity_id bigint, resource_lock_partition int, request_mode desc, request_type desc, request_status desc, request_reference_count smallint, request_lifetime int, request_session_id int, request_exec_context_id int, request_request_id int, request_owner_type desc, request_owner_id bigint", func(v *viewer, add func(...any)) {
		list := v.p.srv.store.Locks.List()
		sort.Slice(list, func(i, j int) bool {
			a, b := list[i], list[j]
			if a.Session != b.Session {
				return a.Session < b.Session
			}
			if a.Resource.Kind != b.Resource.Kind {
				return a.Resource.Kind < b.Resource.Kind
			}
			return a.Resource.Key < b.Resource.Key
		})
		for _, s := range v.sessions() {
			add("DATABASE", "", s.current.Load().id, "", 0, 0, "S", "LOCK", "GRANT", 1, 0, s.party.ID, 0, 0, "SHARED_TRANSACTION_WORKSPACE", 0)
		}
		for _, l := range list {
			entity := int64(l.Resource.Object)
			if l.Resource.Kind == storage.ResourceKey || l.Resource.Kind == storage.ResourceRID {
				entity = int64(l.Resource.Object)<<16 | int64(l.Resource.Index)
			}
			owner := "TRANSACTION"
			if l.Transaction == 0 {
				owner = "SESSION"
			}
			add(l.Resource.Kind.String(), "", l.Resource.Database, l.Resource.Description(), entity, 0, l.Mode.String(), "LOCK", l.Status, 1, 0, l.Session, 0, 0, owner, l.Transaction)
		}
	})
	defineView("sys.dm_os_waiting_tasks", "session_id smallint, exec_context_id int, wait_duration_ms bigint, wait_type desc, blocking_session_id smallint, resource_description str", func(v *viewer, add func(...any)) {
		now := v.p.srv.clock.Now()
		for _, l := range v.p.srv.store.Locks.List() {
			if l.Status == "GRANT" {
				continue
			}
			for _, b := range l.BlockedBy {
				add(l.Session, 0, now.Sub(l.Since).Milliseconds(), waitType(l.Mode), b, strings.ToLower(l.Resource.Kind.String())+"lock "+l.Resource.Description())
			}
		}
	})
	defineView("sys.dm_exec_sessions", "session_id smallint, login_time datetime, host_name sysname, program_name sysname, host_process_id int, client_version int, client_interface_name sysname, security_id sid, login_name sysname, status desc, cpu_time int, memory_usage int, total_elapsed_time int, last_request_start_time datetime, last_request_end_time datetime, reads bigint, writes bigint, logical_reads bigint, is_user_process bit, text_size int, language sysname, date_format sysname, date_first smallint, quoted_identifier bit, arithabort bit, ansi_nulls bit, transaction_isolation_level smallint, lock_timeout int, deadlock_priority int, row_count bigint, original_login_name sysname, database_id smallint, open_transaction_count int, ansi_defaults bit, ansi_null_dflt_on bit, ansi_padding bit, ansi_warnings bit, concat_null_yields_null bit, prev_error int, nt_domain sysname, nt_user_name sysname, endpoint_id int, group_id int, authenticating_database_id int, context_info bin", func(v *viewer, add func(...any)) {
		for _, s := range v.visibleSessions() {
			st := s.state()
			add(s.party.ID, s.connected, s.client.HostName, s.client.AppName, int64(s.client.ClientPID), 7, "go-mssqldb", sidOf(s.original, 0), st.login, st.status, 0, 4, 0, st.begun, st.ended, 0, 0, 0, true, st.set.textSize, st.set.language.Name, st.set.dateFormat, st.set.dateFirst, st.set.quotedIdentifier, st.set.arithAbort, st.set.ansiNulls, int(st.set.isolation), st.set.lockTimeout, st.set.deadlockPriority, st.rows, s.original.name, st.db, st.open, false, st.set.ansiNullDefault, st.set.ansiPadding, st.set.ansiWarnings, st.set.concatNullYieldNull, st.failed, nil, nil, 4, 2, 1, []byte(st.set.contextInfo))
		}
	})
	defineView("sys.dm_exec_requests", "session_id smallint, request_id int, start_time datetime, status desc, command desc, sql_handle sid, database_id smallint, user_id int, blocking_session_id smallint, wait_type desc, wait_time int, last_wait_type desc, wait_resource str, open_transaction_count int, transaction_id bigint, percent_complete float, cpu_time int, total_elapsed_time int, reads bigint, writes bigint, logical_reads bigint, transaction_isolation_level smallint, lock_timeout int, deadlock_priority int, row_count bigint, granted_query_memory int, statement_start_offset int, statement_end_offset int, plan_handle sid, connection_id uuid, open_resultset_count int, text_size int, language sysname, date_format sysname, date_first smallint, quoted_identifier bit, arithabort bit, ansi_null_dflt_on bit, ansi_defaults bit, ansi_warnings bit, ansi_padding bit, ansi_nulls bit, concat_null_yields_null bit, prev_error int, nest_level int, executing_managed_code bit, group_id int, query_hash bin, query_plan_hash bin, dop int", func(v *viewer, add func(...any)) {
		waits := map[int]storage.LockInfo{}
		for _, l := range v.p.srv.store.Locks.List() {
			if l.Status != "GRANT" {
				waits[l.Session] = l
			}
		}
		now := v.p.srv.clock.Now()
		for _, s := range v.visibleSessions() {
			w, waiting := waits[s.party.ID]
			st := s.state()
			if !waiting && s.busy.Load() == 0 {
				continue
			}
			handle := []byte{2, 0, byte(s.party.ID >> 8), byte(s.party.ID)}
			command := "SELECT"
			if f := strings.Fields(s.party.Statement()); len(f) > 0 {
				command = strings.ToUpper(f[0])
			}
			if waiting && len(w.BlockedBy) > 0 {
				add(s.party.ID, 0, st.begun, "suspended", command, handle, st.db, 1, w.BlockedBy[0], waitType(w.Mode), now.Sub(w.Since).Milliseconds(), waitType(w.Mode), w.Resource.Kind.String()+": "+w.Resource.Description(), st.open, w.Transaction, nil, 0, 0, 0, 0, 0, int(st.set.isolation), st.set.lockTimeout, st.set.deadlockPriority, st.rows, 0, 0, -1, nil, nil, 1, st.set.textSize, st.set.language.Name, st.set.dateFormat, st.set.dateFirst, st.set.quotedIdentifier, st.set.arithAbort, st.set.ansiNullDefault, false, st.set.ansiWarnings, st.set.ansiPadding, st.set.ansiNulls, st.set.concatNullYieldNull, st.failed, 1, false, 2, nil, nil, 1)
				continue
			}
			add(s.party.ID, 0, st.begun, "running", command, handle, st.db, 1, 0, nil, 0, "MISCELLANEOUS", "", st.open, 0, nil, 0, 0, 0, 0, 0, int(st.set.isolation), st.set.lockTimeout, st.set.deadlockPriority, st.rows, 0, 0, -1, nil, nil, 1, st.set.textSize, st.set.language.Name, st.set.dateFormat, st.set.dateFirst, st.set.quotedIdentifier, st.set.arithAbort, st.set.ansiNullDefault, false, st.set.ansiWarnings, st.set.ansiPadding, st.set.ansiNulls, st.set.concatNullYieldNull, st.failed, 1, false, 2, nil, nil, 1)
		}
	})
	defineView("sys.dm_tran_active_transactions", "transaction_id bigint, name sysname, transaction_begin_time datetime, transaction_type int, transaction_state int", func(v *viewer, add func(...any)) {
		for _, s := range v.visibleSessions() {
			if tx := s.shown.Load(); tx != nil {
				add(tx.id, "user_transaction", tx.began.UTC(), 1, 2)
			}
		}
	})
	defineView("sys.dm_tran_session_transactions", "session_id int, transaction_id bigint, is_user_transaction bit, is_local bit, open_transaction_count int", func(v *viewer, add func(...any)) {
		for _, s := range v.visibleSessions() {
			if tx := s.shown.Load(); tx != nil {
				add(s.party.ID, tx.id, true, true, 1)
			}
		}
	})
	defineView("sys.dm_exec_connections", "session_id int, connect_time datetime, net_transport sysname, protocol_type sysname, encrypt_option sysname, auth_scheme sysname, client_net_address vc, client_tcp_port int, local_net_address vc, local_tcp_port int", func(v *viewer, add func(...any)) {
		for _, s := range v.visibleSessions() {
			add(s.party.ID, s.connected, "TCP", "TSQL", "FALSE", "SQL", "127.0.0.1", nil, "127.0.0.1", nil)
		}
	})
	defineView("sys.sysprocesses", "spid smallint, blocked smallint, dbid smallint, status sysname, hostname sysname, program_name sysname, loginame sysname, open_tran smallint", func(v *viewer, add func(...any)) {
		for _, s := range v.visibleSessions() {
			st := s.state()
			add(s.party.ID, 0, st.db, st.status, s.client.HostName, s.client.AppName, st.login, st.open)
		}
	})
	defineView("sys.dm_os_sys_info", "cpu_count int, sqlserver_start_time datetime, physical_memory_kb bigint", func(v *viewer, add func(...any)) {
		add(2, v.p.srv.started, 8388608)
	})
	defineView("sys.dm_db_index_usage_stats", "database_id smallint, object_id int, index_id int, user_seeks bigint, user_scans bigint, user_lookups bigint, user_updates bigint, last_user_seek datetime", func(v *viewer, add func(...any)) {
		for _, o := range v.tables() {
			for _, ix := range o.table.indexes {
				c := &ix.data.Counters
				add(v.db.id, o.id, ix.id, c.Seeks.Load(), c.Scans.Load(), c.Lookups.Load(), c.Updates.Load(), nil)
			}
		}
	})
	defineView("sys.messages", "message_id int, language_id smallint, severity tinyint, is_event_logged bit, text str", func(v *viewer, add func(...any)) {
		for n, m := range systemMessages {
			add(n, 1033, m.severity, m.severity >= 19 || n == 1205, m.text)
		}
	})
	defineView("sys.syslanguages", "langid smallint, dateformat kind3, datefirst tinyint, upgrade int, name sysname, alias sysname, months str, shortmonths str, days str, lcid int, msglangid smallint", func(v *viewer, add func(...any)) {
		for _, l := range value.Languages {
			add(l.ID, l.DateFormat, l.DateFirst, 0, l.Name, l.Alias, strings.Join(l.Months[:], ","), strings.Join(l.Short[:], ","), strings.Join(l.Days[:], ","), l.LCID, l.LCID)
		}
	})
	defineView("sys.servers", "server_id int, name sysname, product sysname, is_linked bit", func(v *viewer, add func(...any)) { add(0, v.p.srv.name, "SQL Server", false) })
	defineView("sys.filegroups", "name sysname, data_space_id int, type kind, is_default bit", func(v *viewer, add func(...any)) { add("PRIMARY", 1, "FG", true) })
	defineView("sys.data_spaces", "name sysname, data_space_id int, type kind, is_default bit", func(v *viewer, add func(...any)) { add("PRIMARY", 1, "FG", true) })
	defineView("sys.database_files", "file_id int, type tinyint, type_desc desc, name sysname, physical_name str, size int", func(v *viewer, add func(...any)) {
		add(1, 0, "ROWS", v.db.name, "/var/opt/mssql/data/"+v.db.name+".mdf", 1024)
		add(2, 1, "LOG", v.db.name+"_log", "/var/opt/mssql/data/"+v.db.name+"_log.ldf", 1024)
	})
	defineView("sys.dm_os_wait_stats", "wait_type desc, waiting_tasks_count bigint, wait_time_ms bigint, max_wait_time_ms bigint, signal_wait_time_ms bigint", func(v *viewer, add func(...any)) {
		for _, m := range []string{"S", "U", "X", "IS", "IX", "SCH_S", "SCH_M"} {
			add("LCK_M_"+m, 0, 0, 0, 0) // nominal: waits are not added up here
		}
	})
	// No availability groups.
	none := func(v *viewer, add func(...any)) {}
	defineView("sys.availability_groups", "group_id uuid, name sysname", none)
	defineView("sys.availability_replicas", "replica_id uuid, group_id uuid, replica_server_name sysname", none)
	defineView("sys.availability_databases_cluster", "group_id uuid, group_database_id uuid, database_name sysname", none)
	defineView("sys.dm_hadr_database_replica_states", "database_id int, group_id uuid, replica_id uuid, group_database_id uuid, is_local bit, is_primary_replica bit, synchronization_state tinyint, synchronization_state_desc desc, database_state tinyint, database_state_desc desc", none)
	defineView("sys.dm_hadr_availability_replica_states", "replica_id uuid, group_id uuid, is_local bit, role tinyint, role_desc desc, operational_state tinyint, connected_state tinyint, synchronization_health tinyint", none)
	defineView("sys.dm_hadr_availability_group_states", "group_id uuid, primary_replica sysname, primary_recovery_health tinyint", none)
	defineView("sys.database_mirroring", "database_id int, mirroring_guid uuid, mirroring_state tinyint, mirroring_role tinyint, mirroring_role_desc desc", func(v *viewer, add func(...any)) {
		for _, db := range v.databases() {
			add(db.id, nil, nil, nil, nil)
		}
	})
	defineView("sys.time_zone_info", "name sysname, current_utc_offset vc, is_currently_dst bit", func(v *viewer, add func(...any)) { add("UTC", "+00:00", false) })
	defineView("sys.fn_helpcollations", "name sysname, description str", none)
}

// visibleSessions are all sessions for whoever may view the server's state, or one's own.
func (v *viewer) visibleSessions() []*planner {
	if v.p.login != nil && v.p.login.sysadmin() {
		return v.sessions()
	}
	return []*planner{v.p}
}

// sessionState is what the management views show of a session.
type sessionState struct {
	login, status string
	db            int32
	open          int
	rows          int64
	failed        int32
	begun, ended  time.Time
	set           *settings
}

// state is read without the session's cooperation.
func (p *planner) state() sessionState {
	shown := &p.sess.shown
	st := sessionState{login: p.original.name, status: "sleeping", open: int(shown.open.Load()), rows: shown.rows.Load(), failed: shown.failed.Load(), set: shown.settings.Load()}
	st.begun, st.ended = shown.requestTimes()
	if db := p.current.Load(); db != nil {
		st.db = db.id
	}
	if p.busy.Load() > 0 {
		st.status = "running"
	}
	return st
}

func waitType(m storage.Mode) string {
	return "LCK_M_" + strings.ToUpper(strings.NewReplacer("-", "_", "Range", "R").Replace(m.String()))
}

// sidOf is a made-up but stable SID.
func sidOf(l *login, id int32) []byte {
	if l != nil {
		if l.id == 1 {
			return []byte{1}
		}
		return []byte{1, 5, 0, 0, byte(l.id >> 8), byte(l.id)}
	}
	return []byte{1, 5, 0, 9, byte(id >> 8), byte(id)}
}

// permissionCode is the short code of a permission.
func permissionCode(name string) string {
	if c, ok := map[string]string{"SELECT": "SL", "INSERT": "IN", "UPDATE": "UP", "DELETE": "DL", "EXECUTE": "EX", "REFERENCES": "RF", "CONNECT": "CO", "CONTROL": "CL", "ALTER": "AL", "VIEW DEFINITION": "VW", "TAKE OWNERSHIP": "TO", "IMPERSONATE": "IM", "CREATE TABLE": "CRTB", "CREATE PROCEDURE": "CRPR", "CREATE VIEW": "CRVW", "CREATE SCHEMA": "CRSM", "CREATE FUNCTION": "CRFN", "CREATE ROLE": "CRRL", "CREATE TYPE": "CRTY", "VIEW DATABASE STATE": "VWDS"}[name]; ok {
		return c
	}
	return "AL"
}
