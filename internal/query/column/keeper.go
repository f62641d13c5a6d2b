package column

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of tables.
const (
	// keeperBytes bounds the memory of all tables, and maxTableBytes that of one.
	keeperBytes   = 256 << 20
	maxTableBytes = 64 << 20
	// maxColumns bounds the fields of a table.
	maxColumns = 32
	// maxLoads is how many tables an instance loads at once, and loadTimeout how long each may take.
	maxLoads    = 2
	loadTimeout = 30 * time.Second
	// loadPause is how many times as long as loading a table took the next load of it has to wait.
	loadPause = 3
	// missTime is how long it is known that an index was counted without a table, and maxMisses for how many indexes.
	missTime  = 10 * time.Minute
	maxMisses = 10_000
	// refreshTimeout limits the time in which changes are read. minRefreshed is how many chunks may have changed, and refreshFraction which
	// part of the index, as 1/n, before loading it again costs less.
	refreshTimeout  = 2 * time.Second
	minRefreshed    = 2000
	refreshFraction = 8
)

// key identifies a table of a tenant. The chunks of another generation are in another table of the database.
type key struct {
	index      int64
	generation int
}

// kept is a table that is kept up to date.
type kept struct {
	refreshing sync.Mutex // held while changes are read
	database   string     // in which the tenant lived
	fields     []string   // of the table
	drift      int64      // how many more chunks there were than the counts said

	mu      sync.RWMutex
	table   *table
	at      moment
	broken  bool // it cannot be brought up to date
	watched time.Time
}

// Keeper keeps tables. Safe for concurrent use.
type Keeper struct {
	tables *cache.Fair[tenant.ID, key, *kept]
	// due is when a table may be loaded that was asked for before.
	due   *cache.Cache[tenantKey, time.Time]
	slots chan struct{} // one for each table that is loaded

	mu      sync.Mutex
	loading map[tenantKey]bool
}

type tenantKey struct {
	tenant tenant.ID
	key    key
}

// NewKeeper returns a Keeper without tables.
func NewKeeper() *Keeper {
	return &Keeper{
		tables: cache.NewFair[tenant.ID](keeperBytes, func(_ key, k *kept) int { return k.table.bytes() }),
		due:    cache.New(cache.Config[tenantKey, time.Time]{Entries: maxMisses, TTL: missTime}),
		slots:  make(chan struct{}, maxLoads), loading: map[tenantKey]bool{},
	}
}

// Query asks how many chunks of a namespace match a filter, and by which contents of fields.
type Query struct {
	Tenant    tenant.ID
	Index     index.Index
	Handle    *data.Handle // of the primary
	Now       State        // of the index, when the query was asked or later
	Namespace string
	Filter    filter.Filter // of the metadata alone
	Fields    []string
}

// columns returns the fields whose columns the query needs. ok is false if it needs more than metadata.
func (q Query) columns() (fields []string, ok bool) {
	conditions, ok := q.Filter.Conditions()
	fields = slices.Clone(q.Fields)
	for _, c := range conditions {
		fields = append(fields, filter.FieldName(c.Key))
	}
	slices.Sort(fields)
	fields = slices.Compact(fields)
	return fields, ok && len(fields) <= maxColumns
}

// Count counts in memory and passes on what it counted, which is valid until use returns. ok is false if the caller has to count in the
// database: there is no table yet, or none that can answer the query. Then a table may be loaded for later queries. Errors: those of the
// database and of use.
func (k *Keeper) Count(ctx context.Context, q Query, use func(Counted) error) (ok bool, err error) {
	fields, ok := q.columns()
	if !ok {
		return false, nil
	}
	if distributed, err := q.Handle.Distributed(ctx); distributed || err != nil { // there changes are not recorded
		return false, err
	}
	of, found := k.tables.Get(q.Tenant, key{q.Index.ID, q.Index.Generation})
	if !found || !of.has(fields) {
		k.offer(ctx, q, of, fields)
		return false, nil
	}
	if fresh, err := k.refresh(ctx, q, of); !fresh || err != nil {
		k.offer(ctx, q, of, fields)
		return false, ctx.Err() // of other errors the caller's own statement tells
	}
	of.mu.RLock()
	defer of.mu.RUnlock()
	selected, ok, err := of.table.selected(q.Namespace, q.Filter)
	if !ok || err != nil {
		return false, err
	}
	return true, use(of.table.count(selected, q.Fields))
}

func (of *kept) has(fields []string) bool {
	return !slices.ContainsFunc(fields, func(field string) bool { return !slices.Contains(of.fields, field) })
}

