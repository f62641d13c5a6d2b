package embedded

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// account is an operating system user other than ragd's own, as which the server runs. A
// nil account means ragd's own user.
type account struct {
	name     string
	uid, gid uint32
}

// accountFor returns the user that the server must run as on the cluster directory; nil
// for ragd's own. It is the directory's owner: PostgreSQL accepts no other.
func accountFor(dir string) (*account, error) {
	root := os.Geteuid() == 0
	info, err := os.Stat(dir)
	if err != nil {
		if !root {
			return nil, nil
		}
		return unprivileged()
	}
	uid := owner(info)
	switch {
	case root && uid == 0:
		return unprivileged()
	case root:
		return lookup(user.LookupId(strconv.Itoa(uid)))
	case uid != os.Geteuid():
		name := strconv.Itoa(uid)
		if u, err := user.LookupId(name); err == nil {
			name = u.Username
		}
		return nil, fault.New(fault.Precondition,
			"the data directory %s belongs to the user %s: run ragd as that user, or use another --data-dir", dir, name)
	}
	return nil, nil
}

func unprivileged() (*account, error) {
	for _, name := range []string{"postgres", "nobody"} {
		if a, err := lookup(user.Lookup(name)); err == nil {
			return a, nil
		}
	}
	return nil, fault.New(fault.Precondition,
		"PostgreSQL does not run as root, and there is no user postgres or nobody to run it as: run ragd as an ordinary user")
}

func lookup(u *user.User, err error) (*account, error) {
	if err != nil {
		return nil, fmt.Errorf("look up the user to run PostgreSQL as: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", u.Username, err)
	}
	return &account{name: u.Username, uid: uint32(uid), gid: uint32(gid)}, nil
}

// own changes the owner of a folder, with everything in it, to the account.
func (a *account) own(dir string) error {
	if a == nil {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(a.uid), int(a.gid))
	})
}
