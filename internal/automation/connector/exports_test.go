package connector_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// issue returns an issue as GitHub exports it.
func issue(number int, title string) string {
	return fmt.Sprintf(`{"number": %d, "title": %q, "body": "It stops.", "html_url": "https://github.com/h/c/issues/%d", "user": {"login": "ana"}, "state": "open"}`, number, title, number)
}

// An export over the limit of an item is read as its items; a file of that size that is none fails, and so does what only looks like an export.
func TestLargeExportsAreReadAsTheirItems(t *testing.T) {
	t.Parallel()
	large := func() string { // of 17 MiB, no item of which is large
		var b strings.Builder
		b.WriteString("[" + issue(1, "Quay"))
		for n := 2; n <= 18; n++ {
			b.WriteString("," + strings.TrimSuffix(issue(n, "Quay"), "}") + `, "performed_via_github_app": "` + strings.Repeat("x", 1<<20) + `"}`)
		}
		return b.String() + "]"
	}()
	for kind, source := range exportSources() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, req, prefix := source.create(t, large)
			source.write(t, "long.md", "# Long\n\n"+strings.Repeat("A line of a long text.\n", 800_000))
			source.write(t, "gaps.zip", "PK\x03\x04"+strings.Repeat("\x00", 17<<20))
			acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
			req.IndexName = "docs"
			by := acme
			if kind == "folder" {
				by = asOperator(t, s, "acme")
			}
			if got := create(t, by, req); got.Status != "succeeded" || got.Counts.Added != 19 || got.Counts.Skipped != 1 || got.Counts.Failed != 2 {
				t.Fatalf("first run: %v", got)
			}
			if got := documentsUnder(t, acme, prefix); len(got) != 19 || got[1] != "issues.json/h/c/issues/1 v1" {
				t.Errorf("documents: %v", got)
			}
			equal(t, "documents of another tenant", documentsUnder(t, bolt, ""), []string{})
			source.write(t, "b.md", "# B\n\nThis is b.")
			if got := resync(t, acme); got.Status != "succeeded" || got.Counts.Added != 1 || got.Counts.Updated != 0 || got.Counts.Deleted != 0 || got.Counts.Failed != 2 {
				t.Errorf("run after a change of another file: %v", got)
			}
		})
	}
}

// exportSource is a source of files, one of which is an export.
type exportSource struct {
	create func(t *testing.T, issues string) (*servicetest.Service, *ragdv1.CreateConnectorRequest, string) // with the prefix of its uris
	write  func(t *testing.T, name, content string)
}

func exportSources() map[string]*exportSource {
	inBucket, inRepository, inFolder := &exportSource{}, &exportSource{}, &exportSource{}
	inBucket.create = func(t *testing.T, issues string) (*servicetest.Service, *ragdv1.CreateConnectorRequest, string) {
		t.Helper()
		files := newStore(t, map[string]string{"a.md": "# A\n\nThis is a.", "issues.json": issues})
		inBucket.write = func(t *testing.T, name, content string) {
			t.Helper()
			files.change(t, http.MethodPut, "/files/"+name, content)
		}
		return newSecretService(t, "127.0.0.1"), s3(&ragdv1.S3Source{Endpoint: files.URL}), "s3://files/"
	}
	inRepository.create = func(t *testing.T, issues string) (*servicetest.Service, *ragdv1.CreateConnectorRequest, string) {
		t.Helper()
		host := newGitHost(t, true, map[string]string{"a.md": "# A\n\nThis is a.", "issues.json": issues})
		inRepository.write = func(t *testing.T, name, content string) {
			t.Helper()
			host.push(t, map[string]string{name: content})
		}
		return newService(t), git(&ragdv1.GitSource{Url: host.URL}), host.URL + "#HEAD:"
	}
	inFolder.create = func(t *testing.T, issues string) (*servicetest.Service, *ragdv1.CreateConnectorRequest, string) {
		t.Helper()
		root := t.TempDir()
		inFolder.write = func(t *testing.T, name, content string) {
			t.Helper()
			write(t, root, map[string]string{name: content})
		}
		write(t, root, map[string]string{"a.md": "# A\n\nThis is a.", "issues.json": issues})
		return servicetest.New(t, service.Config{ConnectorFolders: []string{root}}), folder(&ragdv1.FolderSource{Path: root}), "folder://site/"
	}
	return map[string]*exportSource{"s3": inBucket, "git": inRepository, "folder": inFolder}
}

// Each item of an export is a document with its own title, which changes and goes with it.
func TestExportsAreReadAsTheirItems(t *testing.T) {
	t.Parallel()
	for kind, source := range exportSources() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, req, prefix := source.create(t, "["+issue(12, "Crane")+","+issue(13, "Gate")+"]")
			acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
			req.IndexName = "docs"
			by := acme
			if kind == "folder" {
				by = asOperator(t, s, "acme")
			}
			if got := create(t, by, req); got.Status != "succeeded" || got.Counts.Added != 3 || got.Counts.Skipped != 1 {
				t.Fatalf("first run: %v", got)
			}
			equal(t, "documents", documentsUnder(t, acme, prefix), []string{"a.md v1", "issues.json/h/c/issues/12 v1", "issues.json/h/c/issues/13 v1"})
			equal(t, "documents of another tenant", documentsUnder(t, bolt, ""), []string{})
			list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", Filter: &structpb.Struct{Fields: map[string]*structpb.Value{"origin.author": structpb.NewStringValue("ana")}}})
			if err != nil || len(list.Documents) != 2 || list.Documents[0].Title != "Crane" || list.Documents[0].Metadata.Fields["origin"].GetStructValue().Fields["system"].GetStringValue() != "github" {
				t.Errorf("documents by their author: %v, %v", list, err)
			}
			source.write(t, "b.md", "# B\n\nThis is b.")
			if got := resync(t, acme); got.Counts.Unchanged != 3 && got.Counts.Unchanged != 4 || got.Counts.Skipped != 1 || got.Counts.Deleted != 0 { // 4 if the folder was read at once
				t.Errorf("run after a change of another file: %v", got)
			}
			source.write(t, "issues.json", "["+issue(12, "Crane")+","+issue(14, "Lamp")+"]")
			resync(t, acme)
			equal(t, "documents after a change", documentsUnder(t, acme, prefix), []string{"a.md v1", "b.md v1", "issues.json/h/c/issues/12 v1", "issues.json/h/c/issues/14 v1"})
			source.write(t, "issues.json", "["+issue(12, "Cranes")+`,{"number": "x"}]`)
			if got := resync(t, acme); got.Counts.Failed != 1 {
				t.Errorf("run of an export with an item that is broken: %v", got)
			}
			equal(t, "documents beside an item that is broken", documentsUnder(t, acme, prefix), []string{"a.md v1", "b.md v1", "issues.json/h/c/issues/12 v2"})
		})
	}
}
