// Command parse compares what ragd reads from files with what other readers do: the words
// that are found, their order, the structure, CPU time and memory.
//
//	go run ./bench/parse -dir DIR                    # all readers over DIR/files
//	go run ./bench/parse -dir DIR -again ragd -worst 30
//	go run ./bench/parse read FILE                   # the text that ragd reads
//	go run ./bench/parse html DIR...                 # what ragd finds of the HTML pages below each folder
//	go run ./bench/parse boxes FILE.pdf...           # whether sentences stand in their boxes, by poppler
//
// The README says how to make the files. Texts that readers returned are kept in DIR/out
// and not read again, except for the readers named by -again.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/libreoffice"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "read" {
		if err := read(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "html" {
		if err := measureHTML(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "boxes" {
		if err := measureBoxes(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var b bench
	flag.StringVar(&b.dir, "dir", "", "directory with files/FORMAT/NAME, written by make.py, office.py, pages.py and fetch.sh")
	again := flag.String("again", "", "readers, separated by commas, that read all files again")
	only := flag.String("only", "", "read only files whose path contains this")
	flag.IntVar(&b.worst, "worst", 0, "also list this many files of each format where ragd finds the fewest words")
	flag.DurationVar(&b.timeout, "timeout", time.Minute, "time that a reader has for a file")
	flag.IntVar(&b.workers, "workers", 2, "files read at once")
	flag.Parse()
	b.again = strings.Split(*again, ",")
	if b.dir == "" {
		flag.Usage()
		os.Exit(2)
	}
	paths, err := files(filepath.Join(b.dir, "files"), *only)
	if err == nil {
		err = b.run(paths)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// read writes the text of a file to the standard output.
func read(path string) error {
	content, err := os.ReadFile(path) //nolint:gosec // of the command line
	if err != nil {
		return err
	}
	src := parse.Source{Content: content, FileName: path}
	if office := (libreoffice.Config{Program: "soffice"}); office.Resolve(context.Background()) == nil {
		src.Convert = office.Convert
	}
	doc, err := parse.Parse(context.Background(), src)
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(doc.Text)
	return err
}

// files returns the paths of the files below dir, without references.
func files(dir, only string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, referenceEnding) || !strings.Contains(path, only) {
			return err
		}
		paths = append(paths, path)
		return nil
	})
	return paths, err
}
