package localfiles

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreFiles are the files of a folder that list what to ignore in it, in the syntax of
// .gitignore. A rule of a later file wins over those of an earlier one.
var ignoreFiles = []string{".gitignore", ".ragdignore"}

// maxIgnoreFile is the largest ignore file that is read, in bytes.
const maxIgnoreFile = 1 << 20

// ignoreRules are the rules that apply at one position of a walk through folders, which
// visits a folder before what is in it. Paths are relative to top, with slashes.
type ignoreRules struct {
	top   string // absolute
	rules []ignoreRule
	// folders are the folders around the position that have rules, outermost first.
	folders []ruledFolder
}

// ruledFolder is a folder with rules; first is the number of rules of the folders above.
type ruledFolder struct {
	prefix string // of the paths in it: empty, or with a slash at the end
	first  int
}

// ignoreRule is one line of an ignore file.
type ignoreRule struct {
	source  string // name of the file
	prefix  string // of the paths that it applies to
	glob    string // of the rest of the path
	files   bool   // applies to files too, not to folders alone
	include bool   // takes back what an earlier rule ignores
}

// newIgnoreRules returns the rules that apply to the folder root: those of the folders
// above it, up to the top of its Git repository if it is in one.
func newIgnoreRules(root string) (*ignoreRules, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	g := &ignoreRules{top: repositoryOf(root)}
	if info, err := os.Stat(filepath.Join(g.top, ".git", "info")); err == nil && info.IsDir() {
		if err := g.read("", filepath.Join(g.top, ".git", "info", "exclude")); err != nil {
			return nil, err
		}
	}
	rel, err := filepath.Rel(g.top, root)
	if err != nil {
		return nil, err
	}
	if rel == "." {
		return g, nil // the walk enters root
	}
	above := g.top
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		if err := g.enter(above); err != nil {
			return nil, err
		}
		above = filepath.Join(above, name)
	}
	return g, nil
}

// repositoryOf returns the top folder of the Git repository that contains the folder, or
// the folder itself if there is none.
func repositoryOf(folder string) string {
	for at := folder; ; {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		above := filepath.Dir(at)
		if above == at {
			return folder
		}
		at = above
	}
}

// relative returns a path relative to the top, with slashes.
func (g *ignoreRules) relative(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	rel, err := filepath.Rel(g.top, abs)
	if err != nil || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// enter adds the rules of a folder.
func (g *ignoreRules) enter(folder string) error {
	prefix := g.relative(folder)
	if prefix != "" {
		prefix += "/"
	}
	g.leave(prefix)
	g.folders = append(g.folders, ruledFolder{prefix, len(g.rules)})
	for _, name := range ignoreFiles {
		if err := g.read(prefix, filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// leave drops the rules of folders that do not contain the path.
func (g *ignoreRules) leave(path string) {
	for n := len(g.folders); n > 0 && !strings.HasPrefix(path, g.folders[n-1].prefix); n-- {
		g.rules = g.rules[:g.folders[n-1].first]
		g.folders = g.folders[:n-1]
	}
}

// read adds the rules of a file, if it exists.
func (g *ignoreRules) read(prefix, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return problem(path, "%v", reason(err))
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile+1))
	switch {
	case err != nil:
		return problem(path, "%v", reason(err))
	case len(content) > maxIgnoreFile:
		return problem(path, "is over the limit of %d bytes for a file of this name", maxIgnoreFile)
	}
	for line := range strings.Lines(strings.TrimPrefix(string(content), string(byteOrderMark))) {
		if rule, ok := parseIgnoreRule(strings.TrimRight(line, "\r\n")); ok {
			rule.source, rule.prefix = filepath.Base(path), prefix
			g.rules = append(g.rules, rule)
		}
	}
	return nil
}

// parseIgnoreRule reads a line as gitignore(5) describes it. ok is false for a line
// without a rule, and for an invalid pattern, which matches nothing.
func parseIgnoreRule(line string) (rule ignoreRule, ok bool) {
	if strings.HasPrefix(line, "#") {
		return rule, false
	}
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	line, rule.include = strings.CutPrefix(line, "!")
	line, foldersOnly := strings.CutSuffix(line, "/")
	rule.files = !foldersOnly
	if line == "" {
		return rule, false
	}
	if !strings.Contains(line, "/") {
		line = "**/" + line
	}
	line = strings.TrimPrefix(line, "/")
	if strings.HasSuffix(line, "/**") {
		line += "/*" // what is in the folder, but not the folder
	}
	rule.glob = withoutBraces(line)
	return rule, doublestar.ValidatePattern(rule.glob)
}

// withoutBraces escapes the braces of a pattern: .gitignore has no alternatives.
func withoutBraces(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			b.WriteByte(c)
			i++
		case c == '{' || c == '}':
			b.WriteByte('\\')
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// ignored returns the name of the ignore file whose rule ignores the path, or "".
func (g *ignoreRules) ignored(path string, isFolder bool) string {
	rel := g.relative(path)
	g.leave(rel)
	for i := len(g.rules) - 1; i >= 0; i-- {
		rule := g.rules[i]
		rest, inside := strings.CutPrefix(rel, rule.prefix)
		if !inside || !isFolder && !rule.files || !doublestar.MatchUnvalidated(rule.glob, rest) {
			continue
		}
		if rule.include {
			return ""
		}
		return rule.source
	}
	return ""
}
