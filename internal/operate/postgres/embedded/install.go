package embedded

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// minMajor is the lowest major version that is used.
const minMajor = 15

// Installation is one set of PostgreSQL server binaries.
type Installation struct {
	BinDir  string // the folder of postgres and initdb
	Version string // such as "15.18"
	Major   int
	Vector  string // version of the pgvector installed for it; "" if none
}

// Find returns the servers installed on this machine, newest first. It searches PATH,
// pg_config's folder of binaries, and the usual folders of Debian, Fedora and Homebrew.
func Find() []Installation { return findIn(searchDirs()) }

// Default returns the installation that a new cluster would use. Errors: Precondition if
// there is none, with what to do.
func Default() (Installation, error) {
	if err := supported(); err != nil {
		return Installation{}, err
	}
	return choose(Find(), 0, "")
}

//go:embed install.sh
var installer string

// Install installs PostgreSQL and pgvector with the system's package manager, as root or with
// sudo, and writes what it does to out. An installed pgvector that is not safe is replaced by
// a newer one that is built from source. It does nothing if there is nothing to do. Errors:
// Precondition with the reason if the installation failed.
func Install(ctx context.Context, out io.Writer) error {
	if err := supported(); err != nil {
		return err
	}
	args := []string{"-s"}
	if in, err := Default(); err == nil {
		if postgres.SafeVector(in.Vector) {
			return nil
		}
		args = append(args, "--source")
	}
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(installer), out, out
	if err := cmd.Run(); err != nil {
		return fault.Wrap(fault.Precondition, err, "the installation of PostgreSQL and pgvector failed; the lines above say why")
	}
	return nil
}

// searchDirs returns folders that may contain a server's binaries.
func searchDirs() []string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
		"/usr/pgsql-*/bin",          // the PostgreSQL project's RPMs
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
	} {
		found, _ := filepath.Glob(pattern) // the only error is a bad pattern
		dirs = append(dirs, found...)
	}
	return dirs
}

func findIn(dirs []string) []Installation {
	var found []Installation
	seen := map[string]bool{}
	for _, dir := range dirs {
		// On PATH the binary is often a link to the one of another folder.
		binary, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
		if err != nil || !filepath.IsAbs(binary) || seen[binary] {
			continue
		}
		seen[binary] = true
		if in, ok := inspect(filepath.Dir(binary)); ok {
			found = append(found, in)
		}
	}
	slices.SortStableFunc(found, func(a, b Installation) int { return cmp.Compare(b.Major, a.Major) })
	return found
}

var versionPattern = regexp.MustCompile(`(\d+)(\.\d+|devel|beta\d+|rc\d+)\S*`)

// inspect returns the installation in a folder. It returns false if the folder lacks
// postgres or initdb, or if postgres does not run on this machine.
func inspect(dir string) (Installation, bool) {
	out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return Installation{}, false
	}
	if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err != nil {
		return Installation{}, false
	}
	m := versionPattern.FindStringSubmatch(string(out))
	if m == nil {
		return Installation{}, false
	}
	major, err := strconv.Atoi(m[1])
	if err != nil {
		return Installation{}, false
	}
	return Installation{BinDir: dir, Version: m[0], Major: major, Vector: vectorVersion(dir, major)}, true
}

var defaultVersion = regexp.MustCompile(`(?m)^default_version\s*=\s*'([^']+)'`)

// vectorVersion returns the version of pgvector in its control file; "" if there is none.
// It searches the usual folders if pg_config is not installed, which some distributions
// have in a package for developers.
func vectorVersion(dir string, major int) string {
	shareDirs := []string{
		filepath.Join(dir, "../share"),
		filepath.Join(dir, "../share/postgresql"),
		"/usr/share/pgsql",
		fmt.Sprintf("/usr/share/postgresql/%d", major),
	}
	if out, err := exec.Command(filepath.Join(dir, "pg_config"), "--sharedir").Output(); err == nil {
		shareDirs = []string{strings.TrimSpace(string(out))}
	}
	for _, dir := range shareDirs {
		control, err := os.ReadFile(filepath.Join(dir, "extension", "vector.control"))
		if err != nil {
			continue
		}
		if m := defaultVersion.FindSubmatch(control); m != nil {
			return string(m[1])
		}
	}
	return ""
}

// packages names the packages of a server with pgvector.
const packages = "its packages (Debian and Ubuntu: postgresql and postgresql-NN-pgvector, NN being its major version; Fedora: postgresql-server and pgvector)"

// choose returns the newest installation that is usable: one with pgvector and, unless
// major is 0, of this major version. dir is the data directory, for the error.
func choose(found []Installation, major int, dir string) (Installation, error) {
	var bare, other []string
	newest := 0 // of bare
	for _, in := range found {
		name := fmt.Sprintf("%s in %s", in.Version, in.BinDir)
		switch {
		case in.Major < minMajor, major != 0 && in.Major != major:
			other = append(other, name)
		case in.Vector == "":
			bare, newest = append(bare, name), max(newest, in.Major)
		default:
			return in, nil
		}
	}
	switch {
	case len(bare) > 0:
		return Installation{}, fault.New(fault.Precondition,
			"PostgreSQL (%s) is installed without pgvector: run `ragd doctor --fix`, or install its package (Debian and Ubuntu: postgresql-%d-pgvector; Fedora: pgvector)", strings.Join(bare, ", "), newest)
	case major != 0 && len(other) > 0:
		return Installation{}, fault.New(fault.Precondition,
			"the data directory %s was made by PostgreSQL %d, but %s is installed: install PostgreSQL %[2]d with pgvector, or move the data with pg_upgrade",
			dir, major, strings.Join(other, ", "))
	case len(other) > 0:
		return Installation{}, fault.New(fault.Precondition,
			"PostgreSQL %s is too old: ragd needs %d or newer: run `ragd doctor --fix`, or install %s", strings.Join(other, ", "), minMajor, packages)
	}
	return Installation{}, fault.New(fault.Precondition,
		"no PostgreSQL server is installed: run `ragd doctor --fix`, or install %s, or set RAGD_DATABASE_URL to use one elsewhere", packages)
}
