/*
chokaq.CurrentSettings: the settings that the database owns; chokaq.SetSetting changes them.

Columns: Name; Value int; Unit (seconds, hours, rows); DefaultValue, MinValue, MaxValue int; Description; UpdatedAt datetime2(3) UTC; UpdatedBy (login).
Callers: chokaq_monitor, chokaq_operator, chokaq_worker.
*/
CREATE OR ALTER VIEW chokaq.CurrentSettings
AS
SELECT s.Name, s.Value, s.Unit, s.DefaultValue, s.MinValue, s.MaxValue, s.Description, s.UpdatedAt, s.UpdatedBy
FROM chokaq.Settings AS s WITH (NOLOCK);
