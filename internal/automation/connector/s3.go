package connector

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/ingest/export"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/secret"
)

// Limits of buckets.
const (
	maxEndpointBytes = 500
	maxRegionBytes   = 100
	maxPrefixBytes   = 1000
	maxAccessBytes   = 200
	objectsPerPage   = 500
	readAheadBytes   = 16 << 20 // of objects that are read at once
	maxExportBytes   = 1 << 30  // of an object that is an export, which lies in a temporary file
)

// S3 is the objects of a bucket of an S3 server.
type S3 struct {
	Endpoint  string   `json:"endpoint"`
	Region    string   `json:"region,omitempty"` // empty: as the server says
	Bucket    string   `json:"bucket"`
	Prefix    string   `json:"prefix,omitempty"`
	Include   []string `json:"include,omitempty"`
	Exclude   []string `json:"exclude,omitempty"`
	AccessKey string   `json:"accessKey,omitempty"` // its id
	Secret    string   `json:"secret,omitempty"`    // name of the secret with the secret access key
}

var bucketPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// complete implements kind.
func (s *S3) complete(guard *outbound.Guard) error {
	if err := guard.CheckURL("s3.endpoint", s.Endpoint); err != nil {
		return err
	}
	endpoint, err := url.Parse(s.Endpoint)
	if err != nil || strings.Trim(endpoint.Path, "/") != "" || len(s.Endpoint) > maxEndpointBytes {
		return fault.Field("s3.endpoint", "must be an address of at most %d bytes without a path, such as https://s3.eu-central-1.amazonaws.com: the bucket has its own field", maxEndpointBytes)
	}
	if !bucketPattern.MatchString(s.Bucket) || strings.Contains(s.Bucket, "..") {
		return fault.Field("s3.bucket", "must be 3 to 63 lower case letters, digits, dots and hyphens")
	}
	for field, limited := range map[string]struct {
		text string
		most int
	}{"s3.region": {s.Region, maxRegionBytes}, "s3.prefix": {s.Prefix, maxPrefixBytes}, "s3.accessKeyId": {s.AccessKey, maxAccessBytes}} {
		if err := textlimit.Check(field, limited.text, limited.most); err != nil {
			return err
		}
	}
	for field, patterns := range map[string][]string{"s3.include": s.Include, "s3.exclude": s.Exclude} {
		if err := checkPatterns(field, patterns); err != nil {
			return err
		}
	}
	switch {
	case s.Secret == "" && s.AccessKey == "":
		return nil
	case s.AccessKey == "":
		return fault.Field("s3.accessKeyId", "is missing: it belongs to the secret")
	}
	return secret.CheckName("s3.secretName", s.Secret)
}

// key implements keyed.
func (s *S3) key() (string, *url.URL) {
	to, err := url.Parse(s.Endpoint)
	if err != nil {
		return "", nil
	}
	return s.Secret, to
}

// bucket is a bucket during one walk.
type bucket struct {
	exporter

	s3     *S3
	client *minio.Core
	meter  *meter
	chosen selection

	last      string // key
	unordered bool   // the server does not list keys in their order, and cannot be asked for those after one
}

// open returns a bucket.
func (s *S3) open(ctx context.Context, w walking, visit func(Item) error) (*bucket, error) {
	name, endpoint := s.key()
	access := credentials.NewStatic("", "", "", credentials.SignatureAnonymous)
	if name != "" {
		key, err := w.secret(ctx, name, endpoint)
		if err != nil {
			return nil, err
		}
		access = credentials.NewStaticV4(s.AccessKey, strings.TrimSpace(key), "")
	}
	b := &bucket{s3: s, meter: &meter{fetch: w.fetch, most: maxItemBytes}, exporter: exporter{
		walking: w, visit: visit, pathKey: "key",
		uri: func(key string) string { return pathURI(url.URL{Scheme: "s3", Host: s.Bucket}, key) },
		tooMany: func() error {
			return fault.New(fault.Exhausted, "the bucket has more than %d objects and items of exports: name those that matter with prefix, include and exclude, or raise maxItems", w.maxItems)
		},
	}}
	var err error
	if b.chosen, err = newSelection(s.Include, s.Exclude); err != nil {
		return nil, err
	}
	// It follows no redirects.
	b.client, err = minio.NewCore(endpoint.Host, &minio.Options{
		Creds: access, Secure: endpoint.Scheme == "https", Transport: b.meter, Region: s.Region, MaxRetries: maxAttempts,
	})
	if err != nil {
		return nil, fault.New(fault.Precondition, "the endpoint cannot be used: %s", textlimit.OneLine(err.Error(), maxReasonBytes))
	}
	return b, nil
}

