package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// discourse reads topics with their posts, as Discourse answers at /t/ID.json and as its exports of categories
// and topics have them.
var discourse = dialect{
	system: "discourse",
	lists:  []string{"topics", "users", "categories", "groups"},
	has: func(list string, fields map[string]json.RawMessage) bool {
		return hasFields(fields, "post_stream") || hasFields(fields, "title posts id") && list == "topics"
	},
	begin: func() (func(record), func(record) (Item, error)) {
		d := discourseExport{map[string]string{}, map[string]discourseCategory{}}
		return d.learn, d.item
	},
}

type discourseCategory struct{ name, above string }

type discourseExport struct {
	users      map[string]string
	categories map[string]discourseCategory
}

// discourseRecord is a topic, or what topics refer to.
type discourseRecord struct {
	ID         json.Number `json:"id"`
	Title      string      `json:"title"`
	Slug       string      `json:"slug"`
	Name       string      `json:"name"`
	Username   string      `json:"username"`
	ParentID   json.Number `json:"parent_category_id"`
	CategoryID json.Number `json:"category_id"`
	Closed     bool        `json:"closed"`
	Tags       []label     `json:"tags"`
	CreatedAt  moment      `json:"created_at"`
	LastPosted moment      `json:"last_posted_at"`
	Posts      []post      `json:"posts"`
	Stream     struct {
		Posts []post `json:"posts"`
	} `json:"post_stream"`
}

type post struct {
	Number    int         `json:"post_number"`
	ReplyTo   int         `json:"reply_to_post_number"`
	UserID    json.Number `json:"user_id"`
	Username  string      `json:"username"`
	Raw       string      `json:"raw"`
	Cooked    string      `json:"cooked"`
	Hidden    bool        `json:"hidden"`
	CreatedAt moment      `json:"created_at"`
}

// learn remembers the name of a person or a category.
func (d discourseExport) learn(r record) {
	var named discourseRecord
	if r.list != "users" && r.list != "categories" || len(d.users)+len(d.categories) >= maxNames || json.Unmarshal(r.raw, &named) != nil {
		return
	}
	if r.list == "users" {
		d.users[string(named.ID)] = named.Username
	} else {
		d.categories[string(named.ID)] = discourseCategory{named.Name, string(named.ParentID)}
	}
}

func (d discourseExport) item(r record) (Item, error) {
	if r.list == "users" || r.list == "categories" || r.list == "groups" {
		return Item{}, nil
	}
	var topic discourseRecord
	if err := json.Unmarshal(r.raw, &topic); err != nil {
		return Item{}, err
	}
	posts := append(topic.Posts, topic.Stream.Posts...)
	if topic.ID == "" || len(posts) == 0 {
		return Item{}, nil
	}
	category := d.categories[string(topic.CategoryID)]
	origin := Origin{
		ID: string(topic.ID), Created: topic.CreatedAt.Time, Updated: topic.LastPosted.Time, Labels: texts(topic.Tags),
		Path: []string{d.categories[category.above].name, category.name},
	}
	if topic.Closed {
		origin.Status = "closed"
	}
	for n, p := range posts {
		who := cmp.Or(p.Username, d.users[string(p.UserID)])
		posts[n].Username = who
		origin.Authors = append(origin.Authors, who)
		if p.CreatedAt.After(origin.Updated) {
			origin.Updated = p.CreatedAt.Time
		}
	}
	origin.Author = posts[0].Username
	item := Item{Name: "topics/" + string(topic.ID), Title: topic.Title, Origin: origin}
	item.ContentType, item.Content = posted(topic.Title, posts)
	return item, nil
}

// posted returns the text of a topic: as it was written if that is known of all posts, else as a page.
func posted(title string, posts []post) (contentType string, content []byte) {
	text := newThread(title)
	var page strings.Builder
	fmt.Fprintf(&page, "<h1>%s</h1>\n", html.EscapeString(title))
	written := true
	for n, p := range posts {
		if p.Hidden {
			continue
		}
		written = written && p.Raw != ""
		what := "Post"
		if p.ReplyTo > 0 {
			what = fmt.Sprintf("Reply to post %d", p.ReplyTo)
		}
		line := byline(what, p.Username, p.CreatedAt.Time)
		if n > 0 {
			text.add("## "+line, p.Raw)
			fmt.Fprintf(&page, "<h2>%s</h2>\n%s\n", html.EscapeString(line), p.Cooked)
		} else {
			text.add(line, p.Raw)
			fmt.Fprintf(&page, "<p>%s</p>\n%s\n", html.EscapeString(line), p.Cooked)
		}
	}
	if written {
		return parse.Markdown.MediaType(), text.content()
	}
	return parse.HTML.MediaType(), []byte(page.String())
}
