package subprocess

import (
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/libreoffice"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Files of Office before 2007 are read in a child with the usual limits of memory, by LibreOffice.
func TestChildrenReadOldOfficeFiles(t *testing.T) {
	t.Parallel()
	office := &libreoffice.Config{Program: "soffice"}
	if err := office.Resolve(t.Context()); err != nil {
		t.Skip(err)
	}
	p := newPool(t, Config{Processes: 1, LibreOffice: office})
	for name, want := range map[string]struct {
		format parse.Format
		text   []string
	}{
		"rules-lo.doc":    {parse.DOC, []string{"# Entering", "[^1]: The sill lies two metres above datum.", "1. Call the tower.", "| North | 40 | 30.50 |", "Łódź, Ελλάδα, 東京"}},
		"accounts-lo.xls": {parse.XLS, []string{"Berth: North 1 (comment: Leaks in autumn); Fee: 1,230.50 EUR; Since: 1 April 2026", "Quay: East; Depth Low: 4"}},
	} {
		d, err := p.Parse(t.Context(), "acme", file(t, "old/"+name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.Format != want.format || d.ContentType != "text/markdown" {
			t.Errorf("%s is read as %s, %s", name, d.Format, d.ContentType)
		}
		for _, text := range want.text {
			if !strings.Contains(d.Text, text) {
				t.Errorf("%s: there is no %q in %q", name, text, d.Text)
			}
		}
	}
	broken := file(t, "old/rules-lo.doc")
	broken.Content = broken.Content[:len(broken.Content)/3]
	if _, err := p.Parse(t.Context(), "acme", broken); err != nil && fault.KindOf(err) != fault.Invalid {
		t.Errorf("a truncated file: %v", err)
	}
}

func TestOldOfficeFilesNeedLibreOffice(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Processes: 1})
	_, err := p.Parse(t.Context(), "acme", file(t, "old/rules-lo.doc"))
	if want := "content: is a DOC file of Office before 2007, which cannot be read: save it as DOCX, XLSX or PPTX, or ask the operator to install LibreOffice"; !strings.HasPrefix(fault.Public(err), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
