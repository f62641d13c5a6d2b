package connector

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/automation/connector/manifest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// aclMetadata is the metadata of who may see a document: its users and groups.
const aclMetadata = "acl"

// accessNames are those who may see a document.
type accessNames struct{ users, groups []string }

// apiURL returns the address below which the uris of records are that the manifest names none for.
func apiURL(connector string) url.URL { return url.URL{Scheme: "api", Host: connector} }

// metadata returns the metadata of the document of a record: that of the manifest, the name of the stream, and
// who may see it. Errors: Invalid.
func (x *apiWalk) metadata(ctx context.Context, s *manifest.Stream, scope map[string]any) (map[string]any, error) {
	out := map[string]any{"stream": s.Name}
	for name, t := range s.Document.Metadata {
		value, err := t.Value(ctx, scope)
		if err != nil {
			return nil, err
		}
		if value != nil && value != "" {
			out[name] = value
		}
	}
	if !s.Document.HasAccess() {
		return out, nil
	}
	names, err := x.readers(ctx, s.Document, scope)
	if err != nil {
		return nil, err
	}
	if len(names.users)+len(names.groups) > maxAccessNames {
		return nil, fault.New(fault.Invalid, "more than %d users and groups may see it: let the manifest name groups", maxAccessNames)
	}
	out[aclMetadata] = map[string]any{"users": anyOf(names.users), "groups": anyOf(names.groups)}
	return out, nil
}

