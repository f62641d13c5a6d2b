package index

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of ranking profiles.
const (
	// MaxProfiles bounds the profiles of an index.
	MaxProfiles = 32
	// MaxProfileVersions bounds the versions of one.
	MaxProfileVersions = 20
	// MaxProfileBytes bounds the parameters of one version, as JSON.
	MaxProfileBytes       = 8 << 10
	maxProfileName        = 64  // bytes
	maxProfileDescription = 500 // bytes
)

// NoProfile stands for no profile where one is named.
const NoProfile = "none"

// Profile is a version of a ranking profile: parameters of ranking under a name.
type Profile struct {
	IndexName   string
	Name        string
	Version     int    // from 1
	Description string // for people
	Default     bool   // queries that name no profile have it
	Versions    []int  // that exist, the newest first
	Ranking     json.RawMessage
	CreatedAt   time.Time // of this version
}

// profiles are those of an index. Not changed in place: the cache of indexes has them.
type profiles struct {
	Default string          `json:"default,omitempty"`
	All     []storedProfile `json:"profiles"` // in the order of their names
}

type storedProfile struct {
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Versions    []profileVersion `json:"versions"` // the newest first; not empty
}

type profileVersion struct {
	Version   int             `json:"version"`
	Ranking   json.RawMessage `json:"ranking"`
	CreatedAt time.Time       `json:"createdAt"`
}

// version returns a version of the profile, the latest for 0.
func (p storedProfile) version(n int, isDefault bool) (Profile, bool) {
	out := Profile{Name: p.Name, Description: p.Description, Default: isDefault}
	found := false
	for _, v := range p.Versions {
		out.Versions = append(out.Versions, v.Version)
		if !found && (n == 0 || n == v.Version) {
			found = true
			out.Version, out.Ranking, out.CreatedAt = v.Version, v.Ranking, v.CreatedAt
		}
	}
	return out, found
}

// find returns the position of a profile; ok is false where it would be.
func (p profiles) find(name string) (int, bool) {
	return slices.BinarySearchFunc(p.All, name, func(one storedProfile, name string) int { return cmp.Compare(one.Name, name) })
}

// Profile returns a version of a ranking profile of the index, the latest for 0; of the default profile for "". Errors: NotFound.
func (i Index) Profile(name string, version int) (Profile, error) {
	name = cmp.Or(name, i.profiles.Default)
	at, ok := i.profiles.find(name)
	if !ok {
		var known []string
		for _, p := range i.profiles.All {
			known = append(known, p.Name)
		}
		hint := cmp.Or(nearest.Hint(name, known), ": list its ranking profiles to see the names, or create it")
		return Profile{}, fault.New(fault.NotFound, "index %q has no ranking profile %q%s", i.Name, name, hint)
	}
	p := i.profiles.All[at]
	found, ok := p.version(version, name == i.profiles.Default)
	if !ok {
		return Profile{}, fault.New(fault.NotFound, "ranking profile %q of index %q has no version %d; the latest is %d", name, i.Name, version, p.Versions[0].Version)
	}
	found.IndexName = i.Name
	return found, nil
}

// HasDefaultProfile reports whether queries that name no ranking profile have one.
func (i Index) HasDefaultProfile() bool { return i.profiles.Default != "" }

// Profiles returns the latest version of each ranking profile of the index, in the order of their names.
func (i Index) Profiles() []Profile {
	all := make([]Profile, len(i.profiles.All))
	for n, p := range i.profiles.All {
		all[n], _ = p.version(0, p.Name == i.profiles.Default)
		all[n].IndexName = i.Name
	}
	return all
}

// CreateProfile stores version 1 of a ranking profile, whose Ranking was checked. Errors: Invalid; NotFound for the index; Exists;
// Exhausted; Denied for a credential with a mandatory filter or without the scope write; Precondition in a schema that is a migration behind.
func (s *Service) CreateProfile(ctx context.Context, indexName string, p Profile) (Profile, error) {
	if err := p.check(); err != nil {
		return Profile{}, err
	}
	return s.changeProfiles(ctx, indexName, p.Name, func(i Index, all *profiles) error {
		at, exists := all.find(p.Name)
		switch {
		case exists:
			return fault.New(fault.Exists, "index %q has a ranking profile %q already: update it, or choose another name", i.Name, p.Name)
		case len(all.All) >= MaxProfiles:
			return fault.New(fault.Exhausted, "an index may have %d ranking profiles: delete one that is no longer needed", MaxProfiles)
		}
		all.All = slices.Insert(all.All, at, storedProfile{p.Name, p.Description, []profileVersion{{1, p.Ranking, time.Now().UTC()}}})
		if p.Default {
			all.Default = p.Name
		}
		return nil
	})
}

