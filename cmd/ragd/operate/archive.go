package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/archivefile"
	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tenant/archive"
	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
)

const (
	// archiveAttempts is how often an export or import is tried that does not get any further, and
	// archivePause the first pause between two attempts, which doubles.
	archiveAttempts = 6
	archivePause    = time.Second
	// archivePieceBytes is the data of one message of an import.
	archivePieceBytes = 512 << 10
)

func (p *program) exportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export TENANT",
		Short: "Write everything of a tenant to an archive, as the operator",
		Long: `Write everything of a tenant to an archive: documents as they were uploaded, chunks, vectors,
edges, settings, tools, agents, keys. The tenant is read as it is at one moment, and
is served meanwhile. "ragd import" makes a tenant from the archive, in this service
or in another one.

What has arrived is kept in FILE.part: when the export is cut off, the command goes on by itself, and
after an interruption the same command goes on. FILE appears when it is complete.

The archive has the tenant's texts as they are. Secrets in it are encrypted with the
master key of the service, and of API keys it has only hashes. Keep it as you keep a backup.`,
		Example: `  ragd export acme --output acme.ragd
  ragd export acme --output - | ssh backup 'cat > acme.ragd'`,
		Args: command.Arguments("TENANT"),
	}
	file := cmd.Flags().StringP("output", "o", "", "`FILE` to write, - for standard output (required)")
	withoutKeys := cmd.Flags().Bool("without-keys", false, "leave out API keys and issuers")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *file == "" {
			return misuse.Errorf("give --output FILE, or --output - for standard output")
		}
		c, err := p.Connect(client.ForOperator)
		if err != nil {
			return err
		}
		req := &ragdv1.ExportTenantRequest{TenantId: args[0], WithoutKeys: *withoutKeys}
		if *file == "-" {
			return exportTo(cmd.Context(), c, req, p.Out.Stdout)
		}
		size, err := p.exportFile(cmd.Context(), c, req, *file)
		if err != nil {
			return err
		}
		if p.Out.JSON {
			return p.Out.Value(map[string]any{"path": *file, "bytes": size})
		}
		output.Note(p.Out.Stdout, "%s: %.1f MiB", *file, float64(size)/(1<<20))
		return nil
	}
	return cmd
}

// exportTo writes an archive whose frames are checked before they are written.
func exportTo(ctx context.Context, c *client.Client, req *ragdv1.ExportTenantRequest, to io.Writer) error {
	stream, err := c.Archives.ExportTenant(ctx, req)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	if _, err := to.Write(frame.Preamble()); err != nil {
		return err
	}
	frames := frame.NewReader(&exportReader{stream: stream})
	for {
		f, err := frames.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := to.Write(f.Raw); err != nil {
			return err
		}
	}
}

// exportReader reads the data of an export.
type exportReader struct {
	stream *connect.ServerStreamForClient[ragdv1.ExportTenantResponse]
	rest   []byte
}

