package connector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// repository is a repository during one walk.
type repository struct {
	session transport.UploadPackSession
	meter   *meter
	able    *capability.List
	wanted  plumbing.Hash // the commit
	packs   []*pack
	// whole is set if the pack of the commit has all files.
	whole bool
}

// open returns a repository.
func (g *Git) open(ctx context.Context, w walking) (*repository, error) {
	endpoint, err := transport.NewEndpoint(g.URL)
	if err != nil {
		return nil, fmt.Errorf("read a stored address: %w", err)
	}
	var auth transport.AuthMethod
	if name, to := g.key(); name != "" {
		token, err := w.secret(ctx, name, to)
		if err != nil {
			return nil, err
		}
		user := g.User
		if user == "" {
			user = defaultGitUser
		}
		auth = &githttp.BasicAuth{Username: user, Password: token}
	}
	r := &repository{meter: &meter{fetch: w.fetch, most: maxRunBytes}}
	// It sends the credentials to no other origin, whatever redirects say.
	r.session, err = githttp.NewClient(&http.Client{Transport: r.meter}).NewUploadPackSession(endpoint, auth)
	if err != nil {
		return nil, fmt.Errorf("make a session: %w", err)
	}
	return r, nil
}

func (r *repository) close() {
	for _, p := range r.packs {
		_ = p.file.Close()
	}
}

// failure returns why the server could not be read, in public words.
func (r *repository) failure(ctx context.Context, err error) error {
	var known *fetchError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(r.meter.err(), &known):
		return fault.New(fault.Unavailable, "the repository: %s", known.reason)
	case r.meter.err() != nil:
		return r.meter.err()
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return fault.New(fault.Precondition, "the repository needs a user and a token that may read it, or does not exist")
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return fault.New(fault.Precondition, "there is no repository at the address, or it needs a user and a token")
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return fault.New(fault.Precondition, "the repository has no commits")
	}
	return fault.Wrap(fault.Unavailable, err, "the address does not answer as a repository over HTTP does")
}

// tip returns the commit of a branch, of HEAD for an empty name.
func (r *repository) tip(ctx context.Context, branch string) (plumbing.Hash, error) {
	r.meter.most = maxRefsBytes
	refs, err := r.session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return plumbing.ZeroHash, r.failure(ctx, err)
	}
	r.meter.most = maxRunBytes
	r.able = refs.Capabilities
	if branch == "" {
		if refs.Head == nil {
			return plumbing.ZeroHash, fault.New(fault.Precondition, "the repository has no default branch: name one")
		}
		return *refs.Head, nil
	}
	hash, ok := refs.References[plumbing.NewBranchReferenceName(branch).String()]
	if !ok {
		return plumbing.ZeroHash, fault.New(fault.Precondition, "the repository has no branch %q", branch)
	}
	return hash, nil
}

// What is fetched of a repository.
type fetching int

const (
	fetchCommit fetching = iota // with its folders, and its files if the server cannot leave them out
	fetchWhole                  // a commit with its folders and files
	fetchFiles
)

// fetch adds a pack with objects to the repository.
func (r *repository) fetch(ctx context.Context, what fetching, wants ...plumbing.Hash) error {
	req := packp.NewUploadPackRequestFromCapabilities(r.able)
	req.Wants = wants
	// A server that gives any object by its hash can leave out files at first.
	partial := r.able.Supports(capability.Filter) && r.able.Supports(capability.AllowReachableSHA1InWant)
	switch {
	case what == fetchCommit && partial:
		req.Filter = packp.FilterBlobNone()
		err := req.Capabilities.Set(capability.Filter)
		if err != nil {
			return err
		}
	case what != fetchFiles:
		r.whole = true
	}
	if what != fetchFiles && r.able.Supports(capability.Shallow) {
		if err := req.Capabilities.Set(capability.Shallow); err != nil {
			return err
		}
		req.Depth = packp.DepthCommits(1)
	}
	res, err := r.session.UploadPack(ctx, req)
	if err != nil {
		return r.failure(ctx, err)
	}
	defer func() { _ = res.Close() }()
	var content io.Reader = res
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		content = sideband.NewDemuxer(sideband.Sideband64k, res)
	case req.Capabilities.Supports(capability.Sideband):
		content = sideband.NewDemuxer(sideband.Sideband, res)
	}
	p, err := readPack(content)
	var large *largeError
	switch {
	case err == nil:
	case errors.As(err, &large), isLocal(err):
		return err
	case r.meter.err() != nil || ctx.Err() != nil:
		return r.failure(ctx, err)
	default:
		return fault.Wrap(fault.Unavailable, err, "the repository sent what is not a valid pack")
	}
	r.packs = append(r.packs, p)
	return nil
}

// object returns an object that was fetched, nil if it was not.
func (r *repository) object(hash plumbing.Hash) (plumbing.EncodedObject, error) {
	for _, p := range r.packs {
		if o, err := p.objects.Get(hash); err == nil {
			return o, nil
		} else if !errors.Is(err, plumbing.ErrObjectNotFound) {
			return nil, fault.Wrap(fault.Precondition, err, "the repository has a damaged object %s", hash)
		}
	}
	return nil, nil
}

// needed is object for one without which the walk ends.
func (r *repository) needed(hash plumbing.Hash) (plumbing.EncodedObject, error) {
	o, err := r.object(hash)
	if err == nil && o == nil {
		err = fault.New(fault.Precondition, "the repository did not send the object %s", hash)
	}
	return o, err
}

// commit returns a commit that was fetched.
func (r *repository) commit(hash plumbing.Hash) (*object.Commit, error) {
	r.wanted = hash
	encoded, err := r.needed(hash)
	if err != nil {
		return nil, err
	}
	commit := &object.Commit{}
	if err := commit.Decode(encoded); err != nil {
		return nil, fault.Wrap(fault.Precondition, err, "the branch does not lead to a commit")
	}
	return commit, nil
}

// ensure fetches the content of files that is missing. It returns those that are too large.
func (r *repository) ensure(ctx context.Context, files []gitFile) (large map[plumbing.Hash]bool, err error) {
	var missing []plumbing.Hash
	for _, f := range files {
		if !f.isFile() {
			continue
		}
		if o, err := r.object(f.hash); err != nil {
			return nil, err
		} else if o == nil {
			missing = append(missing, f.hash)
		}
	}
	large = map[plumbing.Hash]bool{}
	if len(missing) == 0 || r.whole {
		return large, nil
	}
	if len(r.packs) > 1 { // those of earlier files are no longer needed
		for _, p := range r.packs[1:] {
			_ = p.file.Close()
		}
		r.packs = r.packs[:1]
	}
	err = r.fetchFiles(ctx, missing, large)
	if fault.KindOf(err) == fault.Unavailable && r.meter.err() == nil { // the server gives commits alone by their hashes
		err = r.fetch(ctx, fetchWhole, r.wanted)
	}
	return large, err
}

// fetchFiles fetches the content of files, in halves if it is too much at once.
func (r *repository) fetchFiles(ctx context.Context, missing []plumbing.Hash, large map[plumbing.Hash]bool) error {
	err := r.fetch(ctx, fetchFiles, missing...)
	var tooLarge *largeError
	switch {
	case !errors.As(err, &tooLarge):
		return err
	case len(missing) == 1:
		large[missing[0]] = true
		return nil
	}
	half := len(missing) / 2
	if err := r.fetchFiles(ctx, missing[:half], large); err != nil {
		return err
	}
	return r.fetchFiles(ctx, missing[half:], large)
}
