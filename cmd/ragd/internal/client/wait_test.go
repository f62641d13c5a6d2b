package client

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
)

// drowsy is a service that refuses calls until it has got some.
type drowsy struct {
	ragdv1connect.UnimplementedIndexServiceHandler
	refusals []error // of the first calls
	calls    atomic.Int32
	keys     []string // of idempotency, of all calls
}

func (d *drowsy) refuse(ctx context.Context) error {
	info, _ := connect.CallInfoForHandlerContext(ctx)
	d.keys = append(d.keys, info.RequestHeader().Get(idempotencyHeader))
	if n := int(d.calls.Add(1)); n <= len(d.refusals) {
		return d.refusals[n-1]
	}
	return nil
}

func (d *drowsy) ListIndexes(ctx context.Context, _ *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error) {
	return &ragdv1.ListIndexesResponse{}, d.refuse(ctx)
}

func (d *drowsy) DeleteIndex(ctx context.Context, _ *ragdv1.DeleteIndexRequest) (*ragdv1.DeleteIndexResponse, error) {
	return &ragdv1.DeleteIndexResponse{}, d.refuse(ctx)
}

func refused(t *testing.T, code connect.Code, reason string, after time.Duration) error {
	t.Helper()
	err := connect.NewError(code, errors.New(reason))
	if after > 0 {
		detail, failed := connect.NewErrorDetail(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
		if failed != nil {
			t.Fatal(failed)
		}
		err.AddDetail(detail)
	}
	return err
}

func TestCommandsWaitForWhatIsUnavailableForNow(t *testing.T) {
	t.Parallel()
	const soon, later = time.Millisecond, time.Hour
	waking := func(done string) error { return refused(t, connect.CodeUnavailable, "is waking, "+done, soon) }
	for _, c := range []struct {
		name     string
		refusals []error
		calls    int32
		notes    []string
		code     connect.Code // 0: success
	}{
		{"answered at once", nil, 1, nil, 0},
		{"waking", []error{waking("10%"), waking("10%"), waking("90%")}, 4, []string{"is waking, 10%", "is waking, 90%"}, 0},
		{"over the patience", []error{refused(t, connect.CodeUnavailable, "is asleep", later)}, 1, nil, connect.CodeUnavailable},
		{"without a time", []error{refused(t, connect.CodeUnavailable, "broken", 0)}, 1, nil, connect.CodeUnavailable},
		{"a rate that is used up", []error{refused(t, connect.CodeResourceExhausted, "slow down", soon)}, 1, nil, connect.CodeResourceExhausted},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			service := &drowsy{refusals: c.refusals}
			_, handler := ragdv1connect.NewIndexServiceHandler(service)
			server := httptest.NewServer(handler)
			defer server.Close()
			var notes []string
			client := newClient(server.URL, Access{}, server.Client(), nil, func(reason string) { notes = append(notes, reason) })
			_, err := client.Indexes.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{})
			if (err != nil || c.code != 0) && connect.CodeOf(err) != c.code {
				t.Errorf("the call ends with %v, want %v", err, c.code)
			}
			if service.calls.Load() != c.calls || !slices.Equal(notes, c.notes) {
				t.Errorf("%d calls and notes %q, want %d and %q", service.calls.Load(), notes, c.calls, c.notes)
			}
			if keys := slices.Compact(service.keys); len(keys) != 1 || keys[0] == "" {
				t.Errorf("the keys of the calls are %q, want one", keys)
			}
		})
	}
}

func TestACallThatChangesNothingHasNoKey(t *testing.T) {
	t.Parallel()
	service := &drowsy{}
	_, handler := ragdv1connect.NewIndexServiceHandler(service)
	server := httptest.NewServer(handler)
	defer server.Close()
	if _, err := newClient(server.URL, Access{}, server.Client(), nil, nil).Indexes.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{}); err != nil {
		t.Fatal(err)
	}
	if len(service.keys) != 1 || service.keys[0] != "" {
		t.Errorf("the keys of the calls are %q, want an empty one", service.keys)
	}
}
