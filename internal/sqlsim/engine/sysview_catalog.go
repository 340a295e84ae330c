package engine

// systemViews are the system views, by schema.name.
var systemViews = map[string]*systemView{}

// compatibilityViews are those that SQL Server resolves without the schema sys.
var compatibilityViews = map[string]bool{"sysobjects": true, "syscolumns": true, "sysindexes": true, "sysusers": true, "sysdatabases": true, "sysprocesses": true, "syslogins": true}
