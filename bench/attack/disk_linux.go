package main

import (
	"fmt"
	"syscall"
)

// mountSmall mounts a disk of diskSize bytes, in memory.
func mountSmall(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=755", diskSize))
}

func unmount(dir string) { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }

// freeSpace returns the free bytes of a disk.
func freeSpace(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * s.Bsize, nil
}
