// Command notices writes THIRD_PARTY_NOTICES: what the binary contains of others, under which
// licences. `make generate` runs it at the top of the repository.
//
// It lists the Go modules of the packages that the go command would compile for any platform of a
// release, the libraries inside of compiled files that these modules carry and the tables that
// hack/ranks takes from a module (carried.json), and the packages whose modules are in the bundle of
// the console (console.json, which the build of the console writes). It fails for a licence that is not on the list of allowed ones, for a
// module without a licence, and for a text that holds terms besides known licences, unless
// somebody has read it (reviewed).
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
)

func main() {
	out := flag.String("o", "internal/operate/notices/THIRD_PARTY_NOTICES", "the `file` to write")
	flag.Parse()
	text, err := notices(".")
	if err == nil {
		err = os.WriteFile(*out, []byte(text), 0o644) //nolint:gosec // G306: everybody may read it
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

// notices returns the text for the module in a folder.
func notices(folder string) (string, error) {
	modules, err := modules(folder)
	if err != nil {
		return "", err
	}
	direct, inside, err := carried(folder, modules)
	if err != nil {
		return "", err
	}
	bundled, err := bundled()
	if err != nil {
		return "", err
	}
	return write([]section{
		{"Go", slices.Concat(direct[:1], modules, direct[1:])},
		{"In the WebAssembly of github.com/klippa-app/go-pdfium, which reads PDF files", inside},
		{"In the console", bundled},
	}), nil
}
