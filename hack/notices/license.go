package main

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// allowed are the licences that the binary may contain: those that ask for a notice at most, and
// the Mozilla Public License, which asks for the source of the files that it covers, which are
// unchanged here.
var allowed = []string{
	"0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "FTL", "IJG", "ISC",
	"LicenseRef-AGG-2.3", "MIT", "MIT-0", "MIT-Modern-Variant", "MPL-2.0", "SunPro", "Unicode-3.0", "Unlicense", "Zlib",
}

// review is what somebody found who has read a file.
type review struct {
	licenses string // an SPDX expression; "" leaves the file out
	checksum string // the beginning of the SHA-256 of the text, in hexadecimal
}

// reviewed says what is in files that hold more than known licences.
var reviewed = map[string]review{
	"rolldown LICENSE":                              {"MIT", "23ecfff35a5a"},                // and where the licences of libraries of the bundler are
	"go.yaml.in/yaml/v3 LICENSE":                    {"Apache-2.0 AND MIT", "d18f6323b71b"}, // and which file is under which
	"github.com/ncruces/go-sqlite3-wasm/v6 LICENSE": {"MIT-0", "13219037ddf6"},              // under another name; SQLite, which it translates, is in the public domain

	"gonum.org/v1/gonum THIRD_PARTY_LICENSES/Sun-LICENSE":     {"SunPro", "1fad26590385"},
	"gonum.org/v1/gonum THIRD_PARTY_LICENSES/W3C-BSD-LICENSE": {"BSD-3-Clause", "5531609b9501"},                        // of works instead of source code
	"github.com/klauspost/compress LICENSE":                   {"BSD-3-Clause AND Apache-2.0 AND MIT", "0d9e582ee4bf"}, // and which folders are under which
	"github.com/cyphar/filepath-securejoin COPYING.md":        {"BSD-3-Clause", "83e36e42b3da"},                        // and which files are under which; the binary has join.go and vfs.go
	// These are of packages and tests that the binary does not have.
	"gonum.org/v1/gonum THIRD_PARTY_LICENSES/Bogaert-LICENSE":       {"", "19912b29acb8"}, // integrate/quad
	"gonum.org/v1/gonum THIRD_PARTY_LICENSES/MT19937-64-LICENSE":    {"", "c9c37150f4da"}, // mathext/prng
	"gonum.org/v1/gonum THIRD_PARTY_LICENSES/MT19937-LICENSE":       {"", "b92dad20b731"}, // mathext/prng
	"gonum.org/v1/gonum THIRD_PARTY_LICENSES/W3C-TestSuite-LICENSE": {"", "aa82ad47b727"}, // test data
	"github.com/cyphar/filepath-securejoin LICENSE.MPL-2.0":         {"", "3f3d9e0024b1"}, // pathrs-lite
}

// supplied are the lines of copyright of packages that come without a licence text but name their
// licence: those at the top of their source files, or their author.
var supplied = map[string]string{
	"@bufbuild/protobuf":             "Copyright 2021-2026 Buf Technologies, Inc.\nCopyright 2008 Google Inc.  All rights reserved.",
	"@connectrpc/connect":            "Copyright 2021-2026 The Connect Authors",
	"@connectrpc/connect-query":      "Copyright 2021-2023 The Connect Authors",
	"@connectrpc/connect-query-core": "Copyright 2021-2023 The Connect Authors",
	"@connectrpc/connect-web":        "Copyright 2021-2026 The Connect Authors",
	"react-remove-scroll-bar":        "Copyright (c) Anton Korzunov",
}

// supply returns the texts of a package's licences, if the package is in supplied.
func supply(name, licenses string) (files []file, err error) {
	copyrights, ok := supplied[name]
	if !ok {
		return nil, nil
	}
	for license := range strings.SplitSeq(strings.Trim(licenses, "()"), " AND ") {
		text, err := knownFiles.ReadFile("known/" + license + ".txt")
		if err != nil {
			return nil, fmt.Errorf("%s: there is no text of the licence %q: %w", name, license, err)
		}
		files = append(files, file{"LICENSE-" + license, copyrights + "\n\n" + clean(string(text))})
	}
	return files, nil
}

//go:embed known/*.txt
var knownFiles embed.FS

// licence is a text in the folder known.
type licence struct {
	name string // of SPDX
	runs map[string]bool
}

