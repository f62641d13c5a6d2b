package parse

import (
	"strconv"
	"strings"
)

// greek are the letters A to Z and a to z of the font Symbol.
var greek = []rune("ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ")

// symbol returns the character of a font of symbols. Unknown ones are left out.
func symbol(font, code string) string {
	value, err := strconv.ParseUint(code, 16, 16)
	if err != nil {
		return ""
	}
	value &^= 0xF000
	switch strings.ToLower(font) {
	case "symbol":
		switch {
		case value >= 'A' && value <= 'Z':
			return string(greek[value-'A'])
		case value >= 'a' && value <= 'z':
			return string(greek[value-'a'+26])
		}
		return map[uint64]string{0xA3: "≤", 0xB3: "≥", 0xB1: "±", 0xB4: "×", 0xB8: "÷", 0xB9: "≠", 0xAE: "→", 0xAC: "←", 0xA5: "∞", 0xB0: "°", 0xB7: "•", 0xD6: "√"}[value]
	case "wingdings", "wingdings 2":
		return map[uint64]string{0xFE: "☑", 0xFD: "☒", 0xA8: "☐", 0xFC: "✓", 0xFB: "✗", 0xE0: "→", 0x52: "☑", 0xA3: "☐"}[value]
	}
	return ""
}
