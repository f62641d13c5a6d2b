package grounding

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/sentence"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// marks match what is no part of what a text says: markers of citations and footnotes, and the marks of list items.
var marks = regexp.MustCompile(`\[\^?\d{1,5}(?:\s?,\s?\d{1,5}){0,15}\]|(?m:^[ \t]*(?:[-*•+>][ \t]+|\d{1,3}[.)][ \t]+)+)`)

// withoutMarks returns a text in which spaces stand for its marks, byte for byte.
func withoutMarks(text string) string {
	return marks.ReplaceAllStringFunc(text, func(mark string) string { return strings.Repeat(" ", len(mark)) })
}

var enders = sentence.Default()

// split returns the sentences of a text, without the white space around them. A line ends a sentence, unless the next one
// goes on with a small letter.
func split(text string) (spans []Span) {
	for start := 0; start < len(text); {
		end := blockEnd(text, start)
		for at := start; at < end; {
			at += len(text[at:end]) - len(strings.TrimLeftFunc(text[at:end], unicode.IsSpace))
			if at == end {
				break
			}
			to := cutAt(text, at, max(enders.End(text, at, min(end, at+4*maxSentenceBytes)), at+1))
			if trimmed := strings.TrimRightFunc(text[at:to], unicode.IsSpace); trimmed != "" {
				spans = append(spans, Span{at, at + len(trimmed)})
			}
			at = to
		}
		start = end
	}
	return spans
}

// maxSentenceBytes is where longer sentences are cut, so that what has no end of a sentence takes no longer to compare.
const maxSentenceBytes = 1500

// cutAt returns the end of a sentence, or where it is cut, at white space if there is any.
func cutAt(text string, start, end int) int {
	if end-start <= maxSentenceBytes {
		return end
	}
	cut := textlimit.Cut(text[start:end], maxSentenceBytes)
	if space := strings.LastIndexFunc(cut, unicode.IsSpace); space > 0 {
		return start + space
	}
	return start + max(len(cut), 1)
}

// blockEnd returns the end of the lines from start on that go on with a small letter.
func blockEnd(text string, start int) int {
	for at := start; ; {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return len(text)
		}
		at += n + 1
		if r, _ := utf8.DecodeRuneInString(text[at:]); !unicode.IsLower(r) {
			return at
		}
	}
}

// withMarkers extends sentences by the markers of citations that follow them.
func withMarkers(sentences []Sentence, answer, plain string) []Sentence {
	for n := range sentences {
		end := len(answer)
		if n+1 < len(sentences) {
			end = sentences[n+1].Start
		}
		from := sentences[n].End
		for _, at := range marks.FindAllStringIndex(answer[from:end], -1) {
			if answer[from+at[0]] != '[' || strings.Contains(answer[sentences[n].End:from+at[0]], "\n") || strings.TrimSpace(plain[from:from+at[0]]) != "" {
				break
			}
			sentences[n].End = from + at[1]
		}
	}
	return sentences
}

// Without returns a text without the sentences in spans, which are in their order, and without the lines and list items that this leaves
// empty.
func Without(text string, spans []Span) string {
	var b strings.Builder
	at := 0
	for _, s := range spans {
		before, end := text[at:s.Start], s.End
		line := strings.LastIndexByte(text[:s.Start], '\n') + 1
		rest := len(text)
		if n := strings.IndexByte(text[end:], '\n'); n >= 0 {
			rest = end + n + 1
		}
		if kept := strings.TrimSpace(withoutMarks(text[max(line, at):s.Start])); line >= at && kept == "" && strings.TrimSpace(text[end:rest]) == "" {
			before, end = text[at:line], rest // the whole line
		} else {
			for end < len(text) && (text[end] == ' ' || text[end] == '\t') {
				end++
			}
		}
		b.WriteString(before)
		at = end
	}
	b.WriteString(text[at:])
	return strings.TrimSpace(b.String())
}

// nothing matches sentences in which somebody says that he knows or has found nothing, and greetings.
var nothing = regexp.MustCompile(`(?i)^\W*(?:` + strings.Join([]string{
	`(?:unfortunately,? |sorry,? (?:but )?|i'm sorry,? (?:but )?)?i (?:could not|couldn't|cannot|can't|can not|did not|didn't|do not|don't|have no|found no|am not|was not) `,
	`(?:unfortunately,? )?(?:there is|there's) no (?:information|mention)`,
	`(?:unfortunately,? )?the (?:passages|sources|documents|given (?:passages|sources|documents)|text|texts) (?:do not|don't|does not|doesn't|contain no|contains no|give no|gives no|say nothing|have no) `,
	`(?:leider )?(?:habe ich|ich habe|ich konnte|konnte ich|finde ich|ich finde|ich weiß|dazu) .*(?:nichts|nicht|keine)`,
	`die (?:quellen|dokumente|texte|passagen|abschnitte) (?:sagen|nennen|enthalten|geben) .*(?:nichts|nicht|keine)`,
	`je (?:n'ai|ne) .*(?:pas|rien|aucune?)`, `les (?:sources|documents|passages|textes) ne .*(?:pas|rien|aucune?)`,
	`(?:lo siento,? )?no (?:he encontrado|encontré|encuentro|sé|hay información|tengo) `, `las fuentes no `, `los documentos no `,
	`non (?:ho trovato|so|ho) `, `le fonti non `, `não (?:encontrei|sei|há informaç) `, `ik (?:heb|kon|weet) .*(?:geen|niet|niets)`,
	`(?:hello|hi|hey|thanks|thank you|good (?:morning|evening|day)|you're welcome|hope this helps|i hope (?:this|that) helps|let me know)\b[^.]{0,60}$`,
	`(?:hallo|guten (?:tag|morgen|abend)|danke|vielen dank|gern geschehen|gerne|bonjour|merci|hola|gracias|ciao|grazie|olá|obrigad[oa])(?:\P{L}[^.]{0,60})?$`,
}, "|") + `)`)

// unspacedNothing are phrases of scripts without spaces that do the same.
var unspacedNothing = []string{"見つかりません", "見つかりませんでした", "わかりません", "没有找到", "未找到", "我不知道", "こんにちは", "ありがとう", "你好", "谢谢"}

// saysNothing reports whether a sentence claims nothing about the world: a question, a heading, a greeting, the beginning
// of a list, or that nothing was found.
func saysNothing(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || text[0] == '#' {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, ` *_"')»”」』`))
	if strings.ContainsRune("?？؟", last) || strings.ContainsRune(":：", last) && len(strings.Fields(text)) <= 8 {
		return true
	}
	for _, phrase := range unspacedNothing {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return nothing.MatchString(text)
}

// CountSentences returns how many sentences Check finds in an answer.
func CountSentences(answer string) int { return len(split(withoutMarks(answer))) }
