package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/ragdhq/ragd/gen/ragd/v1" // registers the API's descriptors
)

// Bodies that are small on the wire and large in memory. A call may be refused or be
// answered; the service must stay below its limit of memory.

const (
	// maxMessage is the documented limit of a message, in bytes.
	maxMessage = 32 << 20
	// together is the number of requests that arrive at once.
	together = 4
)

// sizeAttacks returns the attacks with small bodies that need much memory.
func sizeAttacks() []attack {
	return []attack{
		stranger("health-json", "4x 1 GB of A as gzip'd JSON to the health service, without a key", "application/json"),
		stranger("health-proto", "4x 1 GB of A as gzip'd protobuf to the health service, without a key", "application/proto"),
		{name: "reflection", what: "4x 1 GB of A as gzip'd gRPC message to the reflection service, without a key", run: bombReflection},
		elements("rerank-proto", "QueryService/Rerank", "results"),
		elements("sync-proto", "DocumentService/SyncSource", "documents"),
		elements("embed-proto", "QueryService/Embed", "texts"),
		elementsJSON("rerank-json", "QueryService/Rerank", `{"queryText":"a","results":[`, "{}", "]}"),
		elementsJSON("embed-json", "QueryService/Embed", `{"texts":[`, `""`, "]}"),
		elementsJSON("filter-json", "QueryService/VectorQuery", `{"queryText":"a","indexName":"docs","filter":{"team":{"$in":[`, "0", "]}}}"),
		{name: "every-field-proto", what: "32 MiB of empty elements in each repeated field of each RPC, gzip'd protobuf, with an admin key", run: bombEveryField},
		{name: "rerank-mcp", what: "4x 31 MiB of empty results to the tool rerank, with a read key", run: bombMCP},
	}
}

// stranger returns an attack on the health service.
func stranger(name, what, contentType string) attack {
	return attack{name: name, what: what, run: func(ctx context.Context, s *arena) (result, error) {
		body := gigabyte()
		return reject(times(together, func(int) answer {
			return s.send(ctx, http.MethodPost, "/grpc.health.v1.Health/Check", "", body,
				"Content-Type", contentType, "Content-Encoding", "gzip")
		})), nil
	}}
}

// gigabyte returns a gzip'd GB of A. As protobuf it is a list of unknown fields.
func gigabyte() []byte {
	return zip(func(w io.Writer) { repeat(w, "AAAAAAAAA", 1_000_000_000/9) })
}

// bombReflection calls the reflection service, which takes a stream and so needs HTTP/2.
func bombReflection(ctx context.Context, s *arena) (result, error) {
	body := gigabyte()
	message := append([]byte{1}, binary.BigEndian.AppendUint32(nil, uint32(len(body)))...) // 1: compressed
	message = append(message, body...)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return reject(times(together, func(int) answer {
		start := time.Now()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", bytes.NewReader(message))
		if err != nil {
			return answer{code: "no answer", text: err.Error()}
		}
		req.Header.Set("Content-Type", "application/grpc")
		req.Header.Set("Grpc-Encoding", "gzip")
		res, err := transport.RoundTrip(req)
		if err != nil {
			return answer{code: "no answer", text: err.Error(), took: time.Since(start)}
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return answer{code: "gRPC status " + res.Header.Get("Grpc-Status") + res.Trailer.Get("Grpc-Status"), took: time.Since(start)}
	})), nil
}

// elements returns an attack with as many empty elements of a repeated field as a message
// may hold.
func elements(name, procedure, field string) attack {
	method := strings.Split(procedure, "/")
	what := fmt.Sprintf("4x 16.7 million empty %s to %s as 32 KB of gzip'd protobuf, with a write key", field, method[1])
	return attack{name: name, what: what, run: func(ctx context.Context, s *arena) (result, error) {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("ragd.v1." + method[0]))
		if err != nil {
			return result{}, err
		}
		request := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method[1])).Input()
		body := bomb([]protoreflect.FieldDescriptor{request.Fields().ByName(protoreflect.Name(field))})
		return reject(times(together, func(int) answer { return s.sendZipped(ctx, s.attacker.write, procedure, "application/proto", body) })), nil
	}}
}

