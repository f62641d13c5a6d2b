package connector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

func rss(entries ...string) string {
	return `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>` + strings.Join(entries, "") + `</channel></rss>`
}

func rssEntry(name, text, category string) string {
	if text != "" {
		text = "&lt;p&gt;" + text + "&lt;/p&gt;"
	}
	return fmt.Sprintf(`<item><title>About %[1]s</title><link>/%[1]s</link><guid>id-%[1]s</guid><category>%[3]s</category><pubDate>Mon, 02 Jan 2006 15:04:05 GMT</pubDate><description>%[2]s</description></item>`, name, text, category)
}

func feed(url string, deleteMissing bool) *ragdv1.CreateConnectorRequest {
	return &ragdv1.CreateConnectorRequest{
		ConnectorName: "site", Source: &ragdv1.CreateConnectorRequest_Feed{Feed: &ragdv1.FeedSource{Url: url, DeleteMissing: deleteMissing}},
		Metadata: map[string]string{"tags": "item.attributes.categories", "at": "item.attributes.publishedTime"},
	}
}

func TestAFeedIsFollowed(t *testing.T) {
	t.Parallel()
	atom := `<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><title>About a</title><id>id-a</id><link href="/a"/><category term="x"/><published>2006-01-02T15:04:05Z</published><updated>2006-01-02T15:04:05Z</updated><content type="html">&lt;p&gt;The text of a.&lt;/p&gt;</content></entry></feed>`
	for name, first := range map[string]string{"rss": rss(rssEntry("a", "The text of a.", "x"), rssEntry("a", "Twice.", "x"), rssEntry("empty", "", "x")), "atom": atom} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := newWebsite(t, map[string]string{"/old": "301 /feed", "/feed": first})
			s := newService(t)
			acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
			if got := create(t, acme, feed(site.URL+"/old", false)); got.Status != "succeeded" || got.Counts.Added != 1 {
				t.Errorf("first run: %v", got)
			}
			equal(t, "documents", documents(t, acme, site), []string{"/a v1"})
			equal(t, "documents of another tenant", documents(t, bolt, site), []string{})
			list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
			if err != nil {
				t.Fatal(err)
			}
			d := list.Documents[0]
			if m := d.Metadata.AsMap(); d.Title != "About a" || fmt.Sprint(m["tags"]) != "[x]" || m["at"] != "2006-01-02T15:04:05Z" {
				t.Errorf("document: %v", d)
			}

			// The feed has not changed: it is not sent again.
			site.take()
			if got := resync(t, acme); got.Status != "succeeded" || got.Counts.Added+got.Counts.Updated+got.Counts.Deleted != 0 {
				t.Errorf("second run: %v", got)
			}
			if asked := site.take(); !slices.Contains(asked, "/feed 304 0") {
				t.Errorf("asked for %v", asked)
			}

			// A new entry comes, the old one has another category alone.
			site.set(map[string]string{"/feed": rss(rssEntry("a", "The text of a.", "y"), rssEntry("b", "The text of b.", "y"))})
			if got := resync(t, acme); got.Counts.Added != 1 || got.Counts.Updated != 1 {
				t.Errorf("third run: %v", got)
			}
			equal(t, "documents", documents(t, acme, site), []string{"/a v2", "/b v1"})

			// One leaves the feed, and stays unless it shall not.
			site.set(map[string]string{"/feed": rss(rssEntry("b", "The text of b.", "y"))})
			if got := resync(t, acme); got.Counts.Unchanged != 1 || got.Counts.Deleted != 0 {
				t.Errorf("fourth run: %v", got)
			}
			equal(t, "documents", documents(t, acme, site), []string{"/a v2", "/b v1"})
			before, err := acme.GetConnector(t.Context(), &ragdv1.GetConnectorRequest{ConnectorName: "site"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := acme.UpdateConnector(t.Context(), &ragdv1.UpdateConnectorRequest{ConnectorName: "site", Source: &ragdv1.UpdateConnectorRequest_Feed{
				Feed: &ragdv1.FeedSource{Url: site.URL + "/feed", DeleteMissing: true},
			}}); err != nil {
				t.Fatal(err)
			}
			if got := ended(t, acme, before); got.Counts.Deleted != 1 || got.Paused {
				t.Errorf("fifth run: %v", got)
			}
			equal(t, "documents", documents(t, acme, site), []string{"/b v1"})
		})
	}
}

func TestABadFeedFailsItsConnector(t *testing.T) {
	t.Parallel()
	entries := []string{}
	for i := range 5 {
		entries = append(entries, rssEntry(fmt.Sprint("e", i), "Some text.", "x"))
	}
	site := newWebsite(t, map[string]string{"/feed": "<html>no feed</html>", "/loop": "301 /loop"})
	acme := newTenant(t, newService(t), "acme")
	req := feed(site.URL+"/feed", true)
	req.MaxItems = 3
	if got := create(t, acme, req); got.Status != "failed" || !strings.HasPrefix(got.Error, "the feed cannot be read") {
		t.Errorf("no feed: %v", got)
	}
	site.set(map[string]string{"/feed": rss(entries...)})
	if got := resync(t, acme); got.Status != "failed" || !strings.Contains(got.Error, "more than 3 entries") {
		t.Errorf("a long feed: %v", got)
	}
	if n := len(documents(t, acme, site)); n != 3 {
		t.Errorf("%d documents", n)
	}
	site.set(map[string]string{"/feed": "301 /loop"})
	if got := resync(t, acme); got.Status != "failed" || !strings.Contains(got.Error, "more than 5 redirects") {
		t.Errorf("a loop: %v", got)
	}
	req = feed("ftp://example.com", false)
	req.ConnectorName = "other"
	if _, err := acme.CreateConnector(t.Context(), req); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "feed.url") {
		t.Errorf("an address: %v", err)
	}
}

