package main

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// A docModel is the chat model of the documentation. It speaks real HTTP and says what comments of
// the pages tell it:
//
//	<!-- model: How long is the warranty? | vector_query {"queryText": "warranty"} | Two years [1]. -->
//
// When the last message of a user contains the first field, the other fields are its turns: a call
// of a tool, or a text. In texts {model}, {system} and {tools} stand for what the request has.
type docModel struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	answers []*docAnswer
}

// docAnswer is one comment.
type docAnswer struct {
	where, question string
	turns           []string
	used            bool
}

func newDocModel(t *testing.T) *docModel {
	server := modelserver.New(t)
	m := &docModel{t: t, url: server.URL + "/v1"}
	server.SetTurn(m.turn)
	return m
}

// add adds a comment. One that is never used fails the test of its page.
func (m *docModel) add(t *testing.T, where, comment string) {
	fields := strings.Split(comment, " | ")
	a := &docAnswer{where: where, question: fields[0], turns: fields[1:]}
	if len(a.turns) == 0 {
		t.Fatalf("%s: the model says nothing", where)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers = append(m.answers, a)
	t.Cleanup(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !a.used {
			t.Errorf("%s: the model was not asked %q", where, a.question)
		}
	})
}

var toolCallTurn = regexp.MustCompile(`^([a-z_]+) (\{.*\})$`)

func (m *docModel) turn(c modelserver.Chat) modelserver.Turn {
	asked, said := "", 0
	for _, message := range c.Messages {
		switch message.Role {
		case "user":
			asked, said = message.Content, 0
		case "assistant":
			said++
		}
	}
	text, ok := m.find(asked, said)
	if !ok {
		m.t.Errorf("no comment says what the model answers to %q after %d turns: %v", asked, said, c.Results())
	}
	if call := toolCallTurn.FindStringSubmatch(text); call != nil {
		return modelserver.Turn{Calls: []modelserver.Call{{Name: call[1], Arguments: call[2]}}}
	}
	system, _, _ := strings.Cut(c.System, "\n")
	return modelserver.Turn{Text: strings.NewReplacer("{model}", c.Model, "{system}", system, "{tools}", strings.Join(c.Tools, ", ")).Replace(text)}
}

// find returns the turn of that number in the answer to a question.
func (m *docModel) find(asked string, turn int) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.answers {
		if strings.Contains(asked, a.question) && turn < len(a.turns) {
			a.used = true
			return a.turns[turn], true
		}
	}
	return "", false
}
