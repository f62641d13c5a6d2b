// Command ranks writes the tables of internal/chunk/tokenizer: the tokens of each byte pair encoding in the
// order of their ranks, each after its length as a varint, with length 0 where a rank has no token. The
// files are compressed with zstd. The tables that github.com/tiktoken-go/tokenizer carries as Go maps would
// be four times as large in the binary.
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/tiktoken-go/tokenizer/codec"
)

// encodings are the tables. Those of p50k_base are also those of r50k_base, which ends before the others.
var encodings = []struct {
	name  string
	codec func() *codec.Codec
	size  uint
}{
	{"cl100k_base", codec.NewCl100kBase, 100_256},
	{"o200k_base", codec.NewO200kBase, 199_998},
	{"p50k_base", codec.NewP50kBase, 50_281},
}

func main() {
	out := flag.String("out", "", "the `folder` to write to")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "ranks:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	if err := samePrefix(); err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstd.MaxWindowSize>>6))
	if err != nil {
		return err
	}
	for _, e := range encodings {
		table := encoder.EncodeAll(table(e.codec(), e.size), nil)
		if err := os.WriteFile(filepath.Join(folder, e.name+".zst"), table, 0o644); err != nil { //nolint:gosec // G306: everybody may read it
			return err
		}
	}
	return nil
}

// table returns the tokens of the ranks below size.
func table(c *codec.Codec, size uint) []byte {
	var out []byte
	for rank := range size {
		token, err := c.Decode([]uint{rank})
		if err != nil {
			token = "" // a special token, or none
		}
		out = append(binary.AppendUvarint(out, uint64(len(token))), token...)
	}
	return out
}

// samePrefix returns an error unless r50k_base has the tokens of p50k_base, up to its end.
func samePrefix() error {
	p50k, r50k := codec.NewP50kBase(), codec.NewR50kBase()
	for rank := range uint(50_256) {
		p, perr := p50k.Decode([]uint{rank})
		r, rerr := r50k.Decode([]uint{rank})
		if p != r || perr != nil || rerr != nil {
			return fmt.Errorf("rank %d is %q in p50k_base and %q in r50k_base", rank, p, r)
		}
	}
	return nil
}
