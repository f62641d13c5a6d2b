package server

import "testing"

func TestPackages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Package{
		"oci:registry.example.com:5000/ragd:1.2.0": {Type: "oci", Identifier: "registry.example.com:5000/ragd:1.2.0"},
		"npm:@acme/ragd@1.2.0":                     {Type: "npm", Identifier: "@acme/ragd", Version: "1.2.0"},
		"npm:ragd@1.2.0":                           {Type: "npm", Identifier: "ragd", Version: "1.2.0"},
		"npm:ragd":                                 {},
		"npm:ragd@latest":                          {},
		"apt:ragd":                                 {},
		"oci:":                                     {},
		"oci:a b":                                  {},
	} {
		got, err := ParsePackage(text)
		if got != want || (err == nil) != (want != Package{}) {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
}
