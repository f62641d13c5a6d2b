package export

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// slackDay matches the file of a day of a channel.
var slackDay = regexp.MustCompile(`^([^/]+)/(\d{4}-\d\d-\d\d)\.json$`)

// isSlack reports whether a zip file is an export of a workspace of Slack.
func isSlack(archive *zip.Reader, names map[string]*zip.File) bool {
	return names["users.json"] != nil && slices.ContainsFunc(archive.File, func(f *zip.File) bool { return slackDay.MatchString(f.Name) })
}

// maxReplies is how much text of the replies of one channel is held to be shown below what they answer, in
// bytes. Further replies stand on the day on which they were written.
const maxReplies = 64 << 20

// slack is an export of a workspace.
type slack struct {
	days  map[string][]*zip.File // by channel, in order
	lists []*zip.File            // of users and channels

	people   map[string]string
	channels map[string]slackChannel // by the name of the folder
	ids      map[string]string       // names of channels by id
}

type slackChannel struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Purpose struct {
		Value string `json:"value"`
	} `json:"purpose"`
	Members []string `json:"members"`
}

type slackMessage struct {
	Type     string `json:"type"`
	Subtype  string `json:"subtype"`
	User     string `json:"user"`
	Username string `json:"username"`
	Text     string `json:"text"`
	Stamp    string `json:"ts"`
	Thread   string `json:"thread_ts"`
	Profile  struct {
		RealName    string `json:"real_name"`
		DisplayName string `json:"display_name"`
	} `json:"user_profile"`
	Files []struct {
		Name  string `json:"name"`
		Title string `json:"title"`
	} `json:"files"`
	Attachments []struct {
		Title    string `json:"title"`
		Text     string `json:"text"`
		Fallback string `json:"fallback"`
	} `json:"attachments"`
}

func newSlack(archive *zip.Reader, names map[string]*zip.File) *slack {
	s := &slack{days: map[string][]*zip.File{}, people: map[string]string{}, channels: map[string]slackChannel{}, ids: map[string]string{}}
	for _, f := range archive.File {
		if day := slackDay.FindStringSubmatch(f.Name); day != nil {
			s.days[day[1]] = append(s.days[day[1]], f)
		}
	}
	for _, name := range []string{"users.json", "channels.json", "groups.json", "dms.json", "mpims.json"} {
		if names[name] != nil {
			s.lists = append(s.lists, names[name])
		}
	}
	return s
}

// items yields a document for each day of each channel. Answers stand below the message that they answer, on its day.
func (s *slack) items(yield yielder) {
	for _, f := range s.lists {
		if err := s.learn(f); err != nil && !yield(Item{Name: f.Name}, err) {
			return
		}
	}
	for _, channel := range slices.Sorted(maps.Keys(s.days)) {
		days := s.days[channel]
		slices.SortFunc(days, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
		replies := s.replies(days)
		for _, day := range days {
			item, err := s.day(channel, day, replies)
			if (err != nil || len(item.Content) > 0) && !yield(item, err) {
				return
			}
		}
	}
}

// learn remembers the names in a list.
func (s *slack) learn(f *zip.File) error {
	content, err := member(f)
	if err != nil {
		return err
	}
	if f.Name != "users.json" {
		var channels []slackChannel
		if err := json.Unmarshal(content, &channels); err != nil {
			return broken("list of channels", err)
		}
		for _, c := range channels {
			s.channels[cmp.Or(c.Name, c.ID)], s.ids[c.ID] = c, c.Name // a conversation of two has no name
		}
		return nil
	}
	var users []struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		RealName string `json:"real_name"`
		Profile  struct {
			RealName string `json:"real_name"`
		} `json:"profile"`
	}
	if err := json.Unmarshal(content, &users); err != nil {
		return broken("list of users", err)
	}
	for _, u := range users {
		s.people[u.ID] = cmp.Or(s.people[u.ID], u.RealName, u.Profile.RealName, u.Name)
	}
	return nil
}

// replies returns the answers in a channel by the time of what they answer. A day that cannot be read is said
// when it is yielded.
func (s *slack) replies(days []*zip.File) map[string][]slackMessage {
	replies, size := map[string][]slackMessage{}, 0
	started := map[string]bool{}
	for _, day := range days {
		messages, err := slackMessages(day)
		if err != nil {
			continue
		}
		for _, m := range messages {
			if !m.isReply() {
				started[m.Stamp] = true
				continue
			}
			if size += len(m.Text); size <= maxReplies && started[m.Thread] {
				replies[m.Thread] = append(replies[m.Thread], m)
			}
		}
	}
	return replies
}

