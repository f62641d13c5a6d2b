// Package localmodel computes the vectors and scores of models whose folders are on this
// machine, in this process: those of sentence-transformers and its cross-encoders.
//
//	models := localmodel.New(localmodel.Config{Dir: "/var/lib/ragd/models"})
//	vectors, err := models.Embed(ctx, tenant, "all-MiniLM-L6-v2", texts, false)
//
// A folder is named by its name below Config.Dir. Models are loaded when they are first used,
// and unloaded when nobody has used them for a while.
//
// All computations share a number of threads. Questions go before pairs to score, and these
// before passages, also in the middle of a computation; tenants take turns; small sequences of
// several requests are computed together.
package localmodel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/localmodel/kernel"
	"github.com/ragdhq/ragd/internal/model/localmodel/tokenize"
	"github.com/ragdhq/ragd/internal/model/localmodel/transformer"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// Config configures a Service.
type Config struct {
	// Dir is the folder with the models. There are none if it is empty or does not exist.
	Dir string
	// Threads is the number of computations at a time. 0 means one less than GOMAXPROCS, at
	// least one.
	Threads int
	// Processor is where each of them takes a slot. Default: no limit.
	Processor *limit.Processor
	// Idle is the time without use after which a model is unloaded. 0 means 30 minutes.
	Idle time.Duration
	// Engine computes. nil means the fastest.
	Engine *kernel.Engine
	// Precision is that of the layers of the models. Default: Int8.
	Precision Precision
	// Logger gets a line for each model that is loaded or unloaded. Default: none.
	Logger *slog.Logger
}

// Precision is how exactly the products of a model are computed.
type Precision string

// The precisions. Their vectors of a text are so near that an index may have vectors of both.
const (
	// Int8 rounds weights and activations to 8-bit integers, where the processor multiplies these
	// faster; else it is as Float32.
	Int8 Precision = "int8"
	// Float32 is that of the published models.
	Float32 Precision = "float32"
)

// Check returns Invalid, naming the setting, unless p is a precision or empty.
func (p Precision) Check() error {
	if p != "" && p != Int8 && p != Float32 {
		return fault.Field("local-model-precision", "must be %s or %s, got %q", Int8, Float32, string(p))
	}
	return nil
}

// Service has the models of a folder. Safe for concurrent use.
type Service struct {
	config Config
	engine kernel.Engine
	work   *scheduler

	mu        sync.Mutex
	models    map[string]*entry
	described map[string]described
}

// described is the configuration of a folder with some version of the weights.
type described struct {
	version     version
	description *Description
}

// entry is a model that was asked for.
type entry struct {
	version version
	loading sync.Mutex // held while the model is loaded

	// Guarded by Service.mu.
	loaded *loaded
	users  int
	unload *time.Timer
}

// version changes when the weights of a folder are replaced.
type version struct {
	modified time.Time
	size     int64
}

