package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/ragdhq/ragd/internal/service/testing/daemon"
)

// A tenant that does everything at once, through two instances of the service on one
// database. Another tenant must not notice.

// neighbourAttacks returns the attacks on a service of two instances.
func neighbourAttacks() []attack {
	return []attack{{
		name: "neighbour",
		what: "through two instances, with a write key: 3x VectorQuery of topK 1000, 2x vector_query over MCP, 2x GraphRag, 2x UploadDocument of 20 KB, 2x ChunkText with a costly expression, 1x Rerank of 1000 texts of 25 KB",
		run:  neighbour,
	}}
}

// blast is what each client of the neighbour repeats.
var blast = []func(ctx context.Context, s *arena, n int) answer{wideQuery, wideQuery, wideQuery, toolCall, toolCall, walk, walk, store, store, split, split, giantRerank}

func neighbour(ctx context.Context, s *arena) (result, error) {
	if err := s.upload(ctx, s.attacker, 120); err != nil {
		return result{}, err
	}
	if err := s.upload(ctx, s.victim, 10); err != nil {
		return result{}, err
	}
	second, err := s.another(ctx)
	if err != nil {
		return result{}, err
	}
	defer second.Stop()
	instances := []*arena{s, second}
	return fairness{
		service: s, clients: len(blast),
		attack: func(ctx context.Context, client, n int) answer { return blast[client](ctx, instances[(client+n)%2], n) },
		victim: []question{s.asked(), second.asked()},
	}.run(ctx)
}

// another starts a second instance on the same database.
func (s *arena) another(ctx context.Context) (*arena, error) {
	dir, err := os.MkdirTemp("", "ragd-attack-")
	if err != nil {
		return nil, err
	}
	second := *s
	second.Daemon, err = daemon.Start(ctx, daemon.Config{
		Program: s.ragd, Log: s.log, Dir: dir,
		Env: []string{"RAGD_DATABASE_URL=" + s.DatabaseURL(), "RAGD_TENANT_REQUEST_RATE=0"},
	})
	return &second, err
}

func wideQuery(ctx context.Context, s *arena, _ int) answer {
	return s.rpc(ctx, s.attacker.write, "QueryService/VectorQuery", object{"indexName": "docs", "queryText": "harbour quarry", "topK": 1000, "includeVectors": true})
}

func toolCall(ctx context.Context, s *arena, n int) answer {
	arguments := object{"indexName": "docs", "queryText": fmt.Sprint("harbour quarry ", n), "topK": 20}
	return s.mcp(ctx, s.attacker.write, "tools/call", "vector_query", object{"name": "vector_query", "arguments": arguments})
}

func walk(ctx context.Context, s *arena, n int) answer {
	return s.rpc(ctx, s.attacker.write, "QueryService/GraphRag", object{
		"indexName": "docs", "queryText": "harbour quarry", "topK": 1000,
		"graphOptions": object{"candidates": 1000 * (n % 2), "threshold": 0.1, "randomWalkSteps": 10_000},
	})
}

func store(ctx context.Context, s *arena, n int) answer {
	return s.rpc(ctx, s.attacker.write, "DocumentService/UploadDocument", object{"indexName": "docs", "uri": fmt.Sprintf("more/%d.txt", n), "text": prose("mallory", n, 20_000)})
}

// splitBody is a request to split 2 MB of a at an expression that is costly to match.
var splitBody = encode(object{
	"text":     strings.Repeat("a", 2_000_000),
	"chunking": object{"strategy": "recursive", "separators": []string{`a{1,50}$`}, "isSeparatorRegex": true, "maxSize": 1000, "overlap": 0},
})

func split(ctx context.Context, s *arena, _ int) answer {
	return s.sendJSON(ctx, s.attacker.write, "ChunkService/ChunkText", splitBody)
}

// rerankBody is a request to rerank 1000 texts.
var rerankBody = func() []byte {
	results := make([]object, 1000)
	for i := range results {
		results[i] = object{"id": fmt.Sprint(i), "document": longText}
	}
	return encode(object{"queryText": "harbour quarry valve", "results": results})
}()

func giantRerank(ctx context.Context, s *arena, _ int) answer {
	return s.sendJSON(ctx, s.attacker.write, "QueryService/Rerank", rerankBody)
}
