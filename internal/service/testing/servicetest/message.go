package servicetest

import (
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// Text returns a text as the source of an upload.
func Text(s string) *ragdv1.UploadDocumentRequest_Text {
	return &ragdv1.UploadDocumentRequest_Text{Text: s}
}

// Object returns a JSON object as a field of a message.
func Object(t testing.TB, fields map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// WantCode fails the test unless err has the code.
func WantCode(t testing.TB, what string, err error, want connect.Code) {
	t.Helper()
	if got := connect.CodeOf(err); err == nil || got != want {
		t.Errorf("%s: error %v, want code %v", what, err, want)
	}
}
