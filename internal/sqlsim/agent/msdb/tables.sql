CREATE TABLE dbo.syssessions (session_id int IDENTITY (1, 1) NOT NULL PRIMARY KEY, agent_start_date datetime NOT NULL);
CREATE TABLE dbo.syscategories (category_id int IDENTITY (100, 1) NOT NULL PRIMARY KEY, category_class int NOT NULL, category_type tinyint NOT NULL, name sysname NOT NULL);
CREATE TABLE dbo.sysjobs
(
    job_id                     uniqueidentifier NOT NULL PRIMARY KEY,
    originating_server_id      int NOT NULL,
    name                       sysname NOT NULL,
    enabled                    tinyint NOT NULL,
    description                nvarchar(512) NULL,
    start_step_id              int NOT NULL,
    category_id                int NOT NULL,
    owner_sid                  varbinary(85) NOT NULL,
    notify_level_eventlog      int NOT NULL,
    notify_level_email         int NOT NULL,
    notify_level_netsend       int NOT NULL,
    notify_level_page          int NOT NULL,
    notify_email_operator_id   int NOT NULL,
    notify_netsend_operator_id int NOT NULL,
    notify_page_operator_id    int NOT NULL,
    delete_level               int NOT NULL,
    date_created               datetime NOT NULL,
    date_modified              datetime NOT NULL,
    version_number             int NOT NULL
);
CREATE UNIQUE INDEX nc_sysjobs_name ON dbo.sysjobs (name);
CREATE TABLE dbo.sysjobsteps
(
    job_id                uniqueidentifier NOT NULL,
    step_id               int NOT NULL,
    step_name             sysname NOT NULL,
    subsystem             nvarchar(40) NOT NULL,
    command               nvarchar(max) NULL,
    flags                 int NOT NULL,
    additional_parameters nvarchar(max) NULL,
    cmdexec_success_code  int NOT NULL,
    on_success_action     tinyint NOT NULL,
    on_success_step_id    int NOT NULL,
    on_fail_action        tinyint NOT NULL,
    on_fail_step_id       int NOT NULL,
    server                sysname NULL,
    database_name         sysname NULL,
    database_user_name    sysname NULL,
    retry_attempts        int NOT NULL,
    retry_interval        int NOT NULL,
    os_run_priority       int NOT NULL,
    output_file_name      nvarchar(200) NULL,
    last_run_outcome      int NOT NULL,
    last_run_duration     int NOT NULL,
    last_run_retries      int NOT NULL,
    last_run_date         int NOT NULL,
    last_run_time         int NOT NULL,
    proxy_id              int NULL,
    step_uid              uniqueidentifier NULL,
    PRIMARY KEY CLUSTERED (job_id, step_id)
);
CREATE TABLE dbo.sysschedules
(
    schedule_id            int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
    schedule_uid           uniqueidentifier NOT NULL,
    originating_server_id  int NOT NULL,
    name                   sysname NOT NULL,
    owner_sid              varbinary(85) NOT NULL,
    enabled                int NOT NULL,
    freq_type              int NOT NULL,
    freq_interval          int NOT NULL,
    freq_subday_type       int NOT NULL,
    freq_subday_interval   int NOT NULL,
    freq_relative_interval int NOT NULL,
    freq_recurrence_factor int NOT NULL,
    active_start_date      int NOT NULL,
    active_end_date        int NOT NULL,
    active_start_time      int NOT NULL,
    active_end_time        int NOT NULL,
    date_created           datetime NOT NULL,
    date_modified          datetime NOT NULL,
    version_number         int NOT NULL
);
CREATE TABLE dbo.sysjobschedules (schedule_id int NOT NULL, job_id uniqueidentifier NOT NULL, next_run_date int NOT NULL, next_run_time int NOT NULL, PRIMARY KEY CLUSTERED (job_id, schedule_id));
CREATE TABLE dbo.sysjobservers
(
    job_id               uniqueidentifier NOT NULL PRIMARY KEY,
    server_id            int NOT NULL,
    last_run_outcome     tinyint NOT NULL,
    last_outcome_message nvarchar(4000) NULL,
    last_run_date        int NOT NULL,
    last_run_time        int NOT NULL,
    last_run_duration    int NOT NULL
);
CREATE TABLE dbo.sysjobhistory
(
    instance_id         int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
    job_id              uniqueidentifier NOT NULL,
    step_id             int NOT NULL,
    step_name           sysname NOT NULL,
    sql_message_id      int NOT NULL,
    sql_severity        int NOT NULL,
    message             nvarchar(4000) NULL,
    run_status          int NOT NULL,
    run_date            int NOT NULL,
    run_time            int NOT NULL,
    run_duration        int NOT NULL,
    operator_id_emailed int NOT NULL,
    operator_id_netsent int NOT NULL,
    operator_id_paged   int NOT NULL,
    retries_attempted   int NOT NULL,
    server              sysname NOT NULL
);
CREATE INDEX nc1 ON dbo.sysjobhistory (job_id);
CREATE TABLE dbo.sysjobactivity
(
    session_id              int NOT NULL,
    job_id                  uniqueidentifier NOT NULL PRIMARY KEY,
    run_requested_date      datetime NULL,
    run_requested_source    sysname NULL,
    queued_date             datetime NULL,
    start_execution_date    datetime NULL,
    last_executed_step_id   int NULL,
    last_executed_step_date datetime NULL,
    stop_execution_date     datetime NULL,
    job_history_id          int NULL,
    next_scheduled_run_date datetime NULL
);
SET IDENTITY_INSERT dbo.syscategories ON;
INSERT INTO dbo.syscategories (category_id, category_class, category_type, name) VALUES
    (0, 1, 1, N'[Uncategorized (Local)]'), (1, 1, 1, N'Jobs from MSX'), (2, 1, 2, N'[Uncategorized (Multi-Server)]'), (3, 1, 1, N'Database Maintenance'), (98, 2, 3, N'[Uncategorized]'), (99, 3, 3, N'[Uncategorized]');
SET IDENTITY_INSERT dbo.syscategories OFF;
