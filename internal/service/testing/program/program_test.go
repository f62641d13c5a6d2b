package program_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/program"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// answers reports whether a server answers.
func answers(t *testing.T, url string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return true
}

func TestAProgramEndsWithItsTest(t *testing.T) {
	t.Parallel()
	values, stop, err := program.Start(t.Context(), "s3")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if !answers(t, values[0]) {
		t.Error("the program does not answer")
	}
	stop()
	if answers(t, values[0]) {
		t.Error("the program answers after its end")
	}
}

// A process that is killed cleans nothing up.
func TestAProgramEndsWithAProcessThatIsKilled(t *testing.T) {
	t.Parallel()
	if os.Getenv("PROGRAM_TEST_CHILD") != "" {
		values, _, err := program.Start(t.Context(), "s3")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stderr.WriteString(values[0] + "\n")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "PROGRAM_TEST_CHILD=yes")
	var said strings.Builder
	child.Stderr = &said
	var ended *exec.ExitError
	if err := child.Run(); !errors.As(err, &ended) || ended.ExitCode() != -1 {
		t.Fatalf("the child ended with %v: %s", err, said.String())
	}
	address := strings.TrimPrefix(strings.TrimSpace(said.String()), "http://")
	if _, _, err := net.SplitHostPort(address); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the program to end", func() bool { return !answers(t, "http://"+address) })
}

func TestAProgramThatCannotBeBuiltIsMissing(t *testing.T) {
	t.Parallel()
	_, _, err := program.Start(t.Context(), "none")
	var missing *program.MissingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "build none") {
		t.Errorf("got %v", err)
	}
	_, _, err = program.Start(t.Context(), "faults")
	if err == nil || errors.As(err, &missing) || !strings.Contains(err.Error(), "usage") {
		t.Errorf("without an argument: %v", err)
	}
}
