//go:build !linux

package main

import "errors"

var errNoDisk = errors.New("small disks can be mounted on Linux only")

func mountSmall(string) error { return errNoDisk }

func unmount(string) {}

func freeSpace(string) (int64, error) { return 0, errNoDisk }
