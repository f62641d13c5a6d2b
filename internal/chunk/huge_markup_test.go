package chunk

import (
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// TestHugeMarkupTakesLinearTimeAndMemory is the same for the strategies that read
// structure, on what could make a reader of structure look back, look ahead or
// nest without end.
func TestHugeMarkupTakesLinearTimeAndMemory(t *testing.T) {
	size := hugeSize()
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	repeat := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	within := func(open, unit, end string) string {
		return open + strings.Repeat(unit, (size-len(open)-len(end))/len(unit)) + end
	}
	nested := func(open, middle, end string, depth int) string {
		return strings.Repeat(open, depth) + middle + strings.Repeat(end, depth)
	}
	var attributes strings.Builder
	for i := 0; attributes.Len() < size; i++ {
		attributes.WriteString(" " + strconv.FormatInt(int64(i), 36))
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
		name, text string
		raw        []map[string]any
	}{
		{"one word", repeat("a"), []map[string]any{headers, cut(headers), html, cut(html)}},
		{"newlines", repeat("\n"), []map[string]any{headers, html}},
		{"unclosed fence", repeat("```\n")[1:], []map[string]any{headers, cut(headers)}},
		{"code without end", "```\n" + repeat("# a\n"), []map[string]any{headers, cut(headers)}},
		{"paragraphs", repeat("a\n\n"), []map[string]any{headers, cut(headers)}},
		{"the same heading", repeat("# a\nb\n"), []map[string]any{headers}},
		{"headings", repeat("# a\n## b\nc\n"), []map[string]any{headers}},
		{"open tags", repeat("<div>"), []map[string]any{html, sections}},
		{"open tags around text", repeat("<div>a"), []map[string]any{html, cut(html), sections}},
		{"nested tags", strings.Repeat(nested("<div>", "a", "</div>", 100_000), max(1, size/1_100_000)), []map[string]any{html, sections}},
		{"open inline tags and rules", within(strings.Repeat("<b>", 300), "<hr>", "x"), []map[string]any{html}},
		{"stray end tags", within("<p>", "</b>", "x"), []map[string]any{html}},
		{"paragraph tags", repeat("<p>a"), []map[string]any{html, cut(html)}},
		{"headings in markup", repeat("<h1>a<h2>b</h2>c"), []map[string]any{html, sections}},
		{"open titles", repeat("<i class=x>a title of some words"), []map[string]any{sections, {"strategy": "html", "headers": []any{[]any{".x", "x"}}}}},
		{"long names around headings", within("<"+strings.Repeat("a", size/2)+">", "<h1>a", ""), []map[string]any{html}},
		{"long titles", within("<h1>"+strings.Repeat("a", 2000)+"</h1>", "<h2>b</h2>c", ""), []map[string]any{html}},
		{"one open heading", within("<h1>", "<b>a", ""), []map[string]any{html, cut(html)}},
		{"attributes", "<p" + attributes.String() + ">a", []map[string]any{html, sections}},
		{"class names", within(`<p class="`, "xx ", `">a`), []map[string]any{sections}},
		{"quotes without end", repeat(`<a b="`), []map[string]any{html}},
		{"less-than signs", repeat("<"), []map[string]any{html, cut(html)}},
		{"tags without end", repeat("<a "), []map[string]any{html}},
		{"comments without end", repeat("<!-- -"), []map[string]any{html}},
		{"dashes in a comment", within("<!--", "-", ""), []map[string]any{html}},
		{"scripts", repeat("<script><!--</script>"), []map[string]any{html}},
		{"nested scripts", repeat("<script><!--<script>"), []map[string]any{html}},
		{"titles without end", repeat("<title><textarea>"), []map[string]any{html}},
		{"entities", repeat("&lt;"), []map[string]any{html, cut(html)}},
		{"text and entities", repeat("a&lt"), []map[string]any{html, cut(html)}},
		{"one entity", within("&", "a", ""), []map[string]any{html}},
		{"names of elements", strings.ReplaceAll(attributes.String(), " ", "<a"), []map[string]any{html}},
		{"open brackets", repeat("["), []map[string]any{json}},
		{"open braces", repeat(`{"":`), []map[string]any{json}},
		{"nested arrays", within("[", nested("[", "", "]", 9_000)+",", "0]"), []map[string]any{json, lists}},
		{"nested objects", within("[", nested(`{"a":`, "0", "}", 1_000)+",", "0]"), []map[string]any{json}},
		{"nested objects out of order", within("[", nested(`{"a":0,"1":`, "0", "}", 1_000)+",", "0]"), []map[string]any{json}},
		{"empty arrays", within("[", "[],", "0]"), []map[string]any{json, lists}},
		{"numbers", within(`{"a":[`, "1,", "0]}"), []map[string]any{json, lists}},
		{"scalars at the root", within("[", "1,", "0]"), []map[string]any{json}},
		{"keys out of order", within("{", `"b":0,"1":0,`, `"":0}`), []map[string]any{json}},
		{"one string", within(`"`, "a", `"`), []map[string]any{json}},
		{"one string of escapes", within(`{"a":"`, `\"`, `"}`), []map[string]any{json}},
		{"one wide string", within(`["`, "語", `"]`), []map[string]any{json}},
		{"one key", within(`{"`, "a", `":[1,2]}`), []map[string]any{json}},
		{"space", within("[", "                                                                1,", "0]"), []map[string]any{json}},
	} {
		for i, raw := range shape.raw {
			t.Run(shape.name+"/"+strconv.Itoa(i), func(t *testing.T) { splitHuge(t, shape.text, raw) })
		}
	}
}
