// Package paging reads the lists of the API page by page.
package paging

import "iter"

// pageSize is the largest page that is fetched.
const pageSize = 500

// Items returns the items of all pages in order, at most limit of them if limit is above
// 0. fetch returns one page of at most size items and the token of the next page, empty
// for the last. An error of fetch ends the sequence.
func Items[T any](limit int, fetch func(size int32, token string) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left, token := limit, ""
		for {
			size := pageSize
			if limit > 0 {
				size = min(size, left)
			}
			items, next, err := fetch(int32(size), token)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			left -= len(items)
			if token = next; token == "" || (limit > 0 && left <= 0) {
				return
			}
		}
	}
}

// All returns items of a list without pages as a sequence without errors.
func All[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}
