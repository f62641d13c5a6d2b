package facet

// Dictionary numbers the different contents of a field, from 0 on, and knows the values in each. It only grows. Reading it is safe for
// concurrent use.
type Dictionary struct {
	numbers map[string]uint32 // of the entries, by their JSON
	entries []entry
	values  []value
	known   map[string]uint32 // values, by their keys
	lists   []uint32          // the values of the entries
	bytes   int
}

// entry is a content of the field.
type entry struct {
	raw      string // its JSON, empty if the field is absent
	missing  bool
	from, to uint32 // its values in the lists
}

// Bytes of memory besides the texts themselves: those of an entry with its number, and of a value with its key.
const (
	entryBytes = 80
	valueBytes = 100
)

// NewDictionary returns an empty Dictionary.
func NewDictionary() *Dictionary {
	return &Dictionary{numbers: map[string]uint32{}, known: map[string]uint32{}}
}

// Number returns the number of a content, whose JSON is raw, and empty if the field is absent. It adds what is new.
func (d *Dictionary) Number(raw string) uint32 {
	if n, ok := d.numbers[raw]; ok {
		return n
	}
	return d.add(raw)
}

// Find is Number for a content that is not added if it is new.
func (d *Dictionary) Find(raw string) (n uint32, ok bool) {
	n, ok = d.numbers[raw]
	return n, ok
}

// NumberOf is Number for bytes, which it does not keep.
func (d *Dictionary) NumberOf(raw []byte) uint32 {
	if n, ok := d.numbers[string(raw)]; ok {
		return n
	}
	return d.add(string(raw))
}

func (d *Dictionary) add(raw string) uint32 {
	keys, missing := appendValues(nil, raw)
	e := entry{raw: raw, missing: missing, from: uint32(len(d.lists))}
	for _, key := range keys {
		d.lists = append(d.lists, d.value(key))
	}
	e.to = uint32(len(d.lists))
	n := uint32(len(d.entries))
	d.entries, d.numbers[raw] = append(d.entries, e), n
	d.bytes += entryBytes + len(raw) + 4*len(keys)
	return n
}

// value returns the number of a value, which it adds if it is new.
func (d *Dictionary) value(key string) uint32 {
	n, ok := d.known[key]
	if !ok {
		n = uint32(len(d.values))
		d.values, d.known[key] = append(d.values, valueOf(key)), n
		d.bytes += valueBytes + len(key)
	}
	return n
}

// of returns the values of an entry.
func (d *Dictionary) of(n int) []uint32 {
	return d.lists[d.entries[n].from:d.entries[n].to]
}

// Len returns the number of entries.
func (d *Dictionary) Len() int { return len(d.entries) }

// Raw returns the JSON of an entry, empty if the field is absent.
func (d *Dictionary) Raw(n int) string { return d.entries[n].raw }

// Bytes returns about how much memory the dictionary takes.
func (d *Dictionary) Bytes() int { return d.bytes }
