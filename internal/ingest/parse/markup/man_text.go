package markup

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// roffCharacters are the characters by their names in roff.
var roffCharacters = map[string]string{
	"em": "—", "en": "–", "hy": "-", "bu": "•", "co": "©", "rg": "®", "tm": "™", "aq": "'", "dq": `"`, "lq": "“", "rq": "”", "oq": "‘", "cq": "’",
	"Bq": "„", "bq": "‚", "Fo": "«", "Fc": "»", "fo": "‹", "fc": "›", "rs": `\`, "ga": "`", "ha": "^", "ti": "~", "at": "@", "sh": "#", "Do": "$",
	"bv": "|", "ba": "|", "br": "|", "or": "|", "ul": "_", "ru": "_", "sl": "/", "mu": "×", "di": "÷", "+-": "±", "<=": "≤", ">=": "≥", "!=": "≠", "==": "≡", "~=": "≈", "~~": "≈",
	"mi": "−", "pl": "+", "eq": "=", "->": "→", "<-": "←", "<>": "↔", "ua": "↑", "da": "↓", "rA": "⇒", "lA": "⇐", "hA": "⇔", "de": "°", "ss": "ß", "fm": "′", "sd": "″",
	"'e": "é", "'E": "É", "'a": "á", "'A": "Á", "'i": "í", "'I": "Í", "'o": "ó", "'O": "Ó", "'u": "ú", "'U": "Ú", "'y": "ý", "'c": "ć",
	"`a": "à", "`e": "è", "`i": "ì", "`o": "ò", "`u": "ù", "`A": "À", "`E": "È", "^a": "â", "^e": "ê", "^i": "î", "^o": "ô", "^u": "û", "^A": "Â", "^E": "Ê",
	":a": "ä", ":e": "ë", ":i": "ï", ":o": "ö", ":u": "ü", ":A": "Ä", ":O": "Ö", ":U": "Ü", ":y": "ÿ", "~a": "ã", "~n": "ñ", "~o": "õ", "~A": "Ã", "~N": "Ñ", "~O": "Õ",
	",c": "ç", ",C": "Ç", "oa": "å", "oA": "Å", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "/o": "ø", "/O": "Ø", "/l": "ł", "/L": "Ł", "vs": "š", "vS": "Š", "vz": "ž", "vZ": "Ž",
	"-D": "Ð", "Sd": "ð", "Tp": "þ", "TP": "Þ", "Po": "£", "Eu": "€", "eu": "€", "Ye": "¥", "ct": "¢", "Cs": "¤", "sc": "§", "ps": "¶", "if": "∞", "r!": "¡", "r?": "¿",
	"12": "½", "14": "¼", "34": "¾", "S1": "¹", "S2": "²", "S3": "³", "sq": "□", "dg": "†", "dd": "‡", "OK": "✓", "lh": "☜", "rh": "☞", "pc": "·", "md": "·", "ci": "○",
	"lB": "[", "rB": "]", "lC": "{", "rC": "}", "la": "⟨", "ra": "⟩", "no": "¬", "AN": "∧", "OR": "∨", "mo": "∈", "es": "∅", "sr": "√", "is": "∫", "su": "Σ",
	"*a": "α", "*b": "β", "*g": "γ", "*d": "δ", "*e": "ε", "*h": "θ", "*l": "λ", "*m": "μ", "*p": "π", "*r": "ρ", "*s": "σ", "*t": "τ", "*f": "φ", "*w": "ω", "*D": "Δ", "*S": "Σ", "*W": "Ω",
	"aa": "´", "a-": "¯", "ac": "¸", "ad": "¨", "a^": "^", "a~": "~", "fi": "fi", "fl": "fl", "ff": "ff", "Fi": "ffi", "Fl": "ffl", "an": "-", "hbar": "ħ", "coproduct": "∐", "lf": "⌊", "rf": "⌋", "lc": "⌈", "rc": "⌉",
}

// roffStrings are the strings that macro packages define.
var roffStrings = map[string]string{"lq": "“", "rq": "”", "R": "®", "Tm": "™", "L\"": `"`, "R\"": `"`, "--": "—", "C+": "C++", "PI": "π", "Lq": "“", "Rq": "”", "Ba": "|", "Ge": "≥", "Le": "≤", "Ne": "≠", "Am": "&", "Gt": ">", "Lt": "<", "q": `"`}

// text returns a text of roff without its escapes. A \c at its end is left out.
func (m *man) text(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			out.WriteByte(text[i])
			i++
			continue
		}
		n, shown := m.escape(text[i+1:])
		out.WriteString(shown)
		i += 1 + n
	}
	return out.String()
}

