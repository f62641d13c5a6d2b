package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// sentencesSegment is the first segment of a document's contents that has sentences of context, as JSON by their keys; the others are
// below it. They stay when the document gets another version, which then pays only for what has changed.
const sentencesSegment = -1 << 30

// sentences keeps the sentences of context of a document. It is an extract.Sentences.
type sentences struct {
	handle     *data.Handle
	indexID    int64
	documentID string

	mu       sync.Mutex
	segments int // that are stored
}

// Load implements extract.Sentences.
func (s *sentences) Load(ctx context.Context) (map[string]string, error) {
	stored, err := data.Values[[]byte](ctx, s.handle, `
		SELECT c.content FROM tenant.document_contents AS c WHERE c.document_id = $1 AND c.segment <= $2`, s.documentID, sentencesSegment)
	if err != nil {
		return nil, err
	}
	s.segments = len(stored)
	all := map[string]string{}
	for _, content := range stored {
		_ = json.Unmarshal(content, &all) // those that cannot be read are made anew
	}
	return all, nil
}

// Save implements extract.Sentences. Nothing is kept for a document that is deleted meanwhile.
func (s *sentences) Save(ctx context.Context, found map[string]string) error {
	content, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("encode sentences of context: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.segments++
	_, err = s.handle.Exec(ctx, `
		INSERT INTO tenant.document_contents (document_id, segment, content)
		SELECT d.document_id, coalesce((SELECT min(c.segment) FROM tenant.document_contents AS c WHERE c.document_id = $1 AND c.segment <= $2), $2 + 1) - 1, $3
		FROM tenant.documents AS d WHERE d.document_id = $1 FOR KEY SHARE OF d
		ON CONFLICT DO NOTHING -- a worker with another version of the document was first`, s.documentID, sentencesSegment, content)
	return err
}

// compact replaces what is kept by the given sentences, in as few segments as they take.
func (s *sentences) compact(ctx context.Context, used map[string]string) error {
	if s.segments <= 1 {
		return nil
	}
	var contents [][]byte
	part, bytes := map[string]string{}, 0
	flush := func() error {
		content, err := json.Marshal(part)
		contents, part, bytes = append(contents, content), map[string]string{}, 0
		return err
	}
	for key, sentence := range used {
		part[key], bytes = sentence, bytes+len(key)+len(sentence)
		if bytes < segmentBytes/2 {
			continue
		}
		if err := flush(); err != nil {
			return err
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return s.handle.Tx(ctx, func(tx *data.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM tenant.document_contents WHERE document_id = $1 AND segment <= $2`, s.documentID, sentencesSegment); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO tenant.document_contents (document_id, segment, content)
			SELECT d.document_id, $2 - given.n + 1, given.content
			FROM tenant.documents AS d, unnest($3::bytea[]) WITH ORDINALITY AS given (content, n)
			WHERE d.document_id = $1 FOR KEY SHARE OF d
			ON CONFLICT DO NOTHING`, s.documentID, sentencesSegment, contents)
		return err
	})
}

// Reserve implements extract.Sentences. The account is one row, whose lock lasts for this statement.
func (s *sentences) Reserve(ctx context.Context, tokens, budget int64) (bool, error) {
	if tokens > budget {
		return false, nil
	}
	n, err := s.handle.Exec(ctx, `
		INSERT INTO tenant.index_counts AS c (index_id, slot, context_tokens)
		SELECT i.index_id, 0, $2::bigint FROM tenant.indexes AS i WHERE i.index_id = $1
		ON CONFLICT (index_id, slot) DO UPDATE SET context_tokens = c.context_tokens + excluded.context_tokens
		WHERE c.context_tokens + excluded.context_tokens <= $3`, s.indexID, tokens, budget)
	return n > 0, err
}

// Return implements extract.Sentences.
func (s *sentences) Return(ctx context.Context, tokens int64) error {
	_, err := s.handle.Exec(ctx, `
		UPDATE tenant.index_counts SET context_tokens = greatest(0, context_tokens - $2) WHERE index_id = $1 AND slot = 0`, s.indexID, tokens)
	return err
}

// storeNotices stores the notices of ready documents that differ from the stored ones.
func storeNotices(ctx context.Context, tx *data.Tx, tasks []*task) error {
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(t *task) bool { return t.notice == t.Notice })
	if len(tasks) == 0 {
		return nil
	}
	_, documents, _, _ := columnsOfTasks(tasks)
	notices := make([]string, len(tasks))
	for n, t := range tasks {
		notices[n] = t.notice
	}
	_, err := tx.Exec(ctx, `
		UPDATE tenant.documents AS d SET notice = coalesce(($2::text[])[array_position($1::uuid[], d.document_id)])
		WHERE d.document_id = ANY($1::uuid[])`, documents, notices)
	return err
}

// errBehind is the reason for which a document gets no sentences of context while the schema of its tenant is a migration behind.
var errBehind = fault.New(fault.Unavailable, "the database of this tenant is being updated")

// ready reports whether the schema has what sentences of context need.
func (s *sentences) ready(ctx context.Context) (bool, error) {
	return data.Value[bool](ctx, s.handle, `
		SELECT EXISTS (SELECT FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = 'tenant.index_counts'::regclass AND a.attname = 'context_tokens')`)
}
