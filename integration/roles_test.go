package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chokaq/chokaq/db"
)

// What each role may execute or read; everything else in schema chokaq must be refused.
var allowed = map[string][]string{
	"chokaq_producer": {"EnqueueJob", "EnqueueJobs", "CancelJob", "GetInstallation", "SetRecurringJob", "RemoveRecurringJob"},
	"chokaq_worker": {"EnqueueJob", "EnqueueJobs", "GetInstallation", "RegisterWorker", "SetWorkerState", "ClaimJobs", "StartJobs", "HeartbeatJobs", "ReleaseJobs",
		"CompleteJobs", "FailJobs", "ResetFetchedJobs", "RescueZombieJobs", "PurgeHistory", "CurrentSettings",
		"GetWorkerControl", "RecordWorkerStop", "GetDueRecurringJobs", "EnqueueRecurringJob", "QueueStatus", "RecoveryStatus"},
	"chokaq_operator": {"EnqueueJob", "EnqueueJobs", "CancelJob", "GetInstallation", "ResetFetchedJobs", "RescueZombieJobs", "PurgeHistory", "RequeueDeadJobs",
		"DiscardDeadJobs", "EditDeadJob", "PauseQueue", "ResumeQueue", "SetQueueLimit", "SetQueueTimeouts", "SetSetting",
		"QueueStatus", "WorkerStatus", "DeadJobs", "RecoveryStatus", "CurrentSettings", "OperatorLog",
		"SetWorkerHandlers", "SetRecurringJob", "RemoveRecurringJob", "SetRecurringJobPaused", "FindDeadJobs", "GetJobHistory", "GetHandlerDurations",
		"JobTypeStatus", "HeldJobs", "DeadJobGroups", "StopHistory", "RecurringJobStatus"},
	"chokaq_monitor": {"GetInstallation", "QueueStatus", "WorkerStatus", "DeadJobs", "RecoveryStatus", "CurrentSettings", "OperatorLog",
		"FindDeadJobs", "GetJobHistory", "GetHandlerDurations", "JobTypeStatus", "HeldJobs", "DeadJobGroups", "StopHistory", "RecurringJobStatus"},
}

// arguments with which a procedure that may be executed gets as far as its own checks.
var arguments = map[string]string{
	"EnqueueJob": "@Queue = N'q', @JobType = N't'", "EnqueueJobs": "@Jobs = N'[]'", "CancelJob": "@JobId = 1",
	"RegisterWorker": "@WorkerId = NULL, @HostName = N'h', @ProcessId = 1, @Version = N'v', @Queues = N'[]', @Handlers = 1, @Prefetch = 1",
	"SetWorkerState": "@WorkerId = NULL, @State = N'running'", "ClaimJobs": "@WorkerId = NULL, @ClaimToken = NULL, @Queues = NULL, @MaxJobs = 1",
	"StartJobs": "@Jobs = N'[]'", "HeartbeatJobs": "@WorkerId = NULL, @Jobs = N'[]'", "ReleaseJobs": "@WorkerId = NULL", "CompleteJobs": "@Jobs = N'[]'", "FailJobs": "@Jobs = N'[]'",
	"RequeueDeadJobs": "@JobIds = N'[]'", "DiscardDeadJobs": "@JobIds = N'[]', @Note = N'n'", "EditDeadJob": "@JobId = 1", "PauseQueue": "@Queue = N'q'", "ResumeQueue": "@Queue = N'q'",
	"SetQueueLimit": "@Queue = N'q', @ConcurrencyLimit = NULL", "SetQueueTimeouts": "@Queue = N'q', @FetchedJobTimeoutSeconds = NULL, @ProcessingZombieTimeoutSeconds = NULL",
	"SetSetting": "@Name = N'x', @Value = 1", "CheckClaims": "N'x', N'[]'", "CheckName": "N'x', N'x', N'x', 5", "CheckJobIds": "N'x', N'[]'",
	"LockIdempotencyKey": "N'x', N'x'", "LockQueueRow": "N'x'", "CheckNameArray": "N'x', N'x', N'[]', 1, 1", "CheckPayload": "N'x', N'{}'", "CheckHeaders": "N'x', N'{}', 1",
	"GetWorkerControl": "@WorkerId = NULL", "RecordWorkerStop": "@WorkerId = NULL, @Report = N''", "GetDueRecurringJobs": "@Queues = N'[]'",
	"EnqueueRecurringJob": "@Name = N'x', @Revision = 1, @ExpectedTickAt = NULL, @TickAt = '9999-01-01', @NextTickAt = NULL", "SetWorkerHandlers": "@WorkerId = NULL, @Handlers = 0",
	"SetRecurringJob": "@Name = N'', @Cron = N'', @Queue = N'q', @JobType = N't'", "RemoveRecurringJob": "@Name = N'x'", "SetRecurringJobPaused": "@Name = N'x', @IsPaused = 1",
	"GetJobHistory": "@JobId = 1", "GetInstallation": "", "ResetFetchedJobs": "", "RescueZombieJobs": "", "PurgeHistory": "", "FindDeadJobs": "", "GetHandlerDurations": "",
}

// ours are what ChokaQ's own procedures use among themselves: no role may execute or read them.
var ours = []string{"CheckClaims", "CheckName", "CheckNameArray", "CheckPayload", "CheckHeaders", "CheckJobIds", "LockIdempotencyKey", "LockQueueRow", "FindJob", "ParseClaims"}

