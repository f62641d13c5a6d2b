package toolset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
)

// This file formats answers as text beside the structured content. Models cite from it,
// so sources have the same numbers as in relevantContext.

func answerText(req *ragdv1.VectorQueryRequest, res *ragdv1.VectorQueryResponse) string {
	var b strings.Builder
	writeAnswer(&b, res, req.GetFilter() != nil)
	if e := res.GetExplain(); e != nil {
		fmt.Fprintf(&b, "\n\nFound by %s search:", e.GetSearchMode())
		writeStages(&b, e.GetStages())
	}
	writeGroups(&b, res.GetGroups())
	if token := res.GetNextPageToken(); token != "" {
		b.WriteString("\n\n")
		writeNextPage(&b, token)
	}
	return b.String()
}

func walkText(req *ragdv1.GraphRagRequest, res *ragdv1.GraphRagResponse) string {
	var b strings.Builder
	writeAnswer(&b, res, req.GetFilter() != nil)
	if e := res.GetExplain(); e != nil {
		if topics := e.GetTopics(); len(topics) > 0 {
			b.WriteString("\n\nChosen topics:")
			for _, t := range topics {
				fmt.Fprintf(&b, "\n- %s (%s): %s", oneLine(t.GetTitle()), t.GetReason(), count(t.GetSources(), "passage"))
			}
			return b.String()
		}
		fmt.Fprintf(&b, "\n\nWalked from %s search, %d passages and %d links near it:", e.GetSearchMode(), len(e.GetNodes()), len(e.GetEdges()))
		writeStages(&b, e.GetStages())
	}
	return b.String()
}

// answer is the common interface of the answers to queries.
type answer interface {
	GetWarnings() []string
	GetSources() []*ragdv1.Source
	GetRelevantContext() string
	GetBudget() *ragdv1.Budget
}

func writeAnswer(b *strings.Builder, a answer, filtered bool) {
	writeWarnings(b, a.GetWarnings())
	switch sources := a.GetSources(); {
	case len(sources) > 0:
		writeSources(b, sources, 0)
	case a.GetRelevantContext() != "":
		b.WriteString(a.GetRelevantContext())
	case a.GetBudget().GetOmittedCount() > 0:
		b.WriteString("Nothing fits into the budget.")
	default:
		b.WriteString("Nothing was found.")
		if filtered {
			b.WriteString(" The filter may be too strict.")
		}
	}
	writeBudget(b, a.GetBudget())
}

func writeStages(b *strings.Builder, stages []*ragdv1.Stage) {
	for _, stage := range stages {
		fmt.Fprintf(b, " %s %.1f ms (%d)", stage.GetName(), stage.GetDurationMs(), stage.GetCandidates())
	}
}

// writeSources writes passages, numbered from after+1.
func writeSources(b *strings.Builder, sources []*ragdv1.Source, after int) {
	writeSourcesFrom(b, sources, after, func(int) string { return "" })
}

// writeSourcesFrom is writeSources of which some, by number from 0, came over another passage instead of with a score.
func writeSourcesFrom(b *strings.Builder, sources []*ragdv1.Source, after int, via func(int) string) {
	var line []byte
	for i, source := range sources {
		line = line[:0]
		if i > 0 {
			line = append(line, "\n\n"...)
		}
		line = append(strconv.AppendInt(append(line, '['), int64(after+i+1), 10), ']')
		name, metadata := nameOf(source)
		for _, part := range []string{name, source.GetUri()} {
			if part != "" {
				line = append(append(line, ' '), oneLine(part)...)
			}
		}
		const digits = 3
		if over := via(i); over != "" && source.GetScore() == 0 {
			line = append(append(line, " ("...), oneLine(over)...)
		} else {
			line = strconv.AppendFloat(append(line, " (score "...), source.GetScore(), 'f', digits, 64)
		}
		if index := source.GetIndexName(); index != "" {
			line = append(append(line, ", index "...), index...)
		}
		line = append(line, ")\n"...)
		if topic := source.GetTopic(); topic != "" && source.GetPath() == "" {
			line = append(append(append(line, "topic: "...), oneLine(topic)...), '\n')
		}
		if source.GetPath() != "" {
			line = append(append(append(line, "path: "...), oneLine(source.GetPath())...), '\n')
		}
		line = appendAlsoIn(line, source)
		b.Write(appendMetadata(line, metadata))
		b.WriteString(source.GetDocument())
	}
}

// namedPlaces is how many other places of a passage its text names.
const namedPlaces = 3

