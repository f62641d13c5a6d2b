package connector

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

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

func (f gitFile) isFile() bool {
	return f.mode != filemode.Symlink && f.mode != filemode.Submodule
}
