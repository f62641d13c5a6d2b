package rpc

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
)

// procedure says how a method is called.
type procedure struct {
	method  protoreflect.MethodDescriptor
	streams bool
	reads   bool // can be called by GET
}

// procedures returns the methods of the API by their paths.
func procedures() map[string]procedure {
	all := map[string]procedure{}
	for _, name := range ServiceNames() {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			panic(err) // the generated code registers its services
		}
		methods := found.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			m := methods.Get(i)
			options, _ := m.Options().(*descriptorpb.MethodOptions)
			all["/"+name+"/"+string(m.Name())] = procedure{
				method: m, streams: m.IsStreamingClient() || m.IsStreamingServer(),
				reads: options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS,
			}
		}
	}
	return all
}

// addressed returns a handler that calls next for requests that the library understands:
// an existing method, called in a way that fits it. For others the library has an empty
// answer; this one says what to send.
func addressed(calls map[string]procedure, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called, ok := calls[r.URL.Path]
		if !ok {
			notFound(w, r)
			return
		}
		if wrong := called.check(r); wrong != nil {
			wrong.write(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// misaddressed is a request that no method can answer.
type misaddressed struct {
	status  int
	code    connect.Code
	message string
	header  [2]string // to add to the answer
}

// streamTypes and unaryTypes are the content types of calls. Each may have parameters.
var (
	streamTypes = []string{
		"application/connect+json", "application/connect+proto",
		"application/grpc", "application/grpc+proto", "application/grpc+json",
		"application/grpc-web", "application/grpc-web+proto", "application/grpc-web+json",
	}
	unaryTypes = append([]string{"application/json", "application/proto"}, streamTypes[2:]...)
)

// check returns what is wrong with the way in which a method is called, nil if nothing is.
func (p procedure) check(r *http.Request) *misaddressed {
	name := p.method.Name()
	switch {
	case r.Method == http.MethodGet && p.reads:
		if r.URL.Query().Get("encoding") != "" {
			return nil
		}
		return unsupported(unaryTypes, `%s by GET needs the message in the address: ?connect=v1&encoding=json&message=%%7B%%7D; or send POST with "Content-Type: application/json" and a body such as {}`, name)
	case r.Method != http.MethodPost:
		return &misaddressed{http.StatusMethodNotAllowed, connect.CodeUnimplemented,
			fmt.Sprintf(`%s is not called by %s: send POST with "Content-Type: application/json" and a body such as {}`, name, r.Method), [2]string{"Allow", p.methods()}}
	}
	contentType, _, _ := strings.Cut(strings.ToLower(r.Header.Get("Content-Type")), ";")
	contentType = strings.TrimSpace(contentType)
	switch {
	case p.streams && slices.Contains(streamTypes, contentType), !p.streams && slices.Contains(unaryTypes, contentType):
		return nil
	case p.streams:
		plain := ""
		if call := plainCalls[name]; call != "" {
			plain = fmt.Sprintf("; %s is the plain call, which takes application/json", call)
		}
		return unsupported(streamTypes, `%s is a stream: call it with a client of Connect, gRPC or gRPC-Web, whose messages have a prefix of 5 bytes (Content-Type: application/connect+json, or application/grpc)%s`, name, plain)
	case contentType == "":
		return unsupported(unaryTypes, `the Content-Type is missing: send "Content-Type: application/json" with a JSON body`)
	}
	return unsupported(unaryTypes, `the Content-Type %q is not accepted: send "Content-Type: application/json" with a JSON body`, contentType)
}

// plainCalls names, for streams, the method without a stream that does as much.
var plainCalls = map[protoreflect.Name]string{"WatchJob": "GetJob", "UploadDocuments": "UploadDocument"}

func (p procedure) methods() string {
	if p.reads {
		return "GET, POST"
	}
	return "POST"
}

func unsupported(accepted []string, format string, args ...any) *misaddressed {
	return &misaddressed{http.StatusUnsupportedMediaType, connect.CodeInvalidArgument, fmt.Sprintf(format, args...), [2]string{"Accept-Post", strings.Join(accepted, ", ")}}
}

// pages are the paths besides those of methods.
var pages = []string{"/mcp", "/healthz", "/readyz"}

// notFound answers a request for a path that there is not: it names the nearest.
func notFound(w http.ResponseWriter, r *http.Request) {
	if slices.Contains(pages, r.URL.Path) {
		wrong := misaddressed{http.StatusMethodNotAllowed, connect.CodeUnimplemented,
			fmt.Sprintf("%s is not called by %s: send GET", r.URL.Path, r.Method), [2]string{"Allow", "GET, HEAD"}}
		wrong.write(w, r)
		return
	}
	message := fmt.Sprintf("there is nothing at %s", r.URL.Path)
	if near := nearestPath(r.URL.Path); near != "" {
		message += fmt.Sprintf("; did you mean %s?", near)
	} else {
		message += ": calls go by POST to addresses such as /ragd.v1.QueryService/VectorQuery, MCP to /mcp; /healthz and /readyz tell the state"
	}
	wrong := misaddressed{http.StatusNotFound, connect.CodeUnimplemented, message, [2]string{}}
	wrong.write(w, r)
}

// nearestPath returns the path that is nearest to a wrong one; "" if none is near. For the
// path of a method it is the nearest method of the service, else of all services.
func nearestPath(path string) string {
	if !strings.Contains(path, "ragd.v1.") {
		return nearest.Name(path, pages)
	}
	slash := strings.LastIndexByte(path, '/')
	all, same := map[string]string{}, map[string]string{}
	for _, p := range slices.Sorted(maps.Keys(procedures())) {
		at := strings.LastIndexByte(p, '/')
		if all[p[at+1:]] = p; p[:at] == path[:slash] {
			same[p[at+1:]] = p
		}
	}
	for _, methods := range []map[string]string{same, all} {
		if near := nearest.Name(path[slash+1:], slices.Sorted(maps.Keys(methods))); near != "" {
			return methods[near]
		}
	}
	return ""
}

// write answers the request in the caller's protocol.
func (m *misaddressed) write(w http.ResponseWriter, r *http.Request) {
	httpserver.Fail(r.Context(), fault.New(fault.Invalid, "%s", m.message))
	if m.header[0] != "" {
		w.Header().Set(m.header[0], m.header[1])
	}
	if !framed(r) {
		w = &statusWriter{w, m.status}
	}
	_ = connect.NewErrorWriter().Write(w, r, connect.NewError(m.code, errors.New(m.message))) // fails only if the caller has disconnected
}

// framed reports whether the caller expects errors after a status of 200.
func framed(r *http.Request) bool {
	contentType := r.Header.Get("Content-Type")
	return r.Method == http.MethodPost && (strings.HasPrefix(contentType, "application/grpc") || strings.HasPrefix(contentType, "application/connect+"))
}

// statusWriter replaces the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(int) { w.ResponseWriter.WriteHeader(w.status) }
