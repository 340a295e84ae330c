package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
)

// confirm asks a yes-or-no question on a terminal. Where nobody can be asked, --yes is needed.
func (a *app) confirm(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	if !isTerminal(a.stdin) {
		return usageError{errors.New("this needs a confirmation and there is no terminal to ask on; add --yes. Nothing was changed")}
	}
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() { // ends with the process at the latest: a read from a terminal cannot be called off
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case line := <-answer:
		if line == "y" || line == "yes" {
			return nil
		}
		return errors.New("not confirmed; nothing was changed")
	case <-ctx.Done():
		fmt.Fprintln(a.stderr)
		return fmt.Errorf("%w; nothing was changed", errInterrupted)
	}
}