// New returns a service. It loads nothing.
func New(config Config) *Service {
	if config.Threads == 0 {
		config.Threads = max(1, runtime.GOMAXPROCS(0)-1)
	}
	if config.Idle == 0 {
		config.Idle = 30 * time.Minute
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{config: config, engine: kernel.Best(), work: newScheduler(config.Threads, config.Processor), models: map[string]*entry{}, described: map[string]described{}}
	if config.Engine != nil {
		s.engine = *config.Engine
	}
	return s
}

// Engine returns the names of the instructions that models are computed with and of the precision.
func (s *Service) Engine() string {
	if s.config.Precision != Float32 && s.engine.HasInt8() {
		return s.engine.String() + ", " + string(Int8)
	}
	return s.engine.String() + ", " + string(Float32)
}

// validName is the form of a folder's name: no path, nothing hidden.
var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// ValidName reports whether a name can be that of a model's folder.
func ValidName(name string) bool { return validName.MatchString(name) }

// path returns the folder of a model. Errors: Invalid, naming the field, for a name that is none
// and if there is no such folder.
func (s *Service) path(field, name string) (string, error) {
	if !ValidName(name) {
		return "", fault.Field(field, "a local model has the name of its folder, such as local/all-MiniLM-L6-v2, got %q", "local/"+name)
	}
	path := filepath.Join(s.config.Dir, name)
	if info, err := os.Stat(path); s.config.Dir == "" || err != nil || !info.IsDir() {
		return "", fault.Field(field, "this server has no local model %q: its operator fetches it with `ragd model pull` or copies its folder into the models folder", name)
	}
	return path, nil
}

// describe reads the configuration of a model. The one that was read last is kept until its
// weights change. Errors by kind: those of path, Precondition for a folder that is not supported.
func (s *Service) describe(field, name string) (*Description, error) {
	path, err := s.path(field, name)
	if err != nil {
		return nil, err
	}
	v := versionOf(path)
	s.mu.Lock()
	known, ok := s.described[name]
	s.mu.Unlock()
	if ok && known.version == v {
		return known.description, nil
	}
	description, err := Describe(path)
	if err != nil {
		return nil, unusable(name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.described[name] = described{v, description}
	return description, nil
}

// The fields that name a model, in errors.
const (
	embeddingField = "embeddingModel"
	rerankField    = "model"
)

// Describe returns what is known of a model with vectors, without loading it. Errors by kind:
// Invalid, naming the field embeddingModel, if there is no such model or it is a cross-encoder;
// Precondition for a folder that is not supported.
func (s *Service) Describe(name string) (endpoint.Model, error) {
	d, err := s.describe(embeddingField, name)
	if err != nil {
		return endpoint.Model{}, err
	}
	if d.CrossEncoder {
		return endpoint.Model{}, fault.Field(embeddingField, "the local model %q is a cross-encoder: it scores passages, but has no vectors", name)
	}
	return endpoint.Model{
		Name: name, Dimension: d.Dimension, MaxTokens: d.MaxTokens,
		DocumentPrefix: d.DocumentPrefix, QuestionPrefix: d.QuestionPrefix,
	}, nil
}

// Check returns an error if a model is not a cross-encoder. Errors by kind: Invalid, naming the
// field model, if there is no such model; Precondition for a folder that is not supported.
func (s *Service) Check(name string) error {
	d, err := s.describe(rerankField, name)
	if err == nil && !d.CrossEncoder {
		err = fault.Field(rerankField, "the local model %q is not a cross-encoder: it has vectors, but does not score passages", name)
	}
	return err
}

// unusable returns the error for a folder that cannot be used. Tenants do not see the cause,
// which has paths of the server.
func unusable(name string, err error) error {
	return fault.Wrap(fault.Precondition, err, "the local model %q cannot be used: its operator sees why with `ragd model check`", name)
}

// Listed is a folder that List found.
type Listed struct {
	Name        string
	Description *Description // nil if Err is not
	Err         error        // why the folder cannot be used
}

// List describes all folders with models, by name. Errors: of the system.
func (s *Service) List() ([]Listed, error) {
	entries, err := os.ReadDir(s.config.Dir)
	if errors.Is(err, fs.ErrNotExist) || s.config.Dir == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Listed
	for _, e := range entries {
		path := filepath.Join(s.config.Dir, e.Name())
		if info, err := os.Stat(path); err != nil || !info.IsDir() || !ValidName(e.Name()) {
			continue
		}
		description, err := Describe(path)
		out = append(out, Listed{e.Name(), description, err})
	}
	return out, nil
}

// Usage is the memory of the models.
type Usage struct {
	Loaded int // models
	Bytes  int // of their weights without the mapped files
}

// Usage returns the memory that is in use now.
func (s *Service) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	var u Usage
	for _, e := range s.models {
		if e.loaded != nil {
			u.Loaded++
			u.Bytes += e.loaded.model.Bytes()
		}
	}
	return u
}

// acquire returns a loaded model. The caller must call release once.
func (s *Service) acquire(field, name string) (l *loaded, release func(), err error) {
	path, err := s.path(field, name)
	if err != nil {
		return nil, nil, err
	}
	e := s.entry(name, versionOf(path))
	e.loading.Lock()
	defer e.loading.Unlock()
	s.mu.Lock()
	l = e.loaded
	s.mu.Unlock()
	if l == nil {
		if l, err = s.load(path); err != nil {
			s.release(name, e)
			return nil, nil, unusable(name, err)
		}
		s.mu.Lock()
		e.loaded = l
		s.mu.Unlock()
	}
	return l, sync.OnceFunc(func() { s.release(name, e) }), nil
}

func versionOf(folder string) version {
	info, err := os.Stat(filepath.Join(folder, weights))
	if err != nil {
		return version{}
	}
	return version{info.ModTime(), info.Size()}
}

// entry returns the entry of a model for one more user. If the weights were replaced, it is a
// new one; the users of the old one keep it.
func (s *Service) entry(name string, v version) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.models[name]
	if e == nil || e.version != v {
		if e != nil && e.users == 0 {
			s.close(name, e)
		}
		e = &entry{version: v}
		s.models[name] = e
	}
	e.users++
	if e.unload != nil {
		e.unload.Stop()
	}
	return e
}

func (s *Service) load(path string) (*loaded, error) {
	description, err := Describe(path)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	l, err := description.load(s.engine, s.config.Precision)
	if err != nil {
		return nil, err
	}
	s.config.Logger.Info("local model loaded", "model", description.Name, "bytes", l.model.Bytes(), "engine", s.Engine(), "duration_ms", time.Since(start).Milliseconds())
	return l, nil
}

// release gives up a use of a model, which is unloaded when nobody uses it for a while.
func (s *Service) release(name string, e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.users--; e.users > 0 {
		return
	}
	if s.models[name] != e || e.loaded == nil { // replaced, or not loaded
		s.close(name, e)
		return
	}
	e.unload = time.AfterFunc(s.config.Idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if e.users == 0 {
			s.close(name, e)
		}
	})
}

