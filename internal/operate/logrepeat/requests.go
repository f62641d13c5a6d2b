package logrepeat

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// period is the time for which lines about requests are counted.
	period = time.Minute
	// maxOfCaller is how many lines one caller gets in a period, for each code.
	maxOfCaller = 20
	// maxOfKind is how many lines all callers get in a period: for requests of tenants, as many
	// again for those without a tenant, and for internal errors.
	maxOfKind = 150
	// maxSums is how many callers get a line of their own with what was left out, those with the
	// most; one more line for each kind is for all others.
	maxSums = 100
	// maxCallers is how many callers are told apart in a period.
	maxCallers = 1000
)

// Requests keeps the lines about requests that were refused or failed from flooding the log. Of
// one caller it lets 20 lines a minute pass for each code, of all callers 150 for each kind. What it
// leaves out is summed up at the end of the minute, in a line for each caller:
//
//	requests refused  tenant=acme code=invalid left_out=5180 first=… last=… method=POST path=… err=…
//
// The last three are those of the last request that was left out. Callers beyond a hundred share
// a line for each kind, with callers=others. Safe for concurrent use. A nil Requests lets all lines pass.
type Requests struct {
	log *slog.Logger

	mu      sync.Mutex
	timer   *time.Timer // runs from the first line of a period to its end
	passed  [kinds]int
	callers map[caller]*leftOut
	others  [kinds]leftOut
	closed  bool
}

// Request is a request that was refused or failed.
type Request struct {
	Tenant  string // "" if it is not known
	Address string // of the client
	Code    string
	// Internal says that it failed with an internal error.
	Internal bool
	// Method, Path and Err stand in the sum if the request is the last one that was left out.
	Method, Path string
	Err          error
}

// The kinds of requests, which do not take lines from each other.
const (
	ofTenants = iota
	ofStrangers
	internal
	kinds
)

func (r Request) kind() int {
	switch {
	case r.Internal:
		return internal
	case r.Tenant == "":
		return ofStrangers
	}
	return ofTenants
}

// caller tells callers apart: tenants, and the addresses of requests without a tenant.
type caller struct {
	tenant, address, code string
	internal              bool
}

func (r Request) caller() caller {
	if r.Tenant != "" {
		return caller{tenant: r.Tenant, code: r.Code, internal: r.Internal}
	}
	return caller{address: r.Address, code: r.Code, internal: r.Internal}
}

// leftOut counts the requests of a caller.
type leftOut struct {
	passed, count int
	first, last   time.Time
	example       Request
}

// NewRequests returns a Requests that writes its sums to log.
func NewRequests(log *slog.Logger) *Requests {
	return &Requests{log: log, callers: map[caller]*leftOut{}}
}

// Passes counts a request. It reports whether its line may be written; if not, it counts in
// the next sum.
func (q *Requests) Passes(r Request) bool {
	if q == nil {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return true
	}
	if q.timer == nil {
		q.timer = time.AfterFunc(period, q.end)
	}
	of := q.callers[r.caller()]
	switch {
	case of != nil:
	case len(q.callers) < maxCallers:
		of = &leftOut{}
		q.callers[r.caller()] = of
	default:
		of = &q.others[r.kind()]
	}
	if kind := r.kind(); of != &q.others[kind] && of.passed < maxOfCaller && q.passed[kind] < maxOfKind {
		of.passed++
		q.passed[kind]++
		return true
	}
	now := time.Now()
	if of.count == 0 {
		of.first = now
	}
	of.count++
	of.last, of.example = now, r
	return false
}

// end ends a period.
func (q *Requests) end() {
	q.mu.Lock()
	callers, others := q.callers, q.others
	q.callers, q.others, q.passed, q.timer = map[caller]*leftOut{}, [kinds]leftOut{}, [kinds]int{}, nil
	q.mu.Unlock()
	var sums []caller
	for c, of := range callers {
		if of.count > 0 {
			sums = append(sums, c)
		}
	}
	slices.SortFunc(sums, func(a, b caller) int {
		return cmp.Or(cmp.Compare(callers[b].count, callers[a].count), cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.address, b.address), cmp.Compare(a.code, b.code))
	})
	for i, c := range sums {
		if i < maxSums {
			callers[c].write(q.log, c)
			continue
		}
		others[callers[c].example.kind()].add(callers[c])
	}
	for kind := range others {
		if others[kind].count > 0 {
			others[kind].write(q.log, caller{internal: kind == internal})
		}
	}
}

func (of *leftOut) add(more *leftOut) {
	if of.count == 0 || more.first.Before(of.first) {
		of.first = more.first
	}
	if of.count == 0 || more.last.After(of.last) {
		of.last, of.example = more.last, more.example
	}
	of.count += more.count
}

// write writes the sum of a caller, or of the others of a kind if c has no code.
func (of *leftOut) write(log *slog.Logger, c caller) {
	level, what := slog.LevelInfo, "requests refused"
	if c.internal {
		level, what = slog.LevelError, "requests failed"
	}
	var attrs []any
	for _, a := range [][2]string{{"tenant", c.tenant}, {"address", c.address}, {"code", c.code}} {
		if a[1] != "" {
			attrs = append(attrs, a[0], a[1])
		}
	}
	if c.code == "" {
		attrs = append(attrs, "callers", "others")
	}
	attrs = append(attrs, "left_out", of.count, "first", of.first, "last", of.last, "method", of.example.Method, "path", of.example.Path)
	if of.example.Err != nil {
		attrs = append(attrs, "err", of.example.Err)
	}
	log.Log(context.Background(), level, what, attrs...)
}

// Close writes the sums of the current period. All lines that come later pass.
func (q *Requests) Close() {
	q.mu.Lock()
	q.closed = true
	running := q.timer != nil && q.timer.Stop()
	q.mu.Unlock()
	if running {
		q.end()
	}
}
