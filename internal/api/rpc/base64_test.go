package rpc_test

import (
	"net/http"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func TestVectorsInJSONMayBeBase64(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2})
	const east, north = "AACAPwAAAAA=", "AAAAAAAAgD8=" // 1, 0 and 0, 1
	for _, tc := range []struct {
		method, body string
		status       int
		want         string
	}{
		{"VectorService/Upsert", `{"indexName":"v","entries":[{"id":"east","values":"` + east + `"},{"id":"north","values":"` + north + `"}]}`, http.StatusOK, `["east","north"]`},
		{"VectorService/Query", `{"indexName":"v","queryVector":"` + north + `","topK":1,"includeVector":true}`, http.StatusOK, `"vector":[0,1]`},
		{"QueryService/VectorQuery", `{"indexName":"v","queryVector":"` + east + `","topK":1}`, http.StatusOK, `"id":"east"`},
		{"VectorService/Update", `{"indexName":"v","id":"east","values":"` + north + `"}`, http.StatusOK, `"updatedCount":1`},
		{"VectorService/Query", `{"indexName":"v","queryVector":"AACAPw=="}`, http.StatusBadRequest, `queryVector: has 1 dimension`},
		{"VectorService/Query", `{"indexName":"v","queryVector":"AACAPwA="}`, http.StatusBadRequest, `5 bytes are no multiple of 4`},
		{"VectorService/Query", `{"indexName":"v","queryVector":"AADAfwAAAAA="}`, http.StatusBadRequest, `queryVector`}, // not a number
		{"VectorService/Upsert", `{"indexName":"v","entries":[{"id":"a","values":"` + east + `"},{"id":"b","values":"?"}]}`, http.StatusBadRequest, `entries[1].values: must be a list of numbers, or base64`},
	} {
		status, answer := send(t, s, acme.Secret, tc.method, strings.NewReader(tc.body))
		if status != tc.status || !strings.Contains(string(answer), tc.want) {
			t.Errorf("%s %s: %d %s, want %d with %s", tc.method, tc.body, status, answer, tc.status, tc.want)
		}
	}
}
