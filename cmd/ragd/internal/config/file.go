package config

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// folderFile returns the path of a file in ragd's configuration folder.
func folderFile(getenv func(string) string, name string) (string, error) {
	home := getenv("XDG_CONFIG_HOME")
	if home == "" {
		var err error
		if home, err = os.UserConfigDir(); err != nil {
			return "", fmt.Errorf("find the configuration folder: %w; set XDG_CONFIG_HOME", err)
		}
	}
	return filepath.Join(home, "ragd", name), nil
}

// readFile reads lines of the form `key = value`. Blank lines and lines that start with #
// are ignored. Values are not unquoted.
func readFile(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	values := map[string]string{}
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if _, twice := values[key]; twice {
			return nil, fmt.Errorf("%s:%d: %s is set twice", path, number, key)
		}
		if !found || key == "" {
			return nil, fmt.Errorf("%s:%d: not a line of the form key = value", path, number)
		}
		values[key] = strings.TrimSpace(value)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return values, nil
}

// maxSecretBytes bounds the file of a secret.
const maxSecretBytes = 64 << 10

// readSecret returns the one line in a file, without the end of the line. Its errors do not
// contain it.
func readSecret(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxSecretBytes+1))
	if err != nil {
		return "", err
	}
	secret := strings.TrimRight(string(raw), "\r\n")
	switch {
	case len(raw) > maxSecretBytes:
		return "", fmt.Errorf("%s has more than %d bytes", path, maxSecretBytes)
	case secret == "":
		return "", fmt.Errorf("%s is empty", path)
	case strings.ContainsAny(secret, "\r\n\x00"):
		return "", fmt.Errorf("%s has several lines, but a secret is one", path)
	}
	return secret, nil
}
