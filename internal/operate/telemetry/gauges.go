package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Gauges are metrics that are read all at once when they are asked for, but not more often than Every.
// It implements prometheus.Collector.
type Gauges struct {
	// Every is the least time between two readings, in between of which the last one is shown.
	Every time.Duration
	// Read calls set with each value. A metric for which it does not is not shown: better none
	// than an old one.
	Read func(set Set)
	// Described has the metrics by name.
	Described map[string]Gauge

	mu    sync.Mutex
	read  time.Time
	known []prometheus.Metric
}

// Gauge describes a metric.
type Gauge struct {
	Help   string
	Labels []string
	// Counter says that it only grows.
	Counter bool
}

// Set sets the metric of the name to a value, for values of its labels.
type Set func(name string, value float64, labels ...string)

// Describe implements prometheus.Collector.
func (g *Gauges) Describe(descs chan<- *prometheus.Desc) {
	for name, m := range g.Described {
		descs <- prometheus.NewDesc(name, m.Help, m.Labels, nil)
	}
}

// Collect implements prometheus.Collector.
func (g *Gauges) Collect(metrics chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); g.read.IsZero() || now.Sub(g.read) >= g.Every {
		g.known = g.known[:0]
		g.Read(func(name string, value float64, labels ...string) {
			m := g.Described[name]
			kind := prometheus.GaugeValue
			if m.Counter {
				kind = prometheus.CounterValue
			}
			g.known = append(g.known, prometheus.MustNewConstMetric(prometheus.NewDesc(name, m.Help, m.Labels, nil), kind, value, labels...))
		})
		g.read = now
	}
	for _, m := range g.known {
		metrics <- m
	}
}
