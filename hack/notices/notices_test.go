package main

import (
	"os"
	"strings"
	"testing"
)

const mit = `MIT License

Copyright (c) 2020 Ada

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`

func TestTheNoticesAreUpToDate(t *testing.T) {
	t.Parallel()
	want, err := notices("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../internal/operate/notices/THIRD_PARTY_NOTICES")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("internal/operate/notices/THIRD_PARTY_NOTICES is not up to date: go run ./hack/notices")
	}
}

func TestLicencesThatAreRefused(t *testing.T) {
	t.Parallel()
	bsd, err := knownFiles.ReadFile("known/BSD-3-Clause.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, texts := range map[string]struct {
		files []file
		want  string
	}{
		"none":           {nil, "has no licence"},
		"only a notice":  {[]file{{"NOTICE", "Ada's works"}}, "has no licence"},
		"only a folder":  {[]file{{"json/LICENSE", mit}}, "has no licence"},
		"an unknown one": {[]file{{"LICENSE", "You may use this on Sundays."}}, "not of a known licence"},
		"a copyleft one": {[]file{{"LICENSE", "GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3, 19 November 2007\n" + strings.Repeat("Everyone is permitted to copy and distribute verbatim copies. ", 20)}}, "not of a known licence"},
		"a condition":    {[]file{{"LICENSE", mit + "\nThe Software shall be used for Good, not Evil.\n"}}, "not of a known licence"},
		"advertising":    {[]file{{"LICENSE", "All advertising materials must display an acknowledgement.\n" + string(bsd)}}, "not of a known licence"},
		"half of it":     {[]file{{"LICENSE", mit[:len(mit)/2]}}, "not of a known licence"},
		"changed":        {[]file{{"LICENSE-yaml", mit}, {"THIRD_PARTY_LICENSES/Sun-LICENSE", "Now for a fee."}}, "changed since it was reviewed"},
	} {
		c := component{Name: "gonum.org/v1/gonum", Version: "v1.0.0"}
		if err := c.read(texts.files); err == nil || !strings.Contains(err.Error(), texts.want) {
			t.Errorf("%s: %v, want %q", name, err, texts.want)
		}
	}
	if err := (&component{Name: "x", License: "MIT AND SSPL-1.0"}).allow(); err == nil {
		t.Error("SSPL is allowed")
	}
	if err := unchanged("example.com/pdf", "v1.0.0", []component{{Name: "example.com/pdf", Version: "v1.1.0"}}); err == nil {
		t.Error("the contents of a new version are taken for those of the old one")
	}
}

func TestLicencesAreRecognized(t *testing.T) {
	t.Parallel()
	entries, err := knownFiles.ReadDir("known")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := knownFiles.ReadFile("known/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSuffix(entry.Name(), ".txt")
		if got, err := recognize("x LICENSE", "Copyright 2020 Ada Lovelace\n\n"+string(text)); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s is taken for %q, %v", want, got, err)
		}
	}
}

func TestEqualTextsStandOnceWithEveryCopyright(t *testing.T) {
	t.Parallel()
	two := mit + "\n" + strings.ReplaceAll(mit, "Ada", "Byron")
	text := write([]section{{"All", []component{
		{Name: "a", Version: "v1", License: "MIT", Texts: []string{mit}},
		{Name: "b", License: "MIT", Texts: []string{strings.ReplaceAll(strings.Replace(mit, "MIT License", "The MIT License (MIT)", 1), "Ada", "Grace")}},
		{Name: "c", License: "MIT", Texts: []string{two}},
		{Name: "d", License: "MIT", Texts: []string{strings.ReplaceAll(two, "Byron", "Turing")}},
	}}})
	if got := strings.Count(text, "Permission is hereby granted"); got != 5 {
		t.Errorf("the text stands %d times, want once for a and b, and twice in each of c and d:\n%s", got, text)
	}
	for _, holder := range []string{"Ada", "Grace", "Byron", "Turing"} {
		if !strings.Contains(text, "Copyright (c) 2020 "+holder) {
			t.Errorf("the copyright of %s is lost", holder)
		}
	}
}