// licences returns the licences in the folder known.
var licences = sync.OnceValues(func() (all []licence, err error) {
	entries, err := knownFiles.ReadDir("known")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		text, err := knownFiles.ReadFile("known/" + entry.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, licence{strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())), runs(wordsOf(string(text)))})
	}
	return all, nil
})

const (
	// window is how many words in a row have to agree with a licence.
	window = 4
	// complete is the least share of a licence's words in a text that contains the licence.
	complete = 0.85
	// maxUnknown is how many words of a text may be of no licence: titles and names.
	maxUnknown = 20
)

// recognize returns the licences that a text consists of, by their SPDX names. where is the
// component and the name of the file.
func recognize(where, text string) ([]string, error) {
	if r, ok := reviewed[where]; ok {
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		if !strings.HasPrefix(sum, r.checksum) || r.checksum == "" {
			return nil, fmt.Errorf("%s has changed since it was reviewed: read it again; its checksum is %.12s now", where, sum)
		}
		return slices.DeleteFunc(strings.Split(r.licenses, " AND "), func(name string) bool { return name == "" }), nil
	}
	all, err := licences()
	if err != nil {
		return nil, err
	}
	words := wordsOf(text)
	in := runs(words)
	known := map[string]bool{}
	var found []string
	for _, l := range all {
		common := 0
		for run := range l.runs {
			if in[run] {
				common++
			}
		}
		if float64(common) >= complete*float64(len(l.runs)) {
			found = append(found, l.name)
			maps.Copy(known, l.runs)
		}
	}
	for larger, smaller := range map[string]string{"BSD-3-Clause": "BSD-2-Clause", "ISC": "0BSD"} {
		if slices.Contains(found, larger) {
			found = slices.DeleteFunc(found, func(name string) bool { return name == smaller })
		}
	}
	unknown := outside(words, known)
	if len(found) == 0 || len(unknown) > maxUnknown || slices.ContainsFunc(unknown, condition) {
		return nil, fmt.Errorf("%s holds terms that are not of a known licence: read it, and list it in reviewed: %.300q", where, strings.Join(unknown, " "))
	}
	return found, nil
}

// condition reports whether a word suggests that somebody has added a condition to a licence.
func condition(word string) bool {
	return slices.Contains([]string{"advertising", "commercial", "except", "forbidden", "must", "not", "only", "prohibited", "provided", "shall", "sell", "unless"}, word)
}

var (
	copyright = regexp.MustCompile(`^\W*(?i:(portions )?copyright)\W*(\d{4}|\([cC]\)|©|[A-Z][a-z]).*|^\W*(©|\([cC]\))\W*\d{4}.*|^\W*(?i:all rights reserved)\W*$`)
	title     = regexp.MustCompile(`^(?i:(the )?(mit|isc|bsd [23]-clause)( license)?( \(mit\))?)$`)
	word      = regexp.MustCompile(`[a-z0-9]+`)
	bullet    = regexp.MustCompile(`^([a-z]|[ivx]+|\d{1,2})$`)
)

// wordsOf returns the words of a text in lower case, without titles, lines of copyright and the
// numbers of items.
func wordsOf(text string) (words []string) {
	for line := range strings.Lines(text) {
		if ownership(line) || title.MatchString(strings.TrimSpace(line)) {
			continue
		}
		for _, w := range word.FindAllString(strings.ToLower(line), -1) {
			if !bullet.MatchString(w) {
				words = append(words, w)
			}
		}
	}
	return words
}

// ownership reports whether a line says who holds the copyright.
func ownership(line string) bool {
	line = strings.TrimSpace(line)
	return copyright.MatchString(line) && !strings.Contains(line, "opyright notice") && !strings.Contains(line, "opyright holder") && !strings.Contains(line, "opyright owner")
}

// runs returns every window of a text.
func runs(words []string) map[string]bool {
	found := map[string]bool{}
	for i := 0; i+window <= len(words); i++ {
		found[strings.Join(words[i:i+window], " ")] = true
	}
	return found
}

// outside returns the words that are in no window of the known ones.
func outside(words []string, known map[string]bool) (unknown []string) {
	covered := make([]bool, len(words))
	for i := 0; i+window <= len(words); i++ {
		if known[strings.Join(words[i:i+window], " ")] {
			for j := range window {
				covered[i+j] = true
			}
		}
	}
	for i, w := range words {
		if !covered[i] {
			unknown = append(unknown, w)
		}
	}
	return unknown
}
