// Package libreoffice converts files of Office before 2007 to those of today, with LibreOffice.
//
// LibreOffice reads what callers send, and it is not memory-safe: it runs as a process of its own
// that ends with this one, without this one's environment, in a directory that is removed, and on
// Linux without a network where the system allows that. Its settings forbid macros, links to other
// files and the network everywhere.
package libreoffice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Config are the settings of Convert. Resolve prepares it for another process.
type Config struct {
	// Program is soffice, or the path of that program.
	Program string
	// Isolated says that the program runs without a network. Resolve sets it.
	Isolated bool
}

// kinds holds for each ending of a file the filter that reads it and the ending of the result.
var kinds = map[string]struct{ filter, result string }{
	".doc": {"MS Word 97", "docx"},
	".xls": {"MS Excel 97", "xlsx"},
	".ppt": {"MS PowerPoint 97", "pptx"},
}

// Limits of one conversion.
const (
	timeout      = 2 * time.Minute // whoever reads files bounds the processor time of its own process alone
	maxResult    = 256 << 20       // bytes
	maxNoteBytes = 4 << 10
	staleAfter   = time.Hour // directories that a killed process has left
	directory    = "ragd-libreoffice-"
)

// ErrUnreadable means that LibreOffice cannot read the file.
var ErrUnreadable = errors.New("LibreOffice cannot read the file")

// Resolve finds the program. It returns an error if LibreOffice is not installed.
func (c *Config) Resolve(ctx context.Context) error {
	found, err := exec.LookPath(c.Program)
	if err != nil {
		return fmt.Errorf("libreoffice: %s is not installed (Debian's packages are libreoffice-writer-nogui, libreoffice-calc-nogui and libreoffice-impress-nogui): %w", c.Program, err)
	}
	if found, err = filepath.EvalSymlinks(found); err != nil {
		return fmt.Errorf("libreoffice: %w", err)
	}
	// The script of that name starts this program, which would outlive the script.
	if beside := filepath.Join(filepath.Dir(found), "soffice.bin"); exists(beside) {
		found = beside
	}
	if c.Program, err = filepath.Abs(found); err != nil {
		return fmt.Errorf("libreoffice: %w", err)
	}
	probe := exec.CommandContext(ctx, "true")
	isolate(probe, true)
	c.Isolated = probe.Run() == nil && runtime.GOOS == "linux"
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Convert returns the content of a file with the ending .doc, .xls or .ppt as that of a .docx, .xlsx
// or .pptx file. Errors: ErrUnreadable; Invalid if it takes too long; Unavailable if LibreOffice cannot be run; that of ctx.
func (c Config) Convert(ctx context.Context, content []byte, ending string) ([]byte, error) {
	kind, ok := kinds[ending]
	if !ok {
		return nil, fmt.Errorf("no filter reads %q", ending)
	}
	removeStale(time.Now())
	dir, err := os.MkdirTemp("", directory)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "there is no directory for LibreOffice")
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "file"+ending)
	profile := filepath.Join(dir, "profile")
	if err := errors.Join(os.WriteFile(source, content, 0o600), writeProfile(profile)); err != nil { //nolint:gosec // in a new directory
		return nil, fault.Wrap(fault.Unavailable, err, "there is no directory for LibreOffice")
	}
	result := filepath.Join(dir, "out", "file."+kind.result)
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for range 2 { // a first start may end after it has made its profile
		if err := c.run(limited, dir, "-env:UserInstallation=file://"+profile, "--headless", "--norestore", "--nolockcheck",
			"--infilter="+kind.filter, "--convert-to", kind.result, "--outdir", filepath.Dir(result), source); err != nil {
			if limited.Err() != nil && ctx.Err() == nil {
				err = fault.Field("content", "takes LibreOffice more than %v to be converted: split it, or save it as DOCX, XLSX or PPTX", timeout)
			}
			return nil, err
		}
		if exists(result) {
			break
		}
	}
	return readResult(result)
}

// restart is the status with which LibreOffice asks to be started again.
const restart = 81

// run runs LibreOffice in dir. A status that is not 0 is no error: the result is missing then.
func (c Config) run(ctx context.Context, dir string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, c.Program, arguments...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + dir, "SAL_USE_VCLPLUGIN=svp", "SAL_DISABLE_OPENCL=1", "LC_ALL=C.UTF-8"}
	note := &textlimit.Head{Most: maxNoteBytes}
	cmd.Stderr = note
	isolate(cmd, c.Isolated)
	runtime.LockOSThread() // the program ends with the thread that has started it
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == restart:
		return nil
	case errors.As(err, &exit):
		return fmt.Errorf("%w: %w: %s", ErrUnreadable, err, note)
	case err != nil:
		return fault.Wrap(fault.Unavailable, err, "LibreOffice cannot be run")
	}
	return nil
}

func readResult(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrUnreadable
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxResult+1))
	if len(data) > maxResult {
		return nil, ErrUnreadable
	}
	return data, err
}

// settings forbid what a file could use to reach beyond itself.
const settings = `<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Writer/Content/Update"><prop oor:name="Link" oor:op="fuse"><value>2</value></prop></item>
<item oor:path="/org.openoffice.Office.Calc/Content/Update"><prop oor:name="Link" oor:op="fuse"><value>2</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetProxyType" oor:op="fuse"><value>2</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPProxyName" oor:op="fuse"><value>127.0.0.1</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPProxyPort" oor:op="fuse"><value>9</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPSProxyName" oor:op="fuse"><value>127.0.0.1</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPSProxyPort" oor:op="fuse"><value>9</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetNoProxy" oor:op="fuse"><value></value></prop></item>
</oor:items>
`

func writeProfile(profile string) error {
	user := filepath.Join(profile, "user")
	if err := os.MkdirAll(user, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(user, "registrymodifications.xcu"), []byte(settings), 0o600)
}

// removeStale removes directories that were left by processes that were killed.
func removeStale(now time.Time) {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), directory+"*")) // the pattern is well-formed
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && now.Sub(info.ModTime()) > staleAfter {
			_ = os.RemoveAll(dir) // another process may remove it too
		}
	}
}
