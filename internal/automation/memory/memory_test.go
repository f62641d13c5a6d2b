package memory_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func remember(t *testing.T, c servicetest.Client, req *ragdv1.RememberRequest) *ragdv1.Memory {
	t.Helper()
	made, err := c.Remember(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// texts returns the texts of memories, sorted.
func texts(memories []*ragdv1.Memory) []string {
	all := make([]string, len(memories))
	for n, m := range memories {
		all[n] = m.Text
	}
	slices.Sort(all)
	return all
}

func recalled(t *testing.T, c servicetest.Client, question string, at time.Time) []string {
	t.Helper()
	req := &ragdv1.RecallRequest{QueryText: question}
	if !at.IsZero() {
		req.AsOf = timestamppb.New(at)
	}
	res, err := c.Recall(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return texts(res.Memories)
}

func listed(t *testing.T, c servicetest.Client, req *ragdv1.ListMemoriesRequest) []*ragdv1.Memory {
	t.Helper()
	var all []*ragdv1.Memory
	for {
		res, err := c.ListMemories(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, res.Memories...)
		if req.PageToken = res.NextPageToken; req.PageToken == "" {
			return all
		}
	}
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func reader(t *testing.T, s *servicetest.Service, tenant string) servicetest.Client {
	t.Helper()
	return s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: tenant, Scopes: []string{"read"}}))
}

// An update ends the validity of the older memory, which is still known of the time before, and is erased with it.
func TestAnUpdateKeepsWhatWasTrueBefore(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	c := reader(t, s, "acme")
	want(t, "before the first memory", recalled(t, c, "Where do I live?", time.Time{}))
	january, june := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)
	old := remember(t, c, &ragdv1.RememberRequest{Text: "I live in Ghent.", ValidFrom: timestamppb.New(january), Note: "letter 7"})
	if old.Source.Note != "letter 7" {
		t.Errorf("the source is %v", old.Source)
	}
	made := remember(t, c, &ragdv1.RememberRequest{Text: "I live in Graz.", ValidFrom: timestamppb.New(june), Replaces: old.MemoryId})
	want(t, "now", recalled(t, c, "Where do I live?", time.Time{}), "I live in Graz.")
	want(t, "at the moment of the change", recalled(t, c, "Where do I live?", june), "I live in Graz.")
	want(t, "before the change", recalled(t, c, "Where do I live?", june.Add(-time.Microsecond)), "I live in Ghent.")
	want(t, "before the first", recalled(t, c, "Where do I live?", january.Add(-time.Hour)))
	all := listed(t, c, &ragdv1.ListMemoriesRequest{PageSize: 1})
	want(t, "the list", texts(all), "I live in Ghent.", "I live in Graz.")
	if len(all) == 2 && (all[0].MemoryId != made.MemoryId || all[1].ReplacedBy != made.MemoryId || !all[1].ValidUntil.AsTime().Equal(june)) {
		t.Errorf("the list is %v", all)
	}
	_, err := c.Remember(t.Context(), &ragdv1.RememberRequest{Text: "I live in Gent.", Replaces: old.MemoryId})
	servicetest.WantCode(t, "a memory that was replaced before", err, connect.CodeFailedPrecondition)
	_, err = c.Remember(t.Context(), &ragdv1.RememberRequest{Text: "I live in Gent.", Replaces: made.MemoryId, ValidFrom: timestamppb.New(january)})
	servicetest.WantCode(t, "an update from before", err, connect.CodeInvalidArgument)

	remember(t, c, &ragdv1.RememberRequest{Text: "My dog is called Bruno."})
	dry, err := c.Forget(t.Context(), &ragdv1.ForgetRequest{QueryText: "Where do I live?", DryRun: true})
	if err != nil || dry.DeletedCount != 2 {
		t.Errorf("a dry run: %v %v", dry, err)
	}
	gone, err := c.Forget(t.Context(), &ragdv1.ForgetRequest{MemoryId: made.MemoryId})
	if err != nil || gone.DeletedCount != 2 {
		t.Errorf("forget: %v %v", gone, err)
	}
	want(t, "after forget", recalled(t, c, "Where do I live?", june.Add(-time.Hour)))
	want(t, "what is left", texts(listed(t, c, &ragdv1.ListMemoriesRequest{})), "My dog is called Bruno.")
	if gone, err = c.Forget(t.Context(), &ragdv1.ForgetRequest{All: true}); err != nil || gone.DeletedCount != 1 {
		t.Errorf("forget all: %v %v", gone, err)
	}
}

