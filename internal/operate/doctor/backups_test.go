package doctor

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
)

func TestDoctorLooksForOldBackups(t *testing.T) {
	t.Parallel()
	folder, now := t.TempDir(), time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	check := func(status Status, detail string) {
		t.Helper()
		if f := Backups(folder, time.Hour, now); f.Status != status || !strings.Contains(f.Detail, detail) || (f.Action == "") != (status == OK) {
			t.Errorf("%+v, want %s with %q", f, status, detail)
		}
	}
	check(Fail, "has no backup")
	add := func(started time.Time) {
		t.Helper()
		dir := filepath.Join(folder, started.Format("20060102T150405Z"))
		text, err := json.Marshal(embedded.Backup{Started: started, Ended: started})
		if err := errors.Join(err, os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "backup.json"), text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	add(now.Add(-3 * time.Hour))
	check(Fail, "is 3h0m0s old, but one is due every 1h0m0s")
	add(now.Add(-time.Hour))
	check(OK, "2 in "+folder+", the newest of 2026-07-01T11:00:00Z")
}
