package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/query/budget"
)

// ResultForm says which of the two forms of a Result its reader reads.
type ResultForm string

// The forms. The zero value is both.
const (
	TextForm       ResultForm = "text"
	StructuredForm ResultForm = "structured"
)

// InStructured is the text of a result whose reader reads the structured content.
const InStructured = "The answer is in structuredContent."

type formKey struct{}

func withForm(ctx context.Context, f ResultForm) context.Context {
	return context.WithValue(ctx, formKey{}, f)
}

// envelope is what a result has besides its text and its structured content, or a little more.
const envelope = `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"ragd","version":"v0.0.0-20260101120000-0123456789ab+dirty"}},` +
	`"resultType":"complete","content":[{"type":"text","text":"` + InStructured + `"}],"structuredContent":}`

// namedShare is the part of a budget, one in so many, that the names of what was left out may take.
const namedShare = 8

// meter counts the tokens of results as their reader gets them: as the JSON of MCP, in the forms that
// it reads.
type meter struct {
	*budget.Budget

	form ResultForm
}

func meterOf(ctx context.Context, b *budget.Budget) meter {
	form, _ := ctx.Value(formKey{}).(ResultForm)
	return meter{b, form}
}

// tokens returns the tokens of a part of a result in both of its forms, as far as they are read.
func (m meter) tokens(text string, structured []byte) (n int, err error) {
	if m.form != StructuredForm && text != "" {
		encoded, err := jsonmessage.AppendString(nil, text)
		if err != nil {
			return 0, err
		}
		n += m.Count(string(encoded[1 : len(encoded)-1])) // without the quotes
	}
	if m.form != TextForm {
		n += m.Count(string(structured))
	}
	return n, nil
}

// vectorQuery returns the method of vector_query.
func (s *Set) vectorQuery() method {
	return func(ctx context.Context, arguments accepted) (proto.Message, string, error) {
		req := &ragdv1.VectorQueryRequest{}
		arguments, questions, err := splitQueries(arguments)
		if err != nil {
			return nil, "", err
		}
		if err := arguments.decode(req); err != nil {
			return nil, "", err
		}
		if questions != nil {
			return s.askSeveral(ctx, req, questions)
		}
		b, err := newBudget(req.MaxTokens, req.GetEncodingName())
		if err != nil {
			return nil, "", err
		}
		bare := req.IncludeSources != nil && !req.GetIncludeSources()
		if b != nil {
			req.MaxTokens, req.EncodingName, req.IncludeSources = nil, "", nil
		}
		res, err := s.api.VectorQuery(ctx, req)
		if err != nil {
			return nil, "", err
		}
		if b == nil {
			return res, answerText(req, res), nil
		}
		return fitted(ctx, b, sourcesOf(res), func(p parts) (proto.Message, string, error) {
			answer := &ragdv1.VectorQueryResponse{Sources: p.sources, Warnings: p.warnings, Budget: p.budget, QueryId: named(b, res.GetQueryId())}
			if bare || len(res.GetSources()) == 0 {
				answer.Sources, answer.RelevantContext, answer.QueryId = nil, contextOf(p.sources), ""
			}
			if p.explained {
				answer.Explain = res.GetExplain()
			}
			return answer, answerText(req, answer), nil
		}, res.GetWarnings())
	}
}

