package subprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

const childCommand = "child-of-the-test"

// TestMain makes the test binary behave as a child that misbehaves on demand.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != childCommand {
		os.Exit(m.Run())
	}
	if err := Serve(os.Stdin, os.Stdout, misbehave); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// misbehave does what the name of the file says.
func misbehave(ctx context.Context, src parse.Source) (parse.Document, error) {
	switch src.FileName {
	case "panic":
		panic("a broken parser")
	case "recurse":
		return parse.Document{Text: deeper(0)}, nil
	case "loop":
		for i := 0; ; i++ {
			bytes.Repeat([]byte("x"), i%2)
		}
	case "memory":
		for all := [][]byte{}; ; {
			all = append(all, bytes.Repeat([]byte("x"), 16<<20))
		}
	case "environment":
		return parse.Document{Text: fmt.Sprint(os.Environ())}, nil
	case "priority":
		return parse.Document{Text: fmt.Sprint(runtime.GOMAXPROCS(0), priorities())}, nil
	case "unknown error":
		return parse.Document{}, errors.New("a bug")
	}
	return parse.Parse(ctx, src)
}

// priorities returns the priorities of the threads of this process, as Linux shows them.
func priorities() map[string]bool {
	found := map[string]bool{}
	files, _ := filepath.Glob("/proc/self/task/*/stat")
	for _, f := range files {
		text, _ := os.ReadFile(f)
		if fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])); len(fields) > 16 {
			found[fields[16]] = true // the 19th field of the file
		}
	}
	return found
}

func deeper(depth int) string {
	if depth < 0 {
		return ""
	}
	return deeper(depth+1) + fmt.Sprint(depth)
}

func newPool(t *testing.T, config Config) *Pool {
	t.Helper()
	config.Command = []string{os.Args[0], childCommand}
	p := New(config)
	t.Cleanup(p.Close)
	return p
}

func file(t testing.TB, name string) parse.Source {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return parse.Source{Content: content, FileName: filepath.Base(name)}
}

func TestChildrenReadWhatParseReads(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Processes: 1})
	for _, name := range []string{"handbook.pdf", "plan.docx", "intro.pptx", "berths.xlsx", "tales.epub", "message.eml", "archive.zip", "notes.txt"} {
		src := file(t, "files/"+name)
		want, err := parse.Parse(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Parse(t.Context(), "acme", src)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
	if len(p.idle) != 1 || p.idle[0].files != 7 {
		t.Errorf("not one child for all: %+v", p.idle)
	}
}

// What takes long to read is read where something ends it.
func TestLargeTextsAreReadInChildren(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		own        int // bytes up to which it is read in this process
	}{
		{"a.html", "<p>word</p>\n", maxOwnTree},
		{"a.adoc", "word\n\n", maxOwnTree},
		{"a.xml", "<r>word</r>\n", maxOwnTree},
		{"a.txt", "word\n", maxOwnText},
		{"a.md", "word\n\n", maxOwnText},
		{"a.tex", "word\n\n", maxOwnText},
		{"a.csv", "word,word\n", maxOwnText},
		{"a.go", "word\n", maxOwnText},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, Config{})
			for _, more := range []int{0, 1} {
				content := tc.text + strings.Repeat(" ", tc.own+more-len(tc.text))
				d, err := p.Parse(t.Context(), "acme", parse.Source{Content: []byte(content), FileName: tc.name})
				if err != nil || !strings.Contains(d.Text, "word") || len(p.idle) != more {
					t.Errorf("%d bytes: %.100q, %v; %d children", len(content), d.Text, err, len(p.idle))
				}
			}
		})
	}
}

func TestErrorsComeThroughWhole(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{})
	src := file(t, "hostile/broken-xml.docx")
	_, want := parse.Parse(t.Context(), src)
	_, err := p.Parse(t.Context(), "acme", src)
	var got *fault.Error
	if !errors.As(err, &got) || got.Error() != want.Error() || got.Kind != fault.Invalid || len(got.Violations) != 1 {
		t.Errorf("error %v, want %v", err, want)
	}
	src = file(t, "files/plan.docx")
	src.FileName = "unknown error"
	if _, err := p.Parse(t.Context(), "acme", src); err == nil || err.Error() != "a bug" || fault.KindOf(err) != fault.Internal {
		t.Errorf("error %v", err)
	}
}

