package rpc

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// PagePath is the path of pictures of pages. Its query has the link.
const PagePath = "/page.png"

const (
	pageLink      = "page" // the purpose of links to pictures of pages
	linkParameter = "link"
)

// linkedPage is what the link to a picture of a page holds.
type linkedPage struct {
	IndexName  string      `json:"index"`
	DocumentID string      `json:"document"`
	View       ingest.View `json:"view"`
}

// RenderPage implements DocumentService.
func (h *Handlers) RenderPage(ctx context.Context, req *ragdv1.RenderPageRequest) (*ragdv1.RenderPageResponse, error) {
	ref := ingest.Ref{DocumentID: req.GetDocumentId(), URI: req.GetUri(), Namespace: req.GetNamespace()}
	view := ingest.View{Page: int(req.GetPage()), Width: int(req.GetWidth())}
	for _, r := range req.GetHighlights() {
		view.Highlights = append(view.Highlights, ingest.Range{Start: int64(r.GetStartByte()), End: int64(r.GetEndByte())})
	}
	picture, err := h.Ingest.RenderPage(ctx, req.GetIndexName(), ref, view)
	if err != nil {
		return nil, err
	}
	res := &ragdv1.RenderPageResponse{ContentType: pictureType, Width: int32(picture.Width), Height: int32(picture.Height), PageCount: int32(picture.Pages)}
	if !req.GetLink() {
		res.Image = picture.PNG
		return res, nil
	}
	d, indexName, err := h.Ingest.Document(ctx, req.GetIndexName(), ref)
	if err != nil {
		return nil, err
	}
	link, expires, err := h.Credentials.Auth.Link(ctx, pageLink, linkedPage{indexName, d.DocumentID, view})
	if err != nil {
		return nil, err
	}
	res.Url, res.ExpireTime = h.baseURL(ctx)+PagePath+"?"+url.Values{linkParameter: {link}}.Encode(), timestamp(expires)
	return res, nil
}

const pictureType = "image/png"

// ServePage answers with the picture that a link shows, to callers without a credential.
func (h *Handlers) ServePage(w http.ResponseWriter, r *http.Request) {
	refuse := Refuse()
	var page linkedPage
	ctx, expires, err := h.Credentials.Auth.Follow(r.Context(), pageLink, r.URL.Query().Get(linkParameter), &page)
	if err != nil {
		refuse(w, r, err)
		return
	}
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		refuse(w, r, err)
		return
	}
	httpserver.Add(ctx, "tenant", caller.Tenant)
	end, err := h.Gate.Begin(ctx, caller.Tenant, caller.Quotas)
	if err != nil {
		refuse(w, r, err)
		return
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, unaryTimeout)
	defer cancel()
	picture, err := h.Ingest.RenderPage(ctx, page.IndexName, ingest.Ref{DocumentID: page.DocumentID}, page.View)
	if err != nil {
		refuse(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", pictureType)
	header.Set("Content-Length", strconv.Itoa(len(picture.PNG)))
	header.Set("Cache-Control", fmt.Sprintf("private, max-age=%d", max(0, int(time.Until(expires).Seconds()))))
	header.Set("Content-Security-Policy", "default-src 'none'")
	header.Set("Cross-Origin-Resource-Policy", "cross-origin") // pages of the caller show it
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(picture.PNG) // fails only if the caller has disconnected
}
