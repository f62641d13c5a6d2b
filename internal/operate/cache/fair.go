package cache

import (
	"container/heap"
	"sync"
)

// Fair maps keys of several owners, such as tenants, to values, within one limit of bytes.
// When it is full it drops the least recently used entry of the owner with the most bytes:
// an owner keeps what it has, however much others store, as long as it has no more than
// the limit divided by the number of owners. Safe for concurrent use. All callers of an
// owner share the values and must not change them.
type Fair[O, K comparable, V any] struct {
	limit  int64
	weigh  func(K, V) int
	counts counts

	mu     sync.Mutex
	used   int64
	owners map[O]*owned[O, K, V]
	most   byBytes[O, K, V]
}

// owned has the entries of one owner, which has at least one.
type owned[O, K comparable, V any] struct {
	owner   O
	bytes   int64
	index   int // in byBytes
	entries map[K]*entry[K, V]
	// recent is a ring of the entries through a root: root.next was used last, root.previous
	// least recently.
	recent entry[K, V]
}

type entry[K comparable, V any] struct {
	key            K
	value          V
	bytes          int64
	next, previous *entry[K, V]
}

// fairOverhead is the size of an entry of a Fair without its key and value, in bytes, as
// measured by TestFairOverheadIsMeasured. The first entry of an owner takes ownerOverhead
// more.
const (
	fairOverhead  = 120
	ownerOverhead = 400
)

// NewFair returns an empty Fair. limit is the maximum size of all entries in bytes; with
// less than one nothing is stored. weigh returns how many bytes a key and its value take,
// besides what the cache itself needs for an entry.
func NewFair[O, K comparable, V any](limit int64, weigh func(K, V) int) *Fair[O, K, V] {
	return &Fair[O, K, V]{limit: limit, weigh: weigh, owners: map[O]*owned[O, K, V]{}}
}

// Get returns the owner's value of the key, and whether there is one.
func (c *Fair[O, K, V]) Get(owner O, key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.owners[owner]
	if of == nil || of.entries[key] == nil {
		c.counts.count(false)
		return value, false
	}
	c.counts.count(true)
	found := of.entries[key]
	found.unlink()
	of.link(found)
	return found.value, true
}

// Put stores a value of an owner, unless it is larger than the limit.
func (c *Fair[O, K, V]) Put(owner O, key K, value V) {
	size := fairOverhead + int64(c.weigh(key, value))
	c.mu.Lock()
	defer c.mu.Unlock()
	if of := c.owners[owner]; of != nil && of.entries[key] != nil {
		c.drop(of, of.entries[key])
	}
	if size+ownerOverhead > c.limit {
		return
	}
	of := c.owners[owner]
	if of == nil {
		of = &owned[O, K, V]{owner: owner, bytes: ownerOverhead, entries: map[K]*entry[K, V]{}}
		of.recent.next, of.recent.previous = &of.recent, &of.recent
		c.owners[owner] = of
		c.used += ownerOverhead
		heap.Push(&c.most, of)
	}
	added := &entry[K, V]{key: key, value: value, bytes: size}
	of.entries[key] = added
	of.link(added)
	c.account(of, size)
	for c.used > c.limit {
		c.drop(c.most[0], c.most[0].recent.previous)
	}
}

// Bytes returns the size of all entries, with the overhead of each.
func (c *Fair[O, K, V]) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// drop removes an entry, and its owner with the last one.
func (c *Fair[O, K, V]) drop(of *owned[O, K, V], e *entry[K, V]) {
	e.unlink()
	delete(of.entries, e.key)
	c.account(of, -e.bytes)
	if len(of.entries) == 0 {
		heap.Remove(&c.most, of.index)
		delete(c.owners, of.owner)
		c.used -= ownerOverhead
	}
}

// account adds bytes to an owner and to the whole.
func (c *Fair[O, K, V]) account(of *owned[O, K, V], bytes int64) {
	of.bytes += bytes
	c.used += bytes
	heap.Fix(&c.most, of.index)
}

// link makes an entry the one used last.
func (o *owned[O, K, V]) link(e *entry[K, V]) {
	e.previous, e.next = &o.recent, o.recent.next
	e.previous.next, e.next.previous = e, e
}

func (e *entry[K, V]) unlink() { e.previous.next, e.next.previous = e.next, e.previous }

// byBytes implements heap.Interface. The owner with the most bytes is first.
type byBytes[O, K comparable, V any] []*owned[O, K, V]

func (h byBytes[O, K, V]) Len() int           { return len(h) }
func (h byBytes[O, K, V]) Less(i, j int) bool { return h[i].bytes > h[j].bytes }

func (h byBytes[O, K, V]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *byBytes[O, K, V]) Push(x any) {
	added := x.(*owned[O, K, V])
	added.index = len(*h)
	*h = append(*h, added)
}

// Pop implements heap.Interface.
func (h *byBytes[O, K, V]) Pop() any {
	last := len(*h) - 1
	popped := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return popped
}
