package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with testdata/name.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Error(diff)
	}
}

// message decodes a message from proto JSON.
func message[T any, M interface {
	*T
	proto.Message
}](t *testing.T, text string) M {
	t.Helper()
	m := M(new(T))
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	anAlert = `{"alertId": "a1", "displayName": "ferries", "indexName": "docs", "namespace": "default", "queryText": "late ferries", "searchMode": "hybrid",
		"minScore": 0.4, "subject": "k1", "createTime": "2026-01-02T03:04:05Z", "updateTime": "2026-01-02T03:04:05Z"}`
	aDocument = `{"documentId": "d1", "indexName": "docs", "uri": "guides/install.md", "title": "Install", "contentType": "text/markdown",
		"metadata": {"category": "guide"}, "contentHash": "c0ffee", "version": 2, "status": "ready", "chunkCount": 7, "byteSize": 4200,
		"createTime": "2026-01-02T03:04:05Z", "updateTime": "2026-01-02T03:04:05Z"}`
	aFailedDocument = `{"documentId": "d2", "indexName": "docs", "uri": "b.md", "status": "failed", "error": "the model refused it", "chunkCount": 1}`
	anIndex         = `{"indexName": "docs", "dimension": 512, "metric": "cosine", "indexConfig": {"type": "hnsw", "hnsw": {"m": 16, "efConstruction": 64}},
		"embeddingModel": "builtin/hash-512", "chunking": {"strategy": "markdown"}, "textLanguage": "english", "count": 5436, "documentCount": 1,
		"pendingDocumentCount": 2, "failedDocumentCount": 3, "status": "ready"}`
	aJob = `{"jobId": "j1", "kind": "ingest", "status": "running", "progress": {"done": 3, "total": 7, "unit": "chunks"}, "attempts": 2,
		"error": "the model was busy", "indexName": "docs", "documentId": "d1"}`
	anAnswer = `{"relevantContext": "[1] Install\nRun make.\n\n[2]\nOr not.", "warnings": ["the index is being built"], "sources": [
		{"id": "c1", "document": "Run make.", "metadata": {"text": "Run make.", "category": "guide"}, "score": 0.8215, "uri": "guides/install.md",
		 "title": "Install", "documentId": "d1", "ordinal": 3, "startByte": 10, "endByte": 19},
		{"id": "c2", "document": "Or not.", "score": 0.5, "vector": [0.5, 1]}],
		"explain": {"searchMode": "hybrid", "stages": [{"name": "embed", "durationMs": 0.25}, {"name": "search", "durationMs": 1.5, "candidates": 2}]}}`
	aWalk = `{"relevantContext": "[1] Dark River\nBy Clio Barnard.\n\n[2] Clio Barnard\nFrom Otley.", "sources": [
		{"id": "c1", "document": "By Clio Barnard.", "score": 0.6, "uri": "film", "title": "Dark River", "documentId": "d1", "path": "named by the question: Dark River"},
		{"id": "c2", "document": "From Otley.", "score": 0.2, "uri": "people/clio", "title": "Clio Barnard", "documentId": "d2",
		 "path": "named by the question: Dark River, names \"Clio Barnard\" → Clio Barnard"}],
		"explain": {"searchMode": "keyword", "stages": [{"name": "seeds", "durationMs": 2, "candidates": 1}, {"name": "walk", "durationMs": 0.5, "candidates": 2}],
		"nodes": [{"documentId": "d1", "title": "Dark River", "score": 0.6, "seed": 4, "source": true}, {"documentId": "d2", "title": "Clio Barnard", "score": 0.2, "source": true}],
		"edges": [{"from": 0, "to": 1, "type": "mention", "share": 1, "words": "names \"Clio Barnard\""}]}}`
)