// appendAlsoIn appends a line that names other places of the same passage, by uri or else title.
func appendAlsoIn(line []byte, source *ragdv1.Source) []byte {
	places := source.GetAlsoIn()
	if len(places) == 0 {
		return line
	}
	line = append(line, "also in: "...)
	for i, place := range places[:min(len(places), namedPlaces)] {
		if i > 0 {
			line = append(line, ", "...)
		}
		line = append(line, oneLine(cmp.Or(place.GetUri(), place.GetTitle(), place.GetId()))...)
	}
	if more := int64(source.GetAlsoInCount()) - namedPlaces; more > 0 {
		line = append(strconv.AppendInt(append(line, " and "...), more, 10), " more"...)
	}
	return append(line, '\n')
}

// maxNameBytes limits a name with headings; longer ones stay in the metadata.
const maxNameBytes = 300

// nameOf returns the title of a passage's document with the headings above the passage,
// and the metadata that says more than the name and the passage.
func nameOf(source *ragdv1.Source) (string, *structpb.Struct) {
	title, metadata := source.GetTitle(), withoutText(source)
	fields := metadata.GetFields()
	path := headings(fields["headings"])
	section := strings.Join(path, " > ")
	if len(path) > 0 && path[0] == title {
		path = path[1:]
	}
	whole := path
	if title != "" {
		whole = append([]string{title}, path...)
	}
	name := strings.Join(whole, " > ")
	named := len(name) <= maxNameBytes
	if !named {
		name = title
	}
	rest := maps.Clone(fields)
	for _, key := range []string{"title", "documentTitle"} {
		if said, ok := rest[key].GetKind().(*structpb.Value_StringValue); ok && said.StringValue == title {
			delete(rest, key)
		}
	}
	if section != "" && named {
		delete(rest, "headings")
		if position := rest["position"].GetStructValue(); position.GetFields()["section"].GetStringValue() == section {
			if rest["position"] = withoutSection(position); rest["position"] == nil {
				delete(rest, "position")
			}
		}
	}
	return name, &structpb.Struct{Fields: rest}
}

// withoutSection returns a position without its section, nil if it says nothing else.
func withoutSection(position *structpb.Struct) *structpb.Value {
	rest := maps.Clone(position.GetFields())
	delete(rest, "section")
	if len(rest) == 0 {
		return nil
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: rest})
}

// headings returns a list of texts, nil for any other value.
func headings(value *structpb.Value) (path []string) {
	for _, v := range value.GetListValue().GetValues() {
		text, ok := v.GetKind().(*structpb.Value_StringValue)
		if !ok {
			return nil
		}
		path = append(path, text.StringValue)
	}
	return path
}

// oneLine returns a uri or title for use in a sentence: quoted if it has line breaks or
// other characters that could pass for text of ours.
func oneLine(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// withoutText returns a source's metadata without the copy of the chunk's text that is
// there for clients of other vector stores.
func withoutText(source *ragdv1.Source) *structpb.Struct {
	fields := source.GetMetadata().GetFields()
	if fields["text"].GetStringValue() != source.GetDocument() {
		return source.GetMetadata()
	}
	if len(fields) <= 1 {
		return nil
	}
	rest := maps.Clone(fields)
	delete(rest, "text")
	return &structpb.Struct{Fields: rest}
}

func writeMetadata(b *strings.Builder, metadata *structpb.Struct) {
	b.Write(appendMetadata(nil, metadata))
}

// appendMetadata appends a line with the metadata, if there is any.
func appendMetadata(dst []byte, metadata *structpb.Struct) []byte {
	if len(metadata.GetFields()) == 0 {
		return dst
	}
	with, err := jsonmessage.Append(append(dst, "metadata: "...), metadata)
	if err != nil {
		return dst
	}
	return append(with, '\n')
}

func rerankedText(_ *ragdv1.RerankRequest, res *ragdv1.RerankResponse) string {
	var b strings.Builder
	writeWarnings(&b, res.GetWarnings())
	sources := make([]*ragdv1.Source, len(res.GetResults()))
	for i, r := range res.GetResults() {
		sources[i] = proto.CloneOf(r.GetResult())
		sources[i].Score = r.GetScore()
	}
	if len(sources) == 0 {
		b.WriteString("There was nothing to order.")
	}
	writeSources(&b, sources, 0)
	return b.String()
}

func writeWarnings(b *strings.Builder, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintf(b, "Note: %s.\n\n", strings.TrimSuffix(warning, "."))
	}
}

func indexesText(_ *ragdv1.ListIndexesRequest, res *ragdv1.ListIndexesResponse) string {
	if len(res.GetIndexes()) == 0 {
		return "There is no index."
	}
	var b strings.Builder
	for _, index := range res.GetIndexes() {
		b.WriteString("- " + indexLine(index) + "\n")
	}
	writeNextPage(&b, res.GetNextPageToken())
	return b.String()
}

