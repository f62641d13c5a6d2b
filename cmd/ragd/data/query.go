package data

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func queryCommand(p *command.Program) *cobra.Command {
	cmd := p.ClientFlags(&cobra.Command{
		Use:   "query QUESTION",
		Short: "Find the passages that answer a question",
		Long: `Find the chunks that answer a question best and print them, best first, each with
its score, its document, where it is in the document, and the sentences that match
the question best. On a terminal the words that match are in color, unless
NO_COLOR is set. --explain shows the scores that each score is made of.

Modes are vector (by embedding), keyword (by words) and hybrid (both). A filter
is a JSON object over the metadata, such as {"team": "legal"}. With --vector,
--like, --order-by or --near the question may be left out.

An example of --like, --unlike and --exclude is id:ID of a chunk, document:ID,
uri:URI or text:TEXT.`,
		Example: `  ragd query "Who pays for a delayed flight?"
  ragd query "delayed flight" --index handbook --mode keyword --top-k 3 --full
  ragd query "delayed flight" --index 'docs-*,handbook'
  ragd query "notice period" --filter '{"team": "legal"}' --json | jq -r '.sources[].uri'
  ragd query "notice period" --prefix contracts/2024/
  ragd query "notice period" --rerank lexical -k 3
  ragd query --index handbook --like uri:contracts/7.md --unlike 'text:a contract of sale'
  ragd query "notice period" --group-by team:2 -k 5
  ragd query --order-by published:desc --page-size 20
  ragd query --near place:52.52,13.4 -k 5
  ragd query "notice period" --neighbours 1 --max-per-document 2 --explain
  ragd query "notice period" --prompt-text --top-k 50 --max-tokens 4000 | my-prompt
  ragd query "notice period" --context '{"country": "fr"}' --explain`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && (cmd.Flags().Changed("vector") || cmd.Flags().Changed("like") || cmd.Flags().Changed("order-by") || cmd.Flags().Changed("near")) {
				return nil
			}
			return command.Arguments("QUESTION")(cmd, args)
		},
	})
	flags := cmd.Flags()
	index := flags.String("index", "", indexesUsage)
	request := queryFlags(flags)
	full := flags.Bool("full", false, "print chunks as a whole, not only the sentences that match best")
	promptText := flags.Bool("prompt-text", false, "print only the text for a prompt")
	within := command.ContextFlag(flags)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		question := ""
		if len(args) > 0 {
			question = args[0]
		}
		req, err := request(question)
		if err != nil {
			return err
		}
		req.IndexName, req.IndexNames = indexesOf(*index)
		answer, err := c.Queries.VectorQuery(within(ctx), req)
		switch {
		case err != nil:
			return err
		case p.Out.JSON:
			return p.Out.Message(answer)
		case *promptText:
			noteBudget(p, answer.GetBudget())
			_, err := fmt.Fprintln(p.Out.Stdout, output.Printable(answer.GetRelevantContext()))
			return err
		}
		if answer.GetNextPageToken() != "" {
			output.Note(p.Out.Stderr, "there are more: repeat the query with --page-token %s", answer.GetNextPageToken())
		}
		list := sourceList{sources: answer.GetSources(), warnings: answer.GetWarnings(), full: *full, widened: req.GetNeighbours() > 0 || req.GetExpand() != ""}
		if answer.GetExplain() != nil {
			list.explain = func(source *ragdv1.Source) string { return explainScore(source, answer.GetExplain().GetSearchMode()) }
		}
		if err := printSources(p, list); err != nil {
			return err
		}
		noteBudget(p, answer.GetBudget())
		return printExplain(p, answer.GetExplain())
	})
	return cmd
}

// indexesUsage is the help of --index of commands that ask several.
const indexesUsage = "name of the index, several with commas between, or a pattern such as docs-* (default all)"

// indexesOf returns the one index that --index names, or the names and patterns of several.
func indexesOf(given string) (one string, several []string) {
	if strings.ContainsAny(given, ",*") {
		return "", strings.Split(given, ",")
	}
	return given, nil
}

