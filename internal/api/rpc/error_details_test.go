package rpc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// A client that knows none of the types of details gets them by reflection and decodes
// the details of errors, over Connect, gRPC and gRPC-Web.
func TestErrorDetailsAreDecodableByReflection(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme").Index(t, "docs")
	reader := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}})
	types := reflected(t, s.URL, "google.rpc.BadRequest", "google.rpc.RetryInfo", "google.rpc.ErrorInfo")
	for name, options := range map[string][]connect.ClientOption{
		"Connect":      nil,
		"Connect JSON": {connect.WithProtoJSON()},
		"gRPC":         {connect.WithGRPC()},
		"gRPC-Web":     {connect.WithGRPCWeb()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, info := connect.NewClientContext(t.Context())
			info.RequestHeader().Set("Authorization", "Bearer "+reader)
			_, wrong := ragdv1connect.NewQueryServiceClient(h2c, s.URL, options...).VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "a", TopK: proto.Int32(5000)})
			_, lacking := ragdv1connect.NewIndexServiceClient(h2c, s.URL, options...).CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "b"})
			for _, tc := range []struct {
				err  error
				want string
			}{
				{wrong, `{"fieldViolations":[{"field":"topK","description":"must be between 1 and 1000, got 5000"}]}`},
				{lacking, `{"reason":"INSUFFICIENT_SCOPE","domain":"ragd","metadata":{"scope":"write"}}`},
			} {
				if got := decodedDetails(t, types, tc.err); got != tc.want {
					t.Errorf("%v: details %s, want %s", tc.err, got, tc.want)
				}
			}
		})
	}
}

// reflected returns the named messages as the service's reflection defines them.
func reflected(t *testing.T, address string, names ...protoreflect.FullName) map[string]protoreflect.MessageDescriptor {
	t.Helper()
	stream := grpcreflect.NewClient(h2c, address, connect.WithGRPC()).NewStream(t.Context())
	defer func() { _, _ = stream.Close() }()
	files := map[string]*descriptorpb.FileDescriptorProto{}
	for _, name := range names {
		found, err := stream.FileContainingSymbol(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, file := range found {
			files[file.GetName()] = file
		}
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, file := range files {
		set.File = append(set.File, file)
	}
	registry, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]protoreflect.MessageDescriptor{}
	for _, name := range names {
		found, err := registry.FindDescriptorByName(name)
		if err != nil {
			t.Fatal(err)
		}
		types[string(name)] = found.(protoreflect.MessageDescriptor)
	}
	return types
}

// decodedDetails returns the details of an error as JSON.
func decodedDetails(t *testing.T, types map[string]protoreflect.MessageDescriptor, err error) string {
	t.Helper()
	wired := new(connect.Error)
	if !errors.As(err, &wired) {
		t.Fatalf("error %v", err)
	}
	var all []string
	for _, detail := range wired.Details() {
		if types[detail.Type()] == nil {
			t.Fatalf("unknown detail %s", detail.Type())
		}
		message := dynamicpb.NewMessage(types[detail.Type()])
		if err := proto.Unmarshal(detail.Bytes(), message); err != nil {
			t.Fatal(err)
		}
		raw, err := protojson.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		var compact bytes.Buffer // protojson adds spaces at random
		if err := json.Compact(&compact, raw); err != nil {
			t.Fatal(err)
		}
		all = append(all, compact.String())
	}
	return strings.Join(all, " ")
}
