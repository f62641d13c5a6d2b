package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A secret can be in a file that a flag, the environment or the file of settings names.
func TestSecretsInFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := write("key", "  s3cret = x # no comment\r\n")
	settings := write("ragd.conf", "operator-key-file = "+key+"\n")
	for name, test := range map[string]struct {
		flags, config string
		env           map[string]string
		want, err     string
	}{
		"environment":        {env: map[string]string{"RAGD_OPERATOR_KEY_FILE": key}, want: "  s3cret = x # no comment"},
		"flag":               {flags: "--operator-key-file=" + key, want: "  s3cret = x # no comment"},
		"file of settings":   {config: settings, want: "  s3cret = x # no comment"},
		"a flag comes first": {flags: "--operator-key-file=" + key, env: map[string]string{"RAGD_OPERATOR_KEY_FILE": "/nowhere"}, want: "  s3cret = x # no comment"},
		"none":               {want: ""},
		"both":               {env: map[string]string{"RAGD_OPERATOR_KEY_FILE": key, "RAGD_OPERATOR_KEY": "s3cret2"}, err: "operator-key and operator-key-file are both set: unset one"},
		"missing":            {env: map[string]string{"RAGD_OPERATOR_KEY_FILE": dir + "/nothing"}, err: "operator-key-file: open " + dir + "/nothing: no such file or directory"},
		"a folder":           {env: map[string]string{"RAGD_OPERATOR_KEY_FILE": dir}, err: "operator-key-file: read " + dir + ": is a directory"},
		"empty":              {env: map[string]string{"RAGD_OPERATOR_KEY_FILE": write("empty", "\n")}, err: "operator-key-file: " + dir + "/empty is empty"},
		"two lines":          {env: map[string]string{"RAGD_OPERATOR_KEY_FILE": write("two", "s3cret\nmore\n")}, err: "operator-key-file: " + dir + "/two has several lines, but a secret is one"},
		"large":              {env: map[string]string{"RAGD_OPERATOR_KEY_FILE": write("large", strings.Repeat("s3cret", 20_000))}, err: "operator-key-file: " + dir + "/large has more than 65536 bytes"},
	} {
		cmd := &cobra.Command{Use: "x"}
		cmd.Flags().String("operator-key", "", "key of the operator")
		MarkSecrets(cmd.Flags(), "operator-key")
		if err := cmd.ParseFlags(strings.Fields(test.flags)); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"XDG_CONFIG_HOME": dir}
		for k, v := range test.env {
			env[k] = v
		}
		err := Fill(cmd, test.config, func(name string) string { return env[name] })
		switch got := cmd.Flags().Lookup("operator-key").Value.String(); {
		case err == nil && (test.err != "" || got != test.want):
			t.Errorf("%s: got %q, want %q, error %q", name, got, test.want, test.err)
		case err != nil && (err.Error() != test.err || strings.Contains(err.Error(), "s3cret")):
			t.Errorf("%s: error %v, want %q", name, err, test.err)
		}
	}
}