// Every tool decodes its arguments to the right message and returns the answer in both
// forms, over HTTP in both eras.
func TestToolsOverHTTP(t *testing.T) {
	t.Parallel()
	type call struct {
		tool      string
		arguments map[string]any
		answer    proto.Message
		request   proto.Message
		golden    string
	}
	calls := []call{
		{"vector_query", map[string]any{
			"queryText": "How do I install it?", "indexName": "docs", "topK": 2, "searchMode": "hybrid", "includeVectors": true, "includeSources": true,
			"filter": map[string]any{"year": map[string]any{"$gte": 2023}}, "explain": true, "vectorStoreName": "ragd",
			"reranker": map[string]any{"kind": "lexical", "candidates": 40, "required": true},
		}, message[ragdv1.VectorQueryResponse](t, anAnswer), message[ragdv1.VectorQueryRequest](t, `{"queryText": "How do I install it?", "indexName": "docs",
			"topK": 2, "searchMode": "hybrid", "includeVectors": true, "includeSources": true, "filter": {"year": {"$gte": 2023}}, "explain": true,
			"vectorStoreName": "ragd", "reranker": {"kind": "lexical", "candidates": 40, "required": true}}`), "vector_query.txt"},
		{"vector_query", map[string]any{"queryVector": "AAAAPwAAgD8=", "includeSources": false}, // 0.5 and 1
			message[ragdv1.VectorQueryResponse](t, `{"relevantContext": "[1] Install\nRun make."}`),
			message[ragdv1.VectorQueryRequest](t, `{"queryVector": [0.5, 1], "includeSources": false}`), "vector_query_context.txt"},
		{"vector_query", map[string]any{"queryText": "x", "groupBy": map[string]any{"field": "kind", "size": 1}, "orderBy": []any{map[string]any{"field": "a", "descending": true}}, "pageSize": 2},
			message[ragdv1.VectorQueryResponse](t, `{"relevantContext": "[1] x", "sources": [{"id": "c1", "document": "x", "score": 1, "group": 0}, {"id": "c2", "document": "y", "score": 1, "group": 1}],
			"groups": [{"value": "guide", "chunkCount": 4}, {}], "groupCount": 2, "nextPageToken": "more"}`),
			message[ragdv1.VectorQueryRequest](t, `{"queryText": "x", "groupBy": {"field": "kind", "size": 1}, "orderBy": [{"field": "a", "descending": true}], "pageSize": 2}`), "vector_query_groups.txt"},
		{"vector_query", map[string]any{"queryText": "x", "filter": map[string]any{"a": 1}}, &ragdv1.VectorQueryResponse{},
			message[ragdv1.VectorQueryRequest](t, `{"queryText": "x", "filter": {"a": 1}}`), "vector_query_nothing.txt"},
		// Harmless mistakes of models.
		{"vector_query", map[string]any{"queryText": "5", "topK": "5", "filter": `{"a": 1}`, "indexName": nil, "includeVectors": "false", "searchMode": "keyword"},
			&ragdv1.VectorQueryResponse{}, message[ragdv1.VectorQueryRequest](t, `{"queryText": "5", "topK": 5, "filter": {"a": 1}, "includeVectors": false,
			"searchMode": "keyword"}`), "vector_query_nothing.txt"},
		{"graph_rag", map[string]any{
			"queryText": "Who made Dark River?", "indexName": "films", "topK": 2, "searchMode": "keyword", "includeVectors": false, "includeSources": true,
			"filter": map[string]any{"year": 2017}, "explain": true, "vectorStoreName": "ragd", "reranker": map[string]any{"kind": "lexical"},
			"graphOptions": map[string]any{"threshold": 0.8, "randomWalkSteps": 50, "restartProb": 0.3, "candidates": 0, "edgeTypes": []any{"mention", "next"}, "dimension": 512},
		}, message[ragdv1.GraphRagResponse](t, aWalk), message[ragdv1.GraphRagRequest](t, `{"queryText": "Who made Dark River?", "indexName": "films",
			"topK": 2, "searchMode": "keyword", "includeVectors": false, "includeSources": true, "filter": {"year": 2017}, "explain": true, "vectorStoreName": "ragd",
			"reranker": {"kind": "lexical"}, "graphOptions": {"threshold": 0.8, "randomWalkSteps": 50, "restartProb": 0.3, "edgeTypes": ["mention", "next"],
			"dimension": 512}}`), "graph_rag.txt"},
		{"graph_rag", map[string]any{"queryText": "What is this about?", "scope": "global"}, message[ragdv1.GraphRagResponse](t, `{"relevantContext": "# pumps",
			"sources": [{"id": "c1", "document": "A pump.", "score": 1, "title": "Pump", "topic": "pumps"}],
			"explain": {"topics": [{"topicId": 1, "title": "pumps", "reason": "9 chunks", "sources": 1}]}}`),
			message[ragdv1.GraphRagRequest](t, `{"queryText": "What is this about?", "scope": "global"}`), "graph_rag_global.txt"},
		{"research", map[string]any{"question": "Who made it, and how long is the river Osk?", "indexNames": []any{"docs"}, "budget": map[string]any{"passages": 5}}, message[ragdv1.ResearchResponse](t, `{
			"passages": [{"source": {"id": "c1", "document": "Pumps are made by Anna.", "score": 0.9, "title": "Pump", "uri": "pump"}, "parts": [0], "quotes": [{"text": "made by Anna", "names": "Anna", "range": {"startByte": 10, "endByte": 22}}]},
				{"source": {"id": "c2", "document": "Anna was a smith.", "title": "Anna"}, "parts": [0], "via": "named by Pump"}],
			"parts": [{"text": "Who made it", "found": true, "coverage": 1, "passages": [0, 1]}, {"text": "how long is the river Osk?", "names": ["Osk"], "missing": ["long", "river"], "relations": [{"text": "long river"}]}],
			"warnings": ["a notice"], "stopped": "steps", "stepCount": 2, "durationMs": 5}`),
			message[ragdv1.ResearchRequest](t, `{"question": "Who made it, and how long is the river Osk?", "indexNames": ["docs"], "budget": {"passages": 5}}`), "research.txt"},
		{"list_topics", map[string]any{"indexName": "docs", "pageSize": 5}, message[ragdv1.ListTopicsResponse](t, `{"topics": [
			{"topicId": 1, "title": "pumps", "summary": "How pumps are greased.", "terms": ["pump", "coolant"], "chunkCount": 9, "documentCount": 2, "share": 0.9,
			 "chunks": [{"documentId": "d1", "uri": "a", "text": "A pump."}], "documents": [{"documentId": "d1", "uri": "a", "title": "Pumps", "chunkCount": 8}, {"uri": "b"}]},
			{"topicId": 2, "parentId": 1, "title": "valves", "terms": ["valve"], "chunkCount": 1, "documentCount": 1, "share": 0.1}],
			"nextPageToken": "more", "findTime": "2026-01-02T03:04:05Z", "otherChunkCount": 1, "modularity": 0.5}`),
			message[ragdv1.ListTopicsRequest](t, `{"indexName": "docs", "pageSize": 5}`), "list_topics.txt"},
		{"count_chunks", map[string]any{"indexName": "docs", "filter": map[string]any{"year": 2017}, "facets": []any{map[string]any{"field": "kind"}, map[string]any{"field": "price", "rangeCount": 2}}},
			message[ragdv1.CountChunksResponse](t, `{"chunkCount": 12, "documentCount": 1, "warnings": ["a notice"], "facets": [
			{"field": "kind", "chunkCount": 12, "missingCount": 2, "valueCount": 3, "values": [{"value": "guide", "chunkCount": 9}, {"value": true, "chunkCount": 1}]},
			{"field": "price", "chunkCount": 12, "valueCount": 4, "ranges": [{"from": 0, "to": 10, "chunkCount": 11}, {"from": 10, "chunkCount": 1}]}]}`),
			message[ragdv1.CountChunksRequest](t, `{"indexName": "docs", "filter": {"year": 2017}, "facets": [{"field": "kind"}, {"field": "price", "rangeCount": 2}]}`), "count_chunks.txt"},
		{"list_tables", map[string]any{"search": "price", "pageSize": 1}, message[ragdv1.ListTablesResponse](t, `{"tables": [
			{"tableId": "d1:1", "name": "prices", "documentId": "d1", "uri": "prices.xlsx", "sheet": "2026", "range": "B2:C9", "rowCount": 8, "notes": ["row 10 is a total and not counted among the rows"],
			 "columns": [{"name": "part", "type": "text", "samples": ["Cleat", "Winch"]}, {"name": "price", "title": "Price (EUR)", "type": "number", "unit": "EUR"}]},
			{"tableId": "d2:1", "name": "large", "uri": "large.csv", "range": "lines 2-300000", "rowCount": 299999, "leftOut": "it has over 200000 rows"}], "nextPageToken": "more"}`),
			message[ragdv1.ListTablesRequest](t, `{"search": "price", "pageSize": 1}`), "list_tables.txt"},
		{"query_table", map[string]any{"plan": map[string]any{"table": "prices", "groupBy": []any{"part"}, "filter": map[string]any{"price": map[string]any{"$gt": 1}}}}, message[ragdv1.QueryTableResponse](t, `{
			"columns": [{"name": "part", "type": "text"}, {"name": "total", "type": "number", "unit": "EUR"}], "truncated": true,
			"rows": [{"values": ["Cleat", 14.5], "rowCount": 2, "cells": ["B2:C3"]}, {"values": ["Winch", null], "rowCount": 1, "cells": ["C9"]}],
			"sources": [{"tableId": "d1:1", "name": "prices", "uri": "prices.xlsx", "sheet": "2026", "range": "B2:C9", "notes": ["row 10 is a total and not counted among the rows"]}], "plan": {"table": "prices"}}`),
			message[ragdv1.QueryTableRequest](t, `{"plan": {"table": "prices", "groupBy": ["part"], "filter": {"price": {"$gt": 1}}}}`), "query_table.txt"},
		{"list_topics", nil, &ragdv1.ListTopicsResponse{}, &ragdv1.ListTopicsRequest{}, "list_topics_none.txt"},
		{"graph_rag", map[string]any{"queryText": "x", "filter": `{"a": 1}`, "graphOptions": `{"restartProb": 0.5}`}, &ragdv1.GraphRagResponse{},
			message[ragdv1.GraphRagRequest](t, `{"queryText": "x", "filter": {"a": 1}, "graphOptions": {"restartProb": 0.5}}`), "graph_rag_nothing.txt"},
		{"rerank", map[string]any{"queryText": "How?", "results": []any{map[string]any{"id": "c1", "document": "Run make.", "score": 0.5}},
			"reranker": map[string]any{"topK": 1, "weights": map[string]any{"semantic": 1, "vector": 0, "position": 0}}},
			message[ragdv1.RerankResponse](t, `{"results": [{"result": {"id": "c1", "document": "Run make.", "title": "Install", "score": 0.5}, "score": 0.75,
			"details": {"semantic": 0.75}}], "warnings": ["one passage was not scored"]}`), message[ragdv1.RerankRequest](t, `{"queryText": "How?",
			"results": [{"id": "c1", "document": "Run make.", "score": 0.5}], "reranker": {"topK": 1, "weights": {"semantic": 1, "vector": 0, "position": 0}}}`),
			"rerank.txt"},
		{"list_indexes", nil, message[ragdv1.ListIndexesResponse](t, `{"indexes": [`+anIndex+`, {"indexName": "raw"}], "indexNames": ["docs", "raw"],
			"nextPageToken": "more"}`), &ragdv1.ListIndexesRequest{}, "list_indexes.txt"},
		{"list_indexes", map[string]any{"pageSize": 5, "pageToken": "more"}, &ragdv1.ListIndexesResponse{},
			message[ragdv1.ListIndexesRequest](t, `{"pageSize": 5, "pageToken": "more"}`), "list_indexes_empty.txt"},
		{"describe_index", map[string]any{"indexName": "docs"}, message[ragdv1.Index](t, anIndex),
			message[ragdv1.DescribeIndexRequest](t, `{"indexName": "docs"}`), "describe_index.txt"},
		{"upload_document", map[string]any{
			"indexName": "docs", "uri": "guides/install.md", "title": "Install", "text": "Run make.", "contentType": "text/markdown",
			"metadata": map[string]any{"category": "guide"}, "chunking": map[string]any{"strategy": "markdown", "maxSize": 800, "headers": []any{
				map[string]any{"marker": "##", "key": "section"}}},
			"extract": map[string]any{"model": "openai/m", "title": true, "summary": map[string]any{"summaries": []any{"prev"}}},
		}, message[ragdv1.UploadDocumentResponse](t, `{"document": `+aDocument+`, "job": `+aJob+`}`), message[ragdv1.UploadDocumentRequest](t, `{
			"indexName": "docs", "uri": "guides/install.md", "title": "Install", "text": "Run make.", "contentType": "text/markdown",
			"metadata": {"category": "guide"}, "chunking": {"strategy": "markdown", "maxSize": 800, "headers": [{"marker": "##", "key": "section"}]},
			"extract": {"model": "openai/m", "title": true, "summary": {"summaries": ["prev"]}}}`),
			"upload_document.txt"},
		{"upload_document", map[string]any{"content": "UnVuIG1ha2Uu"},
			message[ragdv1.UploadDocumentResponse](t, `{"document": `+aDocument+`, "job": {"jobId": "j1", "status": "succeeded"}}`),
			message[ragdv1.UploadDocumentRequest](t, `{"content": "UnVuIG1ha2Uu"}`), "upload_document_done.txt"},
		{"list_documents", map[string]any{"indexName": "docs", "filter": map[string]any{"category": "guide"}, "pageSize": 2, "pageToken": "p"},
			message[ragdv1.ListDocumentsResponse](t, `{"documents": [`+aDocument+`, `+aFailedDocument+`], "nextPageToken": "more"}`),
			message[ragdv1.ListDocumentsRequest](t, `{"indexName": "docs", "filter": {"category": "guide"}, "pageSize": 2, "pageToken": "p"}`), "list_documents.txt"},
		{"list_documents", map[string]any{"namespace": "rosa"}, message[ragdv1.ListDocumentsResponse](t, `{"documents": [{"uri": "a.md", "namespace": "rosa", "status": "ready"}]}`),
			message[ragdv1.ListDocumentsRequest](t, `{"namespace": "rosa"}`), "list_documents_namespace.txt"},
		{"list_documents", nil, &ragdv1.ListDocumentsResponse{}, &ragdv1.ListDocumentsRequest{}, "list_documents_empty.txt"},
		{"get_document", map[string]any{"indexName": "docs", "uri": "guides/install.md"}, message[ragdv1.Document](t, aDocument),
			message[ragdv1.GetDocumentRequest](t, `{"indexName": "docs", "uri": "guides/install.md"}`), "get_document.txt"},
		{"delete_document", map[string]any{"indexName": "docs", "documentId": "d1"}, &ragdv1.DeleteDocumentResponse{},
			message[ragdv1.DeleteDocumentRequest](t, `{"indexName": "docs", "documentId": "d1"}`), "delete_document.txt"},
		{"delete_document", map[string]any{"uri": "b.md"}, &ragdv1.DeleteDocumentResponse{},
			message[ragdv1.DeleteDocumentRequest](t, `{"uri": "b.md"}`), "delete_document_uri.txt"},
		{"delete_documents", map[string]any{"indexName": "docs", "filter": map[string]any{"category": "guide"}, "namespace": "n", "dryRun": true},
			message[ragdv1.DeleteDocumentsResponse](t, `{"deletedCount": 3, "documents": [{"documentId": "d1", "uri": "a.md"}, {"documentId": "d2", "uri": "b.md"}]}`),
			message[ragdv1.DeleteDocumentsRequest](t, `{"indexName": "docs", "filter": {"category": "guide"}, "namespace": "n", "dryRun": true}`), "delete_documents_dry_run.txt"},
		{"delete_documents", map[string]any{"uris": []any{"a.md"}}, message[ragdv1.DeleteDocumentsResponse](t, `{"deletedCount": 1, "documents": [{"uri": "a.md"}]}`),
			message[ragdv1.DeleteDocumentsRequest](t, `{"uris": ["a.md"]}`), "delete_documents.txt"},
		{"delete_documents", map[string]any{"documentIds": []any{"d1", "d2"}}, &ragdv1.DeleteDocumentsResponse{},
			message[ragdv1.DeleteDocumentsRequest](t, `{"documentIds": ["d1", "d2"]}`), "delete_documents_none.txt"},
		{"get_job", map[string]any{"jobId": "j1"}, message[ragdv1.Job](t, aJob), message[ragdv1.GetJobRequest](t, `{"jobId": "j1"}`), "get_job.txt"},
		{"sync_source", map[string]any{"indexName": "docs", "uriPrefix": "guides/", "dryRun": true, "documents": []any{
			map[string]any{"uri": "guides/a.md", "fingerprint": "1"}, map[string]any{"uri": "guides/b.md"}}},
			message[ragdv1.SyncSourceResponse](t, `{"newUris": ["guides/a.md"], "changedUris": ["guides/b.md"], "unchangedCount": 1, "goneUris": ["guides/c.md"], "goneCount": 3}`),
			message[ragdv1.SyncSourceRequest](t, `{"indexName": "docs", "uriPrefix": "guides/", "dryRun": true, "documents": [
			{"uri": "guides/a.md", "fingerprint": "1"}, {"uri": "guides/b.md"}]}`), "sync_source.txt"},
		{"cancel_job", map[string]any{"jobId": "j1"}, message[ragdv1.Job](t, `{"jobId": "j1", "kind": "ingest", "status": "cancelled"}`),
			message[ragdv1.CancelJobRequest](t, `{"jobId": "j1"}`), "cancel_job.txt"},
		{"document_chunker", map[string]any{"text": "Run make. Or not.", "contentType": "text/plain", "metadata": map[string]any{"a": 1},
			"chunking": map[string]any{"strategy": "sentence", "maxSize": 10, "keepSeparator": true}},
			message[ragdv1.ChunkTextResponse](t, `{"chunks": [{"text": "Run make.", "endByte": 9}, {"ordinal": 1, "text": "Or not.", "startByte": 10, "endByte": 17,
			"metadata": {"a": 1}, "tokenCount": 2}]}`), message[ragdv1.ChunkTextRequest](t, `{"text": "Run make. Or not.", "contentType": "text/plain",
			"metadata": {"a": 1}, "chunking": {"strategy": "sentence", "maxSize": 10, "keepSeparator": true}}`), "document_chunker.txt"},
		{"alerts", map[string]any{"action": "create", "queryText": "late ferries", "minScore": 0.4}, message[ragdv1.Alert](t, anAlert),
			message[ragdv1.CreateAlertRequest](t, `{"queryText": "late ferries", "minScore": 0.4}`), "alerts_create.txt"},
		{"alerts", map[string]any{"action": "update", "alertId": "a1", "searchMode": "keyword", "paused": true, "filter": `{"team": "red"}`},
			message[ragdv1.Alert](t, `{"alertId": "a1", "indexName": "docs", "queryText": "late ferries", "searchMode": "keyword", "paused": true, "filter": {"team": "red"}}`),
			message[ragdv1.UpdateAlertRequest](t, `{"alertId": "a1", "searchMode": "keyword", "paused": true, "filter": {"team": "red"}}`), "alerts_update.txt"},
		{"alerts", map[string]any{"action": "list", "pageSize": 2}, message[ragdv1.ListAlertsResponse](t, `{"alerts": [`+anAlert+`,
			{"alertId": "a2", "indexName": "docs", "queryText": "mergers", "searchMode": "keyword", "endedReason": "the key was revoked"}], "nextPageToken": "more"}`),
			message[ragdv1.ListAlertsRequest](t, `{"pageSize": 2}`), "alerts_list.txt"},
		{"alerts", map[string]any{"action": "list"}, &ragdv1.ListAlertsResponse{}, &ragdv1.ListAlertsRequest{}, "alerts_none.txt"},
		{"alerts", map[string]any{"action": "matches", "alertId": "a1"}, message[ragdv1.ListAlertMatchesResponse](t, `{"matches": [{"matchId": "m1",
			"source": {"id": "d1:0", "document": "The ferry is late.", "score": 0.52, "title": "News", "uri": "news.md"}, "createTime": "2026-01-02T03:04:05Z"}], "nextPageToken": "more"}`),
			message[ragdv1.ListAlertMatchesRequest](t, `{"alertId": "a1"}`), "alerts_matches.txt"},
		{"alerts", map[string]any{"action": "matches", "alertId": "a1"}, &ragdv1.ListAlertMatchesResponse{}, message[ragdv1.ListAlertMatchesRequest](t, `{"alertId": "a1"}`), "alerts_no_matches.txt"},
		{"alerts", map[string]any{"action": "preview", "queryText": "late ferries", "minScore": 0.5, "topK": 2}, message[ragdv1.PreviewAlertResponse](t, `{"matchCount": 1, "comparedCount": 3,
			"complete": true, "passages": [{"matches": true, "source": {"id": "d1:0", "document": "The ferry is late.", "score": 0.52, "title": "News", "uri": "news.md"}},
			{"source": {"id": "d2:0", "document": "A ferry.", "score": 0.31, "uri": "old.md"}}]}`),
			message[ragdv1.PreviewAlertRequest](t, `{"queryText": "late ferries", "minScore": 0.5, "topK": 2}`), "alerts_preview.txt"},
		{"alerts", map[string]any{"action": "delete", "alertId": "a1"}, &ragdv1.DeleteAlertResponse{}, message[ragdv1.DeleteAlertRequest](t, `{"alertId": "a1"}`), "alerts_delete.txt"},
		{"record_feedback", map[string]any{"queryId": "q1", "source": "d1:3", "helpful": false},
			message[ragdv1.RecordFeedbackResponse](t, `{"setName": "feedback-docs", "questionId": "asked-1"}`),
			message[ragdv1.RecordFeedbackRequest](t, `{"queryId": "q1", "source": "d1:3", "helpful": false}`), "record_feedback.txt"},
		{"record_feedback", map[string]any{"queryId": "q1", "source": "d1:3", "withdraw": true},
			message[ragdv1.RecordFeedbackResponse](t, `{"setName": "feedback-docs", "questionId": "asked-1"}`),
			message[ragdv1.RecordFeedbackRequest](t, `{"queryId": "q1", "source": "d1:3", "withdraw": true}`), "record_feedback_withdraw.txt"},
		{"remember", map[string]any{"text": "The user lives in Ghent.", "replaces": "m1"}, message[ragdv1.Memory](t, `{"memoryId": "m2", "text": "The user lives in Ghent.", "replaces": "m1"}`),
			message[ragdv1.RememberRequest](t, `{"text": "The user lives in Ghent.", "replaces": "m1"}`), "remember.txt"},
		{"recall", map[string]any{"queryText": "Where does the user live?", "asOf": "2025-05-01T00:00:00Z"},
			message[ragdv1.RecallResponse](t, `{"memories": [{"memoryId": "m1", "text": "The user lives in Graz.", "validFrom": "2024-01-02T03:04:05Z", "validUntil": "2026-01-02T03:04:05Z"}]}`),
			message[ragdv1.RecallRequest](t, `{"queryText": "Where does the user live?", "asOf": "2025-05-01T00:00:00Z"}`), "recall.txt"},
		{"recall", map[string]any{"queryText": "Which shoes?"}, &ragdv1.RecallResponse{}, message[ragdv1.RecallRequest](t, `{"queryText": "Which shoes?"}`), "recall_nothing.txt"},
		{"forget", map[string]any{"memoryId": "m1"}, message[ragdv1.ForgetResponse](t, `{"deletedCount": 2}`), message[ragdv1.ForgetRequest](t, `{"memoryId": "m1"}`), "forget.txt"},
		{"forget", map[string]any{"queryText": "home", "dryRun": true},
			message[ragdv1.ForgetResponse](t, `{"deletedCount": 1, "memories": [{"memoryId": "m1", "text": "The user lives in Graz.", "validFrom": "2024-01-02T03:04:05Z"}]}`),
			message[ragdv1.ForgetRequest](t, `{"queryText": "home", "dryRun": true}`), "forget_dry_run.txt"},
	}
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			var asked, answer proto.Message
			c := connectClient(t, serve(t, recordingAPI(&asked, &answer), nil), options, nil)
			schemas := outputSchemas(t)
			for _, call := range calls {
				t.Run(call.golden, func(t *testing.T) {
					asked, answer = nil, call.answer
					result, text := mcptest.Call(t, c, call.tool, call.arguments, nil)
					if result.IsError {
						t.Fatal(text)
					}
					if diff := cmp.Diff(call.request, asked, protocmp.Transform()); diff != "" {
						t.Errorf("the request differs: %s", diff)
					}
					golden(t, call.golden, text)
					structured, err := json.Marshal(result.StructuredContent)
					if err != nil {
						t.Fatal(err)
					}
					back := call.answer.ProtoReflect().New().Interface()
					if err := protojson.Unmarshal(structured, back); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(withoutCopies(call.answer), back, protocmp.Transform()); diff != "" {
						t.Errorf("the structured content differs: %s", diff)
					}
					if err := schemas[call.tool].Validate(result.StructuredContent); err != nil {
						t.Errorf("the structured content does not fit the output schema: %v", err)
					}
				})
			}
			called := []string{"fetch", "search"} // have no message of their own and a test of their own
			for _, call := range calls {
				called = append(called, call.tool)
			}
			named := append(toolNames(t), "forget", "recall", "remember") // listed only where they are named
			slices.Sort(named)
			if diff := cmp.Diff(named, slices.Compact(slices.Sorted(slices.Values(called)))); diff != "" {
				t.Errorf("not every tool was called: %s", diff)
			}
		})
	}
}

