package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	ragd "github.com/ragdhq/ragd/sdk/go"
)

const (
	maxTime    = 4500 * time.Millisecond // Teams waits for five seconds
	window     = 5 * time.Minute         // how old, or how far ahead, a message may be
	kept       = 24 * time.Hour          // for which answers may be judged
	maxBody    = 1 << 20
	maxSources = 3
	maxPassage = 600 // characters
	possible   = 0.3 // of the calibrated scores: a passage below this answers nothing
)

type config struct {
	token string // the security token of the outgoing webhook
	ragd  *ragd.Client
	index string
	now   func() time.Time
}

// app answers the messages of an outgoing webhook. Safe for concurrent use.
type app struct {
	config
	key []byte

	mu        sync.Mutex
	messages  map[string]*message // by id
	judgeable map[string]answer   // the last one of each conversation
}

// message is one that was received, and what it was answered.
type message struct {
	once sync.Once
	at   time.Time
	text string
}

// answer is what may be judged of an answer.
type answer struct {
	at      time.Time
	queryID string
	sources []string
}

func newApp(c config) (*app, error) {
	key, err := base64.StdEncoding.DecodeString(c.token)
	if err != nil || len(key) == 0 {
		return nil, errors.New("TEAMS_SECURITY_TOKEN is not the token that Teams shows: it is in base64")
	}
	return &app{config: c, key: key, messages: map[string]*message{}, judgeable: map[string]answer{}}, nil
}

// activity is a message as the webhook sends it.
type activity struct {
	Type         string    `json:"type"`
	ID           string    `json:"id"`
	Timestamp    time.Time `json:"timestamp"`
	Text         string    `json:"text"`
	Conversation struct {
		ID string `json:"id"`
	} `json:"conversation"`
}

// ServeHTTP implements http.Handler. Its answer is shown in the thread of the mention.
func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil || r.Method != http.MethodPost {
		http.Error(w, "want a message by POST", http.StatusBadRequest)
		return
	}
	if !hmac.Equal([]byte(r.Header.Get("Authorization")), []byte(sign(a.key, body))) {
		http.Error(w, "the signature is not that of Teams", http.StatusUnauthorized)
		return
	}
	var in activity
	if json.Unmarshal(body, &in) != nil || in.Type != "message" || in.ID == "" {
		http.Error(w, "the body is no message", http.StatusBadRequest)
		return
	}
	if age := a.now().Sub(in.Timestamp); age > window || age < -window {
		http.Error(w, "the message is too old", http.StatusUnauthorized)
		return
	}
	m := a.received(in)
	m.once.Do(func() { // a repeated message gets the same answer, and is not asked again
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), maxTime)
		defer cancel()
		m.text = a.reply(ctx, in)
	})
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(map[string]string{"type": "message", "text": m.text}); err != nil {
		slog.Error("answer", "err", err)
	}
}

// sign returns the header Authorization of a body.
func sign(key, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write(body)
	return "HMAC " + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// received returns the message of an activity, and forgets old ones.
func (a *app) received(in activity) *message {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	for id, m := range a.messages {
		if now.Sub(m.at) > 2*window {
			delete(a.messages, id)
		}
	}
	for id, answered := range a.judgeable {
		if now.Sub(answered.at) > kept {
			delete(a.judgeable, id)
		}
	}
	id := in.Conversation.ID + " " + in.ID
	if a.messages[id] == nil {
		a.messages[id] = &message{at: now}
	}
	return a.messages[id]
}

var (
	mention   = regexp.MustCompile(`(?s)<at>.*?</at>`)
	tag       = regexp.MustCompile(`<[^>]*>`)
	judgement = regexp.MustCompile(`^(?i)(👍|helpful|👎|unhelpful)\s*([1-9])?$`)
)

// reply returns the answer to a message, in Markdown.
func (a *app) reply(ctx context.Context, in activity) string {
	text := strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(mention.ReplaceAllString(in.Text, ""), ""))), " ")
	if text == "" {
		return "Ask me something: mention me with a question."
	}
	if m := judgement.FindStringSubmatch(text); m != nil {
		return a.judge(ctx, in, strings.EqualFold(m[1], "helpful") || m[1] == "👍", m[2])
	}
	found, err := a.ragd.Index(a.index).Query(ctx, text, &ragdv1.VectorQueryRequest{TopK: new(int32(maxSources))})
	if err != nil {
		slog.Error("search", "err", err)
		return "I cannot search at the moment. Please try again later."
	}
	var parts []string
	said := answer{at: a.now(), queryID: found.GetQueryId()}
	for _, s := range found.GetSources() {
		if s.GetScore() >= possible {
			said.sources = append(said.sources, s.GetId())
			parts = append(parts, fmt.Sprintf("%s\n\n%d. %s", plain(s.GetDocument(), maxPassage), len(said.sources), linkTo(s)))
		}
	}
	if len(parts) == 0 {
		return "The documents have no passage that answers this."
	}
	a.mu.Lock()
	a.judgeable[in.Conversation.ID] = said
	a.mu.Unlock()
	return strings.Join(parts, "\n\n---\n\n") + "\n\nDid it help? Mention me in this thread with 👍 1 or 👎 1, and the number of the source."
}

// judge records what somebody says of a source of the last answer in a conversation.
func (a *app) judge(ctx context.Context, in activity, helpful bool, number string) string {
	a.mu.Lock()
	said, ok := a.judgeable[in.Conversation.ID]
	a.mu.Unlock()
	n := 1
	if number != "" {
		n, _ = strconv.Atoi(number) // a digit
	}
	if !ok || n > len(said.sources) {
		return "I know no such source in this thread."
	}
	_, err := a.ragd.Evaluate.RecordFeedback(ctx, &ragdv1.RecordFeedbackRequest{QueryId: said.queryID, Source: said.sources[n-1], Helpful: &helpful})
	if err != nil {
		slog.Error("record feedback", "err", err)
		return "I could not store that."
	}
	return "Thank you."
}

// marks are those of Markdown and HTML, which texts of documents must not make.
var marks = regexp.MustCompile("[\\\\`*_{}\\[\\]<>()#+!|~&-]")

// plain returns a text on one line that Markdown shows as it is, of at most that many characters.
func plain(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return marks.ReplaceAllStringFunc(text, func(mark string) string {
		switch mark {
		case "<", ">", "&":
			return html.EscapeString(mark)
		}
		return `\` + mark
	})
}

// linkTo names a source, with a link if its uri is an address.
func linkTo(s *ragdv1.Source) string {
	title := s.GetTitle()
	if title == "" {
		title = s.GetUri()
	}
	title = plain(title, 150)
	if u, err := url.Parse(s.GetUri()); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
		return "[" + title + "](" + strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E").Replace(u.String()) + ")"
	}
	return title
}
