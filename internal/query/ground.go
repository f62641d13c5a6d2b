package query

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/query/grounding"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// GroundingRequest is an answer with the sources that it may rest on: texts, and chunks of an index, by id, by document, or
// found for a question.
type GroundingRequest struct {
	Answer      string
	Texts       []grounding.Source
	IndexName   string // the tenant's only index if empty
	Namespace   string
	ChunkIDs    []string
	DocumentIDs []string
	QueryText   string // no search if empty
	TopK        *int   // of the search; DefaultTopK if nil
	Filter      filter.Filter
}

// Grounding is a checked answer.
type Grounding struct {
	grounding.Report

	// Sources are what it was compared with; those of Texts, which come first, have Title and Text alone.
	Sources []Source
}

// CheckGrounding compares the sentences of an answer with sources. Errors: Invalid naming the field; NotFound for an index, a chunk or a
// document; those of Query.
func (s *Service) CheckGrounding(ctx context.Context, req GroundingRequest) (Grounding, error) {
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return Grounding{}, err
	}
	if err := req.check(); err != nil {
		return Grounding{}, err
	}
	var g Grounding
	for _, text := range req.Texts {
		g.Sources = append(g.Sources, Source{Title: text.Title, Text: text.Text})
	}
	stored, language, err := s.storedSources(ctx, caller, req)
	if err != nil {
		return Grounding{}, err
	}
	known := map[string]bool{}
	for _, source := range stored {
		if !known[source.ID] {
			known[source.ID] = true
			g.Sources = append(g.Sources, source)
		}
	}
	sources, bytes := make([]grounding.Source, len(g.Sources)), 0
	for n, source := range g.Sources {
		sources[n] = grounding.Source{Title: source.Title, Text: source.Text}
		bytes += len(source.Title) + len(source.Text)
	}
	switch {
	case len(sources) > grounding.MaxSources:
		return Grounding{}, fault.Field("documentIds", "and the other sources have more than %d passages: name fewer, or chunks of them", grounding.MaxSources)
	case bytes > grounding.MaxSourceBytes:
		return Grounding{}, fault.Field("texts", "and the other sources have %d bytes, over the limit of %d: name fewer", bytes, grounding.MaxSourceBytes)
	}
	err = s.processor.Run(ctx, string(caller.Tenant), func(ctx context.Context) error {
		g.Report, err = grounding.Check(ctx, req.Answer, sources, language...)
		return err
	})
	return g, err
}

// check validates what can be validated without an index. Errors: Invalid.
func (r GroundingRequest) check() error {
	if strings.TrimSpace(r.Answer) == "" {
		return fault.Field("answer", "is missing: give the text to check")
	}
	if err := textlimit.Check("answer", r.Answer, grounding.MaxAnswerBytes); err != nil {
		return err
	}
	if n := grounding.CountSentences(r.Answer); n > grounding.MaxSentences {
		return fault.Field("answer", "has %d sentences, over the limit of %d: check it in parts", n, grounding.MaxSentences)
	}
	for _, list := range []struct {
		field string
		size  int
	}{{"texts", len(r.Texts)}, {"chunkIds", len(r.ChunkIDs)}, {"documentIds", len(r.DocumentIDs)}} {
		if list.size > grounding.MaxSources {
			return fault.Field(list.field, "must be at most %d, got %d", grounding.MaxSources, list.size)
		}
	}
	for n, text := range r.Texts {
		field := fmt.Sprintf("texts[%d].text", n)
		if strings.TrimSpace(text.Text) == "" {
			return fault.Field(field, "must not be blank")
		}
		if err := textlimit.Check(field, text.Text, grounding.MaxSourceBytes); err != nil {
			return err
		}
		if err := textlimit.Check(fmt.Sprintf("texts[%d].title", n), text.Title, grounding.MaxTitleBytes); err != nil {
			return err
		}
	}
	for n, id := range r.DocumentIDs {
		if _, err := uuid.Parse(id); err != nil {
			return fault.Field(fmt.Sprintf("documentIds[%d]", n), "is no id of a document, which is a UUID")
		}
	}
	switch {
	case len(r.Texts)+len(r.ChunkIDs)+len(r.DocumentIDs) == 0 && r.QueryText == "":
		return fault.Field("texts", "are missing: give texts, or chunkIds, documentIds or queryText of an index")
	case r.TopK != nil && (*r.TopK < 1 || *r.TopK > grounding.MaxSources):
		return fault.Field("topK", "must be between 1 and %d, got %d", grounding.MaxSources, *r.TopK)
	case r.TopK != nil && r.QueryText == "":
		return fault.Field("topK", "is for a question: give queryText, or leave it out")
	}
	return nil
}

