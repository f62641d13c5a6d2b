package data_test

import (
	"slices"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// A server process keeps what it has read about every table. Its memory is bounded by
// replacing the connection after the tables of some indexes.
func TestAConnectionIsReplacedAfterTheTablesOfManyIndexes(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	ids := f.CreateAll(t, "a", "b", "c", "d", "e", "f")
	const most = 4
	pool, err := postgres.Open(t.Context(), postgres.Config{URL: f.Service.Config().ConnString(), MaxConns: 2, MaxIndexes: most})
	must(t, err)
	t.Cleanup(pool.Close)
	db := data.NewDB(pool, 0)
	pid := func(h *data.Handle) int {
		t.Helper()
		pid, err := data.Value[int](t.Context(), h, `SELECT pg_backend_pid()`)
		must(t, err)
		return pid
	}
	inTx := func(h *data.Handle, index int64) (pid int) {
		t.Helper()
		must(t, h.Tx(t.Context(), func(tx *data.Tx) (err error) {
			pid, err = data.Value[int](t.Context(), tx.OfIndex(index, 0), `SELECT pg_backend_pid()`)
			return err
		}))
		return pid
	}
	first := pid(db.Handle(ids[0]))
	for range 3 * most {
		if got := pid(db.Handle(ids[0])); got != first {
			t.Fatal("a connection that one tenant uses was replaced")
		}
	}
	var pids []int
	for _, id := range ids {
		pids = append(pids, pid(db.Handle(id)))
	}
	if n := len(slices.Compact(pids)); n != 2 || pids[0] != first {
		t.Errorf("%d tenants used the connections %v, want a new one after %d", len(ids), pids, most)
	}
	pids = nil
	for index := range int64(2 * most) {
		pids = append(pids, inTx(db.Handle(ids[0]), index))
	}
	if n := len(slices.Compact(pids)); n < 2 {
		t.Errorf("the indexes of one tenant used the connections %v, want a new one after %d", pids, most)
	}
}

// A batch that is sent again, because a connection could not take the tenant's role, finds
// nothing of what the driver prepared on the first connection.
func TestABatchCanBeSentOnAnotherConnection(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	h := data.NewDB(f.Service, 0).Handle(f.CreateAll(t, "a")[0])
	var counts []int
	batch := h.Batch()
	batch.Query(data.Column(&counts), `SELECT count(*)::int FROM tenant.documents WHERE uri <> $1`, "")
	for range 2 {
		must(t, batch.Run(t.Context()))
		f.Service.Reset()
	}
	if len(counts) != 1 {
		t.Errorf("the counts are %v", counts)
	}
}