// What has expired is not recalled or listed, and is erased by what is remembered next.
func TestMemoriesExpire(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	c := reader(t, s, "acme")
	remember(t, c, &ragdv1.RememberRequest{Text: "My parcel is at the harbour.", ExpireTime: timestamppb.New(time.Now().Add(time.Hour))})
	want(t, "before", recalled(t, c, "Where is my parcel?", time.Time{}), "My parcel is at the harbour.")
	const past = `UPDATE tenant_acme.chunk_1 SET metadata = jsonb_set(metadata, '{expiresAt}', to_jsonb(text '2020-01-01T00:00:00Z'))`
	if done, err := s.Pool.Exec(t.Context(), past); err != nil || done.RowsAffected() != 1 {
		t.Fatal(done, err)
	}
	want(t, "after", recalled(t, c, "Where is my parcel?", time.Time{}))
	want(t, "the list", texts(listed(t, c, &ragdv1.ListMemoriesRequest{})))
	remember(t, c, &ragdv1.RememberRequest{Text: "My dog is called Bruno."})
	var stored int
	if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM tenant_acme.chunk_1`).Scan(&stored); err != nil || stored != 1 {
		t.Errorf("%d memories are stored: %v", stored, err)
	}
}

func TestBadMemoriesAreRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	c, now := reader(t, s, "acme"), time.Now()
	for what, req := range map[string]*ragdv1.RememberRequest{
		"no text":         {Text: " "},
		"a long text":     {Text: strings.Repeat("x", 2001)},
		"a long note":     {Text: "x", Note: strings.Repeat("x", 501)},
		"an early end":    {Text: "x", ValidFrom: timestamppb.New(now), ValidUntil: timestamppb.New(now)},
		"a past expiry":   {Text: "x", ExpireTime: timestamppb.New(now.Add(-time.Hour))},
		"a year too late": {Text: "x", ValidUntil: timestamppb.New(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))},
	} {
		_, err := c.Remember(t.Context(), req)
		servicetest.WantCode(t, what, err, connect.CodeInvalidArgument)
	}
	for what, req := range map[string]*ragdv1.ForgetRequest{"nothing": {}, "two": {All: true, MemoryId: "x"}} {
		_, err := c.Forget(t.Context(), req)
		servicetest.WantCode(t, what, err, connect.CodeInvalidArgument)
	}
	_, err := c.Remember(t.Context(), &ragdv1.RememberRequest{Text: "x", Replaces: "nobody"})
	servicetest.WantCode(t, "an unknown memory", err, connect.CodeNotFound)
}

// A user has a bounded number of memories.
func TestMemoriesOfAUserAreBounded(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	c := reader(t, s, "acme")
	remember(t, c, &ragdv1.RememberRequest{Text: "I like tea."})
	const copies = `
		INSERT INTO tenant_acme.chunk_1
		SELECT (jsonb_populate_record(c, jsonb_build_object('chunk_id', gen_random_uuid()))).* FROM tenant_acme.chunk_1 AS c, generate_series(1, 999)`
	if done, err := s.Pool.Exec(t.Context(), copies); err != nil || done.RowsAffected() != 999 {
		t.Fatal(done, err)
	}
	_, err := c.Remember(t.Context(), &ragdv1.RememberRequest{Text: "One more."})
	servicetest.WantCode(t, "one more", err, connect.CodeResourceExhausted)
	remember(t, reader(t, s, "acme"), &ragdv1.RememberRequest{Text: "Of somebody else."})
}

// A memory of one user is not reached by another one: not of the same tenant, by no call about memories, and not as an index.
func TestMemoriesBelongToTheirUser(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	admin := s.Tenant(t, "acme")
	if _, err := admin.DeclareContextKey(t.Context(), &ragdv1.DeclareContextKeyRequest{Key: &ragdv1.ContextKey{Name: "user", Source: "caller"}}); err != nil {
		t.Fatal(err)
	}
	app, other := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}}), s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}})
	as := func(secret, user string) servicetest.Client {
		return s.Client(secret, "Ragd-Context", `{"user": "`+user+`"}`)
	}
	ana := as(app, "ana")
	secret := remember(t, ana, &ragdv1.RememberRequest{Text: "I keep the zebra key in the shed."})
	want(t, "the user", recalled(t, ana, "Where is the zebra key?", time.Time{}), "I keep the zebra key in the shed.")
	for who, c := range map[string]servicetest.Client{
		"another user of the key": as(app, "bob"), "the key without a user": s.Client(app), "the same name with another key": as(other, "ana"), "an admin": admin,
		"a name that contains the other": as(app, "ana user:ana"), "another tenant": s.Tenant(t, "bolt"),
	} {
		want(t, who, recalled(t, c, "Where is the zebra key?", time.Time{}))
		want(t, who, texts(listed(t, c, &ragdv1.ListMemoriesRequest{})))
		for _, req := range []*ragdv1.ForgetRequest{{MemoryId: secret.MemoryId}, {QueryText: "zebra key"}, {All: true}} {
			if gone, err := c.Forget(t.Context(), req); err != nil || gone.DeletedCount != 0 || len(gone.Memories) != 0 {
				t.Errorf("%s: %v %v", who, gone, err)
			}
		}
		_, err := c.Remember(t.Context(), &ragdv1.RememberRequest{Text: "The zebra key is gone.", Replaces: secret.MemoryId})
		servicetest.WantCode(t, who+" replaces", err, connect.CodeNotFound)
	}
	for who, c := range map[string]servicetest.Client{"the user": ana, "another key": s.Client(other)} {
		_, err := c.ListMemories(t.Context(), &ragdv1.ListMemoriesRequest{Subject: secret.Subject})
		servicetest.WantCode(t, who+" names a subject", err, connect.CodePermissionDenied)
		_, err = c.ListMemories(t.Context(), &ragdv1.ListMemoriesRequest{AllSubjects: true})
		servicetest.WantCode(t, who+" lists all", err, connect.CodePermissionDenied)
		_, err = c.Forget(t.Context(), &ragdv1.ForgetRequest{All: true, Subject: secret.Subject})
		servicetest.WantCode(t, who+" erases of a subject", err, connect.CodePermissionDenied)
	}
	filtered := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})}))
	_, err := filtered.ListMemories(t.Context(), &ragdv1.ListMemoriesRequest{AllSubjects: true})
	servicetest.WantCode(t, "an admin with a filter", err, connect.CodePermissionDenied)
	remember(t, filtered, &ragdv1.RememberRequest{Text: "I like tea."})
	want(t, "a key with a filter", recalled(t, filtered, "Do I like tea?", time.Time{}), "I like tea.")

	want(t, "the admin's list of all", texts(listed(t, admin, &ragdv1.ListMemoriesRequest{AllSubjects: true, PageSize: 1})), "I keep the zebra key in the shed.", "I like tea.")
	want(t, "the admin's list of one", texts(listed(t, admin, &ragdv1.ListMemoriesRequest{Subject: secret.Subject})), "I keep the zebra key in the shed.")
	if gone, err := admin.Forget(t.Context(), &ragdv1.ForgetRequest{All: true, Subject: secret.Subject}); err != nil || gone.DeletedCount != 1 {
		t.Errorf("an admin erases those of a user: %v %v", gone, err)
	}
	want(t, "afterwards", texts(listed(t, ana, &ragdv1.ListMemoriesRequest{})))
}
