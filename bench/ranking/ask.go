package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

const (
	uploads  = 8      // at a time
	passage  = 50_000 // characters of the longest passage that remains one chunk
	patience = 2 * time.Hour
)

// load creates an index of a model and uploads the documents to it, and waits until all are searched.
func (a *arena) load(ctx context.Context, s labelled, name, model string) error {
	if _, err := a.indexes.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: name, EmbeddingModel: model, TextLanguage: a.language}); err != nil {
		return err
	}
	group, uploading := errgroup.WithContext(ctx)
	group.SetLimit(uploads)
	for _, d := range s.Documents {
		if strings.TrimSpace(d.Title+d.Text) == "" {
			continue // such as a passage that a public set has without its text
		}
		r := &ragdv1.UploadDocumentRequest{
			IndexName: name, Uri: d.ID, Title: d.Title, ContentType: d.ContentType,
			Source: &ragdv1.UploadDocumentRequest_Text{Text: d.Text},
		}
		if d.ContentType == "" {
			size := int32(passage)
			r.Chunking, r.ContentType = &ragdv1.Chunking{MaxSize: &size}, "text/plain"
		}
		group.Go(func() error {
			_, err := a.documents.UploadDocument(uploading, r)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return a.awaitReady(ctx, name)
}

// awaitReady waits until no document of an index waits any more.
func (a *arena) awaitReady(ctx context.Context, name string) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var failed error
	ready := wait.Until(ctx, func() bool {
		i, err := a.indexes.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: name})
		failed = err
		return err != nil || i.PendingDocumentCount == 0 && i.Status == "ready"
	})
	if failed == nil && !ready {
		failed = fmt.Errorf("the documents are not searched after %s", patience)
	}
	return failed
}

// chunks returns the chunks of an index, with the ids and titles of their documents.
func (a *arena) chunks(ctx context.Context, name string) (chunks []dataset.Document, err error) {
	documents := &ragdv1.ListDocumentsRequest{IndexName: name, PageSize: 1000}
	for {
		page, err := a.documents.ListDocuments(ctx, documents)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Documents {
			list := &ragdv1.ListChunksRequest{IndexName: name, DocumentId: d.DocumentId, PageSize: 1000}
			for {
				page, err := a.documents.ListChunks(ctx, list)
				if err != nil {
					return nil, err
				}
				for _, c := range page.Chunks {
					chunks = append(chunks, dataset.Document{ID: d.Uri, Title: d.Title, Text: c.Text})
				}
				if list.PageToken = page.NextPageToken; list.PageToken == "" {
					break
				}
			}
		}
		if documents.PageToken = page.NextPageToken; documents.PageToken == "" {
			return chunks, nil
		}
	}
}

// plain returns a search by plain BM25 over titles and texts.
func plain(chunks []dataset.Document) func(context.Context, string) (found, error) {
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		texts[i] = strings.TrimSpace(c.Title + "\n" + c.Text)
	}
	ranker := dataset.NewBM25(texts)
	return func(_ context.Context, question string) (f found, err error) {
		scores := ranker.Scores(question)
		for _, best := range dataset.Best(scores, 10) {
			f.documents, f.scores = append(f.documents, chunks[best].ID), append(f.scores, scores[best])
		}
		return f, nil
	}
}

// way is a way to ask.
type way struct {
	name, mode, reranker string
	walked               bool
	researched           bool
}

func ways(reranker string) []way {
	return []way{
		{name: "keyword", mode: "keyword"},
		{name: "vector", mode: "vector"},
		{name: "hybrid", mode: "hybrid"},
		{name: "hybrid + " + reranker, mode: "hybrid", reranker: reranker},
		{name: "graph", walked: true},
		{name: "research", walked: true, researched: true},
	}
}

// service returns a search of an index in a way.
func (a *arena) service(name string, w way) func(context.Context, string) (found, error) {
	return func(ctx context.Context, question string) (f found, err error) {
		sources, err := a.sources(ctx, name, w, question)
		if err != nil {
			return f, fmt.Errorf("%s: %w", w.name, err)
		}
		f.walked = w.walked
		for _, s := range sources {
			f.documents, f.scores = append(f.documents, s.Uri), append(f.scores, s.Score)
		}
		return f, nil
	}
}

func (a *arena) sources(ctx context.Context, name string, w way, question string) ([]*ragdv1.Source, error) {
	if w.researched {
		res, err := a.research.Research(ctx, &ragdv1.ResearchRequest{IndexNames: []string{name}, Question: question, Budget: &ragdv1.ResearchBudget{Passages: new(int32(10))}})
		var sources []*ragdv1.Source
		for _, p := range res.GetPassages() {
			sources = append(sources, p.Source)
		}
		return sources, err
	}
	if w.walked {
		res, err := a.queries.GraphRag(ctx, &ragdv1.GraphRagRequest{IndexName: name, QueryText: question})
		return res.GetSources(), err
	}
	r := &ragdv1.VectorQueryRequest{IndexName: name, QueryText: question, SearchMode: w.mode}
	switch w.reranker {
	case "":
	case "lexical":
		r.Reranker = &ragdv1.Reranker{Kind: "lexical"}
	default:
		r.Reranker = &ragdv1.Reranker{Kind: "cross-encoder", Model: w.reranker}
	}
	res, err := a.queries.VectorQuery(ctx, r)
	return res.GetSources(), err
}
