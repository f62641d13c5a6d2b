package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// gitHub reads issues, pull requests and comments as the REST API, the command gh and the archives of
// migrations of GitHub write them. Other forges that answer as GitHub's API does are read too.
var gitHub = dialect{
	system: "github",
	lists:  []string{"issues", "items"},
	has: func(_ string, fields map[string]json.RawMessage) bool {
		switch {
		case hasFields(fields, "issue_url body"), hasFields(fields, "pull_request_url body diff_hunk"):
			return true
		case !hasFields(fields, "title body"):
			return false
		case hasFields(fields, "number html_url user"), hasFields(fields, "number author url"), hasFields(fields, "number labels state"):
			return true
		}
		var kind string
		_ = json.Unmarshal(fields["type"], &kind) // it may have none
		return hasFields(fields, "url repository user") && (kind == "issue" || kind == "pull_request")
	},
	begin: func() (func(record), func(record) (Item, error)) { return nil, gitHubItem },
}

// gitHubRecord is an issue, a pull request or a comment.
type gitHubRecord struct {
	ID          json.RawMessage `json:"id"`
	Number      int             `json:"number"`
	Title       string          `json:"title"`
	Body        string          `json:"body"`
	State       string          `json:"state"`
	URL         string          `json:"url"`
	HTMLURL     string          `json:"html_url"`
	IssueURL    string          `json:"issue_url"`
	PullURL     string          `json:"pull_request_url"`
	PullRequest json.RawMessage `json:"pull_request"`
	Type        string          `json:"type"`
	User        person          `json:"user"`
	Author      person          `json:"author"`
	Labels      []label         `json:"labels"`
	CreatedAt   moment          `json:"created_at"`
	Created     moment          `json:"createdAt"`
	UpdatedAt   moment          `json:"updated_at"`
	Updated     moment          `json:"updatedAt"`
	Milestone   label           `json:"milestone"`
	Comments    json.RawMessage `json:"comments"` // their number, or they themselves
}

// gitHubComment is a comment within its issue.
type gitHubComment struct {
	Body      string `json:"body"`
	User      person `json:"user"`
	Author    person `json:"author"`
	CreatedAt moment `json:"created_at"`
	Created   moment `json:"createdAt"`
}

func gitHubItem(r record) (Item, error) {
	var issue gitHubRecord
	if err := json.Unmarshal(r.raw, &issue); err != nil {
		return Item{}, err
	}
	issue.Author, issue.HTMLURL = cmp.Or(issue.Author, issue.User), cmp.Or(issue.HTMLURL, issue.URL)
	origin := Origin{
		URL: issue.HTMLURL, Author: string(issue.Author), Created: later(issue.CreatedAt, issue.Created), Updated: later(issue.UpdatedAt, issue.Updated),
		Status: strings.ToLower(issue.State), Labels: texts(issue.Labels),
	}
	if issue.Milestone != "" {
		origin.Properties = map[string]string{"milestone": string(issue.Milestone)}
	}
	if above := issue.IssueURL + issue.PullURL; above != "" && issue.Title == "" {
		return commentItem(issue, above, origin), nil
	}
	if issue.Number == 0 { // only the address has it
		_, _ = fmt.Sscanf(path.Base(issue.URL), "%d", &issue.Number)
	}
	if issue.Number == 0 || issue.Title == "" {
		return Item{}, nil
	}
	name := "issues"
	if issue.Type == "pull_request" || strings.Contains(issue.HTMLURL, "/pull/") || len(issue.PullRequest) > 0 && string(issue.PullRequest) != "null" {
		name = "pulls"
	}
	origin.ID = fmt.Sprint(issue.Number)
	text := newThread(issue.Title)
	text.add(byline(fmt.Sprintf("#%d", issue.Number), string(issue.Author), origin.Created), issue.Body)
	var comments []gitHubComment
	_ = json.Unmarshal(issue.Comments, &comments) // it may be their number
	origin.Authors = []string{string(issue.Author)}
	for _, c := range comments {
		who := string(c.Author + c.User)
		origin.Authors = append(origin.Authors, who)
		text.add("## "+byline("Comment", who, later(c.CreatedAt, c.Created)), c.Body)
	}
	return Item{
		Name: fmt.Sprintf("%s%s/%d", repositoryOf(issue.HTMLURL), name, issue.Number), Title: issue.Title,
		ContentType: parse.Markdown.MediaType(), Content: text.content(), Origin: origin,
	}, nil
}

// commentItem returns the item of a comment whose issue is elsewhere.
func commentItem(c gitHubRecord, above string, origin Origin) Item {
	if strings.TrimSpace(c.Body) == "" {
		return Item{}
	}
	kind := "issues"
	if c.PullURL != "" || strings.Contains(c.HTMLURL, "/pull/") {
		kind = "pulls"
	}
	number := path.Base(above)
	origin.ID = cmp.Or(strings.Trim(string(c.ID), `"`), path.Base(c.URL))
	origin.Parent = repositoryOf(c.HTMLURL) + kind + "/" + number
	title := byline("Comment on #"+number, origin.Author, origin.Created)
	return Item{Name: origin.Parent + "/comments/" + origin.ID, Title: title, ContentType: parse.Markdown.MediaType(), Content: []byte(c.Body), Origin: origin}
}

// repositoryOf returns the owner and the name of the repository in an address, with a slash at the end; empty if
// it has none.
func repositoryOf(address string) string {
	_, rest, ok := strings.Cut(address, "://")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 5 {
		return ""
	}
	return parts[1] + "/" + parts[2] + "/"
}
