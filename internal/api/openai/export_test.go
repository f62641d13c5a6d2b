package openai

import (
	"maps"
	"slices"
)

// Routes returns the method and path pattern of every call that a Handler serves.
func Routes() []string { return slices.Sorted(maps.Keys((*Handler)(nil).routes())) }
