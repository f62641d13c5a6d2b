package connector_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// newSealingService returns a service that can store secrets.
func newSealingService(t *testing.T) *servicetest.Service {
	t.Helper()
	keys, err := seal.Parse(strings.Repeat("1a", seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return servicetest.New(t, service.Config{AllowedPrivateNetworks: []string{"127.0.0.1"}, MasterKeys: keys})
}

// calledMethod returns the method and the id of a request of JSON-RPC, "" for none.
func calledMethod(r *http.Request) (method, id string) {
	var request struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
	}
	if json.NewDecoder(r.Body).Decode(&request) != nil {
		return "", ""
	}
	return request.Method, string(request.ID)
}
