package connector

import (
	"context"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/automation/connector/manifest"
	"github.com/ragdhq/ragd/internal/automation/connector/recipe"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/secret"
)

// Limits of web APIs.
const (
	maxConfig       = 50 // values of a configuration
	maxConfigBytes  = 2000
	maxRelistHours  = 365 * 24
	defaultRelist   = 24
	maxAPIPageBytes = 16 << 20
	maxAPIWait      = 15 * time.Minute // that a server may ask for
	maxIntervals    = 1000             // of a cursor
	maxPartDepth    = 5                // records below each other in a part
	maxAccessNames  = 1000             // users and groups of a document
	maxLookupValues = 20_000           // of all lookups
	maxTokenBytes   = 64 << 10         // of an answer with a token
)

// HTTP is the records of a web API, as a manifest says.
type HTTP struct {
	Recipe   string            `json:"recipe,omitempty"` // name of a manifest of the service
	Manifest string            `json:"manifest,omitempty"`
	Config   map[string]string `json:"config,omitempty"`
	Streams  []string          `json:"streams,omitempty"` // empty: all
	// RelistHours is after how many hours a run lists all records of streams with a cursor.
	RelistHours int `json:"relistHours"`
}

// secretReference stands for a secret in a value of the configuration.
var secretReference = regexp.MustCompile(`\{\{\s*secrets\.([A-Za-z0-9_-]+)\s*\}\}`)

// complete implements kind. It does not check the expressions of the manifest.
func (h *HTTP) complete(*outbound.Guard) error {
	if h.RelistHours == 0 {
		h.RelistHours = defaultRelist
	}
	if h.RelistHours < 1 || h.RelistHours > maxRelistHours {
		return fault.Field("http.relistHours", "must be between 1 and %d, got %d", maxRelistHours, h.RelistHours)
	}
	if len(h.Config) > maxConfig {
		return fault.Field("http.config", "must be at most %d values, got %d", maxConfig, len(h.Config))
	}
	for _, name := range slices.Sorted(maps.Keys(h.Config)) {
		if err := textlimit.Check("http.config", name, maxMetadataName); err != nil {
			return err
		}
		value := h.Config[name]
		if err := textlimit.Check("http.config."+textlimit.OneLine(name, maxMetadataName), value, maxConfigBytes); err != nil {
			return err
		}
		if strings.Contains(secretReference.ReplaceAllString(value, ""), "{{") {
			return fault.Field("http.config."+name, "can have {{secrets.NAME}} alone")
		}
		for _, found := range secretReference.FindAllStringSubmatch(value, -1) {
			if err := secret.CheckName("http.config."+name, found[1]); err != nil {
				return err
			}
		}
	}
	text, err := h.text()
	if err != nil {
		return err
	}
	m, err := manifest.Parse(nil, text)
	if err != nil {
		return err
	}
	_, err = h.chosen(m)
	return err
}

// text returns the manifest. It sets the defaults of the configuration that a recipe has. Errors: Invalid.
func (h *HTTP) text() (string, error) {
	if h.Recipe == "" {
		return h.Manifest, nil
	}
	if h.Manifest != "" {
		return "", fault.Field("http.manifest", "cannot be given with a recipe")
	}
	r, err := recipe.Get(h.Recipe)
	if err != nil {
		return "", err
	}
	return r.Manifest, r.Check(h.Config)
}

// Recipe is a manifest of the service, with the names of its streams.
type Recipe struct {
	recipe.Recipe

	Streams []string
}

// Recipes returns the recipes in the order of their names. Errors: Denied.
func (s *Service) Recipes(ctx context.Context) ([]Recipe, error) {
	if _, _, err := s.manage(ctx); err != nil {
		return nil, err
	}
	list, err := recipe.List()
	if err != nil {
		return nil, err
	}
	all := make([]Recipe, len(list))
	for i, r := range list {
		m, err := manifest.Parse(nil, r.Manifest)
		if err != nil {
			return nil, err
		}
		all[i].Recipe = r
		for _, s := range m.Streams {
			all[i].Streams = append(all[i].Streams, s.Name)
		}
	}
	return all, nil
}

// chosen returns the streams that are read. Errors: Invalid for the name of one that does not exist.
func (h *HTTP) chosen(m *manifest.Manifest) ([]*manifest.Stream, error) {
	if len(h.Streams) == 0 {
		return m.Streams, nil
	}
	var chosen []*manifest.Stream
	var known []string
	for _, s := range m.Streams {
		known = append(known, s.Name)
		if slices.Contains(h.Streams, s.Name) {
			chosen = append(chosen, s)
		}
	}
	for _, name := range h.Streams {
		if !slices.Contains(known, name) {
			return nil, fault.Field("http.streams", "there is no stream %q; there are %s", textlimit.OneLine(name, maxMetadataName), strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

// config returns the configuration with the defaults of the recipe, and the names of values with secrets.
func (h *HTTP) config() (values map[string]string, secrets map[string][]string) {
	values, secrets = map[string]string{}, map[string][]string{}
	if r, err := recipe.Get(h.Recipe); err == nil {
		maps.Copy(values, r.Defaults())
	}
	maps.Copy(values, h.Config)
	for name, value := range values {
		for _, found := range secretReference.FindAllStringSubmatch(value, -1) {
			secrets[name] = append(secrets[name], found[1])
		}
	}
	return values, secrets
}

// checkHTTP checks the expressions of a manifest, and whether its requests may go to their addresses with the
// secrets that they name. Errors: Invalid; Denied; NotFound; Precondition.
func (s *Service) checkHTTP(ctx context.Context, h *HTTP) error {
	x, err := s.openHTTP(ctx, h, walking{guard: s.Guard})
	if err != nil {
		return err
	}
	for _, requester := range x.requesters() {
		to, err := x.base(ctx, requester, x.scope())
		if err != nil {
			continue // it depends on records
		}
		if err := s.Guard.CheckURL("http.manifest url", (&url.URL{Scheme: to.Scheme, Host: to.Host}).String()); err != nil {
			return err
		}
		templates, to, err := x.credentials(ctx, requester, to)
		if err != nil {
			return err
		}
		for _, t := range templates {
			for _, name := range t.Config() {
				if err := s.Secrets.CheckUse(ctx, x.secrets[name], to); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// openHTTP returns a walk of an API that has read nothing yet. Errors: Invalid.
func (s *Service) openHTTP(ctx context.Context, h *HTTP, w walking) (*apiWalk, error) {
	w.manifests = s.manifests
	return h.open(ctx, w)
}
