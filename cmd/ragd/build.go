package main

import (
	"fmt"
	"runtime/debug"
)

// build describes the binary.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // of the revision
	Modified bool   `json:"modified"`       // built with uncommitted changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// readBuild returns the build information that the Go toolchain embedded.
func readBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{Version: "unknown"}
	}
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	return build{
		Version:  info.Main.Version,
		Revision: setting["vcs.revision"],
		Time:     setting["vcs.time"],
		Modified: setting["vcs.modified"] == "true",
		Go:       info.GoVersion,
		Platform: setting["GOOS"] + "/" + setting["GOARCH"],
	}
}

func (b build) String() string {
	text := fmt.Sprintf("ragd %s", b.Version)
	if b.Revision != "" {
		text += " " + b.Revision[:min(len(b.Revision), 12)]
		if b.Modified {
			text += " with changes"
		}
	}
	return text + ", " + b.Go + ", " + b.Platform
}
