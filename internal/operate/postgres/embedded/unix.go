//go:build unix

package embedded

import (
	"io/fs"
	"os"
	"syscall"
)

// supported returns nil: this system has what the server needs.
func supported() error { return nil }

// owner returns the user id that a file belongs to.
func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// attributes returns those with which a child process runs as the account, in a group of its own.
func (a *account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attr
}

// kill sends a signal to a process, or to the group of one whose id is negative.
func kill(pid int, signal syscall.Signal) error { return syscall.Kill(pid, signal) }

// tryLock locks a file for this process. Errors: EWOULDBLOCK if another process has locked it.
func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// unlock releases the lock of tryLock.
func unlock(fd uintptr) { _ = syscall.Flock(int(fd), syscall.LOCK_UN) }

// freeBytes returns how many bytes a folder's disk has free.
func freeBytes(folder string) (int64, error) {
	var st syscall.Statfs_t
	err := syscall.Statfs(folder, &st)
	return int64(st.Bavail) * int64(st.Bsize), err //nolint:unconvert // other types on other platforms
}
