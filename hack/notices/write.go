package main

import (
	"fmt"
	"strings"
)

// section is a part of the list.
type section struct {
	title      string
	components []component
}

// group is a text of several components, which differs in the lines of copyright alone.
type group struct {
	whole string // of the first component
	text  string // without these lines
	users []user
}

// user is a component with a text, and the lines of copyright in it.
type user struct {
	name       string
	copyrights []string
}

const head = `Third-party notices of ragd

ragd is licensed under the Apache License 2.0. Its binaries contain the works of others that are
listed here with their licences; the texts follow the list. Works under the Mozilla Public License
2.0 (MPL-2.0) are unchanged, and their source is at the address that is given.

`

// write returns the list of all components, and each of their texts once.
func write(sections []section) string {
	var out strings.Builder
	out.WriteString(head)
	var groups []*group
	index := map[string]int{}
	for _, s := range sections {
		fmt.Fprintf(&out, "%s\n\n", s.title)
		for _, c := range s.components {
			var numbers []string
			for _, text := range c.Texts {
				body, copyrights, ok := split(text)
				key := strings.Join(wordsOf(body), " ")
				if !ok {
					key = text
				}
				i, ok := index[key]
				if !ok {
					i = len(groups)
					index[key] = i
					groups = append(groups, &group{whole: text, text: body})
				}
				groups[i].add(c, copyrights)
				numbers = append(numbers, fmt.Sprintf("[%d]", i+1))
			}
			fmt.Fprintf(&out, "  %s\n    %s  %s  %s\n", strings.TrimSpace(c.Name+" "+c.Version), c.License, strings.Join(numbers, " "), c.Source)
		}
		out.WriteString("\n")
	}
	for i, g := range groups {
		fmt.Fprintf(&out, "%s\n[%d]\n\n", strings.Repeat("=", 80), i+1)
		text := g.text
		if len(g.users) == 1 {
			text, g.users[0].copyrights = g.whole, nil
		}
		for _, u := range g.users {
			fmt.Fprintf(&out, "%s\n", u.name)
			for _, line := range u.copyrights {
				fmt.Fprintf(&out, "    %s\n", line)
			}
		}
		fmt.Fprintf(&out, "%s\n\n%s\n\n", strings.Repeat("-", 80), text)
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// add notes that a component has the text.
func (g *group) add(c component, copyrights []string) {
	g.users = append(g.users, user{strings.TrimSpace(c.Name + " " + c.Version), copyrights})
}

// split takes the lines of copyright out of a text that has them in one place. A text that has them
// in several places, of several licences, is kept as it is, and ok is false.
func split(text string) (body string, copyrights []string, ok bool) {
	var kept []string
	last := -1
	for i, line := range strings.Split(text, "\n") {
		if !ownership(line) {
			kept = append(kept, line)
			continue
		}
		if last >= 0 && last != i-1 {
			return text, nil, false
		}
		last = i
		copyrights = append(copyrights, strings.TrimSpace(line))
	}
	return strings.Trim(strings.Join(kept, "\n"), "\n"), copyrights, true
}