// graphRag returns the method of graph_rag.
func (s *Set) graphRag() method {
	return func(ctx context.Context, arguments accepted) (proto.Message, string, error) {
		req := &ragdv1.GraphRagRequest{}
		if err := arguments.decode(req); err != nil {
			return nil, "", err
		}
		b, err := newBudget(req.MaxTokens, req.GetEncodingName())
		if err != nil {
			return nil, "", err
		}
		bare := req.IncludeSources != nil && !req.GetIncludeSources()
		if b != nil {
			req.MaxTokens, req.EncodingName, req.IncludeSources = nil, "", nil
		}
		res, err := s.api.GraphRag(ctx, req)
		if err != nil {
			return nil, "", err
		}
		if b == nil {
			return res, walkText(req, res), nil
		}
		return fitted(ctx, b, sourcesOf(res), func(p parts) (proto.Message, string, error) {
			answer := &ragdv1.GraphRagResponse{Sources: p.sources, Warnings: p.warnings, Budget: p.budget, QueryId: named(b, res.GetQueryId())}
			if bare || len(res.GetSources()) == 0 {
				answer.Sources, answer.RelevantContext, answer.QueryId = nil, contextOf(p.sources), ""
			}
			if p.explained {
				answer.Explain = res.GetExplain()
			}
			return answer, walkText(req, answer), nil
		}, res.GetWarnings())
	}
}

// newBudget returns the budget of a request; nil if it has none. Errors: those of budget.New.
func newBudget[N int32 | float64](most *N, encoding string) (*budget.Budget, error) {
	if most == nil {
		return budget.New(nil, encoding)
	}
	return budget.New(new(int(min(max(*most, -1), budget.Max+1))), encoding)
}

// named returns the name of an answer; empty if it takes more than an eighth of the budget.
func named(b *budget.Budget, queryID string) string {
	if b.Count(queryID) > b.Max/namedShare {
		return ""
	}
	return queryID
}

// sourcesOf returns the sources of an answer. If the request context has left them out, the only one is
// the relevant context.
func sourcesOf(a answer) []*ragdv1.Source {
	if len(a.GetSources()) == 0 && a.GetRelevantContext() != "" {
		return []*ragdv1.Source{{Document: a.GetRelevantContext()}}
	}
	return a.GetSources()
}

// parts are what an answer is assembled of.
type parts struct {
	sources   []*ragdv1.Source
	warnings  []string
	budget    *ragdv1.Budget
	explained bool
}

// fitting fits an answer into a budget.
type fitting struct {
	meter

	all      []*ragdv1.Source
	assemble func(parts) (proto.Message, string, error)
	err      error
}

// fitted returns the answer that assemble makes of as many of the sources as fit.
func fitted(ctx context.Context, b *budget.Budget, sources []*ragdv1.Source, assemble func(parts) (proto.Message, string, error), warnings []string) (proto.Message, string, error) {
	f := &fitting{meter: meterOf(ctx, b), all: sources, assemble: assemble}
	p := parts{warnings: warnings, explained: true}
	base := f.base(&p)
	passages := make([]budget.Passage, len(sources))
	for i, source := range sources {
		passages[i] = budget.Passage{Text: source.GetDocument(), From: int(source.GetChunk().GetStartByte())}
	}
	choice := b.Fit(passages, b.Max-base, f.cost)
	if choice.LeftOut > 0 {
		choice = choice.Refit(passages, b.Max-base-b.Max/namedShare, f.cost)
	}
	for room := b.Max - base - b.Max/namedShare; f.err == nil; {
		p.sources = p.sources[:0]
		for _, part := range choice.Parts {
			p.sources = append(p.sources, partOf(sources[part.Passage], part.Start, part.End))
		}
		p.budget = f.report(choice)
		used := f.total(p)
		for range 2 { // the number itself takes some
			p.budget.UsedTokens = int32(used)
			used = f.total(p)
		}
		if used <= b.Max {
			p.budget.UsedTokens = int32(used)
			break
		}
		room -= used - b.Max
		choice = choice.Refit(passages, room, f.cost)
	}
	if f.err != nil {
		return nil, "", f.err
	}
	return assemble(p)
}

