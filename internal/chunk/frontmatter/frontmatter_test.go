package frontmatter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFrontMatterKeepsItsTypes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       string // JSON
		body       string
		problem    string
	}{
		{"YAML", "---\ntitle: Tides\ndate: 2024-01-02\nat: 2024-01-02T03:04:05Z\ndraft: false\nweight: 3\nratio: 0.5\ntags: [a, b]\nauthor: {name: Ana}\nnone:\n---\n# Body\n",
			`{"title":"Tides","date":"2024-01-02","at":"2024-01-02T03:04:05Z","draft":false,"weight":3,"ratio":0.5,"tags":["a","b"],"author":{"name":"Ana"},"none":null}`, "# Body\n", ""},
		{"YAML with Windows line ends, a byte order mark and dots", "\ufeff---\r\na: 1\r\n...\r\nBody", `{"a":1}`, "Body", ""},
		{"TOML", "+++\ntitle = 'Tides'\ndate = 2024-01-02\n[author]\nname = 'Ana'\n[[links]]\nurl = 'a'\n+++\nBody", `{"title":"Tides","date":"2024-01-02","author":{"name":"Ana"},"links":[{"url":"a"}]}`, "Body", ""},
		{"JSON", "{\n  \"title\": \"Tides\",\n  \"tags\": [\"a\"],\n  \"weight\": 3\n}\n\nBody", `{"title":"Tides","tags":["a"],"weight":3}`, "\nBody", ""},
		{"a brace that begins no JSON", "{\n% if x %\n}\nBody", "", "", ""},
		{"keys that are no texts", "---\n1: a\ntrue: b\nx: .nan\n---\nBody", `{"1":"a","true":"b","x":"NaN"}`, "Body", ""},
		{"without fields", "---\n# nothing\n---\nBody", `{}`, "Body", ""},
		{"a rule across the page", "---\n\nText\n\n---\nBody", "", "", ""},
		{"a heading between lines", "---\nText\n---\nBody", "", "", ""},
		{"no second line", "---\na: 1\n", "", "", ""},
		{"not at the beginning", "Text\n---\na: 1\n---\n", "", "", ""},
		{"nothing else", "---\na: 1\n---\n \n", "", "", ""},
		{"broken YAML", "---\na: [1\nb: 2\n---\nBody", "", "", "the front matter is not valid YAML: line 1: did not find expected ',' or ']': it is treated as text"},
		{"broken TOML", "+++\na = \n+++\nBody", "", "", "the front matter is not valid TOML: toml: line 1 (last key \"a\"): expected value but found '\\n' instead: it is treated as text"},
		{"too large", "---\na: " + strings.Repeat("x", MaxSize) + "\n---\nBody", "", "", "the front matter has 16388 bytes, over the limit of 16384: it is treated as text"},
		{"a null character", "---\na: \"\\0\"\n---\nBody", "", "", "the front matter contains a null character: it is treated as text"},
		{"too deep", "---\na: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n---\nBody", "", "", "the front matter is nested deeper than 32 levels: it is treated as text"},
		{"aliases of aliases", "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n---\nBody",
			"", "", "the front matter is not valid YAML: document contains excessive aliasing: it is treated as text"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Read(tc.text)
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			if problem != tc.problem {
				t.Errorf("error %q, want %q", problem, tc.problem)
			}
			if tc.want == "" {
				if got.JSON != nil || got.Body != 0 {
					t.Errorf("got %s and the body from %d", got.JSON, got.Body)
				}
				return
			}
			var want, fields any
			if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(got.JSON, &fields); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, fields); diff != "" || tc.text[got.Body:] != tc.body {
				t.Errorf("the body is %q, the fields are (-want +got)\n%s", tc.text[got.Body:], diff)
			}
		})
	}
}

func FuzzFrontMatter(f *testing.F) {
	for _, seed := range []string{"---\na: 1\n---\nBody", "+++\na = 1\n+++\nBody", "---\n? [a]\n: {b: !!binary aGk=}\n...\nx", "---\n<<: *a\n---\nx"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Read(text)
		if err != nil && got.Body != 0 || got.Body > len(text) || got.JSON != nil && !json.Valid(got.JSON) || len(got.JSON) > MaxSize {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
