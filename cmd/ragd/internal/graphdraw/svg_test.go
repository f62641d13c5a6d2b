package graphdraw

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestWriteSVGDrawsEveryNodeAsWellFormedXML(t *testing.T) {
	t.Parallel()
	nodes := []Node{{Label: `A & "B" <c>`, Score: 0.5, Seed: 1, Source: true}, {Label: strings.Repeat("long ", 20), Score: 0.2}, {Label: "a\x01lone"}}
	edges := []Edge{{0, 1, "mention", `names "x"`, 0.7}, {1, 0, "next", "next to", 0.1}, {0, 9, "next", "nowhere", 1}, {2, 2, "next", "itself", 1}}
	var first, again strings.Builder
	for _, b := range []*strings.Builder{&first, &again} {
		if err := WriteSVG(b, "Why <this>?", nodes, edges); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != again.String() {
		t.Error("two pictures of one graph differ")
	}
	boxes := 0
	for decoder := xml.NewDecoder(strings.NewReader(first.String())); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "g" {
			boxes++
		}
	}
	if boxes != len(nodes) {
		t.Errorf("%d boxes of %d nodes", boxes, len(nodes))
	}
}

func TestALongTitleStaysInThePicture(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := WriteSVG(&b, strings.Repeat("Where? ", 100), []Node{{Label: "alone"}}, nil); err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(b.String(), `font-weight="bold">`)
	shown, _, _ = strings.Cut(shown, "<")
	if n := len([]rune(shown)); n > 100 || !strings.HasSuffix(shown, "…") {
		t.Errorf("%d runes are shown: %q", n, shown)
	}
}

func TestColumnsAreStepsFromTheSeeds(t *testing.T) {
	t.Parallel()
	nodes := make([]Node, 5)
	nodes[0].Seed = 1
	got := columns(nodes, []Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 0}, {From: 3, To: 4}})
	if want := []int{0, 1, 2, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheMainEdgeHasItsLabelBesideTheBox(t *testing.T) {
	t.Parallel()
	nodes := []Node{{Label: "a", Score: 0.5, Seed: 1}, {Label: "b", Score: 0.1, Seed: 1}, {Label: "c", Score: 0.2}}
	edges := []Edge{{1, 2, "mention", "weak", 0.9}, {0, 2, "mention", "strong", 0.5}, {2, 0, "next", "back", 1}}
	var b strings.Builder
	if err := WriteSVG(&b, "", nodes, edges); err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{"strong": ">strong</text>", "weak": "<title>weak</title>", "back": "<title>back</title>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not drawn as %s", label, want)
		}
	}
}