// base returns the tokens of an answer without sources. It leaves out of the parts what takes more than
// half of the budget.
func (f *fitting) base(p *parts) int {
	p.budget = &ragdv1.Budget{MaxTokens: int32(f.Max), UsedTokens: int32(f.Max), EncodingName: f.Encoding}
	n := f.total(*p)
	if n > f.Max/2 {
		without := *p
		without.explained = false
		if least := f.total(without); least < n {
			*p = without
			p.warnings = append(p.warnings[:len(p.warnings):len(p.warnings)], fmt.Sprintf("explain is left out: it takes %d of the %d tokens of maxTokens", n-least, f.Max))
			n = f.total(*p)
		}
	}
	left := 0
	for said := p.warnings; n > f.Max/2 && len(said) > 0 && f.err == nil; n = f.total(*p) {
		said, left = said[:len(said)-1], left+1
		p.warnings = append(said[:len(said):len(said)], fmt.Sprintf("%d more notices do not fit into maxTokens", left))
	}
	return n
}

// total returns the tokens of an answer.
func (f *fitting) total(p parts) int { return f.Count(envelope) + f.size(p) }

// size is total without the envelope. It is 0 after an error, which it keeps.
func (f *fitting) size(p parts) (n int) {
	if f.err != nil {
		return 0
	}
	message, text, err := f.assemble(p)
	if err == nil {
		var encoded json.RawMessage
		if encoded, err = structured(message); err == nil {
			n, err = f.tokens(text, encoded)
		}
	}
	f.err = err
	return n
}

// cost returns what a source takes of an answer with a part of its text, or a little more.
func (f *fitting) cost(i int, part string) int {
	source := f.all[i]
	if part != source.GetDocument() {
		copied := shallowCopy(source, "document", "highlight").(*ragdv1.Source)
		copied.Document, copied.Metadata = part, replaceText(source, part)
		source = copied
	}
	return f.size(parts{sources: []*ragdv1.Source{source}})
}

// report returns the report on a choice, which names as many of the sources that were left out as
// may be.
func (f *fitting) report(c budget.Choice) *ragdv1.Budget {
	r := c.Report(f.Budget, f.Max, func(i int) budget.Omitted {
		source := f.all[i]
		name, _ := nameOf(source)
		return budget.Omitted{ID: source.GetId(), DocumentID: source.GetDocumentId(), URI: source.GetUri(), Title: name, IndexName: source.GetIndexName(), Score: source.GetScore()}
	})
	message := &ragdv1.Budget{
		MaxTokens: int32(r.MaxTokens), UsedTokens: int32(r.UsedTokens), EncodingName: r.Encoding, CutId: r.CutID,
		OmittedCount: int32(r.OmittedCount), OmittedTokens: int32(r.OmittedTokens),
	}
	room := f.Max / namedShare
	for _, o := range r.Omitted {
		omitted := &ragdv1.OmittedSource{Id: o.ID, DocumentId: o.DocumentID, Uri: o.URI, Title: o.Title, Score: o.Score, Tokens: int32(o.Tokens), IndexName: o.IndexName}
		encoded, err := encode(omitted)
		if err != nil {
			f.err = err
			break
		}
		n, err := f.tokens(omittedLine(omitted), encoded)
		if err != nil {
			f.err = err
			break
		}
		if room -= n + 1; room < 0 {
			break
		}
		message.Omitted = append(message.Omitted, omitted)
	}
	return message
}

// partOf returns a source with a part of its text alone.
func partOf(source *ragdv1.Source, start, end int) *ragdv1.Source {
	text := source.GetDocument()
	if start == 0 && end == len(text) {
		return source
	}
	cut := shallowCopy(source, "document", "metadata", "chunk", "hits", "highlight").(*ragdv1.Source)
	cut.Document = text[start:end]
	cut.Metadata = replaceText(source, cut.Document)
	if from := source.GetStartByte(); int(source.GetEndByte()-from) == len(text) { // a verbatim section
		cut.StartByte, cut.EndByte = from+uint32(start), from+uint32(end)
	}
	if source.Chunk != nil {
		cut.Chunk = within(source.Chunk, start, end)
	}
	for _, hit := range source.GetHits() {
		if from := int(hit.GetRange().GetStartByte()); from >= start && from < end {
			part := shallowCopy(hit, "range").(*ragdv1.Hit)
			part.Range = within(hit.GetRange(), start, end)
			cut.Hits = append(cut.Hits, part)
		}
	}
	if h := source.GetHighlight(); h != nil {
		cut.Highlight = &ragdv1.Highlight{Passage: within(h.GetPassage(), start, end)}
		for _, match := range h.GetMatches() {
			if int(match.GetStartByte()) >= start && int(match.GetEndByte()) <= end {
				cut.Highlight.Matches = append(cut.Highlight.Matches, within(match, start, end))
			}
		}
	}
	return cut
}

