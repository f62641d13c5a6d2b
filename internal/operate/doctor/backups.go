package doctor

import (
	"fmt"
	"time"

	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
)

// Backups checks that the newest backup in a folder of backups is not older than two intervals.
func Backups(folder string, interval time.Duration, now time.Time) Finding {
	found := Finding{Check: "backups", Status: Fail, Action: "see the log of the service for \"the scheduled backup failed\", or make one with `ragd backup`"}
	all, err := embedded.Backups(folder)
	switch {
	case err != nil:
		found.Detail, found.Action = err.Error(), "let the user of the service read and write the folder"
	case len(all) == 0:
		found.Detail = folder + " has no backup"
	case now.Sub(all[len(all)-1].Started) > 2*interval:
		found.Detail = fmt.Sprintf("the newest backup in %s is %v old, but one is due every %v", folder, now.Sub(all[len(all)-1].Started).Round(time.Minute), interval)
	default:
		return Finding{Check: found.Check, Status: OK, Detail: fmt.Sprintf("%d in %s, the newest of %s", len(all), folder, all[len(all)-1].Started.Format(time.RFC3339))}
	}
	return found
}
