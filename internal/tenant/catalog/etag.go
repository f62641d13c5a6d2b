package catalog

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// ETag returns an opaque text that stands for one state of what has a name: it changes when it is
// changed, also when it is deleted and made again. at is the time of the last change; details tell apart
// what may change without it.
func ETag(name string, at time.Time, details ...string) string {
	sum := sha256.New()
	for _, text := range append([]string{name, strconv.FormatInt(at.UnixMicro(), 10)}, details...) {
		sum.Write([]byte(strconv.Itoa(len(text)) + ":" + text))
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:12])
}

// Expect returns an error unless the etag that a caller gives is the current one, or empty. noun is what
// has the name, such as tool. Errors: Conflict.
func Expect(noun, name, given, current string) error {
	if given == "" || given == current {
		return nil
	}
	err := fault.New(fault.Conflict, "etag: %s %q is no longer as it was when this etag was read: get it again, make the change to what it is now, and send its new etag", noun, name)
	err.Violations = []fault.Violation{{Field: "etag", Reason: "is not the current one"}}
	return err
}