// printExplain prints how an answer was found and the time of each stage. It prints
// nothing for nil.
func printExplain(p *command.Program, explain *ragdv1.Explain) error {
	if explain == nil {
		return nil
	}
	fmt.Fprintf(p.Out.Stdout, "%s\n\n", output.OneLine(summary(explain)))
	for _, profile := range explain.GetProfiles() {
		fmt.Fprintln(p.Out.Stdout, profileLine(profile))
	}
	for _, condition := range explain.GetConditions() {
		fmt.Fprintf(p.Out.Stdout, "condition: %s\n", output.OneLine(condition))
	}
	if ids := explain.GetCurationIds(); len(ids) > 0 {
		fmt.Fprintf(p.Out.Stdout, "curations: %s\n", output.OneLine(strings.Join(ids, ", ")))
	}
	for _, use := range explain.GetSynonyms() {
		fmt.Fprintf(p.Out.Stdout, "synonyms of %s: %s\n", output.OneLine(use.GetTerm()), output.OneLine(strings.Join(use.GetSearched(), ", ")))
	}
	if err := printContext(p, explain.GetContext()); err != nil {
		return err
	}
	return printStages(p, explain.GetSearchMode(), explain.GetStages())
}

// printContext prints the effective request context. It prints nothing if that is empty.
func printContext(p *command.Program, values []*ragdv1.ContextValue) error {
	if len(values) == 0 {
		return nil
	}
	w := output.NewTable(p.Out.Stdout)
	fmt.Fprintln(w, "request context\tvalue\tfrom")
	for _, v := range values {
		value := "***"
		if !v.GetSecret() {
			value = output.CompactJSON(v.GetValue())
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", output.OneLine(v.GetName()), output.OneLine(value), output.OneLine(v.GetOrigin()))
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// printStages prints the time of each stage of a query.
func printStages(p *command.Program, mode string, stages []*ragdv1.Stage) error {
	w := output.NewTable(p.Out.Stdout)
	fmt.Fprintf(w, "%s search\tms\tcandidates\n", output.OneLine(mode))
	for _, stage := range stages {
		fmt.Fprintf(w, "%s\t%.2f\t%d\n", output.OneLine(stage.GetName()), stage.GetDurationMs(), stage.GetCandidates())
	}
	return w.Flush()
}

// summary describes in one line how an answer was found.
func summary(e *ragdv1.Explain) string {
	var facts []string
	if e.GetPlan() != "" {
		facts = append(facts, e.GetPlan()+" plan")
	}
	if e.GetCandidates() > 0 {
		facts = append(facts, fmt.Sprintf("about %d candidates", e.GetCandidates()))
	}
	if e.VectorWeight != nil {
		facts = append(facts, fmt.Sprintf("embeddings weigh %.3f", e.GetVectorWeight()))
	}
	if e.GetComplete() {
		facts = append(facts, "complete: there are as many as wanted, or all that match")
	}
	if e.GetExact() {
		facts = append(facts, "exact: no better ones exist")
	} else {
		facts = append(facts, "not exact: better ones may exist")
	}
	return strings.Join(facts, "; ")
}

// rankingFlags adds --boost and --profile and returns what they say.
func rankingFlags(flags *pflag.FlagSet) func() (one *ragdv1.Boost, several []*ragdv1.Boost, profile string, err error) {
	given := flags.StringArray("boost", nil, "rank recent chunks higher, as FIELD:HALFLIFE or FIELD:HALFLIFE:WEIGHT, such as published:30d (weight 0 to 1, default 0.5), or any boost as JSON; repeatable")
	profile := flags.String("profile", "", "ranking profile, as NAME or NAME@VERSION; none for no profile (default that of the index, if it has one)")
	return func() (one *ragdv1.Boost, several []*ragdv1.Boost, _ string, err error) {
		for _, text := range *given {
			boost, err := boostOf(text)
			if err != nil {
				return nil, nil, "", err
			}
			several = append(several, boost)
		}
		if len(several) == 1 {
			return several[0], nil, *profile, nil
		}
		return nil, several, *profile, nil
	}
}

// fieldWeightsOf returns the weights of a flag; nil for none.
func fieldWeightsOf(given map[string]string) (*ragdv1.FieldWeights, error) {
	if len(given) == 0 {
		return nil, nil //nolint:nilnil // no weights
	}
	out := &ragdv1.FieldWeights{}
	fields := map[string]**float64{"title": &out.Title, "headings": &out.Headings, "text": &out.Text}
	for name, text := range given {
		weight, err := strconv.ParseFloat(text, 64)
		if fields[name] == nil || err != nil {
			return nil, misuse.Errorf("--field-weights: %s=%s is not title, headings or text with a number, such as title=2", name, text)
		}
		*fields[name] = &weight
	}
	return out, nil
}

// boostOf returns the boost of a flag, whose field may have colons; the service checks it.
func boostOf(flag string) (*ragdv1.Boost, error) {
	if strings.HasPrefix(strings.TrimSpace(flag), "{") {
		out := &ragdv1.Boost{}
		if err := protojson.Unmarshal([]byte(flag), out); err != nil {
			return nil, misuse.Errorf("--boost: %s is no boost in JSON: %v", flag, err)
		}
		return out, nil
	}
	parts := strings.Split(flag, ":")
	out := &ragdv1.Boost{}
	if n := len(parts); n > 2 {
		if weight, err := strconv.ParseFloat(parts[n-1], 64); err == nil {
			out.Weight, parts = &weight, parts[:n-1]
		}
	}
	if n := len(parts); n > 1 {
		out.HalfLife, parts = parts[n-1], parts[:n-1]
	}
	out.Field = strings.Join(parts, ":")
	return out, nil
}

// nearOf returns the order of a flag, whose field may have colons.
func nearOf(flag string) (*ragdv1.OrderBy, error) {
	at := strings.LastIndexByte(flag, ':')
	lat, lon, ok := strings.Cut(flag[at+1:], ",")
	latitude, latErr := strconv.ParseFloat(lat, 64)
	longitude, lonErr := strconv.ParseFloat(lon, 64)
	if at < 0 || !ok || latErr != nil || lonErr != nil {
		return nil, misuse.Errorf("--near %q is not FIELD:LAT,LON, such as place:52.52,13.4", flag)
	}
	origin, err := structpb.NewValue(map[string]any{"lat": latitude, "lon": longitude})
	return &ragdv1.OrderBy{Field: flag[:at], Origin: origin}, err
}

// groupByOf returns the groups of a flag, whose field may have colons; the service checks it.
func groupByOf(flag string) *ragdv1.GroupBy {
	if at := strings.LastIndexByte(flag, ':'); at >= 0 {
		if size, err := strconv.ParseInt(flag[at+1:], 10, 32); err == nil {
			return &ragdv1.GroupBy{Field: flag[:at], Size: new(int32(size))}
		}
	}
	return &ragdv1.GroupBy{Field: flag}
}

// queryFlags adds the flags of a search. The returned function builds the request for a
// question.
func queryFlags(flags *pflag.FlagSet) func(question string) (*ragdv1.VectorQueryRequest, error) {
	topK := flags.Int32P("top-k", "k", 10, "chunks wanted")
	mode := flags.String("mode", "", "vector, keyword or hybrid (default hybrid where it is possible)")
	vector := flags.Float32Slice("vector", nil, "a ready-made embedding to look for, as numbers with commas between")
	filter := command.FilterFlags(flags, "only chunks whose metadata match")
	namespace := flags.String("namespace", "", "part of the index to search (default \"default\")")
	minScore := flags.Float64("min-score", 0, "only chunks that score more than this")
	minSimilarity := flags.Float64("min-similarity", 0, "only chunks whose embedding is more similar than this")
	recall := flags.Float64("recall-target", 0, "part of the nearest chunks that an approximate search finds, 0.9 to 0.999 (default that of the index)")
	neighbours := flags.Int32("neighbours", 0, "chunks before and after each one to add to it, up to 10")
	diversity := flags.Float64("diversity", 0, "0 to 1: how much chunks that say the same give way to others")
	perDocument := flags.Int32("max-per-document", 0, "chunks of one document at most (default any number)")
	fusion := flags.String("fusion", "", "how hybrid mode joins its legs: weighted or rrf (default weighted)")
	logOdds := flags.Float64("vector-log-odds", 0, "what is added to the log-odds of the weight that embeddings have in hybrid mode, -6 to 6")
	reranker := command.RerankerFlag(flags, "score what was found a second time")
	staleness := flags.Duration("max-staleness", 0, "how stale the answer may be, up to 5m: it may then come from a replica of the database; 0s for the primary (default as the service is set)")
	explain := flags.Bool("explain", false, "print of what each score is made, how the answer was found and how long each stage took")
	budget := budgetFlags(flags, "the text for a prompt")
	distinct := distinctFlag(flags)
	fieldWeights := flags.StringToString("field-weights", nil, "how much terms count by field, 0 to 10, as title=2,headings=1,text=0.5 (default 1 each)")
	ranking := rankingFlags(flags)
	order := flags.StringSlice("order-by", nil, "metadata fields to order by instead of the score, with :desc for the greatest first; without QUESTION all chunks of the filter")
	near := flags.String("near", "", "order by the distance of a point in the metadata, as FIELD:LAT,LON, such as place:52.52,13.4; without QUESTION all chunks of the filter")
	group := flags.String("group-by", "", "a metadata field to group by, as FIELD or FIELD:SIZE (default 3 chunks of a group); --top-k counts groups")
	pageSize := flags.Int32("page-size", 0, "instead of --top-k: chunks of a page, up to 1000")
	pageToken := flags.String("page-token", "", "for the page after one that ended with this token")
	begun := flags.Bool("last-word-prefix", false, "also find words that begin with the last word of the question")
	expand := expandFlag(flags)
	syntax := flags.String("syntax", "", "web: read the question as people type it: \"a phrase\", -without, title:word, prefix*, a OR b (default words)")
	like := likeFlags(flags)
	return func(question string) (req *ragdv1.VectorQueryRequest, err error) {
		req = &ragdv1.VectorQueryRequest{
			QueryText: question, QuerySyntax: *syntax, QueryVector: *vector, TopK: topK, SearchMode: *mode, Namespace: *namespace,
			Neighbours: *neighbours, Diversity: *diversity, MaxPerDocument: *perDocument,
			Reranker: reranker(), Explain: *explain, Highlight: question != "", Prefix: *begun,
		}
		req.MaxTokens, req.EncodingName = budget()
		req.Distinct, req.Expand, req.Like = distinct(), *expand, like()
		if object := filter(); object != nil {
			req.Filter = structpb.NewStructValue(object)
		}
		if req.FieldWeights, err = fieldWeightsOf(*fieldWeights); err != nil {
			return nil, err
		}
		if req.Boost, req.Boosts, req.Profile, err = ranking(); err != nil {
			return nil, err
		}
		for _, field := range *order {
			name, descending := strings.CutSuffix(field, ":desc")
			req.OrderBy = append(req.OrderBy, &ragdv1.OrderBy{Field: name, Descending: descending})
		}
		if *near != "" {
			nearest, err := nearOf(*near)
			if err != nil {
				return nil, err
			}
			req.OrderBy = append(req.OrderBy, nearest)
		}
		if *group != "" {
			req.GroupBy = groupByOf(*group)
		}
		if req.PageSize, req.PageToken = command.Given(flags, "page-size", pageSize), *pageToken; req.PageSize != nil {
			req.TopK = command.Given(flags, "top-k", topK)
		}
		if *fusion != "" {
			req.Hybrid = &ragdv1.Hybrid{Fusion: *fusion}
		}
		if flags.Changed("vector-log-odds") {
			req.Hybrid = &ragdv1.Hybrid{Fusion: *fusion, VectorLogOdds: logOdds}
		}
		if flags.Changed("min-score") {
			req.MinScore = minScore
		}
		if flags.Changed("min-similarity") {
			req.MinSimilarity = minSimilarity
		}
		if flags.Changed("recall-target") {
			req.RecallTarget = recall
		}
		if flags.Changed("max-staleness") {
			req.MaxStaleness = durationpb.New(*staleness)
		}
		return req, nil
	}
}