// within returns what of a range is in a part of a text, in that part.
func within(r *ragdv1.ByteRange, start, end int) *ragdv1.ByteRange {
	inside := func(at uint32) uint32 { return uint32(min(max(int(at), start), end) - start) }
	return &ragdv1.ByteRange{StartByte: inside(r.GetStartByte()), EndByte: inside(r.GetEndByte())}
}

// replaceText returns a source's metadata, in which the copy of the text is the given one.
func replaceText(source *ragdv1.Source, text string) *structpb.Struct {
	metadata := withoutText(source)
	if metadata == source.GetMetadata() {
		return metadata
	}
	fields := map[string]*structpb.Value{"text": structpb.NewStringValue(text)}
	for name, value := range metadata.GetFields() {
		fields[name] = value
	}
	return &structpb.Struct{Fields: fields}
}

// contextOf returns the texts of sources for a prompt, as relevantContext has them.
func contextOf(sources []*ragdv1.Source) string {
	if len(sources) == 1 && sources[0].GetId() == "" { // of sourcesOf
		return sources[0].GetDocument()
	}
	var line []byte
	for i, source := range sources {
		if i > 0 {
			line = append(line, "\n\n"...)
		}
		if topic := source.GetTopic(); topic != "" && (i == 0 || topic != sources[i-1].GetTopic()) {
			line = append(append(append(line, "# "...), topic...), "\n\n"...)
		}
		line = append(strconv.AppendInt(append(line, '['), int64(i+1), 10), ']')
		if title := source.GetTitle(); title != "" {
			line = append(append(line, ' '), title...)
		}
		line = append(append(line, '\n'), source.GetDocument()...)
	}
	return string(line)
}

// writeBudget writes what an answer with maxTokens takes, and what was left out of it; nothing for nil.
func writeBudget(b *strings.Builder, r *ragdv1.Budget) {
	if r == nil {
		return
	}
	fmt.Fprintf(b, "\n\nTokens: %d of %d (%s).", r.GetUsedTokens(), r.GetMaxTokens(), r.GetEncodingName())
	if r.GetCutId() != "" {
		b.WriteString(" The last passage is cut at the end of a sentence.")
	}
	if r.GetOmittedCount() > 0 {
		fmt.Fprintf(b, " Left out: %s", count(r.GetOmittedCount(), "passage"))
	} else if r.GetOmittedTokens() > 0 {
		b.WriteString(" Left out")
	}
	if r.GetOmittedTokens() > 0 {
		fmt.Fprintf(b, ", %s.", count(r.GetOmittedTokens(), "token"))
	}
	for i, omitted := range r.GetOmitted() {
		if i == 0 {
			b.WriteString(" The best of them:")
		}
		b.WriteString(omittedLine(omitted))
	}
}

func omittedLine(o *ragdv1.OmittedSource) string {
	line := "\n-"
	for _, part := range []string{o.GetTitle(), o.GetUri()} {
		if part != "" {
			line += " " + oneLine(part)
		}
	}
	return line + fmt.Sprintf(" (id %s, score %.3f, %s)", o.GetId(), o.GetScore(), count(o.GetTokens(), "token"))
}
