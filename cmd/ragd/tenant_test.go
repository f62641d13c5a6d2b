package main

import "testing"

func TestTenantCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for _, want := range []step{
		{args: []string{"tenant", "create", "beta", "--name", "Beta Ltd.", "--settings", `{"plan":"small"}`}, stdout: `
tenant    beta
name      Beta Ltd.
database  main
state     active
settings  {"plan":"small"}
created   2026-11-21T08:00:00Z
updated   2026-11-21T08:00:00Z
`},
		{args: args("tenant create gamma --json"), stdout: `
{
  "tenantId": "gamma",
  "displayName": "",
  "settings": {},
  "createTime": "2026-11-21T08:00:00Z",
  "updateTime": "2026-11-21T08:00:00Z",
  "database": "main",
  "state": "active",
  "archivedBytes": 0,
  "planName": "",
  "quotas": [
    {
      "name": "concurrentRequests",
      "limit": 500,
      "source": "default"
    },
    {
      "name": "maxDocumentBytes",
      "limit": 0,
      "source": "default"
    },
    {
      "name": "maxDocuments",
      "limit": 0,
      "source": "default"
    },
    {
      "name": "maxIndexes",
      "limit": 200,
      "source": "default"
    },
    {
      "name": "maxTokensPerMonth",
      "limit": 0,
      "source": "default"
    },
    {
      "name": "requestsPerSecond",
      "limit": 5000,
      "source": "default"
    }
  ]
}
`},
		{args: args("tenant list"), stdout: `
TENANT  NAME       PLAN  STATE   DATABASE  CREATED
acme                     active  main      2026-11-21T08:00:00Z
beta    Beta Ltd.        active  main      2026-11-21T08:00:00Z
gamma                    active  main      2026-11-21T08:00:00Z
`},
		{args: args("tenant list --limit 1 --json"), stdout: `
{"tenantId":"acme","displayName":"","settings":{},"createTime":"2026-11-21T08:00:00Z","updateTime":"2026-11-21T08:00:00Z","database":"main","state":"active","archivedBytes":0,"planName":"","quotas":[]}
`},
		{args: args("tenant list --state sleepy"), code: 1, stderr: "ragd: state: must be active, asleep, waking or deleted, or empty for all but those that are deleted, got \"sleepy\"\n"},
		{args: args("tenant list --state asleep"), stderr: "no tenants\n"},
		{args: args("tenant sleep gamma"), code: 1, stderr: "ragd: there is no storage for the archives of tenants that are asleep: set sleep-storage to a folder or a bucket\n"},
		{args: args("tenant wake gamma"), stdout: "...state     active\n"},
		{args: args("tenant update gamma --name Gamma"), stdout: "...name      Gamma\n"},
		{args: args("tenant update gamma"), code: 2, stderr: "ragd tenant update: nothing to change: give --name, --plan or --settings (see `ragd tenant update --help`)\n"},
		{args: args("tenant get nobody"), code: 1, stderr: "ragd: tenant \"nobody\" not found\n"},
		{args: args("tenant create ACME"), code: 1, stderr: "ragd: tenantId: must be 1 to 40 characters of a-z, 0-9 and -, the first a letter\n"},
		{args: args("tenant delete beta"), code: 2, stderr: "ragd tenant delete: needs --yes where nobody can be asked (see `ragd tenant delete --help`)\n"},
		{args: args("tenant delete beta --yes"), stdout: "...deleted tenant beta\nuntil 2026-11-21T08:00:00Z it can be brought back: ragd tenant restore beta\n"},
		{args: args("tenant get beta"), code: 1, stderr: "...can be restored until 2026-11-21T08:00:00Z, with `ragd tenant restore beta`\n"},
		{args: args("tenant list --state deleted"), stdout: `
TENANT  NAME       PLAN  DATABASE  DELETED               ERASED
beta    Beta Ltd.        main      2026-11-21T08:00:00Z  2026-11-21T08:00:00Z
`},
		{args: args("tenant restore beta"), stdout: "...name      Beta Ltd.\n"},
		{args: args("tenant restore beta"), code: 1, stderr: "ragd: tenant \"beta\" is not deleted\n"},
		{args: args("tenant delete beta --erase --yes"), stdout: "...deleted tenant beta\nkept "},
		{args: args("tenant get beta"), code: 1, stderr: "ragd: tenant \"beta\" not found\n"},
	} {
		s.want(t, want)
	}
}

func TestPlanCommands(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for _, want := range []step{
		{args: []string{"plan", "create", "starter", "--name", "Starter", "--settings", `{"maxDocuments":1000}`, "--without", "agents,workflows", "--models", "openai/gpt-*-mini"}, stdout: `
plan      starter
name      Starter
settings  {"maxDocuments":1000}
without   agents,workflows
models    openai/gpt-*-mini
tenants   0
created   2026-11-21T08:00:00Z
updated   2026-11-21T08:00:00Z
`},
		{args: args("tenant update acme --plan starter"), stdout: "...plan      starter\nstate     active\nlimits    maxDocuments 1000 (plan)\n"},
		{args: args("plan list"), stdout: `
PLAN     NAME     TENANTS  SETTINGS               WITHOUT
starter  Starter  1        {"maxDocuments":1000}  agents,workflows
`},
		{args: args("quotas --tenant acme"), stdout: "...without             agents, workflows\nmodels              openai/gpt-*-mini\nconcurrentRequests  500 (default)\nmaxDocumentBytes    0 of no limit\nmaxDocuments        0 of 1000 (plan)\nmaxIndexes          0 of 200 (default)\n"},
		{args: args("plan update starter"), code: 2, stderr: "ragd plan update: nothing to change: give --name, --settings, --without or --models (see `ragd plan update --help`)\n"},
		{args: args("plan update starter --without agent"), code: 1, stderr: "ragd: features.without: must be some of [agents connectors externalTools workflows], each once, got \"agent\"\n"},
		{args: args("plan update starter --name Small"), stdout: "...name      Small\n"},
		{args: args("plan delete starter"), code: 1, stderr: "ragd: plan \"starter\" has tenants: give them another plan first, `ragd tenant list --plan starter` names them, and with --state deleted those that can be restored\n"},
		{args: []string{"tenant", "update", "acme", "--plan", ""}, stdout: "...state     active\n"},
		{args: args("plan delete starter"), stdout: "deleted plan starter\n"},
		{args: args("plan get starter"), code: 1, stderr: "ragd: plan \"starter\" not found: `ragd plan list` names the plans\n"},
	} {
		s.want(t, want)
	}
}

func TestDeleteAsksAPersonForTheName(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.interactive = true
	const question = "This deletes tenant acme with everything it owns. Type \"acme\" to go on: "
	s.stdin = "yes\n"
	s.want(t, step{args: args("tenant delete acme"), code: 1, stderr: question + "ragd: nothing was deleted\n"})
	s.stdin = ""
	s.want(t, step{args: args("tenant delete acme"), code: 1, stderr: question + "ragd: nothing was deleted\n"})
	s.stdin = "acme\n"
	s.want(t, step{args: args("tenant delete acme"), stdout: "...deleted tenant acme: 1 api keys\nuntil ", stderr: question})
}
