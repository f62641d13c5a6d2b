package embedded

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// errSystem is what the functions of the system return that no supported server reaches.
var errSystem = errors.New("there is no such thing on Windows")

// supported returns the error of a system on which ragd runs no server of its own. Errors: Precondition.
func supported() error {
	return fault.New(fault.Precondition,
		"ragd has no PostgreSQL of its own on Windows: set database-url (RAGD_DATABASE_URL) to a PostgreSQL with pgvector, or run ragd in WSL or a container")
}

func owner(fs.FileInfo) int { return -1 }

func (*account) attributes() *syscall.SysProcAttr { return nil }

func kill(int, syscall.Signal) error { return errSystem }

func tryLock(*os.File) error { return errSystem }

func unlock(uintptr) {}

func freeBytes(string) (int64, error) { return 0, errSystem }

func dieWithParent(*syscall.SysProcAttr) {}

func reachable(string, *account) (string, []*os.File, error) { return "", nil, errSystem }

func commandLine(int) string { return "" }

func smallSharedMemory() bool { return false }

func memoryBytes() int64 { return 4 * gib }
