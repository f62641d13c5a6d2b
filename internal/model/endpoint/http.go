package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// maxAnswer bounds the bytes that are read of one answer: 2,048 vectors of 3,072
// decimal numbers take some 70 MB.
const maxAnswer = 128 << 20

// maxGuardedAnswer is maxAnswer for an endpoint that a tenant chose: 128 vectors of 4,096
// decimal numbers take some 12 MB.
const maxGuardedAnswer = 16 << 20

// newTransport returns a transport with a connection pool of its own, so that
// endpoints do not evict each other's idle connections.
func newTransport(config Config) http.RoundTripper {
	connections := config.MaxConcurrent
	if config.Guard != nil {
		return limited{config.Guard.Transport(connections), maxGuardedAnswer}
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns = connections
	t.MaxIdleConnsPerHost = connections
	t.IdleConnTimeout = 30 * time.Second
	return limited{t, maxAnswer}
}

// limited cuts answers off after a number of bytes. An answer cut off does not parse.
type limited struct {
	*http.Transport
	bytes int64
}

func (l limited) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.Transport.RoundTrip(request)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, l.bytes), response.Body}
	}
	return response, err
}

// PostJSON posts in to the path below the base URL, with the API key, and decodes the
// answer into out, whatever content type it has. It is one attempt, for use inside Do.
// Errors: *StatusError; *BadAnswerError if the answer is not JSON of the shape of out.
func (c *Client) PostJSON(ctx context.Context, path string, in, out any) error {
	request, err := c.post(ctx, path, in)
	if err != nil {
		return err
	}
	return c.send(request, out)
}

// post returns a request that posts in as JSON.
func (c *Client) post(ctx context.Context, path string, in any) (*http.Request, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.kind.join(c.config.BaseURL, path), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}

// GetJSON is PostJSON for a request without a body.
func (c *Client) GetJSON(ctx context.Context, path string, out any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.config.kind.join(c.config.BaseURL, path), http.NoBody)
	if err != nil {
		return err
	}
	return c.send(request, out)
}

func (c *Client) send(request *http.Request, out any) error {
	request.Header.Set("Accept", "application/json")
	c.authorize(request)
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	if err := c.check(response); err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return BadAnswer("%d bytes that are not the JSON expected", len(answer))
	}
	return nil
}

// authorize sets the headers of the endpoint and its key.
func (c *Client) authorize(request *http.Request) {
	for name, value := range c.config.Headers {
		request.Header.Set(name, value)
	}
	if header := kinds[c.config.kind].keyHeader; c.config.APIKey != "" && header != "" {
		request.Header.Set(header, c.config.APIKey)
	} else if c.config.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+c.config.APIKey)
	}
}
