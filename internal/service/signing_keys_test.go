package service_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/ragdhq/ragd/internal/secure/identity"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Endpoints of tools fetch the keys without a credential.
func TestSigningKeysArePublished(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	response, err := http.Get(s.URL + identity.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var set jose.JSONWebKeySet
	if err := json.NewDecoder(response.Body).Decode(&set); err != nil || response.StatusCode != http.StatusOK || set.Keys == nil {
		t.Errorf("status %d, %v, %v", response.StatusCode, set, err)
	}
}
