package query_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// asked is a question of examples/questions.jsonl with the documents that answer it.
type asked struct {
	ID, Text string
	URIs     []string
}

// handbookRanks has for each question the documents that answer it, and the rank of the
// first chunk of each. docs/explanation/retrieval.md shows them.
const handbookRanks = `h01  product/hold-mode.md 10  reference/fault-codes.json 8
h02  product/ammonia.md 3  operations/on-call.md 2  operations/care-plans.md 4
h03  operations/incident-quiet-fans.md 1
h04  product/probe-calibration.md 1
h05  product/turner.md 4  reference/fault-codes.json 1
h06  operations/releasing-firmware.md 4  company/time-off.md 2
h07  reference/price-list.json 11  product/ammonia.md 1
h08  operations/field-visits.md 1
h09  product/local-interface.md 1
h10  reference/humidity-control.tex 1
h11  public/cleaning-day.html 1  product/ammonia.md 9
h12  company/meeting-notes-march.txt 4  product/overview.md 1
`

// TestHandbookQuestionsFindTheirAnswers ingests the handbook of examples/ and compares
// the ranks of the documents that answer its questions with handbookRanks.
func TestHandbookQuestionsFindTheirAnswers(t *testing.T) {
	t.Parallel()
	c := handbook(t)
	var got strings.Builder
	for _, q := range handbookQuestions(t) {
		topK := int32(100)
		res, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: q.Text, TopK: &topK})
		if err != nil {
			t.Fatal(err)
		}
		ranks := map[string]int{}
		for n := len(res.Sources) - 1; n >= 0; n-- {
			ranks[res.Sources[n].Uri] = n + 1
		}
		fmt.Fprint(&got, q.ID)
		for _, uri := range q.URIs {
			fmt.Fprintf(&got, "  %s %d", uri, ranks[uri])
		}
		fmt.Fprintln(&got)
	}
	if diff := cmp.Diff(handbookRanks, got.String()); diff != "" {
		t.Errorf("ranks (-want +got):\n%s", diff)
	}
}

// handbook returns a client of a tenant whose only index holds the handbook.
func handbook(t *testing.T) servicetest.Client {
	t.Helper()
	c := servicetest.New(t, service.Config{}).Tenant(t, "rindworks")
	c.Index(t, "handbook")
	folder := os.DirFS("../../examples/handbook")
	var documents []*ragdv1.UploadDocumentRequest
	err := fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(folder, path)
		documents = append(documents, &ragdv1.UploadDocumentRequest{
			IndexName: "handbook", Uri: path, Source: &ragdv1.UploadDocumentRequest_Content{Content: content},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c.UploadAll(t, documents)
	c.AwaitAll(t, "handbook")
	return c
}

func handbookQuestions(t *testing.T) (questions []asked) {
	t.Helper()
	content, err := os.ReadFile("../../examples/questions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(content) {
		var q asked
		if err := json.Unmarshal(line, &q); err != nil {
			t.Fatal(err)
		}
		questions = append(questions, q)
	}
	return questions
}
