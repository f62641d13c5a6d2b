package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Topic is a community of chunks, or a section of one.
type Topic struct {
	TopicID   int32
	ParentID  int32 // of a subtopic; 0 for others
	Namespace string
	Title     string
	Summary   string   // by a language model; empty: none
	Terms     []string // that tell it apart, best first
	Chunks    int
	Documents int
	Central   []TopicChunk    // by PageRank within the topic, best first
	Largest   []TopicDocument // documents with most chunks in it
}

// TopicChunk is a chunk that stands for a topic.
type TopicChunk struct {
	ChunkRef
	URI   string
	Title string
	Text  string // its beginning
}

// TopicDocument is a document with chunks in a topic.
type TopicDocument struct {
	DocumentID string
	URI        string
	Title      string
	Chunks     int // in the topic
}

// TopicList is a page of the topics of an index.
type TopicList struct {
	Topics     []Topic
	NextToken  string
	FoundAt    time.Time
	JobID      string // that is finding them again; empty: none
	Chunks     int    // of the index
	Other      int    // chunks in no topic
	Modularity float64
}

// topicsWait is how long a call waits for the topics of an index to be found first,
// topicsLook the interval between two looks, and topicsRetry when a caller is asked to call again.
const (
	topicsWait  = 20 * time.Second
	topicsLook  = 50 * time.Millisecond
	topicsRetry = time.Second
)

// ListTopics returns a page of the topics of an index, largest first, each followed by its
// subtopics. If they were never found it starts a job that does, and waits for it. Errors:
// NotFound, Invalid naming the field; Denied for a credential with a mandatory filter;
// Precondition for an index without a graph; Unavailable while the first job is running.
func (s *Service) ListTopics(ctx context.Context, indexName string, pageSize int32, pageToken string) (list TopicList, err error) {
	r, err := requireTopics(ctx)
	if err != nil {
		return list, err
	}
	if name := r.Overrides.IndexName; name != nil {
		indexName = *name
	}
	err = s.indexes.Use(ctx, r.Tenant, indexName, func(i index.Index, tables *data.Handle) error {
		state, err := s.topics(ctx, i, tables)
		if err != nil {
			return err
		}
		list = TopicList{FoundAt: state.Topics.FoundAt, Chunks: int(state.Chunks), JobID: state.job(), Modularity: state.Topics.Modularity}
		counts, err := countMembers(ctx, tables)
		if err != nil {
			return fmt.Errorf("count the chunks of topics: %w", err)
		}
		list.Other = list.Chunks
		for id, n := range counts {
			if n.Top && id != 0 {
				list.Other -= n.Chunks
			}
		}
		list.Other = max(0, list.Other)
		rows, next, err := pagination.List(access.Pages(ctx, "topics", i.Name), pageSize, pageToken, 0, topicRow.key, func(after, most int) ([]topicRow, error) {
			return topicsAfter(ctx, tables, after, most)
		})
		if err != nil {
			return err
		}
		list.NextToken = next
		list.Topics, err = complete(ctx, tables, rows, counts)
		return err
	})
	return list, err
}

// requireTopics is access.Require, for reading topics: they are found over all documents of
// an index, and their terms would reveal hidden ones. Errors: also Denied for a request
// with a filter that its caller cannot remove.
func requireTopics(ctx context.Context) (*access.Request, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	if !r.Principal.MandatoryFilter.IsZero() || !r.Overrides.Filter.IsZero() {
		return nil, fault.New(fault.Denied, "topics are found over all documents of an index: a credential or request context with a filter cannot read them; "+
			"use vector_query, or graph_rag without scope global")
	}
	return r, nil
}

// topics returns the state of the topics of an index. If they were never found it waits
// for the job that does; if they are outdated it starts one.
func (s *Service) topics(ctx context.Context, i index.Index, tables *data.Handle) (topicState, error) {
	for end := time.Now().Add(topicsWait); ; {
		state, err := topicsOf(ctx, tables, i.ID)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return state, fault.New(fault.NotFound, "index %q not found", i.Name)
		case err != nil:
			return state, fmt.Errorf("read the state of topics: %w", err)
		case state.Graph.Off:
			return state, fault.New(fault.Precondition, "index %q keeps no graph, of which topics are found: change its graph by UpdateIndex", i.Name)
		case state.TopicsJobID == nil && (state.Topics == nil || state.Topics.Outdated(state.Chunks, state.Written, state.Edges)):
			if state.TopicsJobID, err = s.beginTopics(ctx, tables, i.ID); err != nil {
				return state, err
			}
		}
		if state.Topics != nil {
			return state, nil
		}
		if !time.Now().Before(end) {
			finding := fault.New(fault.Unavailable, "the topics of index %q are being found by job %q: try again when it has ended", i.Name, state.job())
			finding.RetryAfter = topicsRetry
			return state, finding
		}
		select {
		case <-ctx.Done():
			return state, ctx.Err()
		case <-time.After(topicsLook):
		}
	}
}

// beginTopics starts a job that finds topics, in a transaction of its own.
func (s *Service) beginTopics(ctx context.Context, h *data.Handle, indexID int64) (jobID *string, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		id, err := startTopics(ctx, s.queue, tx, indexID)
		if id != "" {
			jobID = &id
		}
		return err
	})
	return jobID, err
}

// retryTopics starts a job that finds topics and returns its id.
func (s *Service) retryTopics(ctx context.Context, id tenant.ID, failed job.Job) (jobID string, err error) {
	err = s.db.Handle(id).Tx(ctx, func(tx *data.Tx) error {
		i, err := index.ByName(ctx, tx, failed.IndexName)
		if err != nil {
			return err
		}
		jobID, err = startTopics(ctx, s.queue, tx, i.ID)
		return err
	})
	return jobID, err
}

// cancelTopics ends a job that finds topics. Earlier topics stay. Errors: Precondition when
// it has ended.
func (s *Service) cancelTopics(ctx context.Context, id tenant.ID, j job.Job) error {
	return s.cancel(ctx, id, j, `UPDATE tenant.indexes SET topics_job_id = NULL WHERE topics_job_id = $1`)
}

// titleTerms is the number of terms in a title.
const titleTerms = 3

// complete returns topics with their chunks and documents that exist now.
func complete(ctx context.Context, h *data.Handle, rows []topicRow, counts map[int32]memberCount) ([]Topic, error) {
	central, err := centralChunks(ctx, h, rows)
	if err != nil {
		return nil, fmt.Errorf("read the central chunks of topics: %w", err)
	}
	largest, err := largestDocuments(ctx, h, rows)
	if err != nil {
		return nil, fmt.Errorf("read the documents of topics: %w", err)
	}
	var shrunk []topicRow
	for _, row := range rows {
		if counts[row.TopicID].Chunks < row.Chunks {
			shrunk = append(shrunk, row)
		}
	}
	kept, err := keptTerms(ctx, h, shrunk)
	if err != nil {
		return nil, fmt.Errorf("check the terms of topics: %w", err)
	}
	var topics []Topic
	for _, row := range rows {
		n := counts[row.TopicID]
		if n.Chunks == 0 {
			continue // all deleted
		}
		if n.Chunks < row.Chunks {
			row.Terms = slices.DeleteFunc(row.Terms, func(term string) bool { return !slices.Contains(kept[row.TopicID], term) })
		}
		t := row.topic(len(central[row.TopicID]))
		t.Chunks, t.Documents, t.Central, t.Largest = n.Chunks, n.Documents, central[row.TopicID], largest[row.TopicID]
		topics = append(topics, t)
	}
	return topics, nil
}
