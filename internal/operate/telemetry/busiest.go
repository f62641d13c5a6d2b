package telemetry

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// window is the time over which the requests of tenants are counted; maxCounted bounds the tenants of
// one window, whose memory is thereby at most a few MB. Requests of further ones are not named.
const (
	window     = time.Minute
	maxCounted = 50_000
)

// busiest names the tenants with the most requests in the last whole window. A tenant that is no
// longer among them has no series: its name does not stay. It implements prometheus.Collector.
type busiest struct {
	most int
	now  func() time.Time
	desc *prometheus.Desc

	mu       sync.Mutex
	began    time.Time
	counting map[string]int
	last     []tenantRate
}

type tenantRate struct {
	tenant   string
	requests int
}

func newBusiest(most int, now func() time.Time) *busiest {
	return &busiest{
		most: most, now: now, began: now(), counting: map[string]int{},
		desc: prometheus.NewDesc("ragd_tenant_requests_per_second",
			"Requests of the tenants with the most, over the last whole minute, if metrics-tenants is set.", []string{"tenant"}, nil),
	}
}

func (b *busiest) add(tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn()
	if _, known := b.counting[tenant]; known || len(b.counting) < maxCounted {
		b.counting[tenant]++
	}
}

// turn begins a new window if the current one is over. The caller holds mu. It takes time in
// proportion to the tenants of the window, n log n.
func (b *busiest) turn() {
	passed := b.now().Sub(b.began)
	if passed < window {
		return
	}
	b.last = b.last[:0]
	if passed < 2*window {
		for tenant, requests := range b.counting {
			b.last = append(b.last, tenantRate{tenant, requests})
		}
		slices.SortFunc(b.last, func(x, y tenantRate) int {
			return cmp.Or(cmp.Compare(y.requests, x.requests), cmp.Compare(x.tenant, y.tenant))
		})
		b.last = b.last[:min(len(b.last), b.most)]
	}
	b.counting, b.began = map[string]int{}, b.now()
}

// Describe implements prometheus.Collector.
func (b *busiest) Describe(descs chan<- *prometheus.Desc) { descs <- b.desc }

// Collect implements prometheus.Collector.
func (b *busiest) Collect(metrics chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn()
	for _, t := range b.last {
		metrics <- prometheus.MustNewConstMetric(b.desc, prometheus.GaugeValue, float64(t.requests)/window.Seconds(), t.tenant)
	}
}
