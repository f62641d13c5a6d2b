package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const declaredTenant = "../../examples/tenant-as-code/tenant.yaml"

// Each nested message has as little as it can, so that the service fills in the rest.
const leastDeclared = `
{kind: secret, name: db, spec: {value: {valueFrom: {env: DB}}}}
---
{kind: secret, name: db_2, spec: {value: {valueFrom: {env: DB_2}}}}
---
{kind: endpoint, name: own, spec: {kind: openai-compatible, baseUrl: "https://models.example.com/v1", apiKey: {valueFrom: {env: DB}}, headers: {headers: {X-Org: {valueFrom: {env: DB}}}}, models: [{model: tiny, dimension: 8}]}}
---
{kind: contextKey, name: tier, spec: {}}
---
{kind: index, name: a, spec: {indexConfig: {type: hnsw}, graph: {edgeTypes: [next]}, chunking: {strategy: sentence, maxSize: 300}}}
---
{kind: index, name: b, spec: {indexConfig: {hnsw: {m: 8}}, graph: {threshold: 0.7}, synonyms: [{terms: [a, b]}, {terms: [c], targets: [d]}]}}
---
{kind: index, name: c, spec: {indexConfig: {type: ivfflat}, graph: {off: true}}}
---
{kind: index, name: d, spec: {indexConfig: {type: flat}, curations: [{question: q, hides: [{id: x}]}]}}
---
{kind: index, name: e, spec: {indexConfig: {type: ivfflat, ivf: {lists: 20}}, extract: {title: {}}}}
---
{kind: profile, name: p, spec: {indexName: a, ranking: {reranker: {kind: lexical}, hybrid: {vectorWeight: 0.4}, boosts: [{field: size, origin: 3, halfDistance: 1}, {filter: {a: 1}, weight: 0.2}]}}}
---
{kind: tool, name: t1, spec: {kind: vector_query, settings: {indexName: a}}}
---
{kind: tool, name: t2, spec: {kind: document_chunker}}
---
{kind: policy, name: n, spec: {tools: ["t*"], action: redact, redaction: {paths: [a]}}}
---
{kind: policy, name: o, spec: {tools: [t1], action: deny, condition: "false", order: -5}}
---
{kind: prompt, name: p, spec: {messages: [{text: hello}, {role: assistant, text: hi}, {resourceLink: {uri: "ragd://indexes/a"}}, {resource: {uri: "ragd://indexes/a"}}]}}
---
{kind: agent, name: z, spec: {definition: {description: Z, model: own/tiny, tools: [t1]}}}
---
{kind: agent, name: first, spec: {definition: {description: First, model: own/tiny, tools: [ask_z]}}}
---
{kind: agent, name: all, spec: {definition: {description: All, model: own/tiny, tools: [run_w]}}}
---
{kind: workflow, name: w, spec: {definition: {description: W, steps: [{id: s, kind: map, input: {a: {value: 1}}}]}}}
---
{kind: server, name: s, spec: {presented: [{toolName: t1, name: find}], icons: [{src: "https://example.com/a.png"}], repository: {url: "https://github.com/a/b", source: github}}}
---
{kind: server, name: nothing, spec: {tools: {}, prompts: {names: []}}}
---
{kind: secret, name: db-2, spec: {value: {valueFrom: {env: DB_2}}}}
---
{kind: contextKey, name: token, spec: {secret: true, source: header, from: X-Token}}
---
{kind: connector, name: c1, spec: {indexName: a, paused: true, web: {url: "https://docs.example.com/"}}}
---
{kind: connector, name: c2, spec: {indexName: a, paused: true, feed: {url: "https://docs.example.com/feed"}}}
---
{kind: connector, name: c3, spec: {indexName: a, paused: true, git: {url: "https://git.example.com/a/b"}}}
---
{kind: connector, name: c4, spec: {indexName: a, paused: true, s3: {endpoint: "https://s3.example.com", bucket: boats}}}
---
{kind: connector, name: c5, spec: {indexName: a, paused: true, mcp: {url: "https://mcp.example.com/mcp", tools: {}, oauth: {}}}}
---
{kind: connector, name: c6, spec: {indexName: a, paused: true, postgres: {secretName: db, query: select 1}}}
---
{kind: connector, name: c7, spec: {indexName: a, paused: true, mysql: {secretName: db_2, query: select 1}}}
---
{kind: connector, name: c8, spec: {indexName: a, paused: true, http: {recipe: github, config: {repo: a/b, token: "{{secrets.db}}"}}}}
---
{kind: hook, name: h, spec: {url: "https://hooks.example.com/", events: ["*"]}}
---
{kind: alert, name: x, spec: {indexName: a, queryText: boats, minScore: 0.5}}
---
{kind: alert, name: y, spec: {indexName: a, queryText: boats, searchMode: keyword}}
---
{kind: key, name: "web site", spec: {scopes: [read], indexes: {names: [a]}, tools: {}, mandatoryFilter: {public: true}, expireTime: "2036-01-01T00:00:00Z", attributes: {team: web}}}
---
{kind: key, name: other}
`

