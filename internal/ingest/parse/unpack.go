package parse

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// budget is the number of bytes that may still be unpacked from a file. All members of
// the file share it.
type budget struct {
	left int64 // bytes
}

func newBudget() *budget { return &budget{left: maxUnpacked} }

// errBudget means that a file unpacks to more than a limit.
var errBudget = errors.New("unpacks to more than the limit")

// read reads all of r and deducts it from the budget. It returns errBudget if r is
// longer than maxMember or the rest of the budget.
func (b *budget) read(r io.Reader) ([]byte, error) {
	most := min(b.left, maxMember)
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if int64(len(data)) > most {
		return nil, errBudget
	}
	b.left -= int64(len(data))
	return data, err
}

// pack is an opened zip file that contains the parts of a document.
type pack struct {
	format Format
	files  map[string]*zip.File
	budget *budget
	named  map[string]bool // the parts passed to repeated
	// drawings are the pictures that readers of its parts have found.
	drawings *drawings
}

// flagEncrypted is the bit of a zip member's flags that says it is encrypted.
const flagEncrypted = 1

func (p *parser) openPack() (*pack, error) {
	archive, err := zip.NewReader(bytes.NewReader(p.src.Content), int64(len(p.src.Content)))
	if err != nil {
		return nil, broken(p.format, err)
	}
	if len(archive.File) > maxMembers {
		return nil, tooLarge(p.format, "it has %d parts, over the limit of %d", len(archive.File), maxMembers)
	}
	opened := &pack{format: p.format, files: map[string]*zip.File{}, budget: p.budget, named: map[string]bool{}, drawings: &p.drawings}
	for _, f := range archive.File {
		if f.Flags&flagEncrypted != 0 {
			return nil, encrypted(p.format)
		}
		opened.files[strings.TrimPrefix(f.Name, "/")] = f
	}
	return opened, nil
}

// repeated reports whether it was called with the part before. Readers skip a repeated
// part: a list of a few bytes for each entry could name a large part thousands of times.
func (p *pack) repeated(name string) bool {
	name = strings.TrimPrefix(name, "/")
	before := p.named[name]
	p.named[name] = true
	return before
}

// part returns the content of a part. Errors: broken if it is not there.
func (p *pack) part(name string) ([]byte, error) {
	f, ok := p.files[strings.TrimPrefix(name, "/")]
	if !ok {
		return nil, broken(p.format, errors.New("part "+name+" is missing"))
	}
	r, err := f.Open()
	if err != nil {
		return nil, broken(p.format, err)
	}
	defer r.Close()
	data, err := p.budget.read(r)
	return data, p.failure(err)
}

// failure returns the error for a part that cannot be read.
func (p *pack) failure(err error) error {
	switch {
	case errors.Is(err, errBudget):
		return unpacksTooFar(p.format)
	case err != nil:
		return broken(p.format, err)
	}
	return nil
}

// skim unpacks a member into w and keeps nothing.
func (b *budget) skim(f *zip.File, w io.Writer) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := io.Copy(w, io.LimitReader(r, b.left+1))
	if b.left -= n; b.left < 0 {
		return errBudget
	}
	return err
}

// optional returns the content of a part, nil if there is none.
func (p *pack) optional(name string) ([]byte, error) {
	if _, ok := p.files[strings.TrimPrefix(name, "/")]; !ok {
		return nil, nil
	}
	return p.part(name)
}

// unpacksTooFar returns the error for a file that exceeds its budget.
func unpacksTooFar(f Format) error {
	return tooLarge(f, "it unpacks to more than %d bytes, or a part of it to more than %d", maxUnpacked, maxMember)
}

// isInvalid reports whether the file is to blame for an error.
func isInvalid(err error) bool { return fault.KindOf(err) == fault.Invalid }
