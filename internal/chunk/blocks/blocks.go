// Package blocks holds a list for very many small items.
package blocks

// List is a list that grows without copying its items, so that a long one takes
// no more memory than they do. The zero List is empty.
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
	case i == 0: // a short list is common: let it grow
		l.list = append(l.list, nil)
	default:
		l.list = append(l.list, make([]T, 0, blockSize))
	}
	l.list[i] = append(l.list[i], item)
	l.n++
}

// Len returns the number of items.
func (l *List[T]) Len() int { return l.n }

// At returns item i, which stays where it is until it is dropped.
func (l *List[T]) At(i int) *T { return &l.list[i/blockSize][i%blockSize] }

// Truncate drops all items from the nth on.
func (l *List[T]) Truncate(n int) {
	l.list = l.list[:min(len(l.list), n/blockSize+1)]
	if n/blockSize < len(l.list) {
		l.list[n/blockSize] = l.list[n/blockSize][:n%blockSize]
	}
	l.n = n
}
