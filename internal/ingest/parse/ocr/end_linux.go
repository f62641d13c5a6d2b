package ocr

import (
	"os/exec"
	"syscall"
)

// endWithParent lets the system end the program when this process is killed.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