func topicsText(_ *ragdv1.ListTopicsRequest, res *ragdv1.ListTopicsResponse) string {
	if len(res.GetTopics()) == 0 {
		return "There are no topics."
	}
	var b strings.Builder
	for _, t := range res.GetTopics() {
		if t.GetParentId() != 0 {
			b.WriteString("  ")
		}
		fmt.Fprintf(&b, "- %s (%s of %s, %.0f%%): %s", oneLine(t.GetTitle()), count(t.GetChunkCount(), "passage"), count(t.GetDocumentCount(), "document"),
			100*t.GetShare(), oneLine(strings.Join(t.GetTerms(), ", ")))
		if t.GetSummary() != "" {
			b.WriteString("; " + oneLine(strings.TrimSuffix(t.GetSummary(), ".")))
		}
		for i, d := range t.GetDocuments() {
			if i == 0 {
				b.WriteString("; such as ")
			} else {
				b.WriteString(", ")
			}
			b.WriteString(oneLine(cmp.Or(d.GetTitle(), d.GetUri(), d.GetDocumentId())))
		}
		b.WriteString("\n")
	}
	if n := res.GetOtherChunkCount(); n > 0 {
		fmt.Fprintf(&b, "%s in none of them.\n", count(n, "passage"))
	}
	writeNextPage(&b, res.GetNextPageToken())
	return b.String()
}

func indexText(_ *ragdv1.DescribeIndexRequest, index *ragdv1.Index) string {
	var b strings.Builder
	b.WriteString(indexLine(index) + "\n")
	fmt.Fprintf(&b, "dimension %d, metric %s, %s index, text language %s, status %s\n",
		index.GetDimension(), index.GetMetric(), index.GetIndexConfig().GetType(), index.GetTextLanguage(), index.GetStatus())
	return b.String()
}

func indexLine(index *ragdv1.Index) string {
	line := fmt.Sprintf("%s: %s, %s", index.GetIndexName(),
		count(index.GetDocumentCount(), "document"), count(index.GetCount(), "chunk"))
	if n := index.GetPendingDocumentCount(); n > 0 {
		line += fmt.Sprintf(", %d more being processed", n)
	}
	if n := index.GetFailedDocumentCount(); n > 0 {
		line += fmt.Sprintf(", %d failed", n)
	}
	if model := index.GetEmbeddingModel(); model != "" {
		return line + ", model " + model
	}
	return line + ", ready-made vectors"
}

func documentsText(_ *ragdv1.ListDocumentsRequest, res *ragdv1.ListDocumentsResponse) string {
	if len(res.GetDocuments()) == 0 {
		return "There is no such document."
	}
	var b strings.Builder
	for i, document := range res.GetDocuments() {
		fmt.Fprintf(&b, "%d. %s\n", i+1, documentLine(document))
		writeMetadata(&b, document.GetMetadata())
	}
	writeNextPage(&b, res.GetNextPageToken())
	return b.String()
}

func documentText(_ *ragdv1.GetDocumentRequest, document *ragdv1.Document) string {
	var b strings.Builder
	b.WriteString(documentLine(document) + "\n")
	fmt.Fprintf(&b, "index %s, documentId %s, version %d, %s, %s\n", document.GetIndexName(),
		document.GetDocumentId(), document.GetVersion(), document.GetContentType(), count(int32(document.GetByteSize()), "byte"))
	writeMetadata(&b, document.GetMetadata())
	return b.String()
}

func documentLine(document *ragdv1.Document) string {
	line := oneLine(document.GetUri())
	if title := document.GetTitle(); title != "" {
		line = oneLine(title) + " (" + line + ")"
	}
	if namespace := document.GetNamespace(); namespace != "" && namespace != "default" {
		line += " in namespace " + namespace
	}
	line += fmt.Sprintf(": %s, %s", document.GetStatus(), count(document.GetChunkCount(), "chunk"))
	if problem := document.GetError(); problem != "" {
		line += ", last error: " + problem
	}
	return line
}

func uploadedText(_ *ragdv1.UploadDocumentRequest, res *ragdv1.UploadDocumentResponse) string {
	document, job := res.GetDocument(), res.GetJob()
	text := fmt.Sprintf("%s is stored in index %s as version %d, documentId %s. ",
		oneLine(document.GetUri()), document.GetIndexName(), document.GetVersion(), document.GetDocumentId())
	if job.GetStatus() == "succeeded" {
		return text + "It can be searched."
	}
	if ended(job) {
		return text + fmt.Sprintf("Job %s is %s, so that this version cannot be searched: %s", job.GetJobId(), job.GetStatus(), job.GetError())
	}
	return text + fmt.Sprintf("Job %s is %s: it can be searched when get_job says succeeded.", job.GetJobId(), job.GetStatus())
}

