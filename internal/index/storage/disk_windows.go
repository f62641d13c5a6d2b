package storage

import "golang.org/x/sys/windows"

// measureDisk returns the free and the total bytes of the file system of a folder.
func measureDisk(dir string) (free, total int64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	var available, all uint64
	err = windows.GetDiskFreeSpaceEx(path, &available, &all, nil)
	return int64(available), int64(all), err
}
