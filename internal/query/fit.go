package query

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/query/budget"
	"github.com/ragdhq/ragd/internal/tenant"
)

// fewFitted is the size in bytes of texts up to which their tokens are counted without a slot of the
// processor: about ten milliseconds of work.
const fewFitted = 256 << 10

// Fitted is what of an answer fits into a budget.
type Fitted struct {
	Sources []Source
	Numbers []int // of the Sources in the answer that was fitted, from 0
	Context string
	Report  *budget.Report
}

// Fit fits the sources of an answer into a budget, as package budget says. What counts is the context that
// render makes of some of them, whose numbers it is given; before returns what it writes before the
// text of a source. Errors: those of limit.Processor.Run.
func (s *Service) Fit(ctx context.Context, id tenant.ID, b *budget.Budget, sources []Source, before func(n int) string, render func(sources []Source, numbers []int) string) (f Fitted, err error) {
	bytes := 0
	for _, source := range sources {
		bytes += len(source.Text)
	}
	err = s.processor.RunLong(ctx, string(id), bytes > fewFitted, func(ctx context.Context) error {
		f, err = fit(ctx, b, sources, before, render)
		return err
	})
	return f, err
}

func fit(ctx context.Context, b *budget.Budget, sources []Source, before func(n int) string, render func(sources []Source, numbers []int) string) (f Fitted, err error) {
	passages := make([]budget.Passage, len(sources))
	for n, source := range sources {
		passages[n].Text = source.Text
		if source.Chunk != nil {
			passages[n].From = source.Chunk.Start
		}
	}
	cost := func(n int, text string) int {
		if err == nil {
			err = limit.Yield(ctx)
		}
		if err != nil {
			return 0
		}
		return b.Count(before(n) + text + "\n\n")
	}
	room := b.Max
	choice := b.Fit(passages, room, cost)
	for err == nil {
		f.Sources, f.Numbers = f.Sources[:0], f.Numbers[:0]
		for _, part := range choice.Parts {
			f.Sources, f.Numbers = append(f.Sources, sources[part.Passage].Part(part.Start, part.End)), append(f.Numbers, part.Passage)
		}
		f.Context = render(f.Sources, f.Numbers)
		used := b.Count(f.Context)
		if used <= b.Max {
			f.Report = choice.Report(b, used, func(n int) budget.Omitted { return sources[n].omitted() })
			break
		}
		room -= used - b.Max
		choice = choice.Refit(passages, room, cost)
	}
	return f, err
}

func (s Source) omitted() budget.Omitted {
	return budget.Omitted{ID: s.ID, DocumentID: s.DocumentID, URI: s.URI, Title: s.Title, IndexName: s.IndexName, Score: s.Score}
}

// Part returns the source with text[start:end] of its text alone.
func (s Source) Part(start, end int) Source {
	if start == 0 && end == len(s.Text) {
		return s
	}
	whole := s.Text
	s.Text = whole[start:end]
	if len(whole) == s.EndByte-s.StartByte { // a verbatim section of the document
		s.StartByte, s.EndByte = s.StartByte+start, s.StartByte+end
	}
	if s.Chunk != nil {
		s.Chunk = &Span{max(s.Chunk.Start-start, 0), min(s.Chunk.End, end) - start}
	}
	s.Hits = hitsWithin(s.Hits, start, end)
	if metadataText(s.Metadata) == whole {
		s.Metadata = withText(s.Metadata, s.Text)
	}
	return s
}

// hitsWithin returns the hits that begin in text[start:end], in that part of the text.
func hitsWithin(hits []Hit, start, end int) (within []Hit) {
	for _, hit := range hits {
		if hit.Span.Start >= start && hit.Span.Start < end {
			hit.Span = Span{hit.Span.Start - start, min(hit.Span.End, end) - start}
			within = append(within, hit)
		}
	}
	return within
}

// withText returns the JSON of an object with another text.
func withText(metadata, text string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(metadata), &fields) != nil {
		return metadata
	}
	for name := range fields {
		if !strings.EqualFold(name, "text") {
			continue
		}
		var value string
		if json.Unmarshal(fields[name], &value) == nil {
			fields[name], _ = json.Marshal(text)
		}
	}
	replaced, err := json.Marshal(fields)
	if err != nil {
		return metadata
	}
	return string(replaced)
}

// BeforeText returns what RelevantContext writes before the text of a source with a number from 1 on.
func (s Source) BeforeText(number int) string {
	before := "[" + strconv.Itoa(number) + "]"
	if s.Title != "" {
		before += " " + s.Title
	}
	return before + "\n"
}
