package rpc

import (
	"net/http"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/automation/connector"
	"github.com/ragdhq/ragd/internal/tenant"
)

// PushPattern is the pattern of ServePush.
const PushPattern = "POST " + connector.PushPath + "{tenant}/{connector}"

// ServePush takes the announcement of a change from the source of a connector, which has no credential but signs it.
func (h *Handlers) ServePush(w http.ResponseWriter, r *http.Request) {
	refuse := Refuse()
	id, err := tenant.ParseID(r.PathValue("tenant"))
	if err != nil {
		refuse(w, r, err)
		return
	}
	body := http.MaxBytesReader(w, r.Body, connector.MaxPushBytes)
	if err := h.Connectors.Pushed(r.Context(), id, r.PathValue("connector"), r.Header, body); err != nil {
		refuse(w, r, err)
		return
	}
	httpserver.Add(r.Context(), "tenant", id)
	w.WriteHeader(http.StatusAccepted)
}
