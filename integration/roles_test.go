package integration

import (
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
	"LockIdempotencyKey": "N'x', N'x'", "LockQueueRow": "N'x'", "CheckNameArray": "N'x', N'x', N'[]', 1, 1",
	"GetWorkerControl": "@WorkerId = NULL", "RecordWorkerStop": "@WorkerId = NULL, @Report = N''", "GetDueRecurringJobs": "@Queues = N'[]'",
	"EnqueueRecurringJob": "@Name = N'x', @Revision = 1, @ExpectedTickAt = NULL, @TickAt = '9999-01-01', @NextTickAt = NULL", "SetWorkerHandlers": "@WorkerId = NULL, @Handlers = 0",
	"SetRecurringJob": "@Name = N'', @Cron = N'', @Queue = N'q', @JobType = N't'", "RemoveRecurringJob": "@Name = N'x'", "SetRecurringJobPaused": "@Name = N'x', @IsPaused = 1",
	"GetJobHistory": "@JobId = 1",
}

func TestRolesMayDoWhatTheyNeedAndNothingElse(t *testing.T) {
	d := newDatabase(t)
	type object struct{ name, statement string }
	var objects []object
	for _, folder := range []string{"procedures", "views"} {
		entries, err := db.Objects.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := strings.TrimSuffix(e.Name(), ".sql")
			if folder == "views" {
				objects = append(objects, object{name, "SELECT TOP (1) * FROM chokaq." + name})
			} else {
				objects = append(objects, object{name, "EXEC chokaq." + name + " " + arguments[name]})
			}
		}
	}
	for _, table := range []string{"Jobs", "JobsArchive", "JobsDLQ", "Queues", "Workers", "Settings", "RecoveryRuns", "OperatorActions", "JobFailures", "WorkerStops", "RecurringJobs",
		"SchemaObjects", "SchemaVersion"} {
		objects = append(objects,
			object{table, "SELECT TOP (1) * FROM chokaq." + table},
			object{table, "DELETE FROM chokaq." + table},
			object{table, "TRUNCATE TABLE chokaq." + table},
			object{table, "DROP TABLE chokaq." + table})
	}
	for role, may := range allowed {
		t.Run(role, func(t *testing.T) {
			pool := d.loginAs(t, role)
			for _, o := range objects {
				permitted := false
				for _, name := range may {
					permitted = permitted || name == o.name
				}
				_, err := query(t.Context(), pool, o.statement)
				denied := err != nil && (strings.Contains(err.Error(), "permission was denied") || strings.Contains(err.Error(), "do not have permission") || strings.Contains(err.Error(), "Cannot find the object"))
				if denied == permitted {
					t.Errorf("%s: permitted=%v, got %v", o.statement, permitted, err)
				}
			}
		})
	}
	t.Run("nobody", func(t *testing.T) {
		pool := d.loginAs(t)
		for _, o := range objects {
			if _, err := query(t.Context(), pool, o.statement); err == nil {
				t.Errorf("%s: permitted to a user in no role", o.statement)
			}
		}
	})
}
