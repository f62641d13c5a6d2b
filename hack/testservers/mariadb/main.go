// Command mariadb is a MariaDB server on a free port, with the database docs and a user who owns it. It announces the
// address, as a secret of a connector has it. The server is the one that is installed, or else one that is unpacked from
// Debian's packages into the user's cache folder.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ragdhq/ragd/hack/testservers/internal/announce"
)

// packages have the server and the libraries that few machines have.
var packages = []string{"mariadb-server-core", "libaio1", "liburing2", "libnuma1", "libsnappy1v5"}

// initial makes the database and its user.
const initial = `CREATE DATABASE docs CHARACTER SET utf8mb4;
CREATE USER ragd@localhost IDENTIFIED BY 'pass-word-1';
GRANT ALL ON docs.* TO ragd@localhost;
`

func main() {
	root, err := unpacked()
	if err != nil {
		announce.Missing(err)
	}
	dir, err := os.MkdirTemp("", "ragd-mariadb-")
	if err != nil {
		announce.Failed(err)
	}
	stop, err := start(root, dir)
	if err == nil {
		var address string
		if address, err = forward(filepath.Join(dir, "socket")); err == nil {
			announce.Ready("mysql://ragd:pass-word-1@" + address + "/docs?sslmode=disable")
		}
		stop()
	}
	_ = os.RemoveAll(dir)
	if err != nil {
		announce.Failed(err)
	}
}

// unpacked returns the folder with usr/sbin/mariadbd, empty if that is installed.
func unpacked() (string, error) {
	if _, err := os.Stat("/usr/sbin/mariadbd"); err == nil {
		return "/", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "ragd", "debian-mariadb")
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o700); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(root), "debian-mariadb-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	download := exec.Command("apt-get", append([]string{"download", "-qq"}, packages...)...)
	download.Dir = work
	if out, err := download.CombinedOutput(); err != nil {
		return "", fmt.Errorf("there is no MariaDB, and apt-get cannot download it: %w: %s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(work, "*.deb"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if out, err := exec.Command("dpkg", "-x", file, filepath.Join(work, "root")).CombinedOutput(); err != nil {
			return "", fmt.Errorf("unpack %s: %w: %s", file, err, out)
		}
	}
	if err := os.Rename(filepath.Join(work, "root"), root); err != nil && !errors.Is(err, os.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return "", err
	}
	return root, nil
}

// start starts the server on the socket of a folder and waits until it answers.
func start(root, dir string) (stop func(), err error) {
	data, share := filepath.Join(dir, "data"), filepath.Join(root, "usr/share/mysql")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	server := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(root, "usr/sbin/mariadbd"), append([]string{"--no-defaults", "--user=root", "--datadir=" + data, "--lc-messages-dir=" + share}, args...)...)
		if os.Getuid() != 0 {
			cmd.Args = append(cmd.Args[:2], cmd.Args[3:]...)
		}
		libraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu"))
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	tables := bytes.NewBufferString("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n")
	for _, name := range []string{"mysql_system_tables.sql", "mysql_system_tables_data.sql"} {
		content, err := os.ReadFile(filepath.Join(share, name))
		if err != nil {
			return nil, err
		}
		tables.Write(content)
	}
	bootstrap := server("--bootstrap")
	bootstrap.Stdin = tables
	if out, err := bootstrap.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make the database: %w: %s", err, out)
	}
	file := filepath.Join(dir, "initial.sql")
	if err := os.WriteFile(file, []byte(initial), 0o600); err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "socket")
	cmd := server("--skip-networking", "--max-allowed-packet=64M", "--socket="+socket, "--init-file="+file)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	stop = func() { _ = cmd.Process.Kill(); <-ended }
	const patience, pause = 2 * time.Minute, 20 * time.Millisecond
	for deadline := time.Now().Add(patience); ; {
		if conn, err := net.Dial("unix", socket); err == nil {
			_ = conn.Close()
			return stop, nil
		}
		select {
		case <-ended:
			return nil, fmt.Errorf("the server has ended: %s", log.String())
		case <-time.After(pause):
		}
		if time.Now().After(deadline) {
			stop()
			return nil, errors.New("the server does not answer")
		}
	}
}

// forward makes a socket reachable on a free port.
func forward(socket string) (address string, err error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			into, err := net.Dial("unix", socket)
			if err != nil {
				_ = from.Close()
				continue
			}
			go func() { _, _ = io.Copy(into, from); _ = into.Close() }()
			go func() { _, _ = io.Copy(from, into); _ = from.Close() }()
		}
	}()
	return listener.Addr().String(), nil
}
