package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi" //nolint:gosec // G504: of Go before 1.6.3
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/program"
)

// source makes a source with the rows, and returns the connector that follows it and a function that ends the source.
type source func(ctx context.Context, a *arena) (req *ragdv1.CreateConnectorRequest, stop func(), err error)

var sources = map[string]source{"postgres": table, "s3": bucket, "git": repository, "web": website}

// table is a table in the service's own PostgreSQL.
func table(ctx context.Context, a *arena) (*ragdv1.CreateConnectorRequest, func(), error) {
	conn, err := pgx.Connect(ctx, a.daemon.DatabaseURL())
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, `CREATE TABLE public.articles (id bigint PRIMARY KEY, updated_at timestamptz NOT NULL DEFAULT now(), text text)`); err != nil {
		return nil, nil, err
	}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"public", "articles"}, []string{"id", "text"}, pgx.CopyFromSlice(len(a.texts), func(i int) ([]any, error) {
		return []any{i, a.texts[i]}, nil
	}))
	if err != nil {
		return nil, nil, err
	}
	if _, err := conn.Exec(ctx, `ANALYZE public.articles`); err != nil {
		return nil, nil, err
	}
	to := conn.Config()
	address, stop, err := forward(ctx, "unix", filepath.Join(to.Host, fmt.Sprintf(".s.PGSQL.%d", to.Port)))
	if err != nil {
		return nil, nil, err
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(to.User, "none"), Host: address, Path: "/" + to.Database, RawQuery: "sslmode=disable"}
	_, err = a.secrets.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: "db", Value: u.String()})
	return &ragdv1.CreateConnectorRequest{Source: &ragdv1.CreateConnectorRequest_Postgres{Postgres: &ragdv1.PostgresSource{
		SecretName: "db", Query: "SELECT id, updated_at, text FROM public.articles",
	}}}, stop, err
}

// forward makes a socket reachable on a port of this machine.
func forward(ctx context.Context, network, address string) (on string, stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			into, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				_ = from.Close()
				continue
			}
			go func() { _, _ = io.Copy(into, from); _ = into.Close() }()
			go func() { _, _ = io.Copy(from, into); _ = from.Close() }()
		}
	}()
	return listener.Addr().String(), func() { _ = listener.Close() }, nil
}

// bucket is the objects of an S3 server of hack/testservers.
func bucket(ctx context.Context, a *arena) (*ragdv1.CreateConnectorRequest, func(), error) {
	said, stop, err := program.Start(ctx, "s3")
	if err != nil {
		return nil, nil, err
	}
	put := func(path, content string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, said[0]+path, strings.NewReader(content))
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, res.Body)
		return res.Body.Close()
	}
	err = put("/files", "")
	for i := 0; err == nil && i < len(a.texts); i++ {
		err = put(fmt.Sprintf("/files/%06d.txt", i), a.texts[i])
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return &ragdv1.CreateConnectorRequest{Source: &ragdv1.CreateConnectorRequest_S3{S3: &ragdv1.S3Source{Endpoint: said[0], Bucket: "files"}}}, stop, nil
}

// repository is the files of a repository that git's own server serves.
func repository(ctx context.Context, a *arena) (*ragdv1.CreateConnectorRequest, func(), error) {
	programs, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, nil, err
	}
	root := filepath.Join(a.daemon.Dir, "git")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, nil, err
	}
	git := func(input io.Reader, args ...string) error {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir, cmd.Stdin = root, input
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("git %v: %w\n%s", args, err, out)
		}
		return nil
	}
	var stream bytes.Buffer
	const message = "all"
	fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter Ann <ann@example.com> 1700000000 +0000\ndata %d\n%s\n", len(message), message)
	for i, text := range a.texts {
		fmt.Fprintf(&stream, "M 100644 inline %02d/%06d.txt\ndata %d\n%s\n", i%100, i, len(text), text)
	}
	for _, step := range []struct {
		input io.Reader
		args  []string
	}{
		{nil, []string{"init", "-q", "--bare", "-b", "main", "docs.git"}},
		{nil, []string{"-C", "docs.git", "config", "uploadpack.allowFilter", "true"}},
		{nil, []string{"-C", "docs.git", "config", "uploadpack.allowAnySHA1InWant", "true"}},
		{&stream, []string{"-C", "docs.git", "fast-import", "--quiet"}},
	} {
		if err := git(step.input, step.args...); err != nil {
			return nil, nil, err
		}
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(programs)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard,
	}
	server := httptest.NewServer(backend)
	return &ragdv1.CreateConnectorRequest{Source: &ragdv1.CreateConnectorRequest_Git{Git: &ragdv1.GitSource{Url: server.URL + "/docs.git"}}}, server.Close, nil
}

// website is pages that a sitemap names.
func website(_ context.Context, a *arena) (*ragdv1.CreateConnectorRequest, func(), error) {
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var i int
		switch n, _ := fmt.Sscanf(r.URL.Path, "/page/%d", &i); {
		case r.URL.Path == "/sitemap.xml":
			_, _ = io.WriteString(w, "<urlset>")
			for i := range a.texts {
				_, _ = fmt.Fprintf(w, "<url><loc>%s/page/%d</loc></url>", server.URL, i)
			}
			_, _ = io.WriteString(w, "</urlset>")
		case n == 1 && i < len(a.texts):
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, i))
			if r.Header.Get("If-None-Match") == w.Header().Get("ETag") {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprintf(w, "<html><head><title>Article %d</title></head><body><p>%s</p></body></html>", i, a.texts[i])
		default:
			http.NotFound(w, r)
		}
	}))
	return &ragdv1.CreateConnectorRequest{Source: &ragdv1.CreateConnectorRequest_Web{Web: &ragdv1.WebSource{
		Url: server.URL + "/sitemap.xml", Sitemap: true, DelayMs: new(int32(0)),
	}}}, server.Close, nil
}
