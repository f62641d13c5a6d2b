package subprocess

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// cacheVariable is the variable of the environment with the user's cache directory, on Linux.
const cacheVariable = "XDG_CACHE_HOME"

// preparation compiles the reader of PDF files, once for all children, before the first of these
// files is read.
type preparation struct {
	mu        sync.Mutex
	done      chan struct{} // nil until it begins, closed when it has ended
	child     *child        // that compiles
	directory string        // the cache that is not the user's, "" if there is none
	temporary bool
	closed    bool
}

// prepare waits until the reader of PDF files is compiled; the first call begins it. Without it
// every child would compile, with more memory than the file needs. If it does not succeed, they do.
func (p *Pool) prepare(ctx context.Context) error {
	s := &p.pdf
	s.mu.Lock()
	if s.done == nil && !s.closed {
		s.done = make(chan struct{})
		go func() {
			defer close(s.done)
			s.compile(p.config)
		}()
	}
	done := s.done
	s.mu.Unlock()
	if done == nil {
		return nil // closed: no child will be started
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// compile chooses the cache directory and compiles into it, in a child of its own, which ends and
// so returns the memory.
func (s *preparation) compile(config Config) {
	directory, temporary := chooseCache(config.UserCache)
	s.mu.Lock()
	s.directory, s.temporary = directory, temporary
	config.cache = directory
	c, err := start(config)
	closed := s.closed
	s.child = c
	s.mu.Unlock()
	if err != nil {
		return // as will be the reading of the file, which says so
	}
	if closed {
		c.kill()
		return
	}
	ctx, cancel := c.within(context.Background(), config)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = c.cmd.Process.Kill() })()
	var a answer
	if c.encoder.Encode(request{Prepare: true}) == nil {
		_ = c.decoder.Decode(&a)
	}
	c.kill()
}

// cache returns the cache directory for children, "" for that of their user.
func (s *preparation) cache() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.directory
}

// close ends the preparation and removes a temporary cache.
func (s *preparation) close() {
	s.mu.Lock()
	s.closed = true
	done := s.done
	if s.child != nil {
		_ = s.child.cmd.Process.Kill()
	}
	s.mu.Unlock()
	if done == nil {
		return
	}
	<-done
	if s.temporary {
		_ = os.RemoveAll(s.directory) // what is left is small, and in a temporary directory
	}
}

// chooseCache returns a cache directory that can be written: that given, "" for the user's, else a
// new temporary one. It returns "" if there is none, or if the user's will do.
func chooseCache(given string) (directory string, temporary bool) {
	users := given
	var err error
	if users == "" {
		users, err = os.UserCacheDir()
	}
	if err == nil && writable(parse.CacheDirectory(users)) == nil {
		return given, false
	}
	directory, err = os.MkdirTemp("", "ragd-cache-")
	return directory, err == nil
}

// writable makes a directory, unless it exists, and returns an error if files cannot be made in it.
func writable(directory string) error {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(directory, "write-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
