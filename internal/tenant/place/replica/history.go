package replica

import (
	"sort"
	"time"
)

// observation is a position of the primary's log. What was acknowledged before the time is below
// the position.
type observation struct {
	at       time.Time
	position int64
}

// history has the observations of one timeline, oldest first.
type history struct {
	timeline timeline
	seen     []observation
}

// add returns the history with another observation, without those older than MaxStaleness. That of
// another timeline begins a new history.
func (h history) add(of timeline, o observation) history {
	if h.timeline != of {
		return history{of, []observation{o}}
	}
	old := sort.Search(len(h.seen), func(i int) bool { return !h.seen[i].at.Before(o.at.Add(-MaxStaleness)) })
	return history{of, append(h.seen[old:len(h.seen):len(h.seen)], o)}
}

// needed returns the position that a replica must have replayed to be at most so stale; false if
// the primary was not observed since then.
func (h history) needed(now time.Time, staleness time.Duration) (position int64, ok bool) {
	i := sort.Search(len(h.seen), func(i int) bool { return !h.seen[i].at.Before(now.Add(-staleness)) })
	if i == len(h.seen) {
		return 0, false
	}
	return h.seen[i].position, true
}

// lag returns how stale a replica may be that has replayed a position: the age of the oldest
// observation that it has not reached; 0 if it has reached all.
func (h history) lag(now time.Time, position int64) time.Duration {
	i := sort.Search(len(h.seen), func(i int) bool { return h.seen[i].position > position })
	if i == len(h.seen) {
		return 0
	}
	return max(0, now.Sub(h.seen[i].at))
}
