package chunk

// blocks is a list that grows without being copied, so that a long one takes no
// more memory than its items.
type blocks[T any] struct {
	list [][]T // all full but the last
	n    int
}

const blockSize = 1 << 12

func (b *blocks[T]) push(item T) {
	i := b.n / blockSize
	switch {
	case i < len(b.list):
	case i == 0: // a short list is common: let it grow
		b.list = append(b.list, nil)
	default:
		b.list = append(b.list, make([]T, 0, blockSize))
	}
	b.list[i] = append(b.list[i], item)
	b.n++
}

func (b *blocks[T]) at(i int) *T { return &b.list[i/blockSize][i%blockSize] }

// truncate drops all items from the nth on.
func (b *blocks[T]) truncate(n int) {
	b.list = b.list[:min(len(b.list), n/blockSize+1)]
	if n/blockSize < len(b.list) {
		b.list[n/blockSize] = b.list[n/blockSize][:n%blockSize]
	}
	b.n = n
}
