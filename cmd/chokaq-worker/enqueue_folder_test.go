package main

import "testing"

// A folder in the place of a file is a mistake in the command line, and not one in its first line.
func TestEnqueueRefusesAFolder(t *testing.T) {
	folder := t.TempDir()
	call(t, "sqlserver://localhost?database=unused", "enqueue", folder).want(t, 2, folder+" is a folder", "nothing was enqueued")
}
