package subprocess

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse/pdftext"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestPagesAreLookedAtInChildren(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Processes: 1})
	content := file(t, "files/handbook.pdf").Content
	picture, err := p.Draw(t.Context(), "acme", content, pdftext.Drawing{Page: 2, Width: 200})
	if err != nil || picture.Width != 200 || picture.Pages != 2 || len(picture.PNG) == 0 {
		t.Errorf("%d pixels of %d pages, %v", picture.Width, picture.Pages, err)
	}
	const text = "A berth costs 30 € a night."
	located, err := p.Locate(t.Context(), "acme", content, []pdftext.Passage{{Text: text, First: 1, Last: 2, Parts: []pdftext.Part{{Start: 0, End: len(text)}}}})
	if err != nil || len(located) != 1 || len(located[0][0]) != 1 || located[0][0][0].Page != 2 {
		t.Errorf("located at %v, %v", located, err)
	}
	if _, err := p.Draw(t.Context(), "acme", content, pdftext.Drawing{Page: 3, Width: 200}); fault.KindOf(err) != fault.Invalid || fault.Public(err) != "page: must be from 1 to 2, the number of pages of the file, got 3" {
		t.Errorf("a page that is not there: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Draw(ended, "acme", content, pdftext.Drawing{Page: 1, Width: 200}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// Files that are made to take memory or time are drawn or refused within the limits, and do not harm the next one.
func TestHostileFilesAreDrawnWithinLimits(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Processes: 1, Timeout: 5 * time.Second})
	names, err := filepath.Glob("../testdata/hostile/*.pdf")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := p.Draw(t.Context(), "acme", content, pdftext.Drawing{Page: 1, Width: pdftext.MaxWidth})
		if err != nil && fault.KindOf(err) != fault.Invalid || err == nil && picture.Width*picture.Height > pdftext.MaxPixels {
			t.Errorf("%s: %d by %d pixels, %v", name, picture.Width, picture.Height, err)
		}
	}
	handbook := file(t, "files/handbook.pdf").Content
	if _, err := p.Draw(t.Context(), "acme", handbook, pdftext.Drawing{Page: 1, Width: 100}); err != nil {
		t.Errorf("another file: %v", err)
	}
}