// escape returns the length of an escape after its backslash, and what it stands for.
func (m *man) escape(rest string) (int, string) {
	if rest == "" {
		return 0, ""
	}
	switch rest[0] {
	case '-':
		return 1, "-"
	case 'e', '\\', 'E':
		return 1, `\`
	case ' ', '~', '0':
		return 1, " "
	case 't':
		return 1, "\t"
	case '\'', '`', '.', '_':
		return 1, rest[:1]
	case '&', '|', '^', '/', ',', ')', '%', ':', 'c', '{', '}', '!', 'd', 'u', 'r', 'p', 'a', '"', '#':
		return 1, ""
	case '(', '[', 'C':
		n, name := named(rest)
		if rest[0] == 'C' {
			n, name = quoted(rest[1:])
			n++
		}
		return n, character(name)
	case '*':
		n, name := named(rest[1:])
		if value, ok := m.strings[name]; ok {
			return 1 + n, value
		}
		return 1 + n, roffStrings[name]
	case 'f', 'F', 'n', 'g', 'k', 'm', 'M', 'V', 'Y', 'O':
		sign := 1
		if len(rest) > 1 && (rest[1] == '+' || rest[1] == '-') {
			sign = 2
		}
		n, _ := named(rest[sign:])
		return sign + n, ""
	case 's':
		return size(rest), ""
	case 'h', 'v', 'w', 'x', 'o', 'l', 'L', 'D', 'b', 'N', 'A', 'B', 'H', 'R', 'S', 'X', 'Z':
		n, inner := quoted(rest[1:])
		switch {
		case rest[0] == 'o' && inner != "":
			return 1 + n, m.text(firstEscape(inner))
		case rest[0] == 'h' && strings.HasPrefix(inner, "|"), rest[0] == 'h' && strings.Contains(inner, "+"):
			return 1 + n, " "
		}
		return 1 + n, ""
	case 'z':
		return 1, ""
	}
	_, width := utf8.DecodeRuneInString(rest)
	return width, rest[:width]
}

// firstEscape returns the first character of a text, which may be an escape, without further ones.
func firstEscape(text string) string {
	if text[0] != '\\' {
		_, n := utf8.DecodeRuneInString(text)
		return text[:n]
	}
	return ""
}

// named returns a name in one of the forms x, (xx and [xxx], and the length of the form.
func named(rest string) (int, string) {
	switch {
	case rest == "":
		return 0, ""
	case rest[0] == '(' && len(rest) > 2:
		_, first := utf8.DecodeRuneInString(rest[1:])
		_, second := utf8.DecodeRuneInString(rest[1+first:])
		return 1 + first + second, rest[1 : 1+first+second]
	case rest[0] == '[':
		if end := strings.IndexByte(rest[:min(len(rest), 128)], ']'); end > 0 {
			return end + 1, rest[1:end]
		}
		return 1, ""
	}
	_, n := utf8.DecodeRuneInString(rest)
	return n, rest[:n]
}

// quoted returns what stands between a sign and the next one that is the same, and the length with both.
func quoted(rest string) (int, string) {
	if rest == "" {
		return 0, ""
	}
	_, width := utf8.DecodeRuneInString(rest)
	end := strings.Index(rest[width:min(len(rest), 256)], rest[:width])
	if end < 0 {
		return width, ""
	}
	return width + end + width, rest[width : width+end]
}

// size returns the length of an escape that changes the size of letters, from its "s".
func size(rest string) int {
	n := 1
	if n < len(rest) && (rest[n] == '+' || rest[n] == '-') {
		n++
	}
	if n < len(rest) && (rest[n] == '(' || rest[n] == '[') {
		length, _ := named(rest[n:])
		return n + length
	}
	if n < len(rest) && rest[n] == '\'' {
		length, _ := quoted(rest[n:])
		return n + length
	}
	digits := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' && digits < 2 && (digits == 0 || rest[n-1] <= '3') {
		n++
		digits++
	}
	return n
}

// character returns the character with a name, "" for one that is not known.
func character(name string) string {
	if shown, ok := roffCharacters[name]; ok {
		return shown
	}
	if code, ok := strings.CutPrefix(name, "u"); ok && len(code) >= 4 {
		code, _, _ = strings.Cut(code, "_")
		if n, err := strconv.ParseInt(code, 16, 32); err == nil && utf8.ValidRune(rune(n)) && n > 0 {
			return string(rune(n))
		}
	}
	if code, ok := strings.CutPrefix(name, "char"); ok {
		if n, err := strconv.Atoi(code); err == nil && n >= ' ' && n < 256 {
			return string(rune(n))
		}
	}
	return ""
}
