package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// marked matches a request in a page, which the tests of pages check.
var marked = regexp.MustCompile("(?s)<!-- message: (\\w+) -->\\s*```json\\n(.*?)\\n```")

// readExamples returns the first request for each message: of base.json's neighbour examples.json, else of the
// pages.
func readExamples() (map[string]*object, error) {
	raw, err := os.ReadFile("hack/openapi/examples.json")
	if err != nil {
		return nil, err
	}
	given := newObject()
	if err := json.Unmarshal(raw, given); err != nil {
		return nil, fmt.Errorf("examples.json: %w", err)
	}
	examples := map[string]*object{}
	for _, name := range given.keys {
		examples[name] = given.at(name)
	}
	pages, err := filepath.Glob("docs/*/*.md")
	if err != nil {
		return nil, err
	}
	slices.Sort(pages)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		for _, match := range marked.FindAllSubmatch(text, -1) {
			name, example := string(match[1]), newObject()
			if examples[name] != nil || json.Unmarshal(match[2], example) != nil {
				continue // a page may show several requests at once
			}
			examples[name] = example
		}
	}
	return examples, nil
}
