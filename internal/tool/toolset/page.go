package toolset

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// renderPage runs the tool render_page: its result has the picture as content that models see.
func (s *Set) renderPage(ctx context.Context, c Call, arguments accepted) (Result, error) {
	var picture []byte
	asked := call(func(ctx context.Context, req *ragdv1.RenderPageRequest) (*ragdv1.RenderPageResponse, error) {
		res, err := s.api.RenderPage(ctx, req)
		if err != nil {
			return nil, err
		}
		picture = res.GetImage()
		res = proto.CloneOf(res)
		res.Image = nil // not a second time
		return res, nil
	}, pageText)
	result, err := method(asked).run(ctx, c, arguments)
	if err != nil || len(picture) == 0 {
		return result, err
	}
	result.Content, err = json.Marshal([]any{
		map[string]any{"type": "text", "text": result.Text},
		map[string]any{"type": "image", "mimeType": "image/png", "data": base64.StdEncoding.EncodeToString(picture)},
	})
	return result, err
}

func pageText(req *ragdv1.RenderPageRequest, res *ragdv1.RenderPageResponse) string {
	text := fmt.Sprintf("Page %d of %d, %d by %d pixels.", max(1, req.GetPage()), res.GetPageCount(), res.GetWidth(), res.GetHeight())
	if res.GetUrl() != "" {
		text += " " + res.GetUrl()
	}
	return text
}
