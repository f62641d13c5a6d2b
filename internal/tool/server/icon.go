package server

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Icon is an image that clients may show for a server.
type Icon struct {
	// Source is an https address, or a data URI in base64.
	Source   string   `json:"src"`
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"` // such as 48x48, or any
	Theme    string   `json:"theme,omitempty"` // light or dark
}

// Limits of icons.
const (
	maxIcons        = 8
	maxIconSizes    = 8
	maxIconURLBytes = 255 // that of the registry
	maxIconBytes    = 64 << 10
)

var (
	iconTypes   = []string{"image/png", "image/jpeg", "image/svg+xml", "image/webp"}
	sizePattern = regexp.MustCompile(`^([1-9][0-9]{0,4}x[1-9][0-9]{0,4}|any)$`)
)

// checkIcons sets the types of data URIs and refuses icons that clients could not show.
func (s *Server) checkIcons() error {
	if len(s.Icons) > maxIcons {
		return fault.Field("icons", "must be at most %d, got %d", maxIcons, len(s.Icons))
	}
	embedded := 0
	for i := range s.Icons {
		if err := s.Icons[i].complete(); err != nil {
			return fault.Under("icons", err)
		}
		if s.Icons[i].embedded() {
			embedded += len(s.Icons[i].Source)
		}
	}
	if embedded > maxIconBytes {
		return fault.Field("icons", "have %d bytes in data URIs, over the limit of %d: use https addresses", embedded, maxIconBytes)
	}
	return nil
}

// embedded reports whether the icon is a data URI.
func (i Icon) embedded() bool { return strings.HasPrefix(i.Source, "data:") }

func (i *Icon) complete() error {
	if i.MIMEType == "image/jpg" {
		i.MIMEType = "image/jpeg"
	}
	if err := i.checkSource(); err != nil {
		return err
	}
	if i.MIMEType != "" && !slices.Contains(iconTypes, i.MIMEType) {
		return fault.Field("mimeType", "must be one of %s, got %q", strings.Join(iconTypes, ", "), i.MIMEType)
	}
	if i.Theme != "" && i.Theme != "light" && i.Theme != "dark" {
		return fault.Field("theme", "must be light or dark, got %q", i.Theme)
	}
	if len(i.Sizes) > maxIconSizes {
		return fault.Field("sizes", "must be at most %d, got %d", maxIconSizes, len(i.Sizes))
	}
	for _, size := range i.Sizes {
		if !sizePattern.MatchString(size) {
			return fault.Field("sizes", "must be such as 48x48, or any, got %q", size)
		}
	}
	return nil
}

func (i *Icon) checkSource() error {
	if !i.embedded() {
		if err := checkURL("src", i.Source); err != nil || !strings.HasPrefix(i.Source, "https://") {
			return fault.Field("src", "must be an https address or a data URI")
		}
		if len(i.Source) > maxIconURLBytes {
			return fault.Field("src", "is %d bytes, over the limit of %d for an address", len(i.Source), maxIconURLBytes)
		}
		return nil
	}
	kind, encoded, ok := strings.Cut(strings.TrimPrefix(i.Source, "data:"), ";base64,")
	if !ok || !slices.Contains(iconTypes, kind) {
		return fault.Field("src", "a data URI must begin with data:TYPE;base64, where TYPE is one of %s", strings.Join(iconTypes, ", "))
	}
	image, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !isImage(kind, image) {
		return fault.Field("src", "the data URI does not contain an image of the type %s in base64", kind)
	}
	if i.MIMEType != "" && i.MIMEType != kind {
		return fault.Field("mimeType", "is %s, but the data URI says %s", i.MIMEType, kind)
	}
	i.MIMEType = kind
	return nil
}

// isImage reports whether the bytes begin as an image of the type does.
func isImage(kind string, image []byte) bool {
	if kind != "image/svg+xml" {
		return http.DetectContentType(image) == kind
	}
	text := bytes.TrimSpace(image)
	return bytes.HasPrefix(text, []byte("<svg")) || bytes.HasPrefix(text, []byte("<?xml")) && bytes.Contains(text, []byte("<svg"))
}