// walk implements kind. Objects with the ETag of the last walk are not read.
func (s *S3) walk(ctx context.Context, w walking, visit func(Item) error) (listing, error) {
	b, err := s.open(ctx, w, visit)
	if err != nil {
		return listing{}, err
	}
	listed, stop := context.WithCancel(ctx)
	defer stop()
	options := minio.ListObjectsOptions{Prefix: s.Prefix, Recursive: true, FetchOwner: new(false)}
	if w.from != nil {
		options.StartAfter, b.last, b.seen = w.from.After, w.from.After, w.from.Items
	}
	var page []minio.ObjectInfo
	most := w.ahead(objectsPerPage)
	for o := range b.client.ListObjectsIter(listed, s.Bucket, options) {
		if o.Err != nil {
			return listing{}, b.failure(ctx, "the bucket", o.Err)
		}
		if strings.HasSuffix(o.Key, "/") && o.Size == 0 || !strings.HasPrefix(o.Key, s.Prefix) || !b.chosen.has(o.Key) || o.Key == b.last {
			continue // a folder, or one that nobody asked for
		}
		b.unordered = b.unordered || o.Key < b.last
		b.last = o.Key
		if b.seen++; b.seen > w.maxItems {
			return listing{}, b.tooMany()
		}
		if page = append(page, o); len(page) == most {
			if err := b.objects(ctx, page); err != nil {
				return listing{}, err
			}
			page = page[:0]
		}
	}
	if ctx.Err() != nil { // the list ends without an error then
		return listing{}, context.Cause(ctx)
	}
	return listing{keepOthers: b.partial}, b.objects(ctx, page)
}

// objects visits objects that are listed. The content of those that have changed is read, several at once.
func (b *bucket) objects(ctx context.Context, page []minio.ObjectInfo) error {
	ids := make([]string, len(page))
	for i, o := range page {
		ids[i] = b.uri(o.Key)
	}
	if err := b.expect(ctx, ids); err != nil {
		return err
	}
	var some []*bucketObject
	var size int64
	for i, o := range page {
		one, err := b.object(ctx, ids[i], o)
		if err != nil {
			return err
		}
		if one.needed {
			if size += o.Size; len(some) > 0 && size > readAheadBytes {
				if err := b.readAll(ctx, some); err != nil {
					return err
				}
				some, size = nil, o.Size
			}
		}
		some = append(some, one)
	}
	if err := b.readAll(ctx, some); err != nil || len(page) < objectsPerPage || b.unordered || b.partial {
		return err
	}
	return b.reached(ctx, position{After: b.last, Items: b.seen})
}

// bucketObject is an object that is listed.
type bucketObject struct {
	key    string
	item   Item
	known  State
	needed bool // its content is to be read
	large  bool // it has more than maxItemBytes: only an export is read
	gone   bool // it was deleted since it was listed
	err    error
}

// object returns what is known of an object that is listed.
func (b *bucket) object(ctx context.Context, id string, o minio.ObjectInfo) (*bucketObject, error) {
	etag := o.ETag
	if len(etag) > maxReasonBytes {
		etag = ""
	}
	known, err := b.known(ctx, id)
	if err != nil {
		return nil, err
	}
	if item, ok := known.unchanged(id, etag); ok {
		return &bucketObject{item: item}, nil
	}
	item := Item{
		ID: id, FileName: path.Base(o.Key), State: State{Known: true, ETag: etag},
		Attributes: map[string]any{"bucket": b.s3.Bucket, "key": o.Key, "etag": etag, "size": o.Size, "storageClass": o.StorageClass, "metadata": map[string]any{}},
	}
	if at := o.LastModified.UTC(); !at.IsZero() && at.Year() > 0 && at.Year() <= maxYear {
		item.Modified = at
	}
	if why := unusablePath(o.Key); why != "" {
		item.FileName, item.Skipped, item.State.Skipped = "", why, why
		return &bucketObject{item: item}, nil
	}
	if o.Size > maxExportBytes {
		return &bucketObject{item: item.tooLarge()}, nil
	}
	large := o.Size > maxItemBytes
	return &bucketObject{key: o.Key, item: item, known: known, needed: !large, large: large}, nil
}

// readAll reads objects, several at once, and visits them in their order.
func (b *bucket) readAll(ctx context.Context, some []*bucketObject) error {
	var reads errgroup.Group
	reads.SetLimit(connections)
	for _, o := range some {
		if o.needed {
			reads.Go(func() error {
				o.gone, o.err = b.read(ctx, o.key, &o.item)
				return nil
			})
		}
	}
	_ = reads.Wait()
	for _, o := range some {
		if err := b.visitObject(ctx, o); err != nil {
			return err
		}
		o.item.Content = nil
	}
	return nil
}

