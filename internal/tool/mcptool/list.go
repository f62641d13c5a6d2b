package mcptool

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tool/mcpclient"
)

// maxPages bounds the pages of a server's list of tools.
const maxPages = 50

// toolOf returns what the server says about a tool. Errors: NotFound.
func toolOf(ctx context.Context, s *mcpclient.Session, name string) (mcp.Tool, error) {
	var request mcp.ListToolsRequest
	var names []string
	for range maxPages {
		page, err := s.ListToolsByPage(ctx, request)
		if err != nil {
			return mcp.Tool{}, err
		}
		for _, t := range page.Tools {
			if t.Name == name {
				return t, nil
			}
			if len(names) <= maxNames {
				names = append(names, textlimit.OneLine(t.Name, maxListedBytes))
			}
		}
		if page.NextCursor == "" {
			break
		}
		request.Params.Cursor = page.NextCursor
	}
	return mcp.Tool{}, fault.New(fault.NotFound, "the server has no tool %q; it has %s", name, listed(names))
}

// Bounds of the names in an error.
const (
	maxNames       = 20
	maxListedBytes = 64
)

// listed returns the names for an error.
func listed(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > maxNames:
		return strings.Join(names[:maxNames], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}
