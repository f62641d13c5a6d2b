package column

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/ragdhq/ragd/internal/query/facet"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// owner is who has chunks: a document, or a ready-made vector, which has one.
type owner [16]byte

// table has the columns of an index. Many may read it at once; who adds or removes rows needs it for itself.
type table struct {
	keeping sync.Mutex // of the truths in the columns

	fields  []string // of the columns
	columns []column // of the fields
	places  column   // the namespaces
	content column   // lists of the keys that were read from the content; empty for none

	owners    map[owner]uint32
	documents []bool   // of the owners: it is a document
	of        []uint32 // the owner of each row
	gone      []bool   // rows whose chunk is no more
	alive     int      // rows that are not gone
}

// column has a number for each row, of an entry of the dictionary.
type column struct {
	numbers    []uint32
	dictionary *facet.Dictionary
	cut        bool                      // some contents are only marked, as they are too long
	truths     map[string][]filter.Truth // of conditions, by entry
}

// tooLong stands for a content that is longer than facet.MaxBytes. It has no values, and is not the JSON of anything.
const tooLong = "{"

func newTable(fields []string) *table {
	t := &table{fields: fields, columns: make([]column, len(fields)), places: newColumn(), content: newColumn(), owners: map[owner]uint32{}}
	for n := range t.columns {
		t.columns[n] = newColumn()
	}
	return t
}

func newColumn() column {
	return column{dictionary: facet.NewDictionary(), truths: map[string][]filter.Truth{}}
}

func (c *column) add(raw []byte) {
	c.numbers = append(c.numbers, c.dictionary.NumberOf(raw))
	c.cut = c.cut || string(raw) == tooLong
}

// row is a chunk as it is read. Its slices are not kept.
type row struct {
	owner      owner
	isDocument bool
	namespace  []byte
	content    []byte   // the JSON of a list of keys; empty for none
	values     [][]byte // the JSON of the fields; empty where one is absent
}

// add adds a chunk.
func (t *table) add(r row) {
	n, ok := t.owners[r.owner]
	if !ok {
		n = uint32(len(t.documents))
		t.owners[r.owner], t.documents = n, append(t.documents, r.isDocument)
	}
	t.of, t.gone = append(t.of, n), append(t.gone, false)
	t.places.add(r.namespace)
	t.content.add(r.content)
	for n, value := range r.values {
		t.columns[n].add(value)
	}
	t.alive++
}

// remove removes the chunks of owners.
func (t *table) remove(owners []owner) {
	leaving, some := make([]bool, len(t.documents)), false
	for _, o := range owners {
		if n, ok := t.owners[o]; ok {
			leaving[n], some = true, true
		}
	}
	if !some {
		return
	}
	for row, n := range t.of {
		if leaving[n] && !t.gone[row] {
			t.gone[row] = true
			t.alive--
		}
	}
}

// Bytes of memory that a row and an owner take besides the columns.
const (
	rowBytes   = 5
	ownerBytes = 40
)

// bytes returns about how much memory the table takes.
func (t *table) bytes() int {
	t.keeping.Lock()
	defer t.keeping.Unlock()
	total := rowBytes*len(t.of) + ownerBytes*len(t.documents)
	for _, c := range append([]column{t.places, t.content}, t.columns...) {
		total += 4*cap(c.numbers) + c.dictionary.Bytes()
		for condition, truths := range c.truths {
			total += len(condition) + cap(truths)
		}
	}
	return total
}

// column returns the column of a field that the table has.
func (t *table) column(field string) *column { return &t.columns[slices.Index(t.fields, field)] }

// Counted is what was counted: chunks, the documents of these, and in the order of the fields which contents how many chunks have.
type Counted struct {
	Chunks, Documents int64
	Fields            []Field
}

// Field is a field whose contents were counted.
type Field struct {
	Entries *facet.Dictionary
	Chunks  []int64 // of each entry
}

