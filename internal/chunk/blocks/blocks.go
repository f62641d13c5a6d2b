// Package blocks has a list for very many small items.
package blocks

// List grows without copying its items, so that a long one needs little more memory
// than the items. The zero List is empty.
type List[T any] struct {
	list [][]T // all full but the last
	n    int
}

const blockSize = 1 << 12

// Push appends an item.
func (l *List[T]) Push(item T) {
	i := l.n / blockSize
	switch {
	case i < len(l.list):
	case i == 0: // most lists are short: do not allocate a full block
		l.list = append(l.list, nil)
	default:
		l.list = append(l.list, make([]T, 0, blockSize))
	}
	l.list[i] = append(l.list[i], item)
	l.n++
}

// Len returns the number of items.
func (l *List[T]) Len() int { return l.n }

// At returns a pointer to item i. It is valid until the item is dropped.
func (l *List[T]) At(i int) *T { return &l.list[i/blockSize][i%blockSize] }

// Truncate drops all items but the first n.
func (l *List[T]) Truncate(n int) {
	l.list = l.list[:min(len(l.list), n/blockSize+1)]
	if n/blockSize < len(l.list) {
		l.list[n/blockSize] = l.list[n/blockSize][:n%blockSize]
	}
	l.n = n
}
