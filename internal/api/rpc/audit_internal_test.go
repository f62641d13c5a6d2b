package rpc

import (
	"slices"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
)

// nameless are administrative actions on the whole tenant or service, whose requests need no name.
var nameless = []string{
	"/ragd.v1.TenantService/ReencryptSecrets", "/ragd.v1.TenantService/SetVectorStoreNames",
}

// recordedStreams are streams whose handlers record themselves; TestExportsAndImportsAreInTheAuditLog shows it.
var recordedStreams = []string{
	ragdv1connect.ArchiveServiceExportTenantProcedure, ragdv1connect.ArchiveServiceImportTenantProcedure,
}

// Every procedure that changes something is recorded with the name of its object, unless it is
// listed as one that works on content. Streams are not recorded, but for recordedStreams.
func TestActionsHaveObjects(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				if file.Package() != "ragd.v1" {
					continue
				}
				spec := connect.Spec{Procedure: "/" + string(service.FullName()) + "/" + string(m.Name())}
				if m.Options().(*descriptorpb.MethodOptions).GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS {
					spec.IdempotencyLevel = connect.IdempotencyNoSideEffects
				}
				if slices.Contains(content, spec.Procedure) {
					listed[spec.Procedure] = true
					if spec.IdempotencyLevel == connect.IdempotencyNoSideEffects {
						t.Errorf("%s is listed, but changes nothing", spec.Procedure)
					}
					continue
				}
				if !audited(spec) {
					continue
				}
				if slices.Contains(recordedStreams, spec.Procedure) {
					continue
				}
				if m.IsStreamingClient() || m.IsStreamingServer() {
					t.Errorf("%s is a stream, which is not recorded: list it as content, or record it", spec.Procedure)
				}
				named := slices.Contains(nameless, spec.Procedure)
				for k := range m.Input().Fields().Len() {
					field := m.Input().Fields().Get(k)
					named = named || isName(field) || field.Message() != nil && !field.IsList() && field.Message().Fields().ByName("name") != nil
				}
				if !named {
					t.Errorf("%s has no name or id in its request: what is it about?", spec.Procedure)
				}
			}
		}
		return true
	})
	for _, procedure := range content {
		if !listed[procedure] {
			t.Errorf("%s is listed as content, but does not exist", procedure)
		}
	}
}

// A record has names and ids, and of other fields no values.
func TestRecordsHaveNoValues(t *testing.T) {
	t.Parallel()
	eachRequest(t, func(m proto.Message) {
		r := m.ProtoReflect()
		for i := range r.Descriptor().Fields().Len() {
			field := r.Descriptor().Fields().Get(i)
			if field.Kind() == protoreflect.StringKind && field.Cardinality() != protoreflect.Repeated {
				r.Set(field, protoreflect.ValueOfString("value of "+string(field.Name())))
			}
		}
		names, others := namesIn(r)
		for name, value := range names {
			if value != "value of "+string(r.Descriptor().Fields().ByJSONName(name).Name()) || slices.Contains(others, name) {
				t.Errorf("%s: %s = %q", r.Descriptor().FullName(), name, value)
			}
		}
		for _, secret := range []string{"secret", "value", "apiKey", "url", "text", "password", "token"} {
			if _, ok := names[secret]; ok {
				t.Errorf("%s: the value of %s is recorded", r.Descriptor().FullName(), secret)
			}
		}
	})
}

// eachRequest calls do with an empty request of each procedure that is recorded.
func eachRequest(t *testing.T, do func(proto.Message)) {
	t.Helper()
	n := 0
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				input := file.Services().Get(i).Methods().Get(j).Input()
				message, err := protoregistry.GlobalTypes.FindMessageByName(input.FullName())
				if err != nil {
					t.Fatal(err)
				}
				do(message.New().Interface())
				n++
			}
		}
		return true
	})
	if n == 0 {
		t.Error("there are no procedures")
	}
}
