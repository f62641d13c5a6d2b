package forward_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/forward"
)

// slow is the body of a request. After its content it lets nobody see its end before the
// answer has begun.
type slow struct {
	io.ReadCloser
	begun <-chan struct{}
	read  int64
}

func (s *slow) Read(p []byte) (int, error) {
	if s.read == int64(len(question)) {
		<-s.begun
	}
	n, err := s.ReadCloser.Read(p)
	s.read += int64(n)
	return n, err
}

const question = "two"

// An answer arrives whole if it begins before the proxy has seen the end of the request.
func TestAnAnswerThatBeginsEarlyIsWhole(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "one ")
		_ = http.NewResponseController(w).Flush()
		<-begun
		select { // the proxy has time to lose the connection
		case <-r.Context().Done():
		case <-time.After(100 * time.Millisecond):
		}
		_, _ = w.Write(asked)
	}))
	t.Cleanup(service.Close)
	address, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(forward.Handler(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(address)
			r.Out.Body = &slow{ReadCloser: r.Out.Body, begun: begun}
		},
	}))
	t.Cleanup(front.Close)
	res, err := http.Post(front.URL, "text/plain", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	close(begun)
	if got, err := io.ReadAll(res.Body); err != nil || string(got) != "one two" {
		t.Errorf("got %q, %v", got, err)
	}
}
