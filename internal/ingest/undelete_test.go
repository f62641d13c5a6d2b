package ingest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// harbour is a document with tables, headings, and names that other documents mention.
const harbour = "# Quay of Lisbon\n\nThe Quay of Lisbon has two cranes.\n\n| crane | tons |\n| --- | --- |\n| north | 40 |\n| south | 25 |\n\n# Tariff\n\nShips pay by the hour.\n"

// deletedURIs returns the uris of the deleted documents that a client may list, the newest deletion first.
func deletedURIs(t *testing.T, c servicetest.Client) []string {
	t.Helper()
	uris, count := listDeleted(t, c)
	if count != len(uris) {
		t.Errorf("the list says that it has %d documents, and has %v", count, uris)
	}
	return uris
}

// listDeleted returns the uris of the list of deleted documents, and how many it says that there are, which is counted after
// the list is read.
func listDeleted(t *testing.T, c servicetest.Client) (uris []string, count int) {
	t.Helper()
	list, err := c.ListDeleted(t.Context(), &ragdv1.ListDeletedRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	uris = make([]string, len(list.Documents))
	for n, d := range list.Documents {
		uris[n] = d.Document.Uri
	}
	return uris, int(list.DocumentCount)
}

// deleteURI deletes a document of the default namespace.
func deleteURI(t *testing.T, c servicetest.Client, uri string) {
	t.Helper()
	if _, err := c.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: uri}); err != nil {
		t.Fatal(err)
	}
}

// ofTeam returns an upload with a team in its metadata.
func ofTeam(t *testing.T, uri, text, team string) *ragdv1.UploadDocumentRequest {
	req := upload(uri, text)
	req.Metadata = servicetest.Object(t, map[string]any{"team": team})
	return req
}

