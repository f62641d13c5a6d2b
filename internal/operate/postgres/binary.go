package postgres

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	pgxvector "github.com/pgvector/pgvector-go/pgx"
)

// Binary is a value in PostgreSQL's binary wire format. It is for values that are read
// only to be written again, and for values that are cheaper to encode directly. nil is
// NULL. Connections of [Open] accept it for tsvector and sparsevec, and pgtype.FlatArray[Binary] for arrays of these.
type Binary []byte

// registerTypes registers the types of pgvector on a connection, Binary for tsvector and
// sparsevec, and uuidCodec for uuid.
func registerTypes(ctx context.Context, conn *pgx.Conn) error {
	if err := pgxvector.RegisterTypes(ctx, conn); err != nil {
		return err
	}
	types := conn.TypeMap()
	for _, name := range []string{"tsvector", "sparsevec"} {
		if known, ok := types.TypeForName(name); ok {
			element := &pgtype.Type{Name: name, OID: known.OID, Codec: binaryCodec{known.Codec}}
			types.RegisterType(element)
			if array, ok := types.TypeForName("_" + name); ok {
				types.RegisterType(&pgtype.Type{Name: array.Name, OID: array.OID, Codec: &pgtype.ArrayCodec{ElementType: element}})
			}
		}
	}
	types.RegisterType(&pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}})
	return nil
}

// binaryCodec encodes and scans Binary, and leaves other Go types to the embedded codec.
type binaryCodec struct{ pgtype.Codec }

// PlanEncode implements pgtype.Codec.
func (c binaryCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(Binary); ok && format == pgtype.BinaryFormatCode {
		return binaryPlan{}
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

// PlanScan implements pgtype.Codec.
func (c binaryCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*Binary); ok && format == pgtype.BinaryFormatCode {
		return binaryPlan{}
	}
	return c.Codec.PlanScan(m, oid, format, target)
}

type binaryPlan struct{}

// Encode implements pgtype.EncodePlan.
func (binaryPlan) Encode(value any, buf []byte) ([]byte, error) {
	content := value.(Binary)
	if content == nil {
		return nil, nil
	}
	return append(buf, content...), nil
}

// Scan implements pgtype.ScanPlan. It copies src, which the driver reuses.
func (binaryPlan) Scan(src []byte, target any) error {
	*target.(*Binary) = slices.Clone(src)
	return nil
}

// uuidCodec also encodes strings in binary format, for arrays and COPY. The driver's own
// codec fails on a string, builds an error that quotes the whole array, and then sends
// the array as text.
type uuidCodec struct{ pgtype.UUIDCodec }

// PlanEncode implements pgtype.Codec.
func (c uuidCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(string); ok && format == pgtype.BinaryFormatCode {
		return uuidPlan{}
	}
	return c.UUIDCodec.PlanEncode(m, oid, format, value)
}

type uuidPlan struct{}

// Encode implements pgtype.EncodePlan.
func (uuidPlan) Encode(value any, buf []byte) ([]byte, error) {
	id, err := uuid.Parse(value.(string))
	return append(buf, id[:]...), err
}