// count counts the selected rows by fields that the table has.
func (t *table) count(selected []bool, fields []string) Counted {
	var c Counted
	seen := make([]bool, len(t.documents))
	for row, ok := range selected {
		if !ok {
			continue
		}
		c.Chunks++
		if n := t.of[row]; !seen[n] {
			seen[n] = true
			if t.documents[n] {
				c.Documents++
			}
		}
	}
	for _, field := range fields {
		of := t.column(field)
		chunks := make([]int64, of.dictionary.Len())
		for row, ok := range selected {
			if ok {
				chunks[of.numbers[row]]++
			}
		}
		c.Fields = append(c.Fields, Field{of.dictionary, chunks})
	}
	return c
}

// selected returns of each row whether a chunk is there that is in the namespace and matches the filter. ok is false if that cannot be
// told from the columns. The table must have those of the keys of the filter.
func (t *table) selected(namespace string, f filter.Filter) (selected []bool, ok bool, err error) {
	selected, ok, err = f.Evaluate(len(t.of), func(condition filter.Condition) ([]filter.Truth, error) {
		c := t.column(filter.FieldName(condition.Key))
		if c.cut {
			return nil, errCut
		}
		truths, err := t.truths(c, condition)
		if err != nil {
			return nil, err
		}
		rows := make([]filter.Truth, len(c.numbers))
		for row, n := range c.numbers {
			rows[row] = truths[n]
		}
		return rows, nil
	})
	if !ok || errors.Is(err, errCut) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	place, known := t.places.dictionary.Find(namespace)
	hidden, err := t.hidden(f.TrustedKeys())
	if err != nil {
		return nil, false, err
	}
	for row := range selected {
		selected[row] = selected[row] && known && t.places.numbers[row] == place && !t.gone[row] && !hidden[t.content.numbers[row]]
	}
	return selected, true, nil
}

// errCut says that a condition is on a column that lacks some contents.
var errCut = errors.New("some contents are too long for the column")

// hidden returns of each list of keys that were read from the content whether it has one of the keys.
func (t *table) hidden(keys []string) ([]bool, error) {
	hidden := make([]bool, t.content.dictionary.Len())
	for n := range hidden {
		raw := t.content.dictionary.Raw(n)
		if len(keys) == 0 || raw == "" {
			continue
		}
		var list []string
		if err := json.Unmarshal([]byte(raw), &list); err != nil {
			return nil, err
		}
		hidden[n] = slices.ContainsFunc(list, func(key string) bool { return slices.Contains(keys, key) })
	}
	return hidden, nil
}

// maxTruths is how many conditions on a column are kept with their truth for each entry, and maxConditionBytes how long they may be.
const (
	maxTruths         = 16
	maxConditionBytes = 4096
)

// truths returns the truth of a condition for each entry of its column. Those for the first entries may have been kept.
func (t *table) truths(c *column, condition filter.Condition) ([]filter.Truth, error) {
	id := condition.Identity()
	t.keeping.Lock()
	known := c.truths[id]
	t.keeping.Unlock()
	n := c.dictionary.Len()
	if len(known) == n {
		return known, nil
	}
	truths := append(make([]filter.Truth, 0, n), known...)
	holds := condition.Evaluator()
	for entry := len(truths); entry < n; entry++ {
		raw := c.dictionary.Raw(entry)
		if raw == "" {
			truths = append(truths, holds(nil, false))
			continue
		}
		value, err := decode(raw)
		if err != nil {
			return nil, err
		}
		truths = append(truths, holds(value, true))
	}
	if len(id) > maxConditionBytes {
		return truths, nil
	}
	t.keeping.Lock()
	defer t.keeping.Unlock()
	if len(c.truths) >= maxTruths {
		clear(c.truths)
	}
	c.truths[id] = truths
	return truths, nil
}

// decode returns the value of a JSON text with its numbers as json.Number.
func decode(raw string) (value any, err error) {
	if n := len(raw) - 1; raw[0] == '"' && strings.IndexByte(raw, '\\') < 0 {
		return raw[1:n], nil
	}
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

// clone returns the row with slices of its own.
func (r row) clone() row {
	r.namespace, r.content = slices.Clone(r.namespace), slices.Clone(r.content)
	values := make([][]byte, len(r.values))
	for n, value := range r.values {
		values[n] = slices.Clone(value)
	}
	r.values = values
	return r
}