func TestARestoredDocumentIsAsItWasBeforeItsDeletion(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{DeletedRetention: 24 * time.Hour})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	bolt.Index(t, "docs")
	acme.Index(t, "docs")
	kept := acme.Upload(t, ofTeam(t, "quay.md", harbour, "red"))
	acme.Upload(t, ofTeam(t, "tour.md", "# Tour\n\nThe tour begins at the Quay of Lisbon.\n", "blue"))
	// Jobs are others afterwards, and usage grows; what searches read is the same.
	state := func() map[string]string {
		rows := s.RowSums(t, "acme")
		maps.DeleteFunc(rows, func(table, _ string) bool {
			return !slices.ContainsFunc([]string{"chunk_1", "edge_1", "cells_1", "document_contents"}, func(name string) bool { return strings.HasSuffix(table, name) })
		})
		return rows
	}
	before := state()
	if len(before) != 4 {
		t.Fatalf("the tables are %v", before)
	}
	describe := func(c servicetest.Client) [2]int32 {
		i, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
		if err != nil {
			t.Fatal(err)
		}
		return [2]int32{i.Count, i.DocumentCount}
	}
	counts := describe(acme)

	deleteURI(t, acme, "quay.md")
	_, err := acme.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", DocumentId: kept.DocumentId})
	servicetest.WantCode(t, "a deleted document", err, connect.CodeNotFound)
	_, err = acme.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{IndexName: "docs", DocumentId: kept.DocumentId})
	servicetest.WantCode(t, "the text of a deleted document", err, connect.CodeNotFound)
	found, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "cranes tariff", SearchMode: "hybrid"})
	if err != nil || slices.ContainsFunc(found.Sources, func(f *ragdv1.Source) bool { return f.DocumentId == kept.DocumentId }) {
		t.Errorf("a search after the deletion found %v, %v", found.GetSources(), err)
	}
	if now := describe(acme); now[1] != 1 || now[0] >= counts[0] {
		t.Errorf("counts after the deletion are %v, and were %v", now, counts)
	}
	list, err := acme.ListDeleted(t.Context(), &ragdv1.ListDeletedRequest{IndexName: "docs"})
	if err != nil || len(list.Documents) != 1 || list.ByteSize != float64(len(harbour)) {
		t.Fatalf("deleted are %v, %v", list, err)
	}
	d := list.Documents[0]
	if until := d.EraseTime.AsTime().Sub(d.DeleteTime.AsTime()); d.Document.DocumentId != kept.DocumentId || d.DeletedBy == "" || until != 24*time.Hour {
		t.Errorf("the deleted document is %v", d)
	}

	// Nobody else sees it.
	ids := &ragdv1.RestoreDocumentsRequest{IndexName: "docs", DocumentIds: []string{kept.DocumentId}}
	key := func(scopes []string, team string) servicetest.Client {
		req := &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: scopes}
		if team != "" {
			req.MandatoryFilter = servicetest.Object(t, map[string]any{"team": team})
		}
		return s.Client(s.Key(t, req))
	}
	for name, c := range map[string]servicetest.Client{"another tenant": bolt, "a key with another filter": key([]string{"admin"}, "blue")} {
		if uris := deletedURIs(t, c); len(uris) > 0 {
			t.Errorf("%s lists %v", name, uris)
		}
		if res, err := c.RestoreDocuments(t.Context(), ids); err != nil || res.RestoredCount > 0 {
			t.Errorf("%s restores %v, %v", name, res, err)
		}
		if res, err := c.RestoreDocuments(t.Context(), &ragdv1.RestoreDocumentsRequest{IndexName: "docs", Since: timestamppb.New(time.Unix(0, 0))}); err != nil || res.RestoredCount > 0 {
			t.Errorf("%s restores all: %v, %v", name, res, err)
		}
		if res, err := c.EraseDeleted(t.Context(), &ragdv1.EraseDeletedRequest{IndexName: "docs", All: true}); err != nil || res.ErasedCount > 0 {
			t.Errorf("%s erases %v, %v", name, res, err)
		}
	}
	reader := key([]string{"read"}, "")
	_, err = reader.ListDeleted(t.Context(), &ragdv1.ListDeletedRequest{IndexName: "docs"})
	servicetest.WantCode(t, "a reader's list", err, connect.CodePermissionDenied)
	_, err = key([]string{"write"}, "").EraseDeleted(t.Context(), &ragdv1.EraseDeletedRequest{IndexName: "docs", All: true})
	servicetest.WantCode(t, "a writer's erasure", err, connect.CodePermissionDenied)

	res, err := key([]string{"write"}, "red").RestoreDocuments(t.Context(), ids)
	if err != nil || res.RestoredCount != 1 || res.Documents[0].Status != "ready" {
		t.Fatalf("restored %v, %v", res, err)
	}
	back := acme.Await(t, "docs", res.Documents[0].JobId, kept.DocumentId)
	if back.Version != kept.Version || back.ContentHash != kept.ContentHash || !back.CreateTime.AsTime().Equal(kept.CreateTime.AsTime()) || back.Metadata.String() != kept.Metadata.String() {
		t.Errorf("restored is %v, and it was %v", back, kept)
	}
	if now := describe(acme); now != counts {
		t.Errorf("counts after the restoration are %v, and were %v", now, counts)
	}
	if now := state(); !maps.Equal(now, before) {
		t.Errorf("rows after the restoration are %v, and were %v", now, before)
	}
	if uris := deletedURIs(t, acme); len(uris) > 0 {
		t.Errorf("restored documents are still listed: %v", uris)
	}
	if again, err := acme.RestoreDocuments(t.Context(), ids); err != nil || again.RestoredCount != 0 {
		t.Errorf("restored again: %v, %v", again, err)
	}
}

