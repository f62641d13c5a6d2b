package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Client is the content of client.conf: how clients on the machine of the service reach
// it. `ragd serve` writes it on its first start; the client commands use it for settings
// that are neither flags nor in the environment or the file of settings.
type Client struct {
	Server      string
	Tenant      string // tenant of the API key
	APIKey      string
	OperatorKey string
}

// ClientPath returns the path of client.conf.
func ClientPath(getenv func(string) string) (string, error) { return folderFile(getenv, "client.conf") }

// ReadClient reads client.conf. A missing file is an empty one.
func ReadClient(path string) (Client, error) {
	values, err := readFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Client{}, err
	}
	return Client{
		Server:      values["server"],
		Tenant:      values["tenant"],
		APIKey:      values["api-key"],
		OperatorKey: values["operator-key"],
	}, nil
}

// Write writes client.conf, readable by its owner alone. It replaces the file atomically:
// a reader sees the old file or the new one.
func (c Client) Write(path string) error {
	var text strings.Builder
	text.WriteString("# Written by ragd serve: how the client commands of this user find it.\n")
	for _, line := range [][2]string{
		{"server", c.Server}, {"tenant", c.Tenant}, {"api-key", c.APIKey}, {"operator-key", c.OperatorKey},
	} {
		if line[1] != "" {
			fmt.Fprintf(&text, "%s = %s\n", line[0], line[1])
		}
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("write the client configuration: %w", err)
	}
	file, err := os.CreateTemp(folder, ".client-*.conf") // mode 0600
	if err != nil {
		return fmt.Errorf("write the client configuration: %w", err)
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(text.String())
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the client configuration: %w", err)
	}
	return os.Rename(file.Name(), path)
}
