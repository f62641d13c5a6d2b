// Package seal encrypts the secrets of tenants for the database, with the operator's master
// keys.
//
// A sealed secret is AES-256-GCM with a random nonce. What it belongs to, such as the tenant
// and the name of a row, is authenticated with it: a secret that is moved to another row
// does not open.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Setting is the name of the setting with the master keys.
const Setting = "master-key"

// KeyBytes is the length of a master key.
const KeyBytes = 32

// A sealed secret is: version, id of the key, nonce, ciphertext with its tag.
const (
	version = 1
	idBytes = 8
)

// ErrUnknownKey says that a secret was sealed with a key that is not among Keys.
var ErrUnknownKey = errors.New("sealed with a master key that is not known")

// ErrNotAuthentic says that a sealed secret was changed, or belongs to something else.
var ErrNotAuthentic = errors.New("the sealed secret is damaged or belongs to something else")

// Keys are master keys: the first seals, all open. Safe for concurrent use. They do not show
// themselves when printed.
type Keys struct{ all []key }

type key struct {
	id   [idBytes]byte
	aead cipher.AEAD
}

// String returns the number of keys.
func (k *Keys) String() string {
	if k == nil {
		return "no master keys"
	}
	return fmt.Sprintf("%d master keys", len(k.all))
}

// GoString is String.
func (k *Keys) GoString() string { return k.String() }

// Parse returns the keys in a text, separated by commas or white space: each 64 hexadecimal
// digits, or base64 of 32 bytes. It returns nil for an empty text. Errors: Invalid, naming
// the setting, without the text.
func Parse(text string) (*Keys, error) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
	if len(fields) == 0 {
		return nil, nil
	}
	keys := &Keys{}
	for i, field := range fields {
		secret, err := decode(field)
		if err != nil {
			return nil, fault.Field(Setting, "key %d must be %d bytes, as %d hexadecimal digits or as base64: `openssl rand -hex %d` makes one", i+1, KeyBytes, 2*KeyBytes, KeyBytes)
		}
		if err := keys.add(secret); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

func decode(field string) ([]byte, error) {
	if len(field) == 2*KeyBytes {
		return hex.DecodeString(field)
	}
	secret, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(field, "="))
	if err == nil && len(secret) != KeyBytes {
		err = errors.New("another length")
	}
	return secret, err
}

func (k *Keys) add(secret []byte) error {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return fmt.Errorf("use a master key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return fmt.Errorf("use a master key: %w", err)
	}
	sum := sha256.Sum256(append([]byte("ragd master key id\x00"), secret...))
	k.all = append(k.all, key{id: [idBytes]byte(sum[:]), aead: aead})
	return nil
}

// FileName is the name of the file that OpenFile makes in a folder.
const FileName = "master.key"

// OpenFile returns the keys in the file master.key of a folder. It makes the file with a
// random key, readable by its owner only, if there is none.
func OpenFile(folder string) (*Keys, error) {
	path := filepath.Join(folder, FileName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the master key: %w", err)
	}
	keys, err := Parse(string(text))
	if err != nil || keys == nil {
		return nil, fault.New(fault.Precondition, "the file %s holds no master key: restore it from a backup; without it, what tenants encrypted is lost", path)
	}
	return keys, nil
}

// create writes a new key and returns the content of the file, which is another's if there is
// one meanwhile. The file is never seen half written.
func create(path string) ([]byte, error) {
	secret := make([]byte, KeyBytes)
	_, _ = rand.Read(secret)                                      // never fails
	file, err := os.CreateTemp(filepath.Dir(path), FileName+".*") // with mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(hex.EncodeToString(secret) + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.ReadFile(path)
}

// Seal encrypts a secret with the first key. belongsTo is what Open must be given too.
func (k *Keys) Seal(secret []byte, belongsTo ...string) []byte {
	first := k.all[0]
	sealed := make([]byte, 1+idBytes+first.aead.NonceSize(), 1+idBytes+first.aead.NonceSize()+len(secret)+first.aead.Overhead())
	sealed[0] = version
	copy(sealed[1:], first.id[:])
	nonce := sealed[1+idBytes:]
	_, _ = rand.Read(nonce) // never fails
	return first.aead.Seal(sealed, nonce, secret, context(belongsTo))
}

// Open decrypts what Seal returned. Errors: ErrUnknownKey, ErrNotAuthentic.
func (k *Keys) Open(sealed []byte, belongsTo ...string) ([]byte, error) {
	if k == nil || len(k.all) == 0 {
		return nil, ErrUnknownKey
	}
	if len(sealed) < 1+idBytes || sealed[0] != version {
		return nil, ErrNotAuthentic
	}
	for _, key := range k.all {
		if !bytes.Equal(sealed[1:1+idBytes], key.id[:]) {
			continue
		}
		rest := sealed[1+idBytes:]
		if len(rest) < key.aead.NonceSize() {
			return nil, ErrNotAuthentic
		}
		secret, err := key.aead.Open(nil, rest[:key.aead.NonceSize()], rest[key.aead.NonceSize():], context(belongsTo))
		if err != nil {
			return nil, ErrNotAuthentic
		}
		return secret, nil
	}
	return nil, ErrUnknownKey
}

// Current reports whether a sealed secret was sealed with the first key.
func (k *Keys) Current(sealed []byte) bool {
	return k != nil && len(sealed) > idBytes && sealed[0] == version && bytes.Equal(sealed[1:1+idBytes], k.all[0].id[:])
}

// context encodes what a secret belongs to. Each text follows its length, so that different
// lists have different encodings.
func context(belongsTo []string) []byte {
	var out []byte
	for _, text := range belongsTo {
		out = binary.LittleEndian.AppendUint64(out, uint64(len(text)))
		out = append(out, text...)
	}
	return out
}
