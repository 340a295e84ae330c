/*
What each role may do: execute procedures and read views, and nothing else. No role has a right on a table:
the procedures reach the tables through ownership chaining (everything in schema chokaq has one owner).

The three recovery procedures are granted to chokaq_worker too, for editions without SQL Server Agent: they
take no parameters and can do no more than enforce the timeouts that the DBA has set.
*/
SET NOCOUNT ON;

GRANT EXECUTE ON OBJECT::chokaq.EnqueueJob        TO chokaq_producer, chokaq_worker, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.EnqueueJobs       TO chokaq_producer, chokaq_worker, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.CancelJob         TO chokaq_producer, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.GetInstallation   TO chokaq_producer, chokaq_worker, chokaq_operator, chokaq_monitor;

GRANT EXECUTE ON OBJECT::chokaq.RegisterWorker    TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.SetWorkerState    TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.ClaimJobs         TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.StartJobs         TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.HeartbeatJobs     TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.ReleaseJobs       TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.CompleteJobs      TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.FailJobs          TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.GetWorkerControl  TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.RecordWorkerStop  TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.GetDueRecurringJobs TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.EnqueueRecurringJob TO chokaq_worker;

GRANT EXECUTE ON OBJECT::chokaq.ResetFetchedJobs  TO chokaq_worker, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.RescueZombieJobs  TO chokaq_worker, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.PurgeHistory      TO chokaq_worker, chokaq_operator;

GRANT EXECUTE ON OBJECT::chokaq.RequeueDeadJobs   TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.DiscardDeadJobs   TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.EditDeadJob       TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.PauseQueue        TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.ResumeQueue       TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.SetQueueLimit     TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.SetQueueTimeouts  TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.SetSetting        TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.SetWorkerHandlers TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.SetRecurringJobPaused TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.SetRecurringJob   TO chokaq_producer, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.RemoveRecurringJob TO chokaq_producer, chokaq_operator;

GRANT EXECUTE ON OBJECT::chokaq.FindDeadJobs      TO chokaq_monitor, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.GetJobHistory     TO chokaq_monitor, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.GetHandlerDurations TO chokaq_monitor, chokaq_operator;

GRANT SELECT ON OBJECT::chokaq.QueueStatus        TO chokaq_monitor, chokaq_operator, chokaq_worker;
GRANT SELECT ON OBJECT::chokaq.WorkerStatus       TO chokaq_monitor, chokaq_operator;
GRANT SELECT ON OBJECT::chokaq.DeadJobs           TO chokaq_monitor, chokaq_operator;
GRANT SELECT ON OBJECT::chokaq.RecoveryStatus     TO chokaq_monitor, chokaq_operator, chokaq_worker;
GRANT SELECT ON OBJECT::chokaq.CurrentSettings    TO chokaq_monitor, chokaq_operator, chokaq_worker;
GRANT SELECT ON OBJECT::chokaq.OperatorLog        TO chokaq_monitor, chokaq_operator;
GRANT SELECT ON OBJECT::chokaq.JobTypeStatus      TO chokaq_monitor, chokaq_operator;
GRANT SELECT ON OBJECT::chokaq.HeldJobs           TO chokaq_monitor, chokaq_operator;
GRANT SELECT ON OBJECT::chokaq.DeadJobGroups      TO chokaq_monitor, chokaq_operator;
GRANT SELECT ON OBJECT::chokaq.StopHistory        TO chokaq_monitor, chokaq_operator;
GRANT SELECT ON OBJECT::chokaq.RecurringJobStatus TO chokaq_monitor, chokaq_operator;
