package command

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
)

// Open opens a file to read; - is standard input, which is never closed.
func (p *Program) Open(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(p.Stdin), nil
	}
	return os.Open(path)
}

// maxSecretInput bounds what is read of a value; the service accepts less.
const maxSecretInput = 1 << 20

// ReadSecret reads a value from a file, without a newline at its end.
func (p *Program) ReadSecret(path string) (string, error) {
	in, err := p.Open(path)
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
		return "", misuse.Errorf("the value is empty: give it on standard input, or with --file")
	}
	return value, nil
}
