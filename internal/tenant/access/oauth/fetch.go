package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ragdhq/ragd/internal/secure/outbound"
)

const (
	// fetchTimeout bounds one request to the issuer.
	fetchTimeout = 5 * time.Second
	// maxAnswerBytes bounds the body of a response.
	maxAnswerBytes = 1 << 20
)

// newClient returns a client that follows no redirects: an issuer could lead it elsewhere. A nil
// transport is the default one.
func newClient(transport *http.Transport) *http.Client {
	var through http.RoundTripper
	if transport != nil {
		through = transport
	}
	return &http.Client{Transport: through, CheckRedirect: outbound.NoRedirect}
}

func getJSON(ctx context.Context, client *http.Client, address string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	return doJSON(client, request, into)
}

// doJSON sends a request and decodes the JSON of the response. Its errors are for the log,
// not for callers.
func doJSON(client *http.Client, request *http.Request, into any) error {
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s returned status %s", request.URL.Redacted(), response.Status)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return fmt.Errorf("read the response of %s: %w", request.URL.Redacted(), err)
	}
	if len(answer) > maxAnswerBytes {
		return fmt.Errorf("%s returned more than %d bytes", request.URL.Redacted(), maxAnswerBytes)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("decode the response of %s: %w", request.URL.Redacted(), err)
	}
	return nil
}