// Read implements io.Reader.
func (r *exportReader) Read(to []byte) (int, error) {
	for len(r.rest) == 0 {
		if !r.stream.Receive() {
			if err := r.stream.Err(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
		r.rest = r.stream.Msg().GetData()
	}
	n := copy(to, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// exportFile writes an archive to a file, over several calls if they are cut off.
func (p *program) exportFile(ctx context.Context, c *client.Client, req *ragdv1.ExportTenantRequest, path string) (size int64, err error) {
	file, err := archivefile.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil && file.Frames() > 0 {
			output.Note(p.Out.Stderr, "what has arrived is in %s: the same command goes on", path+archivefile.PartSuffix)
		}
	}()
	if file.Frames() > 0 {
		output.Note(p.Out.Stderr, "going on with %s, which has %.1f MiB", path+archivefile.PartSuffix, float64(file.Size())/(1<<20))
	}
	err = p.repeat(ctx, func() (progress int64, err error) {
		req.KnownFrames = file.Begin(archive.MaxKnown)
		err = exportInto(ctx, c, req, file)
		return file.Size(), err
	})
	if err != nil {
		return 0, err
	}
	return file.Finish()
}

// exportInto makes one call of an export.
func exportInto(ctx context.Context, c *client.Client, req *ragdv1.ExportTenantRequest, file *archivefile.File) error {
	stream, err := c.Archives.ExportTenant(ctx, req)
	if err != nil {
		return err
	}
	for err == nil && stream.Receive() {
		switch part := stream.Msg().GetPart().(type) {
		case *ragdv1.ExportTenantResponse_Data:
			_, err = file.Write(part.Data)
		case *ragdv1.ExportTenantResponse_KnownFrame:
			err = file.AddKnown(part.KnownFrame)
		}
	}
	if err == nil {
		err = stream.Err()
	}
	_ = stream.Close() // the error of the stream counts
	return err
}

// repeat makes calls until one succeeds, fails for good, or archiveAttempts in a row have made no progress.
func (p *program) repeat(ctx context.Context, call func() (progress int64, err error)) error {
	var best int64
	for attempt, pause := 1, archivePause; ; attempt, pause = attempt+1, 2*pause {
		progress, err := call()
		if err == nil || ctx.Err() != nil || lasting(err) {
			return err
		}
		if progress > best {
			best, attempt, pause = progress, 1, archivePause
		}
		if attempt >= archiveAttempts {
			return err
		}
		output.Note(p.Out.Stderr, "cut off, and going on in %v: %s", pause, messageOf(err))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// messageOf returns the text of an error of a call.
func messageOf(err error) string {
	var wired *connect.Error
	if errors.As(err, &wired) {
		return wired.Message()
	}
	return err.Error()
}

// lasting reports whether a call that failed would fail again.
func lasting(err error) bool {
	var wired *connect.Error
	if !errors.As(err, &wired) {
		return !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) // of the file
	}
	switch wired.Code() {
	case connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodeAlreadyExists, connect.CodePermissionDenied, connect.CodeUnauthenticated,
		connect.CodeFailedPrecondition, connect.CodeUnimplemented:
		return true
	}
	return false
}

func (p *program) importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a tenant from an archive, as the operator",
		Long: `Make a tenant from an archive that "ragd export" wrote, while other tenants are served. FILE may be - for
standard input. Nobody sees the tenant before it is complete.

When the import is cut off, the command goes on by itself, and after an interruption the same
command goes on, but not with standard input. "ragd tenant delete" gives an import up.

With --as the tenant gets another name, beside the one that it had. Then API keys, issuers and usage
are left out, hooks are disabled and connectors are paused. The command
says which secrets must be given again, because this service has another master key.`,
		Example: `  ragd import acme.ragd
  ragd import acme.ragd --as acme-restored
  ragd import acme.ragd --database east`,
		Args: command.Arguments("FILE"),
	}
	as := cmd.Flags().String("as", "", "name of the tenant, in place of that in the archive")
	database := cmd.Flags().String("database", "", "database in which the tenant lives, see \"ragd databases\" (default: its own, else the smallest)")
	withoutKeys := cmd.Flags().Bool("without-keys", false, "leave out API keys and issuers")
	cmd.RunE = p.Call(client.ForOperator, func(ctx context.Context, c *client.Client, args []string) error {
		options := &ragdv1.ImportOptions{TenantId: *as, Database: *database, WithoutKeys: *withoutKeys}
		var res *ragdv1.ImportTenantResponse
		var err error
		if args[0] == "-" {
			res, err = importFrom(ctx, c, options, p.Stdin)
		} else {
			res, err = p.importFile(ctx, c, options, args[0])
		}
		if err != nil {
			return err
		}
		return p.Out.Show(res, showImported(res))
	})
	return cmd
}

func showImported(res *ragdv1.ImportTenantResponse) func(io.Writer) {
	return func(w io.Writer) {
		showTenant(res.GetTenant())(w)
		for _, r := range res.GetRows() {
			output.Field(w, r.GetKind(), fmt.Sprintf("%.0f", r.GetCount()))
		}
		for _, r := range res.GetLeftOut() {
			output.Field(w, "left out", fmt.Sprintf("%.0f %s: %s", r.GetCount(), r.GetKind(), r.GetReason()))
		}
		for _, name := range res.GetLostSecrets() {
			output.Field(w, "give again", name+", which no master key of this service opens")
		}
	}
}

// importFrom makes one call of an import with all that is read.
func importFrom(ctx context.Context, c *client.Client, options *ragdv1.ImportOptions, from io.Reader) (*ragdv1.ImportTenantResponse, error) {
	stream, err := c.Archives.ImportTenant(ctx)
	if err != nil {
		return nil, err
	}
	err = stream.Send(&ragdv1.ImportTenantRequest{Part: &ragdv1.ImportTenantRequest_Options{Options: options}})
	piece := make([]byte, archivePieceBytes)
	for err == nil {
		var n int
		n, err = io.ReadFull(from, piece)
		if n == 0 || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err := stream.Send(&ragdv1.ImportTenantRequest{Part: &ragdv1.ImportTenantRequest_Data{Data: piece[:n]}}); err != nil {
			return stream.CloseAndReceive() // says why
		}
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		_, closed := stream.CloseAndReceive()
		return nil, errors.Join(err, closed)
	}
	return stream.CloseAndReceive()
}

// importFile imports a file, over several calls if they are cut off.
func (p *program) importFile(ctx context.Context, c *client.Client, options *ragdv1.ImportOptions, path string) (res *ragdv1.ImportTenantResponse, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if options.TenantId == "" { // it is asked for by name when the import is cut off
		if options.TenantId, err = archivedTenant(file); err != nil {
			return nil, err
		}
	}
	first := true
	err = p.repeat(ctx, func() (frames int64, err error) {
		at, err := c.Archives.GetImport(ctx, &ragdv1.GetImportRequest{TenantId: options.GetTenantId()})
		switch {
		case err == nil && first:
			output.Note(p.Out.Stderr, "going on with the import of %s, which has stored %.0f frames", options.GetTenantId(), at.GetFrames())
		case connect.CodeOf(err) == connect.CodeNotFound && !first: // the last call ended, and the answer was lost
			if made, err := c.Tenants.GetTenant(ctx, &ragdv1.GetTenantRequest{TenantId: options.GetTenantId()}); err == nil {
				res = &ragdv1.ImportTenantResponse{Tenant: made}
				return 0, nil
			}
		case err != nil && connect.CodeOf(err) != connect.CodeNotFound:
			return 0, err
		}
		first = false
		options.Resume = err == nil
		var from int64
		if options.Resume {
			frames = int64(at.GetFrames())
			if from, err = archivefile.Skip(file, int(frames)); err != nil {
				return frames, err
			}
		}
		if _, err := file.Seek(from, io.SeekStart); err != nil {
			return frames, err
		}
		res, err = importFrom(ctx, c, options, file)
		return frames, err
	})
	return res, err
}

// archivedTenant returns the name of the tenant in an archive.
func archivedTenant(from io.Reader) (string, error) {
	first, err := frame.NewReader(from).Next()
	if err != nil {
		return "", err
	}
	var header archive.Header
	if err := json.NewDecoder(bytes.NewReader(first.Content)).Decode(&header); err != nil {
		return "", fmt.Errorf("read the header of the archive: %w", err)
	}
	return string(header.TenantID), nil
}
