package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	ragd "github.com/ragdhq/ragd/sdk/go"
)

const secret = "8f742231b10e8888abcd99yyyzzz85a5"

// fakeSlack is Slack's Web API. The first busy calls are answered with too many requests.
type fakeSlack struct {
	mu    sync.Mutex
	busy  int
	calls []map[string]any
}

func (f *fakeSlack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy > 0 {
		f.busy--
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	var message map[string]any
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil || r.Header.Get("Authorization") != "Bearer xoxb-token" {
		fmt.Fprint(w, `{"ok":false,"error":"invalid_auth"}`)
		return
	}
	message["method"] = strings.TrimPrefix(r.URL.Path, "/")
	f.calls = append(f.calls, message)
	fmt.Fprint(w, `{"ok":true}`)
}

type bundle struct {
	*app
	slack  *fakeSlack
	client servicetest.Client
}

func setup(t *testing.T) *bundle {
	t.Helper()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	for uri, text := range map[string]string{
		"https://docs.example.com/tides": "The gate opens two hours before high water.",
		"attack.md":                      "The siren sounds <!channel> & <https://evil.example|wakes> everybody at night.",
	} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Title: "Harbour", Source: servicetest.Text(text)})
	}
	client, err := ragd.New(ragd.Options{URL: s.URL, APIKey: s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"docs"}}})})
	if err != nil {
		t.Fatal(err)
	}
	slack := &fakeSlack{}
	api := httptest.NewServer(slack)
	t.Cleanup(api.Close)
	return &bundle{newApp(config{secret: secret, token: "xoxb-token", slack: api.URL, ragd: client, index: "docs", now: time.Now}), slack, acme}
}

// mentioned is an event in the shape that Slack documents for app_mention.
func mentioned(id, ts, text string) string {
	encoded, _ := json.Marshal(text) // a string can be written
	return fmt.Sprintf(`{"token":"ZZZZ","team_id":"T123","api_app_id":"A123","event":{"type":"app_mention","user":"U061F7AUR","text":%s,"ts":%q,"channel":"C0LAN2Q65","event_ts":%q},"type":"event_callback","event_id":%q,"event_time":1515449522,"authed_users":["U0LAN0Z89"]}`, encoded, ts, ts, id)
}

// send sends a signed body at a time as Slack does and returns the answer, when all work is done.
func (b *bundle) send(t *testing.T, path, body string, at time.Time, change ...func(http.Header)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	stamp := strconv.FormatInt(at.Unix(), 10)
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", sign(secret, stamp, []byte(body)))
	for _, c := range change {
		c(r.Header)
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	b.wait()
	return w
}

// The example of Slack's documentation.
func TestTheSignatureIsSlacks(t *testing.T) {
	t.Parallel()
	body := "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	if got, want := sign(secret, "1531420618", []byte(body)), "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"; got != want {
		t.Errorf("the signature is %s, want %s", got, want)
	}
}

func TestAMentionIsAnsweredInItsThreadAndThumbsAreRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.slack.busy = 1
	if w := b.send(t, "/slack/events", mentioned("Ev1", "1515449522.000016", "<@U0LAN0Z89> when does the gate open?"), time.Now()); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if len(b.slack.calls) != 1 {
		t.Fatalf("calls of Slack: %v", b.slack.calls)
	}
	said := b.slack.calls[0]
	raw, _ := json.Marshal(said["blocks"]) // what was decoded can be written
	if said["method"] != "chat.postMessage" || said["channel"] != "C0LAN2Q65" || said["thread_ts"] != "1515449522.000016" ||
		!strings.Contains(string(raw), "two hours before high water") || !strings.Contains(string(raw), `https://docs.example.com/tides|Harbour`) {
		t.Errorf("the answer is %v", said)
	}
	var value string
	for _, block := range said["blocks"].([]any) {
		if elements, ok := block.(map[string]any)["elements"].([]any); ok && value == "" {
			value = elements[0].(map[string]any)["value"].(string)
		}
	}
	payload, _ := json.Marshal(map[string]any{ // in the shape that Slack documents for block_actions
		"type": "block_actions", "user": map[string]any{"id": "U061F7AUR"}, "channel": map[string]any{"id": "C0LAN2Q65"},
		"message": map[string]any{"ts": "1515449523.000001", "thread_ts": "1515449522.000016"},
		"actions": []any{map[string]any{"action_id": "helpful", "value": value, "type": "button"}},
	})
	b.send(t, "/slack/interactions", url.Values{"payload": {string(payload)}}.Encode(), time.Now())
	thanked := b.slack.calls[len(b.slack.calls)-1]
	if thanked["method"] != "chat.postEphemeral" || thanked["text"] != "Thank you." || thanked["user"] != "U061F7AUR" || thanked["thread_ts"] != "1515449522.000016" {
		t.Errorf("the thanks are %v", thanked)
	}
	set, err := b.client.ListQuestions(t.Context(), &ragdv1.ListQuestionsRequest{SetName: "feedback-docs"})
	if err != nil || len(set.Questions) != 1 || set.Questions[0].Text != "when does the gate open?" {
		t.Errorf("the feedback is %v, %v", set, err)
	}
}

