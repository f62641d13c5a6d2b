package connector_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/program"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// store is an S3 server that remembers what it was asked for.
type store struct {
	URL string

	backend string // the URL of the server, which remembers nothing
	mu      sync.Mutex
	asked   []string
	signed  string
}

func newStore(t *testing.T, objects map[string]string) *store {
	t.Helper()
	s := &store{backend: program.Run(t, "s3")[0]}
	backend, err := url.Parse(s.backend)
	if err != nil {
		t.Fatal(err)
	}
	server := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(backend) }}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.URL.Path)
		s.signed = r.Header.Get("Authorization")
		s.mu.Unlock()
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(listener.Close)
	s.URL = listener.URL
	s.change(t, http.MethodPut, "/files", "")
	s.put(t, objects)
	return s
}

// change changes a bucket or an object.
func (s *store) change(t *testing.T, method, path, content string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.backend, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Path = path
	req.Header.Set("X-Amz-Meta-Team", "red")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode/100 != 2 {
		said, _ := io.ReadAll(res.Body)
		t.Fatalf("%s %s: %s %s", method, path, res.Status, said)
	}
}

// put changes objects; those with an empty text are deleted.
func (s *store) put(t *testing.T, objects map[string]string) {
	t.Helper()
	for key, text := range objects {
		method := http.MethodPut
		if text == "" {
			method = http.MethodDelete
		}
		s.change(t, method, "/files/"+key, text)
	}
}

// take returns the requests since the last call for objects.
func (s *store) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []string{}
	for _, one := range s.asked {
		if strings.Count(strings.TrimSuffix(one, "/"), "/") > 1 {
			found = append(found, one)
		}
	}
	s.asked = nil
	slices.Sort(found) // objects are fetched side by side
	return found
}

func s3(s *ragdv1.S3Source) *ragdv1.CreateConnectorRequest {
	if s.Bucket == "" {
		s.Bucket = "files"
	}
	return &ragdv1.CreateConnectorRequest{ConnectorName: "site", Source: &ragdv1.CreateConnectorRequest_S3{S3: s}}
}

func TestABucketIsFollowed(t *testing.T) {
	t.Parallel()
	files := newStore(t, map[string]string{
		"docs/a.md": "# A\n\nThis is a.", "docs/b c.md": "# B\n\nThis is b.", "docs/../up.md": "# Up\n\nThis is up.", "docs/skip.md": "no",
		"docs/logo.png": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "other.md": "# Other",
	})
	s := newSecretService(t, "127.0.0.1")
	acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
	if _, err := acme.SetSecret(t.Context(), &ragdv1.SetSecretRequest{SecretName: "s3-key", Value: "secret-access-key"}); err != nil {
		t.Fatal(err)
	}
	req := s3(&ragdv1.S3Source{Endpoint: files.URL, Prefix: "docs/", Exclude: []string{"*skip*"}, AccessKeyId: "AKEXAMPLE", SecretName: "s3-key"})
	req.Metadata = map[string]string{"key": "item.attributes.key", "size": "item.attributes.size", "team": "item.attributes.metadata.team"}
	got := create(t, acme, req)
	if n := got.Counts; got.Status != "succeeded" || n.Added != 3 || n.Failed != 1 {
		t.Errorf("first run: %v", got)
	}
	files.mu.Lock()
	if !strings.HasPrefix(files.signed, "AWS4-HMAC-SHA256 Credential=AKEXAMPLE/") || strings.Contains(files.signed, "secret-access-key") {
		t.Errorf("signed as %q", files.signed)
	}
	files.mu.Unlock()
	equal(t, "documents", documentsUnder(t, acme, "s3://files/"), []string{"docs/../up.md v1", "docs/a.md v1", "docs/b%20c.md v1"})
	equal(t, "documents of another tenant", documentsUnder(t, bolt, ""), []string{})
	wantReasons(t, reasons(t, acme, "failed", "s3://files/"), map[string]string{"docs/logo.png": "image"})
	list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Documents {
		if m := d.Metadata.AsMap(); !strings.HasPrefix(fmt.Sprint(m["key"]), "docs/") || m["team"] != "red" || m["size"].(float64) < 10 {
			t.Errorf("metadata of %s: %v", d.Uri, m)
		}
	}

	// Nothing has changed: no object is asked for, and nothing is stored.
	before := jobs(t, acme)
	files.take()
	if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Unchanged != 3 || got.Counts.Failed != 1 {
		t.Errorf("second run: %v", got)
	}
	equal(t, "objects", files.take(), []string{})
	if n := jobs(t, acme); n != before {
		t.Errorf("%d jobs after %d", n, before)
	}

	// One changes, one comes, one goes.
	files.put(t, map[string]string{"docs/a.md": "# A\n\nThis is the new a.", "docs/new.md": "# New\n\nThis is new.", "docs/b c.md": ""})
	if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Updated != 1 || got.Counts.Added != 1 || got.Counts.Deleted != 1 || got.Counts.Unchanged != 1 {
		t.Errorf("third run: %v", got)
	}
	equal(t, "objects", files.take(), []string{"GET /files/docs/a.md", "GET /files/docs/new.md"})
	equal(t, "documents", documentsUnder(t, acme, "s3://files/"), []string{"docs/../up.md v1", "docs/a.md v2", "docs/new.md v1"})

	// More than half go: the connector asks.
	files.put(t, map[string]string{"docs/a.md": "", "docs/new.md": ""})
	if got = resync(t, acme); !got.Paused || got.Counts.Deleted != 0 {
		t.Errorf("fourth run: %v", got)
	}
	tested, err := acme.TestConnector(t.Context(), &ragdv1.TestConnectorRequest{ConnectorName: "site"})
	if err != nil || len(tested.Items) != 2 || !tested.Complete {
		t.Errorf("test: %v %v", tested, err)
	}
}

