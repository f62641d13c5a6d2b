package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settings is what ragd is told from outside, flat: a flag's name is its key in
// the file and, as RAGD_KEY, in the environment.
type settings struct {
	Config      string
	Server      string
	Tenant      string
	APIKey      string // secret
	OperatorKey string // secret
}

// Marks of the flags that are settings. A secret is a hidden flag that refuses to
// be given: others can read a command line.
const (
	settingMark = "ragd_setting"
	secretMark  = "ragd_secret"
)

// markSettings lets the flags be set from the environment and the file too.
func markSettings(flags *pflag.FlagSet, keys ...string) {
	for _, key := range keys {
		flags.Lookup(key).Annotations = map[string][]string{settingMark: nil}
	}
}

// markSecrets lets the flags be set from the environment and the file alone.
func markSecrets(flags *pflag.FlagSet, keys ...string) {
	for _, key := range keys {
		flag := flags.Lookup(key)
		flag.Annotations = map[string][]string{settingMark: nil, secretMark: nil}
		flag.Hidden = true
	}
}

func marked(flag *pflag.Flag, mark string) bool {
	_, ok := flag.Annotations[mark]
	return ok
}

func environmentKey(key string) string {
	return "RAGD_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// fillSettings sets the settings of cmd that were not given as flags from the
// environment or else the file; what neither has keeps its default. A flag that
// was set here counts as given. A key in the file that no command knows is an
// error, so that a misspelt one is not ignored.
func (p *program) fillSettings(cmd *cobra.Command) error {
	path, err := p.settingsPath()
	if err != nil {
		return err
	}
	file, err := readKeyValues(path)
	if err != nil && (p.settings.Config != "" || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	known := map[string]bool{}
	knownSettings(cmd.Root(), known)
	for key := range file {
		if !known[key] {
			return fmt.Errorf("%s: unknown setting %q", path, key)
		}
	}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = p.fillSetting(cmd.Flags(), flag, path, file)
		}
	})
	return err
}

func (p *program) fillSetting(flags *pflag.FlagSet, flag *pflag.Flag, path string, file map[string]string) error {
	switch {
	case !marked(flag, settingMark):
		return nil
	case flag.Changed && marked(flag, secretMark):
		return usageError{fmt.Errorf("--%s is not taken from the command line, which others can read: set %s, or %s in %s",
			flag.Name, environmentKey(flag.Name), flag.Name, path)}
	case flag.Changed:
		return nil
	}
	value, from := p.getenv(environmentKey(flag.Name)), environmentKey(flag.Name)
	if value == "" {
		value, from = file[flag.Name], path+": "+flag.Name
	}
	if value == "" {
		return nil
	}
	if err := flags.Set(flag.Name, value); err != nil {
		return fmt.Errorf("%s: %w", from, errors.Unwrap(err))
	}
	return nil
}

func knownSettings(cmd *cobra.Command, known map[string]bool) {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(flag *pflag.Flag) {
			if marked(flag, settingMark) {
				known[flag.Name] = true
			}
		})
	}
	for _, child := range cmd.Commands() {
		knownSettings(child, known)
	}
}

// settingsPath returns the file of settings; "" if none is named and there is no
// folder in which the default could be.
func (p *program) settingsPath() (string, error) {
	if p.settings.Config == "" {
		p.settings.Config = p.getenv(environmentKey("config"))
	}
	if p.settings.Config != "" {
		return p.settings.Config, nil
	}
	return p.configFile("ragd.conf")
}

// configFile returns the path of a file in ragd's configuration folder.
func (p *program) configFile(name string) (string, error) {
	home := p.getenv("XDG_CONFIG_HOME")
	if home == "" {
		var err error
		if home, err = os.UserConfigDir(); err != nil {
			return "", fmt.Errorf("find the configuration folder: %w; set XDG_CONFIG_HOME", err)
		}
	}
	return filepath.Join(home, "ragd", name), nil
}

// readKeyValues reads lines of `key = value`. Blank lines and lines that start
// with # are ignored; values are taken as they stand.
func readKeyValues(path string) (map[string]string, error) {
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
