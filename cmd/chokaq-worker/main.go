// Command chokaq-worker runs jobs, installs ChokaQ in a database, and is an operator's tool for its queues.
package main

import "os"

// version is set by the build.
var version = "dev"

func main() {
	os.Exit(execute(os.Args[1:], process{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, environ: os.Environ(), exit: os.Exit,
	}))
}
