package rpc_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// handbook uploads a PDF file of two pages whose second one says what a berth costs.
func handbook(t *testing.T, c servicetest.Client, uri string, metadata map[string]any) *ragdv1.Document {
	t.Helper()
	return c.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: uri, Source: sample(t, "files/handbook.pdf"), Metadata: servicetest.Object(t, metadata),
	})
}

// berths is a question that page 2 of the handbook answers.
const berths = "What does a night cost in euros?"

func TestSourcesSayWhereTheyStand(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	handbook(t, c, "handbook.pdf", nil)
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "note.txt", Source: servicetest.Text("A night costs nothing for those who row. page: 1")})
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "made-up.txt", Source: servicetest.Text("A night is dark."), Metadata: servicetest.Object(t, map[string]any{"position": map[string]any{"page": 2}})})
	check := func(how string, sources []*ragdv1.Source, warnings []string) {
		t.Helper()
		if len(warnings) > 0 || len(sources) < 3 {
			t.Errorf("%s: %d sources, %q", how, len(sources), warnings)
		}
		for _, source := range sources {
			boxes := source.GetMetadata().GetFields()["position"].GetStructValue().GetFields()["boxes"].GetListValue().GetValues()
			if !strings.HasSuffix(source.GetUri(), ".pdf") {
				if boxes != nil || source.GetHighlight().GetBoxes() != nil {
					t.Errorf("%s: a text has the boxes %v", how, boxes)
				}
				continue
			}
			if len(boxes) == 0 || len(source.GetHighlight().GetBoxes()) == 0 {
				t.Errorf("%s: %v", how, source)
				continue
			}
			// Metadata has the JSON of the message.
			raw, err := boxes[0].MarshalJSON()
			noError(t, err)
			var page struct {
				Page          int
				Width, Height float64
				Origin        string
				Boxes         []struct{ Left, Top, Right, Bottom float64 }
			}
			noError(t, json.Unmarshal(raw, &page))
			best := source.GetHighlight().GetBoxes()[0]
			if page.Origin != "top-left" || best.GetOrigin() != "top-left" || page.Width != best.GetWidth() || page.Height != best.GetHeight() || page.Width < 100 {
				t.Errorf("%s: pages %+v, %v", how, page, best)
			}
			for _, b := range page.Boxes {
				if b.Left < 0 || b.Left >= b.Right || b.Right > page.Width || b.Top < 0 || b.Top >= b.Bottom || b.Bottom > page.Height {
					t.Errorf("%s: box %+v", how, b)
				}
			}
		}
	}
	req := &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: berths, Highlight: true, IncludeBoxes: true}
	res, err := c.VectorQuery(t.Context(), req)
	noError(t, err)
	check("query", res.Sources, res.Warnings)
	expanded, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: berths, Highlight: true, IncludeBoxes: true, Neighbours: 2})
	noError(t, err)
	check("neighbours", expanded.Sources, expanded.Warnings)
	several, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexNames: []string{"doc*"}, QueryText: berths, Highlight: true, IncludeBoxes: true})
	noError(t, err)
	check("several indexes", several.Sources, several.Warnings)
	walked, err := c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "docs", QueryText: berths, Highlight: true, IncludeBoxes: true})
	noError(t, err)
	check("graph", walked.Sources, walked.Warnings)
	batch, err := c.BatchQuery(t.Context(), &ragdv1.BatchQueryRequest{Queries: []*ragdv1.VectorQueryRequest{req}})
	noError(t, err)
	check("batch", batch.Answers[0].GetAnswer().GetSources(), batch.Answers[0].GetAnswer().GetWarnings())
	req.IncludeBoxes = false
	res, err = c.VectorQuery(t.Context(), req)
	noError(t, err)
	if slices.ContainsFunc(res.Sources, func(s *ragdv1.Source) bool {
		return s.GetHighlight().GetBoxes() != nil || strings.Contains(s.GetMetadata().String(), "boxes")
	}) {
		t.Error("boxes that were not asked for")
	}
}