// What a hostile server does fails its connector with a reason, and deletes nothing.
func TestAHostileBucketFailsItsConnectorAlone(t *testing.T) {
	t.Parallel()
	entry := func(key, etag string, size int) string {
		return fmt.Sprintf("<Contents><Key>%s</Key><LastModified>2024-05-06T07:08:09.000Z</LastModified><ETag>%s</ETag><Size>%d</Size></Contents>", key, etag, size)
	}
	var page int
	var mu sync.Mutex
	next := func() int {
		mu.Lock()
		defer mu.Unlock()
		page++
		return page
	}
	for name, c := range map[string]struct {
		list    func() string
		failure string
		failed  map[string]string // and skipped
	}{
		"an endless list": {func() string {
			n := next()
			return fmt.Sprintf("<IsTruncated>true</IsTruncated><NextContinuationToken>t%d</NextContinuationToken>", n) + entry(fmt.Sprintf("k%d.md", n), "e", 5)
		}, "more than 30 objects", nil},
		"an endless list without a token": {func() string { return "<IsTruncated>true</IsTruncated>" + entry("a.md", "e", 5) }, "continuation token", nil},
		"sizes": {func() string {
			return "<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>" + entry("x%01.md", "e", 5) + entry("%FF.md", "e", 5) + entry("huge.md", "e", 1<<40) + entry("lie.md", "e", 5) + entry("gone.md", "e", 5) + entry("cold.md", "e", 5)
		}, "", map[string]string{"huge.md": "has more than 16777216 bytes", "lie.md": "has more than 16777216 bytes", "cold.md": "InvalidObjectState", "x%01.md": "control characters", "%EF%BF%BD.md": "not valid UTF-8"}},
		"no list": {func() string { return strings.Repeat("a", 20<<20) }, "has more than 16777216 bytes", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Query().Has("location"):
					_, _ = fmt.Fprint(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
				case strings.TrimSuffix(r.URL.Path, "/") == "/files":
					_, _ = fmt.Fprint(w, `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>files</Name>`+c.list()+`</ListBucketResult>`)
				case r.URL.Path == "/files/lie.md":
					w.Header().Set("ETag", `"e"`)
					w.Header().Set("Last-Modified", "Mon, 06 May 2024 07:08:09 GMT")
					_, _ = w.Write(bytes.Repeat([]byte("a"), 17<<20))
				case r.URL.Path == "/files/gone.md":
					w.WriteHeader(http.StatusNotFound)
					_, _ = fmt.Fprint(w, "<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>")
				case r.URL.Path == "/files/cold.md":
					w.WriteHeader(http.StatusForbidden)
					_, _ = fmt.Fprint(w, "<Error><Code>InvalidObjectState</Code><Message>it is archived</Message></Error>")
				default:
					w.Header().Set("ETag", `"e"`)
					w.Header().Set("Last-Modified", "Mon, 06 May 2024 07:08:09 GMT")
					_, _ = fmt.Fprint(w, "# Hi "+r.URL.Path)
				}
			}))
			t.Cleanup(server.Close)
			acme := newTenant(t, newService(t), "acme")
			req := s3(&ragdv1.S3Source{Endpoint: server.URL})
			req.MaxItems = 30
			got := create(t, acme, req)
			if c.failure != "" {
				if got.Status != "failed" || !strings.Contains(got.Error, c.failure) {
					t.Errorf("run: %v", got)
				}
				return
			}
			if got.Status != "succeeded" {
				t.Errorf("run: %v", got)
			}
			found := reasons(t, acme, "failed", "s3://files/")
			maps.Copy(found, reasons(t, acme, "skipped", "s3://files/"))
			wantReasons(t, found, c.failed)
		})
	}
}