func deletedText(req *ragdv1.DeleteDocumentRequest, _ *ragdv1.DeleteDocumentResponse) string {
	if req.GetUri() != "" {
		return "Deleted " + oneLine(req.GetUri()) + "."
	}
	return "Deleted document " + req.GetDocumentId() + "."
}

func deletedManyText(req *ragdv1.DeleteDocumentsRequest, res *ragdv1.DeleteDocumentsResponse) string {
	if res.GetDeletedCount() == 0 {
		return "There is no such document."
	}
	uris := make([]string, len(res.GetDocuments()))
	for i, d := range res.GetDocuments() {
		uris[i] = d.GetUri()
	}
	is := "deleted"
	if req.GetDryRun() {
		is = "to be deleted; this was a dry run"
	}
	var b strings.Builder
	writeURIs(&b, uris, int(res.GetDeletedCount()), is)
	return b.String()
}

// maxURIsShown limits the uris in a text; the structured content has all of them.
const maxURIsShown = 100

func syncedText(req *ragdv1.SyncSourceRequest, res *ragdv1.SyncSourceResponse) string {
	var b strings.Builder
	gone := "deleted"
	if req.GetDryRun() {
		gone = "to be deleted; this was a dry run"
	}
	fmt.Fprintf(&b, "%s unchanged.", count(res.GetUnchangedCount(), "document"))
	for _, part := range []struct {
		uris  []string
		total int
		is    string
	}{
		{res.GetNewUris(), len(res.GetNewUris()), "new, to be uploaded"},
		{res.GetChangedUris(), len(res.GetChangedUris()), "changed, to be uploaded again"},
		{res.GetGoneUris(), int(res.GetGoneCount()), gone},
	} {
		if part.total == 0 {
			continue
		}
		b.WriteString("\n")
		writeURIs(&b, part.uris, part.total, part.is)
	}
	return b.String()
}

// writeURIs writes the number of documents, their state, and the first uris.
func writeURIs(b *strings.Builder, uris []string, total int, are string) {
	shown := slices.Clone(uris[:min(len(uris), maxURIsShown)])
	for i, uri := range shown {
		shown[i] = oneLine(uri)
	}
	fmt.Fprintf(b, "%s %s: %s", count(int32(total), "document"), are, strings.Join(shown, ", "))
	if more := total - len(shown); more > 0 {
		fmt.Fprintf(b, " and %d more", more)
	}
}

func recordedText(req *ragdv1.RecordFeedbackRequest, res *ragdv1.RecordFeedbackResponse) string {
	did := "Recorded"
	if req.GetWithdraw() {
		did = "Withdrawn"
	}
	return fmt.Sprintf("%s: question %s of the set %s.", did, res.GetQuestionId(), oneLine(res.GetSetName()))
}

func cancelledText(_ *ragdv1.CancelJobRequest, job *ragdv1.Job) string { return jobText(nil, job) }

func jobText(_ *ragdv1.GetJobRequest, job *ragdv1.Job) string {
	text := fmt.Sprintf("Job %s (%s) is %s", job.GetJobId(), job.GetKind(), job.GetStatus())
	if p := job.GetProgress(); p.GetTotal() > 0 {
		text += fmt.Sprintf(", %d of %d %s", p.GetDone(), p.GetTotal(), p.GetUnit())
	}
	if job.GetError() != "" {
		text += fmt.Sprintf(", last error after attempt %d: %s", job.GetAttempts(), job.GetError())
	}
	text += "."
	if failed := job.GetExtraction().GetFailed(); failed > 0 {
		text += fmt.Sprintf(" What could not be extracted, %s, is missing from the metadata.", count(failed, "value"))
	}
	return text
}

func chunksText(_ *ragdv1.ChunkTextRequest, res *ragdv1.ChunkTextResponse) string {
	var b strings.Builder
	b.WriteString(count(int32(len(res.GetChunks())), "chunk"))
	for i, chunk := range res.GetChunks() {
		fmt.Fprintf(&b, "\n\n[%d] bytes %d to %d\n%s", i+1, chunk.GetStartByte(), chunk.GetEndByte(), chunk.GetText())
	}
	return b.String()
}

func writeNextPage(b *strings.Builder, token string) {
	if token != "" {
		fmt.Fprintf(b, "There are more: call again with pageToken %q.\n", token)
	}
}

// count formats a number with its noun: "1 chunk", "2 chunks".
func count(n int32, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
