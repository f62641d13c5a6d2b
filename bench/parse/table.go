package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// bench runs the readers over the files of a directory.
type bench struct {
	dir     string
	again   []string
	worst   int
	timeout time.Duration
	workers int

	mu      sync.Mutex
	missing map[string]bool // readers that are not installed
	rows    []row
}

// row is what the readers made of one file.
type row struct {
	path, format string
	words        int // of the reference, or that the readers agree on
	results      map[string]result
	scores       map[string]scores
}

func (b *bench) run(paths []string) error {
	b.missing = map[string]bool{}
	work := make(chan string)
	var wg sync.WaitGroup
	var failed error
	for range b.workers {
		wg.Go(func() {
			for path := range work {
				if err := b.file(path); err != nil {
					b.mu.Lock()
					failed = err
					b.mu.Unlock()
				}
			}
		})
	}
	for _, path := range paths {
		work <- path
	}
	close(work)
	wg.Wait()
	b.print()
	return failed
}

// file runs the readers of a file and scores them.
func (b *bench) file(path string) error {
	name, err := filepath.Rel(filepath.Join(b.dir, "files"), path)
	if err != nil {
		return err
	}
	format, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	r := row{path: name, format: format, results: map[string]result{}, scores: map[string]scores{}}
	for _, reader := range readers() {
		if !reader.reads(format) {
			continue
		}
		found, err := reader.read(path, filepath.Join(b.dir, "out", reader.name, name), slices.Contains(b.again, reader.name), b.timeout)
		if errors.Is(err, exec.ErrNotFound) {
			b.mu.Lock()
			b.missing[reader.name] = true
			b.mu.Unlock()
			continue
		}
		if err != nil {
			return err
		}
		r.results[reader.name] = found
	}
	r.compare(path)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, r)
	return nil
}

// witnesses are the three readers whose majority is the reference of a format where a file has none. The order is that of the last.
var witnesses = map[string][3]string{"pdf": {"poppler", "mupdf", "pdfium"}, "rtf": {"pandoc", "unrtf", "striprtf"}}

// compare scores the results with the file's reference, or without one with the words that two of the witnesses find outside of
// running lines.
func (r *row) compare(path string) {
	if reference, err := os.ReadFile(path + referenceEnding); err == nil {
		r.words = len(words(string(reference)))
		for name, found := range r.results {
			r.scores[name] = score(found.Text, string(reference))
		}
		return
	}
	var texts []string
	for _, name := range witnesses[r.format] {
		texts = append(texts, withoutRunning(r.results[name].Text))
	}
	if texts == nil {
		return
	}
	order := texts[len(texts)-1]
	want := agreed(texts)
	for _, n := range want {
		r.words += n
	}
	for name, found := range r.results {
		s := score(found.Text, order)
		s.headings, s.items, s.rows, s.other = -1, -1, -1, -1
		s.words = share(found.Text, want)
		r.scores[name] = s
	}
}

// margin is how many lines at each end of a page may be running lines, which stand on this many pages at least.
const (
	margin     = 4
	fewestSame = 3
)

var digits = regexp.MustCompile(`\d+`)

// withoutRunning returns a text, whose pages end with form feeds, without the lines at the ends of pages that several pages have but
// for their numbers.
func withoutRunning(text string) string {
	pages := strings.Split(text, "\f")
	if len(pages) < fewestSame {
		return text
	}
	seen := map[string]int{}
	lines := make([][]string, len(pages))
	for i, page := range pages {
		for line := range strings.Lines(page) {
			if strings.TrimSpace(line) != "" {
				lines[i] = append(lines[i], line)
			}
		}
		for at, line := range lines[i] {
			if at < margin || at >= len(lines[i])-margin {
				seen[running(line)]++
			}
		}
	}
	var out strings.Builder
	for _, page := range lines {
		for at, line := range page {
			if seen[running(line)] < fewestSame || at >= margin && at < len(page)-margin {
				out.WriteString(line)
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// running is what running lines of several pages have in common.
func running(line string) string { return digits.ReplaceAllString(strings.TrimSpace(line), "0") }

func share(text string, want map[string]int) float64 { return found(count(words(text)), want) }

// fewest is the number of words from which on a file counts.
const fewest = 20

func (b *bench) print() {
	formats := map[string][]row{}
	for _, r := range b.rows {
		if r.words >= fewest {
			formats[r.format] = append(formats[r.format], r)
		}
	}
	fmt.Println("| format | files | reader | words found | weighted | files under 0.95 | under 0.8 | order | other words | headings | items | rows | CPU s a file | MiB at most |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, format := range slices.Sorted(maps.Keys(formats)) {
		for _, reader := range readers() {
			if reader.reads(format) && !b.missing[reader.name] {
				printRow(format, reader.name, formats[format])
			}
		}
	}
	for name := range b.missing {
		fmt.Printf("\n%s is not installed.\n", name)
	}
	for _, format := range slices.Sorted(maps.Keys(formats)) {
		b.printWorst(formats[format])
	}
}

// mean adds numbers, leaving out those under 0.
type mean struct{ sum, weight float64 }

func (m *mean) add(v, weight float64) {
	if v >= 0 {
		m.sum, m.weight = m.sum+v*weight, m.weight+weight
	}
}

func (m *mean) String() string {
	if m.weight == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", m.sum/m.weight)
}

func printRow(format, name string, rows []row) {
	var recall, weighted, order, other, headings, items, lines, seconds mean
	var memory int64
	under95, under80 := 0, 0
	for _, r := range rows {
		s := r.scores[name]
		recall.add(s.words, 1)
		weighted.add(s.words, float64(r.words))
		order.add(s.order, 1)
		other.add(s.other, 1)
		headings.add(s.headings, 1)
		items.add(s.items, 1)
		lines.add(s.rows, 1)
		seconds.add(r.results[name].CPU.Seconds(), 1)
		memory = max(memory, r.results[name].Memory)
		if s.words < 0.95 {
			under95++
		}
		if s.words < 0.8 {
			under80++
		}
	}
	fmt.Printf("| %s | %d | %s | %s | %s | %d | %d | %s | %s | %s | %s | %s | %s | %d |\n", format, len(rows), name,
		&recall, &weighted, under95, under80, &order, &other, &headings, &items, &lines, &seconds, memory>>10)
}

// printWorst lists the files where ragd finds the fewest words.
func (b *bench) printWorst(rows []row) {
	slices.SortFunc(rows, func(x, y row) int { return cmp.Compare(x.scores["ragd"].words, y.scores["ragd"].words) })
	for _, r := range rows[:min(len(rows), b.worst)] {
		fmt.Printf("\n%s: %d words", r.path, r.words)
		for _, reader := range readers() {
			if s, ok := r.scores[reader.name]; ok {
				fmt.Printf(", %s %.3f", reader.name, s.words)
			}
		}
		if failed := r.results["ragd"].Failed; failed != "" {
			fmt.Printf(": %s", failed)
		}
	}
	fmt.Println()
}
