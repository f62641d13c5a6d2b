package parse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func pdfFile(t *testing.T, name string) Document {
	t.Helper()
	d, err := Parse(t.Context(), Source{Content: read(t, filepath.Join("testdata/pdf", name))})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	check(t, d)
	return d
}

func TestPDFFilesOfManyTools(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/pdf/*.pdf")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			d := pdfFile(t, filepath.Base(path))
			golden := path + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(describe(d)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(read(t, golden)), describe(d)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// What is read does not depend on the tool that made the file.
func TestStructureOfPDFFiles(t *testing.T) {
	t.Parallel()
	const (
		note  = "twelve.[^1]"
		below = "\n\n[^1]: In fog also on channel sixteen"
		berth = "[the berths](https://example.org/berths)"
		rows  = "| Berth | Depth | Crane |\n| --- | --- | --- |\n| North | 11.5 | yes |\n| Fish | 4.0 | none |"
	)
	for name, want := range map[string][]string{
		"notice-pdflatex.pdf":    {"# 1 Entering\n", "## 1.1 Depths\n", note, below, "that\nstay for one tide only.[^2]", berth, rows, "[the tower](mailto:tower@example.org)", "or\u00a0read https://example.org/rules.\n"},
		"notice-xelatex.pdf":     {"# 1 Entering\n", "## 1.1 Depths\n", note, below, berth, rows},
		"notice-lualatex.pdf":    {"# 1 Entering\n", "## 1.1 Depths\n", note, below, berth, rows},
		"notice-chromium.pdf":    {"# Notice to mariners\n", "## Entering\n", note, below, "[the\nberths](https://example.org/berths)", "[stay for one\ntide only, or for the rest of the day,](https://example.org/tide?day=1&part=2)", strings.Replace(rows, "Fish", "[Fish](https://example.org/fish)", 1)},
		"notice-libreoffice.pdf": {"# Entering\n", note, below, berth, rows},
		"notice-groff.pdf":       {"# 1. Entering\n", "# 2. Leaving\n", note, below, "(https://example.org/berths)", "The first column ends here.\n\n### 3. Waiting\n\nThe second column begins"},
		"notice-ghostscript.pdf": {"# 1. Entering\n", "tide only. See\n", "harbour. The second\n", "# 2. Leaving\n", note, below, "The first column ends here.\n\n### 3. Waiting\n\nThe second column begins"},
		"arabic.pdf":             {"## دليل المرفأ\n", "يقع المرفأ عند مدخل الخليج، وفيه أربعة أرصفة. تعلن السفن عن وصولها"},
		"columns.pdf":            {"## 1 High water\n", "The first column ends here.\n\n## 2 Low water\n\nThe second column begins"},
		"rows.pdf":               {"of the river, and the ebb runs longer. Its end.\nThe second column begins here."},
		"ruled.pdf": {
			"| Berth | Where it is, and what it is for | Fee |  |\n| --- | --- | --- | --- |\n| North | Behind the breakwater, for ships that wait for the flood or for a pilot | 30 crowns | a day |\n",
			"| March 28 | 04:16 | 10:08 |\n\n| Day | Low water | High water |\n| --- | --- | --- |\n| March 29 | 05:23 | 11:19 |\n| March 30 | 06:30 | 12:30 |\n\nAll times",
		},
		"type3.pdf": {"The office\nof the harbour first found the final five fish in the\nfield.", "Das Schiff fährt schnell, das Tor schließt, étage."},
	} {
		text := pdfFile(t, name).Text
		for _, part := range want {
			if !strings.Contains(text, strings.ReplaceAll(part, "\u00a0", " ")) {
				t.Errorf("%s: there is no %q in %q", name, part, text)
			}
		}
	}
}

// Page numbers and the second running title are left out, labels of pages kept.
func TestPagesOfPDFFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"notice-pdflatex.pdf", "notice-xelatex.pdf", "notice-lualatex.pdf"} {
		d := pdfFile(t, name)
		if strings.Contains(d.Text, "Harbour office") || d.Properties["runningTitle"] != "Harbour office" {
			t.Errorf("%s: the running title is in %q, and %q", name, d.Text, d.Properties["runningTitle"])
		}
		var labels []any
		for _, s := range d.Spans {
			if s.Kind == Page {
				labels = append(labels, d.SpanIndex().Metadata(s.Start, s.End)["pageLabel"])
				if text := d.Text[s.Start:s.End]; strings.HasSuffix(text, "\n"+s.Name) {
					t.Errorf("%s: page %d ends with its number", name, s.Number)
				}
			}
		}
		if diff := cmp.Diff([]any{"i", "ii", "1", "2"}, labels); diff != "" {
			t.Errorf("%s: labels (-want +got)\n%s", name, diff)
		}
	}
}

func TestTurnedPagesOfPDFFiles(t *testing.T) {
	t.Parallel()
	d := pdfFile(t, "turned.pdf")
	const want = "\n\nAt low water the sill lies dry, and the gates of\nthe basin stay closed until the flood has begun.\n\n" +
		"Small boats wait in the outer harbour.\n\n| Berth | Depth | Crane |\n| --- | --- | --- |\n| North | 11.5 | yes |\n| Fish | 4.0 | none |"
	titles := map[int]string{1: "# A quarter", 2: "# A half", 3: "# Three quarters", 4: "# Turned text"}
	for _, s := range d.Spans {
		if s.Kind == Page {
			if diff := cmp.Diff(titles[s.Number]+want, d.Text[s.Start:s.End]); diff != "" {
				t.Errorf("page %d (-want +got)\n%s", s.Number, diff)
			}
			delete(titles, s.Number)
		}
	}
	if len(titles) > 0 {
		t.Errorf("pages are missing: %v", titles)
	}
}
