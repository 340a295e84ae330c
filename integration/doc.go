// Package integration holds the tests of ChokaQ against a server: the state machine of the T-SQL, what SQL Server
// does to queue tables, installation, roles, and whole workers.
//
// By default the server is sqlsim, started by the tests. With CHOKAQ_TEST_DSN, a data source name of go-mssqldb for a login that may create
// databases, they run against that server instead: each test creates a database of its own and drops it, so that they
// can run beside others. No test knows which server it has, except those that call [requireSim].
package integration
