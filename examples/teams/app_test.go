package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	ragd "github.com/ragdhq/ragd/sdk/go"
)

var key = []byte("a key of the outgoing webhook")

func setup(t *testing.T) (*app, servicetest.Client) {
	t.Helper()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	for uri, text := range map[string]string{
		"https://docs.example.com/tides": "The gate opens two hours before high water.",
		"attack.md":                      "The siren sounds <at>everybody</at> and [wakes](https://evil.example) them at night.",
	} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Title: "Harbour", Source: servicetest.Text(text)})
	}
	client, err := ragd.New(ragd.Options{URL: s.URL, APIKey: s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"docs"}}})})
	if err != nil {
		t.Fatal(err)
	}
	a, err := newApp(config{token: base64.StdEncoding.EncodeToString(key), ragd: client, index: "docs", now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return a, acme
}

// received is a message in the shape that Microsoft documents for outgoing webhooks.
func received(id string, at time.Time, text string) string {
	encoded, _ := json.Marshal(text) // a string can be written
	return fmt.Sprintf(`{"type":"message","id":%q,"timestamp":%q,"localTimestamp":%q,"serviceUrl":"https://smba.trafficmanager.net/emea/","channelId":"msteams","from":{"id":"29:1XJKJMvc5GBtc2JwZq0oj8tHZmzrQgFmB39ATiQWA85gQtHieVkKilBZ9XHoq9j7Zaqt7CZ-NJWi7me2kHTL3Bw","name":"Richard Moe","aadObjectId":"7faf8511"},"conversation":{"isGroup":true,"id":"19:253b1f341670408fb6fe51050b6e5ceb@thread.skype;messageid=1485983194839","conversationType":"channel"},"recipient":null,"textFormat":"plain","attachmentLayout":null,"text":%s,"attachments":[],"entities":[{"type":"clientInfo","locale":"en-US","country":"US","platform":"Web"}],"channelData":{"teamsChannelId":"19:253b1f341670408fb6fe51050b6e5ceb@thread.skype"},"replyToId":null}`,
		id, at.UTC().Format(time.RFC3339Nano), at.Format(time.RFC3339Nano), encoded)
}

// send sends a signed body and returns the status and the text of the answer.
func send(t *testing.T, a *app, body string, authorization ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Authorization", sign(key, []byte(body)))
	for _, value := range authorization {
		r.Header.Set("Authorization", value)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	var said struct{ Type, Text string }
	if w.Code == http.StatusOK && (json.Unmarshal(w.Body.Bytes(), &said) != nil || said.Type != "message") {
		t.Errorf("the answer is %s", w.Body)
	}
	return w.Code, said.Text
}

func TestAMentionIsAnsweredAndJudged(t *testing.T) {
	t.Parallel()
	a, acme := setup(t)
	now := time.Now()
	if _, text := send(t, a, received("1", now, "<at>ragd</at> when does the gate open?\n")); !strings.Contains(text, "two hours before high water") || !strings.Contains(text, "1. [Harbour](https://docs.example.com/tides)") {
		t.Errorf("the answer is %s", text)
	}
	if _, text := send(t, a, received("2", now, "<at>ragd</at> 👎 7")); !strings.Contains(text, "no such source") {
		t.Errorf("a judgement of a source that there is not: %s", text)
	}
	if _, text := send(t, a, received("3", now, "<at>ragd</at>&nbsp;👍 1")); text != "Thank you." {
		t.Errorf("a judgement: %s", text)
	}
	set, err := acme.ListQuestions(t.Context(), &ragdv1.ListQuestionsRequest{SetName: "feedback-docs"})
	if err != nil || len(set.Questions) != 1 || set.Questions[0].Text != "when does the gate open?" {
		t.Errorf("the feedback is %v, %v", set, err)
	}
	if _, text := send(t, a, received("4", now, "<at>ragd</at> ")); !strings.Contains(text, "with a question") {
		t.Errorf("a mention without a question: %s", text)
	}
}

func TestARepeatedMessageIsAskedOnce(t *testing.T) {
	t.Parallel()
	a, _ := setup(t)
	body := received("1", time.Now(), "<at>ragd</at> when does the gate open?")
	_, first := send(t, a, body)
	asked := a.judgeable["19:253b1f341670408fb6fe51050b6e5ceb@thread.skype;messageid=1485983194839"].queryID
	_, again := send(t, a, body)
	if first != again || a.judgeable["19:253b1f341670408fb6fe51050b6e5ceb@thread.skype;messageid=1485983194839"].queryID != asked || asked == "" {
		t.Errorf("the answers are %q and %q", first, again)
	}
}

func TestMessagesThatAreNotOfTeamsAreRefused(t *testing.T) {
	t.Parallel()
	a, _ := setup(t)
	body := received("1", time.Now(), "<at>ragd</at> when does the gate open?")
	for what, authorization := range map[string]string{
		"no signature": "", "of another key": sign([]byte("other"), []byte(body)), "of another body": sign(key, []byte(body+" ")), "without its scheme": strings.TrimPrefix(sign(key, []byte(body)), "HMAC "),
	} {
		if status, _ := send(t, a, body, authorization); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", what, status)
		}
	}
	for _, at := range []time.Time{time.Now().Add(-6 * time.Minute), time.Now().Add(6 * time.Minute)} {
		if status, _ := send(t, a, received("1", at, "x")); status != http.StatusUnauthorized {
			t.Errorf("a message of %v: %d", at, status)
		}
	}
	for _, body := range []string{"", "[]", `{"type":"typing","id":"1"}`} {
		if status, _ := send(t, a, body); status != http.StatusBadRequest {
			t.Errorf("%q: %d", body, status)
		}
	}
	if _, err := newApp(config{token: "not base64!"}); err == nil {
		t.Error("a malformed token is taken")
	}
}

// Texts of documents mention nobody, and make no links.
func TestTextsAreEscaped(t *testing.T) {
	t.Parallel()
	a, _ := setup(t)
	_, text := send(t, a, received("1", time.Now(), "<at>ragd</at> what does the siren do at night?"))
	if strings.Contains(text, "<at>") || strings.Contains(text, "[wakes](") || !strings.Contains(text, `\[wakes\]\(https://evil.example\)`) {
		t.Errorf("the answer is %s", text)
	}
}
