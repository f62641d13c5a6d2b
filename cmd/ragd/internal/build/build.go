// Package build describes the binary: its version, and what it was built from.
package build

import (
	"fmt"
	"runtime/debug"
)

// Info describes the binary.
type Info struct {
	Version  string `json:"version"`
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
		return Info{Version: "unknown"}
	}
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	return Info{
		Version:  info.Main.Version,
		Revision: setting["vcs.revision"],
		Time:     setting["vcs.time"],
		Modified: setting["vcs.modified"] == "true",
		Go:       info.GoVersion,
		Platform: setting["GOOS"] + "/" + setting["GOARCH"],
	}
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
