package ingest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// A stream releases the disk capacity of its large document in whatever way it ends.
func TestAStreamReleasesItsDiskCapacity(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(context.Context, context.CancelFunc, *Stream){
		"in the middle": func(context.Context, context.CancelFunc, *Stream) {},
		"at its end": func(ctx context.Context, cancel context.CancelFunc, s *Stream) {
			cancel()
			if _, err := s.End(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("End = %v", err)
			}
		},
		"at the next document": func(ctx context.Context, cancel context.CancelFunc, s *Stream) {
			cancel()
			if err := s.Begin(ctx, Upload{URI: "b"}); !errors.Is(err, context.Canceled) {
				t.Errorf("Begin = %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &Service{spooled: newSpooled()}
			s := &Stream{intake: &intake{service: service, request: &access.Request{Tenant: "acme"}, indexes: map[string]index.Index{}}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := s.Begin(ctx, Upload{URI: "a"}); err != nil {
				t.Fatal(err)
			}
			if err := s.Append(bytes.Repeat([]byte(" "), 2<<20)); err != nil {
				t.Fatal(err)
			}
			if got := service.spooled.Used("acme"); got != 2<<20 {
				t.Fatalf("%d bytes are on the disk", got)
			}
			leave(ctx, cancel, s)
			s.Close()
			if got := service.spooled.Used("acme"); got != 0 {
				t.Errorf("%d bytes are taken for being on the disk", got)
			}
		})
	}
}

// Streams of two tenants share the disk; a third's is refused until one has ended.
func TestATenantLeavesDiskCapacityToOthers(t *testing.T) {
	t.Parallel()
	quota := newSpooled()
	for _, id := range []tenant.ID{"acme", "bolt"} {
		if !quota.TryAcquire(id, maxSpooledBytes/2-1) {
			t.Fatalf("half of the room was refused to %s", id)
		}
	}
	late, err := newSpool(quota, "corp")
	if err != nil {
		t.Fatal(err)
	}
	defer late.close()
	if err := late.write([]byte("tide")); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("more than all: %v", err)
	}
	quota.Release("acme", maxSpooledBytes/2-1)
	if err := late.write([]byte("tide")); err != nil {
		t.Errorf("after there was room again: %v", err)
	}
}

// What other interfaces receive is counted with the documents that arrive.
func TestASpoolIsCountedWithLargeDocuments(t *testing.T) {
	t.Parallel()
	service := &Service{spooled: newSpooled()}
	empty, err := service.Spool("acme")
	if err != nil {
		t.Fatal(err)
	}
	empty.Close()
	s, err := service.Spool("acme")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write([]byte("content")); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(s.Content()); err != nil || string(got) != "content" || s.Size() != 7 {
		t.Errorf("content %q of %d bytes, %v", got, s.Size(), err)
	}
	if got := service.spooled.Used("acme"); got != 7 {
		t.Errorf("%d bytes are counted", got)
	}
	service.spooled.TryAcquire("acme", maxSpooledBytes/2-8)
	if n, err := s.Write([]byte("more")); fault.KindOf(err) != fault.Exhausted || n != 0 {
		t.Errorf("beyond the part of a tenant: %d, %v", n, err)
	}
	s.Close()
	s.Close()
	if got := service.spooled.Used("acme"); got != maxSpooledBytes/2-8 {
		t.Errorf("%d bytes are counted after Close", got)
	}
}