// raceDetector reports whether the tests run with it. It may be the detector that runs out of a
// child's memory first.
const raceDetector = detectorFactor > 1

// Whatever one file does to its child, the files beside and after it are read.
func TestAFileFailsAlone(t *testing.T) {
	t.Parallel()
	patient := newPool(t, Config{Processes: 2})
	small := newPool(t, Config{Memory: 256 << 20})
	hasty := newPool(t, Config{Timeout: time.Second})
	good := file(t, "files/plan.docx")
	outOfMemory := "content: needs more than 256 MiB of memory to be read"
	if raceDetector {
		outOfMemory = "content: "
	}
	var wg sync.WaitGroup
	for _, tc := range []struct {
		name, want string
		pool       *Pool
	}{
		{"panic", "content: makes the reader of its format crash", patient},
		{"recurse", "content: makes the reader of its format crash", patient},
		{"memory", outOfMemory, small},
		{"loop", "content: takes more than 1s to be read", hasty},
	} {
		wg.Go(func() {
			bad := good
			bad.FileName = tc.name
			_, err := tc.pool.Parse(t.Context(), "acme", bad)
			if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(fault.Public(err), tc.want) {
				t.Errorf("%s: error %.500v, want %q", tc.name, err, tc.want)
			}
			if _, err := patient.Parse(t.Context(), "acme", good); err != nil {
				t.Errorf("after %s: %v", tc.name, err)
			}
		})
	}
	wg.Wait()
}

// Each form of the file draws the next one ten times.
func TestAPageThatDrawsForeverEndsWithItsChild(t *testing.T) {
	t.Parallel()
	_, err := newPool(t, Config{Timeout: 3 * time.Second}).Parse(t.Context(), "acme", file(t, "hostile/form-bomb.pdf"))
	if want := "content: takes more than 3s to be read"; fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(fault.Public(err), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestAChildThatDiedBetweenFilesIsReplaced(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Processes: 1})
	for range 3 {
		if _, err := p.Parse(t.Context(), "acme", file(t, "files/message.eml")); err != nil {
			t.Fatal(err)
		}
		_ = p.idle[0].cmd.Process.Kill()
		_ = p.idle[0].cmd.Wait()
	}
}

func TestTheEnvironmentOfChildrenNamesOnlyTheCache(t *testing.T) {
	t.Setenv("RAGD_SECRET", "hunter2")
	for _, name := range []string{"HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CACHE_HOME", "/cache")
	src := file(t, "files/plan.docx")
	src.FileName = "environment"
	d, err := newPool(t, Config{}).Parse(t.Context(), "acme", src)
	if err != nil || d.Text != "[XDG_CACHE_HOME=/cache]" {
		t.Errorf("environment %q, %v", d.Text, err)
	}
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Processes: 1})
	src := file(t, "files/plan.docx")
	src.FileName = "loop"
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for range 3 { // one reads, two wait for it
		wg.Go(func() {
			if _, err := p.Parse(ctx, "acme", src); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
}

// The slow files of one tenant leave children to another, and a tenant that waits gets the
// next one.
func TestATenantDoesNotTakeAllChildren(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Processes: 2})
	slow, quick := file(t, "files/plan.docx"), file(t, "files/plan.docx")
	slow.FileName = "loop"
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if _, err := p.Parse(ctx, "acme", slow); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
	}
	wait.For(t, "a child", func() bool { return p.slots.Used("acme") > 0 })
	for range 3 {
		if _, err := p.Parse(t.Context(), "bolt", quick); err != nil {
			t.Error(err)
		}
	}
	if n := p.slots.Used("acme"); n != 1 {
		t.Errorf("%d children read files of one tenant, want 1", n)
	}
	cancel()
	wg.Wait()
}

func TestAClosedPoolReadsNothing(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{})
	p.Close()
	if _, err := p.Parse(t.Context(), "acme", file(t, "files/plan.docx")); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("error %v", err)
	}
}

func BenchmarkParse(b *testing.B) {
	p := New(Config{Command: []string{os.Args[0], childCommand}})
	defer p.Close()
	src := file(b, "files/handbook.pdf")
	b.SetBytes(int64(len(src.Content)))
	for b.Loop() {
		if _, err := p.Parse(b.Context(), "acme", src); err != nil {
			b.Fatal(err)
		}
	}
}