func TestADocumentThatWasUploadedSinceIsReplacedOnRequest(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{DeletedRetention: 24 * time.Hour})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	old := acme.Upload(t, ofTeam(t, "a.md", "The first text.", "red"))
	deleteURI(t, acme, "a.md")
	start := time.Now().Add(-time.Hour)
	fresh := acme.Upload(t, ofTeam(t, "a.md", "The second text.", "blue"))
	acme.Upload(t, ofTeam(t, "b.md", "Another text.", "red"))
	deleteURI(t, acme, "b.md")
	restore := func(c servicetest.Client, how string) (*ragdv1.RestoreDocumentsResponse, error) {
		return c.RestoreDocuments(t.Context(), &ragdv1.RestoreDocumentsRequest{IndexName: "docs", Since: timestamppb.New(start), OnConflict: how})
	}
	_, err := restore(acme, "")
	servicetest.WantCode(t, "a name that was taken since", err, connect.CodeAlreadyExists)
	if err != nil && !strings.Contains(err.Error(), `"a.md"`) {
		t.Errorf("the error does not name the document: %v", err)
	}
	bounded := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"}),
	}))
	_, err = restore(bounded, "replace")
	servicetest.WantCode(t, "replacing a document that the credential may not see", err, connect.CodePermissionDenied)
	if uris := deletedURIs(t, acme); !slices.Equal(uris, []string{"b.md", "a.md"}) {
		t.Errorf("refused restorations left %v deleted", uris)
	}
	if res, err := restore(acme, "skip"); err != nil || res.RestoredCount != 1 || res.SkippedCount != 1 {
		t.Errorf("skipping, it restored %v, %v", res, err)
	}
	res, err := restore(acme, "replace")
	if err != nil || res.RestoredCount != 1 || res.Documents[0].DocumentId != old.DocumentId {
		t.Fatalf("replacing, it restored %v, %v", res, err)
	}
	for _, how := range []string{"", "replace"} {
		if res, err := restore(acme, how); err != nil || res.RestoredCount != 0 {
			t.Errorf("repeated, %q restored %v, %v", how, res, err)
		}
	}
	list, err := acme.ListDeleted(t.Context(), &ragdv1.ListDeletedRequest{IndexName: "docs"})
	if err != nil || len(list.Documents) != 1 || list.Documents[0].Document.DocumentId != fresh.DocumentId {
		t.Errorf("what was replaced is not kept: %v, %v", list, err)
	}
	for name, req := range map[string]*ragdv1.RestoreDocumentsRequest{
		"nothing":             {},
		"ids and a time":      {DocumentIds: []string{old.DocumentId}, Since: timestamppb.New(start)},
		"too many ids":        {DocumentIds: make([]string, 10_001)},
		"an unknown conflict": {DocumentIds: []string{old.DocumentId}, OnConflict: "both"},
		"a long namespace":    {DocumentIds: []string{old.DocumentId}, Namespace: strings.Repeat("x", 256)},
		"no time":             {Since: &timestamppb.Timestamp{Seconds: -1 << 60}},
	} {
		req.IndexName = "docs"
		_, err := acme.RestoreDocuments(t.Context(), req)
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
	}
	for name, req := range map[string]*ragdv1.EraseDeletedRequest{"nothing": {}, "ids and all": {DocumentIds: []string{old.DocumentId}, All: true}} {
		req.IndexName = "docs"
		_, err := s.Operator("Ragd-Tenant", "acme").EraseDeleted(t.Context(), req)
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
	}
	_, err = s.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: "acme", Settings: servicetest.Object(t, map[string]any{"deletedRetention": "-1h"})})
	servicetest.WantCode(t, "a negative retention", err, connect.CodeInvalidArgument)
}

