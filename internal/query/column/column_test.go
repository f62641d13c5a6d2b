package column_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query/column"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// fixture is an index of a tenant, and an instance that counts in it.
type fixture struct {
	service *servicetest.Service
	client  servicetest.Client
	keeper  *column.Keeper
	tenant  tenant.ID
	index   index.Index
	handle  *data.Handle
}

// newFixture returns the index things of a new tenant.
func newFixture(t *testing.T, s *servicetest.Service, id string) fixture {
	t.Helper()
	f := fixture{service: s, client: s.Tenant(t, id), keeper: column.NewKeeper(), tenant: tenant.ID(id)}
	f.client.Index(t, "things")
	var err error
	if f.index, err = index.ByName(t.Context(), s.DB.Handle(f.tenant), "things"); err != nil {
		t.Fatal(err)
	}
	f.handle = s.DB.Handle(f.tenant).OfIndex(f.index.ID, f.index.Generation)
	return f
}

func (f fixture) put(t *testing.T, namespace, id string, metadata map[string]any) {
	t.Helper()
	_, err := f.client.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "things", Namespace: namespace, Entries: []*ragdv1.Entry{
		{Id: id, Values: make([]float32, f.index.Dimension), Metadata: servicetest.Object(t, metadata)},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// counted is what was counted, by field and content. Contents that are equal as jsonb count as one.
type counted struct {
	Chunks, Documents int64
	Fields            []map[string]int64
}

func canonical(t *testing.T, raw string) string {
	t.Helper()
	if raw == "" || raw == "{" { // absent, or too long
		return raw
	}
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (f fixture) query(t *testing.T, namespace string, by filter.Filter, fields []string) column.Query {
	t.Helper()
	var now column.State
	b := f.handle.Batch()
	b.Query(now.Read, column.StateSQL, f.index.ID)
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return column.Query{Tenant: f.tenant, Index: f.index, Handle: f.handle, Now: now, Namespace: namespace, Filter: by, Fields: fields}
}

// inMemory counts by the keeper.
func (f fixture) inMemory(t *testing.T, namespace string, by filter.Filter, fields []string) (c counted, ok bool) {
	t.Helper()
	ok, err := f.keeper.Count(t.Context(), f.query(t, namespace, by, fields), func(found column.Counted) error {
		c.Chunks, c.Documents = found.Chunks, found.Documents
		for _, of := range found.Fields {
			groups := map[string]int64{}
			for n, chunks := range of.Chunks {
				if chunks > 0 {
					groups[canonical(t, of.Entries.Raw(n))] += chunks
				}
			}
			c.Fields = append(c.Fields, groups)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, ok
}

// inDatabase counts by the statements that the keeper replaces.
func (f fixture) inDatabase(t *testing.T, namespace string, by filter.Filter, fields []string) (c counted) {
	t.Helper()
	args := filter.NewArgs(namespace)
	where := " FROM tenant.chunk AS c WHERE c.namespace = $1 AND " + by.SQL(filter.ChunkMetadata, args)
	b := f.handle.Batch()
	b.Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&c.Chunks, &c.Documents}, func() error { return nil })
		return err
	}, "SELECT count(*), count(DISTINCT c.document_id)"+where, args.Values()...)
	for _, field := range fields {
		args := filter.NewArgs(namespace)
		where := " FROM tenant.chunk AS c WHERE c.namespace = $1 AND " + by.SQL(filter.ChunkMetadata, args)
		groups := map[string]int64{}
		c.Fields = append(c.Fields, groups)
		b.Query(func(rows pgx.Rows) error {
			var raw string
			var chunks int64
			_, err := pgx.ForEachRow(rows, []any{&raw, &chunks}, func() error {
				groups[canonical(t, raw)] += chunks
				return nil
			})
			return err
		}, "SELECT coalesce(("+filter.FieldSQL(filter.ChunkMetadata, field, args)+")::text, '') AS value, count(*)"+where+" GROUP BY value", args.Values()...)
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// warm waits until the keeper has columns of the fields.
func (f fixture) warm(t *testing.T, fields ...string) {
	t.Helper()
	wait.For(t, "the columns to be loaded", func() bool {
		_, ok := f.inMemory(t, "default", filter.Filter{}, fields)
		return ok
	})
}

func parse(t *testing.T, object any) filter.Filter {
	t.Helper()
	f, err := filter.Parse(object)
	if err != nil {
		t.Fatalf("%v: %v", object, err)
	}
	return f
}

// random makes metadata and filters from few names and values, so that they often meet.
type random struct{ *rand.Rand }

func pick[T any](r random, from ...T) T { return from[r.IntN(len(from))] }

func (r random) scalar() any {
	return pick[any](r, nil, true, false, 0.0, 1.0, 2.5, 1e21, -3.0, "", "1", "a", "A b", "ä<\"\\", "2026-03-01", "2026-03-01T10:00:00+02:00", "2.5", "true")
}

func (r random) value(depth int) any {
	switch n := r.IntN(8); {
	case n == 0:
		return []any{r.scalar(), r.scalar(), r.scalar()}[:r.IntN(4)]
	case n == 1 && depth > 0:
		return map[string]any{"d": r.value(depth - 1), "e.f": r.scalar()}
	}
	return r.scalar()
}

func (r random) metadata() map[string]any {
	m := map[string]any{}
	for range r.IntN(5) {
		m[pick(r, "a", "b", "c", "d.e", "$x", "7")] = r.value(2)
	}
	return m
}

func (r random) field() string {
	return pick(r, "a", "b", "c", "c.d", "a.d.d", `d\.e`, `\$x`, "7", "a.0", `c.e\.f`)
}

func (r random) filter(depth int) map[string]any {
	m := map[string]any{}
	for range 1 + r.IntN(2) {
		if depth > 0 && r.IntN(3) == 0 {
			m[pick(r, "$and", "$or", "$nor")] = []any{r.filter(depth - 1), r.filter(depth - 1)}
			continue
		}
		scalar := pick[any](r, 1.0, "a", "1", true, 2.5, "2026-03-01")
		m[r.field()] = pick[any](r, scalar, nil, []any{scalar, "A b"}, map[string]any{"$ne": scalar}, map[string]any{"$gte": pick[any](r, 1.0, "a", "2026-02-28")},
			map[string]any{"$nin": []any{scalar}}, map[string]any{"$exists": r.IntN(2) == 0}, map[string]any{"$contains": pick(r, "A", "ä", "") + "b"[:r.IntN(2)] + "a"},
			map[string]any{"$size": r.IntN(3)}, map[string]any{"$elemMatch": map[string]any{"$eq": scalar}}, map[string]any{"$not": map[string]any{"$lt": 2.0}},
			map[string]any{"$startsWith": "2"})
	}
	return m
}

// What is counted in memory is what the database counts, for any metadata and filters, while vectors and documents change, and for a filter
// that gives access, which keys from the content must not satisfy.
func TestCountsAreThoseOfTheDatabase(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	f := newFixture(t, s, "acme")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := random{rand.New(rand.NewPCG(seed, 1))}
	id := func() string { return fmt.Sprint("v", r.IntN(120)) }
	for n := range 120 {
		f.put(t, pick(r, "default", "other"), fmt.Sprint("v", n), r.metadata())
	}
	fields := []string{"a", "c.d", `d\.e`, "7"}
	f.warm(t, slices.Concat(fields, []string{"b", "c", `\$x`, "a.d.d"})...)
	answered, asked := 0, 0
	for range 12 {
		for range 1 + r.IntN(3) {
			switch r.IntN(5) {
			case 0:
				_, err := f.client.Delete(t.Context(), &ragdv1.DeleteRequest{IndexName: "things", Ids: []string{id()}})
				must(t, err)
			case 1:
				_, err := f.client.Update(t.Context(), &ragdv1.UpdateRequest{IndexName: "things", Filter: structpb.NewStructValue(servicetest.Object(t, map[string]any{"a": "a"})), Metadata: servicetest.Object(t, r.metadata())})
				must(t, err)
			case 2:
				// The heading is in the metadata under a key that the content has set.
				f.client.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "things", Uri: id(), ContentType: "text/markdown", Source: servicetest.Text("# a\n\nA text.\n\n# 1\n\nAnother text.\n"), Metadata: servicetest.Object(t, r.metadata()),
					Chunking: &ragdv1.Chunking{Strategy: "markdown", Headers: []*ragdv1.ChunkingHeader{{Marker: "#", Key: "b"}}}})
			default:
				f.put(t, pick(r, "default", "other"), id(), r.metadata())
			}
		}
		for range 25 {
			by := filter.Filter{}
			if r.IntN(8) > 0 {
				by = parse(t, r.filter(2))
			}
			if r.IntN(2) == 0 {
				by = by.Trusted()
			}
			namespace := pick(r, "default", "default", "other", "none")
			got, ok := f.inMemory(t, namespace, by, fields)
			if asked++; !ok {
				continue
			}
			answered++
			if diff := cmp.Diff(f.inDatabase(t, namespace, by, fields), got); diff != "" {
				t.Fatalf("seed %d: %s in %s (-database +memory):\n%s", seed, by, namespace, diff)
			}
		}
	}
	if answered < asked*9/10 {
		t.Errorf("%d of %d counts were answered in memory", answered, asked)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Changes of another instance are seen, and so are those that nobody recorded: then the columns are loaded again.
func TestColumnsAreNeverOutdated(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	f := newFixture(t, s, "acme")
	f.put(t, "", "one", map[string]any{"kind": "lamp"})
	f.warm(t, "kind")
	same := func(what string, inMemory bool) {
		t.Helper()
		got, ok := f.inMemory(t, "default", filter.Filter{}, []string{"kind"})
		if ok != inMemory {
			t.Errorf("%s: counted in memory is %v", what, ok)
		}
		if !ok {
			f.warm(t, "kind")
			got, _ = f.inMemory(t, "default", filter.Filter{}, []string{"kind"})
		}
		if diff := cmp.Diff(f.inDatabase(t, "default", filter.Filter{}, []string{"kind"}), got); diff != "" {
			t.Errorf("%s (-database +memory):\n%s", what, diff)
		}
	}
	f.put(t, "", "two", map[string]any{"kind": "desk"})
	same("another vector", true)
	f.put(t, "", "two", map[string]any{"kind": "safe"})
	same("a change of it", true)
	_, err := f.client.Delete(t.Context(), &ragdv1.DeleteRequest{IndexName: "things", Ids: []string{"one"}})
	must(t, err)
	same("a vector less", true)

	_, err = f.service.Pool.Exec(t.Context(), `DELETE FROM ragd_shared.watched_indexes`)
	must(t, err)
	f.put(t, "", "three", map[string]any{"kind": "desk"})
	same("a change that was not recorded", false)
	_, err = f.service.Pool.Exec(t.Context(), `UPDATE ragd_shared.watched_indexes SET until = now()`)
	must(t, err)
	f.put(t, "", "three", map[string]any{"kind": "lamp"})
	same("another one", false)
	_, err = f.client.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "things"})
	must(t, err)
	f.put(t, "", "four", map[string]any{"kind": "desk"})
	same("an index that was emptied", false)
}

// A table belongs to one tenant, and what is recorded for it too.
func TestTenantsHaveTablesOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := newFixture(t, s, "acme"), newFixture(t, s, "bolt")
	bolt.keeper = acme.keeper
	acme.put(t, "", "one", map[string]any{"kind": "lamp"})
	bolt.put(t, "", "one", map[string]any{"kind": "anchor"})
	acme.warm(t, "kind")
	bolt.warm(t, "kind")
	bolt.put(t, "", "two", map[string]any{"kind": "rope"})
	for want, f := range map[string]fixture{`"anchor" "rope"`: bolt, `"lamp"`: acme} {
		got, ok := f.inMemory(t, "default", filter.Filter{}, []string{"kind"})
		kinds := []string{}
		for kind := range got.Fields[0] {
			kinds = append(kinds, kind)
		}
		if slices.Sort(kinds); !ok || strings.Join(kinds, " ") != want {
			t.Errorf("%s counts %v, %v", f.tenant, got, ok)
		}
	}
	recorded, err := data.Values[string](t.Context(), acme.handle, `SELECT unnest(c.chunk_ids) FROM ragd_shared.chunk_changes AS c WHERE c.index_id = $1`, acme.index.ID)
	if err != nil || len(recorded) > 0 {
		t.Errorf("acme reads changes of %v, %v", recorded, err)
	}
}

// What the columns do not have is left to the database.
func TestWhatColumnsCannotTell(t *testing.T) {
	t.Parallel()
	f := newFixture(t, servicetest.New(t, service.Config{NoWorkers: true}), "acme")
	long := ""
	for n := range 1000 { // which PostgreSQL cannot compress to a short one
		long += strconv.FormatUint(rand.Uint64()+uint64(n), 36)
	}
	f.put(t, "", "one", map[string]any{"kind": "lamp", "long": long})
	f.warm(t, "kind", "long")
	for text, want := range map[string]bool{
		`{"kind": "lamp"}`: true, `{"kind": {"$contains": "LAM"}}`: true, `{"kind": {"$regex": "l.mp"}}`: false, `{"$uri": "x"}`: false,
		`{"long": "x"}`: false, `{"kind": {"$not": {"$regex": "x"}}}`: false,
	} {
		var object any
		must(t, json.Unmarshal([]byte(text), &object))
		if _, ok := f.inMemory(t, "default", parse(t, object), []string{"kind"}); ok != want {
			t.Errorf("%s: counted in memory is %v", text, ok)
		}
	}
	got, ok := f.inMemory(t, "default", filter.Filter{}, []string{"kind"})
	if !ok || got.Chunks != 1 {
		t.Errorf("beside a long text: %v, %v", got, ok)
	}
}
