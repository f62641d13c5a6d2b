// Package announce is how the programs of this module talk with the test that has started them: by a line
// on the standard output, which internal/service/testing/program reads. A program ends when its standard
// input does, which the test's process holds open, so that it ends with the process even if that is killed.
package announce

import (
	"fmt"
	"io"
	"os"
)

// Ready tells the test the values of a program that is ready, which contain no spaces, and returns when
// the program has to end.
func Ready(values ...any) {
	fmt.Println(append([]any{"ready"}, values...)...)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// Missing ends the program: the machine lacks what it needs.
func Missing(reason error) { end("missing", reason) }

// Failed ends the program.
func Failed(reason error) { end("failed", reason) }

func end(how string, reason error) {
	fmt.Printf("%s %q\n", how, reason.Error())
	os.Exit(1)
}