// withoutCopies returns an answer that has the text of each passage once.
func withoutCopies(m proto.Message) proto.Message {
	m = proto.CloneOf(m)
	var sources []*ragdv1.Source
	switch m := m.(type) {
	case *ragdv1.VectorQueryResponse:
		if sources = m.Sources; len(sources) > 0 {
			m.RelevantContext = ""
		}
	case *ragdv1.GraphRagResponse:
		if sources = m.Sources; len(sources) > 0 {
			m.RelevantContext = ""
		}
	case *ragdv1.ResearchResponse:
		m.RelevantContext = ""
		for _, p := range m.Passages {
			sources = append(sources, p.Source)
		}
	case *ragdv1.RerankResponse:
		for _, r := range m.Results {
			sources = append(sources, r.Result)
		}
	}
	for _, source := range sources {
		delete(source.GetMetadata().GetFields(), "text")
	}
	return m
}

// recordingAPI answers every call with *answer and records the request.
func recordingAPI(asked, answer *proto.Message) *fakeAPI {
	return &fakeAPI{
		vectorQuery:     record[ragdv1.VectorQueryRequest, *ragdv1.VectorQueryResponse](asked, answer),
		countChunks:     record[ragdv1.CountChunksRequest, *ragdv1.CountChunksResponse](asked, answer),
		graphRag:        record[ragdv1.GraphRagRequest, *ragdv1.GraphRagResponse](asked, answer),
		listTables:      record[ragdv1.ListTablesRequest, *ragdv1.ListTablesResponse](asked, answer),
		queryTable:      record[ragdv1.QueryTableRequest, *ragdv1.QueryTableResponse](asked, answer),
		research:        record[ragdv1.ResearchRequest, *ragdv1.ResearchResponse](asked, answer),
		listTopics:      record[ragdv1.ListTopicsRequest, *ragdv1.ListTopicsResponse](asked, answer),
		rerank:          record[ragdv1.RerankRequest, *ragdv1.RerankResponse](asked, answer),
		listIndexes:     record[ragdv1.ListIndexesRequest, *ragdv1.ListIndexesResponse](asked, answer),
		describeIndex:   record[ragdv1.DescribeIndexRequest, *ragdv1.Index](asked, answer),
		uploadDocument:  record[ragdv1.UploadDocumentRequest, *ragdv1.UploadDocumentResponse](asked, answer),
		getDocument:     record[ragdv1.GetDocumentRequest, *ragdv1.Document](asked, answer),
		listDocuments:   record[ragdv1.ListDocumentsRequest, *ragdv1.ListDocumentsResponse](asked, answer),
		deleteDocuments: record[ragdv1.DeleteDocumentsRequest, *ragdv1.DeleteDocumentsResponse](asked, answer),
		deleteDocument:  record[ragdv1.DeleteDocumentRequest, *ragdv1.DeleteDocumentResponse](asked, answer),
		getJob:          record[ragdv1.GetJobRequest, *ragdv1.Job](asked, answer),
		syncSource:      record[ragdv1.SyncSourceRequest, *ragdv1.SyncSourceResponse](asked, answer),
		cancelJob:       record[ragdv1.CancelJobRequest, *ragdv1.Job](asked, answer),
		remember:        record[ragdv1.RememberRequest, *ragdv1.Memory](asked, answer),
		recall:          record[ragdv1.RecallRequest, *ragdv1.RecallResponse](asked, answer),
		forget:          record[ragdv1.ForgetRequest, *ragdv1.ForgetResponse](asked, answer),
		recordFeedback:  record[ragdv1.RecordFeedbackRequest, *ragdv1.RecordFeedbackResponse](asked, answer),
		createAlert:     record[ragdv1.CreateAlertRequest, *ragdv1.Alert](asked, answer),
		previewAlert:    record[ragdv1.PreviewAlertRequest, *ragdv1.PreviewAlertResponse](asked, answer),
		listAlerts:      record[ragdv1.ListAlertsRequest, *ragdv1.ListAlertsResponse](asked, answer),
		listMatches:     record[ragdv1.ListAlertMatchesRequest, *ragdv1.ListAlertMatchesResponse](asked, answer),
		updateAlert:     record[ragdv1.UpdateAlertRequest, *ragdv1.Alert](asked, answer),
		deleteAlert:     record[ragdv1.DeleteAlertRequest, *ragdv1.DeleteAlertResponse](asked, answer),
		chunkText:       record[ragdv1.ChunkTextRequest, *ragdv1.ChunkTextResponse](asked, answer),
	}
}

