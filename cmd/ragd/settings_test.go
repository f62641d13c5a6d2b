package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/cmd/ragd/operate"
	"github.com/ragdhq/ragd/cmd/ragd/settings"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/tenant/access/oauth"
)

// credential runs a command line and returns the key and tenant of its last request.
func (s *session) credential(t *testing.T, line string) (key, tenant string) {
	t.Helper()
	if code, _, stderr := s.run(args(line)...); code == exitUsage {
		t.Fatalf("ragd %s: %s", line, stderr)
	}
	last := s.requests[len(s.requests)-1].header
	return last.Get("Authorization"), last.Get("Ragd-Tenant")
}

func TestWhichCredentialIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		env         map[string]string
		line        string
		key, tenant string
	}{
		{"the tenant's key of client.conf", nil, "index list", "tenant-secret", ""},
		{"the operator where a tenant is named", nil, "index list --tenant acme", operatorSecret, "acme"},
		{"the operator for tenants", nil, "tenant list", operatorSecret, ""},
		{"the operator for keys", nil, "key list", operatorSecret, ""},
		{"a key of the environment", map[string]string{"RAGD_API_KEY": "mine"}, "index list", "mine", ""},
		{"a tenant's own admin for its keys", map[string]string{"RAGD_API_KEY": "mine"}, "key list", "mine", ""},
		{"a key with the scope operator", map[string]string{"RAGD_API_KEY": "mine", "XDG_CONFIG_HOME": "/nowhere"}, "tenant list", "mine", ""},
		{
			"the operator of the environment for the tenant named there",
			map[string]string{"RAGD_OPERATOR_KEY": "root", "RAGD_TENANT": "beta"}, "index list", "root", "beta",
		},
		{"no key of client.conf for another service", map[string]string{"XDG_CONFIG_HOME": "other"}, "index list", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newOfflineSession(t)
			for key, value := range c.env {
				s.env[key] = value
			}
			if s.env["XDG_CONFIG_HOME"] == "/nowhere" {
				s.env["RAGD_SERVER"] = s.url
			}
			if s.env["XDG_CONFIG_HOME"] == "other" {
				s.env["XDG_CONFIG_HOME"], s.env["RAGD_SERVER"] = t.TempDir(), s.url
				other := config.Client{DataDir: "/data", Server: "https://ragd.example.com", APIKey: "theirs", OperatorKey: "theirs", Tenant: "t"}
				if err := other.Write(filepath.Join(s.env["XDG_CONFIG_HOME"], "ragd", "client.conf")); err != nil {
					t.Fatal(err)
				}
			}
			key, tenant := s.credential(t, c.line)
			want := ""
			if c.key != "" {
				want = "Bearer " + c.key
			}
			if key != want || tenant != c.tenant {
				t.Errorf("showed %q for tenant %q, want %q for %q", key, tenant, want, c.tenant)
			}
		})
	}
}

