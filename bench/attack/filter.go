package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Mandatory filters: a key with the filter {"team":"red"} must neither write nor learn
// about anything else.

// filterAttacks returns the attacks on mandatory filters and keys.
func filterAttacks() []attack {
	return []attack{
		{name: "filter-vectors", what: "Upsert and Update with metadata {team: blue}, with a key filtered to red", run: plantVectors},
		{name: "filter-chunking", what: "documents whose headings are to become metadata team: blue, with a key filtered to red", run: plantHeadings},
		{name: "filter-existence", what: "calls on hidden and on missing documents and jobs, with a key filtered to red", run: compareHidden},
		{name: "revoked-stream", what: "documents on a stream that is open when its key is revoked", run: outliveKey},
		{name: "filtered-admin", what: "RevokeApiKey and CreateApiKey with a filtered admin key", run: filteredAdmin},
	}
}

// blue counts what an unfiltered reader of an index finds of the team blue.
func (s *arena) blue(ctx context.Context, index string) (int, error) {
	var found struct{ Sources []any }
	err := s.must(ctx, s.attacker.read, "QueryService/VectorQuery",
		object{"indexName": index, "queryText": "planted", "searchMode": "keyword", "filter": object{"team": "blue"}}, &found)
	if err != nil || len(found.Sources) > 0 {
		return len(found.Sources), err
	}
	var listed struct{ Results []any }
	err = s.must(ctx, s.attacker.read, "VectorService/Query", object{"indexName": index, "filter": object{"team": "blue"}}, &listed)
	return len(listed.Results), err
}

// plantVectors writes vectors outside of the key's filter.
func plantVectors(ctx context.Context, s *arena) (result, error) {
	if err := s.must(ctx, s.attacker.admin, "IndexService/CreateIndex", object{"indexName": "vectors", "dimension": 2}, nil); err != nil {
		return result{}, err
	}
	write := func(procedure string, fields object) answer {
		fields["indexName"] = "vectors"
		return s.rpc(ctx, s.attacker.filtered, "VectorService/"+procedure, fields)
	}
	entry := func(id, team string) []object {
		return []object{{"id": id, "values": []int{1, 0}, "document": "planted", "metadata": object{"team": team}}}
	}
	r := reject([]answer{
		write("Upsert", object{"entries": entry("a", "blue")}),
		write("Upsert", object{"entries": entry("b", "red")}),
		write("Update", object{"id": "b", "metadata": object{"team": "blue"}}),
		write("Upsert", object{"entries": []object{{"id": "c", "values": []int{1, 0}, "document": "planted"}}}),
	})
	n, err := s.blue(ctx, "vectors")
	if n > 0 {
		r.breaks("it wrote %d vectors of the team blue", n)
	}
	return r, err
}

// plantHeadings uploads documents whose headings override checked metadata.
func plantHeadings(ctx context.Context, s *arena) (result, error) {
	upload := func(uri, contentType, text string, chunking object) answer {
		return s.rpc(ctx, s.attacker.filtered, "DocumentService/UploadDocument", object{
			"indexName": "docs", "uri": uri, "contentType": contentType, "text": text, "metadata": object{"team": "red"}, "chunking": chunking,
		})
	}
	header := func(marker string) object { return object{"headers": []object{{"marker": marker, "key": "team"}}} }
	r := reject([]answer{
		upload("a.md", "text/markdown", "# blue\n\nplanted by a heading\n", header("#")),
		upload("b.html", "text/html", "<h1>blue</h1><p>planted by a heading</p>", header("h1")),
		upload("c.html", "text/html", "<section><h2>blue</h2><p>planted by a section</p></section>", object{"sections": []object{{"path": "section", "key": "team"}}}),
	})
	if err := s.awaitIngest(ctx, s.attacker); err != nil {
		return r, err
	}
	n, err := s.blue(ctx, "docs")
	if n > 0 {
		r.breaks("it wrote %d chunks of the team blue", n)
	}
	return r, err
}

