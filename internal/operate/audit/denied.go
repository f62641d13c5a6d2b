package audit

import (
	"context"
	"time"
)

const (
	// period is the time over which denied calls are summed up.
	period = time.Minute
	// maxDenials is how many sums an instance writes in a period. All further calls are one sum for
	// each outcome, without tenant, caller and method.
	maxDenials = 50
)

// Denied is a call that was denied.
type Denied struct {
	// Tenant and Subject are empty if they are not known.
	Tenant, Subject string
	// Client is the address of the caller.
	Client string
	// Method is from a list of the service's methods, because callers must not choose it.
	Method    string
	Outcome   string
	RequestID string
}

// denial is what a sum is about.
type denial struct{ tenant, subject, client, method, outcome string }

type denials struct {
	calls     int
	requestID string // of the first
}

// Add counts a call that was denied. It does not block.
func (l *Log) Add(d Denied) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(denial{d.Tenant, d.Subject, d.Client, d.Method, d.Outcome}, 1, d.RequestID)
}

// add counts calls. The caller holds mu.
func (l *Log) add(of denial, calls int, requestID string) {
	sum := l.denied[of]
	if sum == nil && len(l.denied) >= maxDenials {
		of = denial{outcome: of.outcome}
		sum, requestID = l.denied[of], ""
	}
	if sum == nil {
		sum = &denials{requestID: requestID}
		l.denied[of] = sum
	}
	sum.calls += calls
}

// Flush writes the sums of denied calls and of decisions. On an error they are kept in memory; they are counted
// twice if the connection broke after the statement took effect.
func (l *Log) Flush(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	waiting, decided := l.denied, l.decided
	l.denied, l.decided, l.ofTenant = map[denial]*denials{}, map[decision]*denials{}, map[string]int{}
	l.mu.Unlock()
	if len(waiting)+len(decided) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := l.write(ctx, waiting, decided)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		for of, sum := range waiting {
			l.add(of, sum.calls, sum.requestID)
		}
		for of, sum := range decided {
			l.decide(of, sum.calls, sum.requestID)
		}
	}
	return err
}
