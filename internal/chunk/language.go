package chunk

import (
	"maps"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/sentence"
)

// Languages returns the names of the separator presets, sorted.
func Languages() []string { return slices.Sorted(maps.Keys(presets)) }

func knownLanguage(name string) bool {
	_, ok := presets[name]
	return ok
}

// defaultSeparators are those of paragraphs, lines, words and characters. They also end
// every preset.
var defaultSeparators = []string{"\n\n", "\n", " ", ""}

// generalSeparators returns defaultSeparators, with the ends of sentences, clauses and words that
// may be cut before characters.
func generalSeparators(cuts Cuts) []separator {
	switch seps := literals("\n\n", "\n"); cuts {
	case CutsSentences:
		return append(append(literals("\n\n"), wrappedSentence{everySentence}, literal("\n"), everySentence), finerSeparators...)
	case CutsClauses:
		return append(append(seps, wideSentence), finerSeparators...)
	}
	return append(literals("\n\n", "\n", " "), anywhere{})
}

// finerSeparators are those within a sentence, coarsest first.
var finerSeparators = []separator{wideClause(sentence.Semicolons), wideClause(sentence.Commas), literal(" "), afterMark("\u200b"), betweenWords{}, anywhere{}}

// presets has the separators of each language, coarsest first. The general ones
// follow them.
var presets = map[string][]separator{
	"c":          keywords(cKeywords),
	"cpp":        keywords(cKeywords),
	"go":         keywords("package import func type struct interface const var if for switch case"),
	"java":       keywords(javaKeywords),
	"scala":      keywords(javaKeywords),
	"kotlin":     keywords("package import class interface fun val var object companion if for while when"),
	"js":         keywords("class function const let var if for while switch case default"),
	"ts":         keywords("enum interface namespace type class function const let var if for while switch case default"),
	"php":        keywords("namespace use class interface trait function public private protected if foreach for while switch case"),
	"python":     literals("\nclass ", "\ndef ", "\n\tdef ", "\n\t\tdef ", "\nasync def ", "\nif ", "\nfor ", "\nwhile ", "\ntry ", "\nexcept "),
	"ruby":       keywords("module class def if unless while for begin rescue"),
	"rust":       keywords("mod use fn struct enum impl trait const let if for while match"),
	"swift":      keywords("import class struct enum protocol func var let if for while switch case"),
	"csharp":     keywords("namespace using class interface struct enum public private protected internal void if for while switch case"),
	"sol":        keywords("pragma import contract interface library function event modifier error struct enum if for while"),
	"lua":        literals("\nfunction ", "\nlocal function ", "\nif ", "\nfor ", "\nwhile ", "\nrepeat "),
	"perl":       keywords("sub package use my our if unless while for foreach"),
	"haskell":    keywords("module import data type newtype class instance where let if case"),
	"elixir":     keywords("defmodule defprotocol defimpl def defp defmacro if case cond"),
	"powershell": keywords("function filter param if foreach for while switch"),
	"proto":      keywords("syntax package import message service enum rpc"),
	"cobol": literals("\nIDENTIFICATION DIVISION", "\nENVIRONMENT DIVISION", "\nDATA DIVISION", "\nPROCEDURE DIVISION",
		"\nWORKING-STORAGE SECTION", "\nPERFORM ", "\nIF ", "\nEVALUATE "),
	"html": literals("<body", "<div", "<p", "<br", "<li", "<h1", "<h2", "<h3", "<h4", "<h5", "<h6", "<span", "<table", "<tr", "<td",
		"<th", "<ul", "<ol", "<header", "<footer", "<nav"),
	"markdown": {heading, literal("```\n"), ruleLine('*', 3), ruleLine('-', 3), ruleLine('_', 3)},
	"latex":    latexSeparators,
	"rst":      {ruleLine('=', 1), ruleLine('-', 1), ruleLine('*', 1), literal("\n.. ")},
}

const (
	cKeywords    = "class void int float double if for while switch case"
	javaKeywords = "package import class interface enum public protected private static void if for while switch case"
)

// keywords returns a separator for each word of the list: the word at the start of
// a line, with a space after it.
func keywords(list string) []separator {
	var out []separator
	for _, k := range strings.Fields(list) {
		out = append(out, literal("\n"+k+" "))
	}
	return slices.Clip(out) // appending copies
}

func literals(list ...string) []separator {
	var out []separator
	for _, s := range list {
		out = append(out, literal(s))
	}
	return slices.Clip(out) // appending copies
}

// ruleLine returns a separator that matches a line of at least n characters c and
// nothing else, from the line feed before it to the one after it.
func ruleLine(c byte, n int) separator {
	return matcher{prefix: "\n" + strings.Repeat(string(c), n), match: func(text string, at, to int) int {
		i := at + 1
		for i < to && text[i] == c {
			i++
		}
		if i < to && text[i] == '\n' {
			return i + 1
		}
		return -1
	}}
}
