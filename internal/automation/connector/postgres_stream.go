package connector

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

const (
	queuedEvents = 1000
	statusEvery  = 10 * time.Second // how often a server hears of its follower
	statusWake   = time.Second      // within this it hears of what is stored
	maxSilence   = time.Minute
)

// event is what a stream of changes says: the id of a row that has changed, or that all changes up to a position were
// sent, or that changes are not known.
type event struct {
	id          string
	transaction uint32
	upTo        pglogrepl.LSN
	gap         string
}

// gapError says why a stream cannot go on without a walk.
type gapError struct{ reason string }

func (e *gapError) Error() string { return e.reason }

// changeStream receives the changes of a table.
type changeStream struct {
	conn      *pgconn.PgConn
	table     publishedTable
	confirmed *atomic.Uint64 // position up to which changes are stored
	events    chan event

	relations   map[uint32]int // positions of the key in the rows of the table, by the number of the table
	transaction uint32         // that is being sent; 0 between two
	inside      bool           // a transaction
}

// openStream begins to receive the changes of a table.
func openStream(ctx context.Context, s slotReader, t publishedTable, confirmed *atomic.Uint64) (*changeStream, error) {
	config := s.config.Config.Copy()
	config.RuntimeParams["replication"] = "database"
	limited, cancel := context.WithTimeoutCause(ctx, requestTimeout, &fetchError{"the database takes too long"})
	defer cancel()
	conn, err := pgconn.ConnectConfig(limited, config)
	if err != nil {
		return nil, s.failure(ctx, limited, err)
	}
	conn.Frontend().SetMaxBodyLen(maxMessageBytes)
	err = pglogrepl.StartReplication(limited, conn, s.Slot, 0, pglogrepl.StartReplicationOptions{
		PluginArgs: []string{`proto_version '1'`, `publication_names '` + pgx.Identifier{s.Publication}.Sanitize() + `'`},
	})
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, s.failure(ctx, limited, err)
	}
	return &changeStream{conn: conn, table: t, confirmed: confirmed, events: make(chan event, queuedEvents), relations: map[uint32]int{}}, nil
}

// close ends the stream.
func (c *changeStream) close(ctx context.Context) {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), statusWake)
	defer cancel()
	_ = c.conn.Close(ending)
}

// receive receives changes until it fails, and tells the server from time to time which are stored.
func (c *changeStream) receive(ctx context.Context) error {
	var told pglogrepl.LSN
	var at time.Time
	heard := time.Now()
	tell := func(always bool) error {
		now := pglogrepl.LSN(c.confirmed.Load())
		if !always && now == told && time.Since(at) < statusEvery {
			return nil
		}
		told, at = now, time.Now()
		return pglogrepl.SendStandbyStatusUpdate(ctx, c.conn, pglogrepl.StandbyStatusUpdate{WALWritePosition: now, ReplyRequested: time.Since(heard) > statusEvery})
	}
	for {
		if err := tell(false); err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, statusWake)
		message, err := c.conn.ReceiveMessage(limited)
		cancel()
		switch {
		case err != nil && pgconn.Timeout(err) && ctx.Err() == nil:
			if time.Since(heard) > maxSilence {
				return &fetchError{"the database is silent"}
			}
			continue
		case err != nil:
			return err
		}
		heard = time.Now()
		events, reply, err := c.decode(message)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := c.emit(ctx, e, tell); err != nil {
				return err
			}
		}
		if reply {
			if err := tell(true); err != nil {
				return err
			}
		}
	}
}

// emit hands over an event. While it waits, the server hears of its follower.
func (c *changeStream) emit(ctx context.Context, e event, tell func(always bool) error) error {
	for {
		timer := time.NewTimer(statusWake)
		select {
		case c.events <- e:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
			if err := tell(false); err != nil {
				return err
			}
		}
	}
}

// errStream is the error of a stream that does not keep to its protocol.
var errStream = fault.New(fault.Precondition, "the database sent changes that cannot be read")

// decode returns what a message says, and whether the server asks for an answer.
func (c *changeStream) decode(message pgproto3.BackendMessage) (events []event, reply bool, err error) {
	var data []byte
	switch m := message.(type) {
	case *pgproto3.ErrorResponse:
		return nil, false, pgconn.ErrorResponseToPgError(m)
	case *pgproto3.CopyData:
		data = m.Data
	case *pgproto3.CopyDone:
		return nil, false, &fetchError{"the database has ended the connection"}
	default:
		return nil, false, nil
	}
	if len(data) == 0 {
		return nil, false, errStream
	}
	switch data[0] {
	case pglogrepl.PrimaryKeepaliveMessageByteID:
		alive, err := pglogrepl.ParsePrimaryKeepaliveMessage(data[1:])
		if err != nil {
			return nil, false, errStream
		}
		if !c.inside {
			events = []event{{upTo: alive.ServerWALEnd}}
		}
		return events, alive.ReplyRequested, nil
	case pglogrepl.XLogDataByteID:
		logged, err := pglogrepl.ParseXLogData(data[1:])
		if err != nil || len(logged.WALData) == 0 {
			return nil, false, errStream
		}
		events, err = c.change(logged.WALData)
		return events, false, err
	}
	return nil, false, nil
}

