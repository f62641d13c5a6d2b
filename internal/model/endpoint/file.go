package endpoint

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
)

// File is a file of a form.
type File struct {
	Field, Name, MediaType string
	Content                []byte
}

// Value is a value of a form.
type Value struct{ Field, Text string }

// PostFile is PostJSON for a form (multipart/form-data) of values and a file.
func (c *Client) PostFile(ctx context.Context, path string, values []Value, file File, out any) error {
	var frame bytes.Buffer // the form without the content of the file
	w := multipart.NewWriter(&frame)
	for _, value := range values {
		if err := w.WriteField(value.Field, value.Text); err != nil {
			return err
		}
	}
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", multipart.FileContentDisposition(file.Field, file.Name))
	header.Set("Content-Type", file.MediaType)
	if _, err := w.CreatePart(header); err != nil {
		return err
	}
	before := frame.Len()
	if err := w.Close(); err != nil {
		return err
	}
	body := func() (io.ReadCloser, error) {
		form := frame.Bytes()
		return io.NopCloser(io.MultiReader(bytes.NewReader(form[:before]), bytes.NewReader(file.Content), bytes.NewReader(form[before:]))), nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.kind.join(c.config.BaseURL, path), http.NoBody)
	if err != nil {
		return err
	}
	request.GetBody = body
	request.Body, _ = body() // it has no errors
	request.ContentLength = int64(frame.Len() + len(file.Content))
	request.Header.Set("Content-Type", w.FormDataContentType())
	return c.send(request, out)
}