func slackMessages(f *zip.File) (messages []slackMessage, err error) {
	content, err := member(f)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, &messages); err != nil {
		return nil, broken("day of Slack", err)
	}
	return messages, nil
}

func (m slackMessage) isReply() bool { return m.Thread != "" && m.Thread != m.Stamp }

// isSaid reports whether a person or a program said something, rather than joined or left.
func (m slackMessage) isSaid() bool {
	switch m.Subtype {
	case "channel_join", "channel_leave", "group_join", "group_leave", "channel_archive", "channel_unarchive", "tombstone", "thread_broadcast":
		return false
	}
	return m.Type == "message" || m.Type == ""
}

// day returns the item of a day of a channel.
func (s *slack) day(folder string, f *zip.File, replies map[string][]slackMessage) (Item, error) {
	date := strings.TrimSuffix(path.Base(f.Name), ".json")
	channel := s.channelName(folder)
	item := Item{Name: folder + "/" + date, Title: channel + ", " + date, ContentType: parse.Markdown.MediaType()}
	messages, err := slackMessages(f)
	if err != nil {
		return item, err
	}
	item.Origin = Origin{ID: s.channels[folder].ID, Path: []string{channel}}
	if purpose := s.channels[folder].Purpose.Value; purpose != "" {
		item.Origin.Properties = map[string]string{"purpose": purpose}
	}
	text := newThread(item.Title)
	said := func(m slackMessage, indent string) {
		words := s.words(m)
		if !m.isSaid() || words == "" {
			return
		}
		at := m.time()
		who := s.author(m)
		item.Origin.Authors = append(item.Origin.Authors, who)
		if item.Origin.Created.IsZero() {
			item.Origin.Created = at
		}
		if at.After(item.Origin.Updated) {
			item.Origin.Updated = at
		}
		when := at.Format("15:04")
		if indent != "" && at.Format(time.DateOnly) != date {
			when = at.Format(dayAndTime)
		}
		text.text.WriteString(indent + strings.ReplaceAll(fmt.Sprintf("**%s** (%s): %s", who, when, words), "\n", "\n"+strings.Repeat(" ", len(indent))) + "\n\n")
	}
	start := text.text.Len()
	for _, m := range messages {
		if m.isReply() && slices.ContainsFunc(replies[m.Thread], func(r slackMessage) bool { return r.Stamp == m.Stamp }) {
			continue // it stands below what it answers
		}
		said(m, "")
		for _, reply := range replies[m.Stamp] {
			said(reply, "- ")
		}
	}
	if text.text.Len() > start {
		item.Content = text.content()
	}
	return item, nil
}

// channelName returns the name of a channel, or the people in a conversation.
func (s *slack) channelName(folder string) string {
	c, known := s.channels[folder]
	switch {
	case !known || c.Name != "":
		return "#" + folder
	case len(c.Members) == 0:
		return folder
	}
	var people []string
	for _, id := range c.Members {
		people = append(people, s.person(id))
	}
	return strings.Join(people, ", ")
}

func (s *slack) person(id string) string { return cmp.Or(s.people[id], id) }

func (s *slack) author(m slackMessage) string {
	return cmp.Or(s.people[m.User], m.Profile.RealName, m.Profile.DisplayName, m.Username, m.User, "unknown")
}

func (m slackMessage) time() time.Time {
	seconds, err := strconv.ParseFloat(m.Stamp, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// slackMark matches what Slack writes for people, channels and addresses.
var slackMark = regexp.MustCompile(`<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>`)

// words returns what a message says, with the names of its files and the texts of what it shows.
func (s *slack) words(m slackMessage) string {
	text := slackMark.ReplaceAllStringFunc(m.Text, func(mark string) string {
		found := slackMark.FindStringSubmatch(mark)
		sign, target, shown := found[1], found[2], found[3]
		switch {
		case sign == "@":
			return "@" + s.person(target)
		case sign == "#" && shown == "":
			return "#" + s.ids[target]
		case sign == "#":
			return "#" + shown
		case sign == "!":
			return "@" + strings.TrimPrefix(target, "subteam^")
		case shown != "" && shown != target:
			return "[" + shown + "](" + target + ")"
		}
		return target
	})
	parts := []string{html.UnescapeString(text)}
	for _, a := range m.Attachments {
		shown := cmp.Or(strings.TrimSpace(a.Title+"\n"+a.Text), a.Fallback)
		parts = append(parts, html.UnescapeString(shown))
	}
	for _, f := range m.Files {
		parts = append(parts, "[file: "+cmp.Or(f.Name, f.Title)+"]")
	}
	return strings.TrimSpace(strings.Join(slices.DeleteFunc(parts, func(p string) bool { return strings.TrimSpace(p) == "" || p == "[file: ]" }), "\n"))
}