// A pause for deletions leaves nothing behind: after the consent they are deleted, although the feed has not changed since.
func TestEntriesOfAFeedAreDeletedAfterTheConsent(t *testing.T) {
	t.Parallel()
	site := newWebsite(t, map[string]string{"/feed": rss(rssEntry("a", "The text of a.", "x"), rssEntry("b", "The text of b.", "x"), rssEntry("c", "The text of c.", "x"))})
	acme := newTenant(t, newService(t), "acme")
	create(t, acme, feed(site.URL+"/feed", true))
	site.set(map[string]string{"/feed": rss(rssEntry("a", "The text of a.", "x"))})
	got := resync(t, acme)
	if !got.Paused {
		t.Errorf("run: %v", got)
	}
	if _, err := acme.ResumeConnector(t.Context(), &ragdv1.ResumeConnectorRequest{ConnectorName: "site", AcceptDeletions: true}); err != nil {
		t.Fatal(err)
	}
	if got = ended(t, acme, got); got.Counts.Deleted != 2 || got.Paused {
		t.Errorf("run after the consent: %v", got)
	}
	equal(t, "documents", documents(t, acme, site), []string{"/a v1"})
}

// An id that the database cannot store fails its entry alone.
func TestAnEntryWithAnUnusableIdFailsAlone(t *testing.T) {
	t.Parallel()
	site := newWebsite(t, map[string]string{"/feed": `{"version": "https://jsonfeed.org/version/1.1", "title": "News", "items": [
		{"id": "bad\u0000id", "title": "One", "content_text": "The text of one."}, {"id": "good", "title": "Two", "content_text": "The text of two."}]}`})
	acme := newTenant(t, newService(t), "acme")
	if got := create(t, acme, feed(site.URL+"/feed", false)); got.Status != "succeeded" || got.Counts.Failed != 1 || got.Counts.Added != 1 {
		t.Errorf("run: %v", got)
	}
	failed, err := acme.ListConnectorItems(t.Context(), &ragdv1.ListConnectorItemsRequest{ConnectorName: "site", Status: "failed"})
	if err != nil || len(failed.Items) != 1 || failed.Items[0].Id != "badid" || !strings.Contains(failed.Items[0].Reason, "null character") {
		t.Errorf("items: %v, %v", failed, err)
	}
	tested, err := acme.TestConnector(t.Context(), &ragdv1.TestConnectorRequest{ConnectorName: "site"})
	if err != nil || len(tested.Items) != 2 {
		t.Errorf("test: %v, %v", tested, err)
	}
}

// A connector neither replaces nor deletes documents that it did not make.
func TestDocumentsOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	site := newWebsite(t, map[string]string{"/feed": rss(rssEntry("a", "The text of a.", "x"), rssEntry("b", "The text of b.", "x"), rssEntry("c", "The text of c.", "x"))})
	acme := newTenant(t, newService(t), "acme")
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: site.URL + "/a", Source: servicetest.Text("Uploaded.")})
	if got := create(t, acme, feed(site.URL+"/feed", true)); got.Status != "succeeded" || got.Counts.Failed != 1 || got.Counts.Added != 2 {
		t.Errorf("run: %v", got)
	}
	other := feed(site.URL+"/feed", true)
	other.ConnectorName = "other"
	if _, err := acme.CreateConnector(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	failed := func() (n int) {
		list, err := acme.ListConnectorItems(t.Context(), &ragdv1.ListConnectorItemsRequest{ConnectorName: "other", Status: "failed"})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	wait.For(t, "the items of the other connector fail", func() bool { return failed() == 3 })
	site.set(map[string]string{"/feed": rss(rssEntry("b", "The text of b.", "x"))})
	if got := resync(t, acme); got.Counts.Deleted != 1 {
		t.Errorf("run without two entries: %v", got)
	}
	equal(t, "documents", documents(t, acme, site), []string{"/a v1", "/b v1"})

	// The documents of a connector that is gone are taken over.
	if _, err := acme.DeleteConnector(t.Context(), &ragdv1.DeleteConnectorRequest{ConnectorName: "site"}); err != nil {
		t.Fatal(err)
	}
	if _, err := acme.SyncConnector(t.Context(), &ragdv1.SyncConnectorRequest{ConnectorName: "other"}); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the other connector keeps b", func() bool {
		list, err := acme.ListConnectorItems(t.Context(), &ragdv1.ListConnectorItemsRequest{ConnectorName: "other", Status: "stored"})
		return err == nil && len(list.Items) == 1
	})
}
