// Package alert compares new passages of an index with standing questions.
//
// Package ingest asks the Watcher for the Set of an index before it stores documents, and gives it
// each passage with its terms and its embedding:
//
//	set, err := watcher.Of(ctx, handle, into, revision)
//	found, err := set.Match(found, passages)  // in memory
//	err = watcher.Store(ctx, tx, into, found) // in the transaction that stores the passages
//
// Comparing takes two steps. Terms come first: a map from the terms of all questions finds the
// alerts of which a passage has some. Then the embeddings of all questions, which are packed into
// one matrix, are multiplied with those of the passages. The few pairs that are left are
// checked against the filter of the alert and that of the credential that made it.
//
// A match and its event are rows of the transaction that stores the passage, so they are there if
// and only if the passage is. The key of a match has the text of the passage: a document that is
// ingested again, after a crash or with other passages, matches with those that are new.
package alert

import (
	"math"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// Limits.
const (
	maxAlerts       = 5_000  // of a tenant
	maxMatches      = 10_000 // that are kept of an alert, the newest
	maxTextBytes    = 2_000  // of a question
	maxNameBytes    = 200
	maxFilterBytes  = 8 << 10
	maxTerms        = 64    // of a question, which are compared
	maxExcerptBytes = 1_000 // of a passage in an event
)

// Mode says which passages match.
type Mode string

// The modes.
const (
	Hybrid  Mode = "hybrid"  // some term and the least score
	Keyword Mode = "keyword" // all terms
	Vector  Mode = "vector"  // the least score
)

// Alert is a standing question.
type Alert struct {
	AlertID     string
	DisplayName string
	IndexName   string
	Namespace   string
	Question    string
	Mode        Mode
	MinScore    *float64 // nil with Keyword
	Filter      filter.Filter
	Subject     string // who made it
	EndedReason string // why nothing matches any more; empty while it is active
	Paused      bool   // passages are not compared until it is resumed
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// complete sets the defaults of empty fields and checks the alert, of an index. Errors: Invalid, naming the field.
func (a *Alert) complete(of index.Index) (err error) {
	if a.Namespace, err = index.Namespace(a.Namespace); err != nil {
		return err
	}
	if a.Mode == "" {
		a.Mode = Hybrid
		if of.EmbeddingModel == "" {
			a.Mode = Keyword
		}
	}
	switch a.Mode {
	case Hybrid, Vector:
		if of.EmbeddingModel == "" {
			return fault.Field("searchMode", "%s needs an embedding model, which index %q does not have: take keyword", a.Mode, of.Name)
		}
		if a.MinScore == nil {
			return fault.Field("minScore", "is missing: take a similarity that vector_query shows for passages that should match, or searchMode keyword")
		}
		if math.IsNaN(*a.MinScore) || math.IsInf(*a.MinScore, 0) {
			return fault.Field("minScore", "must be a finite number")
		}
	case Keyword:
		if a.MinScore != nil && *a.MinScore != 0 {
			return fault.Field("minScore", "has no meaning with searchMode keyword: leave it out, or take hybrid or vector")
		}
		a.MinScore = nil
	default:
		return fault.Field("searchMode", "unknown mode %q; known are hybrid, keyword and vector", textlimit.Shorten(string(a.Mode), 50))
	}
	return a.checkTexts()
}

func (a *Alert) checkTexts() error {
	if err := textlimit.Check("displayName", a.DisplayName, maxNameBytes); err != nil {
		return err
	}
	if strings.TrimSpace(a.Question) == "" {
		return fault.Field("queryText", "is missing")
	}
	if err := textlimit.Check("queryText", a.Question, maxTextBytes); err != nil {
		return err
	}
	if n := len(a.Filter.JSON()); n > maxFilterBytes {
		return fault.Field("filter", "has %d bytes of JSON, over the limit of %d", n, maxFilterBytes)
	}
	if a.Filter.HasURI() {
		return fault.Field("filter", "has a condition on $uri, which alerts do not know: use a field of the metadata")
	}
	return nil
}

// minScore returns the least score, 0 with Keyword.
func (a *Alert) minScore() float64 {
	if a.MinScore == nil {
		return 0
	}
	return *a.MinScore
}