func TestSettingsComeFromFlagThenEnvironmentThenFile(t *testing.T) {
	t.Parallel()
	s := newOfflineSession(t)
	write := func(content string) {
		t.Helper()
		path := filepath.Join(s.env["XDG_CONFIG_HOME"], "ragd", "ragd.conf")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# who we are\n\ntenant = from-file\napi-key = key with = in it\n")
	if _, tenant := s.credential(t, "index list"); tenant != "from-file" {
		t.Errorf("tenant %q", tenant)
	}
	s.env["RAGD_TENANT"] = "from-env"
	if _, tenant := s.credential(t, "index list"); tenant != "from-env" {
		t.Errorf("tenant %q", tenant)
	}
	if _, tenant := s.credential(t, "index list --tenant from-flag"); tenant != "from-flag" {
		t.Errorf("tenant %q", tenant)
	}
	write("api-key = key with = in it")
	s.env["RAGD_TENANT"] = "" // as if it were not set
	if key, _ := s.credential(t, "index list"); key != "Bearer key with = in it" {
		t.Errorf("key %q", key)
	}
	path := filepath.Join(s.env["XDG_CONFIG_HOME"], "ragd", "ragd.conf")
	for content, want := range map[string]string{
		"servr = x":              path + ": unknown setting \"servr\"; did you mean server?",
		"zzz = x":                path + ": unknown setting \"zzz\"",
		"server":                 path + ":1: not a line of the form key = value",
		"tenant = a\ntenant = b": path + ":2: tenant is set twice",
	} {
		write(content)
		s.want(t, step{args: args("index list"), code: 1, stderr: "ragd: " + want + "\n"})
	}
	s.want(t, step{args: args("index list --config absent.conf"), code: 1, stderr: "ragd: --config: open absent.conf: no such file or directory\n"})
	s.env["RAGD_CONFIG"] = "absent.conf"
	s.want(t, step{args: args("index list"), code: 1, stderr: "ragd: RAGD_CONFIG: open absent.conf: no such file or directory\n"})
	s.env["RAGD_CONFIG"] = file(t, "other.conf", "tenant = elsewhere\n")
	if _, tenant := s.credential(t, "index list"); tenant != "elsewhere" {
		t.Errorf("tenant %q", tenant)
	}
	s.want(t, step{args: args("index list --api-key x"), code: 2, stderr: "...set RAGD_API_KEY, or api-key in " + s.env["RAGD_CONFIG"]})
}

func TestOAuthSettings(t *testing.T) {
	t.Parallel()
	const id, public = "https://id.example.com", "https://rag.example.com/"
	published := service.Config{MCP: mcphttp.Config{PublicURL: public}}
	for name, tc := range map[string]struct {
		settings settings.Settings
		takes    bool
		issuers  int
		wrong    bool
	}{
		"none":                           {},
		"an address":                     {settings: settings.Settings{Service: published}, takes: true},
		"an issuer":                      {settings: settings.Settings{Service: published, OAuth: oauth.Config{Issuer: id}}, takes: true, issuers: 1},
		"an issuer and no address":       {settings: settings.Settings{OAuth: oauth.Config{Issuer: id}}, wrong: true},
		"an audience and no issuer":      {settings: settings.Settings{Service: published, OAuth: oauth.Config{Audiences: []string{"a"}}}, wrong: true},
		"a filter's claim and no issuer": {settings: settings.Settings{Service: published, OAuth: oauth.Config{FilterClaim: "see"}}, wrong: true},
		"issuer over http":               {settings: settings.Settings{Service: published, OAuth: oauth.Config{Issuer: "http://id.example.com"}}, wrong: true},
	} {
		tokens, err := tc.settings.Tokens()
		if (err != nil) != tc.wrong || (tokens != nil) != tc.takes {
			t.Errorf("%s: %v, %v", name, tokens, err)
		}
		if tokens == nil {
			continue
		}
		if issuers := tokens.Issuers(""); len(issuers) != tc.issuers || len(issuers) > 0 && issuers[0].URL != id {
			t.Errorf("%s: issuers %v", name, issuers)
		}
	}
}

func TestMisspeltVariablesStopEveryCommand(t *testing.T) {
	t.Parallel()
	s := newOfflineSession(t)
	s.env["RAGD_DATABSE_URL"], s.env["RAGD_ZZZ"], s.env["RAGD_EMPTY"], s.env["RAGD_TEST_HUGE"] = "x", "y", "", "1"
	const list = " (`ragd serve --help` and `ragd query --help` list the settings; unset what is not one)\n"
	for _, command := range []string{"serve", "index list", "doctor", "tenant repair"} {
		code := 1
		if command == "doctor" {
			code = operate.ExitNotDiagnosed
		}
		s.want(t, step{args: args(command), code: code, stderr: "ragd: environment: RAGD_DATABSE_URL is not a setting; did you mean RAGD_DATABASE_URL?; RAGD_ZZZ is not a setting" + list})
	}
	s.env = map[string]string{"XDG_CONFIG_HOME": s.env["XDG_CONFIG_HOME"], "RAGD_INGEST_WORKERS": "many"}
	s.want(t, step{args: args("serve"), code: 1, stderr: "ragd: RAGD_INGEST_WORKERS: want a whole number, 0 or more, got \"many\"\n"})
	s.want(t, step{args: args("serve --lisen x"), code: 2, stderr: "...unknown flag: --lisen; did you mean --listen?"})
}

// A negative number would otherwise be taken for no limit, for the default, or for none at all.
func TestSettingsOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	numbers := 0
	serveCommand(t).Flags().VisitAll(func(flag *pflag.Flag) {
		variable, kind := "RAGD_"+strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_")), "a whole number, 0 or more"
		switch flag.Value.Type() {
		case "float64":
			kind = "a number from 0 to 1"
		case "int", "int64":
		default:
			return
		}
		numbers++
		s := newOfflineSession(t)
		s.env = map[string]string{"XDG_CONFIG_HOME": t.TempDir(), variable: "-3"}
		s.want(t, step{args: args("serve"), code: 1, stderr: "ragd: " + variable + ": want " + kind + ", got \"-3\"\n"})
		delete(s.env, variable)
		s.want(t, step{args: args("serve --" + flag.Name + "=-3"), code: 2, stderr: "...for \"--" + flag.Name + "\" flag: want " + kind + " (see"})
	})
	if numbers < 10 {
		t.Errorf("only %d settings are numbers", numbers)
	}
	s := newOfflineSession(t)
	for _, c := range [][3]string{
		{"RAGD_TRACES_SHARE", "7", "RAGD_TRACES_SHARE: want a number from 0 to 1, got \"7\"\n"},
		{"RAGD_TRACES_SHARE", "NaN", "RAGD_TRACES_SHARE: want a number from 0 to 1, got \"NaN\"\n"},
		{"RAGD_SESSION_KEY", "abc", "session-key has 3 bytes, but at least 32 are needed: `openssl rand -hex 32` makes one\n"},
	} {
		s.env = map[string]string{"XDG_CONFIG_HOME": t.TempDir(), c[0]: c[1], "RAGD_TRACES_URL": "localhost:1"}
		s.want(t, step{args: args("serve"), code: 1, stderr: "ragd: " + c[2]})
	}
}

