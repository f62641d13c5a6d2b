package extract

import (
	"context"
	"fmt"
	"strings"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/llm"
)

const askSummary = `You summarise excerpts of documents. ` + dataNotOrders + `
Reply with JSON alone: {"summary":"..."}, what the excerpt says about its key topics and entities, in at most three sentences and in its own language.`

// summary asks for a summary of each chunk. The next chunk may get it as its
// previous summary and the chunk before as its next one.
func (w *work) summary(ctx context.Context) {
	o := w.request.Options.Summary
	if o == nil {
		return
	}
	own := make([]string, len(w.chunks))
	schema := answerIn("summary", oneText)
	w.forEachChunk(ctx, "summary", func(ctx context.Context, i int) error {
		return w.ask(ctx, about(w.chunks[i], o.Model, o.Template, 0, askSummary, schema, func(answer string) (err error) {
			own[i], err = readText(answer, "summary", maxSummaryBytes)
			return err
		}))
	})
	n := len(own)
	if o.Self {
		w.addAll("summary", keySummary, own)
	}
	if o.Prev {
		w.addAll("summary", keyPrevSummary, append([]string{""}, own[:n-1]...))
	}
	if o.Next {
		w.addAll("summary", keyNextSummary, append(own[1:n:n], ""))
	}
}

const askQuestions = `You write down which questions an excerpt of a document answers. ` + dataNotOrders + `
Reply with JSON alone: {"questions":["...?"]}, at most %d questions that this excerpt answers and others are unlikely to, each of which makes sense by itself, in the language of the excerpt.`

func (w *work) questions(ctx context.Context) {
	o := w.request.Options.Questions
	if o == nil {
		return
	}
	found := make([]string, len(w.chunks))
	system, schema := fmt.Sprintf(askQuestions, o.Count), answerIn("questions", someText)
	w.forEachChunk(ctx, "questions", func(ctx context.Context, i int) error {
		return w.ask(ctx, about(w.chunks[i], o.Model, o.Template, o.Count, system, schema, func(answer string) error {
			list, err := readList(answer, "questions", o.Count, splitQuestions)
			found[i] = strings.Join(list, "\n")
			return err
		}))
	})
	w.addAll("questions", keyQuestions, found)
}

const askKeywords = `You find keywords for excerpts of documents. ` + dataNotOrders + `
Reply with JSON alone: {"keywords":["..."]}, at most %d keywords or short phrases that the excerpt is about, the most telling first, in its own language.`

func (w *work) keywords(ctx context.Context) {
	o := w.request.Options.Keywords
	switch {
	case o == nil:
		return
	case o.Model == "":
		w.addAll("keywords", keyKeywords, keywordsByFrequency(w.chunks, o.Count))
		return
	}
	found := make([]string, len(w.chunks))
	system, schema := fmt.Sprintf(askKeywords, o.Count), answerIn("keywords", someText)
	w.forEachChunk(ctx, "keywords", func(ctx context.Context, i int) error {
		return w.ask(ctx, about(w.chunks[i], o.Model, o.Template, o.Count, system, schema, func(answer string) error {
			list, err := readList(answer, "keywords", o.Count, splitKeywords)
			found[i] = strings.Join(list, ", ")
			return err
		}))
	})
	w.addAll("keywords", keyKeywords, found)
}

const (
	askTitle = `You find titles for documents from excerpts of them. ` + dataNotOrders + `
Reply with JSON alone: {"title":"..."}, a short title that names what the document of this excerpt is about, in its language.`
	askBestTitle = `You choose titles for documents. ` + dataNotOrders + `
It has titles that were proposed for excerpts of one document. Reply with JSON alone: {"title":"..."}, one short title for the whole document.`
)

// title asks for a title for each of the first chunks, and then for the best of
// them, which all chunks get. A failure is reported for the first chunk.
func (w *work) title(ctx context.Context) {
	o := w.request.Options.Title
	if o == nil {
		return
	}
	title := titleWithoutModel(w.request)
	if o.Model != "" {
		var err error
		if title, err = w.askTitle(ctx, o); err != nil {
			w.fail(0, "title", err)
			return
		}
	}
	for i := range w.chunks {
		if title != "" {
			w.add(i, "title", map[string]any{keyTitle: title})
		}
	}
}

func (w *work) askTitle(ctx context.Context, o *Title) (string, error) {
	first := w.chunks[:min(o.Nodes, len(w.chunks))]
	proposed := make([]string, len(first))
	failures := make([]error, len(first))
	schema := answerIn("title", oneText)
	w.forEachChunk(ctx, "title", func(ctx context.Context, i int) error {
		if i < len(first) {
			failures[i] = w.ask(ctx, about(first[i], o.Model, o.NodeTemplate, 0, askTitle, schema, func(answer string) (err error) {
				proposed[i], err = readText(answer, "title", maxLineBytes)
				return err
			}))
		}
		return nil
	})
	var candidates []string
	seen := map[string]bool{}
	for _, title := range proposed {
		if title != "" && !seen[title] {
			seen[title] = true
			candidates = append(candidates, title)
		}
	}
	switch len(candidates) {
	case 0:
		return "", firstOf(failures)
	case 1:
		return candidates[0], nil
	}
	var best string
	q := question{model: o.Model, system: askBestTitle, user: llm.JSON(map[string]any{"titles": candidates}), schema: schema}
	if o.CombineTemplate != "" {
		q = question{model: o.Model, system: byTemplate, user: fill(o.CombineTemplate, strings.Join(candidates, ", "), 0)}
	}
	q.accept = func(answer string) (err error) {
		best, err = readText(answer, "title", maxLineBytes)
		return err
	}
	if err := w.ask(ctx, q); err != nil {
		return candidates[0], nil // the title of one chunk is better than none
	}
	return best, nil
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return endpoint.BadAnswer("no title")
}
