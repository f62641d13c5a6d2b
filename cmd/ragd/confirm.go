package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
)

// confirm asks before something that cannot be undone, unless yes. The user must type
// word; any other answer is an error. If stdin is not a terminal it is a usage error.
func (p *runner) confirm(ctx context.Context, yes bool, word, format string, args ...any) error {
	if yes {
		return nil
	}
	if !p.interactive {
		return usagef("needs --yes where nobody can be asked")
	}
	fmt.Fprintf(p.out.Stderr, format+" Type %q to go on: ", append(args, word)...)
	answer, err := await(ctx, func() (string, error) { return bufio.NewReader(p.stdin).ReadString('\n') })
	if ctx.Err() != nil {
		fmt.Fprintln(p.out.Stderr)
		return ctx.Err()
	}
	if err != nil || strings.TrimSpace(answer) != word {
		return errors.New("nothing was deleted")
	}
	return nil
}

// await calls read and returns its result, or the error of ctx if it ends first. A read
// from a terminal cannot be interrupted: it goes on in the background.
func await[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := read()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
