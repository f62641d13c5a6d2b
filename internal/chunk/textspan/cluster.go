package textspan

import (
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// ClusterContext is how many bytes back IsClusterBorder looks for the start of a
// grapheme cluster. Longer clusters may be cut between code points.
const ClusterContext = 64

// IsClusterBorder reports whether position at, somewhere after the border floor,
// lies between two grapheme clusters (Unicode annex 29).
func IsClusterBorder(text string, floor, at int) bool {
	if at == len(text) {
		return true
	}
	if text[at]&0xC0 == 0x80 {
		return false
	}
	if IsASCII(text[at-1 : at+1]) {
		return text[at-1] != '\r' || text[at] != '\n'
	}
	// Whether a cluster ends here depends on the text before and on the next code
	// point.
	from := RuneStart(text, max(at-ClusterContext, floor))
	_, n := utf8.DecodeRuneInString(text[at:])
	clusters := graphemes.FromString(text[from : at+n])
	for clusters.Next() {
		if end := from + clusters.End(); end >= at {
			return end == at || clusters.Start() == 0 && from > floor
		}
	}
	return true
}

// RuneStart returns the start of the code point that text[pos] belongs to.
func RuneStart(text string, pos int) int {
	for pos > 0 && pos < len(text) && text[pos]&0xC0 == 0x80 {
		pos--
	}
	return pos
}