// What is left of documents: rows of these tables.
func leftOf(t *testing.T, s *servicetest.Service) (deleted, contents, chunks int) {
	t.Helper()
	err := s.Pool.QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM ragd_shared.deleted_documents), (SELECT count(*) FROM tenant_acme.document_contents),
			(SELECT count(*) FROM tenant_acme.kept_1)`).Scan(&deleted, &contents, &chunks)
	if err != nil {
		t.Fatal(err)
	}
	return deleted, contents, chunks
}

func TestDeletedDocumentsAreErased(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{DeletedRetention: 24 * time.Hour})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	operator := s.Operator("Ragd-Tenant", "acme")
	for _, uri := range []string{"a.md", "b.md", "c.md"} {
		acme.Upload(t, ofTeam(t, uri, harbour+uri, "red"))
	}
	deleteURI(t, acme, "a.md")
	deleteURI(t, acme, "b.md")
	list, err := acme.ListDeleted(t.Context(), &ragdv1.ListDeletedRequest{IndexName: "docs", PageSize: 1})
	if err != nil || len(list.Documents) != 1 || list.NextPageToken == "" {
		t.Fatalf("deleted are %v, %v", list, err)
	}
	// The chunks of what an older analyzer made are made anew, in place of what was kept.
	if _, err := s.Pool.Exec(t.Context(), `UPDATE ragd_shared.deleted_documents SET text_analysis = -1`); err != nil {
		t.Fatal(err)
	}
	anew, err := acme.RestoreDocuments(t.Context(), &ragdv1.RestoreDocumentsRequest{IndexName: "docs", DocumentIds: []string{list.Documents[0].Document.DocumentId}})
	if err != nil || anew.RestoredCount != 1 || anew.Documents[0].Status != "pending" {
		t.Fatalf("restored %v, %v", anew, err)
	}
	if d := acme.Await(t, "docs", anew.Documents[0].JobId, anew.Documents[0].DocumentId); d.Version != 2 || d.Uri != "b.md" || d.ChunkCount == 0 {
		t.Errorf("processed anew: %v", d)
	}
	if res, err := operator.EraseDeleted(t.Context(), &ragdv1.EraseDeletedRequest{IndexName: "docs", All: true}); err != nil || res.ErasedCount != 1 {
		t.Errorf("erased %v, %v", res, err)
	}
	if deleted, contents, chunks := leftOf(t, s); deleted != 0 || chunks != 0 || contents != 2 {
		t.Errorf("after the erasure of one of three there are %d deleted documents, %d contents and %d kept chunks", deleted, contents, chunks)
	}

	// The end of the retention erases what was deleted before it was shortened, too.
	deleteURI(t, acme, "b.md")
	if _, err := s.Pool.Exec(t.Context(), `UPDATE ragd_shared.deleted_documents SET deleted_at = deleted_at - interval '23 hours 59 minutes 59 seconds'`); err != nil {
		t.Fatal(err)
	}
	// runTask makes the task due, which waits for up to an hour.
	runTask := func() {
		if _, err := s.Pool.Exec(t.Context(), `UPDATE ragd.river_job SET scheduled_at = now() WHERE kind = 'erase' AND state = 'scheduled'`); err != nil {
			t.Fatal(err)
		}
	}
	wait.For(t, "the end of the retention", func() bool {
		runTask()
		deleted, contents, chunks := leftOf(t, s)
		return deleted == 0 && chunks == 0 && contents == 1
	})

	// Of what is more than the tenant may store, the oldest goes first.
	settings := servicetest.Object(t, map[string]any{"maxDocumentBytes": 1000})
	if _, err := s.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: "acme", Settings: settings}); err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{"d.md", "e.md", "f.md"} {
		acme.Upload(t, ofTeam(t, uri, strings.Repeat("tide ", 80)+uri, "red"))
		deleteURI(t, acme, uri)
	}
	wait.For(t, "the erasure of what is over the quota", func() bool {
		runTask()
		uris, _ := listDeleted(t, acme)
		return slices.Equal(uris, []string{"f.md", "e.md"})
	})
	if res, err := operator.EraseDeleted(t.Context(), &ragdv1.EraseDeletedRequest{IndexName: "docs", All: true}); err != nil || res.ErasedCount != 2 {
		t.Errorf("erased %v, %v", res, err)
	}

	// Without a retention, and in a schema that is a migration behind, nothing is kept.
	if _, err := s.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: "acme", Settings: servicetest.Object(t, map[string]any{"deletedRetention": "0s"})}); err != nil {
		t.Fatal(err)
	}
	deleteURI(t, acme, "c.md")
	if deleted, contents, _ := leftOf(t, s); deleted != 0 || contents != 0 {
		t.Errorf("without a retention, %d deleted documents and %d contents are left", deleted, contents)
	}
	bolt := s.Tenant(t, "bolt")
	bolt.Index(t, "docs")
	bolt.Upload(t, upload("a.md", harbour))
	for _, statement := range []string{
		`DROP TRIGGER erased ON tenant_bolt.documents`,
		`ALTER TABLE tenant_bolt.document_contents ADD FOREIGN KEY (document_id) REFERENCES tenant_bolt.documents ON DELETE CASCADE`,
	} {
		if _, err := s.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	deleteURI(t, bolt, "a.md")
	if uris := deletedURIs(t, bolt); len(uris) > 0 {
		t.Errorf("a schema that is a migration behind keeps %v", uris)
	}
}
