package metadata

import (
	"maps"
	"time"
)

// Keys of the properties of a file in the metadata of its document.
const (
	File     = "file"
	Modified = "modified" // below File: when the file was changed
)

// WithModified returns metadata with the time at which the file was changed, unless it has something under File.
func WithModified(given map[string]any, at time.Time) map[string]any {
	if _, taken := given[File]; taken {
		return given
	}
	all := maps.Clone(given)
	if all == nil {
		all = map[string]any{}
	}
	all[File] = map[string]any{Modified: at.UTC().Format(time.RFC3339)}
	return all
}
