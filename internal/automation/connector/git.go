package connector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/secret"
)

// Limits of repositories.
const (
	maxGitURLBytes = 800 // with the path of a file it is a uri
	maxBranchBytes = 200
	maxUserBytes   = 200
	maxTreeEntries = 200_000
	maxTreeDepth   = 100
	gitBatch       = 64 // files that are fetched at once
	defaultGitUser = "git"
	maxYear        = 9999 // that RFC 3339 can write
	lfsPointer     = "version https://git-lfs.github.com/spec/"
)

// Git is the files of a branch of a repository.
type Git struct {
	URL     string   `json:"url"`
	Branch  string   `json:"branch,omitempty"` // empty: that of HEAD
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	User    string   `json:"user,omitempty"`
	Secret  string   `json:"secret,omitempty"` // name of the secret with the token
}

// complete implements kind.
func (g *Git) complete(guard *outbound.Guard) error {
	if err := guard.CheckURL("git.url", g.URL); err != nil {
		return err
	}
	if len(g.URL) > maxGitURLBytes {
		return fault.Field("git.url", "must be at most %d bytes", maxGitURLBytes)
	}
	if err := textlimit.Check("git.branch", g.Branch, maxBranchBytes); err != nil {
		return err
	}
	if g.Branch != "" && plumbing.NewBranchReferenceName(g.Branch).Validate() != nil {
		return fault.Field("git.branch", "is no name of a branch, such as main")
	}
	for field, patterns := range map[string][]string{"git.include": g.Include, "git.exclude": g.Exclude} {
		if err := checkPatterns(field, patterns); err != nil {
			return err
		}
	}
	if g.Secret == "" {
		if g.User != "" {
			return fault.Field("git.secretName", "is missing: a user needs a secret with the token")
		}
		return nil
	}
	if err := textlimit.Check("git.user", g.User, maxUserBytes); err != nil {
		return err
	}
	if strings.Contains(g.User, ":") {
		return fault.Field("git.user", "must not have a colon: the token is in a secret")
	}
	return secret.CheckName("git.secretName", g.Secret)
}

// key implements keyed.
func (g *Git) key() (string, *url.URL) {
	to, err := url.Parse(g.URL)
	if err != nil {
		return "", nil
	}
	return g.Secret, to
}

// uri returns the uri of a file.
func (g *Git) uri(file string) string {
	branch := g.Branch
	if branch == "" {
		branch = "HEAD"
	}
	fragment := url.URL{Fragment: branch + ":" + strings.ToValidUTF8(file[:min(len(file), maxItemPathBytes)], "\uFFFD")}
	return g.URL + fragment.String()
}

// walk implements kind. While the branch has the commit of the last walk, nothing is read.
func (g *Git) walk(ctx context.Context, w walking, visit func(Item) error) (listing, error) {
	r, err := g.open(ctx, w)
	if err != nil {
		return listing{}, err
	}
	defer r.close()
	tip, err := r.tip(ctx, g.Branch)
	if err != nil {
		return listing{}, err
	}
	if tip.String() == w.source.ETag {
		return listing{keepOthers: true, state: w.source}, nil
	}
	if err := r.fetch(ctx, fetchCommit, tip); err != nil {
		return listing{}, err
	}
	commit, err := r.commit(tip)
	if err != nil {
		return listing{}, err
	}
	files, err := r.files(ctx, g, commit, w.maxItems)
	if err != nil {
		return listing{}, err
	}
	if err := r.visit(ctx, g, w, commit, files, visit); err != nil {
		return listing{}, err
	}
	return listing{state: State{Known: true, ETag: tip.String()}}, nil
}

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

// gitFile is a file of a commit.
type gitFile struct {
	path string
	hash plumbing.Hash
	mode filemode.FileMode
}

// files returns the selected files of a commit in the order of its folders. Errors: Exhausted for more than
// most, and for folders that are endless.
func (r *repository) files(ctx context.Context, g *Git, commit *object.Commit, most int) ([]gitFile, error) {
	chosen, err := newSelection(g.Include, g.Exclude)
	if err != nil {
		return nil, err
	}
	t := &treeWalk{repository: r, chosen: chosen, most: most, seen: map[string]bool{}}
	if err := t.folder(ctx, commit.TreeHash, "", 0); err != nil {
		return nil, err
	}
	return t.found, nil
}

// treeWalk is a walk of the folders of a commit.
type treeWalk struct {
	*repository

	chosen  selection
	most    int
	entries int
	seen    map[string]bool
	found   []gitFile
}

