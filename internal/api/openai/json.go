package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// readJSON decodes the body of a request. Errors: Invalid, naming the field, for what is no such
// object or has fields that this interface does not know; those of admission.Request.
func readJSON[In any](r *http.Request, memory *admission.Request) (*In, error) {
	data, err := memory.Read(r.Context(), r.Body, r.ContentLength)
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		data, err = memory.Inflate(r.Context(), data)
	}
	if err == nil {
		err = memory.Admit(r.Context(), admission.Weight(data, admission.WeighJSON(data)))
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, late(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fault.New(fault.Invalid, "the request ended before its body was complete")
	case err != nil:
		return nil, err
	}
	in := new(In)
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}") // clients send nothing where all is optional
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(in); err != nil {
		return nil, malformed(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fault.New(fault.Invalid, "the body must be one JSON object, and something follows it")
	}
	return in, jsonmessage.Exact(data, "")
}

// malformed returns the error for a body that cannot be decoded.
func malformed(err error) error {
	var typed *json.UnmarshalTypeError
	var public *fault.Error
	switch {
	case errors.As(err, &public):
		return public
	case errors.As(err, &typed) && typed.Field != "":
		return fault.Field(typed.Field, "is %s, but must be %s", typed.Value, jsonTypeOf(typed.Type.Kind().String()))
	case errors.As(err, &typed):
		return fault.New(fault.Invalid, "the body must be a JSON object, not %s", typed.Value)
	}
	if _, name, found := strings.Cut(err.Error(), "unknown field "); found {
		return fault.Field(strings.Trim(textlimit.Shorten(name, 100), `"`), "is not a parameter that is known here")
	}
	return fault.Wrap(fault.Invalid, err, "the body is not valid JSON")
}

// jsonTypeOf returns what JSON calls a type of Go.
func jsonTypeOf(kind string) string {
	switch kind {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "slice":
		return "an array"
	case "map", "struct":
		return "an object"
	}
	return "a number"
}

// answer sends a value, or the error.
func answer(w http.ResponseWriter, r *http.Request, value any, err error) {
	if err != nil {
		fail(w, r, err)
		return
	}
	send(w, r, http.StatusOK, value)
}

// send answers with a value as JSON. An answer takes memory of the tenant for as long as the caller
// receives it.
func send(w http.ResponseWriter, r *http.Request, status int, value any) {
	encoded, err := json.Marshal(value)
	if err != nil {
		httpserver.Fail(r.Context(), err)
		status, encoded = http.StatusInternalServerError, []byte(`{"error":{"message":"internal error","type":"server_error","param":null,"code":null}}`)
	}
	if status == http.StatusOK {
		if err := admission.Grow(r.Context(), int64(len(encoded))); err != nil {
			fail(w, r, err)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
	w.WriteHeader(status)
	_ = write(w, encoded) // fails only if the caller has disconnected, or no longer receives
}

const (
	// pieceBytes of an answer must be received within maxWrite.
	pieceBytes = 64 << 10
	maxWrite   = 30 * time.Second
)

// write sends content, and gives up if the caller no longer receives it.
func write(w http.ResponseWriter, content []byte) error {
	conn := http.NewResponseController(w)
	for len(content) > 0 {
		n := min(len(content), pieceBytes)
		_ = conn.SetWriteDeadline(time.Now().Add(maxWrite)) // not all connections have one, as in tests
		if _, err := w.Write(content[:n]); err != nil {
			return err
		}
		content = content[n:]
	}
	if err := conn.Flush(); err != nil {
		return err
	}
	_ = conn.SetWriteDeadline(time.Time{}) // it would end the next answer
	return nil
}

func shorten(text string) string { return textlimit.Shorten(text, 200) }
