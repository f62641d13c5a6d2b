package pdftext

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// The encodings of simple fonts (ISO 32000-1, annex D): the text of each code, "" for a
// code without text.

func winAnsiEncoding() [256]string { return pageOf(charmap.Windows1252) }

func macRomanEncoding() [256]string { return pageOf(charmap.Macintosh) }

func pageOf(page *charmap.Charmap) (table [256]string) {
	for code := 0x20; code < 256; code++ {
		if r := page.DecodeByte(byte(code)); r != utf8.RuneError && r != 0x7f {
			table[code] = string(r)
		}
	}
	return table
}

func standardEncoding() (table [256]string) {
	for code := 0x20; code < 0x7f; code++ {
		table[code] = string(rune(code))
	}
	table['\''], table['`'] = "’", "‘"
	for first, glyphs := range map[int]string{
		0xa1: "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ", 0xb1: "–†‡·", 0xb6: "¶•‚„”»…‰", 0xbf: "¿", 0xc1: "`´ˆ˜¯˘˙¨", 0xca: "˚¸", 0xcd: "˝˛ˇ—",
		0xe1: "Æ", 0xe3: "ª", 0xe8: "ŁØŒº", 0xf1: "æ", 0xf5: "ı", 0xf8: "łøœß",
	} {
		list(&table, first, glyphs)
	}
	return table
}

// list assigns glyphs to consecutive codes, starting at first.
func list(table *[256]string, first int, glyphs string) {
	for _, r := range glyphs {
		table[first&0xff] = string(r)
		first++
	}
}

func symbolEncoding() (table [256]string) {
	const letters = " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
	list(&table, 0x20, letters)
	const signs = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…"
	list(&table, 0xa0, signs)
	return table
}

// accents maps the endings of glyph names, such as "eacute", to combining characters.
var accents = []struct{ name, mark string }{
	{"hungarumlaut", "\u030b"}, {"commaaccent", "\u0326"}, {"circumflex", "\u0302"}, {"dotaccent", "\u0307"},
	{"dieresis", "\u0308"}, {"cedilla", "\u0327"}, {"ogonek", "\u0328"}, {"macron", "\u0304"}, {"acute", "\u0301"},
	{"breve", "\u0306"}, {"caron", "\u030c"}, {"grave", "\u0300"}, {"tilde", "\u0303"}, {"ring", "\u030a"},
}

