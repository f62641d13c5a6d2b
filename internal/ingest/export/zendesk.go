package export

import (
	"cmp"
	"encoding/json"
	"html"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// zendesk reads tickets and articles of the help center as the API and the exports of Zendesk write them: in
// objects with arrays, or a record a line.
var zendesk = dialect{
	system: "zendesk",
	lists:  []string{"tickets", "articles", "users", "sections", "categories", "results"},
	has: func(_ string, fields map[string]json.RawMessage) bool {
		return hasFields(fields, "id subject description requester_id") || hasFields(fields, "id title body section_id author_id")
	},
	begin: func() (func(record), func(record) (Item, error)) {
		z := zendeskExport{names: map[string]zendeskName{}}
		return z.learn, z.item
	},
}

// zendeskName is the name of a person, section or category, and the category of a section.
type zendeskName struct {
	name  string
	above string
}

type zendeskExport struct {
	names map[string]zendeskName // by the list and the id
}

// zendeskRecord is a ticket or an article, or what they refer to.
type zendeskRecord struct {
	ID          json.Number      `json:"id"`
	URL         string           `json:"url"`
	HTMLURL     string           `json:"html_url"`
	Name        string           `json:"name"`
	CategoryID  json.Number      `json:"category_id"`
	Subject     string           `json:"subject"`
	Description string           `json:"description"`
	Status      string           `json:"status"`
	Priority    string           `json:"priority"`
	Tags        []string         `json:"tags"`
	RequesterID json.Number      `json:"requester_id"`
	Requester   person           `json:"requester"`
	Comments    []zendeskComment `json:"comments"`
	Title       string           `json:"title"`
	Body        string           `json:"body"`
	Draft       bool             `json:"draft"`
	Locale      string           `json:"locale"`
	AuthorID    json.Number      `json:"author_id"`
	SectionID   json.Number      `json:"section_id"`
	LabelNames  []string         `json:"label_names"`
	CreatedAt   moment           `json:"created_at"`
	UpdatedAt   moment           `json:"updated_at"`
}

type zendeskComment struct {
	Body      string      `json:"body"`
	PlainBody string      `json:"plain_body"`
	AuthorID  json.Number `json:"author_id"`
	Author    person      `json:"author"`
	Public    *bool       `json:"public"`
	CreatedAt moment      `json:"created_at"`
}

// learn remembers the name of a person, a section or a category.
func (z zendeskExport) learn(r record) {
	var named zendeskRecord
	if r.list != "users" && r.list != "sections" && r.list != "categories" || len(z.names) >= maxNames || json.Unmarshal(r.raw, &named) != nil {
		return
	}
	z.names[r.list+string(named.ID)] = zendeskName{named.Name, string(named.CategoryID)}
}

// user returns the name of a person, or the id if it is not known.
func (z zendeskExport) user(known person, id json.Number) string {
	if known != "" {
		return string(known)
	}
	if found := z.names["users"+string(id)]; found.name != "" || id == "" {
		return found.name
	}
	return "user " + string(id)
}

func (z zendeskExport) item(r record) (Item, error) {
	if r.list == "users" || r.list == "sections" || r.list == "categories" {
		return Item{}, nil
	}
	var found zendeskRecord
	if err := json.Unmarshal(r.raw, &found); err != nil {
		return Item{}, err
	}
	origin := Origin{ID: string(found.ID), URL: found.HTMLURL, Created: found.CreatedAt.Time, Updated: found.UpdatedAt.Time}
	switch {
	case found.ID == "" || found.Draft:
		return Item{}, nil
	case found.Title != "" && found.Body != "":
		return z.article(found, origin), nil
	case found.Subject != "" || found.Description != "":
		return z.ticket(found, origin), nil
	}
	return Item{}, nil
}

func (z zendeskExport) article(found zendeskRecord, origin Origin) Item {
	origin.Author, origin.Labels = z.user("", found.AuthorID), found.LabelNames
	section := z.names["sections"+string(found.SectionID)]
	origin.Path = []string{z.names["categories"+section.above].name, section.name}
	if found.Locale != "" {
		origin.Properties = map[string]string{"locale": found.Locale}
	}
	page := "<h1>" + html.EscapeString(found.Title) + "</h1>\n" + found.Body
	name := "articles/" + string(found.ID)
	if found.Locale != "" { // translations of an article have its id
		name += "/" + found.Locale
	}
	return Item{Name: name, Title: found.Title, ContentType: parse.HTML.MediaType(), Content: []byte(page), Origin: origin}
}

func (z zendeskExport) ticket(found zendeskRecord, origin Origin) Item {
	origin.URL = strings.TrimSuffix(strings.Replace(found.URL, "/api/v2/tickets/", "/agent/tickets/", 1), ".json")
	origin.Author, origin.Status, origin.Labels = z.user(found.Requester, found.RequesterID), found.Status, found.Tags
	origin.Authors = []string{origin.Author}
	if found.Priority != "" {
		origin.Properties = map[string]string{"priority": found.Priority}
	}
	text := newThread(found.Subject)
	text.add(byline("Ticket "+string(found.ID), origin.Author, found.CreatedAt.Time), found.Description)
	for n, c := range found.Comments {
		said := cmp.Or(c.PlainBody, c.Body)
		if n == 0 && strings.TrimSpace(said) == strings.TrimSpace(found.Description) {
			continue // the description is the first comment
		}
		who, what := z.user(c.Author, c.AuthorID), "Comment"
		if c.Public != nil && !*c.Public {
			what = "Internal note"
		}
		origin.Authors = append(origin.Authors, who)
		text.add("## "+byline(what, who, c.CreatedAt.Time), said)
	}
	return Item{Name: "tickets/" + string(found.ID), Title: found.Subject, ContentType: parse.Markdown.MediaType(), Content: text.content(), Origin: origin}
}
