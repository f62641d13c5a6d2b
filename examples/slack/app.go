package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	ragd "github.com/ragdhq/ragd/sdk/go"
)

const (
	maxTime    = time.Minute // of an answer
	maxSources = 3
	maxPassage = 600 // characters of a passage in an answer
	possible   = 0.3 // of the calibrated scores: a passage below this answers nothing
)

type config struct {
	secret, token string // of the app at Slack
	slack         string // address of Slack's Web API
	ragd          *ragd.Client
	index         string
	now           func() time.Time
}

// app answers the requests of Slack. Safe for concurrent use.
type app struct {
	config
	mux     *http.ServeMux
	seen    memory
	running sync.WaitGroup
}

func newApp(c config) *app {
	a := &app{config: c, mux: http.NewServeMux(), seen: memory{until: map[string]time.Time{}, now: c.now}}
	a.mux.HandleFunc("POST /slack/events", a.events)
	a.mux.HandleFunc("POST /slack/interactions", a.interactions)
	return a
}

// ServeHTTP implements http.Handler.
func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// wait returns when all answers are sent.
func (a *app) wait() { a.running.Wait() }

// later does work after the request is acknowledged, which Slack wants within three seconds.
func (a *app) later(what string, work func(context.Context) error) {
	a.running.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), maxTime)
		defer cancel()
		if err := work(ctx); err != nil {
			slog.Error(what, "err", err)
		}
	})
}

// event is a callback of the Events API.
type event struct {
	Type      string `json:"type"`
	Challenge string `json:"challenge"`
	EventID   string `json:"event_id"`
	Event     struct {
		Type     string `json:"type"`
		Channel  string `json:"channel"`
		User     string `json:"user"`
		BotID    string `json:"bot_id"`
		Text     string `json:"text"`
		TS       string `json:"ts"`
		ThreadTS string `json:"thread_ts"`
	} `json:"event"`
}

func (a *app) events(w http.ResponseWriter, r *http.Request) {
	body, err := a.verify(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	var in event
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, "the body is not JSON", http.StatusBadRequest)
		return
	}
	if in.Type == "url_verification" {
		fmt.Fprint(w, in.Challenge)
		return
	}
	// Slack sends an event again, with a new signature, if it was not acknowledged in time.
	if in.Type != "event_callback" || in.Event.Type != "app_mention" || in.Event.BotID != "" || !a.seen.first("event "+in.EventID, retries) {
		return
	}
	a.later("answer a mention", func(ctx context.Context) error { return a.answer(ctx, in) })
}

var mention = regexp.MustCompile(`<[@#!][^>]*>`)

// unescaped is the text of a message as its author wrote it.
var unescaped = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// answer replies to a mention, in its thread.
func (a *app) answer(ctx context.Context, in event) error {
	thread := in.Event.ThreadTS
	if thread == "" {
		thread = in.Event.TS
	}
	message := map[string]any{"channel": in.Event.Channel, "thread_ts": thread, "unfurl_links": false, "unfurl_media": false}
	question := strings.TrimSpace(unescaped.Replace(mention.ReplaceAllString(in.Event.Text, "")))
	if question == "" {
		message["text"] = "Ask me something: mention me with a question."
		return a.call(ctx, "chat.postMessage", message)
	}
	found, err := a.ragd.Index(a.index).Query(ctx, question, &ragdv1.VectorQueryRequest{TopK: new(int32(maxSources))})
	if err != nil {
		message["text"] = "I cannot search at the moment. Please try again later."
		if told := a.call(ctx, "chat.postMessage", message); told != nil {
			slog.Error("tell of an error", "err", told)
		}
		return fmt.Errorf("search: %w", err)
	}
	blocks, plain := blocksOf(found)
	message["text"], message["blocks"] = plain, blocks // the text is for notifications
	return a.call(ctx, "chat.postMessage", message)
}

