package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/build"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
)

var update = flag.Bool("update", false, "rewrite docs/reference/cli.md and docs/reference/settings.md")

// checkPage compares a page with what was generated, or rewrites it with -update.
func checkPage(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not up to date: go test ./cmd/ragd -run TestReference -update", path)
	}
}

// referenceRoot returns the root command with the defaults of an unnamed user.
func referenceRoot() *cobra.Command {
	environment := map[string]string{"XDG_DATA_HOME": "~/.local/share"}
	p := &program{Program: command.Program{Getenv: func(name string) string { return environment[name] }}}
	root := p.root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// machineDefaults holds the defaults that depend on the machine.
var machineDefaults = map[string]string{
	"local-model-threads":   "one less than processors, at least 1",
	"ingest-workers":        "4 for each processor",
	"statements-per-tenant": "the number of processors, at least 2",
}

var (
	defaultInUsage = regexp.MustCompile(` \(default:? ([^()]*(?:\([^()]*\))?[^()]*)\)$`)
	cellEscapes    = strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`)
	proseEscapes   = strings.NewReplacer("<", "&lt;", "*", `\*`)
)

// meaningAndDefault returns the usage of a flag without its default, and the default.
func meaningAndDefault(f *pflag.Flag) (meaning, value string) {
	_, meaning = pflag.UnquoteUsage(f)
	if m := defaultInUsage.FindStringSubmatchIndex(meaning); m != nil {
		return meaning[:m[0]], cellEscapes.Replace(meaning[m[2]:m[3]])
	}
	value = cmp.Or(machineDefaults[f.Name], f.DefValue)
	switch {
	case value == "" || value == "[]" || value == "false" || value == "0" || value == "0s":
		return meaning, ""
	case machineDefaults[f.Name] != "":
		return meaning, value
	}
	return meaning, "`" + strings.Trim(value, "[]") + "`"
}

// writeFlags writes a table of the visible flags.
func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString("\n| flag | default | |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind, _ := pflag.UnquoteUsage(f); kind != "" {
			name += " " + strings.ToUpper(kind)
		}
		meaning, value := meaningAndDefault(f)
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, value, cellEscapes.Replace(meaning))
	})
}

// writeLong writes the description of a command. Indented paragraphs are preformatted.
func writeLong(b *strings.Builder, text string) {
	for paragraph := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if strings.HasPrefix(paragraph, " ") {
			fmt.Fprintf(b, "\n```text\n%s\n```\n", paragraph)
		} else {
			fmt.Fprintf(b, "\n%s\n", proseEscapes.Replace(paragraph))
		}
	}
}

// writeCommand writes the sections of a command and of those below it.
func writeCommand(b *strings.Builder, cmd *cobra.Command) {
	if cmd.Hidden || cmd.Name() == "completion" || cmd.Name() == "help" {
		return
	}
	if cmd.HasParent() {
		level := "##"
		if cmd.Parent().HasParent() {
			level = "###"
		}
		fmt.Fprintf(b, "\n%s %s\n", level, cmd.CommandPath())
		writeLong(b, cmp.Or(cmd.Long, cmd.Short+"."))
		if cmd.Runnable() && !isGroup(cmd) {
			fmt.Fprintf(b, "\n```text\n%s\n```\n", cmd.UseLine())
		}
		if cmd.Example != "" {
			example := strings.ReplaceAll(strings.Trim(cmd.Example, "\n"), "\n  ", "\n")
			fmt.Fprintf(b, "\n<!-- not run: examples of the help -->\n```sh\n%s\n```\n", strings.TrimPrefix(example, "  "))
		}
		writeFlags(b, cmd.LocalFlags())
	}
	for _, child := range cmd.Commands() {
		writeCommand(b, child)
	}
}

var manPages = flag.String("man", "", "write the manual pages of all commands into this folder")

// A package has a manual page for each command. hack/package-files.sh writes them with -man.
func TestEveryCommandHasAManualPage(t *testing.T) {
	t.Parallel()
	folder := cmp.Or(*manPages, t.TempDir())
	root := referenceRoot()
	root.DisableAutoGenTag = true
	date := time.Unix(0, 0).UTC() // pages of one version are the same whenever they are made
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &date, Source: "ragd " + build.Release, Manual: "ragd"}, folder); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(folder, "ragd-tenant-create.1"))
	if err != nil || !strings.Contains(string(page), "ragd tenant create") {
		t.Errorf("%v:\n%s", err, page)
	}
}

func TestReferenceOfCommandsIsUpToDate(t *testing.T) {
	t.Parallel()
	root := referenceRoot()
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- Generated by go test ./cmd/ragd -run TestReference -update. -->\n")
	writeLong(&b, root.Long)
	b.WriteString("\n`ragd completion` writes completion scripts for shells. Every command takes `--help` and `--config`.\n\n")
	b.WriteString("| command | |\n|---|---|\n")
	for _, cmd := range root.Commands() {
		if !cmd.Hidden && cmd.Name() != "completion" && cmd.Name() != "help" {
			fmt.Fprintf(&b, "| [%s](#ragd-%s) | %s |\n", cmd.Name(), cmd.Name(), cmd.Short)
		}
	}
	writeCommand(&b, root)
	checkPage(t, "../../docs/reference/cli.md", b.String())
}

// settingGroups are the sections of the page of settings, and the settings in each. A
// setting is in the first section that matches.
var settingGroups = []struct {
	title string
	names *regexp.Regexp
}{
	{"Clients", regexp.MustCompile(`^(server|tenant|api-key)$`)},
	{"Database and disk", regexp.MustCompile(`^(data-dir|database-.*|backup-.*|min-free-bytes|max-tenant-bytes|statements-per-tenant|indexes-per-connection)$`)},
	{"Model providers", regexp.MustCompile(`^(embedding-model|model-hub.*|models-dir|local-model-.*|offline|master-key.*|endpoints-file|allowed-private-networks|provider-calls.*|(openai|cohere|jina|voyage|tei|ollama|gemini)-.*)$`)},
	{"MCP", regexp.MustCompile(`^(mcp-.*|session-key)$`)},
	{"Access tokens", regexp.MustCompile(`^oauth-`)},
	{"Log and traces", regexp.MustCompile(`^(log|traces)-`)},
	{"Service", regexp.MustCompile(``)},
}

// allSettings returns the flags of all commands that are settings, by name.
func allSettings(cmd *cobra.Command, found map[string]*pflag.Flag) map[string]*pflag.Flag {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			_, setting := f.Annotations["ragd_setting"]
			if known := found[f.Name]; setting && (known == nil || len(f.Usage) > len(known.Usage)) {
				found[f.Name] = f // the fullest description, if commands differ
			}
		})
	}
	for _, child := range cmd.Commands() {
		allSettings(child, found)
	}
	return found
}

func TestReferenceOfSettingsIsUpToDate(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Generated by go test ./cmd/ragd -run TestReference -update. -->

Every setting is a flag, a variable of the environment, or a line in a file, in that order of
precedence: ` + "`--listen`, `RAGD_LISTEN`, or `listen = ...`" + ` in the file that ` + "`--config` or `RAGD_CONFIG`" + `
names, by default ` + "`ragd.conf`" + ` in ` + "`~/.config/ragd`" + ` (` + "`$XDG_CONFIG_HOME/ragd`" + `). A line of the
file is ` + "`name = value`" + `, without quotes; lines that begin with ` + "`#`" + ` are comments. Lists are separated
by commas.

Secrets are never flags, because other users of the machine can read command lines. Each can be in a
file of its own, as systemd, Docker and Kubernetes hand them over: ` + "`RAGD_OPERATOR_KEY_FILE=/run/secrets/operator-key`" + `,
or ` + "`operator-key-file`" + ` as a flag or a line, names a file with that one line.
`)
	settings := allSettings(referenceRoot(), map[string]*pflag.Flag{})
	names := make([]string, 0, len(settings))
	for name, f := range settings {
		if _, file := f.Annotations["ragd_secret_file"]; file {
			continue // told once for all secrets
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for _, group := range settingGroups {
		fmt.Fprintf(&b, "\n## %s\n\n| setting | variable | default | |\n|---|---|---|---|\n", group.title)
		names = slices.DeleteFunc(names, func(name string) bool {
			if !group.names.MatchString(name) {
				return false
			}
			f := settings[name]
			meaning, value := meaningAndDefault(f)
			if meaning == "" {
				t.Errorf("the setting %s has no description", name)
			}
			if _, secret := f.Annotations["ragd_secret"]; secret {
				meaning += "; secret"
			}
			variable := "RAGD_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
			fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", name, variable, value, cellEscapes.Replace(meaning))
			return true
		})
	}
	b.WriteString(`
The service also reads these variables of others: ` + "`GOMEMLIMIT`" + ` and ` + "`GOMAXPROCS`" + ` of Go, ` + "`TMPDIR`" + `
for large uploads while they arrive, ` + "`HTTPS_PROXY`" + ` and ` + "`NO_PROXY`" + ` for calls to providers,
` + "`SSL_CERT_FILE`" + ` for certificates, and ` + "`OTEL_EXPORTER_OTLP_HEADERS`" + ` for traces.
`)
	checkPage(t, "../../docs/reference/settings.md", b.String())
}
