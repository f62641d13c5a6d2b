// Package config fills the settings of a command from its flags, the environment and
// the file of settings, and keeps the client configuration that "ragd serve" writes.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/internal/operate/nearest"
)

// Annotations of the flags that are settings. A secret is a hidden flag that cannot be
// given on the command line, which other users can read.
const (
	settingMark = "ragd_setting"
	secretMark  = "ragd_secret"
	// secretFileMark marks the setting with the path of the file that holds a secret.
	secretFileMark = "ragd_secret_file"
)

// fileSuffix is what the name of the setting with the path of a secret's file ends with.
const fileSuffix = "-file"

// MarkSettings lets the flags be set from the environment and the file too. Those with
// numbers take none below 0 from then on.
func MarkSettings(flags *pflag.FlagSet, keys ...string) {
	for _, key := range keys {
		flag := flags.Lookup(key)
		flag.Annotations = map[string][]string{settingMark: nil}
		boundNumber(flag)
	}
}

// MarkSecrets lets the flags be set from the environment and the file of settings alone, or from a
// file of their own, which the setting key-file names. Call it after that setting is added, if the
// command has one that means something else.
func MarkSecrets(flags *pflag.FlagSet, keys ...string) {
	for _, key := range keys {
		flag := flags.Lookup(key)
		flag.Annotations = map[string][]string{settingMark: nil, secretMark: nil}
		flag.Hidden = true
		if flags.Lookup(key+fileSuffix) != nil {
			continue
		}
		flags.String(key+fileSuffix, "", "file with "+key)
		file := flags.Lookup(key + fileSuffix)
		file.Annotations = map[string][]string{settingMark: nil, secretFileMark: nil}
		file.Hidden = true
	}
}

// IsSecret reports whether the flag is a secret.
func IsSecret(flag *pflag.Flag) bool { return marked(flag, secretMark) }

// marked reports whether a flag has an annotation.
func marked(flag *pflag.Flag, mark string) bool {
	_, ok := flag.Annotations[mark]
	return ok
}

// SecretFlagError reports a secret that was given on the command line.
type SecretFlagError struct {
	Flag string
	Path string // of the file of settings
}

// Error implements error.
func (e SecretFlagError) Error() string {
	return fmt.Sprintf("--%s is not taken from the command line, which others can read: set %s, or %s in %s",
		e.Flag, environmentKey(e.Flag), e.Flag, e.Path)
}

// Fill sets the settings of cmd that were not given as flags from the environment or
// else the file; a setting in neither keeps its default. A flag that was set here counts
// as given. path names the file of settings; if it is empty, RAGD_CONFIG names it, and
// without that it is ragd.conf in the configuration folder, which may be missing.
//
// A key in the file that no command knows is an error, so that a misspelt one is not
// ignored. A secret on the command line is a SecretFlagError.
func Fill(cmd *cobra.Command, path string, getenv func(string) string) error {
	from := "--config"
	if path == "" {
		from = environmentKey("config")
		path = getenv(from)
	}
	named := path != ""
	if !named {
		path, _ = folderFile(getenv, "ragd.conf") // a service without a home has no file there
	}
	values, err := readFile(path)
	switch {
	case err != nil && named:
		return fmt.Errorf("%s: %w", from, err)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	known := map[string]bool{}
	addKnown(cmd.Root(), known)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !known[key] {
			return fmt.Errorf("%s: unknown setting %q%s", path, key, nearest.Hint(key, slices.Sorted(maps.Keys(known))))
		}
	}
	err = nil
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if err == nil {
			err = fillFlag(cmd.Flags(), flag, path, values, getenv)
		}
	})
	return err
}

// fillFlag sets a flag that is a setting and was not given.
func fillFlag(flags *pflag.FlagSet, flag *pflag.Flag, path string, file map[string]string, getenv func(string) string) error {
	switch {
	case !marked(flag, settingMark):
		return nil
	case flag.Changed && marked(flag, secretMark):
		return SecretFlagError{Flag: flag.Name, Path: path}
	case flag.Changed:
		return nil
	}
	value, from := getenv(environmentKey(flag.Name)), environmentKey(flag.Name)
	if value == "" {
		value, from = file[flag.Name], path+": "+flag.Name
	}
	if marked(flag, secretMark) {
		var err error
		if value, err = secretOf(flags, flag.Name, value, file, getenv); err != nil {
			return err
		}
	}
	if value == "" {
		return nil
	}
	if err := flags.Set(flag.Name, value); err != nil {
		return fmt.Errorf("%s: want %s, got %q", from, kindOf(flag), value)
	}
	return nil
}

// secretOf returns the value of a secret: given, or the content of the file that the setting of
// the secret's file names.
func secretOf(flags *pflag.FlagSet, name, given string, file map[string]string, getenv func(string) string) (string, error) {
	key := name + fileSuffix
	flag := flags.Lookup(key)
	if flag == nil || !marked(flag, secretFileMark) {
		return given, nil
	}
	path := flag.Value.String()
	if path == "" {
		path = getenv(environmentKey(key))
	}
	if path == "" {
		path = file[key]
	}
	switch {
	case path == "":
		return given, nil
	case given != "":
		return "", fmt.Errorf("%s and %s are both set: unset one", name, key)
	}
	secret, err := readSecret(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return secret, nil
}

// kindOf describes the values of a flag that is no text.
func kindOf(flag *pflag.Flag) string {
	if n, ok := flag.Value.(number); ok {
		return n.kind()
	}
	if flag.Value.Type() == "bool" {
		return "true or false"
	}
	return "a " + flag.Value.Type()
}

// addKnown adds the settings of cmd and of the commands below it to known.
func addKnown(cmd *cobra.Command, known map[string]bool) {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(flag *pflag.Flag) {
			if marked(flag, settingMark) {
				known[flag.Name] = true
			}
		})
	}
	for _, child := range cmd.Commands() {
		addKnown(child, known)
	}
}

// environmentKey returns the environment variable of a setting.
func environmentKey(key string) string {
	return "RAGD_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}
