package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/daemon"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// arena is a service under attack, with two tenants.
type arena struct {
	*daemon.Daemon
	options

	log    *serviceLog
	models *modelserver.Server // the provider openai
	close  func()

	attacker, victim tenantKeys
}

// tenantKeys are the secrets of a tenant's API keys.
type tenantKeys struct {
	id                 string
	read, write, admin string
	// filtered may write, with the mandatory filter {"team":"red"}.
	filtered string
}

// newArena starts a service for an attack.
func newArena(ctx context.Context, o options, a attack) (_ *arena, err error) {
	s := &arena{options: o, log: &serviceLog{echo: o.verbose}}
	var stopModels func()
	s.models, stopModels = modelserver.Start()
	s.close = stopModels
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	config := daemon.Config{
		Program: o.ragd, Log: s.log, Memory: int64(o.memory),
		Env: []string{"RAGD_OPENAI_BASE_URL=" + s.models.URL + "/v1", "RAGD_OPENAI_API_KEY=" + modelserver.Key, "RAGD_TENANT_REQUEST_RATE=0"},
	}
	if a.unlimited {
		config.Memory = 0
	}
	if config.Dir, err = os.MkdirTemp("", "ragd-attack-"); err != nil {
		return nil, err
	}
	if a.settings != nil {
		s.Daemon = &daemon.Daemon{Dir: config.Dir}
		args, env := a.settings(s)
		config.Args, config.Env = args, append(config.Env, env...)
	}
	if s.Daemon, err = daemon.Start(ctx, config); err != nil {
		return nil, fmt.Errorf("%w; the end of its log: %s", err, s.log.tail())
	}
	outer := s.close
	s.close = func() { s.Stop(); outer() }
	if s.attacker, err = s.tenant(ctx, "mallory"); err != nil {
		return nil, err
	}
	s.victim, err = s.tenant(ctx, "alice")
	return s, err
}

// tenant creates a tenant with an index docs and keys.
func (s *arena) tenant(ctx context.Context, id string) (keys tenantKeys, err error) {
	keys.id = id
	if err := s.must(ctx, daemon.OperatorKey, "TenantService/CreateTenant", object{"tenantId": id}, nil); err != nil {
		return keys, err
	}
	red := object{"team": "red"}
	for _, k := range []struct {
		to     *string
		scope  string
		filter object
	}{{&keys.read, "read", nil}, {&keys.write, "write", nil}, {&keys.admin, "admin", nil}, {&keys.filtered, "write", red}} {
		if *k.to, _, err = s.key(ctx, daemon.OperatorKey, id, k.scope, k.filter); err != nil {
			return keys, err
		}
	}
	return keys, s.must(ctx, keys.admin, "IndexService/CreateIndex", object{"indexName": "docs"}, nil)
}

// key creates an API key and returns its secret and its id.
func (s *arena) key(ctx context.Context, by, tenant, scope string, filter object) (secret, id string, err error) {
	request := object{"tenantId": tenant, "scopes": []string{scope}}
	if filter != nil {
		request["mandatoryFilter"] = filter
	}
	var made struct {
		Secret string
		APIKey struct{ APIKeyID string }
	}
	err = s.must(ctx, by, "TenantService/CreateApiKey", request, &made)
	return made.Secret, made.APIKey.APIKeyID, err
}

// upload stores documents of about 30 chunks each in the index docs and waits until they
// are ready. Their texts contain the tenant's name.
func (s *arena) upload(ctx context.Context, keys tenantKeys, documents int) error {
	for n := range documents {
		request := object{"indexName": "docs", "uri": fmt.Sprintf("notes/%d.txt", n), "text": prose(keys.id, n, 20_000), "metadata": object{"team": "red"}}
		if err := s.must(ctx, keys.write, "DocumentService/UploadDocument", request, nil); err != nil {
			return err
		}
	}
	return s.awaitIngest(ctx, keys)
}

// awaitIngest waits until the index docs has no pending documents.
func (s *arena) awaitIngest(ctx context.Context, keys tenantKeys) error {
	for ctx.Err() == nil {
		var i struct{ PendingDocumentCount int }
		if err := s.must(ctx, keys.read, "IndexService/DescribeIndex", object{"indexName": "docs"}, &i); err != nil {
			return err
		}
		if i.PendingDocumentCount == 0 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}

// words are the vocabulary of prose.
var words = strings.Fields("harbour quarry valve lantern orchard ledger compass granite meadow anchor copper violin saddle kettle " +
	"window bridge cellar feather garden hammer island jacket kitchen ladder mirror needle oyster pillow ribbon silver tunnel umbrella")

// prose returns a text of about n bytes that depends on the name and the number alone.
func prose(name string, number, n int) string {
	var b strings.Builder
	state := uint32(number*2654435761 + 1)
	for b.Len() < n {
		fmt.Fprintf(&b, "%s %d:", name, number)
		for range 12 {
			state = state*1664525 + 1013904223
			b.WriteString(" " + words[state>>16%32])
		}
		b.WriteString(".\n\n")
	}
	return b.String()
}

// serviceLog collects the log of the service. It is safe for concurrent use.
type serviceLog struct {
	echo bool

	mu   sync.Mutex
	text bytes.Buffer
}

// maxLog limits the collected log, in bytes.
const maxLog = 64 << 20

// Write implements io.Writer.
func (l *serviceLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.echo {
		_, _ = os.Stderr.Write(p)
	}
	if l.text.Len() < maxLog {
		l.text.Write(p)
	}
	return len(p), nil
}

// logLine is a line of the service's log.
type logLine struct {
	Level, Msg, Code, Err, Path string
}

// lines returns the lines that are JSON, and those that are not as messages.
func (l *serviceLog) lines() []logLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []logLine
	for text := range strings.Lines(l.text.String()) {
		var line logLine
		if json.Unmarshal([]byte(text), &line) != nil {
			line = logLine{Msg: strings.TrimSpace(text)}
		}
		all = append(all, line)
	}
	return all
}

// internalErrors returns the lines that report an internal error or a panic, shortened.
func (l *serviceLog) internalErrors() []string {
	var found []string
	for _, line := range l.lines() {
		if line.Code == "internal" || strings.HasPrefix(line.Msg, "panic:") || strings.HasPrefix(line.Msg, "fatal error:") {
			found = append(found, brief(strings.Join([]string{line.Msg, line.Path, line.Err}, " ")))
		}
	}
	return found
}

func (l *serviceLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	return brief(text[max(0, len(text)-300):])
}

// brief returns a text on one line of at most 160 bytes that fits into a table.
func brief(text string) string {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "/")
	if len(text) > 160 {
		text = strings.ToValidUTF8(text[:160], "") + "…"
	}
	return text
}
