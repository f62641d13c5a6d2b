package pdftext

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// maxMemory bounds the memory of PDFium for one file, in pages of 64 KiB: 512 MiB.
const maxMemory = 512 << 20 >> 16

// engine returns the compiled PDFium, which gives out an instance for each file. The
// first call in a process compiles it, in about 3 seconds, or loads it from the user's
// cache directory, in a tenth of a second.
var engine = sync.OnceValues(func() (pdfium.Pool, error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(maxMemory)
	if cache := compiled(); cache != nil {
		config = config.WithCompilationCache(cache)
	}
	return webassembly.Init(webassembly.Config{
		Context: context.Background(), MaxTotal: maxInstances, RuntimeConfig: config,
		FSConfig: wazero.NewFSConfig(), // no files
		Stdout:   io.Discard, Stderr: io.Discard,
	})
})

// maxInstances bounds the files that a process reads at once.
const maxInstances = 16

// compiled returns the cache of compiled programs, or nil if the user has no cache
// directory.
func compiled() wazero.CompilationCache {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "ragd", "pdfium"))
	if err != nil {
		return nil
	}
	return cache
}
