package connector_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

func folder(f *ragdv1.FolderSource) *ragdv1.CreateConnectorRequest {
	return &ragdv1.CreateConnectorRequest{ConnectorName: "site", Source: &ragdv1.CreateConnectorRequest_Folder{Folder: f}}
}

// write changes files below a folder; those with an empty text are removed.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if text == "" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// asOperator returns a client of the operator that acts in a tenant.
func asOperator(t *testing.T, s *servicetest.Service, tenant string) servicetest.Client {
	t.Helper()
	return s.Operator("Ragd-Tenant", tenant)
}

// awaitDocuments waits until the documents are those.
func awaitDocuments(t *testing.T, c servicetest.Client, prefix string, want []string) {
	t.Helper()
	wait.For(t, fmt.Sprintf("the documents %q", want), func() bool { return slices.Equal(documentsUnder(t, c, prefix), want) })
}

func TestAFolderIsFollowed(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"secret.md": "# Secret\n\nThis is secret."})
	base := filepath.Join(root, "docs")
	write(t, base, map[string]string{"a.md": "# A\n\nThis is a.", "deep/b c.md": "# B\n\nThis is b.", "skip.md": "no", "logo.png": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "c.md": "# C\n\nThis is c."})
	for link, to := range map[string]string{"link.md": filepath.Join(outside, "secret.md"), "up": outside} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(base, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := servicetest.New(t, service.Config{ConnectorFolders: []string{root}})
	acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
	operator := asOperator(t, s, "acme")
	req := folder(&ragdv1.FolderSource{Path: base, Exclude: []string{"skip*"}})
	req.IndexName, req.Metadata = "docs", map[string]string{"path": "item.attributes.path", "size": "item.attributes.size"}
	if _, err := acme.CreateConnector(t.Context(), req); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Fatalf("an admin of the tenant: %v", err)
	}
	got := create(t, operator, req)
	if n := got.Counts; got.Status != "succeeded" || n.Added != 3 || n.Failed != 1 || n.Skipped != 2 {
		t.Errorf("first run: %v", got)
	}
	equal(t, "documents", documentsUnder(t, acme, "folder://site/"), []string{"a.md v1", "c.md v1", "deep/b%20c.md v1"})
	equal(t, "documents of another tenant", documentsUnder(t, bolt, ""), []string{})
	wantReasons(t, reasons(t, acme, "skipped", "folder://site/"), map[string]string{"link.md": "symbolic link", "up": "symbolic link"})
	wantReasons(t, reasons(t, acme, "failed", "folder://site/"), map[string]string{"logo.png": "image"})

	// Nothing has changed: nothing is read, and nothing is stored.
	before := jobs(t, acme)
	if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Unchanged != 3 || got.Counts.Bytes != 0 {
		t.Errorf("second run: %v", got)
	}
	if n := jobs(t, acme); n != before {
		t.Errorf("%d jobs after %d", n, before)
	}

	// Changes start a run by themselves, each time anew.
	write(t, base, map[string]string{"deep/b c.md": "# B\n\nThis is the new b.", "new.md": "# New\n\nThis is new.", "a.md": ""})
	awaitDocuments(t, acme, "folder://site/", []string{"c.md v1", "deep/b%20c.md v2", "new.md v1"})
	write(t, base, map[string]string{"deeper/d.md": "# D\n\nThis is d."})
	awaitDocuments(t, acme, "folder://site/", []string{"c.md v1", "deep/b%20c.md v2", "deeper/d.md v1", "new.md v1"})

	// What only the operator may do.
	if _, err := acme.UpdateConnector(t.Context(), &ragdv1.UpdateConnectorRequest{ConnectorName: "site", Description: new("mine")}); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("an update: %v", err)
	}
	if _, err := acme.TestConnector(t.Context(), &ragdv1.TestConnectorRequest{ConnectorName: "site"}); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("a test: %v", err)
	}
	if tested, err := operator.TestConnector(t.Context(), &ragdv1.TestConnectorRequest{ConnectorName: "site"}); err != nil || !tested.Complete || len(tested.Items) != 7 {
		t.Errorf("a test of the operator: %v %v", tested, err)
	}
}

func TestAFolderOutsideTheAllowedOnesIsRefused(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"secret.md": "# Secret\n\nThis is secret."})
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	s := servicetest.New(t, service.Config{ConnectorFolders: []string{root}})
	newTenant(t, s, "acme")
	operator := asOperator(t, s, "acme")
	for path, code := range map[string]connect.Code{
		outside: connect.CodeFailedPrecondition, "/": connect.CodeFailedPrecondition, root + "-other": connect.CodeFailedPrecondition, filepath.Dir(root): connect.CodeFailedPrecondition,
		root + "/../" + filepath.Base(outside): connect.CodeInvalidArgument, "docs": connect.CodeInvalidArgument, root + "/\x00": connect.CodeInvalidArgument,
	} {
		req := folder(&ragdv1.FolderSource{Path: path})
		req.IndexName = "docs"
		if _, err := operator.CreateConnector(context.Background(), req); connect.CodeOf(err) != code {
			t.Errorf("%q: %v", path, err)
		}
	}
	req := folder(&ragdv1.FolderSource{Path: filepath.Join(root, "link")})
	req.IndexName = "docs"
	if got := create(t, operator, req); got.Status != "failed" || !strings.Contains(got.Error, "the folder cannot be opened") {
		t.Errorf("a link to the outside: %v", got)
	}
	without := servicetest.New(t, service.Config{})
	newTenant(t, without, "acme")
	req = folder(&ragdv1.FolderSource{Path: root})
	req.IndexName = "docs"
	if _, err := asOperator(t, without, "acme").CreateConnector(t.Context(), req); connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "connector-folders") {
		t.Errorf("without the setting: %v", err)
	}
}
