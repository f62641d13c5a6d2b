package pdftext

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inCell returns a line of a grid that begins at a place.
func inCell(g *ruling, x, y float64, text string) line {
	return line{text: text, size: 10, across: y, along: x, end: x + 5*float64(len(text)), ruling: g}
}

func TestTablesOfDrawnLines(t *testing.T) {
	t.Parallel()
	// Two columns of 100 points, rows of 40 points; the second column has no line at its right, and the last row none
	// between its columns.
	across := []rule{{120, 0, 200}, {80, 0, 200}, {40, 0, 200}, {0, 0, 200}}
	down := []rule{{0, 0, 120}, {100, 40, 120}}
	found := gridsOf(across, down)
	if len(found) != 1 {
		t.Fatalf("%d grids", len(found))
	}
	g := found[0]
	type texts = [][]string
	for name, tc := range map[string]struct {
		lines []line
		want  texts
	}{
		"cells of several lines": {
			[]line{inCell(g, 5, 105, "Berth"), inCell(g, 105, 105, "Use"), inCell(g, 5, 65, "North"), inCell(g, 105, 65, "For ships that are wait-"), inCell(g, 105, 55, "ing, and"), inCell(g, 105, 45, "for pilots")},
			texts{{"Berth", "Use"}, {"North", "For ships that are waiting, and for pilots"}},
		},
		"rows without lines between them": {
			[]line{inCell(g, 5, 105, "Day"), inCell(g, 105, 105, "Tide"), inCell(g, 5, 70, "1"), inCell(g, 105, 70, "05:23"), inCell(g, 5, 58, "2"), inCell(g, 105, 58, "06:30"), inCell(g, 5, 46, "3"), inCell(g, 105, 46, "07:37")},
			texts{{"Day", "Tide"}, {"1", "05:23"}, {"2", "06:30"}, {"3", "07:37"}},
		},
		"merged cells": {
			[]line{inCell(g, 5, 105, "Berth"), inCell(g, 105, 105, "Use"), inCell(g, 120, 20, "The rest is closed.")},
			texts{{"Berth", "Use"}, {"The rest is closed.", ""}},
		},
		"no script with spaces": {
			[]line{inCell(g, 5, 105, "名前"), inCell(g, 105, 105, "用途"), inCell(g, 5, 65, "北"), inCell(g, 105, 65, "水先人を待つ"), inCell(g, 105, 52, "船のため")},
			texts{{"名前", "用途"}, {"北", "水先人を待つ船のため"}},
		},
		"a drawing": {[]line{inCell(g, 5, 105, "Harbour"), inCell(g, 5, 65, "North")}, nil},
	} {
		if diff := cmp.Diff(tc.want, g.table(tc.lines).rows); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	for name, lines := range map[string]struct{ across, down []rule }{
		"a frame":            {[]rule{{100, 0, 100}, {0, 0, 100}}, []rule{{0, 0, 100}, {100, 0, 100}}},
		"lines across":       {[]rule{{100, 0, 100}, {80, 0, 100}, {60, 0, 100}, {40, 0, 100}}, nil},
		"lines that part":    {[]rule{{100, 0, 100}, {80, 0, 100}, {60, 0, 100}}, []rule{{200, 0, 100}, {250, 0, 100}, {300, 0, 100}}},
		"a box beside a box": {[]rule{{100, 0, 50}, {0, 0, 50}, {100, 80, 130}, {0, 80, 130}}, []rule{{0, 0, 100}, {50, 0, 100}, {80, 0, 100}, {130, 0, 100}}},
	} {
		if found := gridsOf(lines.across, lines.down); found != nil {
			t.Errorf("%s: %v", name, found[0])
		}
	}
}
