package service_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func TestAClusterHasNoReplicas(t *testing.T) {
	t.Parallel()
	cluster, single := pgtest.Cluster(t)
	pool := pgtest.OpenPool(t, cluster)
	_, err := service.New(t.Context(), service.Config{
		Pool: pool, AdminPool: pool, Listen: "127.0.0.1:0", OperatorKey: servicetest.OperatorKey, DatabaseReadURLs: []string{single},
	})
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("started with %v", err)
	}
}

// The role that makes tenants needs no more rights than the documentation gives it, and a tenant can be made again.
func TestAClusterNeedsNoSuperuser(t *testing.T) {
	t.Parallel()
	cluster, _ := pgtest.Cluster(t)
	superuser := pgtest.OpenPool(t, cluster)
	role := fmt.Sprintf("admin_%x", time.Now().UnixNano())
	for _, sql := range []string{
		`CREATE ROLE ` + role + ` LOGIN CREATEROLE PASSWORD 'ragd-test'`, // which Citus also makes on the workers
		`SELECT run_command_on_all_nodes('GRANT CREATE ON DATABASE ` + superuser.Config().ConnConfig.Database + ` TO ` + role + `')`,
	} {
		if _, err := superuser.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	s := servicetest.New(t, service.Config{AdminPool: pgtest.PoolOf(t, superuser, role, "ragd-test")})
	for range 2 {
		for _, id := range []string{"first-" + role, "second-" + role} {
			id = strings.ReplaceAll(id, "_", "-")
			c := s.Tenant(t, id)
			c.Index(t, "docs")
			c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("The harbour.")})
			if found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "harbour"}); err != nil || len(found.Sources) != 1 {
				t.Errorf("%s finds %v, %v", id, found, err)
			}
			if _, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: id}); err != nil {
				t.Errorf("delete %s: %v", id, err)
			}
		}
	}
}
