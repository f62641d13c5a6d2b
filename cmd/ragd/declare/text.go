package declare

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// write returns an object as a document of YAML: its kind, its name and its fields in the order of the API.
func write(k *kind, name string, fields tree) (string, error) {
	document := &yaml.Node{Kind: yaml.MappingNode}
	if err := add(document, "kind", k.name); err != nil {
		return "", err
	}
	if err := add(document, "name", name); err != nil {
		return "", err
	}
	spec := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range k.declarable() {
		if value, ok := fields[f.JSONName()]; ok {
			if err := add(spec, f.JSONName(), value); err != nil {
				return "", err
			}
		}
	}
	if len(spec.Content) > 0 {
		document.Content = append(document.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "spec"}, spec)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(document); err != nil {
		return "", fmt.Errorf("write %s %s: %w", k.name, name, err)
	}
	return out.String(), encoder.Close()
}

// add adds a field to an object.
func add(object *yaml.Node, name string, value any) error {
	key, node := &yaml.Node{}, &yaml.Node{}
	if err := key.Encode(name); err != nil {
		return err
	}
	if err := node.Encode(value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	object.Content = append(object.Content, key, node)
	return nil
}

// contextLines is the number of equal lines around those that differ.
const contextLines = 3

// maxPairs bounds the pairs of lines that are compared. Longer texts are shown as a whole.
const maxPairs = 25_000_000

// line is a line of a difference.
type line struct {
	mark byte // ' ', '-' or '+'
	text string
}

// unified returns the difference of two texts in the unified format, empty if there is none.
func unified(from, to, before, after string) string {
	if before == after {
		return ""
	}
	lines := differing(linesOf(before), linesOf(after))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
	old, now := 1, 1 // numbers of the next line
	for i := 0; i < len(lines); {
		first := slices.IndexFunc(lines[i:], func(l line) bool { return l.mark != ' ' })
		if first < 0 {
			break
		}
		begin := max(i, i+first-contextLines)
		old, now = old+begin-i, now+begin-i
		end, equal := begin, 0
		for ; end < len(lines) && equal <= 2*contextLines; end++ {
			equal++
			if lines[end].mark != ' ' || end < i+first {
				equal = 0
			}
		}
		end -= max(0, equal-contextLines)
		hunk := lines[begin:end]
		removed, added := count(hunk, '+'), count(hunk, '-')
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", span(old, removed), span(now, added))
		for _, l := range hunk {
			fmt.Fprintf(&out, "%c%s\n", l.mark, l.text)
		}
		old, now, i = old+removed, now+added, end
	}
	return out.String()
}

// count returns the number of lines without those of a mark.
func count(lines []line, without byte) int {
	n := 0
	for _, l := range lines {
		if l.mark != without {
			n++
		}
	}
	return n
}

// span returns the first line and the number of lines of a part.
func span(first, lines int) string {
	if lines == 0 {
		first--
	}
	return fmt.Sprintf("%d,%d", first, lines)
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// differing returns the lines of both texts: the longest common subsequence, and what is only in one of them.
func differing(a, b []string) []line {
	var head, tail []line
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head, a, b = append(head, line{' ', a[0]}), a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, line{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	slices.Reverse(tail)
	return slices.Concat(head, middle(a, b), tail)
}

// middle returns the lines of texts whose first and last lines differ.
func middle(a, b []string) []line {
	var out []line
	width := len(b) + 1
	var common []int32 // length of the longest common subsequence of a[i:] and b[j:], at i*width+j
	if len(a)*len(b) <= maxPairs {
		common = make([]int32, (len(a)+1)*width)
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if a[i] == b[j] {
					common[i*width+j] = common[(i+1)*width+j+1] + 1
				} else {
					common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
				}
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) && common != nil {
		switch {
		case a[i] == b[j]:
			out, i, j = append(out, line{' ', a[i]}), i+1, j+1
		case common[(i+1)*width+j] >= common[i*width+j+1]:
			out, i = append(out, line{'-', a[i]}), i+1
		default:
			out, j = append(out, line{'+', b[j]}), j+1
		}
	}
	for ; i < len(a); i++ {
		out = append(out, line{'-', a[i]})
	}
	for ; j < len(b); j++ {
		out = append(out, line{'+', b[j]})
	}
	return out
}
