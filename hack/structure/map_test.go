package structure

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the list of packages in docs/explanation/architecture.md")

// Marks around the list of packages in docs/explanation/architecture.md.
const (
	mapBegin = "<!-- packages: rewritten by go test ./hack/structure -run TestArchitectureListsEveryPackage -update -->\n"
	mapEnd   = "<!-- end of packages -->\n"
)

// packageMap returns a Markdown table of all packages with the first sentence of their
// package comments, in the order of their paths.
func packageMap(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Doc}}", "../../...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var b strings.Builder
	b.WriteString("| package | what it is for |\n| --- | --- |\n")
	for line := range strings.Lines(string(out)) {
		path, rest, _ := strings.Cut(strings.TrimSpace(line), "\t")
		called, doc, _ := strings.Cut(rest, "\t")
		name := strings.TrimPrefix(path, module)
		if strings.HasPrefix(name, "gen/") {
			continue
		}
		sentence, ok := strings.CutPrefix(doc, "Package "+called+" ")
		if !ok {
			sentence, ok = strings.CutPrefix(doc, "Command "+name[strings.LastIndexByte(name, '/')+1:]+" ")
		}
		if !ok {
			t.Errorf("the comment of package %s does not begin with its name: %q", name, doc)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, strings.TrimSuffix(sentence, "."))
	}
	return b.String()
}

func TestArchitectureListsEveryPackage(t *testing.T) {
	t.Parallel()
	const file = "../../docs/explanation/architecture.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), mapBegin)
	if !ok {
		t.Fatalf("%s lacks the line %q", file, mapBegin)
	}
	listed, after, ok := strings.Cut(rest, mapEnd)
	if !ok {
		t.Fatalf("%s lacks the line %q", file, mapEnd)
	}
	want := packageMap(t)
	if *update {
		if err := os.WriteFile(file, []byte(before+mapBegin+want+mapEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(listed, want); diff != "" {
		t.Errorf("the list of packages in %s is not up to date; run this test with -update (-listed +packages):\n%s", file, diff)
	}
}

func TestArchitectureShowsEveryPackage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/explanation/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("../../internal")
	if err != nil {
		t.Fatal(err)
	}
	_, picture, _ := strings.Cut(string(text), "```mermaid")
	picture, _, _ = strings.Cut(picture, "```")
	for _, entry := range entries {
		if entry.IsDir() && !strings.Contains(picture, entry.Name()) {
			t.Errorf("docs/explanation/architecture.md does not show internal/%s", entry.Name())
		}
	}
}
