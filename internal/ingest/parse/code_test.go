package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeclarationsOfSourceCode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fileName, text string
		want           []string // the section and the first line of each
	}{
		{"a.go", "package a\n\n// Store keeps.\ntype Store struct{}\n\n// Get gets.\nfunc (s *Store) Get() {\n\tif x(1) {\n\t}\n}\n\nvar text = `\nfunc not() {}\n`\n\nfunc last[T any]() {}\n", []string{
			"Store | // Store keeps.", "Store.Get | // Get gets.", "last | func last[T any]() {}"}},
		{"a.py", "import x\n\n@cached\ndef f():\n    \"\"\"Text.\n\ndef no():\n    \"\"\"\n    def inner():\n        pass\n\nclass C(B):\n    # about m\n    async def m(self):\n        pass\n\nif main:\n    f()\n", []string{
			"f | @cached", "f > inner | def inner():", "C | class C(B):", "C > m | # about m"}},
		{"a.ts", "export default class A<T> extends B {\n  private async go(x: number): Promise<void> {\n    if (x) {\n    }\n  }\n}\n\nexport const f = async (a) => {\n}\ninterface I {\n}\nfoo(function () {\n})\n", []string{
			"A | export default class A<T> extends B {", "A > go | private async go(x: number): Promise<void> {", "f | export const f = async (a) => {", "I | interface I {", "foo | foo(function () {"}},
		{"A.java", "package a;\n\n/** A type. */\npublic final class A {\n    private int n = f(1);\n\n    @Override\n    public List<String> all(int x) throws E {\n        return new Foo(x);\n    }\n\n    A(int n) {\n        this.go();\n    }\n}\n", []string{
			"A | /** A type. */", "A > all | @Override", "A > A | A(int n) {"}},
		{"a.rs", "#[derive(Debug)]\npub struct S<'a> { x: &'a str }\n\nimpl<'a> fmt::Display for S<'a> {\n    fn fmt(&self) -> R {\n        write!(f, \"{\")\n    }\n}\n", []string{
			"S | #[derive(Debug)]", "S | impl<'a> fmt::Display for S<'a> {", "S > fmt | fn fmt(&self) -> R {"}},
		{"a.c", "#include <x.h>\n#define MAX(a, b) a\n\n/*\n * Adds.\n */\nstatic int\nadd(int a,\n    int b)\n{\n    go(a);\n    return f(b);\n}\n\nint declared(int a);\nstruct s {\n    int x;\n};\n", []string{
			"MAX | #define MAX(a, b) a", "add | add(int a,", "s | struct s {"}},
		{"a.rb", "class A\n  # Greets.\n  def self.hi?(x)\n    x\n  end\n\n  def b\n  end\nend\nputs 1\n", []string{"A | class A", "A > hi? | # Greets.", "A > b | def b"}},
		{"a.sql", "-- berths\nCREATE TABLE IF NOT EXISTS a.berths (\n  id int\n);\n\ncreate or replace function f() returns int as $$\nselect 1;\ncreate table no ();\n$$ language sql;\n", []string{
			"a.berths | -- berths", "f | create or replace function f() returns int as $$"}},
		{"a.yaml", "def: x\n", nil},
	} {
		d, err := Parse(t.Context(), Source{Content: []byte(tc.text), FileName: tc.fileName})
		if err != nil {
			t.Fatal(err)
		}
		check(t, d)
		var got []string
		for _, s := range d.Spans {
			if s.Kind == Section {
				first, _, _ := strings.Cut(strings.TrimSpace(d.Text[s.Start:s.End]), "\n")
				got = append(got, fmt.Sprint(s.Name, " | ", first))
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || len(d.Units) != len(tc.want) {
			t.Errorf("%s has %d units (-want +got)\n%s", tc.fileName, len(d.Units), diff)
		}
	}
}

func FuzzCode(f *testing.F) {
	for _, l := range languages {
		f.Add("class A {\n  /* x\n */ f() {\n\"\"\" `\n}\n}\ndef b():\n  c = '\\\nfunc (a *b) C() {", strings.Fields(l.extensions)[0])
	}
	f.Fuzz(func(t *testing.T, text, ending string) {
		d, err := Parse(t.Context(), Source{Content: []byte(text), FileName: "a" + ending})
		if err != nil {
			return
		}
		check(t, d)
		at := 0
		for _, u := range d.Units {
			if u.Start < at || u.Start >= len(d.Text) || u.Depth < 1 || u.Depth > maxDepth {
				t.Fatalf("unit %v after %d", u, at)
			}
			at = u.Start
		}
	})
}
