package declare

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// prepareSecret checks that the secret of an object that is created can be kept.
func (r *runner) prepareSecret(c *change) error {
	if !c.kind.secret || c.action != create && c.action != replace {
		return nil
	}
	if r.folder == "" {
		if c.kind.name == "key" {
			return errors.New("its secret is shown once: --secrets-to names a folder in which it is written")
		}
		return nil
	}
	if err := os.MkdirAll(r.folder, 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(r.secretFile(c)); err == nil {
		return fmt.Errorf("%s exists, and would be overwritten by its secret: move it away", r.secretFile(c))
	}
	return nil
}

// keepSecret writes the secret of an object that was created to a file that only its owner reads.
func (r *runner) keepSecret(c *change, secret string) error {
	switch {
	case !c.kind.secret:
		return nil
	case r.folder == "":
		r.note(fmt.Sprintf("the secret with which deliveries of the hook %s are signed is not shown: `ragd hook rotate %s` makes one that is", c.name, c.name))
		return nil
	}
	file, err := os.OpenFile(r.secretFile(c), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("it was created, and its secret is lost: %w", err)
	}
	_, err = file.WriteString(secret + "\n")
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("it was created, and its secret is lost: %w", err)
	}
	r.note(fmt.Sprintf("the secret of the %s %s is in %s", c.kind.name, c.name, r.secretFile(c)))
	return nil
}

// secretFile returns the path for the secret of an object.
func (r *runner) secretFile(c *change) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, c.kind.name+"-"+c.name)
	return filepath.Join(r.folder, name)
}