// get returns what is at an address, for a caller without a credential.
func get(t *testing.T, address string) (status int, header http.Header, body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	noError(t, err)
	res, err := http.DefaultClient.Do(req)
	noError(t, err)
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	noError(t, err)
	return res.StatusCode, res.Header, body
}

func TestPagesAreRendered(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	d := handbook(t, c, "handbook.pdf", nil)
	text := c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "note.txt", Source: servicetest.Text("A note.")})
	broken := sample(t, "hostile/bomb.pdf")
	render := func(req *ragdv1.RenderPageRequest) (*ragdv1.RenderPageResponse, error) {
		req.IndexName = "docs"
		if req.Uri == "" {
			req.DocumentId = d.DocumentId
		}
		return c.RenderPage(t.Context(), req)
	}
	plain, err := render(&ragdv1.RenderPageRequest{Page: 2, Width: 500})
	noError(t, err)
	picture, err := png.Decode(bytes.NewReader(plain.Image))
	if err != nil || picture.Bounds().Dx() != 500 || plain.Width != 500 || int(plain.Height) != picture.Bounds().Dy() || plain.PageCount != 2 || plain.ContentType != "image/png" || plain.Url != "" {
		t.Fatalf("%d by %d of %d pages: %v", plain.Width, plain.Height, plain.PageCount, err)
	}
	res, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: berths})
	noError(t, err)
	source := res.Sources[0]
	marked, err := render(&ragdv1.RenderPageRequest{Page: 2, Width: 500, Highlights: []*ragdv1.ByteRange{{StartByte: source.StartByte, EndByte: source.EndByte}}})
	if err != nil || bytes.Equal(marked.Image, plain.Image) {
		t.Errorf("a page with a highlight is that without one: %v", err)
	}
	again, err := render(&ragdv1.RenderPageRequest{Page: 2, Width: 500})
	if err != nil || !bytes.Equal(again.Image, plain.Image) {
		t.Errorf("a page is drawn differently: %v", err)
	}
	linked, err := render(&ragdv1.RenderPageRequest{Page: 2, Width: 500, Link: true})
	noError(t, err)
	if linked.Image != nil || linked.ExpireTime == nil {
		t.Errorf("link %v", linked)
	}
	status, header, body := get(t, linked.Url)
	if status != http.StatusOK || !bytes.Equal(body, plain.Image) || header.Get("Content-Type") != "image/png" || !strings.HasPrefix(header.Get("Cache-Control"), "private, max-age=") {
		t.Errorf("the link shows %d, %d bytes, %v", status, len(body), header)
	}
	c.Index(t, "files")
	if _, err := c.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: "files", Uri: "bomb.pdf", Source: broken}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		req  *ragdv1.RenderPageRequest
		code connect.Code
		want string
	}{
		"after the last page":  {&ragdv1.RenderPageRequest{Page: 3}, connect.CodeInvalidArgument, "page: must be from 1 to 2"},
		"a negative page":      {&ragdv1.RenderPageRequest{Page: -1}, connect.CodeInvalidArgument, "page"},
		"the largest page":     {&ragdv1.RenderPageRequest{Page: 1<<31 - 1}, connect.CodeInvalidArgument, "page"},
		"too narrow":           {&ragdv1.RenderPageRequest{Width: 15}, connect.CodeInvalidArgument, "width: must be from 16 to 2400"},
		"too wide":             {&ragdv1.RenderPageRequest{Width: 2401}, connect.CodeInvalidArgument, "width"},
		"an empty range":       {&ragdv1.RenderPageRequest{Highlights: []*ragdv1.ByteRange{{StartByte: 4, EndByte: 4}}}, connect.CodeInvalidArgument, "highlights"},
		"a range that is long": {&ragdv1.RenderPageRequest{Highlights: []*ragdv1.ByteRange{{EndByte: 1 << 30}}}, connect.CodeInvalidArgument, "highlights"},
		"a range far outside":  {&ragdv1.RenderPageRequest{Highlights: []*ragdv1.ByteRange{{StartByte: 1 << 30, EndByte: 1<<30 + 5}}}, connect.CodeInvalidArgument, "highlights"},
		"many ranges":          {&ragdv1.RenderPageRequest{Highlights: slices.Repeat([]*ragdv1.ByteRange{{EndByte: 4}}, 51)}, connect.CodeInvalidArgument, "highlights"},
		"a text":               {&ragdv1.RenderPageRequest{Uri: text.Uri}, connect.CodeFailedPrecondition, "only PDF files"},
		"no document":          {&ragdv1.RenderPageRequest{Uri: "nothing.pdf"}, connect.CodeNotFound, "nothing.pdf"},
	} {
		if _, err := render(tc.req); connect.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.RenderPage(t.Context(), &ragdv1.RenderPageRequest{IndexName: "files", Uri: "bomb.pdf"}); err != nil && connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("a hostile file: %v", err)
	}
}

