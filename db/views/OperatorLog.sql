/*
chokaq.OperatorLog: who did what, and when.

Columns: ActionId; ActionName (the procedure); JobId, Queue, Setting (what it was about; NULL where it does not apply); OldValue, NewValue; Note;
         LoginName, HostName, ProgramName; ActedAt datetime2(3) UTC.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.OperatorLog
AS
SELECT a.ActionId, a.ActionName, a.JobId, a.Queue, a.Setting, a.OldValue, a.NewValue, a.Note, a.LoginName, a.HostName, a.ProgramName, a.ActedAt
FROM chokaq.OperatorActions AS a WITH (NOLOCK);
