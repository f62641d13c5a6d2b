package console

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// secretBytes is the length of the random secret in a cookie or link.
const secretBytes = 32

// kind says what a secret may be used for.
type kind string

const (
	session kind = "session"
	link    kind = "link"
	login   kind = "login"
)

// signIn is what a browser is signed in with.
type signIn struct {
	// Secret is an API key, the operator's key or an access token.
	Secret string `json:"secret,omitempty"`
	// Refresh fetches another access token when this one expires. Empty for keys.
	Refresh string    `json:"refresh,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	// Attempt is set in rows of visitors who are at the authorization server.
	Attempt *attempt `json:"attempt,omitempty"`
}

// owner identifies who a row belongs to. Visitors are each their own.
func (c signIn) owner() [sha256.Size]byte {
	if c.Attempt != nil {
		return sha256.Sum256([]byte(c.Attempt.State))
	}
	return sha256.Sum256([]byte(c.Secret))
}

// control reaches the control schema.
type control interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// store keeps sessions and links in the database.
type store struct{ database control }

// errUnknown says that a secret is unknown, used or expired.
var errUnknown = errors.New("unknown secret")

// create stores a credential for the given time and returns the secret that finds it. It
// deletes expired rows, and the oldest of the credential's beyond the limit of its kind.
func (s store) create(ctx context.Context, as kind, c signIn, life time.Duration) (secret string, expires time.Time, err error) {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // never fails
	sealed, err := encrypt(raw, as, c)
	if err != nil {
		return "", time.Time{}, err
	}
	hash, owner := sha256.Sum256(raw), c.owner()
	tx, err := s.database.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return "", time.Time{}, postgres.Fault(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, `DELETE FROM ragd.console_sessions WHERE expires_at <= now()`); err != nil {
		return "", time.Time{}, postgres.Fault(err)
	}
	_, err = tx.Exec(ctx, `
		DELETE FROM ragd.console_sessions WHERE secret_hash IN (
			SELECT secret_hash FROM ragd.console_sessions WHERE owner = $1 AND kind = $2 ORDER BY created_at DESC, secret_hash OFFSET $3)`,
		owner[:], string(as), MaxSessions-1)
	if err != nil {
		return "", time.Time{}, postgres.Fault(err)
	}
	err = tx.QueryRow(ctx, `
		INSERT INTO ragd.console_sessions (secret_hash, kind, credential, owner, expires_at)
		VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5)) RETURNING expires_at`,
		hash[:], string(as), sealed, owner[:], life.Seconds()).Scan(&expires)
	if err != nil {
		return "", time.Time{}, postgres.Fault(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), expires, postgres.Fault(tx.Commit(ctx))
}

// find returns the credential of a session, and when the session expires. Errors: errUnknown,
// Unavailable.
func (s store) find(ctx context.Context, secret string) (signIn, time.Time, error) {
	return s.open(ctx, session, secret, `SELECT credential, expires_at FROM ragd.console_sessions WHERE secret_hash = $1 AND kind = $2 AND expires_at > now()`)
}

// take deletes a row and returns its credential. Of several calls with the same secret one
// succeeds. Errors: errUnknown, Unavailable.
func (s store) take(ctx context.Context, as kind, secret string) (signIn, error) {
	c, _, err := s.open(ctx, as, secret, `DELETE FROM ragd.console_sessions WHERE secret_hash = $1 AND kind = $2 AND expires_at > now() RETURNING credential, expires_at`)
	return c, err
}

// change replaces the credential of a session by what a function makes of it, while others wait.
// With errUnknown of the function the session ends. Errors: errUnknown, those of the function.
func (s store) change(ctx context.Context, secret string, to func(signIn) (signIn, error)) (c signIn, err error) {
	raw, err := decode(secret)
	if err != nil {
		return c, err
	}
	hash := sha256.Sum256(raw)
	tx, err := s.database.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return c, postgres.Fault(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	var sealed []byte
	err = tx.QueryRow(ctx, `SELECT credential FROM ragd.console_sessions WHERE secret_hash = $1 AND kind = 'session' AND expires_at > now() FOR UPDATE`, hash[:]).Scan(&sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, errUnknown
	}
	if err != nil {
		return c, postgres.Fault(err)
	}
	if c, err = decrypt(raw, session, sealed); err != nil {
		return c, err
	}
	c, err = to(c)
	if errors.Is(err, errUnknown) {
		if _, err := tx.Exec(ctx, `DELETE FROM ragd.console_sessions WHERE secret_hash = $1`, hash[:]); err != nil {
			return c, postgres.Fault(err)
		}
		return c, errors.Join(postgres.Fault(tx.Commit(ctx)), errUnknown)
	}
	if err != nil {
		return c, err
	}
	if sealed, err = encrypt(raw, session, c); err != nil {
		return c, err
	}
	if _, err := tx.Exec(ctx, `UPDATE ragd.console_sessions SET credential = $2 WHERE secret_hash = $1`, hash[:], sealed); err != nil {
		return c, postgres.Fault(err)
	}
	return c, postgres.Fault(tx.Commit(ctx))
}

// delete ends a session. It is no error if there is none.
func (s store) delete(ctx context.Context, secret string) error {
	raw, err := decode(secret)
	if err != nil {
		return nil
	}
	hash := sha256.Sum256(raw)
	_, err = s.database.Exec(ctx, `DELETE FROM ragd.console_sessions WHERE secret_hash = $1`, hash[:])
	return postgres.Fault(err)
}

// open runs a statement that returns the row of a secret, and decrypts it.
func (s store) open(ctx context.Context, as kind, secret, sql string) (c signIn, expires time.Time, err error) {
	raw, err := decode(secret)
	if err != nil {
		return c, expires, err
	}
	hash := sha256.Sum256(raw)
	var sealed []byte
	err = s.database.QueryRow(ctx, sql, hash[:], string(as)).Scan(&sealed, &expires)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, expires, errUnknown
	}
	if err != nil {
		return c, expires, postgres.Fault(err)
	}
	c, err = decrypt(raw, as, sealed)
	return c, expires, err
}

func decode(secret string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.DecodeString(secret)
	if err != nil || len(raw) != secretBytes {
		return nil, errUnknown
	}
	return raw, nil
}

func encrypt(secret []byte, as kind, c signIn) ([]byte, error) {
	plain, err := json.Marshal(c) //nolint:gosec // G117: it is encrypted below
	if err != nil {
		return nil, fmt.Errorf("encode a credential: %w", err)
	}
	aead, err := aeadOf(secret)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, plain, []byte(as)), nil
}

func decrypt(secret []byte, as kind, sealed []byte) (c signIn, err error) {
	aead, err := aeadOf(secret)
	if err != nil {
		return c, err
	}
	plain, err := aead.Open(nil, nil, sealed, []byte(as))
	if err != nil {
		return c, fault.New(fault.Unauthenticated, "the session is damaged: sign in again")
	}
	return c, json.Unmarshal(plain, &c)
}

// aeadOf returns the cipher whose key is derived from a secret (HKDF, RFC 5869).
func aeadOf(secret []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "ragd console session", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key of a session: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("use the key of a session: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}
