package connector

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

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
	gitBatch       = 1000 // files that are fetched at once
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
	e := &exporter{
		walking: w, visit: visit, uri: g.uri, pathKey: "path", seen: len(files),
		tooMany: func() error {
			return fault.New(fault.Exhausted, "the repository has more than %d files and items of exports: name those that matter with include and exclude, or raise maxItems", w.maxItems)
		},
	}
	if err := r.visit(ctx, g, e, commit, files); err != nil {
		return listing{}, err
	}
	return listing{keepOthers: e.partial, state: State{Known: true, ETag: tip.String()}}, nil
}

// visit visits files. Those that have changed are fetched some at a time.
func (r *repository) visit(ctx context.Context, g *Git, e *exporter, commit *object.Commit, files []gitFile) error {
	var changed []gitFile
	flush := func() error {
		large, err := r.ensure(ctx, changed)
		if err != nil {
			return err
		}
		for _, f := range changed {
			item, err := r.item(g, commit, f, large[f.hash])
			if err != nil {
				return err
			}
			known, err := e.items(ctx, f.path, item, bytes.NewReader(item.Content), int64(len(item.Content)))
			if len(item.Content) > maxItemBytes {
				item = item.tooLarge()
			}
			if err == nil && !known {
				err = e.visit(item)
			}
			if err != nil {
				return err
			}
		}
		changed = nil
		return nil
	}
	for i, f := range files {
		if i%statesAtOnce == 0 {
			some := files[i:min(i+statesAtOnce, len(files))]
			ids := make([]string, len(some))
			for j, one := range some {
				ids[j] = g.uri(one.path)
			}
			if err := e.expect(ctx, ids); err != nil {
				return err
			}
		}
		id := g.uri(f.path)
		known, err := e.known(ctx, id)
		if err != nil {
			return err
		}
		if item, ok := known.unchanged(id, f.hash.String()); ok {
			if err := e.visit(item); err != nil {
				return err
			}
			continue
		}
		if changed = append(changed, f); len(changed) == e.ahead(gitBatch) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// item returns what a file is. Its content may be larger than maxItemBytes.
func (r *repository) item(g *Git, commit *object.Commit, f gitFile, large bool) (Item, error) {
	item := Item{
		ID: g.uri(f.path), FileName: path.Base(f.path), State: State{Known: true, ETag: f.hash.String()},
		Attributes: map[string]any{"path": f.path, "commit": commit.Hash.String(), "blob": f.hash.String(), "author": strings.ToValidUTF8(commit.Author.Name, "\uFFFD"), "authorTime": nil},
	}
	if at := commit.Author.When.UTC(); at.Year() > 0 && at.Year() <= maxYear {
		item.Modified = at
		item.Attributes["authorTime"] = at.Format(time.RFC3339)
	}
	skip := func(why string) Item {
		item.FileName, item.Skipped, item.State.Skipped = "", why, why
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
	}
	reader, err := o.Reader()
	if err != nil {
		return item, fmt.Errorf("read an object: %w", err)
	}
	defer func() { _ = reader.Close() }()
	if item.Content, err = io.ReadAll(io.LimitReader(reader, maxPackObjectBytes)); err != nil {
		return item, fmt.Errorf("read an object: %w", err)
	}
	if strings.HasPrefix(string(item.Content[:min(len(item.Content), len(lfsPointer))]), lfsPointer) {
		item.Content = nil
		return skip("its content is in Git LFS, which is not read"), nil
	}
	return item, nil
}
