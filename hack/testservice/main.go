// Command testservice runs a command, such as the tests of a client library, beside a ragd of its
// own: on an empty database, with the models that are built in, a tenant, and a chat model that
// searches once and then cites what it found. The environment of the command says how to reach it:
//
//	RAGD_SERVER        the address
//	RAGD_API_KEY       a key of the tenant with the scope admin
//	RAGD_OPERATOR_KEY  the operator's key
//	RAGD_TEST_TENANT   the tenant
//	RAGD_TEST_AGENT    an agent of the tenant
//	RAGD_TEST_MODEL    the chat model
//	RAGD_TEST_MODEL_URL  its address, of the shape of OpenAI's API
//
// With -demo the service is as `make run` starts it: a tenant "demo" with the handbook of examples/, no models
// but those that are built in, no agent, and none of the variables but RAGD_SERVER and RAGD_API_KEY. Readers of
// the READMEs have no other.
//
// Its exit code is that of the command.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

const (
	tenant = "acme"
	agent  = "assistant"
	model  = "openai/gpt-test"
)

func main() {
	log.SetFlags(0)
	program := flag.String("ragd", "bin/ragd", "the binary of ragd")
	demo := flag.String("demo", "", "start the service as `make run` does, with the documents of this `folder`")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("usage: testservice [-ragd FILE] [-demo FOLDER] COMMAND [ARGUMENT...]")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if *demo != "" {
		err = runDemo(ctx, *program, *demo, flag.Args())
	} else {
		err = run(ctx, *program, flag.Args())
	}
	stop()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		os.Exit(max(1, failed.ExitCode()))
	case err != nil:
		log.Fatal(err)
	}
}

func run(ctx context.Context, program string, command []string) error {
	models, stop := modelserver.Start()
	defer stop()
	models.Turn = turn
	d, err := daemon.Start(ctx, daemon.Config{
		Program: program, Env: []string{"RAGD_LOG_LEVEL=warn", "RAGD_OPENAI_API_KEY=" + modelserver.Key},
		Args: []string{"--openai-base-url", models.URL + "/v1", "--openai-models", "*", "--allowed-private-networks", "127.0.0.0/8"},
	})
	if err != nil {
		return err
	}
	defer d.Stop()
	key, err := prepare(ctx, d)
	if err != nil {
		return fmt.Errorf("prepare the tenant: %w", err)
	}
	tests := exec.CommandContext(ctx, command[0], command[1:]...)
	tests.Cancel = func() error { return tests.Process.Signal(os.Interrupt) }
	tests.Stdin, tests.Stdout, tests.Stderr = os.Stdin, os.Stdout, os.Stderr
	tests.Env = append(os.Environ(),
		"RAGD_SERVER="+d.URL(), "RAGD_API_KEY="+key, "RAGD_OPERATOR_KEY="+daemon.OperatorKey,
		"RAGD_TEST_TENANT="+tenant, "RAGD_TEST_AGENT="+agent, "RAGD_TEST_MODEL="+model, "RAGD_TEST_MODEL_URL="+models.URL+"/v1",
	)
	return tests.Run()
}

// runDemo runs the command beside a service as hack/demo.sh starts it.
func runDemo(ctx context.Context, program, folder string, command []string) error {
	d, err := daemon.Start(ctx, daemon.Config{Program: program, Env: []string{"RAGD_LOG_LEVEL=warn", "RAGD_OPERATOR_KEY="}, Args: []string{"--first-tenant", "demo"}})
	if err != nil {
		return err
	}
	defer d.Stop()
	written, err := os.ReadFile(filepath.Join(d.Dir, "ragd", "client.conf"))
	if err != nil {
		return err
	}
	key := apiKey.FindSubmatch(written)
	if key == nil {
		return errors.New("client.conf has no api-key")
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RAGD_") })
	env = append(env, "RAGD_SERVER="+d.URL(), "RAGD_API_KEY="+string(key[1]))
	for _, c := range [][]string{{program, "ingest", "--index", "handbook", "--base", folder, folder}, command} {
		cmd := exec.CommandContext(ctx, c[0], c[1:]...)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return nil
}

// apiKey matches the key that the first start of ragd writes down.
var apiKey = regexp.MustCompile(`(?m)^api-key\s*=\s*(\S+)$`)

// prepare creates the tenant and its agent, and returns a key of the tenant.
func prepare(ctx context.Context, d *daemon.Daemon) (string, error) {
	tenants := ragdv1connect.NewTenantServiceClient(http.DefaultClient, d.URL(), as(daemon.OperatorKey))
	if _, err := tenants.CreateTenant(ctx, &ragdv1.CreateTenantRequest{TenantId: tenant, DisplayName: "Acme"}); err != nil {
		return "", err
	}
	key, err := tenants.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{TenantId: tenant, DisplayName: "tests", Scopes: []string{"admin"}})
	if err != nil {
		return "", err
	}
	definition, err := structpb.NewStruct(map[string]any{"description": "Answers from the documents.", "model": model})
	if err != nil {
		return "", err
	}
	agents := ragdv1connect.NewAgentServiceClient(http.DefaultClient, d.URL(), as(key.GetSecret()))
	_, err = agents.CreateAgent(ctx, &ragdv1.CreateAgentRequest{AgentName: agent, Definition: definition})
	return key.GetSecret(), err
}

// as calls with a credential.
func as(secret string) connect.ClientOption {
	return connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			req.Header().Set("Authorization", "Bearer "+secret)
			return next(ctx, req)
		}
	}))
}

// named matches the index that a question names: "... in the index docs".
var named = regexp.MustCompile(`\bindex ([A-Za-z_][A-Za-z0-9_-]*)`)

// turn searches with vector_query for the question, in the index that it names, and then cites the
// first passage that was found, unless there is no such index.
func turn(chat modelserver.Chat) modelserver.Turn {
	question := ""
	for _, m := range chat.Messages {
		if m.Role == "user" {
			question = m.Content
		}
	}
	if last := len(chat.Messages) - 1; last < 0 || chat.Messages[last].Role != "tool" {
		for _, tool := range chat.Tools {
			if !strings.Contains(tool, "vector_query") {
				continue
			}
			arguments := map[string]any{"queryText": question, "topK": 3}
			if index := named.FindStringSubmatch(question); index != nil {
				arguments["indexName"] = index[1]
			}
			text, _ := json.Marshal(arguments) // strings and a number
			return modelserver.Turn{Calls: []modelserver.Call{{Name: tool, Arguments: string(text)}}}
		}
		return modelserver.Turn{Text: "I do not know."}
	}
	if strings.Contains(chat.Messages[len(chat.Messages)-1].Content, "not found") {
		return modelserver.Turn{Text: "I do not know."} // there is no such index
	}
	return modelserver.Turn{Text: "The documents answer this [1]."}
}
