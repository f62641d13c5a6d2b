package query

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Limits of an answer that can be named.
const (
	maxAnswerID     = 8 << 10 // bytes; the question is in the name
	maxNamedSources = 100     // the best
	// AnswerDays is for how many days an answer can be named.
	AnswerDays = 30
)

// Answered is what an answer was about: its question and what it showed. It is in the name that the answer
// gives itself, signed for the caller, so that a search writes nothing and no question is kept of which nobody
// says anything.
type Answered struct {
	AnsweredFrom

	Namespace string         `json:"n,omitempty"` // empty for the default
	Question  string         `json:"q"`
	Day       int64          `json:"d"`           // since 1970, of the answer
	Others    []AnsweredFrom `json:"o,omitempty"` // further indexes that were asked
}

// AnsweredFrom is what an answer showed of an index.
type AnsweredFrom struct {
	IndexName string `json:"x"`
	IndexID   int64  `json:"i"`
	Shown     []byte `json:"s"` // sums of the ids of the chunks
}

// answerNames returns the names of the caller's answers.
func answerNames(ctx context.Context) pagination.Tokens { return access.Pages(ctx, "answers") }

// AnswerID returns the name of an answer with these sources, of which each is from the index that it names, or from the
// only one; empty for a question that is blank or very long, and without an index.
func AnswerID(ctx context.Context, indexes []index.Index, namespace, question string, sources []Source) string {
	if strings.TrimSpace(question) == "" || len(question) > maxAnswerID || len(indexes) == 0 {
		return ""
	}
	a := Answered{Question: question, Day: day(time.Now())}
	if namespace != index.DefaultNamespace {
		a.Namespace = namespace
	}
	from := make([]AnsweredFrom, len(indexes))
	for n, i := range indexes {
		from[n] = AnsweredFrom{IndexName: i.Name, IndexID: i.ID}
	}
	named := 0
	show := func(source Source, chunkID string) {
		n := slices.IndexFunc(from, func(f AnsweredFrom) bool { return len(from) == 1 || f.IndexName == source.IndexName })
		if n < 0 || named == maxNamedSources {
			return
		}
		from[n].Shown = append(from[n].Shown, sumOf(chunkID)...)
		named++
	}
	for _, source := range sources {
		if len(source.Hits) == 0 {
			show(source, source.ID)
		}
		for _, hit := range source.Hits {
			show(source, hit.ID)
		}
	}
	if len(from) > 1 { // what shows nothing cannot be judged
		from = slices.DeleteFunc(from, func(f AnsweredFrom) bool { return len(f.Shown) == 0 })
	}
	if len(from) == 0 {
		return ""
	}
	a.AnsweredFrom, a.Others = from[0], from[1:]
	if id := answerNames(ctx).Encode(a); len(id) <= maxAnswerID {
		return id
	}
	return ""
}

// ReadAnswerID returns what the caller's answer with this name was about. Errors: Invalid.
func ReadAnswerID(ctx context.Context, id string) (a Answered, err error) {
	if answerNames(ctx).Decode(id, &a) != nil {
		return a, fault.Field("queryId", "is not the queryId of an answer that this credential got: send it as it was, with the same credential")
	}
	if age := day(time.Now()) - a.Day; age > AnswerDays {
		return a, fault.Field("queryId", "is of an answer %d days ago, over the limit of %d: ask again", age, AnswerDays)
	}
	return a, nil
}

// Showing returns the indexes of which the answer showed a chunk with this id.
func (a Answered) Showing(chunkID string) (from []AnsweredFrom) {
	sum := sumOf(chunkID)
	for _, one := range append([]AnsweredFrom{a.AnsweredFrom}, a.Others...) {
		for shown := range slices.Chunk(one.Shown, sumBytes) {
			if bytes.Equal(shown, sum) {
				from = append(from, one)
				break
			}
		}
	}
	return from
}

const sumBytes = 4

// sumOf shortens the id of a chunk. Another chunk with the same sum is none that the caller may not see: who
// uses the sum looks the chunk up with the caller's rights.
func sumOf(chunkID string) []byte {
	sum := sha256.Sum256([]byte(chunkID))
	return sum[:sumBytes]
}

func day(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }
