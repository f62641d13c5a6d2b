package data

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// sourceList is an answer to print.
type sourceList struct {
	sources  []*ragdv1.Source // best first
	warnings []string
	full     bool // print the texts as a whole
	widened  bool // the texts have more than the chunks that were found
	// explain describes the score of a source. Nil: scores are not explained.
	explain func(*ragdv1.Source) string
}

// printSources prints the sources and the warnings.
func printSources(p *command.Program, list sourceList) error {
	for _, warning := range list.warnings {
		output.Note(p.Out.Stderr, "warning: %s", output.OneLine(warning))
	}
	if len(list.sources) == 0 {
		output.Note(p.Out.Stderr, "nothing was found")
	}
	for i, source := range list.sources {
		if err := printSource(p, i+1, source, list); err != nil {
			return err
		}
	}
	return nil
}

func printSource(p *command.Program, rank int, source *ragdv1.Source, list sourceList) error {
	passage := passageOf(source, list.full)
	name := output.OneLine(source.GetUri())
	if title := output.OneLine(source.GetTitle()); title != "" {
		name = title + ", " + name
	}
	if index := source.GetIndexName(); index != "" {
		name += "  [" + index + "]"
	}
	if where := location(source, passage, !list.widened); where != "" {
		name += "  (" + where + ")"
	}
	head := fmt.Sprintf("%d. %.4f  %s", rank, source.GetScore(), p.Out.Bold(name))
	var below []string
	if source.GetPath() != "" {
		below = append(below, output.OneLine(source.GetPath()))
	}
	if places := source.GetAlsoIn(); len(places) > 0 {
		below = append(below, alsoIn(places, int(source.GetAlsoInCount())))
	}
	if list.explain != nil {
		below = append(below, list.explain(source))
	}
	text := head + "\n" + output.Indent(passageLines(p, source, passage)) + "\n"
	if len(below) > 0 {
		text += output.Indent(below) + "\n"
	}
	_, err := fmt.Fprint(p.Out.Stdout, text)
	return err
}

// alsoIn returns a line that names the first of the places where a passage stands again, and counts the rest of all.
func alsoIn(places []*ragdv1.Place, all int) string {
	const named = 3
	var names []string
	for _, place := range places[:min(len(places), named)] {
		names = append(names, output.OneLine(cmp.Or(place.GetUri(), place.GetTitle(), place.GetId())))
	}
	line := "also in " + strings.Join(names, ", ")
	if all > named {
		line += fmt.Sprintf(" and %d more", all-named)
	}
	return line
}

// distinctFlag adds the flag of near-identical passages. The returned function is nil for the default.
func distinctFlag(flags *pflag.FlagSet) func() *bool {
	distinct := flags.Bool("distinct", true, "near-identical chunks once, with the other places of the passage")
	return func() *bool {
		if !flags.Changed("distinct") {
			return nil
		}
		return distinct
	}
}

// expandFlag adds the flag of how much of its document a source shows.
func expandFlag(flags *pflag.FlagSet) *string {
	return flags.String("expand", "", "show more of a document: its section, if that is short or has several of the chunks, its neighbours or the document")
}

// previewBytes is the length of the shown text of a source without a passage.
const previewBytes = 480

// passageOf returns the range of a source's text to show.
func passageOf(source *ragdv1.Source, full bool) output.Span {
	text := source.GetDocument()
	whole := output.Span{Start: 0, End: len(text)}
	passage := source.GetHighlight().GetPassage()
	shown := output.Span{Start: int(passage.GetStartByte()), End: int(passage.GetEndByte())}
	switch {
	case full:
		return whole
	case shown.Start < shown.End && shown.End <= len(text):
		return shown
	case len(text) > previewBytes:
		return output.Span{Start: 0, End: max(strings.LastIndexAny(text[:previewBytes], " \n"), 0)}
	}
	return whole
}

// passageLines returns the lines of a range of a source's text, with the words that match
// marked.
func passageLines(p *command.Program, source *ragdv1.Source, shown output.Span) []string {
	before, after := "", ""
	text := source.GetDocument()
	if strings.TrimSpace(text[:shown.Start]) != "" {
		before = "... "
	}
	if strings.TrimSpace(text[shown.End:]) != "" {
		after = " ..."
	}
	var marks []output.Span
	for _, match := range source.GetHighlight().GetMatches() {
		start, end := int(match.GetStartByte()), int(match.GetEndByte())
		if shown.Start <= start && start < end && end <= shown.End {
			marks = append(marks, output.Span{Start: start - shown.Start + len(before), End: end - shown.Start + len(before)})
		}
	}
	return p.Out.WrapMarked(before+text[shown.Start:shown.End]+after, marks)
}

// location returns where a passage of a source is in its document, such as
// `page 3, Harbour > Fees`, as far as the metadata tell. lined: lines of the text are
// lines of the document.
func location(source *ragdv1.Source, passage output.Span, lined bool) string {
	metadata := source.GetMetadata().GetFields()
	position := metadata["position"].GetStructValue().GetFields()
	var found []string
	for _, kind := range []string{"file", "page", "slide", "sheet", "range", "cell"} {
		if value := position[kind]; value != nil {
			found = append(found, strings.TrimPrefix(kind+" ", "range ")+plainValue(value))
		}
	}
	if seconds := position["time"]; seconds != nil {
		found = append(found, time.Duration(seconds.GetNumberValue()*float64(time.Second)).Truncate(time.Second).String())
	}
	if line := position["line"]; line != nil && lined {
		found = append(found, "line "+strconv.Itoa(int(line.GetNumberValue())+linesBefore(source, passage.Start)))
	}
	var above []string
	for _, heading := range metadata["headings"].GetListValue().GetValues() {
		above = append(above, heading.GetStringValue())
	}
	if section := position["section"].GetStringValue(); len(above) == 0 && section != "" {
		above = strings.Split(section, " > ")
	}
	above = headingsAt(above, throughLine(source.GetDocument(), firstMatch(source, passage)))
	if len(above) > 0 && above[0] == source.GetTitle() {
		above = above[1:]
	}
	if len(above) > 0 {
		found = append(found, strings.Join(above, " > "))
	}
	return output.OneLine(strings.Join(found, ", "))
}

// linesBefore returns the number of lines of the document from the start of a source to a
// position in its text. A text longer than its range begins with the header row of the
// table that it continues.
func linesBefore(source *ragdv1.Source, at int) int {
	text := source.GetDocument()
	added := max(len(text)-int(source.GetEndByte()-source.GetStartByte()), 0)
	return strings.Count(text[min(added, at):at], "\n")
}

// firstMatch returns the start of the first word in a passage that matches, else the
// start of the passage.
func firstMatch(source *ragdv1.Source, passage output.Span) int {
	for _, match := range source.GetHighlight().GetMatches() {
		if start := int(match.GetStartByte()); passage.Start <= start && start < passage.End {
			return start
		}
	}
	return passage.Start
}

// throughLine returns a text up to the end of the line of a position.
func throughLine(text string, at int) string {
	if length := strings.IndexByte(text[at:], '\n'); length >= 0 {
		return text[:at+length]
	}
	return text
}

func plainValue(v *structpb.Value) string { return fmt.Sprint(v.AsInterface()) }

// headingsAt returns the headings that enclose the end of a text, outermost first. above
// are those that enclose its beginning, and may include a heading with which it begins.
func headingsAt(above []string, text string) []string {
	if len(above) == 0 {
		return nil
	}
	above = slices.Clone(above)
	outermost := 1 // the level of above[0]
	fenced, known := false, false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
		}
		title := strings.TrimLeft(line, "#")
		level := len(line) - len(title)
		if fenced || level == 0 || level > 6 || !strings.HasPrefix(title, " ") {
			continue
		}
		title = strings.Trim(title, " #\r\n")
		if at := slices.Index(above, title); at >= 0 && !known {
			outermost, known = level-at, true
		}
		above = append(above[:min(max(level-outermost, 0), len(above))], title)
	}
	return above
}

// explainScore describes the score of a source of a search in a mode.
func explainScore(source *ragdv1.Source, mode string) string {
	details := source.GetDetails()
	var facts []string
	if details == nil {
		facts = append(facts, fmt.Sprintf("%s score %.4f", mode, source.GetScore()))
	}
	if source.KeywordScore != nil {
		facts = append(facts, fmt.Sprintf("keyword score %.4f", source.GetKeywordScore()))
	}
	if source.KeywordFactor != nil {
		facts = append(facts, fmt.Sprintf("terms x %.4f by field weights", source.GetKeywordFactor()))
	}
	if source.Similarity != nil {
		facts = append(facts, fmt.Sprintf("similarity %.4f", source.GetSimilarity()))
	}
	if recency := explainRecency(source.GetRecency()); recency != "" {
		facts = append(facts, recency)
	}
	text := strings.Join(facts, ", ")
	return text + explainReranking(details, text != "")
}

// explainReranking describes the components of a reranked score, empty for nil.
func explainReranking(d *ragdv1.RerankDetails, separate bool) string {
	if d == nil {
		return ""
	}
	text := fmt.Sprintf("reranked: relevance %.4f, first score %.4f, first rank %.4f", d.GetSemantic(), d.GetVector(), d.GetPosition())
	if d.GetEstimated() {
		text += " (relevance is estimated)"
	}
	if separate {
		return "; " + text
	}
	return text
}

// explainRecency describes what boosts did to a score; "" for none.
func explainRecency(r *ragdv1.Recency) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("%.4f x %.4f by boosts", r.GetScore(), r.GetFactor())
	if r.GetTime() != nil {
		text += fmt.Sprintf(" (its time is %s)", r.GetTime().AsTime().Format(time.RFC3339))
	}
	return text
}

// explainWalk describes the score of a source of a walk.
func explainWalk(source *ragdv1.Source, walk *ragdv1.GraphExplain) string {
	for _, node := range walk.GetNodes() {
		if node.GetDocumentId() != source.GetDocumentId() || node.GetOrdinal() != source.GetOrdinal() {
			continue
		}
		text := fmt.Sprintf("the walk is here with probability %.4f", node.GetScore())
		if node.GetSeed() > 0 {
			text += fmt.Sprintf("; a seed of weight %.4f", node.GetSeed())
		}
		if recency := explainRecency(source.GetRecency()); recency != "" {
			text += "; " + recency
		}
		return text + explainReranking(source.GetDetails(), true)
	}
	return "the walk does not come here; the search found it" + explainReranking(source.GetDetails(), true)
}
