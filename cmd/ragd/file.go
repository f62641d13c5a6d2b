package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// open opens a file to read; - is standard input, which is never closed.
func (p *runner) open(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(p.stdin), nil
	}
	return os.Open(path)
}

// maxSecretInput bounds what is read of a value; the service accepts less.
const maxSecretInput = 1 << 20

// secretValue reads a value from a file, without a newline at its end.
func (p *runner) secretValue(path string) (string, error) {
	in, err := p.open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, maxSecretInput))
	if err != nil {
		return "", fmt.Errorf("read the value: %w", err)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
	if value == "" {
		return "", usagef("the value is empty: give it on standard input, or with --file")
	}
	return value, nil
}
