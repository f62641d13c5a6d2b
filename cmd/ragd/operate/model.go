package operate

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/progress"
	"github.com/ragdhq/ragd/cmd/ragd/settings"
	"github.com/ragdhq/ragd/internal/model/localmodel"
	"github.com/ragdhq/ragd/internal/model/localmodel/hub"
)

func (p *program) modelCommands() *cobra.Command {
	return command.Group("model", "Fetch, list and check local models", `
Local models are folders of sentence-transformers or of cross-encoders on the machine
of the service, which computes them itself. An index uses one as the embedding model
local/FOLDER, a reranker as the model local/FOLDER.

These commands work on the models folder of this machine. The service sees a new
folder at once.`, p.modelPullCommand(), p.modelListCommand(), p.modelCheckCommand())
}

// modelFlags adds the flags of the commands on local models.
func (p *program) modelFlags(cmd *cobra.Command) *cobra.Command {
	flags := cmd.Flags()
	flags.StringVar(&p.settings.Service.DataDir, "data-dir", settings.DefaultDataDir(p.Getenv), "folder of the service's data")
	config.MarkSettings(flags, "data-dir")
	p.settings.RegisterModels(flags)
	p.JSONFlag(cmd)
	return cmd
}

// modelsDir returns the folder with the models.
func (p *program) modelsDir() string {
	if dir := p.settings.Service.ModelsDir; dir != "" {
		return dir
	}
	return filepath.Join(p.settings.Service.DataDir, "models")
}

// localModel describes a folder for the output.
type localModel struct {
	Model        string `json:"model"`
	Folder       string `json:"folder"`
	Kind         string `json:"kind,omitempty"`
	Architecture string `json:"architecture,omitempty"`
	Dimension    int    `json:"dimension,omitempty"`
	MaxTokens    int    `json:"maxTokens,omitempty"`
	Error        string `json:"error,omitempty"`
}

func describeLocalModel(folder string, d *localmodel.Description, err error) localModel {
	m := localModel{Model: "local/" + filepath.Base(folder), Folder: folder}
	if err != nil {
		m.Error = err.Error()
		return m
	}
	m.Kind, m.Architecture, m.Dimension, m.MaxTokens = "embedding", d.Architecture, d.Dimension, d.MaxTokens
	if d.CrossEncoder {
		m.Kind = "cross-encoder"
	}
	return m
}

func (p *program) modelPullCommand() *cobra.Command {
	var request hub.Request
	cmd := p.modelFlags(&cobra.Command{
		Use:   "pull MODEL",
		Short: "Fetch a model from a model hub into the models folder",
		Long: `Fetch the files of a model that are needed, and check them against the hub's
checksums. A model that is not supported is refused before its weights are fetched.
An interrupted pull goes on where it ended when the command is run again.

Without a network, copy the folder of the model into the models folder yourself.`,
		Example: `  ragd model pull sentence-transformers/all-MiniLM-L6-v2
  ragd model pull cross-encoder/ms-marco-MiniLM-L6-v2 --as reranker`,
		Args: command.Arguments("MODEL"),
	})
	flags := cmd.Flags()
	flags.StringVar(&request.Revision, "revision", "main", "branch, tag or commit")
	flags.StringVar(&request.Name, "as", "", "name of the folder (default the last part of MODEL)")
	flags.BoolVar(&request.Replace, "replace", false, "replace a folder that exists; its vectors may differ, so indexes must be re-embedded")
	p.settings.RegisterHub(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		request.Model, request.Dir = args[0], p.modelsDir()
		return p.pullModel(cmd.Context(), request)
	}
	return cmd
}

// fetchModel fetches a model, with a progress bar on a terminal, and returns its folder.
func (p *program) fetchModel(ctx context.Context, request hub.Request) (string, error) {
	if p.StderrTerminal {
		bar := progress.NewBar(p.Out.Stderr, -1, "fetching")
		request.Progress = func(done, total int64) {
			bar.ChangeMax64(total)
			_ = bar.Set64(done)
		}
		defer func() { _ = bar.Finish() }()
	}
	return hub.New(hub.Config{URL: p.settings.ModelHub, Token: p.settings.ModelHubToken}).Pull(ctx, request)
}

