package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// newTerminal opens a pseudo-terminal of a width. read closes its end and returns what was written to it.
func newTerminal(t *testing.T, columns uint16) (end *os.File, read func() string) {
	t.Helper()
	controller, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { _ = controller.Close() })
	if err := unix.IoctlSetPointerInt(int(controller.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(controller.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	end, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(end.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: columns}); err != nil {
		t.Fatal(err)
	}
	written := make(chan string)
	go func() {
		text, _ := io.ReadAll(controller) // ends with an error when the other end is closed
		written <- string(text)
	}()
	return end, func() string {
		if err := end.Close(); err != nil {
			t.Error(err)
		}
		return <-written
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	for _, columns := range []int{30, 50, 60, 80, 132, 300} {
		terminal, read := newTerminal(t, uint16(columns))
		a := &app{process: process{stdout: terminal, environ: []string{"NO_COLOR=1"}}}
		for name, err := range tables(a, terminal, []record{longRecord(), longRecord()}) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		text := read()
		width, line := widest(text)
		if width > columns || columns > screenWidth && width <= screenWidth {
			t.Errorf("a terminal of %d columns: %d are used: %s", columns, width, line)
		}
		if strings.Contains(text, "\x1b") {
			t.Errorf("NO_COLOR is set, and there are escape sequences: %q", text)
		}
	}
}

func TestColorsOfATerminal(t *testing.T) {
	for environ, want := range map[string]bool{"NO_COLOR=": true, "NO_COLOR=1": false} {
		terminal, read := newTerminal(t, 80)
		a := &app{process: process{stdout: terminal, environ: []string{environ}}}
		if err := a.printTable(terminal, []string{"A"}, [][]string{{"b"}}); err != nil {
			t.Error(err)
		}
		if text := read(); strings.Contains(text, "\x1b[") != want {
			t.Errorf("%s: %q", environ, text)
		}
	}
}

// Progress is written over in its line, so that it must not be longer than one.
func TestProgressKeepsToItsLine(t *testing.T) {
	terminal, read := newTerminal(t, 40)
	a := &app{process: process{stderr: terminal}}
	p := a.newProgress()
	p.every = 0
	for range 3 {
		p.tell("1000 jobs enqueued, 0 duplicates (their idempotency key has a live job)")
	}
	p.end()
	const cleared = "\r\x1b[K"
	pieces := strings.Split(read(), cleared)
	if len(pieces) != 5 || pieces[0] != "" || pieces[4] != "" {
		t.Fatalf("%q", pieces)
	}
	for _, piece := range pieces[1:4] {
		if runes := []rune(piece); len(runes) != 39 || !strings.HasPrefix(piece, "1000 jobs enqueued") {
			t.Errorf("%d columns: %q", len(runes), piece)
		}
	}
}
