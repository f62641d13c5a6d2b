package sleep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Store keeps archives by their names, which have slashes. Safe for concurrent use.
type Store interface {
	// Put stores what it reads, as a whole or not at all, and returns the number of bytes.
	Put(ctx context.Context, name string, from io.Reader) (bytes int64, err error)
	// Get returns what is stored. Errors: errMissing, also of its Read.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// Delete removes what is stored, if it is there.
	Delete(ctx context.Context, name string) error
}

// errMissing says that an archive is not stored.
var errMissing = errors.New("the archive is not in the storage")

// Setting is the name of the setting that says where archives are stored.
const Setting = "sleep-storage"

// StoreConfig says where archives are stored.
type StoreConfig struct {
	// Place is the path of a folder, or the address of a bucket of an S3 server with an optional prefix, such as
	// https://s3.eu-central-1.amazonaws.com/bucket/prefix. Instances of one service share it. Empty: nowhere.
	Place string
	// AccessKeyID and SecretAccessKey are the credential for a bucket. Empty: none, as for a bucket that trusts the network.
	AccessKeyID, SecretAccessKey string
}

// Open returns the store that a configuration names, nil for none. It connects to nothing. Errors: Invalid, naming the setting.
func Open(c StoreConfig) (Store, error) {
	if c.Place == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	if !strings.Contains(c.Place, "://") {
		path, err := filepath.Abs(c.Place)
		if err != nil {
			return nil, fmt.Errorf("find the folder of %s: %w", Setting, err)
		}
		return folder(path), nil
	}
	address, err := url.Parse(c.Place)
	if err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Host == "" || address.User != nil || address.RawQuery != "" {
		return nil, fault.Field(Setting, "must be a folder, or the address of a bucket such as https://s3.eu-central-1.amazonaws.com/bucket/prefix, without a user and without a query")
	}
	name, prefix, _ := strings.Cut(strings.Trim(address.Path, "/"), "/")
	if name == "" {
		return nil, fault.Field(Setting, "must name a bucket, such as %s://%s/bucket", address.Scheme, address.Host)
	}
	return newBucket(address, name, prefix, c)
}