// check checks the name, the description and the size of a profile. Errors: Invalid.
func (p Profile) check() error {
	if err := catalog.CheckName("profileName", p.Name, maxProfileName); err != nil {
		return err
	}
	if strings.EqualFold(p.Name, NoProfile) {
		return fault.Field("profileName", "must not be %s, which stands for no profile", p.Name)
	}
	if err := textlimit.Check("description", p.Description, maxProfileDescription); err != nil {
		return err
	}
	return checkRankingSize(p.Ranking)
}

func checkRankingSize(ranking json.RawMessage) error {
	if len(ranking) > MaxProfileBytes {
		return fault.Field("ranking", "takes %d bytes; a ranking profile may have %d: use fewer boosts, or shorter filters", len(ranking), MaxProfileBytes)
	}
	return nil
}

// ProfileChange says what changes of a ranking profile; nil and 0: nothing.
type ProfileChange struct {
	Description    *string
	Ranking        json.RawMessage // that was checked
	RestoreVersion int             // whose parameters take the place of Ranking
	Default        *bool
}

// UpdateProfile changes a ranking profile. Parameters that differ from those of the latest version make a new version. Errors: as
// CreateProfile; NotFound.
func (s *Service) UpdateProfile(ctx context.Context, indexName, name string, change ProfileChange) (Profile, error) {
	if change.Ranking != nil && change.RestoreVersion != 0 {
		return Profile{}, fault.Field("restoreVersion", "and ranking are mutually exclusive: leave one out")
	}
	if err := checkRankingSize(change.Ranking); err != nil {
		return Profile{}, err
	}
	if change.Description != nil {
		if err := textlimit.Check("description", *change.Description, maxProfileDescription); err != nil {
			return Profile{}, err
		}
	}
	return s.changeProfiles(ctx, indexName, name, func(i Index, all *profiles) error {
		latest, err := i.Profile(name, 0)
		if err != nil {
			return err
		}
		if change.RestoreVersion != 0 {
			former, err := i.Profile(name, change.RestoreVersion)
			if err != nil {
				return err
			}
			change.Ranking = former.Ranking
		}
		at, _ := all.find(name)
		p := &all.All[at]
		if change.Description != nil {
			p.Description = *change.Description
		}
		switch {
		case change.Default != nil && *change.Default:
			all.Default = name
		case change.Default != nil && all.Default == name:
			all.Default = ""
		}
		if change.Ranking == nil || sameJSON(change.Ranking, latest.Ranking) {
			return nil
		}
		if len(p.Versions) >= MaxProfileVersions {
			return fault.New(fault.Exhausted, "a ranking profile may have %d versions: delete one that is no longer needed", MaxProfileVersions)
		}
		p.Versions = append([]profileVersion{{latest.Version + 1, change.Ranking, time.Now().UTC()}}, p.Versions...)
		return nil
	})
}

// sameJSON reports whether two texts have the same value: the database writes them in its own form.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// DeleteProfile deletes a ranking profile, or one of its versions that is not the latest. Errors: as CreateProfile; NotFound;
// Precondition for the latest of several versions.
func (s *Service) DeleteProfile(ctx context.Context, indexName, name string, version int) error {
	_, err := s.changeProfiles(ctx, indexName, "", func(i Index, all *profiles) error {
		found, err := i.Profile(cmp.Or(name, NoProfile), version)
		if err != nil {
			return err
		}
		at, _ := all.find(name)
		p := &all.All[at]
		switch {
		case version != 0 && version == found.Versions[0] && len(found.Versions) > 1:
			return fault.New(fault.Precondition, "version %d of ranking profile %q is the latest: delete the profile, or update it first", version, name)
		case version != 0 && len(found.Versions) > 1:
			p.Versions = slices.DeleteFunc(slices.Clone(p.Versions), func(v profileVersion) bool { return v.Version == version })
			return nil
		}
		all.All = slices.Delete(all.All, at, at+1)
		if all.Default == name {
			all.Default = ""
		}
		return nil
	})
	return err
}

// changeProfiles changes a copy of the ranking profiles of an index and stores it. It returns the latest version of the named one, if any.
func (s *Service) changeProfiles(ctx context.Context, indexName, name string, change func(Index, *profiles) error) (changed Profile, err error) {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return Profile{}, err
	}
	if indexName == "" {
		only, err := s.only(ctx, r.Tenant)
		if err != nil {
			return Profile{}, err
		}
		indexName = only.Name
	}
	defer s.known.forget(r.Tenant, indexName)
	err = s.db.Handle(r.Tenant).Tx(ctx, func(tx *data.Tx) error {
		i, err := byNameLocked(ctx, tx, indexName)
		if err != nil {
			return err
		}
		if err := requireColumn(ctx, tx, "ranking_profiles", "profileName"); err != nil {
			return err
		}
		all := profiles{Default: i.profiles.Default, All: slices.Clone(i.profiles.All)}
		if err := change(i, &all); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE tenant.indexes SET ranking_profiles = $2, updated_at = now() WHERE index_id = $1`, i.ID, all); err != nil {
			return err
		}
		i.profiles = all
		if name != "" {
			changed, err = i.Profile(name, 0)
		}
		return err
	})
	return changed, err
}
