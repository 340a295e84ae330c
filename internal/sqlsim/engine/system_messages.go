package engine

// systemMessages are the messages of sys.messages that RAISERROR is called with by number, all of severity 16: those of the
// procedures of msdb.
var systemMessages = map[int64]string{
	14234: "The specified '%s' is invalid (valid values are returned by %s).",
	14256: "Cannot start the job \"%s\" because it does not have any job server or servers defined. Associate the job with a job server by calling sp_add_jobserver.",
	14261: "The specified %s ('%s') already exists.",
	14262: "The specified %s ('%s') does not exist.",
	14266: "The specified '%s' is invalid (valid values are: %s).",
	14269: "Job '%s' is already targeted at server '%s'.",
	14276: "'%s' is a permanent %s category and cannot be deleted.",
	14294: "Supply either %s or %s to identify the job.",
	14371: "There are two or more schedules named \"%s\". Specify %s instead of the name to uniquely identify the schedule.",
	14372: "The schedule was not deleted because it is being used by one or more jobs.",
	14373: "Supply either %s or %s to identify the schedule.",
	14374: "The specified schedule name \"%s\" is not associated with the job \"%s\".",
	22022: "SQLServerAgent Error: Request to run job %s (from User %s) refused because the job is already running from another request.",
}
