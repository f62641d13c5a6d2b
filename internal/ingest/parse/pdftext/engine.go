package pdftext

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// maxMemory bounds the memory of PDFium for one file, in pages of 64 KiB: 512 MiB.
const maxMemory = 512 << 20 >> 16

// packed is PDFium's WebAssembly, which hack/pdfium compresses.
//
//go:embed pdfium.wasm.zst
var packed []byte

// engine returns the compiled PDFium, which gives out an instance for each file. The
// first call in a process compiles it, in about 4 seconds, or loads it from the user's
// cache directory, in a tenth of a second.
var engine = sync.OnceValues(func() (pdfium.Pool, error) {
	wasm, err := unpack()
	if err != nil {
		return nil, err
	}
	if dir, err := os.UserCacheDir(); err == nil {
		if pool, err := compile(wasm, dir); err == nil {
			return pool, nil
		}
	}
	return compile(wasm, "")
})

// unpack returns PDFium's WebAssembly.
func unpack() ([]byte, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	wasm, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack PDFium: %w", err)
	}
	return wasm, nil
}

// Prepare compiles PDFium into the user's cache directory, unless it is there already. That takes
// some 4 seconds of processor time and 320 MiB of memory.
func Prepare() error {
	_, err := engine()
	return err
}

// CacheDirectory returns the directory below a user's cache directory in which the compiled PDFium is.
func CacheDirectory(dir string) string { return filepath.Join(dir, "ragd", "pdfium") }

// compile compiles PDFium's WebAssembly, or loads the result from a user's cache directory, "" for none.
func compile(wasm []byte, dir string) (pdfium.Pool, error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(maxMemory)
	if dir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(CacheDirectory(dir))
		if err != nil {
			return nil, err
		}
		config = config.WithCompilationCache(cache)
	}
	return webassembly.InitWithWASM(webassembly.Config{ // Init would have the linker keep the module's own copy
		WASM: wasm, Context: context.Background(), MaxTotal: maxInstances, RuntimeConfig: config,
		FSConfig: wazero.NewFSConfig(), // no files
		Stdout:   io.Discard, Stderr: io.Discard,
	})
}

// maxInstances bounds the files that a process reads at once.
const maxInstances = 16
