package localfiles

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExportsAreFoldersOfTheirItems(t *testing.T) {
	t.Parallel()
	const wiki = `<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/"><siteinfo><base>https://wiki.example.org/wiki/Main</base></siteinfo>` +
		`<page><title>../Quay 1</title><id>7</id><revision><timestamp>2024-03-01T00:00:00Z</timestamp><contributor><username>Bo</username></contributor><text>It is long.</text></revision></page></mediawiki>`
	root := tree(t, map[string]string{
		"in/issues.json": `[{"number": 12, "title": "Crane", "body": "It stops.", "html_url": "https://github.com/h/c/issues/12", "user": {"login": "ana"}}, {"number": "x"}, {"number": 13,`,
		"in/other.json":  `[{"id": 1}]`,
		"in/wiki.xml":    wiki,
	})
	var sum int64
	metadata := map[string]any{}
	for doc, err := range (Options{Base: root}).Files(filepath.Join(root, "in")) {
		if err == nil {
			sum += doc.InputBytes
			metadata[doc.URI] = doc.Metadata["origin"]
		}
	}
	wantMetadata := map[string]any{
		"in/issues.json/h/c/issues/12": map[string]any{"system": "github", "id": "12", "url": "https://github.com/h/c/issues/12", "author": "ana", "authors": []any{"ana"}},
		"in/other.json":                nil,
		"in/wiki.xml/Quay 1":           map[string]any{"system": "mediawiki", "id": "7", "url": "https://wiki.example.org/wiki/../Quay_1", "author": "Bo", "updated": "2024-03-01T00:00:00Z", "path": []any{".."}},
	}
	if diff := cmp.Diff(wantMetadata, metadata); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if size := (Options{Base: root}).Size(filepath.Join(root, "in")); sum > size {
		t.Errorf("%d bytes are read of %d", sum, size)
	}
	got := collect(Options{Base: root}.Files(filepath.Join(root, "in")), filepath.ToSlash(root))
	want := []found{
		{URI: "in/issues.json/h/c/issues/12", Content: "# Crane\n\n#12 by ana\n\nIt stops.\n"},
		{URI: "in/issues.json:record 2", Problem: "is no record as those of github: the field number is a string; mend or remove it"},
		{URI: "in/issues.json", Problem: "is a broken JSON export: export it anew"},
		{URI: "in/other.json", Content: `[{"id": 1}]`},
		{URI: "in/wiki.xml/Quay 1", Content: "It is long."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
