package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Page tokens, which are credentials of a kind, and the origins from which browsers call.

// credentialAttacks returns the attacks with tokens and headers.
func credentialAttacks() []attack {
	return []attack{
		{name: "page-tokens", what: "made-up, changed and foreign page tokens to every list, with an admin key", run: forgeTokens},
		{name: "host-origin", what: "RPC and MCP with foreign Host and Origin headers, with a read key", run: foreignOrigin},
	}
}

// forgeTokens calls every list with tokens that it did not get there.
func forgeTokens(ctx context.Context, s *arena) (result, error) {
	for _, keys := range []tenantKeys{s.attacker, s.victim} {
		for n := range 3 {
			if err := s.must(ctx, keys.write, "DocumentService/UploadDocument", object{"indexName": "docs", "uri": fmt.Sprint(n), "text": fmt.Sprint("text ", n)}, nil); err != nil {
				return result{}, err
			}
			if err := s.must(ctx, keys.write, "IndexService/CreateIndex", object{"indexName": fmt.Sprint("more", n)}, nil); err != nil {
				return result{}, err
			}
		}
	}
	tokens := []string{"x", "null", "1", "-1", strings.Repeat("A", 10_000)}
	for _, inner := range []string{"null", "{}", "[]", "[1]", `["a","b"]`, `{"id":"x"}`, `"x"`, "0", "\x00", "\xff", "2026-01-01T00:00:00Z|x", "99999999999999999999"} {
		tokens = append(tokens, base64.RawURLEncoding.EncodeToString([]byte(inner)))
	}
	var answers []answer
	r := result{}
	for _, method := range unaryMethods() {
		if method.Input().Fields().ByName("page_token") == nil {
			continue
		}
		procedure := fmt.Sprintf("%s/%s", method.Parent().Name(), method.Name())
		if strings.HasSuffix(procedure, "/ListTenants") {
			continue // for operators
		}
		theirs := s.nextPage(ctx, s.victim, method)
		forged := tokens
		if theirs != "" {
			forged = append(forged[:len(forged):len(forged)], theirs, theirs[:len(theirs)-2], flip(theirs))
		}
		for _, token := range forged {
			a := s.rpc(ctx, s.attacker.admin, procedure, s.page(ctx, s.attacker, method, token))
			if answers = append(answers, a); a.code != "invalid_argument" {
				r.breaks("%s takes the token %s: %s", procedure, brief(token), a.code)
				break
			}
		}
	}
	counted := reject(answers)
	return result{answer: counted.answer, broken: append(counted.broken, r.broken...)}, nil
}

// page returns a request for a page of one entry.
func (s *arena) page(ctx context.Context, keys tenantKeys, method protoreflect.MethodDescriptor, token string) object {
	request := object{"pageSize": 1, "pageToken": token}
	if method.Input().Fields().ByName("index_name") != nil {
		request["indexName"] = "docs"
	}
	if method.Input().Fields().ByName("document_id") != nil {
		if d, err := s.document(ctx, keys, "0"); err == nil {
			request["documentId"] = d.DocumentID
		}
	}
	return request
}

// nextPage returns the token of the second page of a tenant's list, empty if it has one
// page.
func (s *arena) nextPage(ctx context.Context, keys tenantKeys, method protoreflect.MethodDescriptor) string {
	a := s.rpc(ctx, keys.admin, fmt.Sprintf("%s/%s", method.Parent().Name(), method.Name()), s.page(ctx, keys, method, ""))
	var first struct{ NextPageToken string }
	_ = json.Unmarshal([]byte(a.text), &first)
	return first.NextPageToken
}

// foreignOrigin calls as the page of a foreign site does after it has rebound its name to
// this machine, and as a local file.
func foreignOrigin(ctx context.Context, s *arena) (result, error) {
	var answers []answer
	r := result{}
	for _, headers := range [][]string{
		{"Host", "evil.example"}, {"Origin", "http://evil.example"}, {"Origin", "null"}, {"Origin", "file://localhost"},
		{"Origin", "http://localhost.evil.example"},
	} {
		rpc := s.rpc(ctx, s.attacker.read, "IndexService/ListIndexes", object{}, headers...)
		mcp := s.mcp(ctx, s.attacker.read, "tools/call", "list_indexes", object{"name": "list_indexes", "arguments": object{}}, headers...)
		answers = append(answers, rpc, mcp)
		for over, a := range map[string]answer{"RPC": rpc, "MCP": mcp} {
			if a.code == "ok" {
				r.breaks("%s takes %s: %s", over, headers[0], headers[1])
			}
		}
	}
	counted := reject(answers)
	return result{answer: counted.answer, broken: append(counted.broken, r.broken...)}, nil
}