// state returns the state that the table has, and whether it can be used.
func (of *kept) state() (at moment, usable bool, watched time.Time) {
	of.mu.RLock()
	defer of.mu.RUnlock()
	return of.at, !of.broken, of.watched
}

// refresh brings a table up to date with the query's state of the index, or a later one. fresh is false if it has to be loaded again.
func (k *Keeper) refresh(ctx context.Context, q Query, of *kept) (fresh bool, err error) {
	database, err := q.Handle.Database(ctx)
	if err != nil || database != of.database {
		return false, err
	}
	if at, usable, watched := of.state(); !usable || at.State == q.Now && time.Since(watched) < watchTime/2 {
		return usable, nil
	}
	of.refreshing.Lock()
	defer of.refreshing.Unlock()
	at, usable, watched := of.state()
	if !usable {
		return false, nil
	}
	if time.Since(watched) >= watchTime/2 {
		began := time.Now()
		if err := watch(ctx, q.Handle, q.Index.ID); err != nil {
			return false, err
		}
		of.mu.Lock()
		of.watched = began
		of.mu.Unlock()
	}
	if at.State == q.Now {
		return true, nil
	}
	if at.File != q.Now.File || q.Now.Written-at.Written > max(minRefreshed, at.Chunks/refreshFraction) {
		of.abandon()
		return false, nil
	}
	c, err := readChanges(ctx, q.Handle, q.Index.ID, of.fields, at.Snapshot)
	if err != nil {
		return false, err
	}
	if !of.apply(c) {
		of.abandon()
		return false, nil
	}
	k.tables.Put(q.Tenant, key{q.Index.ID, q.Index.Generation}, of) // with its new size
	return true, nil
}

// abandon marks a table that cannot be brought up to date.
func (of *kept) abandon() {
	of.mu.Lock()
	defer of.mu.Unlock()
	of.broken = true
}

// apply changes a table. It returns false if what is known of the changes is not all that has changed.
func (of *kept) apply(c changed) bool {
	of.mu.Lock()
	defer of.mu.Unlock()
	was, sum := of.at, of.at.State
	var owners []owner
	for _, change := range c.changes {
		of, known := change.owners()
		if !known {
			return false
		}
		owners = append(owners, of...)
		sum.Chunks, sum.Written = sum.Chunks+change.Chunks, sum.Written+change.Written
	}
	if sum != c.now.State || was.File != c.now.File {
		return false
	}
	of.table.remove(owners)
	for _, r := range c.chunks {
		of.table.add(r)
	}
	of.at = c.now
	gone := len(of.table.of) - of.table.alive
	return int64(of.table.alive) == c.now.Chunks+of.drift && gone <= max(minRefreshed, of.table.alive)
}

// offer has a table loaded that a query needs, unless the index was not asked about lately, or is loaded, or was loaded a moment ago. It does
// not wait.
func (k *Keeper) offer(ctx context.Context, q Query, old *kept, fields []string) {
	id := tenantKey{q.Tenant, key{q.Index.ID, q.Index.Generation}}
	due, asked := k.due.Get(id)
	if !asked {
		k.due.Put(id, time.Now())
	}
	if !asked || time.Now().Before(due) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.loading[id] {
		return
	}
	select {
	case k.slots <- struct{}{}:
	default:
		return
	}
	k.loading[id] = true
	all := fields
	if old != nil {
		all = slices.Concat(fields, old.fields)
		slices.Sort(all)
		all = slices.Compact(all)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	go func() {
		defer cancel()
		began := time.Now()
		err := errTooLarge
		if len(all) <= maxColumns {
			err = k.load(ctx, q, all)
		}
		if errors.Is(err, errTooLarge) && len(all) > len(fields) {
			err = k.load(ctx, q, fields)
		}
		pause := loadPause * time.Since(began)
		if errors.Is(err, errTooLarge) {
			pause = missTime
		}
		k.due.Put(id, time.Now().Add(pause))
		k.mu.Lock()
		delete(k.loading, id)
		k.mu.Unlock()
		<-k.slots
	}()
}

// load loads the table of an index.
func (k *Keeper) load(ctx context.Context, q Query, fields []string) error {
	database, err := q.Handle.Database(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := watch(ctx, q.Handle, q.Index.ID); err != nil { // before: what changes meanwhile has to be recorded
		return err
	}
	t, at, err := read(ctx, q.Handle, q.Index.ID, fields)
	if err != nil {
		return err
	}
	k.tables.Put(q.Tenant, key{q.Index.ID, q.Index.Generation}, &kept{
		database: database, fields: fields, table: t, at: at, watched: began, drift: int64(t.alive) - at.Chunks,
	})
	return nil
}
