package archive

import (
	"strconv"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// shorten shortens a text of an archive for use in an error message.
func shorten(text string) string { return textlimit.Shorten(text, 100) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// atoi returns the number that itoa wrote.
func atoi(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // itoa wrote it
	return n
}
