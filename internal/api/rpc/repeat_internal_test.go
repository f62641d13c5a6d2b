package rpc

import (
	"maps"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Every method is classified by its descriptor: what changes something and has one answer is made once,
// and of each stream that changes something is said what to call instead.
func TestEveryMethodHasAnEffect(t *testing.T) {
	t.Parallel()
	var streams, secrets []string
	for path, call := range procedures() {
		spec := connect.Spec{Procedure: path}
		if call.reads {
			spec.IdempotencyLevel = connect.IdempotencyNoSideEffects
		}
		if call.method.IsStreamingServer() {
			spec.StreamType |= connect.StreamTypeServer
		}
		if call.method.IsStreamingClient() {
			spec.StreamType |= connect.StreamTypeClient
		}
		switch effect := effectOf(spec); {
		case slices.Contains(tells, path) && (!call.streams || call.reads):
			t.Errorf("%s is listed among the streams that change nothing, and is none", path)
		case effect == none != (call.reads || slices.Contains(tells, path)):
			t.Errorf("%s: a second call does no harm: %v", path, effect == none)
		case effect == flows:
			streams = append(streams, path)
		}
		if showsSecret(call.method.Output()) {
			secrets = append(secrets, string(call.method.Name()))
		}
	}
	slices.Sort(streams)
	if want := slices.Sorted(maps.Keys(insteadOf)); !slices.Equal(streams, want) {
		t.Errorf("streams that change something are %q: insteadOf has %q", streams, want)
	}
	slices.Sort(secrets)
	if want := []string{"AuthorizeConnector", "CreateApiKey", "CreateHook", "RotateHookSecret"}; !slices.Equal(secrets, want) {
		t.Errorf("answers with secrets are those of %q, want %q", secrets, want)
	}
}

// An answer has no field whose name is that of a secret, unless it is marked as one.
func TestSecretsInAnswersAreMarked(t *testing.T) {
	t.Parallel()
	for path, call := range procedures() {
		if showsSecret(call.method.Output()) {
			continue
		}
		for i := range call.method.Output().Fields().Len() {
			field := call.method.Output().Fields().Get(i)
			if field.Kind() == protoreflect.StringKind && field.Name() == "secret" {
				t.Errorf("%s: the field %s is not marked debug_redact", path, field.FullName())
			}
		}
	}
}