// glyphNames holds the names that no rule covers, parsed from "name=text".
var glyphNames = parseNames(`space= exclam=! quotedbl=" numbersign=# dollar=$ percent=% ampersand=& quotesingle=' parenleft=( parenright=)
asterisk=* plus=+ comma=, hyphen=- minus=− period=. slash=/ zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9
colon=: semicolon=; less=< equal== greater=> question=? at=@ bracketleft=[ backslash=\ bracketright=] asciicircum=^ underscore=_
grave=` + "`" + ` braceleft={ bar=| braceright=} asciitilde=~ exclamdown=¡ cent=¢ sterling=£ currency=¤ yen=¥ brokenbar=¦ section=§
dieresis=¨ copyright=© ordfeminine=ª guillemotleft=« logicalnot=¬ registered=® macron=¯ degree=° plusminus=± acute=´ mu=µ paragraph=¶
periodcentered=· cedilla=¸ ordmasculine=º guillemotright=» onequarter=¼ onehalf=½ threequarters=¾ questiondown=¿ AE=Æ Eth=Ð
multiply=× Oslash=Ø Thorn=Þ germandbls=ß ae=æ eth=ð divide=÷ oslash=ø thorn=þ Dcroat=Đ dcroat=đ dotlessi=ı dotlessj=ȷ Lslash=Ł lslash=ł
OE=Œ oe=œ florin=ƒ circumflex=ˆ caron=ˇ breve=˘ dotaccent=˙ ring=˚ ogonek=˛ tilde=˜ hungarumlaut=˝ endash=– emdash=— quoteleft=‘
quoteright=’ quotesinglbase=‚ quotedblleft=“ quotedblright=” quotedblbase=„ dagger=† daggerdbl=‡ bullet=• ellipsis=… perthousand=‰
guilsinglleft=‹ guilsinglright=› fraction=⁄ Euro=€ trademark=™ fi=fi fl=fl ff=ff ffi=ffi ffl=ffl nbspace= nonbreakingspace= sfthyphen=-
softhyphen=- hyphenchar=- compwordmark= visiblespace= cwm= Alpha=Α Beta=Β Gamma=Γ Delta=Δ Epsilon=Ε Zeta=Ζ Eta=Η Theta=Θ Iota=Ι
Kappa=Κ Lambda=Λ Mu=Μ Nu=Ν Xi=Ξ Omicron=Ο Pi=Π Rho=Ρ Sigma=Σ Tau=Τ Upsilon=Υ Phi=Φ Chi=Χ Psi=Ψ Omega=Ω alpha=α beta=β gamma=γ delta=δ
epsilon=ε epsilon1=ϵ zeta=ζ eta=η theta=θ theta1=ϑ iota=ι kappa=κ lambda=λ nu=ν xi=ξ omicron=ο pi=π rho=ρ sigma=σ sigma1=ς tau=τ
upsilon=υ phi=φ phi1=ϕ chi=χ psi=ψ omega=ω omega1=ϖ infinity=∞ lessequal=≤ greaterequal=≥ notequal=≠ equivalence=≡ approxequal=≈
similar=∼ partialdiff=∂ summation=∑ product=∏ integral=∫ radical=√ element=∈ arrowright=→ arrowleft=← arrowup=↑ arrowdown=↓
arrowboth=↔ arrowdblright=⇒ arrowdblleft=⇐ arrowdblboth=⇔ asteriskmath=∗ bulletoperator=∙ periodmath=· logicaland=∧ logicalor=∨ intersection=∩ union=∪ propersubset=⊂
reflexsubset=⊆ emptyset=∅ universal=∀ existential=∃ gradient=∇ prime=′ minute=′ second=″ proportional=∝ lozenge=◊ braceex=⎪
angbracketleft=⟨ angbracketright=⟩ angleleft=〈 angleright=〉 turnstileleft=⊢ element1=∈ circlemultiply=⊗ circleplus=⊕ perpendicular=⊥ checkmark=✓
square=□ filledbox=■ openbullet=◦ nobreakspace= Tbar=Ŧ tbar=ŧ Hbar=Ħ hbar=ħ Eng=Ŋ eng=ŋ longs=ſ kgreenlandic=ĸ`)

func parseNames(list string) map[string]string {
	names := map[string]string{}
	for _, entry := range strings.Fields(list) {
		key, text, _ := strings.Cut(entry, "=")
		if text == "" {
			text = " "
		}
		names[key] = text
	}
	names["compwordmark"], names["cwm"] = "\u200c", "\u200c"
	return names
}

// glyphText returns the text of a glyph name by the rules of the Adobe Glyph List
// Specification, or "" for an unknown name. It supports letters, names with an accent,
// uni0041, u1F600, components joined by underscores, and suffixes after a dot.
func glyphText(glyph string) string {
	glyph, _, _ = strings.Cut(glyph, ".")
	if text, ok := glyphNames[glyph]; ok {
		return text
	}
	if utf8.RuneCountInString(glyph) == 1 {
		return glyph
	}
	if hex, ok := strings.CutPrefix(glyph, "uni"); ok && len(hex) >= 4 && len(hex)%4 == 0 {
		if raw, ok := fromHex(hex); ok {
			return utf16Text(raw)
		}
	}
	if hex, ok := strings.CutPrefix(glyph, "u"); ok && len(hex) >= 4 && len(hex) <= 6 {
		if v, err := strconv.ParseUint(hex, 16, 32); err == nil && utf8.ValidRune(rune(v)) {
			return string(rune(v))
		}
	}
	for _, accent := range accents {
		if base, ok := strings.CutSuffix(glyph, accent.name); ok && len(base) == 1 {
			return norm.NFC.String(base + accent.mark)
		}
	}
	if strings.Contains(glyph, "_") {
		var all strings.Builder
		for part := range strings.SplitSeq(glyph, "_") {
			if part != glyph {
				all.WriteString(glyphText(part))
			}
		}
		return all.String()
	}
	return ""
}

func fromHex(s string) ([]byte, bool) {
	out := make([]byte, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		v, err := strconv.ParseUint(s[i:i+2], 16, 8)
		if err != nil {
			return nil, false
		}
		out = append(out, byte(v))
	}
	return out, true
}