func TestABucketThatIsRefused(t *testing.T) {
	t.Parallel()
	files := newStore(t, nil)
	acme := newTenant(t, newService(t), "acme")
	if got := create(t, acme, s3(&ragdv1.S3Source{Endpoint: files.URL, Bucket: "none"})); got.Status != "failed" || !strings.Contains(got.Error, "NoSuchBucket") {
		t.Errorf("no such bucket: %v", got)
	}
	// The host of a bucket is looked up, and refused, as any other.
	bolt := newTenant(t, servicetest.New(t, service.Config{}), "bolt")
	if got := create(t, bolt, s3(&ragdv1.S3Source{Endpoint: strings.Replace(files.URL, "127.0.0.1", "localhost", 1)})); got.Status != "failed" || !strings.Contains(got.Error, "allowed-private-networks") {
		t.Errorf("a name: %v", got)
	}
	for field, change := range map[string]func(*ragdv1.S3Source){
		"s3.endpoint":    func(s *ragdv1.S3Source) { s.Endpoint = "https://example.com/files" },
		"s3.bucket":      func(s *ragdv1.S3Source) { s.Bucket = "../a" },
		"s3.region":      func(s *ragdv1.S3Source) { s.Region = strings.Repeat("a", 101) },
		"s3.prefix":      func(s *ragdv1.S3Source) { s.Prefix = strings.Repeat("a", 1001) },
		"s3.include":     func(s *ragdv1.S3Source) { s.Include = []string{""} },
		"s3.accessKeyId": func(s *ragdv1.S3Source) { s.SecretName = "s3-key" },
		"s3.secretName":  func(s *ragdv1.S3Source) { s.AccessKeyId = "AKEXAMPLE" },
	} {
		source := &ragdv1.S3Source{Endpoint: "https://s3.example.com", Bucket: "files"}
		change(source)
		if _, err := acme.CreateConnector(t.Context(), s3(source)); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A run that is interrupted asks for the objects after the last page that it has stored.
func TestAnInterruptedRunOverABucketGoesOn(t *testing.T) {
	t.Parallel()
	objects, first := map[string]string{}, map[string]string{}
	for i := range 520 {
		objects[fmt.Sprintf("o%03d.txt", i)] = fmt.Sprintf("This is object %d.", i)
		if i < 100 {
			first[fmt.Sprintf("o%03d.txt", i)] = ""
		}
	}
	files := newStore(t, objects)
	s := newSecretService(t, "127.0.0.1")
	acme := newTenant(t, s, "acme")
	change(t, s.Pool, `CREATE FUNCTION public.interrupt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'interrupted'; END $$`)
	change(t, s.Pool, `CREATE TRIGGER interrupt BEFORE INSERT ON ragd_shared.connector_items FOR EACH ROW WHEN (NEW.item_id = 's3://files/o510.txt') EXECUTE FUNCTION public.interrupt()`)
	req := s3(&ragdv1.S3Source{Endpoint: files.URL})
	req.IndexName = "docs"
	if _, err := acme.CreateConnector(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the first page", func() bool {
		got, err := acme.GetConnector(t.Context(), &ragdv1.GetConnectorRequest{ConnectorName: "site"})
		return err == nil && got.Counts.Seen >= 500
	})
	// Were these objects listed again, their documents would be gone.
	files.put(t, first)
	change(t, s.Pool, `DROP TRIGGER interrupt ON ragd_shared.connector_items`)
	got := resync(t, acme)
	run := got.Runs[len(got.Runs)-1]
	if n := run.Counts; run.Status != "succeeded" || n.Seen != 520 || n.Added+n.Unchanged != 520 || n.Deleted != 0 {
		t.Errorf("the run that was interrupted: %v", run)
	}
}
