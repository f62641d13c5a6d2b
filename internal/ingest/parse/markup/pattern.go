package markup

import (
	"regexp"
	"sync"
)

// lazy returns a function that compiles a regular expression when it is called first. The expressions of all
// formats would cost 15 ms and 6 MB at the start of each process: of every command, and of every child that reads
// one document.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
