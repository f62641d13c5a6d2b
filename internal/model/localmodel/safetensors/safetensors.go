// Package safetensors reads files of tensors in the format of the Hugging Face library of the
// same name: the length of a header, the header in JSON, the bytes of the tensors.
//
// Files are not trusted. Open checks everything that reading a tensor relies on.
package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/edsrzf/mmap-go"
)

// maxHeader is the longest header in bytes, as in the original library.
const maxHeader = 100_000_000

// maxDimensions is the most dimensions of a tensor.
const maxDimensions = 8

// File is an open file, whose tensors are mapped into memory: the system reads the pages that
// are used, and may drop them. Safe for concurrent use until Close. The file must not be
// truncated meanwhile: replace files by renaming.
type File struct {
	tensors map[string]Tensor
	mapped  mmap.MMap
}

// Tensor is a tensor in a File, valid until the file is closed.
type Tensor struct {
	Shape []int
	kind  string
	data  []byte
}

// sizes maps the types of values that are read to their size in bytes.
var sizes = map[string]int{"F32": 4, "F16": 2, "BF16": 2}

// others are the types of values that a file may hold, but that Floats cannot read.
var others = map[string]int{"F64": 8, "I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1}

// Open maps a file. Errors: of the system, and for a file that is not well-formed.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < 8 || info.Size() > math.MaxInt32*int64(1024) {
		return nil, fmt.Errorf("%s: is not a safetensors file: it has %d bytes", path, info.Size())
	}
	mapped, err := mmap.Map(file, mmap.RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	tensors, err := parse(mapped)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), mapped.Unmap())
	}
	return &File{tensors, mapped}, nil
}

// Close unmaps the file.
func (f *File) Close() error { return f.mapped.Unmap() }

// Tensor returns a tensor, and whether the file has it.
func (f *File) Tensor(name string) (Tensor, bool) {
	t, ok := f.tensors[name]
	return t, ok
}

// Names returns the names of all tensors, in no order.
func (f *File) Names() []string {
	names := make([]string, 0, len(f.tensors))
	for name := range f.tensors {
		names = append(names, name)
	}
	return names
}

// entry is a tensor in the header.
type entry struct {
	Kind    string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// parse reads and checks the header of a file.
func parse(file []byte) (map[string]Tensor, error) {
	if len(file) < 8 {
		return nil, errors.New("is too short to be a safetensors file")
	}
	length := binary.LittleEndian.Uint64(file)
	if length > maxHeader || length > uint64(len(file)-8) {
		return nil, fmt.Errorf("the header cannot have %d bytes", length)
	}
	header, data := file[8:8+length], file[8+length:]
	var raw map[string]json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(header))
	if err := decoder.Decode(&raw); err != nil {
		return nil, fmt.Errorf("the header is not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the header has text after its JSON object")
	}
	delete(raw, "__metadata__")
	tensors := make(map[string]Tensor, len(raw))
	spans := make([][2]int64, 0, len(raw))
	for name, text := range raw {
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		tensor, err := e.tensor(data)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		tensors[name] = tensor
		spans = append(spans, [2]int64(e.Offsets))
	}
	return tensors, contiguous(spans, int64(len(data)))
}

// tensor checks that the offsets are those of the shape.
func (e entry) tensor(data []byte) (Tensor, error) {
	size := sizes[e.Kind] + others[e.Kind]
	if size == 0 {
		return Tensor{}, fmt.Errorf("the type %q is unknown", e.Kind)
	}
	if len(e.Shape) > maxDimensions {
		return Tensor{}, fmt.Errorf("it has %d dimensions, at most %d are allowed", len(e.Shape), maxDimensions)
	}
	shape := make([]int, len(e.Shape))
	bytes := int64(size)
	for i, n := range e.Shape {
		if n < 0 || n > 0 && bytes > math.MaxInt64/n {
			return Tensor{}, fmt.Errorf("the shape %v is impossible", e.Shape)
		}
		shape[i] = int(n)
		bytes *= n
	}
	if len(e.Offsets) != 2 || e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1] > int64(len(data)) {
		return Tensor{}, fmt.Errorf("the offsets %v are outside of the file", e.Offsets)
	}
	if e.Offsets[1]-e.Offsets[0] != bytes {
		return Tensor{}, fmt.Errorf("the offsets %v do not fit to the shape %v of %s", e.Offsets, e.Shape, e.Kind)
	}
	return Tensor{shape, e.Kind, data[e.Offsets[0]:e.Offsets[1]:e.Offsets[1]]}, nil
}

// contiguous checks that the spans cover size bytes without gap or overlap.
func contiguous(spans [][2]int64, size int64) error {
	slices.SortFunc(spans, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	end := int64(0)
	for _, span := range spans {
		if span[0] != end {
			return fmt.Errorf("the tensors have a gap or overlap at byte %d", end)
		}
		end = span[1]
	}
	if end != size {
		return fmt.Errorf("the tensors have %d bytes, but the file has %d", end, size)
	}
	return nil
}

// Len returns the number of values.
func (t Tensor) Len() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Floats reads the values from the given index on into out. Errors: for types that are not
// floating point numbers of 16 or 32 bits. It panics if there are too few values.
func (t Tensor) Floats(out []float32, from int) error {
	switch t.kind {
	case "F32":
		data := t.data[4*from:][:4*len(out)]
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	case "BF16":
		data := t.data[2*from:][:2*len(out)]
		for i := range out {
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(data[2*i:])) << 16)
		}
	case "F16":
		data := t.data[2*from:][:2*len(out)]
		for i := range out {
			out[i] = half(binary.LittleEndian.Uint16(data[2*i:]))
		}
	default:
		return fmt.Errorf("values of type %s cannot be read, only F32, F16 and BF16", t.kind)
	}
	return nil
}

// half converts a float16.
func half(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 0: // zero or subnormal: a multiple of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*(1.0/(1<<24))))
	case 31: // infinite or not a number
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}
