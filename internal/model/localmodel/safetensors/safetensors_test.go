package safetensors

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// file returns a file with this header and this many bytes of data.
func file(header string, data int) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), make([]byte, data)...)
}

func TestMalformedFilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"empty", "too short", nil},
		{"a header longer than the file", "cannot have", binary.LittleEndian.AppendUint64(nil, 1)},
		{"a header of an impossible length", "cannot have", binary.LittleEndian.AppendUint64(nil, math.MaxUint64)},
		{"no JSON", "not JSON", file("{", 0)},
		{"more than JSON", "after its JSON", file("{}{}", 0)},
		{"an unknown type", "unknown", file(`{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,4]}}`, 4)},
		{"a negative shape", "impossible", file(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, 4)},
		{"a shape that overflows", "impossible", file(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`, 0)},
		{"a product that overflows to zero", "impossible", file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0)},
		{"too many dimensions", "dimensions", file(`{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}}`, 4)},
		{"offsets past the end", "outside", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 4)},
		{"offsets backwards", "outside", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, 4)},
		{"one offset", "outside", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4]}}`, 4)},
		{"another size than the shape's", "fit", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4)},
		{"overlapping tensors", "overlap", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8)},
		{"a gap", "gap", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8)},
		{"more data than tensors", "but the file", file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 8)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := parse(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestValuesOfAllFloatingPointTypesAreRead(t *testing.T) {
	t.Parallel()
	content := file(`{"__metadata__":{"format":"pt"},
		"f":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
		"h":{"dtype":"F16","shape":[5],"data_offsets":[8,18]},
		"b":{"dtype":"BF16","shape":[1,1],"data_offsets":[18,20]}}`, 0)
	for _, x := range []float32{1.5, -2} {
		content = binary.LittleEndian.AppendUint32(content, math.Float32bits(x))
	}
	for _, x := range []uint16{0x3c00, 0xc500, 0x0001, 0x7c00, 0x8400, 0xc049} {
		content = binary.LittleEndian.AppendUint16(content, x)
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, want := range map[string][]float32{
		"f": {1.5, -2}, "h": {1, -5, 1.0 / (1 << 24), float32(math.Inf(1)), -1.0 / (1 << 14)}, "b": {-3.140625},
	} {
		tensor, ok := f.Tensor(name)
		if !ok {
			t.Fatalf("there is no tensor %s", name)
		}
		got := make([]float32, tensor.Len())
		if err := tensor.Floats(got, 0); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %v (%v), want %v", name, got, err, want)
		}
	}
	if tensor, _ := f.Tensor("f"); tensor.Floats(make([]float32, 1), 1) != nil {
		t.Error("the second value cannot be read")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F16","shape":[1,2],"data_offsets":[8,12]}}`, 12))
	f.Add(file(`{"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]}}`, 8))
	f.Add(file(`{"a":{"dtype":"F32","shape":[0,9223372036854775807],"data_offsets":[0,0]}}`, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := parse(data)
		if err != nil {
			return
		}
		read := 0
		for name, tensor := range tensors {
			read += len(tensor.data)
			if sizes[tensor.kind] == 0 {
				continue
			}
			if tensor.Len() > len(data) {
				t.Fatalf("%q has more values than the file bytes", name)
			}
			if err := tensor.Floats(make([]float32, tensor.Len()), 0); err != nil {
				t.Fatal(err)
			}
		}
		if read > len(data) {
			t.Fatal("tensors overlap")
		}
	})
}
