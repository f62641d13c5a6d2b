package vector

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// Service writes vectors. Calls that start after a write has returned read it. Safe
// for concurrent use.
type Service struct {
	indexes *index.Service
	queue   *job.Queue
	meter   *usage.Meter
}

// New returns a Service that queues the maintenance of indexes.
func New(indexes *index.Service, queue *job.Queue) *Service {
	return &Service{indexes: indexes, queue: queue}
}

// WithMeter makes the Service count vectors that are stored. Call it before the first.
func (s *Service) WithMeter(m *usage.Meter) *Service {
	s.meter = m
	return s
}

// target is the index of a write and the entries of it that the request may change.
type target struct {
	handle    *data.Handle
	index     index.Index
	principal access.Principal
	visible   filter.Filter // the principal's mandatory filter and the context's
	request   *access.Request
}

// write calls do with the named index, or the one in the request context, as
// index.Service.Use does.
func (s *Service) write(ctx context.Context, indexName string, do func(t target) error) error {
	r, err := access.Require(ctx, access.Write)
	if err != nil {
		return err
	}
	asked, err := r.Resolve(r.Overrides.Filter)
	if err != nil {
		return err
	}
	return s.indexes.Use(ctx, r.Tenant, *cmp.Or(r.Overrides.IndexName, &indexName), func(i index.Index, tables *data.Handle) error {
		return do(target{
			handle: tables, index: i, principal: r.Principal, visible: filter.And(r.Principal.MandatoryFilter, asked), request: r,
		})
	})
}

// Upsert writes entries, all or none, and returns their ids in order. An entry
// replaces an earlier entry with its id as a whole; of entries with the same id the
// last wins. They go into the namespace of replaced, whose filter selects the entries
// to delete first, in the same transaction. Errors: Invalid; NotFound for an unknown
// index; Denied for metadata outside of the credential's mandatory filter, and for an id
// of an entry that the credential may not change.
func (s *Service) Upsert(ctx context.Context, indexName string, entries []Entry, replaced Selection) (ids []string, err error) {
	if err := replaced.check("delete"); err != nil {
		return nil, fault.Rename("filter", "deleteFilter", err)
	}
	err = s.write(ctx, indexName, func(t target) error {
		rows, inOrder, err := t.rows(entries)
		if err != nil {
			return err
		}
		ids = inOrder
		if err := t.handle.Admit(ctx, int64(len(rows))*rowBytes(t.index)); err != nil {
			return err
		}
		err = t.handle.Tx(ctx, func(tx *data.Tx) error {
			if replaced.FilterGiven {
				if _, err := remove(ctx, tx, t, replaced); err != nil {
					return err
				}
			}
			if err := upsert(ctx, tx, t, replaced.Namespace, rows); err != nil {
				return err
			}
			return index.MaintainIfDue(ctx, s.queue, tx, t.index.ID)
		})
		if err == nil {
			s.meter.Add(usage.InIndex(ctx, t.index.Name), string(t.handle.Tenant()), usage.Upsert, usage.Counts{
				Calls: 1, Chunks: int64(len(rows)), Bytes: int64(len(rows)) * 4 * int64(t.index.Dimension),
			})
		}
		return err
	})
	return ids, err
}

// Change is what Update changes. nil leaves a value as it is.
type Change struct {
	Values   []float32
	Sparse   *index.Sparse  // beside the values of the entries, or instead of Values
	Metadata map[string]any // replaces all metadata
}

// Update changes the entries that a selection selects, by one id or by a filter, and
// returns how many. Errors: Invalid; NotFound for an unknown index; Denied for metadata
// outside of the credential's mandatory filter.
func (s *Service) Update(ctx context.Context, indexName string, which Selection, c Change) (n int64, err error) {
	switch {
	case len(which.IDs) > 0 && which.FilterGiven:
		return 0, fault.Field("id", "and filter are mutually exclusive")
	case len(which.IDs) == 0 && !which.FilterGiven:
		return 0, fault.Field("id", "Either id or filter must be provided")
	case len(c.Values) == 0 && c.Metadata == nil && c.Sparse == nil:
		return 0, fault.Field("values", "No updates provided: give values, metadata or both")
	}
	if err := which.check("update"); err != nil {
		return 0, err
	}
	e := Entry{Metadata: c.Metadata}
	raw, err := e.marshal()
	if err != nil {
		return 0, err
	}
	c.Metadata = e.Metadata
	err = s.write(ctx, indexName, func(t target) error {
		changed := change{}
		if len(c.Values) > 0 {
			if err := t.index.CheckVector("values", c.Values); err != nil {
				return err
			}
			changed.embedding = t.index.Column(c.Values)
		}
		if err := changed.setSparse(t.index, c.Sparse); err != nil {
			return err
		}
		if c.Metadata != nil {
			if err := t.principal.CheckWrite("metadata", c.Metadata); err != nil {
				return err
			}
			changed.metadata, changed.searched = string(raw), searched("", c.Metadata)
		}
		if err := t.handle.Admit(ctx, 0); err != nil {
			return err
		}
		return t.handle.Tx(ctx, func(tx *data.Tx) error {
			n, err = update(ctx, tx, t, which, changed)
			return err
		})
	})
	return n, err
}

// Delete deletes the entries that a selection selects, by ids, by a filter or by a
// namespace alone, and returns how many. Errors: Invalid, NotFound for an unknown index.
func (s *Service) Delete(ctx context.Context, indexName string, which Selection) (n int64, err error) {
	switch {
	case len(which.IDs) > 0 && which.FilterGiven:
		return 0, fault.Field("ids", "and filter are mutually exclusive")
	case len(which.IDs) == 0 && !which.FilterGiven && which.Namespace == "":
		return 0, fault.Field("ids", "Either filter or ids must be provided, and an empty ids array selects nothing; a namespace alone is deleted as a whole")
	}
	if err := which.check("delete"); err != nil {
		return 0, err
	}
	err = s.write(ctx, indexName, func(t target) error {
		return t.handle.Tx(ctx, func(tx *data.Tx) error {
			n, err = remove(ctx, tx, t, which)
			return err
		})
	})
	return n, err
}

// rowBytes returns about how many bytes a vector of the index takes with its other columns.
func rowBytes(into index.Index) int64 { return int64(4*into.Dimension) + 256 }

func entryField(n int) string { return fmt.Sprintf("entries[%d]", n) }
