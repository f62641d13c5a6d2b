//go:build !race

package chunk

import (
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// TestHugeMarkupTakesLinearTimeAndMemory splits huge Markdown, HTML and JSON, as
// TestHugeTextsTakeLinearTimeAndMemory does plain texts. The inputs could make a parser
// look back, look ahead or nest without limit.
func TestHugeMarkupTakesLinearTimeAndMemory(t *testing.T) {
	size := hugeSize()
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	// Each text is created only when its case runs.
	within := func(open, unit, end string) func() string {
		return func() string { return open + strings.Repeat(unit, (size-len(open)-len(end))/len(unit)) + end }
	}
	repeat := func(unit string) func() string { return within("", unit, "") }
	nested := func(open, middle, end string, depth int) string {
		return strings.Repeat(open, depth) + middle + strings.Repeat(end, depth)
	}
	numbered := func(open, unit, end string) func() string {
		return func() string {
			var sb strings.Builder
			sb.WriteString(open)
			for i := 0; sb.Len() < size; i++ {
				sb.WriteString(unit + strconv.FormatInt(int64(i), 36))
			}
			return sb.String() + end
		}
	}
	headers := map[string]any{"strategy": "markdown", "headers": []any{[]any{"#", "h1"}, []any{"##", "h2"}}}
	html := map[string]any{"strategy": "html", "headers": DefaultHTMLHeaders}
	sections := map[string]any{"strategy": "html", "sections": []any{[]any{"div", "d"}, []any{".x", "x"}, []any{"h1", "h"}}}
	json := map[string]any{"strategy": "json", "maxSize": 1000}
	lists := map[string]any{"strategy": "json", "maxSize": 1000, "convertLists": true}
	cut := func(raw map[string]any) map[string]any {
		out := map[string]any{"maxSize": 1000}
		for k, v := range raw {
			out[k] = v
		}
		return out
	}
	for _, shape := range []struct {
		name string
		text func() string
		raw  []map[string]any

		memory int // limit in bytes per byte of the text; 0 means 6
	}{
		{"one word", repeat("a"), []map[string]any{headers, cut(headers), html, cut(html)}, 0},
		{"newlines", repeat("\n"), []map[string]any{headers, html}, 0},
		{"unclosed fence", within("", "```\n", "```"), []map[string]any{headers, cut(headers)}, 0},
		{"code without end", within("```\n", "# a\n", ""), []map[string]any{headers, cut(headers)}, 0},
		{"paragraphs", repeat("a\n\n"), []map[string]any{headers, cut(headers)}, 0},
		{"the same heading", repeat("# a\nb\n"), []map[string]any{headers}, 0},
		{"headings", repeat("# a\n## b\nc\n"), []map[string]any{headers}, 0},
		{"nested quotations", repeat("> "), []map[string]any{headers}, 0},
		{"nested lists and blank lines", within(strings.Repeat("- ", size/4)+"a\n", "\n", "# b"), []map[string]any{headers}, 0},
		{"deep lines", within(strings.Repeat("> - ", 50)+"a\n", "> > a\n", "# b"), []map[string]any{headers}, 0},
		{"definitions of links", within("# a\n", "[a]: /b\n", "c\n==="), []map[string]any{headers}, 0},
		{"definitions on two lines", within("# a\n", "[a]:\n", "c\n==="), []map[string]any{headers}, 0},
		{"open brackets in a paragraph", within("# a\n", "[", "\n==="), []map[string]any{headers}, 0},
		{"underlined headings", repeat("a\n===\n"), []map[string]any{headers}, 0},
		{"one underlined paragraph", within("a\n", "a\n", "==="), []map[string]any{headers}, 0},
		{"lines of HTML", within("# a\n", "<a\n", ""), []map[string]any{headers}, 0},
		{"an open comment", within("<!--\n", "# a\n", ""), []map[string]any{headers}, 0},
		{"front matter without end", within("---\n", "a: b\n", ""), []map[string]any{headers}, 0},
		{"open tags", repeat("<div>"), []map[string]any{html, sections}, 0},
		{"open tags around text", repeat("<div>a"), []map[string]any{html, cut(html), sections}, 0},
		{"nested tags", repeat(nested("<div>", "a", "</div>", min(100_000, size/20))), []map[string]any{html, sections}, 0},
		{"open inline tags and rules", within(strings.Repeat("<b>", 300), "<hr>", "x"), []map[string]any{html}, 0},
		{"stray end tags", within("<p>", "</b>", "x"), []map[string]any{html}, 0},
		{"paragraph tags", repeat("<p>a"), []map[string]any{html, cut(html)}, 0},
		{"headings in markup", repeat("<h1>a<h2>b</h2>c"), []map[string]any{html, sections}, 0},
		{"open titles", repeat("<i class=x>a title of some words"), []map[string]any{sections, {"strategy": "html", "headers": []any{[]any{".x", "x"}}}}, 0},
		{"long names around headings", within("<"+strings.Repeat("a", size/2)+">", "<h1>a", ""), []map[string]any{html}, 0},
		{"long titles", within("<h1>"+strings.Repeat("a", 2000)+"</h1>", "<h2>b</h2>c", ""), []map[string]any{html}, 0},
		{"one open heading", within("<h1>", "<b>a", ""), []map[string]any{html, cut(html)}, 0},
		{"attributes", numbered("<p", " ", ">a"), []map[string]any{html, sections}, 0},
		{"class names", within(`<p class="`, "xx ", `">a`), []map[string]any{sections}, 0},
		{"quotes without end", repeat(`<a b="`), []map[string]any{html}, 0},
		{"less-than signs", repeat("<"), []map[string]any{html, cut(html)}, 0},
		{"tags without end", repeat("<a "), []map[string]any{html}, 0},
		{"comments without end", repeat("<!-- -"), []map[string]any{html}, 0},
		{"dashes in a comment", within("<!--", "-", ""), []map[string]any{html}, 0},
		{"scripts", repeat("<script><!--</script>"), []map[string]any{html}, 0},
		{"nested scripts", repeat("<script><!--<script>"), []map[string]any{html}, 0},
		{"titles without end", repeat("<title><textarea>"), []map[string]any{html}, 0},
		{"entities", repeat("&lt;"), []map[string]any{html, cut(html)}, 0},
		{"text and entities", repeat("a&lt"), []map[string]any{html, cut(html)}, 0},
		{"one entity", within("&", "a", ""), []map[string]any{html}, 0},
		{"names of elements", numbered("", "<a", ">"), []map[string]any{html}, 0},
		{"open brackets", repeat("["), []map[string]any{json}, 0},
		{"open braces", repeat(`{"":`), []map[string]any{json}, 0},
		{"nested arrays", within("[", nested("[", "", "]", 9_000)+",", "0]"), []map[string]any{json, lists}, 12},
		{"nested objects", within("[", nested(`{"a":`, "0", "}", 1_000)+",", "0]"), []map[string]any{json}, 12},
		{"nested objects out of order", within("[", nested(`{"a":0,"1":`, "0", "}", 1_000)+",", "0]"), []map[string]any{json}, 12},
		{"empty arrays", within("[", "[],", "0]"), []map[string]any{json, lists}, 10},
		{"numbers", within(`{"a":[`, "1,", "0]}"), []map[string]any{json, lists}, 10},
		{"scalars at the root", within("[", "1,", "0]"), []map[string]any{json}, 10},
		{"keys out of order", within("{", `"b":0,"1":0,`, `"":0}`), []map[string]any{json}, 0},
		{"one string", within(`"`, "a", `"`), []map[string]any{json}, 0},
		{"one string of escapes", within(`{"a":"`, `\"`, `"}`), []map[string]any{json}, 0},
		{"one wide string", within(`["`, "語", `"]`), []map[string]any{json}, 10},
		{"one key", within(`{"`, "a", `":[1,2]}`), []map[string]any{json}, 0},
		{"space", within("[", "                                                                1,", "0]"), []map[string]any{json}, 0},
	} {
		text := shape.text()
		for i, raw := range shape.raw {
			t.Run(shape.name+"/"+strconv.Itoa(i), func(t *testing.T) { splitHuge(t, text, raw, max(6, shape.memory)) })
		}
	}
}
