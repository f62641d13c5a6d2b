package parse

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// script is an encoding that is recognized by the letters that are frequent in its languages.
type script struct {
	encoding string
	letters  *unicode.RangeTable
	frequent string
	share    float64 // least share of frequent letters in a text
	atLeast  int     // letters
}

const (
	cyrillic = "оеаинтсрвл"
	chinese  = "的一是不了在人有我他中来上大和国地到以要就出可也你生能而子得于下自之年作里用道行所然家事成方多去法学如同当看起好小部主样心本前但因只从想文件使系"
	korean   = "이다는의에을를가은한하고지로도사니시기수있서자인어아대해으들나정일부것전그상보제주과와리스게장만우동라성구여문적원"
	taiwan   = "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子得於下自之年過發後作用道行所然家事成方多經去法學如都同現當沒看起好小部主樣心本前但因只從想文件使系統"
)

// scripts are the encodings of languages that are not written with Latin letters. windows-1252
// text has no rows of letters outside of ASCII and so none of these.
var scripts = []script{
	{"windows-1251", unicode.Cyrillic, cyrillic, 0.45, 40}, {"koi8-r", unicode.Cyrillic, cyrillic, 0.45, 40},
	{"ibm866", unicode.Cyrillic, cyrillic, 0.45, 40}, {"iso-8859-5", unicode.Cyrillic, cyrillic, 0.45, 40},
	{"windows-1253", unicode.Greek, "αοιετσνηυρπκάόίέή", 0.6, 40},
	{"windows-1255", unicode.Hebrew, "יוהלאמרשתבנ", 0.6, 40},
	{"windows-1256", unicode.Arabic, "اليمنوترهبة", 0.55, 40},
	{"gb18030", unicode.Han, chinese, 0.2, 40}, {"big5", unicode.Han, taiwan, 0.2, 40},
	{"euc-kr", unicode.Hangul, korean, 0.35, 20},
}

// scriptOf returns the encoding in which a sample has letters of one script, nearly no
// others outside of ASCII, and enough frequent ones; of several the one with the greatest
// share. It returns nil if there is none, or another comes near.
func scriptOf(sample []byte) (encoding.Encoding, string) {
	best, second := 0.0, 0.0
	var known encoding.Encoding
	name := ""
	for _, s := range scripts {
		candidate, canonical := charset.Lookup(s.encoding)
		decoded, err := candidate.NewDecoder().Bytes(sample)
		if err != nil {
			continue
		}
		share := s.shareOf(string(decoded)) / s.share
		switch {
		case share > best:
			best, second, known, name = share, best, candidate, canonical
		case share > second:
			second = share
		}
	}
	if best < 1 || second > best*0.8 {
		return nil, ""
	}
	return known, name
}

// shareOf returns the share of frequent letters among those of the script, 0 for a text that
// has few of them or too many other characters.
func (s script) shareOf(text string) float64 {
	letters, frequent, other := 0, 0, 0
	for at, r := range text {
		switch {
		case r < utf8.RuneSelf:
			if r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' {
				return 0
			}
		case unicode.Is(s.letters, r):
			letters++
			if strings.ContainsRune(s.frequent, r) {
				frequent++
			}
		case r == utf8.RuneError:
			if at < len(text)-utf8.UTFMax { // one may be cut at the end
				return 0
			}
		case !unicode.IsPunct(r) && r != '\u00a0':
			other++
		}
	}
	if letters < s.atLeast || other*10 > letters {
		return 0
	}
	return float64(frequent) / float64(letters)
}
