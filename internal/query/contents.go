package query

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
)

// contentsLast lowers the scores of tables of contents, which name what other passages say, by
// index.ContentsWeight, and returns the sources best first, ties by id. A keyword search needs it not: the
// terms of such a chunk weigh less.
func contentsLast(sources []Source) []Source {
	lowered := false
	for n := range sources {
		if isContents(sources[n].Metadata) {
			sources[n].Score -= math.Abs(sources[n].Score) * (1 - index.ContentsWeight)
			lowered = true
		}
	}
	if lowered {
		slices.SortStableFunc(sources, func(a, b Source) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
		})
	}
	return sources
}

// isContents reports whether the metadata of a chunk say that it is of a table of contents.
func isContents(metadata string) bool {
	if !strings.Contains(metadata, `"contents"`) {
		return false
	}
	var fields struct {
		Position struct {
			Contents bool `json:"contents"`
		} `json:"position"`
	}
	return json.Unmarshal([]byte(metadata), &fields) == nil && fields.Position.Contents
}
