package connector

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/ragdhq/ragd/internal/automation/webhook"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// PushPath is the path below which sources announce changes, at TENANT/CONNECTOR.
const PushPath = "/push/"

// MaxPushBytes bounds the body of an announcement: as much as GitHub sends. It is read, but not kept.
const MaxPushBytes = 25 << 20

const (
	// minPushSecretBytes is the least length of the secret of announcements: who asks can try many.
	minPushSecretBytes = 16
	// pushCheck is how often the task of a connector looks that waits for announcements alone. That there is one keeps
	// its tenant awake.
	pushCheck = 24 * time.Hour
)

// errPush does not tell what is wrong, so that nobody learns which tenants and connectors there are.
var errPush = fault.New(fault.Unauthenticated, "no connector takes this: the path, the secret or the signature is wrong, or the connector has no pushSecretName")

// checkPush checks the name of the secret of announcements, and its value. Errors: NotFound; Precondition for a value that
// is too short.
func (s *Service) checkPush(ctx context.Context, of tenant.ID, name string) error {
	if name == "" {
		return nil
	}
	if err := catalog.CheckName("pushSecretName", name, 64); err != nil {
		return err
	}
	value, err := s.Secrets.Value(ctx, of, name)
	if err == nil && len(value) < minPushSecretBytes {
		err = fault.New(fault.Precondition, "the secret %q of pushSecretName is too short: it needs at least %d bytes", name, minPushSecretBytes)
	}
	return err
}

// pushURL returns where the source of a connector announces changes; empty for a connector that takes no announcements.
func (s *Service) pushURL(of tenant.ID, c Connector) string {
	if c.PushSecret == "" {
		return ""
	}
	return s.PublicURL + PushPath + string(of) + "/" + c.Name
}

// Pushed makes a run of a connector due whose source announces a change. The caller has no credential: the message must
// be signed with the secret of the connector. Errors: Unauthenticated for whatever else is wrong; Precondition while the
// connector is paused; Invalid for a body that is too long; those of reading it.
func (s *Service) Pushed(ctx context.Context, of tenant.ID, name string, header http.Header, body io.Reader) error {
	h := s.DB.Handle(of)
	r, found, err := connectors.Find(ctx, h, name)
	var gone *data.GoneError
	if errors.As(err, &gone) || fault.KindOf(err) == fault.NotFound || err == nil && !found {
		return errPush
	}
	if err != nil {
		return err
	}
	c, err := r.connector()
	if err != nil {
		return err
	}
	if c.PushSecret == "" {
		return errPush
	}
	secret, err := s.Secrets.Value(ctx, of, c.PushSecret)
	if fault.KindOf(err) == fault.NotFound || err == nil && len(secret) < minPushSecretBytes { // deleted or changed since
		return errPush
	}
	if err != nil {
		return err
	}
	receipt, err := webhook.Receive(header, time.Now(), secret)
	if err != nil {
		return errPush
	}
	if _, err := io.Copy(receipt, body); err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			return fault.New(fault.Invalid, "the message is longer than %d bytes", long.Limit)
		}
		return fault.Wrap(fault.Canceled, err, "the message broke off")
	}
	if !receipt.Valid() {
		return errPush
	}
	return h.Tx(ctx, func(tx *data.Tx) error {
		due, ok, err := dueAfter(ctx, tx, name, s.wait(minChangeInterval))
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(fault.Precondition, "the connector %q is paused", name)
		}
		return s.wake(ctx, tx, due)
	})
}
