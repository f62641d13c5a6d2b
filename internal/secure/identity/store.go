package identity

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/secure/seal"
)

// key is a key in memory.
type key struct {
	id      string
	public  ed25519.PublicKey
	private ed25519.PrivateKey // nil if no master key opens it
	age     time.Duration      // when it was loaded, by the clock of the database
}

// row is a row of the table of keys.
type row struct {
	KeyID      string
	PublicKey  []byte
	PrivateKey []byte
	Seconds    float64
}

// load returns the keys, oldest first. With renew it first makes one if that is due, and
// deletes those that no longer sign. A lock keeps two instances from making one each.
func load(ctx context.Context, on control, keys *seal.Keys, renew bool) (loaded []key, err error) {
	tx, err := on.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return nil, postgres.Fault(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if loaded, err = read(ctx, tx, keys); err != nil || !renew || !due(loaded) {
		return loaded, err
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('ragd signing keys', 0))`); err != nil {
		return nil, postgres.Fault(err)
	}
	if loaded, err = read(ctx, tx, keys); err != nil {
		return nil, err
	}
	if due(loaded) {
		made := create()
		_, err = tx.Exec(ctx, `INSERT INTO ragd.signing_keys (key_id, public_key, private_key) VALUES ($1, $2, $3)`,
			made.id, []byte(made.public), keys.Seal(made.private.Seed(), belongsTo(made.id)...))
		if err != nil {
			return nil, postgres.Fault(err)
		}
		loaded = append(loaded, made)
	}
	if err := retire(ctx, tx); err != nil {
		return nil, err
	}
	return loaded, postgres.Fault(tx.Commit(ctx))
}

// due reports whether a new key must be made: the newest that can be decrypted is too old, or
// there is none.
func due(keys []key) bool {
	for _, k := range keys {
		if k.private != nil && k.age < Period {
			return false
		}
	}
	return true
}

// retire deletes the keys of which a newer one has signed for Overlap.
func retire(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		DELETE FROM ragd.signing_keys AS k
		WHERE EXISTS (SELECT FROM ragd.signing_keys AS newer WHERE newer.created_at > k.created_at AND newer.created_at < now() - make_interval(secs => $1))`,
		(Lead + Overlap).Seconds())
	return postgres.Fault(err)
}

func read(ctx context.Context, tx pgx.Tx, keys *seal.Keys) ([]key, error) {
	rows, err := tx.Query(ctx, `
		SELECT key_id, public_key, private_key, extract(epoch FROM now() - created_at)::float8 AS seconds
		FROM ragd.signing_keys ORDER BY created_at, key_id`)
	if err != nil {
		return nil, postgres.Fault(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		return nil, postgres.Fault(err)
	}
	out := make([]key, len(found))
	for i, r := range found {
		if len(r.PublicKey) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("the public key %s has %d bytes", r.KeyID, len(r.PublicKey))
		}
		out[i] = key{id: r.KeyID, public: r.PublicKey, age: time.Duration(r.Seconds * float64(time.Second))}
		if seed, err := keys.Open(r.PrivateKey, belongsTo(r.KeyID)...); err == nil && len(seed) == ed25519.SeedSize {
			out[i].private = ed25519.NewKeyFromSeed(seed)
		}
	}
	return out, nil
}

func create() key {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // the random source never fails
	}
	return key{id: strings.ToLower(rand.Text()[:16]), public: public, private: private}
}

func belongsTo(id string) []string { return []string{"signing key", id} }

// Sealed is the column with the private keys.
var Sealed = seal.Column{
	Table: "ragd.signing_keys", Name: "private_key", Row: "'signing-keys/' || key_id",
	BelongsTo: "ARRAY['signing key', key_id]",
}