// Kubernetes adds variables for each service of a namespace, which nobody has written.
func TestVariablesOfKubernetesAreNoSettings(t *testing.T) {
	t.Parallel()
	s := newOfflineSession(t)
	for _, name := range []string{"RAGD_SERVICE_HOST", "RAGD_SERVICE_PORT", "RAGD_SERVICE_PORT_HTTP", "RAGD_PORT", "RAGD_PORT_8484_TCP", "RAGD_PORT_8484_TCP_ADDR", "RAGD_DB_SERVICE_HOST", "RAGD_DB_PORT_5432_TCP_PROTO"} {
		s.env[name] = "tcp://10.0.0.1:8484"
	}
	s.want(t, step{args: args("version"), code: 1, stderr: anything})
	s.env["KUBERNETES_SERVICE_HOST"] = "10.0.0.1"
	s.want(t, step{args: args("version"), stdout: anything})
	s.env["RAGD_SERVICE_HOSTS"] = "x"
	s.want(t, step{args: args("version"), code: 1, stderr: "...RAGD_SERVICE_HOSTS is not a setting"})
}

func TestSettingsWithoutEffectAreSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env, flags string
		want       []string
	}{
		{"", "--data-dir /d --first-tenant a", nil},
		{"RAGD_DATABASE_URL=u", "--data-dir /d --first-tenant a --min-free-bytes 1", []string{"first-tenant", "min-free-bytes"}},
		{"RAGD_DATABASE_URL=u", "--data-dir /d --models-dir /m", []string{"data-dir"}},
		{"RAGD_OPERATOR_KEY=o", "--first-tenant a", []string{"first-tenant"}},
		{"", "--traces-share 0.1 --oauth-scope-prefix x --openai-models a --provider-calls 3", []string{"oauth-scope-prefix", "openai-models", "provider-calls", "traces-share"}},
		{"RAGD_OPENAI_API_KEY=k", "--openai-models a --provider-calls 3", nil},
		{"RAGD_SESSION_KEY=k", "--mcp-stateless", []string{"session-key"}},
		{"RAGD_OAUTH_CLIENT_SECRET=k", "--oauth-issuer https://id.example.com", []string{"oauth-client-secret"}},
	} {
		name, value, _ := strings.Cut(c.env, "=")
		p := &program{Program: command.Program{Getenv: func(key string) string {
			if key == name {
				return value
			}
			return map[string]string{"XDG_CONFIG_HOME": "/nowhere"}[key]
		}}}
		cmd, _, err := p.root().Find([]string{"serve"})
		if err := errors.Join(err, cmd.ParseFlags(args(c.flags)), config.Fill(cmd, "", p.Getenv)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range p.settings.Unused(cmd.Flags().Changed) {
			got = append(got, u.Setting)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %q have no effect, want %q", c.env, c.flags, got, c.want)
		}
	}
}