// compareHidden compares the answers about a document that the key may not see with those
// about one that does not exist.
func compareHidden(ctx context.Context, s *arena) (result, error) {
	var stored struct {
		Document struct{ DocumentID string }
		Job      struct{ JobID string }
	}
	err := s.must(ctx, s.attacker.write, "DocumentService/UploadDocument",
		object{"indexName": "docs", "uri": "secret.txt", "text": "a secret of the blue team", "metadata": object{"team": "blue"}}, &stored)
	if err == nil {
		err = s.awaitIngest(ctx, s.attacker)
	}
	if err != nil {
		return result{}, err
	}
	// Values of the same length, because some are repeated in the answer.
	hidden := map[string]string{"uri": "secret.txt", "documentId": stored.Document.DocumentID, "jobId": stored.Job.JobID}
	missing := map[string]string{"uri": "absent.txt", "documentId": flip(hidden["documentId"]), "jobId": flip(hidden["jobId"])}
	r := result{answer: "alike"}
	// An upload under a hidden uri cannot be answered like one under a free uri (see
	// docs/explanation/security.md).
	for _, probe := range []struct {
		procedure, field string
		more             object
	}{
		{"DocumentService/GetDocument", "uri", nil},
		{"DocumentService/GetDocument", "documentId", nil},
		{"DocumentService/ListChunks", "documentId", nil},
		{"DocumentService/GetJob", "jobId", nil},
		{"DocumentService/CancelJob", "jobId", nil},
		{"DocumentService/RetryJob", "jobId", nil},
		{"DocumentService/SyncSource", "uri", object{"wholeIndex": true, "dryRun": true}},
		{"DocumentService/DeleteDocument", "documentId", nil},
		{"DocumentService/DeleteDocument", "uri", nil},
		{"DocumentService/DeleteDocuments", "uris", nil},
	} {
		ask := func(values map[string]string) answer {
			return s.rpc(ctx, s.attacker.filtered, probe.procedure, probeRequest(probe.procedure, probe.field, values, probe.more))
		}
		a, b := ask(hidden), ask(missing)
		if a.code != b.code || neutral(a.text, hidden) != neutral(b.text, missing) && a.code != "ok" {
			r.answer = "see verdict"
			r.breaks("%s by %s: %s when hidden, %s when missing", probe.procedure, probe.field, a.code, b.code)
		}
	}
	return r, nil
}

func probeRequest(procedure, field string, values map[string]string, more object) object {
	request := object{"indexName": "docs"}
	switch {
	case field == "jobId":
		request = object{"jobId": values["jobId"]}
	case field == "uris":
		request["uris"] = []string{values["uri"]}
	case procedure == "DocumentService/SyncSource":
		request["documents"] = []object{{"uri": values["uri"], "fingerprint": "1"}}
	default:
		request[field] = values[field]
	}
	for k, v := range more {
		request[k] = v
	}
	return request
}

// flip returns an id that differs from the given one in its last character.
func flip(id string) string {
	last := byte('0')
	if id[len(id)-1] == last {
		last = '1'
	}
	return id[:len(id)-1] + string(last)
}

// neutral returns an answer without the asked values and the id of its request.
func neutral(text string, values map[string]string) string {
	for name, value := range values {
		text = string(bytes.ReplaceAll([]byte(text), []byte(value), []byte(name)))
	}
	return text
}

// outliveKey sends a document a second on one stream. After two seconds its key is
// revoked.
func outliveKey(ctx context.Context, s *arena) (result, error) {
	secret, id, err := s.key(ctx, s.attacker.admin, s.attacker.id, "write", nil)
	if err != nil {
		return result{}, err
	}
	const documents, revokedAt, grace = 20, 2, 13 // seconds; a stream may be checked each ten
	reader, writer := io.Pipe()
	done := make(chan answer, 1)
	go func() { done <- s.stream(ctx, secret, reader) }()
	var revoke answer
	for n := range documents {
		if n == revokedAt {
			revoke = s.rpc(ctx, s.attacker.admin, "TenantService/RevokeApiKey", object{"apiKeyId": id})
		}
		if _, err := writer.Write(streamed(fmt.Sprintf("stream-%d.txt", n))); err != nil {
			break // the stream was cut off
		}
		time.Sleep(time.Second)
	}
	_ = writer.Close()
	r := reject([]answer{revoke, <-done})
	late := 0
	for n := revokedAt; n < documents; n++ {
		d, err := s.document(ctx, s.attacker, fmt.Sprintf("stream-%d.txt", n))
		if err == nil && d.DocumentID != "" && n >= revokedAt+grace {
			late++
		}
	}
	if late > 0 {
		r.breaks("%d documents were stored that it sent more than %d s after its key was revoked", late, grace)
	}
	return r, nil
}

