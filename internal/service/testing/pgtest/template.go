package pgtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Template describes databases that have more than the vector extension when a test gets them. The
// first test that asks for one fills a database, of which all others are copies.
//
// Copies have all rows of the original and the same identifiers of tables. Values that must differ
// between databases are changed by the caller.
type Template struct {
	// Key changes with what Fill makes. It has letters, digits and underscores, at most 30.
	Key string
	// Fill is called with the address of a database that has the vector extension, for a superuser.
	// It must close its connections.
	Fill func(ctx context.Context, url string) error
}

// Pool returns a pool like [Pool], on a new copy of the template.
func (m Template) Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	s := nextServer(t)
	from, err := s.filledTemplate(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return s.pool(t, s.newURL(t, from))
}

// filledTemplate returns the name of the database of a template. On a Citus cluster that is an empty
// one: a coordinator and its workers cannot be copied together.
func (s *server) filledTemplate(ctx context.Context, m Template) (string, error) {
	if len(s.workers) > 0 {
		return s.template, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if name, ok := s.filled[m.Key]; ok {
		return name, nil
	}
	name := s.template + "_" + m.Key
	if err := s.ensureDatabase(ctx, name, s.template, m.Fill); err != nil {
		return "", fmt.Errorf("create the template database %s: %w", name, err)
	}
	if s.filled == nil {
		s.filled = map[string]string{}
	}
	s.filled[m.Key] = name
	return name, nil
}
