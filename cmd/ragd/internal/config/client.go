package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Client is how clients on the machine of a service reach it: a section of client.conf.
// `ragd serve` writes it when it starts; the client commands use it for settings that are
// neither flags nor in the environment or the file of settings.
type Client struct {
	DataDir     string // absolute path of the service's data directory, which identifies the section
	Server      string
	Tenant      string // tenant of the API key
	APIKey      string
	OperatorKey string
}

// ClientPath returns the path of client.conf.
func ClientPath(getenv func(string) string) (string, error) { return folderFile(getenv, "client.conf") }

// ReadClients returns the sections of client.conf. The service that was started last is the
// last one. A missing file has no sections.
func ReadClients(path string) ([]Client, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the client configuration: %w", err)
	}
	var clients []Client
	for number, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if dir, ok := strings.CutPrefix(line, "["); ok && strings.HasSuffix(dir, "]") {
			clients = append(clients, Client{DataDir: strings.TrimSuffix(dir, "]")})
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if len(clients) == 0 || !clients[len(clients)-1].set(strings.TrimSpace(key), strings.TrimSpace(value)) {
			return nil, fmt.Errorf("%s:%d: want a section [data directory] with lines server, tenant, api-key and operator-key = value", path, number+1)
		}
	}
	return clients, nil
}

// set sets the field with a key of client.conf. It returns false if there is no such key.
func (c *Client) set(key, value string) bool {
	switch key {
	case "server":
		c.Server = value
	case "tenant":
		c.Tenant = value
	case "api-key":
		c.APIKey = value
	case "operator-key":
		c.OperatorKey = value
	default:
		return false
	}
	return true
}

// Of returns the section of a data directory; one without keys if there is none.
func Of(clients []Client, dataDir string) Client {
	for _, c := range clients {
		if c.DataDir == dataDir {
			return c
		}
	}
	return Client{DataDir: dataDir}
}

const clientHeader = `# Written by ragd serve: how the client commands of this user find the services on this
# machine, one section for each data directory. The service that was started last is the
# last one. The keys are stored nowhere else.
`

// Write replaces the section of the client's data directory and makes it the last one. The
// other sections stay. Only the owner of the file can read it. It is replaced atomically: a
// reader sees the old file or the new one.
func (c Client) Write(path string) error {
	unlock, err := lockFile(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	clients, err := ReadClients(path)
	if err != nil {
		return err
	}
	clients = slices.DeleteFunc(clients, func(other Client) bool { return other.DataDir == c.DataDir })
	var text strings.Builder
	text.WriteString(clientHeader)
	for _, client := range append(clients, c) {
		fmt.Fprintf(&text, "\n[%s]\n", client.DataDir)
		for _, line := range [][2]string{
			{"server", client.Server}, {"tenant", client.Tenant}, {"api-key", client.APIKey}, {"operator-key", client.OperatorKey},
		} {
			if line[1] != "" {
				fmt.Fprintf(&text, "%s = %s\n", line[0], line[1])
			}
		}
	}
	return replaceFile(path, text.String())
}

// CheckWritable returns an error if Write could not write client.conf.
func CheckWritable(path string) error {
	unlock, err := lockFile(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	file, err := os.CreateTemp(filepath.Dir(path), ".client-*.conf")
	if err != nil {
		return fmt.Errorf("write the client configuration: %w", err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// lockFile takes the lock of a file, which it creates together with its folder, until
// unlock is called.
func lockFile(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("write the client configuration: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write the client configuration: %w", err)
	}
	if err := lock(file); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock the client configuration: %w", err)
	}
	return func() { _ = file.Close() }, nil // closing it releases the lock
}

// replaceFile replaces a file atomically, with one that only its owner can read.
func replaceFile(path, text string) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".client-*.conf") // mode 0600
	if err != nil {
		return fmt.Errorf("write the client configuration: %w", err)
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write the client configuration: %w", err)
	}
	return os.Rename(file.Name(), path)
}
