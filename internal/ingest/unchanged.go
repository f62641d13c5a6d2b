package ingest

import (
	"context"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// MaxCompared is how many documents one call of Unchanged compares.
const MaxCompared = 10_000

// Fingerprints lists documents by name and fingerprint.
type Fingerprints struct {
	IndexName    string
	Namespace    string         // index.DefaultNamespace if empty
	Chunking     chunk.Settings // the index's if empty
	URIs         []string
	Fingerprints []string // Fingerprints[i] is that of URIs[i]
}

// Unchanged returns the positions, ascending, of the documents that the index has with the
// same fingerprint, ready, and split by the same settings. Errors: Invalid naming the
// field, NotFound.
func (s *Service) Unchanged(ctx context.Context, given Fingerprints) (positions []int, err error) {
	if err := given.complete(); err != nil {
		return nil, err
	}
	err = s.onIndex(ctx, access.Write, given.IndexName, func(t target) error {
		positions, err = t.unchanged(ctx, given)
		return err
	})
	return positions, err
}

// complete checks the documents and fills in their namespace. Errors: Invalid naming the
// field.
func (f *Fingerprints) complete() (err error) {
	if f.Namespace, err = index.Namespace(f.Namespace); err != nil {
		return err
	}
	if len(f.URIs) > MaxCompared {
		return fault.Field("documents", "are %d, over the limit of %d: ask about fewer", len(f.URIs), MaxCompared)
	}
	for i, uri := range f.URIs {
		if err := textlimit.Check("documents.uri", uri, maxURIBytes); err != nil {
			return err
		}
		if err := textlimit.Check("documents.fingerprint", f.Fingerprints[i], maxFingerprintBytes); err != nil {
			return err
		}
	}
	return nil
}

// unchanged looks each document up by key; see unchangedDocuments.
func (t target) unchanged(ctx context.Context, given Fingerprints) ([]int, error) {
	args := filter.NewArgs(t.index.ID, given.Namespace, given.URIs, given.Fingerprints, given.Chunking.Or(t.index.Chunking))
	return data.Values[int](ctx, t.handle, `
		SELECT given.number::int - 1
		FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS given (uri, fingerprint, number)
		CROSS JOIN LATERAL (
			SELECT FROM tenant.documents AS d
			WHERE d.index_id = $1 AND d.namespace = $2 AND d.uri = given.uri AND d.fingerprint = given.fingerprint
				AND d.fingerprint <> '' AND d.status = 'ready' AND d.chunking = $5::jsonb AND `+t.visible.SQL("d.metadata", args)+`
			OFFSET 0
		) AS d
		ORDER BY given.number`, args.Values()...)
}