// close unloads a model without users. The caller holds Service.mu.
func (s *Service) close(name string, e *entry) {
	if e.unload != nil {
		e.unload.Stop()
	}
	if s.models[name] == e {
		delete(s.models, name)
	}
	if e.loaded == nil {
		return
	}
	if err := e.loaded.model.Close(); err != nil {
		s.config.Logger.Warn("local model not unmapped", "model", name, "err", err)
	}
	e.loaded = nil
	s.config.Logger.Info("local model unloaded", "model", name)
}

// Embed returns the vectors of a tenant's texts, each of Dimension values, with the prefix of
// the folder for questions or for documents. Questions are more urgent. Of a text longer than
// MaxTokens the end is left out. Errors by kind: those of Describe, Invalid for a text without
// tokens, the error of ctx.
func (s *Service) Embed(ctx context.Context, tenant, name string, texts []string, question bool) ([][]float32, error) {
	if _, err := s.Describe(name); err != nil {
		return nil, err
	}
	model, release, err := s.acquire(embeddingField, name)
	if err != nil {
		return nil, err
	}
	urgency, prefix := passages, model.DocumentPrefix
	if question {
		urgency, prefix = questions, model.QuestionPrefix
	}
	vectors := make([][]float32, len(texts))
	err = s.run(ctx, request{
		tenant: tenant, class: urgency, model: model, release: release, size: len(texts),
		encode: func(i int) tokenize.Encoding { return model.encode(prefix + texts[i]) },
		use:    func(i int, states *transformer.States, n int) { vectors[i] = model.vector(states, n) },
	})
	if err != nil {
		return nil, err
	}
	return vectors, nil
}

// Score returns the relevance of texts to a question by a cross-encoder, between 0 and 1: the
// logistic function of its output, also for a model whose own scores are the bare output; the
// order is the same. Errors by kind: those of Check, the error of ctx.
func (s *Service) Score(ctx context.Context, tenant, name, question string, texts []string) ([]float64, error) {
	if err := s.Check(name); err != nil {
		return nil, err
	}
	model, release, err := s.acquire(rerankField, name)
	if err != nil {
		return nil, err
	}
	scores := make([]float64, len(texts))
	err = s.run(ctx, request{
		tenant: tenant, class: pairs, model: model, release: release, size: len(texts),
		encode: func(i int) tokenize.Encoding { return model.pair(question, texts[i]) },
		use: func(i int, states *transformer.States, n int) {
			scores[i] = 1 / (1 + math.Exp(-float64(model.model.Score(states, n))))
		},
	})
	if err != nil {
		return nil, err
	}
	return scores, nil
}

// request is a call with several inputs.
type request struct {
	tenant  string
	class   class
	model   *loaded
	release func() // called when no computation uses the model any longer
	size    int
	encode  func(i int) tokenize.Encoding
	use     func(i int, states *transformer.States, sequence int)
}

// run computes the inputs of a request and waits for them or for the end of ctx. In the latter
// case the results are still written for a while.
func (s *Service) run(ctx context.Context, r request) error {
	if r.size == 0 {
		r.release()
		return nil
	}
	items := make([]*item, r.size)
	results := make(chan error, r.size)
	var left sync.WaitGroup
	left.Add(r.size)
	for i := range items {
		if err := ctx.Err(); err != nil {
			r.release()
			return err
		}
		e := r.encode(i)
		if len(e.Tokens) == 0 {
			r.release()
			return fault.New(fault.Invalid, "text %d is empty for the local model %q, which has no special tokens: give a text with words", i+1, r.model.Name)
		}
		if greatest := slices.Max(e.Tokens); int(greatest) >= r.model.config.Vocabulary {
			r.release() // in a batch it would fail the requests of others
			return unusable(r.model.Name, fmt.Errorf("its tokenizer has the token %d, but its vocabulary %d tokens", greatest, r.model.config.Vocabulary))
		}
		items[i] = &item{
			ctx: ctx, model: r.model, sequence: transformer.Sequence{Tokens: e.Tokens, Second: e.Second},
			done: func(states *transformer.States, sequence int, err error) {
				if err == nil {
					r.use(i, states, sequence)
				}
				results <- err
				left.Done()
			},
		}
	}
	s.work.submit(r.tenant, r.class, items)
	go func() { left.Wait(); r.release() }()
	for range items {
		select {
		case err := <-results:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("compute the local model %q: %w", r.model.Name, err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
