package rpc_test

import (
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// A model is asked once for each topic.
func TestAModelTitlesTopics(t *testing.T) {
	t.Parallel()
	_, c, fake := extracting(t)
	fake.Chat = func(modelserver.Chat) string { return `{"title": "The vault", "summary": "Where ledgers lie."}` }
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "main", Graph: &ragdv1.GraphSettings{TopicModel: "openai/gpt-5-mini"}})
	if err != nil {
		t.Fatal(err)
	}
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "main", Uri: "a", Source: servicetest.Text("Ledger Nine lies in the vault.")})
	list := listTopics(t, c)
	if len(list.Topics) != 1 || list.Topics[0].Title != "The vault" || list.Topics[0].Summary != "Where ledgers lie." {
		t.Fatalf("topics %v", list)
	}
	if asked := len(fake.Requests()); asked != 1 {
		t.Errorf("the model was asked %d times for one topic", asked)
	}
	_, err = c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "main", Graph: &ragdv1.GraphSettings{TopicModel: "gpt"}})
	servicetest.WantCode(t, "a model without a provider", err, connect.CodeInvalidArgument)
}