func anyOf(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

// readers returns who may see the document of a record, each once and in order.
func (x *apiWalk) readers(ctx context.Context, d *manifest.Document, scope map[string]any) (names accessNames, err error) {
	if err := names.add(ctx, d.Users, d.Groups, scope); err != nil {
		return names, err
	}
	for _, from := range d.Access {
		found, err := x.listed(ctx, from, scope)
		if err != nil {
			return names, err
		}
		names.users, names.groups = append(names.users, found.users...), append(names.groups, found.groups...)
	}
	for _, list := range []*[]string{&names.users, &names.groups} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return names, nil
}

// listed returns those whom a stream lists for the partition of a record. It is read once for each partition.
func (x *apiWalk) listed(ctx context.Context, from manifest.Access, scope map[string]any) (*accessNames, error) {
	raw, err := json.Marshal([]any{from.Stream.Name, scope["stream_partition"]})
	if err != nil {
		return nil, err
	}
	if known := x.access[string(raw)]; known != nil {
		return known, nil
	}
	found := &accessNames{}
	err = x.read(ctx, withoutCursor(from.Stream), scope, func(_, scope map[string]any) error {
		if len(found.users)+len(found.groups) > maxAccessNames {
			return nil // metadata refuses it
		}
		return found.add(ctx, from.Users, from.Groups, scope)
	})
	if err != nil {
		return nil, err
	}
	x.access[string(raw)] = found
	return found, nil
}

// sameAccess reports whether those who may see the documents of a partition are the same as in the last walk, so that
// records that have not changed need not be read: a permission that was taken away is gone after the next run.
func (x *apiWalk) sameAccess(ctx context.Context, s *manifest.Stream, scope map[string]any) (bool, error) {
	d := s.Document
	if d == nil {
		return true, nil
	}
	if (!d.Users.IsZero() || !d.Groups.IsZero()) && !d.AccessInCursor {
		return false, nil
	}
	var all []any
	for _, from := range d.Access {
		found, err := x.listed(ctx, from, scope)
		if err != nil {
			return false, err
		}
		all = append(all, found.users, found.groups)
	}
	if len(all) == 0 {
		return true, nil
	}
	key, err := json.Marshal([]any{s.Name, scope["stream_partition"]})
	if err != nil {
		return false, err
	}
	names, err := json.Marshal(all)
	if err != nil {
		return false, err
	}
	x.next.Access[shortHash(key)] = shortHash(names)
	return x.last.Access[shortHash(key)] == shortHash(names), nil
}

// add adds the values of templates, which are texts or lists of texts.
func (n *accessNames) add(ctx context.Context, users, groups manifest.Template, scope map[string]any) error {
	for _, of := range []struct {
		template manifest.Template
		into     *[]string
	}{{users, &n.users}, {groups, &n.groups}} {
		value, err := of.template.Value(ctx, scope)
		if err != nil {
			return err
		}
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, one := range list {
			text, err := manifest.Text(one)
			if err != nil {
				return err
			}
			if text != "" {
				*of.into = append(*of.into, text)
			}
		}
	}
	return nil
}

// attachments visits the files of a record, each a document with the metadata of the record's.
func (x *apiWalk) attachments(ctx context.Context, s *manifest.Stream, of Item, metadata, scope map[string]any) error {
	a := s.Document.Attachments
	value, err := a.Items.Value(ctx, scope)
	if err != nil {
		return err
	}
	list, _ := value.([]any)
	for _, one := range list {
		attachment, ok := one.(map[string]any)
		if !ok {
			continue
		}
		item, err := x.attachment(ctx, s, of, with(scope, map[string]any{"attachment": attachment}))
		if err != nil {
			return err
		}
		if item.ID == "" {
			continue
		}
		item.Metadata = maps.Clone(metadata)
		if item.Attributes == nil {
			item.Attributes = attachment
		}
		if err := x.emit(item); err != nil {
			return err
		}
	}
	return nil
}

// attachment returns a file of a record, without id if the manifest leaves it out.
func (x *apiWalk) attachment(ctx context.Context, s *manifest.Stream, of Item, scope map[string]any) (Item, error) {
	a := s.Document.Attachments
	if skip, err := a.Skip.True(ctx, scope); err != nil || skip {
		return Item{}, err
	}
	texts := map[string]string{}
	for name, t := range map[string]manifest.Template{"id": a.ID, "url": a.URL, "name": a.Name, "type": a.ContentType, "modified": a.Modified} {
		text, err := t.Text(ctx, scope)
		if err != nil {
			return Item{}, err
		}
		texts[name] = text
	}
	name := texts["name"]
	if name == "" {
		name = texts["url"][strings.LastIndex(texts["url"], "/")+1:]
	}
	if texts["id"] == "" {
		texts["id"] = name
	}
	item := Item{ID: of.ID + "#attachment/" + url.PathEscape(texts["id"]), FileName: textlimit.OneLine(name, maxReasonBytes), ContentType: texts["type"], State: State{Known: true}}
	if at, ok := manifest.ParseTime([]string{"%s"}, texts["modified"]); ok {
		item.Modified = at
	}
	raw, err := json.Marshal([]any{texts, of.Metadata})
	if err != nil {
		return Item{}, err
	}
	item.State.ETag = shortHash(raw)
	known, err := x.known(ctx, item.ID)
	if err != nil {
		return item, err
	}
	if same, ok := known.unchanged(item.ID, item.State.ETag); ok {
		return same, nil
	}
	to, err := url.Parse(texts["url"])
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		item.Failed = "it has no address"
		return item, nil
	}
	got, err := x.file(ctx, s, to, scope)
	switch {
	case endsRun(err):
		return item, err
	case err != nil:
		item.Failed, item.State.ETag = err.Error(), ""
	case got.status != http.StatusOK:
		item.Failed, item.State.ETag = fmt.Sprintf("the server answered %d", got.status), ""
	case len(got.body) == 0:
		item.Skipped, item.State.Skipped = "it is empty", "it is empty"
	default:
		item.Content = got.body
		if item.ContentType == "" && !strings.HasPrefix(got.header.Get("Content-Type"), "application/octet-stream") {
			item.ContentType = got.header.Get("Content-Type")
		}
	}
	return item, nil
}

// file reads a file. Only the host of the stream and those that the manifest names get its credentials.
func (x *apiWalk) file(ctx context.Context, s *manifest.Stream, to *url.URL, scope map[string]any) (a answer, err error) {
	base, err := x.base(ctx, s.Requester, scope)
	if err != nil {
		return a, err
	}
	hosts := append([]string{base.Host}, s.Document.Attachments.Hosts...)
	for range maxRedirects + 1 {
		from, header := *to, http.Header{}
		if to.Scheme == base.Scheme && slices.Contains(hosts, to.Host) {
			r := &request{call: call{address: to, header: header}, query: to.Query()}
			if err := x.authenticate(ctx, s.Requester, r, false); err != nil {
				return a, err
			}
			from.RawQuery = r.query.Encode()
		}
		if a, err = x.fetch.get(ctx, &from, header, maxItemBytes); err != nil || a.status < 300 || a.status >= 400 {
			return a, err
		}
		if to, err = redirect(to, a); err != nil {
			return a, err
		}
	}
	return a, &fetchError{"has too many redirects"}
}
