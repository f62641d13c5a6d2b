package randomcalls

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"golang.org/x/net/http2"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	_ "github.com/ragdhq/ragd/gen/ragd/v1" // registers the API's descriptors
)

// methods returns all methods of the API.
func methods() []protoreflect.MethodDescriptor {
	var found []protoreflect.MethodDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("ragd.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			all := file.Services().Get(i).Methods()
			for j := range all.Len() {
				found = append(found, all.Get(j))
			}
		}
		return true
	})
	return found
}

// clients are the connections of a run.
type clients struct {
	url   string
	http  *http.Client // HTTP/1.1
	http2 *http.Client // without TLS, for gRPC
}

func newClients(url string) clients {
	// http.Transport reads a body's state while it is still being sent, when it repeats a request.
	second := &http2.Transport{ //nolint:staticcheck // SA1019: it is deprecated in favour of http.Transport
		AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	return clients{url, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}, &http.Client{Transport: second}}
}

func (c clients) close() {
	c.http.CloseIdleConnections()
	c.http2.CloseIdleConnections()
}

// rpc returns a client of a method, over a random protocol.
func (c clients) rpc(rng *rand.Rand, method protoreflect.MethodDescriptor) *connect.Client[dynamicpb.Message, dynamicpb.Message] {
	options := []connect.ClientOption{
		connect.WithSchema(method),
		connect.WithResponseInitializer(func(_ connect.Spec, message any) error {
			if m, ok := message.(*dynamicpb.Message); ok {
				*m = *dynamicpb.NewMessage(method.Output())
			}
			return nil
		}),
	}
	over := c.http
	switch rng.IntN(5) {
	case 0:
		options = append(options, connect.WithProtoJSON())
	case 1:
		options = append(options, connect.WithGRPCWeb())
	case 2:
		options, over = append(options, connect.WithGRPC()), c.http2
	case 3:
		options = append(options, connect.WithSendGzip())
	}
	return connect.NewClient[dynamicpb.Message, dynamicpb.Message](over, fmt.Sprintf("%s/%s/%s", c.url, method.Parent().FullName(), method.Name()), options...)
}

// callRPC calls a method with a random request and checks the answer.
func (r *run) callRPC(ctx context.Context, g *generator, method protoreflect.MethodDescriptor) {
	client, request := r.clients.rpc(g.rng, method), g.request(method.Input())
	header := g.header()
	var answers []*dynamicpb.Message
	var err error
	switch {
	case method.IsStreamingClient():
		var answer *connect.Response[dynamicpb.Message]
		if answer, err = g.sendStream(ctx, client, header, method); err == nil {
			answers = append(answers, answer.Msg)
		}
	case method.IsStreamingServer():
		req := connect.NewRequest(request)
		copyHeader(req.Header(), header)
		var stream *connect.ServerStreamForClient[dynamicpb.Message]
		if stream, err = client.CallServerStream(ctx, req); err == nil {
			for stream.Receive() {
				answers = append(answers, stream.Msg())
			}
			err = errors.Join(stream.Err(), stream.Close())
		}
	default:
		req := connect.NewRequest(request)
		copyHeader(req.Header(), header)
		var answer *connect.Response[dynamicpb.Message]
		if answer, err = client.CallUnary(ctx, req); err == nil {
			answers = append(answers, answer.Msg)
		}
	}
	name := string(method.Name())
	r.checkError(g.caller, name, request, err)
	for _, answer := range answers {
		r.checkAnswer(g.caller, name, request, answer)
		g.caller.learn(answer)
	}
}

// sendStream sends documents in a stream, sometimes only a part of it.
func (g *generator) sendStream(ctx context.Context, client *connect.Client[dynamicpb.Message, dynamicpb.Message], header http.Header, method protoreflect.MethodDescriptor) (*connect.Response[dynamicpb.Message], error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := client.CallClientStream(ctx)
	copyHeader(stream.RequestHeader(), header)
	for n := range 1 + g.rng.IntN(8) {
		if n > 0 && g.rng.IntN(20) == 0 {
			cancel()
		}
		if stream.Send(g.request(method.Input())) != nil {
			break // the answer says why
		}
	}
	return stream.CloseAndReceive()
}

// header returns the credential of a call: mostly one of the caller's.
func (g *generator) header() http.Header {
	h := http.Header{}
	switch g.rng.IntN(40) {
	case 0:
	case 1:
		h.Set("Authorization", "Bearer ragd_none_none")
	default:
		h.Set("Authorization", "Bearer "+one(g, g.caller.keys...))
	}
	if g.rng.IntN(20) == 0 {
		h.Set("Ragd-Context", one(g, `{"topK":2}`, `{"filter":{"team":"red"}}`, `{"indexName":"vectors"}`, `{`, `{"unknown":1}`))
	}
	switch {
	case g.caller.operator && g.method.Parent().Name() != "TenantService":
		h.Set("Ragd-Tenant", one(g, tenantA, tenantB))
	case g.caller.other != nil && g.rng.IntN(30) == 0:
		h.Set("Ragd-Tenant", one(g, g.caller.id, g.caller.other.id, "nobody"))
	}
	return h
}

func copyHeader(to, from http.Header) {
	for name, values := range from {
		to[name] = values
	}
}

// checkError counts the code of a call and reports the codes that must not be.
func (r *run) checkError(c *caller, name string, request proto.Message, err error) {
	if err == nil {
		r.count(name, "ok")
		return
	}
	code := connect.CodeOf(err)
	counted := code.String()
	if !connect.IsWireError(err) {
		counted += " (by the client)"
	}
	r.count(name, counted)
	switch code {
	case connect.CodeInternal, connect.CodeUnknown, connect.CodeDataLoss, connect.CodeUnimplemented:
		r.violate(name+" "+counted, fmt.Sprintf("%v for %s", err, describe(request)))
	}
	if c.foreign([]byte(err.Error())) {
		r.violate(name+" error with another tenant's marker", fmt.Sprintf("%v for %s", err, describe(request)))
	}
}

// checkAnswer reports an answer with data of the other tenant or with an internal error in
// it, such as that of one document of a stream.
func (r *run) checkAnswer(c *caller, name string, request, answer proto.Message) {
	wire, err := proto.Marshal(answer)
	if err != nil {
		r.violate(name+" answer that cannot be encoded", err.Error())
		return
	}
	if c.foreign(wire) {
		r.violate(name+" answer with another tenant's marker", fmt.Sprintf("%s for %s", describe(answer), describe(request)))
	}
	if bytes.Contains(wire, []byte("internal error")) {
		r.violate(name+" answer with an internal error", fmt.Sprintf("%s for %s", describe(answer), describe(request)))
	}
}

// foreign reports whether a text contains what only the other tenant has sent.
func (c *caller) foreign(text []byte) bool {
	return c.other != nil && bytes.Contains(text, []byte(c.other.marker))
}

// describe returns the start of a message in JSON.
func describe(m proto.Message) string {
	const most = 600
	text, err := protojson.Marshal(m)
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "…"
	}
	return string(text)
}
