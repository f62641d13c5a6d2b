package sleep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// partBytes is how many bytes of an archive are sent to a bucket at a time. Each upload holds one part in memory, and has at
// most 10,000.
const partBytes = 16 << 20

// maxAnswerBytes is how much of a server's answer an error has.
const maxAnswerBytes = 300

// bucket is a Store in a bucket of an S3 server.
type bucket struct {
	client *minio.Client
	name   string
	prefix string
}

func newBucket(address *url.URL, name, prefix string, c StoreConfig) (*bucket, error) {
	access := credentials.NewStatic("", "", "", credentials.SignatureAnonymous)
	if c.AccessKeyID != "" {
		access = credentials.NewStaticV4(c.AccessKeyID, c.SecretAccessKey, "")
	}
	client, err := minio.New(address.Host, &minio.Options{Creds: access, Secure: address.Scheme == "https"})
	if err != nil {
		return nil, fault.Field(Setting, "cannot be used: %s", textlimit.OneLine(err.Error(), maxAnswerBytes))
	}
	return &bucket{client: client, name: name, prefix: prefix}, nil
}

// Put implements Store.
func (b *bucket) Put(ctx context.Context, name string, from io.Reader) (int64, error) {
	done, err := b.client.PutObject(ctx, b.name, b.key(name), from, -1, minio.PutObjectOptions{
		PartSize: partBytes, NumThreads: 1, ContentType: "application/octet-stream",
		SendContentMd5: true, DisableContentSha256: true, // not all servers know later checksums, and an archive has its own
	})
	return done.Size, b.failure("store an archive", err)
}

// Get implements Store.
func (b *bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	object, err := b.client.GetObject(ctx, b.name, b.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, b.failure("read an archive", err)
	}
	return &reading{object, b}, nil
}

// reading is an archive that is being read.
type reading struct {
	*minio.Object
	from *bucket
}

// Read implements io.Reader. The first one sends the request.
func (r *reading) Read(to []byte) (int, error) {
	n, err := r.Object.Read(to)
	if err == io.EOF { //nolint:errorlint // as readers return it
		return n, err
	}
	return n, r.from.failure("read an archive", err)
}

// Delete implements Store.
func (b *bucket) Delete(ctx context.Context, name string) error {
	return b.failure("delete an archive", b.client.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{}))
}

func (b *bucket) key(name string) string { return path.Join(b.prefix, name) }

// failure returns the error of a call. Errors: errMissing; Unavailable.
func (b *bucket) failure(what string, err error) error {
	var answered minio.ErrorResponse
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", what, err)
	case errors.As(err, &answered) && answered.Code == minio.NoSuchKey:
		return errMissing
	case errors.As(err, &answered):
		return fault.Wrap(fault.Unavailable, err, "%s: the storage of archives answered %s", what, textlimit.OneLine(answered.Code, maxAnswerBytes))
	}
	return fault.Wrap(fault.Unavailable, err, "%s: the storage of archives does not answer", what)
}
