package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/daemon"
)

// Indexes, which are tables in PostgreSQL, and the deletion of a tenant that has many.

// indexAttacks returns the attacks with indexes.
func indexAttacks() []attack {
	return []attack{
		{name: "many-indexes", what: "1,500 indexes with 16 metadataIndexes each, then DeleteTenant, with a write key", unlimited: true, run: manyIndexes},
		{name: "update-index-race", what: "20 rounds of 8x UpdateIndex at once with different metadataIndexes, with a write key", run: raceUpdates},
	}
}

// metadataFields returns names of metadata fields.
func metadataFields(prefix string, n int) []string {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return fields
}

// manyIndexes creates indexes until it is refused, and then deletes the tenant.
func manyIndexes(ctx context.Context, s *arena) (result, error) {
	start := time.Now()
	var refused answer
	created := 0
	for created < s.indexes {
		answers := times(8, func(n int) answer {
			return s.rpc(ctx, s.attacker.write, "IndexService/CreateIndex",
				object{"indexName": fmt.Sprintf("index_%d", created+n), "metadataIndexes": metadataFields("field", 16)})
		})
		i := slices.IndexFunc(answers, func(a answer) bool { return a.code != "ok" })
		created += len(answers)
		if i >= 0 {
			refused = answers[i]
			break
		}
	}
	r := result{answer: fmt.Sprintf("%d indexes in %.0f s", created, time.Since(start).Seconds())}
	if refused.code == "" {
		r.breaks("all %d indexes were created", created)
	} else {
		r.answer += ", then " + refused.code
	}
	if refused.internal() {
		r.breaks("CreateIndex answered %s: %s", refused.code, brief(refused.text))
	}
	s.deleteTenant(ctx, &r)
	return r, nil
}

// deleteTenant deletes the attacker's tenant. Meanwhile its key must not work and the
// other tenant must not notice.
func (s *arena) deleteTenant(ctx context.Context, r *result) {
	during, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	var key []answer
	var others latencies
	var disturbed error
	go func() {
		defer close(ended)
		time.Sleep(time.Second) // until the deletion has begun
		for during.Err() == nil {
			key = append(key, s.rpc(ctx, s.attacker.read, "IndexService/ListIndexes", object{}))
			quick, cancel := context.WithTimeout(during, 300*time.Millisecond)
			some, err := measure(quick, s.ask)
			cancel()
			if others = append(others, some...); err != nil {
				disturbed = err
			}
		}
	}()
	deleted := s.rpc(ctx, daemon.OperatorKey, "TenantService/DeleteTenant", object{"tenantId": s.attacker.id, "erase": true})
	stop()
	<-ended
	r.answer += fmt.Sprintf("; DeleteTenant %s after %.0f s", deleted.code, deleted.took.Seconds())
	if deleted.code != "ok" {
		r.breaks("DeleteTenant: %s: %s", deleted.code, brief(deleted.text))
	}
	if after := s.rpc(ctx, s.attacker.read, "IndexService/ListIndexes", object{}); after.code != "unauthenticated" {
		r.breaks("after it the tenant's key gets %s", after.code)
	}
	if i := slices.IndexFunc(key, func(a answer) bool { return a.code == "ok" }); i >= 0 {
		r.breaks("the tenant's key worked during the deletion")
	}
	slices.Sort(others)
	if disturbed != nil {
		r.breaks("during the deletion %v", disturbed)
	}
	if slowest := others.at(100); slowest > 5*time.Second {
		r.breaks("during the deletion a call of the other tenant took %.0f s", slowest.Seconds())
	}
}

// raceUpdates changes the settings of an index from several clients at once. Afterwards the
// index must be usable.
func raceUpdates(ctx context.Context, s *arena) (result, error) {
	var answers []answer
	for round := range 20 {
		answers = append(answers, times(8, func(n int) answer {
			fields := metadataFields("field", 2+(round+n)%7)
			slices.Reverse(fields)
			return s.rpc(ctx, s.attacker.write, "IndexService/UpdateIndex", object{"indexName": "docs", "metadataIndexes": object{"fields": fields}})
		})...)
	}
	r := reject(answers)
	for _, fields := range [][]string{metadataFields("field", 16), {}, metadataFields("other", 3)} {
		a := s.rpc(ctx, s.attacker.write, "IndexService/UpdateIndex", object{"indexName": "docs", "metadataIndexes": object{"fields": fields}})
		if a.code != "ok" {
			r.breaks("after the race UpdateIndex answers %s: %s", a.code, brief(a.text))
		}
	}
	return r, nil
}
