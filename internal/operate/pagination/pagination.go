// Package pagination pages lists with opaque tokens. A token holds the sort key of the
// last row of a page, so that pages stay stable while rows are added and removed, and
// every page costs the same.
package pagination

import "github.com/ragdhq/ragd/internal/operate/fault"

// Sizes of a page.
const (
	DefaultSize = 100
	MaxSize     = 1000
)

// List returns a page of a list and the token of the next page, "" if there is none.
// asked is the page size, 0 for DefaultSize; token is that of the previous page, "" for
// the first. tokens are those of the list. first is a sort key before all rows, key returns
// the sort key of a row, and read returns at most so many rows after a key, in order.
// Errors: Invalid for pageSize and pageToken; those of read.
func List[T, K any](tokens Tokens, asked int32, token string, first K, key func(T) K, read func(after K, most int) ([]T, error)) ([]T, string, error) {
	size, err := sizeOf(asked)
	if err != nil {
		return nil, "", err
	}
	after := first
	if token != "" {
		if err := tokens.Decode(token, &after); err != nil {
			return nil, "", err
		}
	}
	rows, err := read(after, size+1) // one more, to learn whether more follow
	if err != nil || len(rows) <= size {
		return rows, "", err
	}
	rows = rows[:size]
	return rows, tokens.Encode(key(rows[size-1])), nil
}

func sizeOf(asked int32) (int, error) {
	switch {
	case asked == 0:
		return DefaultSize, nil
	case asked < 0 || asked > MaxSize:
		return 0, fault.Field("pageSize", "must be between 1 and %d, got %d", MaxSize, asked)
	}
	return int(asked), nil
}
