// Package page makes and reads the opaque tokens that lists are paged with. A
// token holds the sort key of the last row that was shown, so that pages stay
// stable while rows come and go, and reading a page costs the same however far
// down the list it is.
package page

import (
	"encoding/base64"
	"encoding/json"

	"github.com/ragdhq/ragd/internal/fault"
)

// Sizes of a page.
const (
	DefaultSize = 100
	MaxSize     = 1000
)

// maxTokenBytes bounds the token a caller may send.
const maxTokenBytes = 4096

// Size returns the page size a caller asked for, DefaultSize for 0.
func Size(asked int32) (int, error) {
	switch {
	case asked == 0:
		return DefaultSize, nil
	case asked < 0 || asked > MaxSize:
		return 0, fault.Field("pageSize", "must be between 1 and %d, got %d", MaxSize, asked)
	}
	return int(asked), nil
}

// Token encodes the sort key of the last row of a page.
func Token[K any](key K) string {
	raw, err := json.Marshal(key)
	if err != nil {
		panic(err) // keys are plain structs of strings, numbers and times
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Parse decodes a token that Token made. An empty token gives false: the first
// page. A token is data from outside: the key it holds is a position in the
// caller's own list and nothing more.
func Parse[K any](token string) (key K, ok bool, err error) {
	if token == "" {
		return key, false, nil
	}
	if len(token) > maxTokenBytes {
		return key, false, errToken
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return key, false, errToken
	}
	if err := json.Unmarshal(raw, &key); err != nil {
		return key, false, errToken
	}
	return key, true, nil
}

var errToken = fault.Field("pageToken", "is not a token that this list gave out; leave it empty to start again")

// Cut returns at most size of the rows and the token of the next page, "" if
// there is none. The caller reads size+1 rows to learn whether more follow.
func Cut[T, K any](rows []T, size int, keyOf func(T) K) ([]T, string) {
	if len(rows) <= size {
		return rows, ""
	}
	rows = rows[:size]
	return rows, Token(keyOf(rows[size-1]))
}
