package parse

import (
	"regexp"
	"strings"
)

var (
	// attribution matches the line above a quotation, such as "On 2 March 2026, Ana wrote:".
	attribution = regexp.MustCompile(`(?i)^\s*(on|am|le|el|il|em|op|den|w dniu)\s.{1,300}(wrote|schrieb|écrit|escribió|scritto|escreveu|schreef|skrev|napisał\(?a?\)?)[^:]{0,100}:\s*$`)
	// forwarded matches the line above the header of a message that a program of Microsoft
	// quotes.
	forwarded = regexp.MustCompile(`(?i)^\s*(-{3,}\s*(original message|ursprüngliche nachricht|message d'origine|mensaje original)\s*-{3,}|_{20,})\s*$`)
)

// withoutQuotation returns the text of an answer without the message that it quotes at its
// end. A quotation with text after it stays: the text is about it.
func withoutQuotation(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if forwarded.MatchString(line) {
			return strings.TrimSpace(strings.Join(lines[:i], "\n"))
		}
	}
	end := len(lines)
	for end > 0 && (strings.TrimSpace(lines[end-1]) == "" || strings.HasPrefix(strings.TrimSpace(lines[end-1]), ">")) {
		end--
	}
	if end == len(lines) {
		return text
	}
	for above := 1; above <= 3 && above <= end; above++ { // it may be broken into lines
		if attribution.MatchString(strings.Join(lines[end-above:end], " ")) {
			end -= above
			break
		}
	}
	return strings.TrimSpace(strings.Join(lines[:end], "\n"))
}
