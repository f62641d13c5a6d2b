package service_test

import (
	"testing"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/testing/pgtest"
	"github.com/ragdhq/ragd/internal/testing/servicetest"
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
