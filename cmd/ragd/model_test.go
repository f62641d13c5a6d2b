package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
)

func TestModelCommandsDescribeAFolderOfModels(t *testing.T) {
	t.Parallel()
	const models = "../../internal/model/localmodel/testdata/models"
	run := func(code int, args ...string) string {
		var out, errs bytes.Buffer
		p := &program{
			Program: command.Program{
				Stdin: strings.NewReader(""), Out: output.Printer{Stdout: &out, Stderr: &errs},
				Getenv: func(string) string { return "" },
			},
			environ: func() []string { return nil },
		}
		if got := p.run(t.Context(), append([]string{"model"}, args...)); got != code {
			t.Errorf("%v exits with %d: %s", args, got, errs.String())
		}
		return out.String() + errs.String()
	}
	for command, wants := range map[string][]string{
		"list":             {"local/bert-mean ", "cross-encoder", "distilbert"},
		"check cross-bert": {"cross-encoder, bert", "64 tokens"},
	} {
		got := run(0, append(strings.Fields(command), "--models-dir", models)...)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s prints no %q:\n%s", command, want, got)
			}
		}
	}
	if got := run(1, "check", "none", "--models-dir", models); !strings.Contains(got, "no such file") {
		t.Errorf("a folder that is not there: %s", got)
	}
	if got := run(1, "pull", "team/tiny", "--models-dir", t.TempDir(), "--model-hub", "http://127.0.0.1:1"); !strings.Contains(got, "copy the folder") {
		t.Errorf("a hub that does not answer: %s", got)
	}
	if got := run(0, "list", "--models-dir", t.TempDir()); !strings.Contains(got, "ragd model pull") {
		t.Errorf("an empty folder: %s", got)
	}
}