// elementsJSON returns an attack with as many elements as a message of JSON may hold.
func elementsJSON(name, procedure, start, element, end string) attack {
	what := fmt.Sprintf("4x 32 MB of gzip'd JSON %s%s,%s,... to %s, with a read key", start, element, element, procedure)
	return attack{name: name, what: strings.ReplaceAll(what, "|", "/"), run: func(ctx context.Context, s *arena) (result, error) {
		body := zip(func(w io.Writer) {
			fmt.Fprint(w, start)
			repeat(w, element+",", (maxMessage-1024)/(len(element)+1))
			fmt.Fprint(w, element+end)
		})
		return reject(times(together, func(int) answer { return s.sendZipped(ctx, s.attacker.read, procedure, "application/json", body) })), nil
	}}
}

// sendZipped calls a procedure with a gzip'd body.
func (s *arena) sendZipped(ctx context.Context, key, procedure, contentType string, body []byte, headers ...string) answer {
	headers = append([]string{"Content-Type", contentType, "Content-Encoding", "gzip"}, headers...)
	return s.send(ctx, http.MethodPost, "/ragd.v1."+procedure, key, body, headers...)
}

// bomb returns a gzip'd message with empty elements in the repeated field at the end of a
// path of fields.
func bomb(path []protoreflect.FieldDescriptor) []byte {
	last := path[len(path)-1]
	element := string(protowire.AppendBytes(protowire.AppendTag(nil, last.Number(), protowire.BytesType), nil))
	if last.IsMap() { // entries without a key would be one entry
		element = string(protowire.AppendBytes(protowire.AppendTag(nil, last.Number(), protowire.BytesType), []byte{10, 0}))
	}
	const headers = 64 // room for the tags and lengths of the outer messages
	n := (maxMessage - headers) / len(element)
	var outer []byte
	size := n * len(element)
	for i := len(path) - 2; i >= 0; i-- { // from the inside
		head := protowire.AppendVarint(protowire.AppendTag(nil, path[i].Number(), protowire.BytesType), uint64(size))
		outer = append(head, outer...)
		size += len(head)
	}
	return zip(func(w io.Writer) {
		_, _ = w.Write(outer)
		repeat(w, element, n)
	})
}

// bombEveryField sends a bomb to every repeated field of every unary RPC, one after
// another.
func bombEveryField(ctx context.Context, s *arena) (result, error) {
	var answers []answer
	for _, method := range unaryMethods() {
		procedure := fmt.Sprintf("%s/%s", method.Parent().Name(), method.Name())
		for _, path := range repeatedFields(method.Input(), nil) {
			bounded, cancel := context.WithTimeout(ctx, 90*time.Second)
			a := s.sendZipped(bounded, s.attacker.admin, procedure, "application/proto", bomb(path))
			cancel()
			answers = append(answers, a)
			if !s.Alive() {
				r := reject(answers)
				r.breaks("it died at %s, field %s", procedure, path[len(path)-1].FullName())
				return r, nil
			}
		}
	}
	return reject(answers), nil
}

// unaryMethods returns the API's RPCs that are not streams.
func unaryMethods() []protoreflect.MethodDescriptor {
	var found []protoreflect.MethodDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("ragd.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				if m := methods.Get(j); !m.IsStreamingClient() && !m.IsStreamingServer() {
					found = append(found, m)
				}
			}
		}
		return true
	})
	return found
}

// repeatedFields returns the paths to the repeated fields of messages and texts, through
// at most three messages.
func repeatedFields(message protoreflect.MessageDescriptor, path []protoreflect.FieldDescriptor) [][]protoreflect.FieldDescriptor {
	const depth = 3
	var found [][]protoreflect.FieldDescriptor
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		at := append(path[:len(path):len(path)], field)
		switch {
		case field.IsList() && field.Kind() != protoreflect.MessageKind && field.Kind() != protoreflect.StringKind && field.Kind() != protoreflect.BytesKind:
		case field.IsList() || field.IsMap():
			found = append(found, at)
		case field.Message() != nil && len(at) < depth:
			found = append(found, repeatedFields(field.Message(), at)...)
		}
	}
	return found
}

// bombMCP calls the tool rerank with empty results.
func bombMCP(ctx context.Context, s *arena) (result, error) {
	var body bytes.Buffer
	body.WriteString(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rerank","_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern +
		`","io.modelcontextprotocol/clientInfo":{"name":"attack","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"arguments":{"queryText":"a","results":[`)
	repeat(&body, "{},", 31<<20/3)
	body.WriteString("{}]}}}")
	return reject(times(together, func(int) answer {
		return s.send(ctx, http.MethodPost, "/mcp", s.attacker.read, body.Bytes(), mcpHeaders("tools/call", "rerank")...)
	})), nil
}