// A denial is one of these; an object that may not be seen does not exist.
var denials = []int32{229, 230, 262, 297, 300, 1088, 3701, 4613, 4701, 15151, 15247}

// guarded is something that somebody may do or not, and the object that it is done to.
type guarded struct{ name, statement string }

// everything is what can be done to each object in schema chokaq, as the database lists them: none is forgotten.
func everything(t *testing.T, d *database) (all []guarded) {
	t.Helper()
	for _, r := range mustQuery(t, d.pool, `SELECT o.name AS Name, RTRIM(o.type) AS Type, c.Columns, COALESCE(MIN(k.name), N'') AS Col
FROM sys.objects AS o
CROSS APPLY (SELECT COUNT(*) AS Columns FROM sys.parameters AS p WHERE p.object_id = o.object_id) AS c
LEFT JOIN sys.columns AS k ON k.object_id = o.object_id AND k.is_identity = 0
WHERE o.schema_id = SCHEMA_ID(N'chokaq') AND o.type IN ('P', 'V', 'U', 'IF', 'FN', 'TF', 'SO')
GROUP BY o.name, o.type, c.Columns ORDER BY o.type, o.name`) {
		name, full := r["Name"].(string), "chokaq."+r["Name"].(string)
		add := func(statements ...string) {
			for _, s := range statements {
				all = append(all, guarded{name, s})
			}
		}
		switch kind := r["Type"]; kind {
		case "P":
			if _, ok := arguments[name]; !ok {
				t.Errorf("procedure %s has no entry in arguments", name)
			}
			add("EXEC " + full + " " + arguments[name])
		case "V":
			add("SELECT TOP (1) * FROM " + full)
		case "IF", "TF":
			add("SELECT * FROM " + full + "(" + strings.TrimSuffix(strings.Repeat("NULL, ", int(r["Columns"].(int64))), ", ") + ")")
		case "SO":
			add("SELECT NEXT VALUE FOR " + full)
		case "U":
			add("SELECT TOP (1) * FROM "+full, "INSERT INTO "+full+" DEFAULT VALUES", fmt.Sprintf("UPDATE TOP (1) %s SET %s = %[2]s", full, r["Col"]),
				"DELETE FROM "+full, "TRUNCATE TABLE "+full, "DROP TABLE "+full)
		default:
			t.Fatalf("%s is a %v, of which this test knows nothing", name, kind)
		}
	}
	return all
}

// Every object of schema chokaq is on a list, and every list names objects.
func TestRolesAreDecidedForEveryObject(t *testing.T) {
	d := newDatabase(t)
	exists, decided := make(map[string]bool), make(map[string]bool)
	for _, g := range everything(t, d) {
		exists[g.name] = true
	}
	for _, names := range allowed {
		for _, name := range names {
			decided[name] = true
		}
	}
	for _, name := range ours {
		if decided[name] {
			t.Errorf("%s is for our own procedures, and a role has it", name)
		}
		decided[name] = true
	}
	for name := range decided {
		if !exists[name] {
			t.Errorf("%s is on a list, and is no object of schema chokaq", name)
		}
	}
	for name := range arguments {
		if !exists[name] {
			t.Errorf("%s has arguments, and is no object of schema chokaq", name)
		}
	}
	for _, folder := range []string{"procedures", "views", "functions"} {
		entries, err := db.Objects.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if name := strings.TrimSuffix(e.Name(), ".sql"); !decided[name] {
				t.Errorf("%s/%s: nobody has decided who may use it: name it in allowed or in ours", folder, name)
			} else if !exists[name] {
				t.Errorf("%s/%s is not installed", folder, name)
			}
		}
	}
	roles := make(map[string]bool)
	for _, r := range mustQuery(t, d.pool, "SELECT name FROM sys.database_principals WHERE type = 'R' AND name LIKE N'chokaq[_]%'") {
		roles[r["name"].(string)] = true
		if allowed[r["name"].(string)] == nil {
			t.Errorf("nobody has decided what role %s may do", r["name"])
		}
	}
	for role := range allowed {
		if !roles[role] {
			t.Errorf("there is no role %s", role)
		}
	}
}

// What nobody who is only in ChokaQ's roles may do.
var never = []guarded{
	{"", "CREATE TABLE chokaq.Mine (i int)"}, {"", "EXEC (N'CREATE PROCEDURE chokaq.Mine AS SELECT 1')"}, {"", "DROP PROCEDURE chokaq.ClaimJobs"},
	{"", "ALTER ROLE chokaq_operator ADD MEMBER chokaq_producer"}, {"", "GRANT EXECUTE ON SCHEMA::chokaq TO public"}, {"", "DROP SCHEMA chokaq"},
	{"", "ALTER TABLE chokaq.Jobs ADD Mine int NULL"}, {"", "ALTER SEQUENCE chokaq.JobIds RESTART WITH 1"},
}

func TestRolesMayDoWhatTheyNeedAndNothingElse(t *testing.T) {
	d := newDatabase(t)
	all := append(everything(t, d), never...)
	roles := maps.Clone(allowed)
	roles["nobody"] = nil
	for role, may := range roles {
		t.Run(role, func(t *testing.T) {
			pool := d.loginAs(t, slices.DeleteFunc([]string{role}, func(r string) bool { return r == "nobody" })...)
			for _, g := range all {
				_, err := query(t.Context(), pool, g.statement)
				if denied := slices.Contains(denials, sqlNumber(err)); denied == slices.Contains(may, g.name) {
					t.Errorf("%s: permitted=%v, got %v", g.statement, !denied, err)
				}
			}
		})
	}
}
