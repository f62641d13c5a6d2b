// Package transcript has what is said in recordings written down, by an HTTP endpoint that answers as
// OpenAI's /audio/transcriptions does.
package transcript

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/model/endpoint"
)

// Config are the settings of a Reader.
type Config struct {
	// BaseURL is the address up to the version, such as https://api.openai.com/v1.
	BaseURL string
	// APIKey is sent as a bearer token; empty for servers that want none.
	APIKey string
	// Model is the name of the model at the endpoint. It must answer with the times of segments.
	Model string
	// Language is the code of the language that is spoken, such as en; empty lets the model find it.
	Language string
	Timeout  time.Duration // of one recording
	MaxBytes int64         // of one recording
}

var languagePattern = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z]{2,8})?$`)

// Check returns an error that names the setting that makes no sense.
func (c Config) Check() error {
	switch {
	case c.Model == "":
		return errors.New("transcription-model is empty: name a model such as whisper-1")
	case c.BaseURL == "" || endpoint.Config{BaseURL: c.BaseURL}.Validate() != nil:
		return errors.New("transcription-base-url is not an address such as http://localhost:8000/v1") // it may hold a password
	case c.Language != "" && !languagePattern.MatchString(c.Language):
		return fmt.Errorf("transcription-language: %q is not the code of a language such as en", c.Language)
	case c.Timeout <= 0:
		return fmt.Errorf("transcription-timeout must be above 0, got %v", c.Timeout)
	case c.MaxBytes <= 0:
		return fmt.Errorf("transcription-max-bytes must be above 0, got %d", c.MaxBytes)
	}
	return nil
}

// maxAttempts bounds the attempts of one call. The job of the document tries again later.
const maxAttempts = 2

// Meter counts transcriptions, and says who may have more. It is safe for concurrent use.
type Meter interface {
	// Admit returns an error if a tenant may use no more tokens.
	Admit(ctx context.Context, tenant string) error
	// Transcribed counts the transcription of a recording of so many seconds. model is endpoint/model.
	Transcribed(ctx context.Context, tenant, model string, seconds float64, input, output int)
}

// Reader reads recordings. Safe for concurrent use.
type Reader struct {
	config Config
	client *endpoint.Client
	meter  Meter
}

// New returns a Reader.
func New(config Config, meter Meter) *Reader {
	return &Reader{config: config, meter: meter, client: endpoint.New("the endpoint of transcription", endpoint.Config{
		BaseURL: config.BaseURL, APIKey: config.APIKey, Timeout: config.Timeout, MaxAttempts: maxAttempts, Setting: "transcription",
	})}
}

// endings are the endings of names by which endpoints tell formats.
var endings = map[string]string{
	"audio/mpeg": "mp3", "audio/wav": "wav", "audio/flac": "flac", "audio/ogg": "ogg", "video/webm": "webm", "audio/mp4": "m4a", "video/mp4": "mp4",
}

// answer is an answer in the format verbose_json.
type answer struct {
	Text     string
	Duration any // seconds, as a number or a text
	Segments []struct {
		Start, End float64
		Text       string
	}
	Usage struct { // of models that charge for tokens
		InputTokens  int `json:"input_tokens"`
		OutputTokens int `json:"output_tokens"`
	}
}

// maxCounted bounds the seconds and the tokens that are counted of a recording: what an endpoint says may be anything.
const maxCounted = 10_000_000

// seconds returns how long the recording is, by its last segment if the endpoint does not say it.
func (a answer) seconds() float64 {
	seconds, ok := a.Duration.(float64)
	if said, isText := a.Duration.(string); isText {
		parsed, err := strconv.ParseFloat(said, 64)
		if ok = err == nil && !math.IsNaN(parsed); ok {
			seconds = parsed
		}
	}
	if n := len(a.Segments); !ok && n > 0 {
		seconds = a.Segments[n-1].End
	}
	return min(max(seconds, 0), maxCounted)
}

// Parse reads a file of a tenant by read, and once more with the transcripts of the recordings in it, which are made one
// after the other. Errors: those of read; those of endpoint.Client.Do. A recording that the endpoint refuses is
// Invalid to read.
func (r *Reader) Parse(ctx context.Context, tenant string, src parse.Source, read func(context.Context, parse.Source) (parse.Document, error)) (parse.Document, error) {
	src.Recordings = r.config.MaxBytes
	d, err := read(ctx, src)
	if err != nil || len(d.Unheard) == 0 {
		return d, err
	}
	src.Transcripts = map[string]parse.Transcript{}
	for _, recording := range d.Unheard {
		key := parse.RecordingKey(recording)
		if _, ok := src.Transcripts[key]; ok {
			continue
		}
		said, err := r.transcribe(ctx, tenant, recording)
		var status *endpoint.StatusError
		switch {
		case errors.As(err, &status) && (status.Refused() || status.Status == http.StatusUnsupportedMediaType):
			src.Transcripts[key] = parse.Transcript{Refused: fmt.Sprintf(refused, status.Status)}
		case err != nil:
			return parse.Document{}, err
		default:
			src.Transcripts[key] = parse.Transcript{Said: said}
		}
	}
	return read(ctx, src)
}

// refused is why a recording has no transcript, with the status of the answer.
const refused = "is a recording that the endpoint of transcription refused with HTTP status %d: it may be damaged, too long or of a format that the endpoint does not read, or the model of the setting transcription-model does not answer with verbose_json"

// transcribe returns what is said in a recording. An answer without segments is one piece without times.
func (r *Reader) transcribe(ctx context.Context, tenant string, recording []byte) ([]parse.Said, error) {
	mediaType := parse.RecordingType(recording)
	values := []endpoint.Value{{Field: "model", Text: r.config.Model}, {Field: "response_format", Text: "verbose_json"}}
	if r.config.Language != "" {
		values = append(values, endpoint.Value{Field: "language", Text: r.config.Language})
	}
	file := endpoint.File{Field: "file", Name: "recording." + endings[mediaType], MediaType: mediaType, Content: recording}
	if err := r.meter.Admit(ctx, tenant); err != nil {
		return nil, err
	}
	var got answer
	err := r.client.Do(ctx, tenant, func(ctx context.Context) error {
		got = answer{}
		return r.client.PostFile(ctx, "/audio/transcriptions", values, file, &got)
	})
	if err != nil {
		return nil, err
	}
	tokens := func(n int) int { return min(max(n, 0), maxCounted) }
	r.meter.Transcribed(ctx, tenant, "transcription/"+r.config.Model, got.seconds(), tokens(got.Usage.InputTokens), tokens(got.Usage.OutputTokens))
	if len(got.Segments) == 0 {
		return []parse.Said{{Text: strings.TrimSpace(got.Text)}}, nil
	}
	said := make([]parse.Said, len(got.Segments))
	for i, s := range got.Segments {
		said[i] = parse.Said{Start: s.Start, End: s.End, Text: s.Text}
	}
	return said, nil
}
