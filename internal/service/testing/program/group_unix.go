//go:build unix

package program

import "syscall"

// ownGroup starts a program in a process group of its own, so that Ctrl-C in the terminal does not end it before it
// has cleaned up.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
