package names

// Namespace separates the keys of one namespace of an index from those of the
// others, so that names are found and counted within it alone. The zero value
// leaves keys unchanged.
type Namespace struct{ mask Key }

// NamespaceOf returns the Namespace for a name.
func NamespaceOf(name string) Namespace {
	return Namespace{Key(emptyHash.word([]byte(name)).word([]byte("namespace")))}
}

// Key returns the key as it is stored for the namespace. 0, which stands for no
// key, stays 0.
func (n Namespace) Key(k Key) Key {
	if k == 0 {
		return 0
	}
	return k ^ n.mask
}

// Keys maps all keys into the namespace, in place, and returns them.
func (n Namespace) Keys(all []Key) []Key {
	for i, k := range all {
		all[i] = n.Key(k)
	}
	return all
}

// Phrases maps the keys of all phrases into the namespace, in place, and returns
// them.
func (n Namespace) Phrases(all []Phrase) []Phrase {
	for i, p := range all {
		all[i] = Phrase{n.Key(p.Key), n.Key(p.Prefix)}
	}
	return all
}