// change returns what a message of pgoutput says. Rows are read here and not by pglogrepl, which copies all columns and
// makes room for as many bytes as a message claims to have.
func (c *changeStream) change(data []byte) ([]event, error) {
	switch pglogrepl.MessageType(data[0]) {
	case pglogrepl.MessageTypeBegin, pglogrepl.MessageTypeCommit, pglogrepl.MessageTypeRelation:
		message, err := pglogrepl.Parse(data)
		if err != nil {
			return nil, errStream
		}
		switch m := message.(type) {
		case *pglogrepl.BeginMessage:
			c.transaction, c.inside = m.Xid, true
		case *pglogrepl.CommitMessage:
			c.inside = false
			return []event{{upTo: m.TransactionEndLSN}}, nil
		case *pglogrepl.RelationMessage:
			return nil, c.relation(m)
		}
		return nil, nil
	case pglogrepl.MessageTypeTruncate:
		return c.truncated(data[1:])
	case pglogrepl.MessageTypeInsert, pglogrepl.MessageTypeUpdate, pglogrepl.MessageTypeDelete:
		return c.row(data[1:])
	}
	return nil, nil
}

// relation learns the columns of a table, as they were when it was changed.
func (c *changeStream) relation(m *pglogrepl.RelationMessage) error {
	delete(c.relations, m.RelationID)
	if m.RelationID != c.table.oid {
		if m.Namespace == c.table.schema && m.RelationName == c.table.name {
			return &gapError{"the table was made anew"}
		}
		return nil
	}
	for i, one := range m.Columns {
		if one.Name != c.table.key {
			continue
		}
		if one.Flags&1 == 0 {
			return &gapError{"REPLICA IDENTITY of the table does not have the id"}
		}
		c.relations[m.RelationID] = i
		return nil
	}
	return &gapError{"changes of the table come without the id"}
}

// truncated returns what a message says about tables that were emptied.
func (c *changeStream) truncated(data []byte) ([]event, error) {
	const before = 5 // the number of tables, and options
	if len(data) < before || (len(data)-before)%4 != 0 {
		return nil, errStream
	}
	for rest := data[before:]; len(rest) > 0; rest = rest[4:] {
		if binary.BigEndian.Uint32(rest) == c.table.oid {
			return []event{{gap: "the table was emptied by TRUNCATE"}}, nil
		}
	}
	return nil, nil
}

// row returns the ids of a row that was changed: two if its id was.
func (c *changeStream) row(data []byte) (events []event, err error) {
	if len(data) < 5 {
		return nil, errStream
	}
	key, ours := c.relations[binary.BigEndian.Uint32(data)]
	if !ours {
		return nil, nil
	}
	unknown := false
	for rest := data[4:]; len(rest) > 0; {
		which := rest[0] // K and O for the row as it was, N for the row as it is
		var id tupleColumn
		if id, rest, err = tuple(rest[1:], key); err != nil {
			return nil, err
		}
		switch id.kind {
		case pglogrepl.TupleDataTypeText:
			if n := len(events); n == 0 || events[n-1].id != id.text {
				events = append(events, event{id: id.text, transaction: c.transaction})
			}
		case pglogrepl.TupleDataTypeNull: // a row that has no document; of a row as it was, with FULL
		default: // it has not changed, and is the old one if that was sent
			unknown = unknown || which == 'N' && len(events) == 0
		}
	}
	if unknown {
		return []event{{gap: "a change came without the id of its row"}}, nil
	}
	return events, nil
}

// tupleColumn is a column of a row.
type tupleColumn struct {
	kind byte
	text string
}

// tuple returns a column of the row at the beginning of data, and what follows the row.
func tuple(data []byte, at int) (found tupleColumn, rest []byte, err error) {
	if len(data) < 2 {
		return found, nil, errStream
	}
	columns := int(binary.BigEndian.Uint16(data))
	data = data[2:]
	if at >= columns {
		return found, nil, errStream
	}
	for i := range columns {
		if len(data) == 0 {
			return found, nil, errStream
		}
		kind, text := data[0], []byte(nil)
		data = data[1:]
		if kind == pglogrepl.TupleDataTypeText || kind == pglogrepl.TupleDataTypeBinary {
			if len(data) < 4 {
				return found, nil, errStream
			}
			size := binary.BigEndian.Uint32(data)
			if data = data[4:]; uint64(size) > uint64(len(data)) {
				return found, nil, errStream
			}
			text, data = data[:size], data[size:]
		}
		if i == at {
			found = tupleColumn{kind, string(text)}
		}
	}
	return found, data, nil
}

// explain returns why a stream ended, in public words.
func (s slotReader) explain(ctx context.Context, err error) error {
	var long *pgproto3.ExceededMaxBodyLenErr
	var gap *gapError
	var known *fault.Error
	switch {
	case errors.As(err, &gap), errors.As(err, &known):
		return err
	case errors.As(err, &long):
		return &gapError{"a changed row has too many bytes"}
	}
	return s.failure(ctx, ctx, err)
}