// stream sends the messages of an UploadDocuments stream.
func (s *arena) stream(ctx context.Context, key string, messages io.Reader) answer {
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/ragd.v1.DocumentService/UploadDocuments", messages)
	if err != nil {
		return answer{code: "no answer", text: err.Error()}
	}
	req.Header.Set("Content-Type", "application/connect+json")
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := client.Do(req)
	if err != nil {
		return answer{code: "cut off", text: err.Error(), took: time.Since(start)}
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	var end struct{ Error struct{ Code string } }
	if i := bytes.LastIndexByte(text, '\x02'); i >= 0 && len(text) > i+5 { // the end of a stream and its length
		_ = json.Unmarshal(text[i+5:], &end)
	}
	if end.Error.Code == "" {
		end.Error.Code = "ok"
	}
	return answer{status: res.StatusCode, code: end.Error.Code, text: string(text), took: time.Since(start)}
}

// streamed returns a message of an UploadDocuments stream that begins a document.
func streamed(uri string) []byte {
	body, _ := json.Marshal(object{"document": object{"indexName": "docs", "uri": uri, "text": "text of " + uri}}) // texts alone
	return append(append([]byte{0}, binary.BigEndian.AppendUint32(nil, uint32(len(body)))...), body...)
}

// filteredAdmin wants to manage keys with more rights than its own.
func filteredAdmin(ctx context.Context, s *arena) (result, error) {
	own, _, err := s.key(ctx, s.attacker.admin, s.attacker.id, "admin", object{"team": "red"})
	if err != nil {
		return result{}, err
	}
	other, otherID, err := s.key(ctx, s.attacker.admin, s.attacker.id, "admin", nil)
	if err != nil {
		return result{}, err
	}
	revoked := s.rpc(ctx, own, "TenantService/RevokeApiKey", object{"apiKeyId": otherID})
	made := s.rpc(ctx, own, "TenantService/CreateApiKey", object{"tenantId": s.attacker.id, "scopes": []string{"admin"}})
	blue := s.rpc(ctx, own, "TenantService/CreateApiKey", object{"tenantId": s.attacker.id, "scopes": []string{"read"}, "mandatoryFilter": object{"team": "blue"}})
	r := reject([]answer{revoked, made, blue})
	if a := s.rpc(ctx, other, "IndexService/ListIndexes", object{}); a.code != "ok" {
		r.breaks("it revoked a key without a filter")
	}
	s.checkKey(ctx, &r, made)
	s.checkKey(ctx, &r, blue)
	return r, nil
}

// checkKey breaks the result if a key that the filtered admin made reads what that may
// not.
func (s *arena) checkKey(ctx context.Context, r *result, made answer) {
	var key struct{ Secret string }
	if made.code != "ok" || json.Unmarshal([]byte(made.text), &key) != nil {
		return
	}
	if err := s.must(ctx, s.attacker.write, "DocumentService/UploadDocument",
		object{"indexName": "docs", "uri": "blue.txt", "text": "blue", "metadata": object{"team": "blue"}}, nil); err != nil {
		r.breaks("%v", err)
	}
	if a := s.rpc(ctx, key.Secret, "DocumentService/GetDocument", object{"indexName": "docs", "uri": "blue.txt"}); a.code == "ok" {
		r.breaks("it made a key that reads documents of the team blue")
	}
}