func (p *program) pullModel(ctx context.Context, request hub.Request) error {
	folder, err := p.fetchModel(ctx, request)
	if err != nil {
		return err
	}
	description, err := localmodel.Describe(folder)
	if err != nil {
		return err
	}
	m := describeLocalModel(folder, description, nil)
	if p.Out.JSON {
		return p.Out.Value(m)
	}
	_, err = fmt.Fprintf(p.Out.Stdout, "%s is in %s\n", m.Model, output.Printable(folder))
	return err
}

func (p *program) modelListCommand() *cobra.Command {
	return p.modelFlags(&cobra.Command{
		Use:     "list",
		Short:   "List the models of the models folder",
		Example: `  ragd model list`,
		Args:    command.Arguments(),
		RunE: func(*cobra.Command, []string) error {
			dir := p.modelsDir()
			listed, err := localmodel.New(localmodel.Config{Dir: dir}).List()
			if err != nil {
				return err
			}
			if len(listed) == 0 && !p.Out.JSON {
				output.Note(p.Out.Stderr, "no models in %s: `ragd model pull sentence-transformers/all-MiniLM-L6-v2` fetches one", output.Printable(dir))
				return nil
			}
			table := output.NewTable(p.Out.Stdout)
			if !p.Out.JSON {
				fmt.Fprintln(table, "MODEL\tKIND\tARCHITECTURE\tDIMENSION\tMAX TOKENS")
			}
			for _, l := range listed {
				m := describeLocalModel(filepath.Join(dir, l.Name), l.Description, l.Err)
				switch {
				case p.Out.JSON:
					if err := p.Out.Value(m); err != nil {
						return err
					}
				case m.Error != "":
					fmt.Fprintf(table, "%s\tcannot be used: %s\n", m.Model, output.OneLine(m.Error))
				default:
					fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\n", m.Model, m.Kind, m.Architecture, m.Dimension, m.MaxTokens)
				}
			}
			return table.Flush()
		},
	})
}

// checkedModel is what the command check finds out.
type checkedModel struct {
	localModel
	Engine         string  `json:"engine"`
	WeightBytes    int     `json:"weightBytes"`
	LoadMS         float64 `json:"loadMs"`
	QuestionMS     float64 `json:"questionMs"`
	PassageMS      float64 `json:"passageMs"`
	Related        float64 `json:"related"`
	Unrelated      float64 `json:"unrelated"`
	QuestionPrefix string  `json:"questionPrefix,omitempty"`
	DocumentPrefix string  `json:"documentPrefix,omitempty"`
}

func (p *program) modelCheckCommand() *cobra.Command {
	return p.modelFlags(&cobra.Command{
		Use:   "check FOLDER",
		Short: "Load a model, try it and measure its speed",
		Long: `Load a model and compute some samples: a question, a passage of some 250 tokens,
and the similarity (or score) of a question with a passage that answers it and with
one that does not. FOLDER is a folder of the models folder, or any path.`,
		Example: `  ragd model check all-MiniLM-L6-v2
  ragd model check ./downloads/bge-small-en-v1.5 --json`,
		Args: command.Arguments("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := args[0]
			if !strings.ContainsRune(folder, os.PathSeparator) {
				folder = filepath.Join(p.modelsDir(), folder)
			}
			folder, err := filepath.Abs(folder)
			if err != nil {
				return err
			}
			precision := p.settings.Service.LocalModelPrecision
			if err := precision.Check(); err != nil {
				return err
			}
			checked, err := checkModel(cmd.Context(), folder, precision)
			if err != nil {
				return err
			}
			if p.Out.JSON {
				return p.Out.Value(checked)
			}
			table := output.NewTable(p.Out.Stdout)
			checked.print(table)
			return table.Flush()
		},
	})
}

// The samples of the command check.
const (
	sampleQuestion = "How long does a refund take after an order was cancelled?"
	sampleAnswer   = "Money is returned to the customer within five working days of the cancellation."
	sampleOther    = "The northern lights are best seen in clear winter nights far from cities."
)

