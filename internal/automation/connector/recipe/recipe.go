// Package recipe has the manifests of well-known web APIs, one file each. A recipe is data: it needs a
// configuration and nothing else to become a connector.
package recipe

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

//go:embed *.yaml
var files embed.FS

// maxShown bounds a name in an error, in bytes.
const maxShown = 100

// Recipe is the manifest of an API.
type Recipe struct {
	Name        string
	Description string
	Manifest    string
	Parameters  []Parameter // in the order of their names
}

// Parameter is a value of the configuration of a recipe.
type Parameter struct {
	Name        string
	Description string
	Default     string
	Required    bool
	Secret      bool // it is to be {{secrets.NAME}}
}

// file is what is read of a manifest beside its streams. The specification is that of Airbyte's manifests.
type file struct {
	Description string `yaml:"description"`
	Spec        struct {
		Connection struct {
			Required   []string `yaml:"required"`
			Properties map[string]struct {
				Description string `yaml:"description"`
				Default     string `yaml:"default"`
				Secret      bool   `yaml:"airbyte_secret"`
			} `yaml:"properties"`
		} `yaml:"connection_specification"`
	} `yaml:"spec"`
}

// all reads the recipes once.
var all = sync.OnceValues(func() (map[string]Recipe, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	recipes := map[string]Recipe{}
	for _, entry := range entries {
		raw, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil, err
		}
		var f file
		if err := yaml.Unmarshal(raw, &f); err != nil {
			return nil, fmt.Errorf("recipe %s: %w", entry.Name(), err)
		}
		r := Recipe{Name: strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())), Description: strings.TrimSpace(f.Description), Manifest: string(raw)}
		for _, name := range slices.Sorted(maps.Keys(f.Spec.Connection.Properties)) {
			p := f.Spec.Connection.Properties[name]
			r.Parameters = append(r.Parameters, Parameter{
				Name: name, Description: p.Description, Default: p.Default, Secret: p.Secret, Required: slices.Contains(f.Spec.Connection.Required, name),
			})
		}
		recipes[r.Name] = r
	}
	return recipes, nil
})

// List returns the recipes in the order of their names.
func List() ([]Recipe, error) {
	recipes, err := all()
	if err != nil {
		return nil, err
	}
	list := make([]Recipe, 0, len(recipes))
	for _, name := range slices.Sorted(maps.Keys(recipes)) {
		list = append(list, recipes[name])
	}
	return list, nil
}

// Get returns a recipe. Errors: Invalid for a name that does not exist.
func Get(name string) (Recipe, error) {
	recipes, err := all()
	if err != nil {
		return Recipe{}, err
	}
	r, ok := recipes[name]
	if !ok {
		return Recipe{}, fault.Field("http.recipe", "there is no recipe %q; there are %s", textlimit.OneLine(name, maxShown), strings.Join(slices.Sorted(maps.Keys(recipes)), ", "))
	}
	return r, nil
}

// Defaults returns the defaults of the configuration.
func (r Recipe) Defaults() map[string]string {
	values := map[string]string{}
	for _, p := range r.Parameters {
		if p.Default != "" {
			values[p.Name] = p.Default
		}
	}
	return values
}

// Check checks whether a configuration has what the recipe needs, and nothing else. Errors: Invalid.
func (r Recipe) Check(config map[string]string) error {
	known := map[string]bool{}
	for _, p := range r.Parameters {
		known[p.Name] = true
		value := config[p.Name]
		switch {
		case p.Required && value == "":
			return fault.Field("http.config."+p.Name, "is missing: %s", p.Description)
		case p.Secret && value != "" && !strings.Contains(value, "{{"):
			return fault.Field("http.config."+p.Name, "must name a secret, such as {{secrets.%s}}, which `ragd secret set` stores", r.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if !known[name] {
			return fault.Field("http.config."+textlimit.OneLine(name, maxShown), "is not known to the recipe %s; it has %s", r.Name, strings.Join(r.names(), ", "))
		}
	}
	return nil
}

func (r Recipe) names() (names []string) {
	for _, p := range r.Parameters {
		names = append(names, p.Name)
	}
	return names
}
