package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const operatorKey = "operator-key-of-a-measurement"

// service is a ragd process with its own data directory.
type service struct {
	dir, address string
	command      *exec.Cmd
}

// startService starts the program and waits until it is ready.
func startService(ctx context.Context, program string) (*service, error) {
	dir, err := os.MkdirTemp("", "ragd-bench-")
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{dir: dir, address: listener.Addr().String()}
	if err := listener.Close(); err != nil {
		return nil, err
	}
	s.command = exec.CommandContext(ctx, program, "serve", "--listen", s.address, "--data-dir", dir, "--mcp-request-rate", "0")
	s.command.Cancel = func() error { return s.command.Process.Signal(os.Interrupt) }
	s.command.WaitDelay = time.Minute
	s.command.Env = append(os.Environ(), "RAGD_OPERATOR_KEY="+operatorKey, "XDG_CONFIG_HOME="+dir, "RAGD_LOG_LEVEL=warn")
	s.command.Stderr = os.Stderr
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	const patience = time.Minute
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if s.ready(ctx) {
			return s, nil
		}
	}
	s.stop()
	return nil, fmt.Errorf("%s did not answer within %v", program, patience)
}

func (s *service) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

// databaseURL returns the address of the service's own PostgreSQL.
func (s *service) databaseURL() string {
	return "host=" + filepath.Join(s.dir, "postgres", "cluster") + " user=ragd dbname=ragd"
}

// stop ends the service and removes its data.
func (s *service) stop() {
	_ = s.command.Process.Signal(os.Interrupt)
	_ = s.command.Wait()
	_ = os.RemoveAll(s.dir)
}