// blocksOf returns the blocks of an answer and its plain text.
func blocksOf(found *ragdv1.VectorQueryResponse) ([]any, string) {
	var blocks []any
	for _, s := range found.GetSources() {
		if s.GetScore() < possible {
			continue
		}
		quote := "> " + strings.ReplaceAll(escaped.Replace(shorten(strings.TrimSpace(s.GetDocument()), maxPassage)), "\n", "\n> ")
		blocks = append(blocks, map[string]any{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": quote + "\n" + linkTo(s)}})
		if value, ok := thumbOf(found.GetQueryId(), s.GetId()); ok {
			blocks = append(blocks, map[string]any{"type": "actions", "elements": []any{thumb("helpful", "👍 Helpful", value), thumb("unhelpful", "👎 Not helpful", value)}})
		}
	}
	if len(blocks) == 0 {
		return nil, "The documents have no passage that answers this."
	}
	return blocks, "The documents say:"
}

// escaped writes a text so that Slack shows it as it is.
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// linkTo names a source, with a link if its uri is an address.
func linkTo(s *ragdv1.Source) string {
	title := strings.Join(strings.Fields(s.GetTitle()), " ")
	if title == "" {
		title = s.GetUri()
	}
	title = escaped.Replace(shorten(title, 150))
	if u, err := url.Parse(s.GetUri()); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
		return "<" + strings.NewReplacer("|", "%7C", "<", "%3C", ">", "%3E").Replace(u.String()) + "|" + strings.ReplaceAll(title, "|", "¦") + ">"
	}
	return title
}

func shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// said is the value of a thumb: the source of which it speaks.
type said struct {
	QueryID string `json:"q"`
	Source  string `json:"s"`
}

// thumbOf returns the value of the thumbs of a source. Slack takes no longer one than 2,000 characters.
func thumbOf(queryID, source string) (string, bool) {
	raw, err := json.Marshal(said{queryID, source})
	return string(raw), err == nil && queryID != "" && len(raw) <= 2000
}

func thumb(action, label, value string) map[string]any {
	return map[string]any{"type": "button", "action_id": action, "value": value, "text": map[string]any{"type": "plain_text", "text": label, "emoji": true}}
}

// interaction is the payload of a press of a button.
type interaction struct {
	Type string `json:"type"`
	User struct {
		ID string `json:"id"`
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Message struct {
		TS       string `json:"ts"`
		ThreadTS string `json:"thread_ts"`
	} `json:"message"`
	Actions []struct {
		ActionID string `json:"action_id"`
		Value    string `json:"value"`
	} `json:"actions"`
}

func (a *app) interactions(w http.ResponseWriter, r *http.Request) {
	body, err := a.verify(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	form, err := url.ParseQuery(string(body))
	var in interaction
	if err != nil || json.Unmarshal([]byte(form.Get("payload")), &in) != nil {
		http.Error(w, "the body is no form with a payload", http.StatusBadRequest)
		return
	}
	for _, action := range in.Actions {
		var of said
		if in.Type != "block_actions" || action.ActionID != "helpful" && action.ActionID != "unhelpful" || json.Unmarshal([]byte(action.Value), &of) != nil {
			continue
		}
		a.later("record feedback", func(ctx context.Context) error { return a.record(ctx, in, of, action.ActionID == "helpful") })
	}
}

// record records what a user says of a source, and thanks.
func (a *app) record(ctx context.Context, in interaction, of said, helpful bool) error {
	text := "Thank you."
	_, err := a.ragd.Evaluate.RecordFeedback(ctx, &ragdv1.RecordFeedbackRequest{QueryId: of.QueryID, Source: of.Source, Helpful: &helpful})
	if err != nil {
		text = "I could not store that: the answer may be too old."
		err = fmt.Errorf("record feedback: %w", err)
	}
	message := map[string]any{"channel": in.Channel.ID, "user": in.User.ID, "text": text}
	if in.Message.ThreadTS != "" {
		message["thread_ts"] = in.Message.ThreadTS
	}
	if told := a.call(ctx, "chat.postEphemeral", message); err == nil {
		err = told
	}
	return err
}
