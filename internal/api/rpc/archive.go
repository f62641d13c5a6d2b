package rpc

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/operate/audit"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/archive"
	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
)

// ExportTenant implements ArchiveService.
func (h *Handlers) ExportTenant(ctx context.Context, req *ragdv1.ExportTenantRequest, stream *connect.ServerStream[ragdv1.ExportTenantResponse]) error {
	if len(req.GetKnownFrames())%frame.SumBytes != 0 {
		return fault.Field("knownFrames", "must be checksums of %d bytes each, got %d bytes", frame.SumBytes, len(req.GetKnownFrames()))
	}
	export := archive.Export{Tenant: req.GetTenantId(), WithoutKeys: req.GetWithoutKeys()}
	for sum := range slices.Chunk(req.GetKnownFrames(), frame.SumBytes) {
		export.Known = append(export.Known, frame.Sum(sum))
	}
	action := actionOf(ragdv1connect.ArchiveServiceExportTenantProcedure, req.GetTenantId())
	return h.Audit.Do(ctx, action, func(ctx context.Context) (map[string]string, error) {
		return nil, h.Archives.Export(ctx, export, func(piece archive.Piece) error {
			if piece.Known != nil {
				return stream.Send(&ragdv1.ExportTenantResponse{Part: &ragdv1.ExportTenantResponse_KnownFrame{KnownFrame: piece.Known.Append(nil)}})
			}
			return stream.Send(&ragdv1.ExportTenantResponse{Part: &ragdv1.ExportTenantResponse_Data{Data: piece.Data}})
		})
	})
}

// actionOf returns the entry of the audit log for a stream, which the interceptor does not record.
func actionOf(procedure, tenantID string) audit.Action {
	object := map[string]string{}
	if tenantID != "" {
		object["tenantId"] = tenantID
	}
	return audit.Action{Method: strings.TrimPrefix(procedure, "/"), Object: object, Tenant: tenantID}
}

// ImportTenant implements ArchiveService.
func (h *Handlers) ImportTenant(ctx context.Context, stream *connect.ClientStream[ragdv1.ImportTenantRequest]) (res *ragdv1.ImportTenantResponse, err error) {
	if !stream.Receive() {
		if err := stream.Err(); err != nil {
			return nil, err
		}
		return nil, fault.Field("options", "is required in the first message")
	}
	options := stream.Msg().GetOptions()
	if options == nil {
		return nil, fault.Field("options", "is required in the first message")
	}
	if options.GetResume() && options.GetTenantId() == "" {
		return nil, fault.Field("options.tenantId", "is required to resume an import")
	}
	wanted := archive.Import{Tenant: options.GetTenantId(), Database: options.GetDatabase(), WithoutKeys: options.GetWithoutKeys(), Resume: options.GetResume()}
	action := actionOf(ragdv1connect.ArchiveServiceImportTenantProcedure, options.GetTenantId())
	err = h.Audit.Do(ctx, action, func(ctx context.Context) (map[string]string, error) {
		done, err := h.Archives.Import(ctx, wanted, &archiveReader{ctx: ctx, stream: stream})
		if err != nil {
			return nil, err
		}
		res, err = h.importMessage(done)
		return map[string]string{"tenantId": string(done.Tenant.TenantID), "archivedTenantId": string(done.From)}, err
	})
	return res, err
}

// archiveReader reads the data of the messages of an import.
type archiveReader struct {
	ctx    context.Context // of the call
	stream *connect.ClientStream[ragdv1.ImportTenantRequest]
	rest   []byte
}

// Read implements io.Reader.
func (r *archiveReader) Read(to []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.ctx.Err() != nil {
			return 0, context.Cause(r.ctx)
		}
		if !r.stream.Receive() {
			if err := r.stream.Err(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
		if _, ok := r.stream.Msg().GetPart().(*ragdv1.ImportTenantRequest_Data); !ok {
			return 0, fault.Field("part", "must be data in all messages but the first")
		}
		r.rest = r.stream.Msg().GetData()
	}
	n := copy(to, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (h *Handlers) importMessage(done archive.Result) (*ragdv1.ImportTenantResponse, error) {
	imported, err := h.tenantMessage(done.Tenant)
	return &ragdv1.ImportTenantResponse{
		Tenant: imported, ArchivedTenantId: string(done.From), LostSecrets: done.LostSecrets,
		Rows: rowMessages(done.Rows, nil), LeftOut: rowMessages(done.LeftOut, archive.WhyLeftOut),
	}, err
}

// rowMessages returns numbers of rows by table, without tables that have none. The kind of ragd_shared.agent_threads is agent threads.
func rowMessages(rows map[string]int64, reason func(table string) string) (all []*ragdv1.TenantRows) {
	for _, table := range slices.Sorted(maps.Keys(rows)) {
		if rows[table] == 0 {
			continue
		}
		_, name, _ := strings.Cut(table, "/")
		message := &ragdv1.TenantRows{Kind: strings.ReplaceAll(name, "_", " "), Count: float64(rows[table])}
		if reason != nil {
			message.Reason = reason(table)
		}
		all = append(all, message)
	}
	return all
}

// GetImport implements ArchiveService.
func (h *Handlers) GetImport(ctx context.Context, req *ragdv1.GetImportRequest) (*ragdv1.TenantImport, error) {
	p, err := h.Archives.Importing(ctx, req.GetTenantId())
	if err != nil {
		return nil, err
	}
	return &ragdv1.TenantImport{
		TenantId: string(p.Tenant), ArchivedTenantId: string(p.From), Frames: float64(p.Frames), Rows: float64(p.Rows),
		CreateTime: timestamp(p.CreatedAt), UpdateTime: timestamp(p.UpdatedAt),
	}, nil
}
