package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
)

// Confirm asks before something that cannot be undone, unless yes. The user must type
// word; any other answer is an error. If stdin is not a terminal it is a usage error.
func (p *Program) Confirm(ctx context.Context, yes bool, word, format string, args ...any) error {
	if yes {
		return nil
	}
	if !p.Interactive {
		return misuse.Errorf("needs --yes where nobody can be asked")
	}
	fmt.Fprintf(p.Out.Stderr, format+" Type %q to go on: ", append(args, word)...)
	answer, err := Await(ctx, func() (string, error) { return bufio.NewReader(p.Stdin).ReadString('\n') })
	if ctx.Err() != nil {
		fmt.Fprintln(p.Out.Stderr)
		return ctx.Err()
	}
	if err != nil || strings.TrimSpace(answer) != word {
		return errors.New("nothing was deleted")
	}
	return nil
}

// Await calls read and returns its result, or the error of ctx if it ends first. A read
// from a terminal cannot be interrupted: it goes on in the background.
func Await[T any](ctx context.Context, read func() (T, error)) (T, error) {
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
