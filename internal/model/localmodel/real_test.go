package localmodel

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/model/localmodel/kernel"
)

// TestRealModels compares the models in the folder MODELS_DIR with PyTorch, where they have an
// expected.json, and logs what they cost.
func TestRealModels(t *testing.T) {
	dir := os.Getenv("MODELS_DIR")
	if dir == "" {
		t.Skip("MODELS_DIR names no folder of models")
	}
	listed, err := New(Config{Dir: dir}).List()
	if err != nil || len(listed) == 0 {
		t.Fatalf("%s has no models: %v", dir, err)
	}
	for _, l := range listed {
		t.Run(l.Name, func(t *testing.T) {
			if l.Err != nil {
				t.Fatal(l.Err)
			}
			for _, engine := range kernel.Engines()[1:] {
				for _, precision := range []Precision{Float32, Int8} {
					measure(t, New(Config{Dir: dir, Threads: 1, Engine: &engine, Precision: precision}), l.Description)
				}
			}
			compare(t, New(Config{Dir: dir, Precision: Float32}), l.Description)
		})
	}
}

// measure logs the processor time of inputs and the memory.
func measure(t *testing.T, models *Service, d *Description) {
	t.Helper()
	run := func(text string) {
		var err error
		if d.CrossEncoder {
			_, err = models.Score(t.Context(), "acme", d.Name, "What is a house?", []string{text})
		} else {
			_, err = models.Embed(t.Context(), "acme", d.Name, []string{text}, true)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	question, passage := strings.Repeat("house ", 10), strings.Repeat("house ", 248)
	run(question)
	run(passage)
	for name, text := range map[string]string{"12 tokens": question, "250 tokens": passage} {
		least := time.Duration(math.MaxInt64)
		for range 12 {
			before := processorTime(t)
			run(text)
			least = min(least, processorTime(t)-before)
		}
		t.Logf("%s: %s take %.1f ms of one processor", models.Engine(), name, least.Seconds()*1e3)
	}
	runtime.GC()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM") || strings.HasPrefix(line, "VmRSS") {
			t.Logf("%s: %s; weights %d MB", models.Engine(), strings.TrimSpace(line), models.Usage().Bytes>>20)
		}
	}
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// compare checks the results against those of PyTorch.
func compare(t *testing.T, models *Service, d *Description) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(d.folder, "expected.json")); err != nil {
		t.Logf("there is no expected.json to compare with: testdata/expect.py writes it")
		return
	}
	want := load(t, d.folder)
	greatest := 0.0
	for i, pair := range want.Pairs {
		got, err := models.Score(t.Context(), "acme", d.Name, pair[0], []string{pair[1]})
		if err != nil {
			t.Fatal(err)
		}
		score := want.Scores[i]
		if !d.config.Logistic {
			score = 1 / (1 + math.Exp(-score))
		}
		greatest = max(greatest, math.Abs(got[0]-score))
	}
	if len(want.Texts) > 0 {
		got, err := models.Embed(t.Context(), "acme", d.Name, want.Texts, false)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			greatest = max(greatest, difference(t, got[i], want.Document[i]))
		}
	}
	t.Logf("the largest difference from PyTorch is %.2g", greatest)
	if greatest > 1e-4 {
		t.Errorf("the largest difference from PyTorch is %g", greatest)
	}
}