func checkModel(ctx context.Context, folder string, precision localmodel.Precision) (checkedModel, error) {
	description, err := localmodel.Describe(folder)
	if err != nil {
		return checkedModel{}, err
	}
	models := localmodel.New(localmodel.Config{Dir: filepath.Dir(folder), Threads: 1, Precision: precision})
	out := checkedModel{
		localModel: describeLocalModel(folder, description, nil), Engine: models.Engine(),
		QuestionPrefix: description.QuestionPrefix, DocumentPrefix: description.DocumentPrefix,
	}
	ask := func(texts ...string) ([]float64, error) { return similarities(ctx, models, description, texts) }
	if out.LoadMS, err = timed(1, func() error { _, err := ask(sampleOther); return err }); err != nil {
		return out, err
	}
	similar, err := ask(sampleAnswer, sampleOther)
	if err != nil {
		return out, err
	}
	out.Related, out.Unrelated = similar[0], similar[1]
	out.QuestionMS, err = timed(20, func() error { return compute(ctx, models, description, sampleQuestion) })
	if err != nil {
		return out, err
	}
	passage := strings.Repeat("house ", 248)
	out.PassageMS, err = timed(5, func() error { return compute(ctx, models, description, passage) })
	out.WeightBytes = models.Usage().Bytes
	return out, err
}

// timed returns the least duration of some calls in milliseconds.
func timed(n int, call func() error) (float64, error) {
	least := time.Duration(1<<63 - 1)
	for range n {
		start := time.Now()
		if err := call(); err != nil {
			return 0, err
		}
		least = min(least, time.Since(start))
	}
	return float64(least.Microseconds()) / 1e3, nil
}

// compute computes one input of a model.
func compute(ctx context.Context, models *localmodel.Service, d *localmodel.Description, text string) error {
	if d.CrossEncoder {
		_, err := models.Score(ctx, "", d.Name, sampleQuestion, []string{text})
		return err
	}
	_, err := models.Embed(ctx, "", d.Name, []string{text}, true)
	return err
}

// similarities returns how well texts fit to the sample question: the scores of a cross-encoder,
// else the products of the vectors.
func similarities(ctx context.Context, models *localmodel.Service, d *localmodel.Description, texts []string) ([]float64, error) {
	if d.CrossEncoder {
		return models.Score(ctx, "", d.Name, sampleQuestion, texts)
	}
	question, err := models.Embed(ctx, "", d.Name, []string{sampleQuestion}, true)
	if err != nil {
		return nil, err
	}
	vectors, err := models.Embed(ctx, "", d.Name, texts, false)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(vectors))
	for i, v := range vectors {
		out[i] = cosine(question[0], v)
	}
	return out, nil
}

func (c checkedModel) print(w io.Writer) {
	output.Field(w, "model", c.Model)
	output.Field(w, "kind", c.Kind+", "+c.Architecture)
	if c.Dimension > 0 {
		output.Field(w, "dimension", c.Dimension)
	}
	output.Field(w, "longest text", fmt.Sprintf("%d tokens", c.MaxTokens))
	if c.QuestionPrefix+c.DocumentPrefix != "" {
		output.Field(w, "prefixes", fmt.Sprintf("%q for questions, %q for documents", c.QuestionPrefix, c.DocumentPrefix))
	}
	output.Field(w, "weights", fmt.Sprintf("%.0f MB in memory, loaded in %.0f ms", float64(c.WeightBytes)/1e6, c.LoadMS))
	output.Field(w, "speed", fmt.Sprintf("%.1f ms a question, %.0f ms a passage of 250 tokens, on one processor with %s", c.QuestionMS, c.PassageMS, c.Engine))
	output.Field(w, "sample", fmt.Sprintf("%.3f for a passage that answers the question, %.3f for another one", c.Related, c.Unrelated))
}

// cosine returns the cosine of two vectors.
func cosine(a, b []float32) float64 {
	var product, x, y float64
	for i := range a {
		product += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	return product / math.Sqrt(x*y)
}
