package journal

import (
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Test is the type of the events of HookService.TestHook, which are not watched.
const Test = "hook.test"

// Type is a type of events.
type Type struct {
	Name string
	Says string // when there is such an event, for the reference
}

// Field is a field of the data of an event.
type Field struct{ Name, Says string }

// Fields lists the fields of the data of all types of a topic, for the reference. The fields
// that not all events of the topic have say so.
var Fields = map[string][]Field{
	"document": {
		{"indexName", "the index"},
		{"documentId", ""},
		{"uri", ""},
		{"title", ""},
		{"namespace", ""},
		{"contentType", ""},
		{"contentHash", ""},
		{"version", "counts the uploads of the document"},
		{"chunkCount", ""},
		{"byteSize", "of the upload"},
		{"metadata", "that of the upload; only with content"},
		{"jobId", "the job that ingested this version"},
		{"error", "why the document has failed; else empty"},
		{"count", "number of documents, in an event that stands for many; it has this and indexName only"},
	},
	"job": {
		{"jobId", ""},
		{"kind", "such as ingest"},
		{"status", "queued, running, succeeded, failed or cancelled"},
		{"indexName", ""},
		{"documentId", "null for work on a whole index"},
		{"done", "progress, in unit"},
		{"total", "0 until it is known"},
		{"unit", "of done and total, such as chunks"},
		{"attempts", ""},
		{"error", "of the last attempt"},
	},
	"tool": {
		{"callId", "the same for the events of one call"},
		{"toolName", "the name of the tenant's tool or of the builtin one"},
		{"shownAs", "its name in the MCP server"},
		{"server", "the MCP server that it was called through; else empty"},
		{"indexName", "empty for a tool over no index"},
		{"subject", "who called: the id of an API key, or the subject of an access token"},
		{"arguments", "as the caller gave them; only with content"},
		{"result", "of `tool.output`: the structured result; null for a tool that has none; only with content"},
		{"text", "of `tool.output`: the text, where there is no structured result; only with content"},
		{"durationMs", "of `tool.output` and `tool.error`"},
		{"errorCode", "of `tool.error`, such as not_found"},
		{"error", "of `tool.error`: the message that the caller got"},
		{"truncated", "true if texts or lists were shortened"},
		{"dropped", "number of events of tools of this tenant that were dropped before this one, if there were any"},
	},
	"alert": {
		{"matchId", "differs in every match"},
		{"alertId", ""},
		{"displayName", "of the alert"},
		{"indexName", ""},
		{"namespace", ""},
		{"documentId", ""},
		{"uri", "of the document"},
		{"title", "of the document"},
		{"chunkId", ""},
		{"startByte", "of the passage in the text of the document"},
		{"endByte", "of the byte after the last"},
		{"score", "the similarity; 0 with the mode keyword"},
		{"text", "the first 1,000 bytes of the passage; only with content"},
		{"metadata", "of the passage; only with content"},
	},
	"key": {
		{"apiKeyId", ""},
		{"displayName", ""},
		{"scopes", ""},
		{"expireTime", "null for a key that does not expire"},
	},
	"quota": {
		{"quota", "maxDocuments, maxDocumentBytes or maxTokensPerMonth"},
		{"used", "of it"},
		{"limit", ""},
		{"plan", "name of the tenant's plan; empty for none"},
	},
	"index":   changed,
	"tools":   changed,
	"prompts": changed,
	"server":  changed,
	"context": changed,
	"hook":    changed,
}

var changed = []Field{
	{"name", "of what has changed"},
	{"change", "created, updated or deleted"},
}

// Types lists all types but Test.
var Types = []Type{
	{"document.ready", "A document, or a new version of it, has become searchable."},
	{"document.failed", "A document could not be ingested; `error` says why. Its last good version stays searchable."},
	{"document.deleted", "A document was deleted. One event with a `count` stands for more than 1,000 documents that one call deletes. There is none when the whole index is deleted: see `index.changed`."},
	{"document.restored", "A deleted document was restored. If its chunks are made anew, `document.ready` follows when it is searchable."},
	{"job.queued", "A job was accepted, or waits for another attempt."},
	{"job.started", "A job runs. Jobs of small documents go from queued to succeeded at once."},
	{"job.succeeded", "A job has succeeded."},
	{"job.failed", "A job has failed for good; `error` says why."},
	{"job.cancelled", "A job was cancelled, or replaced by a newer one."},
	{"tool.input", "A tool was called and its arguments are valid. There is none for invalid arguments."},
	{"tool.output", "A call of a tool has succeeded."},
	{"tool.error", "A call of a tool has failed."},
	{"alert.matched", "A new passage, or one whose text has changed, matches an alert."},
	{"key.created", "An API key of the tenant was created."},
	{"key.revoked", "An API key of the tenant was revoked."},
	{"quota.warning", "The tenant uses 80 % or more of its quota of documents, of their bytes or of tokens a month. There is one event until it uses less than 70 %, or a month begins."},
	{"index.changed", "An index was created, changed or deleted."},
	{"tools.changed", "A tool of the tenant was created, changed or deleted. One that moves to another index has an event for each of the two."},
	{"prompts.changed", "A prompt of the tenant was created, changed or deleted."},
	{"server.changed", "An MCP server of the tenant was created, changed or deleted."},
	{"context.changed", "A declared key of the request context was created, changed or deleted."},
	{"hook.changed", "A hook was created, changed, disabled or deleted."},
}

// topicOf returns the first part of a type.
func topicOf(name string) string {
	topic, _, _ := strings.Cut(name, ".")
	return topic
}

// matches reports whether a pattern such as document.ready, document.* or * selects a type.
func matches(pattern, name string) bool {
	return pattern == "*" || pattern == name || pattern == topicOf(name)+".*"
}

// Select returns the names of the types that one of the patterns selects, all of them without
// patterns. Errors: Invalid, naming the field, for a pattern that selects none.
func Select(field string, patterns []string) ([]string, error) {
	var names []string
	for _, t := range Types {
		if len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return matches(p, t.Name) }) {
			names = append(names, t.Name)
		}
	}
	for _, p := range patterns {
		if !slices.ContainsFunc(Types, func(t Type) bool { return matches(p, t.Name) }) {
			return nil, fault.Field(field, "%q is no type of events: take %s, %s or *", p, strings.Join(all(), ", "), strings.Join(wildcards(), ", "))
		}
	}
	return names, nil
}

// Topics returns what event_wanted compares for types or patterns: their first parts.
func Topics(patterns []string) []string {
	var topics []string
	for _, p := range patterns {
		if topic := topicOf(p); !slices.Contains(topics, topic) {
			topics = append(topics, topic)
		}
	}
	return topics
}

func all() []string {
	names := make([]string, len(Types))
	for i, t := range Types {
		names[i] = t.Name
	}
	return names
}

func wildcards() []string {
	out := Topics(all())
	for i := range out {
		out[i] += ".*"
	}
	return out
}