// A picture of a page, and a link to it, show no more than the credential may see when it is asked for.
func TestPagesAreShownToThoseWhoMaySeeThem(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "docs")
	bolt.Index(t, "docs")
	d, hidden := handbook(t, acme, "red.pdf", map[string]any{"team": "red"}), handbook(t, acme, "blue.pdf", map[string]any{"team": "blue"})
	theirs := handbook(t, bolt, "red.pdf", nil)
	key := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})})
	red := s.Client(key)
	elsewhere := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: names("faq")}))
	for name, c := range map[string]servicetest.Client{"a filter": red, "another index": elsewhere, "another tenant": bolt} {
		for _, link := range []bool{false, true} {
			if _, err := c.RenderPage(t.Context(), &ragdv1.RenderPageRequest{IndexName: "docs", DocumentId: hidden.DocumentId, Link: link}); connect.CodeOf(err) != connect.CodeNotFound {
				t.Errorf("%s, link %v: %v", name, link, err)
			}
		}
	}
	if _, err := acme.RenderPage(t.Context(), &ragdv1.RenderPageRequest{IndexName: "docs", DocumentId: theirs.DocumentId}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a document of another tenant: %v", err)
	}
	linkOf := func(c servicetest.Client) string {
		t.Helper()
		res, err := c.RenderPage(t.Context(), &ragdv1.RenderPageRequest{IndexName: "docs", DocumentId: d.DocumentId, Link: true, Width: 100})
		noError(t, err)
		return res.Url
	}
	wantStatus := func(what, address string, want int) {
		t.Helper()
		if status, _, body := get(t, address); status != want {
			t.Errorf("%s: %d %.200s, want %d", what, status, body, want)
		}
	}
	own, filtered := linkOf(acme), linkOf(red)
	wantStatus("a link", own, http.StatusOK)
	wantStatus("a link of a key with a filter", filtered, http.StatusOK)
	parsed, err := url.Parse(own)
	noError(t, err)
	link := parsed.Query().Get("link")
	for _, forged := range []string{"", "x", link[:len(link)-1], link + "A", flipped(link, 0), flipped(link, len(link)/2), flipped(link, len(link)-2), strings.Repeat("A", 7000), strings.Repeat("A", 4000), link + "=", link + "&link=" + link[1:]} {
		want := http.StatusUnauthorized
		if strings.Contains(forged, "&") { // the first one counts
			want = http.StatusOK
		}
		wantStatus("a forged link", strings.Replace(own, link, forged, 1), want)
	}
	for _, secret := range []string{"team", "acme", "red", d.DocumentId} {
		if strings.Contains(own, secret) {
			t.Errorf("the link shows %q", secret)
		}
	}
	_, err = acme.RevokeApiKey(t.Context(), &ragdv1.RevokeApiKeyRequest{ApiKeyId: s.KeyID(t, key)})
	noError(t, err)
	wantStatus("a link whose key was revoked", filtered, http.StatusUnauthorized)
	wantStatus("a link of another key", own, http.StatusOK)
	_, err = acme.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "docs", DocumentId: d.DocumentId})
	noError(t, err)
	wantStatus("a link to a document that was deleted", own, http.StatusNotFound)
}

// flipped returns a text with another letter at a position.
func flipped(text string, at int) string {
	other := byte('A')
	if text[at] == other {
		other = 'B'
	}
	return text[:at] + string(other) + text[at+1:]
}
