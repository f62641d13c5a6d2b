package rpc

import (
	"context"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/event/journal"
)

// WatchEvents implements EventService.
func (h *Handlers) WatchEvents(ctx context.Context, req *ragdv1.WatchEventsRequest, stream *connect.ServerStream[ragdv1.WatchEventsResponse]) error {
	wanted := journal.Watch{Types: req.GetTypes(), Indexes: req.GetIndexes(), Tools: req.GetTools(), Cursor: req.GetCursor()}
	return h.Journal.Watch(ctx, wanted, func(m journal.Message) error {
		res := &ragdv1.WatchEventsResponse{Cursor: m.Cursor}
		if m.Event != nil {
			var err error
			if res.Event, err = eventMessage(*m.Event); err != nil {
				return err
			}
		}
		return stream.Send(res)
	})
}

func eventMessage(e journal.Event) (*ragdv1.Event, error) {
	data, err := structOf(e.Data)
	return &ragdv1.Event{EventId: e.EventID, Type: e.Type, CreateTime: timestamp(e.CreatedAt), Data: data}, err
}
