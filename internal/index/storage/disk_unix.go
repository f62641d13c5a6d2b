//go:build unix

package storage

import "syscall"

// measureDisk returns the free and the total bytes of the file system of a folder.
func measureDisk(dir string) (free, total int64, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	block := int64(st.Bsize) //nolint:unconvert // int32 and uint32 on other platforms
	return int64(st.Bavail) * block, int64(st.Blocks) * block, nil
}
