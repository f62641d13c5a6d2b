package subprocess

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/pdftext"
)

// ViewTimeout is the processor time that a file may take whose pages are looked at.
const ViewTimeout = 20 * time.Second

// Locate returns where passages of a tenant's PDF file stand on its pages, as parse.Locate does, in a child. Further
// errors: those of Parse.
func (p *Pool) Locate(ctx context.Context, tenant string, content []byte, passages []pdftext.Passage) ([]pdftext.Located, error) {
	a, err := p.view(ctx, tenant, request{Source: parse.Source{Content: content}, Locate: passages})
	return a.Located, err
}

// Draw returns a picture of a page of a tenant's PDF file, as parse.Draw does, in a child. Further errors: those of
// Parse.
func (p *Pool) Draw(ctx context.Context, tenant string, content []byte, drawing pdftext.Drawing) (pdftext.Picture, error) {
	a, err := p.view(ctx, tenant, request{Source: parse.Source{Content: content}, Draw: &drawing})
	return a.Picture, err
}

func (p *Pool) view(ctx context.Context, tenant string, r request) (answer, error) {
	if err := p.prepare(ctx); err != nil {
		return answer{}, err
	}
	config := p.config
	config.OCR, config.Timeout = nil, min(config.Timeout, ViewTimeout)
	return p.askIn(ctx, p.views, tenant, r, config)
}