// Slack repeats events that it thinks were lost.
func TestARepeatedEventIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := time.Now()
	body := mentioned("Ev1", "1.1", "<@U1> when does the gate open?")
	b.send(t, "/slack/events", body, now)
	again := b.send(t, "/slack/events", body, now.Add(time.Second), func(h http.Header) { h.Set("X-Slack-Retry-Num", "1"); h.Set("X-Slack-Retry-Reason", "http_timeout") })
	if again.Code != http.StatusOK || len(b.slack.calls) != 1 {
		t.Errorf("%d, %d answers", again.Code, len(b.slack.calls))
	}
	b.send(t, "/slack/events", mentioned("Ev2", "1.2", "<@U1> when does the gate open?"), now)
	if len(b.slack.calls) != 2 {
		t.Errorf("another event has %d answers", len(b.slack.calls)-1)
	}
}

func TestRequestsThatAreNotOfSlackAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := time.Now()
	body := mentioned("Ev1", "1.1", "<@U1> when does the gate open?")
	for what, tc := range map[string]struct {
		at     time.Time
		change func(http.Header)
	}{
		"no signature": {now, func(h http.Header) { h.Del("X-Slack-Signature") }},
		"another signature": {now, func(h http.Header) {
			h.Set("X-Slack-Signature", sign("other", h.Get("X-Slack-Request-Timestamp"), []byte(body)))
		}},
		"of another body": {now, func(h http.Header) {
			h.Set("X-Slack-Signature", sign(secret, h.Get("X-Slack-Request-Timestamp"), []byte("{}")))
		}},
		"another time":  {now, func(h http.Header) { h.Set("X-Slack-Request-Timestamp", strconv.FormatInt(now.Unix()+1, 10)) }},
		"no time":       {now, func(h http.Header) { h.Del("X-Slack-Request-Timestamp") }},
		"no number":     {now, func(h http.Header) { h.Set("X-Slack-Request-Timestamp", "now") }},
		"old":           {now.Add(-6 * time.Minute), nil},
		"of the future": {now.Add(6 * time.Minute), nil},
	} {
		change := tc.change
		if change == nil {
			change = func(http.Header) {}
		}
		for _, path := range []string{"/slack/events", "/slack/interactions"} {
			if w := b.send(t, path, body, tc.at, change); w.Code != http.StatusUnauthorized {
				t.Errorf("%s at %s: %d", what, path, w.Code)
			}
		}
	}
	b.send(t, "/slack/events", body, now)
	if w := b.send(t, "/slack/events", body, now); w.Code != http.StatusUnauthorized {
		t.Errorf("a request that was sent again as it is: %d", w.Code)
	}
	if len(b.slack.calls) != 1 {
		t.Errorf("%d answers", len(b.slack.calls))
	}
}

func TestTheAddressIsVerified(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.send(t, "/slack/events", `{"token":"Jhj5dZrVaK7ZwHHjRyZWjbDl","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}`, time.Now())
	if w.Code != http.StatusOK || w.Body.String() != "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Texts of documents mention nobody, and lead nowhere.
func TestTextsAreEscaped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.send(t, "/slack/events", mentioned("Ev1", "1.1", "<@U1> what does the siren do at night?"), time.Now())
	b.send(t, "/slack/events", mentioned("Ev2", "1.2", "<@U1>"), time.Now())
	if len(b.slack.calls) != 2 {
		t.Fatalf("calls of Slack: %v", b.slack.calls)
	}
	raw, _ := json.Marshal(b.slack.calls[0])
	var back map[string]any
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	text := back["blocks"].([]any)[0].(map[string]any)["text"].(map[string]any)["text"].(string)
	if strings.Contains(text, "<!channel>") || strings.Contains(text, "<https://evil") || !strings.Contains(text, "&lt;!channel&gt; &amp; &lt;https") {
		t.Errorf("the text is %s", text)
	}
	if text := b.slack.calls[1]["text"]; !strings.Contains(text.(string), "with a question") {
		t.Errorf("a mention without a question: %v", text)
	}
}
