package toolset

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// noAPI is an API that is not called.
type noAPI struct{ API }

// builtin returns the builtin tools by name.
func builtin(t testing.TB) map[string]*tool {
	t.Helper()
	s, err := New(Config{API: noAPI{}})
	if err != nil {
		t.Fatal(err)
	}
	return s.builtin
}

// The schemas have exactly the fields of the messages, so that a new field of the API is
// offered here or left out on purpose.
func TestSchemasFollowTheMessages(t *testing.T) {
	t.Parallel()
	for name, messages := range map[string]struct{ in, out proto.Message }{
		"vector_query":     {&ragdv1.VectorQueryRequest{}, &ragdv1.VectorQueryResponse{}},
		"graph_rag":        {&ragdv1.GraphRagRequest{}, &ragdv1.GraphRagResponse{}},
		"count_chunks":     {&ragdv1.CountChunksRequest{}, &ragdv1.CountChunksResponse{}},
		"list_tables":      {&ragdv1.ListTablesRequest{}, &ragdv1.ListTablesResponse{}},
		"query_table":      {&ragdv1.QueryTableRequest{}, &ragdv1.QueryTableResponse{}},
		"list_topics":      {&ragdv1.ListTopicsRequest{}, &ragdv1.ListTopicsResponse{}},
		"research":         {&ragdv1.ResearchRequest{}, &ragdv1.ResearchResponse{}},
		"rerank":           {&ragdv1.RerankRequest{}, &ragdv1.RerankResponse{}},
		"list_indexes":     {&ragdv1.ListIndexesRequest{}, &ragdv1.ListIndexesResponse{}},
		"describe_index":   {&ragdv1.DescribeIndexRequest{}, &ragdv1.Index{}},
		"upload_document":  {&ragdv1.UploadDocumentRequest{}, &ragdv1.UploadDocumentResponse{}},
		"get_document":     {&ragdv1.GetDocumentRequest{}, &ragdv1.Document{}},
		"list_documents":   {&ragdv1.ListDocumentsRequest{}, &ragdv1.ListDocumentsResponse{}},
		"delete_document":  {&ragdv1.DeleteDocumentRequest{}, &ragdv1.DeleteDocumentResponse{}},
		"delete_documents": {&ragdv1.DeleteDocumentsRequest{}, &ragdv1.DeleteDocumentsResponse{}},
		"get_job":          {&ragdv1.GetJobRequest{}, &ragdv1.Job{}},
		"sync_source":      {&ragdv1.SyncSourceRequest{}, &ragdv1.SyncSourceResponse{}},
		"record_feedback":  {&ragdv1.RecordFeedbackRequest{}, &ragdv1.RecordFeedbackResponse{}},
		"remember":         {&ragdv1.RememberRequest{}, &ragdv1.Memory{}},
		"recall":           {&ragdv1.RecallRequest{}, &ragdv1.RecallResponse{}},
		"forget":           {&ragdv1.ForgetRequest{}, &ragdv1.ForgetResponse{}},
		"cancel_job":       {&ragdv1.CancelJobRequest{}, &ragdv1.Job{}},
		"document_chunker": {&ragdv1.ChunkTextRequest{}, &ragdv1.ChunkTextResponse{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := builtin(t)[name]
			var in, out any
			if err := errors.Join(json.Unmarshal(tool.input.Whole(), &in), json.Unmarshal(tool.output.Whole(), &out)); err != nil {
				t.Fatal(err)
			}
			compareFields(t, "input", in, messages.in.ProtoReflect().Descriptor())
			compareFields(t, "output", out, messages.out.ProtoReflect().Descriptor())
		})
	}
}

// The tool alerts takes the fields of the requests of its actions, and returns those of their answers.
func TestTheSchemaOfAlertsFollowsItsActions(t *testing.T) {
	t.Parallel()
	tool := builtin(t)["alerts"]
	for side, c := range map[string]struct {
		schema   []byte
		own      string
		messages []proto.Message
	}{
		"input": {tool.input.Whole(), "action", []proto.Message{
			&ragdv1.PreviewAlertRequest{}, &ragdv1.CreateAlertRequest{}, &ragdv1.ListAlertsRequest{}, &ragdv1.ListAlertMatchesRequest{}, &ragdv1.UpdateAlertRequest{}, &ragdv1.DeleteAlertRequest{},
		}},
		"output": {tool.output.Whole(), "", []proto.Message{
			&ragdv1.PreviewAlertResponse{}, &ragdv1.Alert{}, &ragdv1.ListAlertsResponse{}, &ragdv1.ListAlertMatchesResponse{}, &ragdv1.DeleteAlertResponse{},
		}},
	} {
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(c.schema, &schema); err != nil {
			t.Fatal(err)
		}
		delete(schema.Properties, c.own)
		wanted := map[string]bool{}
		for _, message := range c.messages {
			for _, name := range jsonNames(message.ProtoReflect().Descriptor().Fields()) {
				wanted[name] = true
			}
		}
		got, want := slices.Sorted(maps.Keys(schema.Properties)), slices.Sorted(maps.Keys(wanted))
		if !slices.Equal(got, want) {
			t.Errorf("the %s has %q, the messages have %q", side, got, want)
		}
	}
}

func compareFields(t *testing.T, path string, schema any, message protoreflect.MessageDescriptor) {
	t.Helper()
	described, _ := lookup(schema, "properties").(map[string]any)
	fields := map[string]bool{}
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		name := field.JSONName()
		fields[name] = true
		property, ok := described[name]
		if !ok {
			t.Errorf("%s.%s is in the message and not in the schema", path, name)
			continue
		}
		if field.IsList() {
			property = lookup(property, "items")
		}
		// Free-form objects in a schema, such as metadata or an index's chunking, have no
		// properties to compare, and free-form messages have no fields.
		if field.Message() != nil && field.Message().FullName() != "google.protobuf.Struct" && lookup(property, "properties") != nil {
			compareFields(t, path+"."+name, property, field.Message())
		}
	}
	for name := range described {
		if !fields[name] && name != waitArgument && name != queriesArgument && name != answersField { // of the tool itself
			t.Errorf("%s.%s is in the schema and not in the message", path, name)
		}
	}
}
