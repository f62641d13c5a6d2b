// Package forward passes requests of tests on to a service.
package forward

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
)

// Handler returns a handler that passes requests on as the proxy does, bodies of known length
// only when they are here. The proxy alone can lose the end of a streamed answer: the server
// before it closes the body of a request as soon as the answer begins, and the transport behind
// it, if it still looks for more than the length of that body, closes the connection.
func Handler(proxy *httputil.ReverseProxy) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 0 {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		proxy.ServeHTTP(w, r)
	})
}
