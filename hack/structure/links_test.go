package structure

import (
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	markdownLink = regexp.MustCompile(`\]\(<?([^)\s>]+)>?[^)]*\)`)
	inlineCode   = regexp.MustCompile("`[^`\n]*`")
	heading      = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`)
	anchorTag    = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	// docsFile matches the path of a page where comments, messages and prose name it.
	docsFile = regexp.MustCompile(`(?:^|[\s("` + "`" + `./])(docs/(?:tutorials|how-to|reference|explanation)/[\w./-]*\.md|docs/[\w-]+\.md)(#[\w-]+)?`)
)

// trackedFiles returns the paths of all files of the repository that match the patterns
// of git, slash-separated and relative to its root. New files count as well.
func trackedFiles(t *testing.T, patterns ...string) []string {
	t.Helper()
	args := append([]string{"-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard", "--"}, patterns...)
	out, err := exec.CommandContext(t.Context(), "git", args...).Output()
	if err != nil {
		t.Skipf("this test reads the list of files from git: %v", err)
	}
	return strings.Fields(string(out))
}

// withoutFences returns a Markdown text without its fenced and indented code blocks.
func withoutFences(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
		case !strings.HasPrefix(line, "    "):
			b.WriteString(line)
		}
	}
	return b.String()
}

// anchors returns the anchors that a Markdown page offers: its headings, spelled as
// GitHub and Python-Markdown spell them, and its own anchor tags.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	text = withoutFences(text)
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		title := strings.ToLower(markdownLink.ReplaceAllString(m[1], ""))
		title = strings.Map(func(r rune) rune {
			switch {
			case r == ' ', r == '-':
				return '-'
			case r == '_', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r > 127:
				return r
			}
			return -1
		}, title)
		found[title] = true
	}
	for _, m := range anchorTag.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return found
}

// pages maps the path of every Markdown page to its anchors.
func pages(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for _, name := range trackedFiles(t, "*.md", ":!**/testdata/**") {
		if text, err := os.ReadFile("../../" + name); err == nil {
			all[name] = anchors(string(text))
		}
	}
	return all
}

func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for name := range maps.Keys(all) {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		prose := inlineCode.ReplaceAllString(withoutFences(string(text)), "")
		for _, m := range markdownLink.FindAllStringSubmatch(prose, -1) {
			link, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
				continue
			}
			if link.Scheme != "" || link.Host != "" {
				continue
			}
			target := name
			if link.Path != "" {
				target = path.Join(path.Dir(name), link.Path)
			}
			if _, err := os.Stat("../../" + target); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			} else if offered, ok := all[target]; link.Fragment != "" && ok && !offered[link.Fragment] {
				t.Errorf("%s links to %s, but %s has no heading of that name", name, m[1], target)
			}
		}
	}
}

// Comments, error messages and plain text name pages by their path from the root.
func TestPagesThatAreNamedAnywhereExist(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for _, name := range trackedFiles(t, "*.go", "*.proto", "*.md", "*.sql", "*.sh", "*.yml", "*.yaml", "*.toml", "Makefile", ":!**/testdata/**", ":!gen", ":!**/*_test.go") {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			continue
		}
		for _, m := range docsFile.FindAllStringSubmatch(string(text), -1) {
			if offered, ok := all[m[1]]; !ok {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			} else if m[2] != "" && !offered[m[2][1:]] {
				t.Errorf("%s names %s%s, but the page has no heading of that name", name, m[1], m[2])
			}
		}
	}
}

func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("../../docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range maps.Keys(pages(t)) {
		page, ok := strings.CutPrefix(name, "docs/")
		if ok && page != "README.md" && !strings.Contains(string(index), "]("+page+")") {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}
