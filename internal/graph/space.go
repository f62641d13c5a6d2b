package graph

import "github.com/ragdhq/ragd/internal/index"

// space sets the keys of one namespace apart from those of others, so that names are
// known, counted and followed within it alone.
type space Key

// spaceOf returns that of a namespace. Keys of the default one are as they are.
func spaceOf(namespace string) space {
	if namespace == index.DefaultNamespace {
		return 0
	}
	return space(emptyHash.word([]byte(namespace)).word([]byte("namespace")))
}

// key is how a key stands in the space; 0 stays what it is, none.
func (s space) key(k Key) Key {
	if k == 0 {
		return 0
	}
	return k ^ Key(s)
}

// keys are so all of them, in place.
func (s space) keys(all []Key) []Key {
	for i, k := range all {
		all[i] = s.key(k)
	}
	return all
}
