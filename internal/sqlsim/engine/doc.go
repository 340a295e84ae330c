// Package engine runs T-SQL: sessions, batches, procedures, planning and execution, over
// the tables and locks of package storage.
//
// A request enters at Session.Batch, Session.Call or one of the transaction requests, and
// what it produces goes to a Sink. A batch is parsed and compiled as a whole (batch_*.go)
// before its first statement runs; control flow is interpreted (control_*.go, trycatch.go);
// queries and changes of data are planned and run (plan_*.go, exec_*.go, dml_*.go);
// expressions are compiled to closures (expr_*.go, func_*.go). seam.go is where the half
// that interprets the language meets the half that plans.
//
// How far an error reaches is decided in one place, trycatch.go: the statement, its
// scope, the batch, or the transaction too, depending on its number, XACT_ABORT and the
// TRY blocks around it.
//
// # What is not there
//
// What T-SQL has and this package has not is refused with error 40510, which names it:
// among others GOTO, PIVOT, xml and the CLR types, dynamic and keyset cursors, WHERE
// CURRENT OF, full-text search, Service Broker, linked servers, encryption, message
// catalogs (sp_addmessage), cultures other than en-US in FORMAT and PARSE, and languages
// that value.Languages has not (messages are English in all of them); INSTEAD OF and DDL triggers, indexed views, changes through a view
// WITH CHECK OPTION, FOR XML but for PATH(”) over one column, sparse columns, temporary
// procedures, database snapshots, Windows, contained and external principals, permissions
// on columns, user-defined server roles, READ_ONLY and OFFLINE databases; INSERT from the
// OUTPUT of another statement (nested DML), CURSOR_STATUS, tokens in job steps.
//
// # What is accepted and has no effect
//
// These change how SQL Server works but not what it answers, so they are read and dropped:
// FILLFACTOR, PAD_INDEX, DATA_COMPRESSION, ONLINE, MAXDOP, SORT_IN_TEMPDB, STATISTICS
// options and UPDATE STATISTICS, filegroups and file specifications, query hints that only
// steer the optimizer (plan_query.go lists them), WITH LOG of RAISERROR, WITH MARK of BEGIN
// TRANSACTION, DELAYED_DURABILITY, SET TEXTSIZE, SET QUERY_GOVERNOR_COST_LIMIT, SET
// STATISTICS IO and TIME, DBCC FREEPROCCACHE and its kin, CHECKPOINT.
//
// # What is documented
//
// The cases of documented_*_test.go are what the pages of the Transact-SQL reference say,
// by page. Where this package answers otherwise it is wrong.
//
// # What differs
//
// There are no pages: PAGLOCK locks the table. Plans follow fixed rules and not statistics
// (plan_access.go): the same query reads the same index however many rows there are. An
// UPDATE or DELETE finds all its rows, with U locks, before it changes the first. There is
// no optimized locking (transaction id locks, lock after qualification): row locks stay
// until the transaction ends, whatever EngineEdition the server has. What a
// transaction makes, changes or drops is waited for by whoever names it, but the catalog
// views show it at once.
//
// The numbers of CHECKSUM, BINARY_CHECKSUM and RAND are not SQL Server's, whose
// algorithms are not documented. The sizes of sp_spaceused are estimates, and
// sys.dm_os_wait_stats is there for its names only. The server's time zone is UTC. A FAST_FORWARD cursor
// reads its rows when it is opened. A server that calls itself Azure SQL Database differs
// in SERVERPROPERTY only: DB_ID is database_id in sys.databases, and names in other
// databases are not refused (40515). A bare NULL in a UNION takes the type of whichever
// branch has one; SQL Server may have made it an int before it comes to that branch.
// READPAST is refused under SNAPSHOT whatever hints are beside it. ALTER TABLE ... DROP
// reports what hinders it (5074) without the second error that SQL Server adds (4922).
// Making an index does not look for rows whose keys are too long for it (1946), writing does.
package engine
