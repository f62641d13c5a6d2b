package main

import (
	"context"
	"errors"
	"strings"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// onlyIndex returns name, or if it is empty the name of the tenant's only index, which is
// empty if it has none. If the tenant has several indexes it is a usage error.
func (c *client) onlyIndex(ctx context.Context, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	const shown = 5
	page, err := c.indexes.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: shown})
	names := page.GetIndexNames()
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", nil
	case len(names) == 1:
		return names[0], nil
	}
	if page.GetNextPageToken() != "" {
		names = append(names, "...")
	}
	return "", usagef("--index is missing and there are several: %s", strings.Join(names, ", "))
}

// existingIndex returns name, or if it is empty the name of the tenant's only index. A
// tenant without an index is an error.
func (c *client) existingIndex(ctx context.Context, name string) (string, error) {
	name, err := c.onlyIndex(ctx, name)
	if err == nil && name == "" {
		err = errors.New("there is no index yet: `ragd ingest` or `ragd index create` makes one")
	}
	return name, err
}
