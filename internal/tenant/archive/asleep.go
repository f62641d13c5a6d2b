package archive

import (
	"context"
	"io"
	"maps"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// ExportAsleep writes the archive of a tenant that is put to sleep in this service, and returns the position after its
// last frame. Nothing may write to the tenant. It checks no principal. Errors: those of Export.
func (s *Service) ExportAsleep(ctx context.Context, id tenant.ID, to io.Writer) (frame.Position, error) {
	x := &export{codec: frame.NewCodec(), rows: map[string]int64{}, asleep: true, send: func(p Piece) error {
		_, err := to.Write(p.Data)
		return err
	}}
	err := s.config.DB.Handle(id).Snapshot(ctx, func(snapshot *data.Snapshot) error { return x.run(ctx, s.config.Version, snapshot) })
	return x.at, err
}

// Check reads the archive of a tenant that is put to sleep, and returns the position after its last frame, which is
// that of ExportAsleep if it is the same archive. Errors: Invalid for one that is damaged, incomplete, or another tenant's.
func Check(id tenant.ID, archive io.Reader) (frame.Position, error) {
	frames := frame.NewReader(archive)
	if _, err := asleep(id, frames); err != nil {
		return frame.Position{}, err
	}
	var now section
	rows := map[string]int64{}
	for {
		f, err := frames.Next()
		if err != nil {
			return frame.Position{}, unexpected(err)
		}
		switch f.Kind {
		case frame.Section:
			now = section{}
			if err := decode(f.Content, &now, maxDescription); err != nil {
				return frame.Position{}, err
			}
			rows[now.key()] = 0
		case frame.Rows:
			n, err := countRows(f.Content, len(now.Columns))
			if err != nil {
				return frame.Position{}, fault.Wrap(fault.Invalid, err, "the archive has rows that cannot be read")
			}
			rows[now.key()] += int64(n)
		case frame.End:
			var has manifest
			if err := decode(f.Content, &has, maxDescription+maxManifestEntry*len(rows)); err != nil {
				return frame.Position{}, err
			}
			if !maps.Equal(has.Rows, rows) {
				return frame.Position{}, fault.New(fault.Invalid, "the archive has other rows than it says")
			}
			at := frames.Position()
			if _, err := frames.Next(); err != io.EOF { //nolint:errorlint // Next returns it unwrapped
				return frame.Position{}, err
			}
			return at, nil
		}
	}
}

// asleep reads the header of the archive of a tenant that is asleep. Errors: Invalid for another archive.
func asleep(id tenant.ID, frames *frame.Reader) (h Header, err error) {
	first, err := frames.Next()
	if err != nil {
		return h, unexpected(err)
	}
	if err := decode(first.Content, &h, maxDescription); err != nil {
		return h, err
	}
	if err := h.check(); err != nil {
		return h, err
	}
	if !h.Asleep || h.TenantID != id {
		return h, fault.New(fault.Invalid, "the archive is not that of the tenant %q, which is asleep", id)
	}
	return h, nil
}

// Wake loads the data of a tenant that is waking from its archive. At its end the tenant is ready. begin is called with the
// progress to store once the header was read, and makes the tenant's empty schema: see provision.BeginWaking. It returns the
// names of secrets that no master key opens. It checks no principal. Errors: those of Import.
func (s *Service) Wake(ctx context.Context, id tenant.ID, archive io.Reader, begin func(provision.Import) error) (lost []string, err error) {
	frames := frame.NewReader(archive)
	h, err := asleep(id, frames)
	if err != nil {
		return nil, err
	}
	p := progress{Header: h, Order: -1, Rows: map[string]int64{}, LeftOut: map[string]int64{}}
	begun, err := p.at(frames.Position())
	if err != nil {
		return nil, err
	}
	begun.TenantID = id
	if err := begin(begun); err != nil {
		return nil, err
	}
	done, err := s.load(ctx, begun, p, frames)
	return done.LostSecrets, err
}
