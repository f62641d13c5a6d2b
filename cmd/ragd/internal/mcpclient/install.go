package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
)

// maxSettingsBytes bounds the settings of a client.
const maxSettingsBytes = 64 << 20

// Change is what Install and Uninstall did to the settings of a client.
type Change struct {
	Path    string // of the settings
	Changed bool   // false if they were so before
	Had     bool   // whether there was a server of the name
}

// Install adds the server to the settings of the client below a home folder, or replaces the one with its name. What else is
// in the file stays as it is, with its comments and order.
func (m Client) Install(home string, c Connection) (Change, error) {
	return m.edit(home, func(old []byte) ([]byte, bool, error) {
		if m.settings.key == "" {
			return withTable(old, c.Name, codex(c))
		}
		return withServer(old, m.settings.key, c.Name, m.settings.entry(c))
	})
}

// Uninstall removes the server with a name from the settings of the client.
func (m Client) Uninstall(home, name string) (Change, error) {
	return m.edit(home, func(old []byte) ([]byte, bool, error) {
		if m.settings.key == "" {
			return withTable(old, name, "")
		}
		return withServer(old, m.settings.key, name, nil)
	})
}

// edit changes the settings by a function, which returns whether they had the server.
func (m Client) edit(home string, change func([]byte) ([]byte, bool, error)) (Change, error) {
	relative, ok := m.settings.paths[runtime.GOOS]
	if !ok {
		relative = m.settings.paths[""]
	}
	done := Change{Path: filepath.Join(home, filepath.FromSlash(relative))}
	path, err := filepath.EvalSymlinks(done.Path) // who keeps settings elsewhere links to them
	if errors.Is(err, fs.ErrNotExist) {
		path, err = done.Path, nil
	}
	if err != nil {
		return done, err
	}
	mode := fs.FileMode(0o600) // there may be a key in it
	var old []byte
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return done, err
	case info.Size() > maxSettingsBytes:
		return done, fmt.Errorf("%s has %d bytes, at most %d are read", path, info.Size(), maxSettingsBytes)
	default:
		mode = info.Mode().Perm()
		if old, err = os.ReadFile(path); err != nil {
			return done, err
		}
	}
	changed, had, err := change(old)
	if err != nil {
		return done, fmt.Errorf("%s: %w", path, err)
	}
	done.Had, done.Changed = had, !bytes.Equal(old, changed)
	if !done.Changed {
		return done, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return done, err
	}
	return done, output.ReplaceFile(path, mode, func(w io.Writer) error {
		_, err := w.Write(changed)
		return err
	})
}

// withServer returns settings in JSON, which may have comments, with a server in the object of a key; nil is no server.
func withServer(old []byte, key, name string, entry any) (changed []byte, had bool, err error) {
	if len(bytes.TrimSpace(old)) == 0 {
		old = []byte("{\n}\n")
	}
	parsed, err := hujson.Parse(old)
	if err != nil {
		return nil, false, fmt.Errorf("the settings are no JSON, so they are left alone: %w", err)
	}
	if _, ok := parsed.Value.(*hujson.Object); !ok {
		return nil, false, errors.New("the settings are no JSON object, so they are left alone")
	}
	parent, pointer := "/"+key, "/"+key+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	found := parsed.Find(parent)
	if found != nil {
		if _, ok := found.Value.(*hujson.Object); !ok {
			return nil, false, fmt.Errorf("%q is no JSON object, so the settings are left alone", key)
		}
	}
	present := parsed.Find(pointer)
	if present != nil && entry != nil && sameJSON(*present, entry) || present == nil && entry == nil {
		return old, present != nil, nil
	}
	if entry == nil {
		if err := parsed.Patch([]byte(fmt.Sprintf(`[{"op":"remove","path":%s}]`, quotedJSON(pointer)))); err != nil {
			return nil, false, err
		}
		return parsed.Pack(), true, nil
	}
	if found == nil {
		set(parsed.Value.(*hujson.Object), key, map[string]any{}, "  ")
		found = parsed.Find(parent)
	}
	set(found.Value.(*hujson.Object), name, entry, "    ")
	return parsed.Pack(), present != nil, nil
}

// set sets a member of an object, on a line of its own that begins as those of the other members do, else with a prefix.
func set(o *hujson.Object, name string, value any, prefix string) {
	for _, m := range o.Members {
		if _, line, ok := strings.Cut(string(m.Name.BeforeExtra), "\n"); ok {
			line = line[strings.LastIndex(line, "\n")+1:]
			prefix = line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		}
	}
	text, err := hujson.Parse([]byte(indented(value, prefix)))
	if err != nil {
		panic(err) // it was just made
	}
	text.BeforeExtra = hujson.Extra(" ")
	for i, m := range o.Members {
		if literal, ok := m.Name.Value.(hujson.Literal); ok && literal.String() == name {
			o.Members[i].Value = text
			return
		}
	}
	member := hujson.ObjectMember{Name: hujson.Value{BeforeExtra: hujson.Extra("\n" + prefix), Value: hujson.String(name)}, Value: text}
	if n := len(o.Members); n == 0 || o.Members[n-1].Value.AfterExtra == nil { // no comma after the last one
		if !strings.Contains(string(o.AfterExtra), "\n") {
			o.AfterExtra = hujson.Extra("\n" + prefix[:max(0, len(prefix)-2)])
		}
	} else {
		member.Value.AfterExtra = hujson.Extra{}
	}
	o.Members = append(o.Members, member)
}

// sameJSON reports whether a value in JSON with comments is the same as another.
func sameJSON(a hujson.Value, b any) bool {
	a = a.Clone()
	a.Standardize()
	var left, right any
	raw, err := json.Marshal(b)
	if err != nil || json.Unmarshal(a.Pack(), &left) != nil || json.Unmarshal(raw, &right) != nil {
		return false
	}
	one, errOne := json.Marshal(left)
	other, errOther := json.Marshal(right)
	return errOne == nil && errOther == nil && bytes.Equal(one, other)
}

// withTable returns settings of Codex with the tables of a server; empty for none.
func withTable(old []byte, name, tables string) (changed []byte, had bool, err error) {
	var kept []string
	within, multiline := false, ""
	for line := range strings.Lines(string(old)) {
		trimmed := strings.TrimSpace(line)
		if multiline == "" && strings.HasPrefix(trimmed, "[") && !strings.HasPrefix(trimmed, "[[") {
			header := strings.ReplaceAll(strings.Trim(strings.SplitN(trimmed, "]", 2)[0], "[ "), `"`, "")
			within = header == codexTable+name || strings.HasPrefix(header, codexTable+name+".")
		} else if multiline == "" && strings.HasPrefix(trimmed, "[[") {
			within = false
		}
		for _, quotes := range []string{`"""`, `'''`} { // a text of several lines may have one that looks like a table
			if strings.Count(line, quotes)%2 == 1 {
				switch multiline {
				case "":
					multiline = quotes
				case quotes:
					multiline = ""
				}
			}
		}
		had = had || within
		if !within {
			kept = append(kept, line)
		}
	}
	if !had && tables == "" || had && tables != "" && strings.Contains(string(old)+"\n", tables+"\n") {
		return old, had, nil
	}
	rest := strings.TrimRight(strings.Join(kept, ""), "\n")
	if tables != "" && rest != "" {
		rest += "\n\n"
	}
	return []byte(strings.TrimLeft(rest+tables+"\n", "\n")), had, nil
}
