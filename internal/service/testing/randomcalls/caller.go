package randomcalls

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
)

// tenantA and tenantB are the ids of the two tenants.
const (
	tenantA = "random-a"
	tenantB = "random-b"
)

// caller is one who calls: a tenant or the operator.
type caller struct {
	id       string // of the tenant
	operator bool
	marker   string // in everything that it sends
	other    *caller
	keys     []string

	known values
}

// values are ids and tokens from answers, by the name of the field that takes them. Safe
// for concurrent use.
type values struct {
	mu     sync.Mutex
	byName map[string][]string
}

// maxKnown limits the values that are kept of each name.
const maxKnown = 200

func (v *values) add(name, value string) {
	if value == "" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byName == nil {
		v.byName = map[string][]string{}
	}
	if all := v.byName[name]; len(all) >= maxKnown {
		v.byName[name] = append(all[:0], all[maxKnown/2:]...)
	}
	v.byName[name] = append(v.byName[name], value)
}

// pick returns a value of the name, empty if none is known.
func (v *values) pick(rng *rand.Rand, name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := v.byName[name]
	if len(all) == 0 {
		return ""
	}
	return all[rng.IntN(len(all))]
}

// learn keeps the ids and tokens of an answer for later requests. Keys that the run did
// not create are not learned, so that it does not revoke its own.
func (c *caller) learn(answer protoreflect.Message) {
	created := answer.Descriptor().Name() == "CreateApiKeyResponse"
	visit(answer, func(name, value string) {
		switch name {
		case "document_id", "job_id":
			c.known.add(name, value)
		case "next_page_token":
			c.known.add("page_token", value)
		case "api_key_id":
			if created {
				c.known.add(name, value)
			}
		}
	})
}

// visit calls f for each text in a message, with the name of its field.
func visit(m protoreflect.Message, f func(name, value string)) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		each := func(v protoreflect.Value) {
			switch field.Kind() {
			case protoreflect.StringKind:
				f(string(field.Name()), v.String())
			case protoreflect.MessageKind:
				visit(v.Message(), f)
			}
		}
		switch {
		case field.IsMap():
		case field.IsList():
			for i := range value.List().Len() {
				each(value.List().Get(i))
			}
		default:
			each(value)
		}
		return true
	})
}

// prepare creates the two tenants, each with keys, an index of documents and an index of
// vectors.
func (r *run) prepare(ctx context.Context) ([]*caller, error) {
	a := &caller{id: tenantA, marker: "zebramarker" + fmt.Sprint(r.config.Seed)}
	b := &caller{id: tenantB, marker: "okapimarker" + fmt.Sprint(r.config.Seed)}
	a.other, b.other = b, a
	operator := &caller{operator: true, marker: "operator", keys: []string{r.config.OperatorKey}}
	for _, c := range []*caller{a, b} {
		if err := r.prepareTenant(ctx, c); err != nil {
			return nil, fmt.Errorf("prepare tenant %s: %w", c.id, err)
		}
	}
	var err error
	if r.tools, err = r.listTools(ctx, a); err != nil {
		return nil, err
	}
	return []*caller{a, a, a, b, b, b, operator}, nil
}

func (r *run) prepareTenant(ctx context.Context, c *caller) error {
	tenants := ragdv1connect.NewTenantServiceClient(r.clients.http, r.config.URL, withKey(r.config.OperatorKey))
	if _, err := tenants.CreateTenant(ctx, &ragdv1.CreateTenantRequest{TenantId: c.id}); err != nil {
		return err
	}
	red, err := structpb.NewStruct(map[string]any{"team": "red"})
	if err != nil {
		return err
	}
	for _, key := range []*ragdv1.CreateApiKeyRequest{
		{Scopes: []string{"admin"}}, {Scopes: []string{"admin"}}, {Scopes: []string{"write"}}, {Scopes: []string{"write"}}, {Scopes: []string{"read"}},
		{Scopes: []string{"write"}, MandatoryFilter: red}, {Scopes: []string{"admin"}, MandatoryFilter: red},
	} {
		key.TenantId = c.id
		made, err := tenants.CreateApiKey(ctx, key)
		if err != nil {
			return err
		}
		c.keys = append(c.keys, made.Secret)
	}
	indexes := ragdv1connect.NewIndexServiceClient(r.clients.http, r.config.URL, withKey(c.keys[0]))
	for _, index := range []*ragdv1.CreateIndexRequest{{IndexName: "docs"}, {IndexName: "vectors", Dimension: vectorDimension}} {
		if _, err := indexes.CreateIndex(ctx, index); err != nil {
			return err
		}
	}
	documents := ragdv1connect.NewDocumentServiceClient(r.clients.http, r.config.URL, withKey(c.keys[0]))
	for n := range 10 {
		text := strings.Repeat(fmt.Sprintf("The %s of harbour %d. ", c.marker, n), 50)
		res, err := documents.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: fmt.Sprintf("%s/%d", c.marker, n), Source: &ragdv1.UploadDocumentRequest_Text{Text: text}, Metadata: red,
		})
		if err != nil {
			return err
		}
		c.learn(res.ProtoReflect())
	}
	return nil
}

func withKey(key string) connect.ClientOption {
	return connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			req.Header().Set("Authorization", "Bearer "+key)
			return next(ctx, req)
		}
	}))
}
