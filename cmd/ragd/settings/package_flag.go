package settings

import "github.com/ragdhq/ragd/internal/tool/server"

// packageFlag is a flag whose value is a package of a registry.
type packageFlag struct{ to **server.Package }

func (f packageFlag) String() string { return "" }
func (f packageFlag) Type() string   { return "PACKAGE" }

func (f packageFlag) Set(text string) error {
	parsed, err := server.ParsePackage(text)
	if err == nil {
		*f.to = &parsed
	}
	return err
}
