package connector

import (
	"sync"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/tenant/data"
)

// A check whether a connector is followed does not read what the follower changes meanwhile.
func TestAFollowerIsCheckedWhileItFollows(t *testing.T) {
	t.Parallel()
	s := &Service{followers: newFollowers()}
	h := (&data.DB{}).Handle("acme")
	first := row{ConnectorName: "site", UpdatedAt: time.Unix(1, 0)}
	ended := false
	one := &follower{settings: first.UpdatedAt, row: first, end: func() { ended = true }}
	s.followers.active[followKey{"acme", "site"}] = one
	var group sync.WaitGroup
	group.Go(func() { one.row = row{ConnectorName: "site", UpdatedAt: first.UpdatedAt, Run: 2} })
	s.follow(t.Context(), h, first)
	group.Wait()
	if ended {
		t.Error("the same settings ended the subscription")
	}
	s.follow(t.Context(), h, row{ConnectorName: "site", UpdatedAt: time.Unix(2, 0)})
	if !ended {
		t.Error("other settings did not end the subscription")
	}
}
