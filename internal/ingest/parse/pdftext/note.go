package pdftext

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// ref is the part text[from:to] of a line that is a raised mark, such as that of a note.
type ref struct {
	from, to int
	mark     string
	note     int // the number of the note in the file, 0 for none
}

const (
	raisedSize = 0.85 // of a raised mark at most, in sizes of its line
	raisedBy   = 0.15 // at least, in sizes of the line
	noteSize   = 0.95 // of a note at most, in sizes of the body
	maxMark    = 3    // characters
	maxNotes   = 500  // lines at the foot of a page
)

func isMarkRune(r rune) bool { return r >= '0' && r <= '9' || strings.ContainsRune("*†‡§", r) }

// raised finds the raised marks of a line.
func (p *pageReader) raised(l *line) {
	for i := l.start; i <= l.last; i++ {
		if !isMarkRune(p.chars[i]) || i > l.start && unicode.IsDigit(p.chars[i-1]) {
			continue
		}
		end := i + 1
		for end <= l.last && isMarkRune(p.chars[end]) {
			end++
		}
		if end-i <= maxMark && p.size(i)*l.scale < raisedSize*l.size && p.isRaised(l, i) {
			if from, to, ok := l.bytes(p.chars, i, end); ok {
				l.refs = append(l.refs, ref{from: from, to: to, mark: l.text[from:to]})
			}
		}
		i = end - 1
	}
}

// isRaised reports whether a character stands higher than one beside it.
func (p *pageReader) isRaised(l *line, index int) bool {
	beside := index - 1
	for beside > l.start && (!p.visible(beside) || isMarkRune(p.chars[beside])) {
		beside--
	}
	if index == l.start {
		for beside = index; beside < l.last && (!p.visible(beside) || isMarkRune(p.chars[beside])); {
			beside++
		}
	}
	_, high := p.origin(index)
	_, base := p.origin(beside)
	return high-base > raisedBy*l.size
}

// noteStart matches the mark that a note may begin with, on its baseline, and the first character of
// its text.
var noteStart = regexp.MustCompile(`^([0-9]{1,3}|[*†‡§]{1,3})(?:[.)]?\s+(\S)|(\p{Lu}))`)

// mark returns the mark of the note that begins with the line and the bytes before its text, "" if
// none does.
func (l *line) mark(body float64) (mark string, skip int) {
	if body == 0 || l.size > noteSize*body || len(l.cells) > 2 {
		return "", 0
	}
	if len(l.refs) > 0 && l.refs[0].from == 0 {
		return l.refs[0].mark, l.refs[0].to
	}
	if m := noteStart.FindStringSubmatch(l.text); m != nil {
		return m[1], len(m[0]) - len(m[2]) - len(m[3])
	}
	return "", 0
}

// takeNotes moves the notes at the foot of a page to the lines that refer to them, and numbers
// them from first. It returns the lines that stay and the next number.
func takeNotes(lines []line, body float64, first int) ([]line, int) {
	foot := len(lines)
	for i := len(lines) - 1; i >= 0 && lines[i].turned == 0 && lines[i].size <= noteSize*body; i-- {
		foot = i
	}
	if len(lines)-foot > maxNotes {
		return lines, first
	}
	for ; foot < len(lines); foot++ {
		if mark, _ := lines[foot].mark(body); mark != "" && refTo(lines[:foot], mark) != nil {
			break
		}
	}
	if foot == len(lines) {
		return lines, first
	}
	var current *line
	for i := foot; i < len(lines); i++ {
		l := &lines[i]
		text := l.text
		if mark, skip := l.mark(body); mark != "" {
			if found := refTo(lines[:foot], mark); found != nil {
				k := slices.IndexFunc(found.refs, func(r ref) bool { return r.mark == mark && r.note == 0 && r.from > 0 })
				found.refs[k].note = first
				found.notes = append(found.notes, fmt.Sprintf("[^%d]: %s", first, strings.TrimSpace(text[skip:])))
				current = found
				first++
				continue
			}
		}
		last := &current.notes[len(current.notes)-1]
		if hyphenated(*last, text) {
			*last = strings.TrimSuffix(*last, "-") + text
		} else {
			*last += "\n" + text
		}
	}
	return lines[:foot], first
}

// refTo returns the first line with a mark that is not yet that of a note, nil if there is none.
func refTo(lines []line, mark string) *line {
	for i := range lines {
		if slices.ContainsFunc(lines[i].refs, func(r ref) bool { return r.mark == mark && r.note == 0 && r.from > 0 }) {
			return &lines[i]
		}
	}
	return nil
}