// visitObject visits an object that was read if it was needed.
func (b *bucket) visitObject(ctx context.Context, o *bucketObject) error {
	switch {
	case o.large:
		return b.visitLarge(ctx, o)
	case !o.needed:
		return b.visit(o.item)
	case o.gone || o.err != nil:
		return b.visitUnread(o)
	}
	if known, err := b.items(ctx, o.key, o.item, bytes.NewReader(o.item.Content), int64(len(o.item.Content))); known || err != nil {
		return err
	}
	return b.visit(o.item)
}

// visitUnread visits an object that was deleted or could not be read.
func (b *bucket) visitUnread(o *bucketObject) error {
	switch {
	case o.gone:
		return nil
	case endsRun(o.err):
		return o.err
	}
	o.known.Known = true
	return b.visit(Item{ID: o.item.ID, Failed: o.err.Error(), State: o.known})
}

// visitLarge visits the items of an object that is an export, and any other one as too large. An export is stored in a temporary
// file before its items are visited, since these take longer than a server waits.
func (b *bucket) visitLarge(ctx context.Context, o *bucketObject) error {
	var file *os.File
	o.gone, o.err = b.get(withMost(ctx, maxExportBytes), o.key, &o.item, func(body io.Reader) (err error) {
		file, err = exportFile(o.key, body)
		return err
	})
	if file != nil {
		defer func() { _ = file.Close() }()
	}
	switch {
	case o.gone || o.err != nil:
		return b.visitUnread(o)
	case file == nil:
		return b.visit(o.item.tooLarge())
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("read a stored export: %w", err)
	}
	if known, err := b.items(ctx, o.key, o.item, file, size); known || err != nil {
		return err
	}
	return b.visit(o.item.tooLarge())
}

// exportFile returns a temporary file with what is read if its beginning may be that of an export, else nil.
func exportFile(name string, body io.Reader) (*os.File, error) {
	buffered := bufio.NewReaderSize(body, export.HeadBytes)
	head, err := buffered.Peek(export.HeadBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !export.MayBe(name, head) {
		return nil, nil
	}
	file, err := temporary("ragd-export-*")
	if err == nil {
		if _, err = io.Copy(file, buffered); err == nil {
			return file, nil
		}
		_ = file.Close()
	}
	return nil, err
}

// read reads the content of an object. gone is whether it was deleted since it was listed. Errors: as fetcher.get.
func (b *bucket) read(ctx context.Context, key string, item *Item) (gone bool, err error) {
	return b.get(ctx, key, item, func(body io.Reader) (err error) {
		item.Content, err = io.ReadAll(body)
		return err
	})
}

// get passes the content of an object to take, and sets what else an item has of it. Errors: as fetcher.get; Unavailable if there is
// no temporary file for it.
func (b *bucket) get(ctx context.Context, key string, item *Item, take func(body io.Reader) error) (gone bool, err error) {
	ctx, failed := apart(ctx)
	body, info, _, err := b.client.GetObject(ctx, b.s3.Bucket, key, minio.GetObjectOptions{})
	if err == nil {
		defer func() { _ = body.Close() }()
		err = take(body)
	}
	var answered minio.ErrorResponse
	switch {
	case err != nil && ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil && failed.err() != nil:
		return false, failed.err()
	case isLocal(err):
		return false, fault.Wrap(fault.Unavailable, err, "the service has no room on its disk for the export %s now", key)
	case errors.As(err, &answered):
		return answered.Code == minio.NoSuchKey, &fetchError{answerOf(answered)}
	case err != nil:
		return false, &fetchError{"the connection failed"}
	}
	item.ContentType = readable(info.ContentType)
	metadata := map[string]any{}
	for name, value := range info.UserMetadata {
		metadata[strings.ToLower(name)] = strings.ToValidUTF8(value, "\uFFFD")
	}
	item.Attributes["metadata"] = metadata
	return false, nil
}

// readable returns a media type that says how to read an object; empty for one that is only a default.
func readable(contentType string) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err == nil && (strings.HasPrefix(media, "text/") && media != "text/plain" || media == "application/pdf" || media == "application/json" || media == "application/xhtml+xml") {
		return contentType
	}
	return ""
}

// failure returns why the bucket cannot be listed, in public words.
func (b *bucket) failure(ctx context.Context, what string, err error) error {
	var answered minio.ErrorResponse
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case b.meter.err() != nil:
		return about(what, b.meter.err())
	case errors.As(err, &answered):
		return fault.New(fault.Precondition, "%s: %s", what, answerOf(answered))
	}
	return fault.Wrap(fault.Unavailable, err, "%s: the endpoint does not answer as an S3 server does", what)
}

// answerOf returns what a server answered instead of an object.
func answerOf(e minio.ErrorResponse) string {
	return textlimit.OneLine(fmt.Sprintf("answered %s: %s", cmp.Or(e.Code, fmt.Sprint(e.StatusCode)), e.Message), maxReasonBytes)
}