// declaring returns a session with a service that stores secrets, and their values in the environment.
func declaring(t *testing.T) *session {
	t.Helper()
	s := newSession(t, "RAGD_MASTER_KEY="+strings.Repeat("7", 64))
	for name, value := range map[string]string{
		"SHIPPING_TOKEN": "value-of-shipping", "DB": "postgres://reader:value-of-db@db.example.com:5432/boats", "DB_2": "mysql://reader:value-of-db2@db.example.com:3306/boats",
	} {
		s.env[name] = value
	}
	return s
}

// What is written of a tenant has no difference to it, makes another tenant the same, and has no secrets.
func TestWhatIsWrittenOfATenantMakesAnotherOne(t *testing.T) {
	t.Parallel()
	s := declaring(t)
	s.stdin = leastDeclared
	s.want(t, step{args: args("apply -f -"), code: 1, stderr: "...key web site: its secret is shown once: --secrets-to names a folder in which it is written\n"})
	folder := filepath.Join(t.TempDir(), "made")
	s.want(t, step{args: args("apply -f - --secrets-to " + folder), stdout: "...36 created\n", stderr: "...the secret of the key web site is in " + folder + "/key-web_site\n"})
	for name, prefix := range map[string]string{"key-web_site": "ragd_", "key-other": "ragd_", "hook-h": "whsec_"} {
		made, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !strings.HasPrefix(string(made), prefix) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.want(t, step{args: args("apply -f -"), stdout: "nothing to change: 36 objects as declared\n"})
	s.want(t, step{args: args("diff -f -")})
	code, written, stderr := s.run("get")
	if code != 0 || !strings.HasPrefix(stderr, "1 of the kind key without a name") || strings.Contains(written, "value-of") || strings.Contains(written, "ragd_") {
		t.Fatalf("ragd get: %d %s\n%s", code, stderr, written)
	}
	path := file(t, "tenant.yaml", written)
	s.want(t, step{args: args("diff -f " + path + " --prune"), stderr: "1 of the kind key without a name cannot be declared, and stay\n"})
	open := file(t, "open.yaml", "{kind: key, name: other, spec: {tools: {}}}")
	s.want(t, step{args: args("apply -f " + open), code: 1, stderr: "...key other: tools cannot be changed: --replace deletes it and creates it anew\n"})
	s.want(t, step{args: args("apply --replace -f " + open + " --secrets-to " + folder), code: 1, stderr: "...key-other exists, and would be overwritten by its secret: move it away\n"})

	s.want(t, step{args: args("tenant create other"), stdout: anything})
	s.want(t, step{args: args("get --tenant other")}) // nothing of the first one
	for _, name := range []string{"SECRET_DB", "ENDPOINT_OWN_API_KEY", "ENDPOINT_OWN_HEADER_X_ORG"} {
		s.env[name] = s.env["DB"]
	}
	s.want(t, step{args: args("apply --tenant other --secrets-to " + t.TempDir() + " -f " + path), code: 1, stderr: "...secret db-2: value: SECRET_DB_2 is not set in the environment\n"})
	s.want(t, step{args: args("get --tenant other")})                     // nothing is made if a value is missing
	s.env["SECRET_DB_2"], s.env["SECRET_DB_2_2"] = "other", s.env["DB_2"] // db-2 and db_2
	s.want(t, step{args: args("apply --tenant other --secrets-to " + t.TempDir() + " -f " + path), stdout: "...36 created\n", stderr: anything})
	s.want(t, step{args: args("get --tenant other"), stdout: s.settled(written)})
	s.want(t, step{args: args("get tool -o name"), stdout: "tool t1\ntool t2\n"})
}

// A tenant follows the changes of its file; what is not declared stays.
func TestATenantFollowsItsDeclaration(t *testing.T) {
	t.Parallel()
	s := declaring(t)
	s.want(t, step{args: args("apply -f " + declaredTenant), stdout: "...alert recalls created\n11 created\n", stderr: "...`ragd hook rotate tickets` makes one"})
	s.want(t, step{args: args("diff -f " + declaredTenant)})
	s.want(t, step{args: args("server update support --description undeclared"), stdout: anything})
	raw, err := os.ReadFile(declaredTenant)
	if err != nil {
		t.Fatal(err)
	}
	changed := string(raw)
	for _, edit := range [][2]string{
		{"topK: 6", "topK: 8"}, {"the manuals alone", "the manuals"}, {"paused: true", "paused: true\n  description: Our website"},
		{"[sail, canvas]", "[sail, canvas, sheet]"}, {changed[strings.Index(changed, "---\nkind: hook"):strings.Index(changed, "---\nkind: alert")], ""},
	} {
		if !strings.Contains(changed, edit[0]) {
			t.Fatalf("%s has no %q", declaredTenant, edit[0])
		}
		changed = strings.Replace(changed, edit[0], edit[1], 1)
	}
	path := file(t, "tenant.yaml", changed)
	s.want(t, step{args: args("diff -f " + path + " --prune --kinds hook,tool"), code: 1, stdout: `...
--- server/support
+++ ` + path + `:72
@@ -4,7 +4,7 @@
   version: 1.0.0
   title: Support
   description: undeclared
-  instructions: Answer from the manuals alone.
+  instructions: Answer from the manuals.
   tools:
     names:
       - search_manuals
`, stderr: "ragd: not as declared: 5 of 11 objects\n"})
	s.want(t, step{args: args("apply --prune --kinds hook -f " + path), code: 2, stderr: "...needs --yes where nobody can be asked"})
	s.interactive, s.stdin = true, "no\n"
	s.want(t, step{args: args("apply --prune --kinds hook -f " + path), code: 1, stderr: "...Deletes hook tickets. Type \"delete\" to go on: ragd: nothing was deleted\n"})
	s.interactive = false
	s.want(t, step{args: args("apply --prune --kinds hook --dry-run -f " + path), stderr: "--dry-run: nothing was changed\n", stdout: `
index manuals changed: synonyms
tool search_manuals changed: settings
server support changed: instructions
connector website changed: description
hook tickets deleted
4 changed, 1 deleted, 6 unchanged
`})
	s.want(t, step{args: args("apply --prune --kinds hook --yes -f " + path), stdout: "...4 changed, 1 deleted, 6 unchanged\n"})
	s.want(t, step{args: args("diff --prune -f " + path)})
	s.want(t, step{args: args("get server -o yaml"), stdout: "...description: undeclared"})
	s.want(t, step{args: args("apply --resend-secrets --json -f " + path), stdout: `...{"kind":"secret","name":"shipping","action":"changed","fields":["value"]}`})

	tools := file(t, "tools.yaml", "{kind: server, name: support, spec: {tools: null}}")
	s.want(t, step{args: args("apply -f " + tools), stdout: "server support changed: tools\n1 changed\n"})
	s.want(t, step{args: args("apply -f " + tools), stdout: "nothing to change: 1 object as declared\n"})
	masked := file(t, "masked.yaml", "{kind: contextKey, name: token, spec: {secret: true, source: constant, default: hunter2}}")
	s.want(t, step{args: args("apply -f " + masked), code: 1, stderr: "...contextKey token: default: the value of a secret key must not be in a file"})

	// What cannot be changed is replaced if asked, and documents are not deleted with it unless that is asked too.
	s.want(t, step{args: args("ingest --index manuals " + file(t, "reef.md", "Reef in time.")), stdout: anything, stderr: anything})
	euclidean := file(t, "index.yaml", "{kind: index, name: manuals, spec: {metric: euclidean}}")
	s.want(t, step{args: args("diff -f " + euclidean), code: 1, stdout: "...\n-  metric: cosine\n+  metric: euclidean\n", stderr: "...index manuals: metric cannot be changed: `ragd apply --replace`"})
	s.want(t, step{args: args("apply -f " + euclidean), code: 1, stderr: "...index manuals: metric cannot be changed: --replace deletes it and creates it anew\n"})
	s.want(t, step{args: args("apply --replace -f " + euclidean), code: 1, stderr: "...would be deleted with it: profile manuals/newest, alert recalls; declare it"})
	both := file(t, "tenant.yaml", strings.Replace(changed, "  metadataIndexes", "  metric: euclidean\n  metadataIndexes", 1))
	s.want(t, step{args: args("apply --replace -f " + both), code: 1, stderr: "ragd: index manuals has 1 document, which would be deleted with it: --delete-data allows that\n"})
	s.want(t, step{args: args("apply --replace --delete-data -f " + both), stdout: "...index manuals replaced: metric\nprofile manuals/newest created\nserver support changed: tools\nalert recalls created\n2 created, 1 changed, 1 replaced, 6 unchanged\n"})
	s.want(t, step{args: args("diff -f " + both)})

	// The key of the command is not revoked.
	folder := t.TempDir()
	s.want(t, step{args: args("apply --secrets-to " + folder + " -f " + file(t, "key.yaml", "{kind: key, name: mine, spec: {scopes: [admin]}}")), stdout: "...1 created\n", stderr: anything})
	mine, err := os.ReadFile(filepath.Join(folder, "key-mine"))
	if err != nil {
		t.Fatal(err)
	}
	another := file(t, "key.yaml", "{kind: key, name: another}")
	s.env["RAGD_API_KEY"] = string(mine)
	s.want(t, step{args: args("apply --prune --yes --secrets-to " + folder + " -f " + another), code: 1, stderr: "...ragd: key mine is the key of this command, and would be revoked: use another one, or declare it\n"})
	delete(s.env, "RAGD_API_KEY")
	s.want(t, step{args: args("apply --prune --yes --secrets-to " + folder + " -f " + another), stdout: "key another created\nkey mine deleted\n1 created, 1 deleted\n", stderr: anything})
	s.want(t, step{args: args("get key -o name"), stdout: "key another\n", stderr: anything})

	// A change of somebody else in between is not overwritten.
	var between atomic.Bool
	s.mu.Lock()
	s.before = func(procedure string) {
		if procedure == "UpdateTool" && between.CompareAndSwap(false, true) {
			s.run(args("tool update search_manuals --title between")...)
		}
	}
	s.mu.Unlock()
	s.want(t, step{args: args("apply -f " + declaredTenant), code: 1, stdout: anything, stderr: "...tool search_manuals: it was changed in the meantime: look at the difference again: "})
}
