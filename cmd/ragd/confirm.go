package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func yesFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("yes", false, "do not ask")
}

// confirm asks for what cannot be undone, unless yes: the answer has to be word.
// Where nobody can be asked it is a usage error.
func (p *program) confirm(ctx context.Context, yes bool, word, format string, args ...any) error {
	if yes {
		return nil
	}
	if !p.asks {
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

// await returns what read does, or an error when ctx has ended: a read from a
// terminal cannot be interrupted.
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
