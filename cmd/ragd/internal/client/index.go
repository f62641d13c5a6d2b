package client

import (
	"context"
	"errors"
	"strings"

	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// OnlyIndex returns name, or if it is empty the name of the tenant's only index, which is
// empty if it has none. If the tenant has several indexes it is a usage error.
func (c *Client) OnlyIndex(ctx context.Context, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	const shown = 5
	page, err := c.Indexes.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: shown})
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
	return "", misuse.Errorf("--index is missing and there are several: %s", strings.Join(names, ", "))
}

// ExistingIndex returns name, or if it is empty the name of the tenant's only index. A
// tenant without an index is an error.
func (c *Client) ExistingIndex(ctx context.Context, name string) (string, error) {
	name, err := c.OnlyIndex(ctx, name)
	if err == nil && name == "" {
		err = errors.New("there is no index yet: `ragd ingest` or `ragd index create` makes one")
	}
	return name, err
}
