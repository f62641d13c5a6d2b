package postgres

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	pgxvector "github.com/pgvector/pgvector-go/pgx"
)

// Binary is a value in the form in which PostgreSQL sends and takes it: for what is
// read only to be written again, and for what is cheaper to write so. nil is NULL. The
// connections of Open take it for tsvector and sparsevec.
type Binary []byte

// registerTypes teaches a connection the types that it does not know, and what it does
// not know of others.
func registerTypes(ctx context.Context, conn *pgx.Conn) error {
	if err := pgxvector.RegisterTypes(ctx, conn); err != nil {
		return err
	}
	types := conn.TypeMap()
	for _, name := range []string{"tsvector", "sparsevec"} {
		if known, ok := types.TypeForName(name); ok {
			types.RegisterType(&pgtype.Type{Name: name, OID: known.OID, Codec: binaryCodec{known.Codec}})
		}
	}
	types.RegisterType(&pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}})
	return nil
}

// binaryCodec takes Binary, and what the codec within takes.
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

// Scan implements pgtype.ScanPlan. The driver uses src again.
func (binaryPlan) Scan(src []byte, target any) error {
	*target.(*Binary) = slices.Clone(src)
	return nil
}

// uuidCodec sends strings in binary too, of which arrays and COPY are made. The driver
// alone tries that, words an error in which all of the array stands, and sends text.
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