func record[Req any, Res proto.Message, M interface {
	*Req
	proto.Message
}](asked, answer *proto.Message) func(context.Context, M) (Res, error) {
	return func(_ context.Context, req M) (Res, error) {
		*asked = req
		return (*answer).(Res), nil
	}
}

// definitions returns the builtin tools in the order of their names.
func definitions(t testing.TB) []toolset.Definition {
	t.Helper()
	s, err := toolset.New(toolset.Config{API: &fakeAPI{listIndexes: noIndexes}})
	if err != nil {
		t.Fatal(err)
	}
	return s.List(t.Context(), toolset.View{})
}

func toolNames(t testing.TB) (names []string) {
	for _, d := range definitions(t) {
		names = append(names, d.Name)
	}
	return names
}

func outputSchemas(t testing.TB) map[string]*jsonschema.Schema {
	schemas := map[string]*jsonschema.Schema{}
	s, err := toolset.New(toolset.Config{API: &fakeAPI{listIndexes: noIndexes}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range s.All(t.Context(), toolset.View{}) {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.OutputSchema))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource(d.Name, document); err != nil {
			t.Fatal(err)
		}
		if schemas[d.Name], err = compiler.Compile(d.Name); err != nil {
			t.Fatal(err)
		}
	}
	return schemas
}

// Clients of both mcptest.Eras list all tools, with titles, annotations and descriptions.
func TestToolList(t *testing.T) {
	t.Parallel()
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c := connectClient(t, serve(t, &fakeAPI{listIndexes: noIndexes}, nil), options, nil)
			listed, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range listed.Tools {
				names = append(names, tool.Name)
				a := tool.Annotations
				if a.Title == "" || a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
					t.Errorf("%s lacks annotations: %+v", tool.Name, a)
				}
				if tool.Title == "" || len(tool.Description) < 80 {
					t.Errorf("%s is not described", tool.Name)
				}
			}
			if diff := cmp.Diff(toolNames(t), names); diff != "" {
				t.Error(diff)
			}
		})
	}
}
