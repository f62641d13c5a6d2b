package graph

import "testing"

func TestPartsAreWhatEdgesConnect(t *testing.T) {
	t.Parallel()
	p := newParts(4)
	place := func(ordinal int) Place { return Place{"d", ordinal} }
	for i := range 5 {
		p.add(place(i))
	}
	p.add(place(1))
	for _, pair := range [][2]int{{0, 1}, {1, 2}, {2, 0}, {3, 9}} {
		p.join(place(pair[0]), place(pair[1]))
	}
	if p.count != 3 { // 0-1-2, 3 and 4
		t.Errorf("got %d parts, want 3", p.count)
	}
}
