package main

import (
	"fmt"
	"io"
	"time"
)

// progress tells how far a command has come: on a terminal in a line that is written over, elsewhere a line every few seconds.
type progress struct {
	to       io.Writer
	terminal bool
	width    func() int
	every    time.Duration
	last     time.Time
	shown    bool
}

func (a *app) newProgress() *progress {
	p := &progress{to: a.stderr, terminal: isTerminal(a.stderr), width: func() int { return a.widthOf(a.stderr) }, every: 5 * time.Second, last: time.Now()}
	if p.terminal {
		p.every = 200 * time.Millisecond
	}
	return p
}

func (p *progress) tell(text string) {
	if time.Since(p.last) < p.every {
		return
	}
	p.last, p.shown = time.Now(), true
	if p.terminal {
		fmt.Fprintf(p.to, "\r\x1b[K%s", shorten(text, max(p.width()-1, 1))) // a line that is wrapped cannot be written over
	} else {
		fmt.Fprintln(p.to, text)
	}
}

// end leaves the line.
func (p *progress) end() {
	if p.terminal && p.shown {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}
