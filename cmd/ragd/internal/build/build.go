// Package build describes the binary: its version, and what it was built from.
package build

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
)

// Release is the release that this code is, or becomes. `make snapshot` names its packages after it.
const Release = "0.1.0"

// Info describes the binary.
type Info struct {
	Version  string `json:"version"` // without a v, such as 0.1.0
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // of the revision
	Modified bool   `json:"modified"`       // built with uncommitted changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read returns the build information that the Go toolchain embedded.
func Read() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Info{Version: Release}
	}
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	return Info{
		Version:  version(info.Main.Version),
		Revision: setting["vcs.revision"],
		Time:     setting["vcs.time"],
		Modified: setting["vcs.modified"] == "true",
		Go:       info.GoVersion,
		Platform: setting["GOOS"] + "/" + setting["GOARCH"],
	}
}

// pseudo matches the versions that the go command makes up for a commit without a tag of its own.
var pseudo = regexp.MustCompile(`[-.]\d{14}-[0-9a-f]{12}(\+|$)`)

// version returns the tag of the code, which the go command embeds, or Release if there is none.
func version(module string) string {
	tag, ok := strings.CutPrefix(module, "v")
	if !ok || pseudo.MatchString(tag) { // (devel), or empty
		return Release
	}
	return tag
}

// String returns the description in one line.
func (i Info) String() string {
	text := fmt.Sprintf("ragd %s", i.Version)
	if i.Revision != "" {
		text += " " + i.Revision[:min(len(i.Revision), 12)]
		if i.Modified {
			text += " with changes"
		}
	}
	return text + ", " + i.Go + ", " + i.Platform
}