// folder finds the files of a folder. A folder may be in many places, so that a few objects can stand for
// very many paths.
func (t *treeWalk) folder(ctx context.Context, hash plumbing.Hash, prefix string, depth int) error {
	if depth > maxTreeDepth {
		return fault.New(fault.Exhausted, "the repository has folders nested deeper than %d", maxTreeDepth)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	encoded, err := t.needed(hash)
	if err != nil {
		return err
	}
	tree := &object.Tree{}
	if err := tree.Decode(encoded); err != nil {
		return fault.Wrap(fault.Precondition, err, "the repository has a folder that cannot be read")
	}
	for _, e := range tree.Entries {
		if t.entries++; t.entries > maxTreeEntries {
			return fault.New(fault.Exhausted, "the repository has more than %d files and folders", maxTreeEntries)
		}
		name := prefix + e.Name
		if e.Mode == filemode.Dir {
			if len(name) > maxItemPathBytes {
				return fault.New(fault.Exhausted, "the repository has a path of more than %d bytes", maxItemPathBytes)
			}
			if err := t.folder(ctx, e.Hash, name+"/", depth+1); err != nil {
				return err
			}
			continue
		}
		if !t.chosen.has(name) || t.seen[name] {
			continue
		}
		if len(t.found) == t.most {
			return fault.New(fault.Exhausted, "the repository has more than %d files: name those that matter with include and exclude, or raise maxItems", t.most)
		}
		t.seen[name] = true
		t.found = append(t.found, gitFile{name, e.Hash, e.Mode})
	}
	return nil
}

// visit visits files. Those that have changed are fetched some at a time.
func (r *repository) visit(ctx context.Context, g *Git, w walking, commit *object.Commit, files []gitFile, visit func(Item) error) error {
	var changed []gitFile
	flush := func() error {
		large, err := r.ensure(ctx, changed)
		if err != nil {
			return err
		}
		for _, f := range changed {
			item, err := r.item(g, commit, f, large[f.hash])
			if err == nil {
				err = visit(item)
			}
			if err != nil {
				return err
			}
		}
		changed = nil
		return nil
	}
	for _, f := range files {
		id := g.uri(f.path)
		known, err := w.known(ctx, id)
		if err != nil {
			return err
		}
		if item, ok := known.unchanged(id, f.hash.String()); ok {
			if err := visit(item); err != nil {
				return err
			}
			continue
		}
		if changed = append(changed, f); len(changed) == gitBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
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

func (f gitFile) isFile() bool {
	return f.mode != filemode.Symlink && f.mode != filemode.Submodule
}

// item returns what a file is.
func (r *repository) item(g *Git, commit *object.Commit, f gitFile, large bool) (Item, error) {
	item := Item{
		ID: g.uri(f.path), Title: path.Base(f.path), State: State{Known: true, ETag: f.hash.String()},
		Attributes: map[string]any{"path": f.path, "commit": commit.Hash.String(), "blob": f.hash.String(), "author": strings.ToValidUTF8(commit.Author.Name, "\uFFFD"), "authorTime": nil},
	}
	if at := commit.Author.When.UTC(); at.Year() > 0 && at.Year() <= maxYear {
		item.Modified = at
		item.Attributes["authorTime"] = at.Format(time.RFC3339)
	}
	skip := func(why string) Item {
		item.Title, item.Skipped, item.State.Skipped = "", why, why
		return item
	}
	switch why := unusablePath(f.path); {
	case why != "":
		return skip(why), nil
	case f.mode == filemode.Symlink:
		return skip("it is a symbolic link"), nil
	case f.mode == filemode.Submodule:
		return skip("it is a submodule: its repository can have a connector of its own"), nil
	case large:
		return item.tooLarge(), nil
	}
	o, err := r.needed(f.hash)
	switch {
	case err != nil:
		return item, err
	case o.Type() != plumbing.BlobObject:
		return skip("it is no file"), nil
	case o.Size() > maxItemBytes:
		return item.tooLarge(), nil
	}
	reader, err := o.Reader()
	if err != nil {
		return item, fmt.Errorf("read an object: %w", err)
	}
	defer func() { _ = reader.Close() }()
	if item.Content, err = io.ReadAll(io.LimitReader(reader, maxItemBytes)); err != nil {
		return item, fmt.Errorf("read an object: %w", err)
	}
	if strings.HasPrefix(string(item.Content[:min(len(item.Content), len(lfsPointer))]), lfsPointer) {
		item.Content = nil
		return skip("its content is in Git LFS, which is not read"), nil
	}
	return item, nil
}
