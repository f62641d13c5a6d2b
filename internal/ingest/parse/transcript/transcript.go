// Package transcript has what is said in recordings written down, by an HTTP endpoint that answers as
// OpenAI's /audio/transcriptions does.
package transcript

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
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

// Reader reads recordings. Safe for concurrent use.
type Reader struct {
	config Config
	client *endpoint.Client
}

// New returns a Reader.
func New(config Config) *Reader {
	return &Reader{config, endpoint.New("the endpoint of transcription", endpoint.Config{
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
	Segments []struct {
		Start, End float64
		Text       string
	}
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
	var got answer
	err := r.client.Do(ctx, tenant, func(ctx context.Context) error {
		got = answer{}
		return r.client.PostFile(ctx, "/audio/transcriptions", values, file, &got)
	})
	if err != nil {
		return nil, err
	}
	if len(got.Segments) == 0 {
		return []parse.Said{{Text: strings.TrimSpace(got.Text)}}, nil
	}
	said := make([]parse.Said, len(got.Segments))
	for i, s := range got.Segments {
		said[i] = parse.Said{Start: s.Start, End: s.End, Text: s.Text}
	}
	return said, nil
}