// storedSources returns the sources of the index, and the language that it says its texts have.
func (s *Service) storedSources(ctx context.Context, caller *access.Request, req GroundingRequest) (all []Source, language []string, err error) {
	if len(req.ChunkIDs)+len(req.DocumentIDs) > 0 {
		if all, language, err = s.namedSources(ctx, caller, req); err != nil {
			return nil, nil, err
		}
	}
	if req.QueryText == "" {
		return all, language, nil
	}
	found, err := s.Query(ctx, Request{Question: Question{
		QueryText: req.QueryText, IndexName: req.IndexName, Namespace: req.Namespace, TopK: req.TopK, Filter: req.Filter, IncludeSources: new(true),
	}})
	return append(all, found.Sources...), language, err
}

// namedSources returns the chunks with the ids and those of the documents. Errors: NotFound.
func (s *Service) namedSources(ctx context.Context, caller *access.Request, req GroundingRequest) (found []Source, language []string, err error) {
	q, err := Question{IndexName: req.IndexName, Namespace: req.Namespace, Filter: req.Filter}.Effective(caller)
	if err != nil {
		return nil, nil, err
	}
	within := scope{namespace: q.Namespace, filter: q.Filter}
	if err := within.check(); err != nil {
		return nil, nil, err
	}
	err = s.indexes.Use(ctx, caller.Tenant, q.IndexName, func(i index.Index, tables *data.Handle) error {
		s.meter.Add(usage.InIndex(ctx, i.Name), string(caller.Tenant), usage.Query, usage.Counts{Calls: 1})
		args := filter.NewArgs()
		rows, err := data.Select[groundingRow](ctx, tables, `
			SELECT c.chunk_id, coalesce(c.document_id::text, '') AS document_id, coalesce(d.uri, '') AS uri, c.title, c.ordinal, c.start_byte, c.end_byte, `+textSQL+` AS text
			FROM tenant.chunk AS c LEFT JOIN tenant.documents AS d ON d.document_id = c.document_id
			WHERE `+within.sql(i, args)+` AND (c.chunk_id = ANY (`+args.Add(req.ChunkIDs)+`::text[]) OR c.document_id = ANY (`+args.Add(req.DocumentIDs)+`::uuid[]))
			ORDER BY c.document_id, c.ordinal, c.chunk_id `+limitTo(grounding.MaxSources+1), args.Values()...)
		if err != nil {
			return fmt.Errorf("read the sources of an answer: %w", err)
		}
		found, language = nil, i.AskedLanguages(nil)
		for _, r := range rows {
			found = append(found, Source{ID: r.ChunkID, DocumentID: r.DocumentID, URI: r.URI, Title: r.Title, Ordinal: r.Ordinal, StartByte: r.StartByte, EndByte: r.EndByte, Text: r.Text})
		}
		return req.missing(found, i.Name, within.namespace)
	})
	return found, language, err
}

// groundingRow is a chunk that an answer may rest on.
type groundingRow struct {
	ChunkID, DocumentID, URI, Title string
	Ordinal, StartByte, EndByte     int
	Text                            string
}

// missing returns an error for the first chunk or document that is not among sources. Errors: NotFound.
func (r GroundingRequest) missing(found []Source, indexName, namespace string) error {
	known := map[string]bool{}
	for _, source := range found {
		known["chunk "+source.ID], known["document "+source.DocumentID] = true, true
	}
	if len(found) > grounding.MaxSources { // more follow
		return nil
	}
	for n, id := range r.ChunkIDs {
		if !known["chunk "+id] {
			return fault.New(fault.NotFound, "chunkIds[%d]: there is no such chunk in the namespace %q of index %q", n, namespace, indexName)
		}
	}
	for n, id := range r.DocumentIDs {
		if !known["document "+strings.ToLower(id)] {
			return fault.New(fault.NotFound, "documentIds[%d]: there is no such document with chunks in the namespace %q of index %q", n, namespace, indexName)
		}
	}
	return nil
}
