// Package program starts servers for tests from hack/testservers. These are programs of a module of its
// own, so that the libraries that they are made of are no requirements of the service. `go run` compiles
// a program when it is first used, and keeps it in the build cache.
package program

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A MissingError says what the machine lacks for a program.
type MissingError struct{ Reason string }

func (e *MissingError) Error() string { return e.Reason }

// started keeps what ends the programs reachable: the garbage collector closes a pipe that is not.
var started struct {
	sync.Mutex
	inputs []io.Closer
}

// Run runs a program until the test ends, and returns what it announces.
func Run(t testing.TB, name string, args ...string) []string {
	t.Helper()
	values, stop, err := Start(t.Context(), name, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return values
}

// Start starts a program, waits until it is ready, and returns what it announces and a function that
// ends it and waits for its end. The program ends with this process at the latest, even if that is
// killed. The error is a *MissingError if the program cannot be built, or says that the machine lacks
// what it needs.
func Start(ctx context.Context, name string, args ...string) (values []string, stop func(), err error) {
	folder, err := module()
	if err != nil {
		return nil, nil, &MissingError{err.Error()}
	}
	cmd := exec.Command("go", append([]string{"run", "-C", folder, "./" + name}, args...)...)
	cmd.SysProcAttr = ownGroup()
	var failed bytes.Buffer
	cmd.Stderr = &failed
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, &MissingError{fmt.Sprintf("start %s: %s", name, err)}
	}
	started.Lock()
	started.inputs = append(started.inputs, input)
	started.Unlock()
	stop = sync.OnceFunc(func() {
		_ = input.Close()
		_, _ = io.Copy(io.Discard, output)
		_ = cmd.Wait() // it may have ended before
	})
	// If nobody waits for it any more, the program ends as soon as it is ready.
	ended := context.AfterFunc(ctx, func() { _ = input.Close() })
	line, err := bufio.NewReader(output).ReadString('\n')
	if !ended() {
		err = errors.Join(context.Cause(ctx), err)
	}
	how, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	if err == nil && how == "ready" {
		return strings.Fields(rest), stop, nil
	}
	stop()
	if reason, unquoted := strconv.Unquote(rest); unquoted == nil {
		if how == "missing" {
			return nil, nil, &MissingError{reason}
		}
		return nil, nil, fmt.Errorf("%s: %s", name, reason)
	}
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("start %s: %w", name, err)
	}
	return nil, nil, &MissingError{fmt.Sprintf("build %s: %s", name, strings.TrimSpace(failed.String()))}
}

// module returns the folder of the programs' module, which is in one of the folders above.
func module() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		folder := filepath.Join(at, "hack", "testservers")
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
		if at == filepath.Dir(at) {
			return "", errors.New("hack/testservers is in no folder above this one")
		}
		at = filepath.Dir(at)
	}
}
