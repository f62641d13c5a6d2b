package parse

import (
	"errors"
	"html"
	"regexp"
	"strconv"
	"strings"
)

// cueTimes matches the line above the text of a subtitle, in SRT and in WebVTT.
var cueTimes = regexp.MustCompile(`^\s*(?:(\d{1,5}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})\s*-->\s*(?:(\d{1,5}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})`)

// silence is the gap between two subtitles that begins a new paragraph, in milliseconds.
const silence = 3000

// subtitles reads the text of SRT and WebVTT files, a line for each line that is shown, with
// its times. A line that is shown again right after itself, as captions made while one
// speaks are, is written once.
func (p *parser) subtitles() error {
	text, err := p.utf8()
	if err != nil {
		return err
	}
	s := &subtitleReader{out: &p.text}
	var times []string // of the subtitle that the line belongs to
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "":
			times = nil
		case times == nil || strings.Contains(line, "-->"):
			if found := cueTimes.FindStringSubmatch(line); found != nil {
				times = found
				s.begin(milliseconds(times[1:5]), milliseconds(times[5:9]))
			}
		default:
			s.line(line)
		}
		if p.text.full {
			return nil
		}
	}
	if s.cues == 0 {
		return broken(p.format, errors.New("no line has times"))
	}
	return nil
}

// milliseconds converts hours, minutes, seconds and their fraction.
func milliseconds(parts []string) int {
	total := 0
	for i, unit := range []int{3_600_000, 60_000, 1000} {
		n, _ := strconv.Atoi(parts[i]) // "" is 0
		total += n * unit
	}
	fraction, _ := strconv.Atoi((parts[3] + "00")[:3])
	return total + fraction
}

// subtitleReader writes subtitles as text.
type subtitleReader struct {
	out     *textBuilder
	cues    int
	now     Span   // the times of the current subtitle
	before  int    // the end of the one before
	last    string // line written
	speaker string
}

func (s *subtitleReader) begin(start, end int) {
	s.cues++
	s.before = s.now.Last
	s.now = Span{Kind: Time, Number: start, Last: max(start, end)}
}

var (
	voice     = regexp.MustCompile(`<v(?:\.[^ >]*)? ([^>]{1,100})>`)
	cueMarkup = regexp.MustCompile(`<[^>]*>|\{\\[^}]*\}`)
)

// line writes a line of the current subtitle without its markup. Who speaks stands before it.
func (s *subtitleReader) line(line string) {
	speaker := ""
	if found := voice.FindStringSubmatch(line); found != nil {
		speaker = strings.TrimSpace(found[1])
	}
	s.say(speaker, html.UnescapeString(cueMarkup.ReplaceAllString(line, "")))
}

// say writes what is said at the current times, unless it was said right before. speaker is "" if that is not known.
func (s *subtitleReader) say(speaker, line string) {
	line = strings.Join(strings.Fields(line), " ")
	if line == "" || line == s.last {
		return
	}
	s.last = line
	paragraph := s.now.Number-s.before >= silence
	if speaker != "" && speaker != s.speaker {
		s.speaker, paragraph = speaker, true
		line = speaker + ": " + line
	}
	separator := "\n"
	if paragraph {
		separator = "\n\n"
	}
	s.before = s.now.Number // the next line of this subtitle follows at once
	if s.out.Len() > 0 {
		s.out.write(separator)
	}
	start := s.out.Len()
	s.out.write(line)
	s.spanned(start)
}

// spanned records the times of the text written since start.
func (s *subtitleReader) spanned(start int) {
	if s.now.Last == 0 { // not known
		return
	}
	spans := &s.out.spans
	if n := len(*spans); n > 0 && (*spans)[n-1].Number == s.now.Number && (*spans)[n-1].Last == s.now.Last {
		(*spans)[n-1].End = s.out.Len()
		return
	}
	if len(*spans) < maxRuns && start < s.out.Len() {
		now := s.now
		now.Start, now.End = start, s.out.Len()
		*spans = append(*spans, now)
	}
}
