package structure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// Tests wait for what has happened, with package wait, and not for a time: how long something takes
// depends on the machine.
func TestNoTestSleeps(t *testing.T) {
	t.Parallel()
	const room, waiting = "internal/service/testing/", "internal/service/testing/wait/"
	for _, name := range trackedFiles(t, "*.go") {
		if strings.HasPrefix(name, waiting) || !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, room) {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "../../"+name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			called, ok := n.(*ast.SelectorExpr)
			if !ok || called.Sel.Name != "Sleep" {
				return true
			}
			if of, ok := called.X.(*ast.Ident); ok && of.Name == "time" {
				t.Errorf("%s:%d sleeps: wait for a condition with package wait, or use a synctest bubble", name, files.Position(n.Pos()).Line)
			}
			return true
		})
	}
}
