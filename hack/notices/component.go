package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// component is a work of others.
type component struct {
	Name, Version string
	License       string // an SPDX expression
	Source        string // an address
	Texts         []string
}

// platforms are those of a release; see .goreleaser.yaml.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// modules returns the modules of the packages in the binary of any platform, by name.
func modules(folder string) ([]component, error) {
	found := map[string]*component{}
	folders := map[string]map[string]bool{} // of the packages, by module
	roots := map[string]string{}
	for _, platform := range platforms {
		system, processor, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./cmd/ragd")
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		var failed bytes.Buffer
		cmd.Stderr = &failed
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list the packages for %s: %w: %s", platform, err, &failed)
		}
		for list := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Dir    string
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := list.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("read the list of packages: %w", err)
			}
			if p.Module == nil || p.Module.Main {
				continue
			}
			name := p.Module.Path
			found[name] = &component{Name: name, Version: p.Module.Version, Source: "https://" + name}
			roots[name] = p.Module.Dir
			if folders[name] == nil {
				folders[name] = map[string]bool{}
			}
			for dir := p.Dir; strings.HasPrefix(dir, p.Module.Dir); dir = filepath.Dir(dir) {
				folders[name][dir] = true
			}
		}
	}
	var all []component
	var failed error
	for _, name := range slices.Sorted(maps.Keys(found)) {
		c := found[name]
		files, err := legalFiles(roots[name], slices.Sorted(maps.Keys(folders[name])))
		failed = errors.Join(failed, err, c.read(files))
		all = append(all, *c)
	}
	return all, failed
}

// file is a file with terms or notices.
type file struct{ name, text string }

// grants and notes match the names of files that hold licences, and of those that come with them.
var (
	grants = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-._].*)?$`)
	notes  = regexp.MustCompile(`(?i)^(notice|patents|attrib)([-._].*)?$`)
	// theirs is a folder of licences of code that a module has taken over.
	theirs = "THIRD_PARTY_LICENSES"
)

// legalFiles returns the files of a module that concern the given folders of it.
func legalFiles(root string, folders []string) ([]file, error) {
	var found []file
	for _, folder := range append(folders, filepath.Join(root, theirs)) {
		entries, err := os.ReadDir(folder)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		inside, _ := filepath.Rel(root, folder)
		for _, entry := range entries {
			if entry.IsDir() || path.Ext(entry.Name()) == ".go" || inside != theirs && !grants.MatchString(entry.Name()) && !notes.MatchString(entry.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
			if err != nil {
				return nil, err
			}
			found = append(found, file{filepath.ToSlash(filepath.Join(inside, entry.Name())), string(text)})
		}
	}
	return found, nil
}

// read sets the licence and the texts of a component from its files.
func (c *component) read(files []file) error {
	licensed := false
	var names []string
	var failed error
	for _, f := range files {
		where := c.Name + " " + f.name
		if notes.MatchString(path.Base(f.name)) {
			c.Texts = append(c.Texts, clean(f.text))
			continue
		}
		found, err := recognize(where, f.text)
		failed = errors.Join(failed, err)
		licensed = licensed || !strings.Contains(f.name, "/")
		if len(found) == 0 {
			continue // left out
		}
		c.Texts = append(c.Texts, clean(f.text))
		names = append(names, found...)
	}
	if failed != nil {
		return failed
	}
	if !licensed {
		return fmt.Errorf("%s %s has no licence: ask its authors, or take another module", c.Name, c.Version)
	}
	slices.Sort(names)
	c.License = strings.Join(slices.Compact(names), " AND ")
	return c.allow()
}

// allow returns an error if a licence of the component is not an allowed one.
func (c *component) allow() error {
	for name := range strings.SplitSeq(c.License, " AND ") {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("the licence %q of %s %s is not on the list of allowed licences", name, c.Name, c.Version)
		}
	}
	return nil
}

//go:embed carried.json carried/*.txt
var carriedFiles embed.FS

// carried returns the works of carried.json: those that the binary contains directly, Go first, and
// those inside of modules.
func carried(folder string, modules []component) (direct, inside []component, err error) {
	raw, err := carriedFiles.ReadFile("carried.json")
	if err != nil {
		return nil, nil, err
	}
	var listed []struct {
		Name, Version, License, Source string
		Module, Reviewed               string
		Files                          []string
	}
	if err := json.Unmarshal(raw, &listed); err != nil {
		return nil, nil, fmt.Errorf("read carried.json: %w", err)
	}
	cmd := exec.Command("go", "list", "-m", "-f", "{{.GoVersion}}")
	cmd.Dir = folder
	goVersion, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("read the version of Go: %w", err)
	}
	for _, l := range listed {
		c := component{Name: l.Name, Version: l.Version, License: l.License, Source: l.Source}
		if l.Module == "" {
			c.Version = cmp.Or(l.Version, strings.TrimSpace(string(goVersion)))
		} else if err := unchanged(l.Module, l.Reviewed, modules); err != nil {
			return nil, nil, err
		}
		for _, name := range l.Files {
			text, err := carriedFiles.ReadFile("carried/" + name)
			if err != nil {
				return nil, nil, err
			}
			c.Texts = append(c.Texts, clean(string(text)))
		}
		if err := c.allow(); err != nil {
			return nil, nil, err
		}
		if l.Module == "" {
			direct = append(direct, c)
		} else {
			inside = append(inside, c)
		}
	}
	return direct, inside, nil
}

// unchanged returns an error if a module has another version than the one that was reviewed.
func unchanged(name, reviewed string, modules []component) error {
	for _, m := range modules {
		if m.Name == name && m.Version != reviewed {
			return fmt.Errorf("carried.json says what is in %s %s, and the binary has %s: find out what that contains", name, reviewed, m.Version)
		}
	}
	return nil
}

//go:embed console.json
var console []byte

// bundled returns the packages of console.json, by name.
func bundled() ([]component, error) {
	var listed []struct {
		Name, Version, License, Source string
		Files                          []struct{ Name, Text string }
	}
	if err := json.Unmarshal(console, &listed); err != nil {
		return nil, fmt.Errorf("read console.json: %w", err)
	}
	var all []component
	var failed error
	for _, l := range listed {
		c := component{Name: l.Name, Version: l.Version, Source: l.Source}
		var files []file
		for _, f := range l.Files {
			files = append(files, file{f.Name, f.Text})
		}
		if len(files) == 0 {
			given, err := supply(l.Name, l.License)
			if err != nil {
				return nil, err
			}
			files = given
		}
		err := c.read(files)
		if err == nil && c.License != strings.Trim(l.License, "()") {
			err = fmt.Errorf("%s %s says that its licence is %q, and its texts are of %q", l.Name, l.Version, l.License, c.License)
		}
		failed = errors.Join(failed, err)
		all = append(all, c)
	}
	return all, failed
}

// clean returns a text with line ends of Unix, without white space at the ends of lines and
// of the text.
func clean(text string) string {
	lines := strings.Split(strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
