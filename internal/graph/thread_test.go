package graph_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/graph"
)

// Emails whose texts have no word in common: only their headers say that each answers
// another.
var thread = map[string]string{
	"fees":  "Subject: Winter fees\nMessage-ID: <20261103T0812-77ab-4c1e-9d02-51f0aa38@post.harbour.example.org>\n\nEverybody pays double.",
	"rafts": "Subject: Exemptions\nMessage-ID: <2@example.org>\nIn-Reply-To: <20261103T0812-77ab-4c1e-9d02-51f0aa38@post.harbour.example.org>\n\nNot rafts, surely?",
	"logs": "Subject: Definitions\nMessage-ID: <3@example.org>\nIn-Reply-To: <2@example.org>\n" +
		"References: <20261103T0812-77ab-4c1e-9d02-51f0aa38@post.harbour.example.org> <2@example.org>\n\nLogs count too.",
	"other": "Subject: Herring\nMessage-ID: <9@example.org>\nIn-Reply-To: <8@example.org>\n\nIt smells.",
}

func TestEmailsLeadToWhatTheyAnswer(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"fees", "rafts", "logs", "other"}, {"other", "logs", "rafts", "fees"}} {
		t.Run(strings.Join(order, " "), func(t *testing.T) {
			t.Parallel()
			g := newTestGraph(t)
			for _, uri := range order {
				d := g.client.Upload(t, &ragdv1.UploadDocumentRequest{
					Uri: uri, ContentType: "message/rfc822", Source: &ragdv1.UploadDocumentRequest_Text{Text: thread[uri]},
				})
				if d.Status != "ready" {
					t.Fatalf("%s is %s: %s", uri, d.Status, d.Error)
				}
			}
			const question = "What are definitions?"
			want := []string{"logs", "fees", "rafts"} // the first is answered by both others
			if got := g.walked(t, question); !slices.Equal(got, want) {
				t.Errorf("the walk leads to %v, want %v", got, want)
			}
			if err := graph.Rebuild(t.Context(), g.handle, g.index, func(int) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if got := g.walked(t, question); !slices.Equal(got, want) {
				t.Errorf("after a rebuild the walk leads to %v, want %v", got, want)
			}
		})
	}
}

func TestAnUploadersFieldOfThatNameDoesNoHarm(t *testing.T) {
	t.Parallel()
	g := newTestGraph(t)
	for uri, file := range map[string]any{
		"text": "report.pdf", "list": []any{1, 2}, "object": map[string]any{"messageId": 7, "inReplyTo": nil, "references": []any{nil, map[string]any{}}},
	} {
		metadata, err := structpb.NewStruct(map[string]any{"file": file})
		if err != nil {
			t.Fatal(err)
		}
		d := g.client.Upload(t, &ragdv1.UploadDocumentRequest{Uri: uri, Title: uri, Metadata: metadata, Source: &ragdv1.UploadDocumentRequest_Text{Text: "It is here."}})
		if d.Status != "ready" {
			t.Errorf("%s is %s: %s", uri, d.Status, d.Error)
		}
	}
	if err := graph.Rebuild(t.Context(), g.handle, g.index, func(int) error { return nil }); err != nil {
		t.Error(err)
	}
}
