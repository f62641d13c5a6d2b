package alert

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// setsBytes limits the memory of the sets that are kept.
	setsBytes = 64 << 20
	// passageBytes is how much of the hash of a text tells passages apart.
	passageBytes = 16
	// pruneEvery is after how many matches, of all alerts on average, the old ones of an alert are deleted.
	pruneEvery = 128
)

// Watcher compares passages with alerts while they are stored. Safe for concurrent use.
type Watcher struct {
	models *embed.Registry
	auth   *credential.Authenticator
	sets   *cache.Cache[setKey, *Set]
}

// setKey tells sets apart: the same one has the same alerts, terms and embeddings.
type setKey struct {
	tenant   tenant.ID
	index    int64
	revision Revision
	model    string
	terms    string // the text language, and those of the documents
}

// NewWatcher returns a Watcher.
func NewWatcher(models *embed.Registry, auth *credential.Authenticator) *Watcher {
	weigh := func(_ setKey, s *Set) int { return s.bytes() }
	return &Watcher{models: models, auth: auth, sets: cache.New(cache.Config[setKey, *Set]{Bytes: setsBytes, Weigh: weigh})}
}

// modelOf identifies the embeddings of an index.
func modelOf(i index.Index) string { return fmt.Sprintf("%s/%d", i.EmbeddingModel, i.Dimension) }

// Of returns the alerts of an index, given their revision; nil for none.
func (w *Watcher) Of(ctx context.Context, h *data.Handle, of index.Index, revision Revision) (*Set, error) {
	if revision.Active == 0 {
		return nil, nil
	}
	key := setKey{h.Tenant(), of.ID, revision, modelOf(of), of.TextLanguage + " " + strings.Join(of.Languages, " ")}
	if known, ok := w.sets.Get(key); ok {
		return known, nil
	}
	rows, err := active(ctx, h, of.ID)
	if err != nil {
		return nil, err
	}
	if rows, err = w.embed(ctx, h, of, rows); err != nil {
		return nil, err
	}
	made, err := compile(ctx, h, of, rows)
	if err != nil {
		return nil, fmt.Errorf("read the alerts of an index: %w", err)
	}
	w.sets.Put(key, made)
	return made, nil
}

// embed returns rows with the embeddings of the index's model. An alert whose question the model refuses ends.
func (w *Watcher) embed(ctx context.Context, h *data.Handle, of index.Index, rows []row) ([]row, error) {
	by := modelOf(of)
	stale := func(r row) bool { return r.Mode != Keyword && r.EmbeddedBy != by }
	if !slices.ContainsFunc(rows, stale) {
		return rows, nil
	}
	model, err := of.Model(ctx, w.models, h.Tenant())
	if err != nil {
		return nil, err
	}
	kept := rows[:0]
	for _, r := range rows {
		if stale(r) {
			r.Embedding, err = w.models.EmbedQuery(ctx, string(h.Tenant()), model, r.Question)
			switch {
			case err == nil:
				r.EmbeddedBy = by
				err = storeEmbedding(ctx, h, r)
			case fault.Permanent(err):
				if err = end(ctx, h, []string{r.AlertID}, "the embedding model of the index refuses the question"); err == nil {
					continue
				}
			}
			if err != nil {
				return nil, err
			}
		}
		kept = append(kept, r)
	}
	return kept, nil
}

// Store stores matches with the passages, each once, and makes their events. Those of a credential that is no
// longer valid are left out, and their alerts end.
func (w *Watcher) Store(ctx context.Context, tx *data.Tx, into index.Index, found []Match) error {
	if len(found) == 0 {
		return nil
	}
	found, err := w.valid(ctx, tx, found)
	if err != nil {
		return err
	}
	var matches, alerts, documents []string
	var passages [][]byte
	var scores []float64
	var events []json.RawMessage
	due := map[string]bool{} // alerts to prune
	for _, m := range found {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		event, err := m.event(id.String())
		if err != nil {
			return err
		}
		hash := sha256.Sum256([]byte(m.passage.Text))
		matches, alerts, documents = append(matches, id.String()), append(alerts, m.alert.AlertID), append(documents, m.passage.DocumentID)
		passages, scores, events = append(passages, hash[:passageBytes]), append(scores, m.score), append(events, event)
		if id[15]%pruneEvery == 0 {
			due[m.alert.AlertID] = true
		}
	}
	if err := storeMatches(ctx, tx, into.Name, matches, alerts, documents, passages, scores, events); err != nil {
		return err
	}
	for id := range due {
		if err := prune(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

// valid returns the matches whose credentials are still valid, and ends the alerts of the others.
func (w *Watcher) valid(ctx context.Context, tx *data.Tx, found []Match) ([]Match, error) {
	bySubject := map[string]access.Delegation{}
	for _, m := range found {
		bySubject[m.alert.Subject] = m.alert.access
	}
	ended, err := w.auth.Ended(ctx, bySubject)
	if err != nil || len(ended) == 0 {
		return found, err
	}
	reasons := map[string][]string{}
	kept := found[:0]
	for _, m := range found {
		why := ended[m.alert.Subject]
		if why == nil {
			kept = append(kept, m)
		} else if reason := fault.Public(why); !slices.Contains(reasons[reason], m.alert.AlertID) {
			reasons[reason] = append(reasons[reason], m.alert.AlertID)
		}
	}
	for reason, ids := range reasons {
		if err := end(ctx, tx, ids, reason); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// event returns the data of the event of a match.
func (m Match) event(id string) (json.RawMessage, error) {
	p := m.passage
	return json.Marshal(map[string]any{
		"matchId": id, "alertId": m.alert.AlertID, "displayName": m.alert.DisplayName, "indexName": m.alert.IndexName, "namespace": p.Namespace,
		"documentId": p.DocumentID, "uri": p.URI, "title": p.Title, "chunkId": p.ChunkID, "startByte": p.StartByte, "endByte": p.EndByte,
		"score": m.score, "text": textlimit.Cut(p.Text, maxExcerptBytes), "metadata": p.Metadata,
	})
}
