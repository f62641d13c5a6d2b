package parse

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	chinese  = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运请举议"
	korean   = "이다는의에을를가은한하고지로도사니시기수있서자인어아대해으들나정일부것전그상보제주과와리스게장만우동라성구여문적원"
	taiwan   = "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運請舉議"
	// kanji are frequent Chinese characters of Japanese that the others lack.
	kanji = "対発経実図売読駅円検県労働気会議資料東京港区都画応関続変単価広総戦験観権歴収処説"
	thai  = "าานรกอเงมยลวดทตสปคะ่้ีัิ็"
)

// scripts are the encodings of languages that are not written with Latin letters. windows-1252
// text has no rows of letters outside of ASCII and so none of these.
var scripts = []script{
	{"windows-1251", unicode.Cyrillic, cyrillic, 0.45, 16}, {"koi8-r", unicode.Cyrillic, cyrillic, 0.45, 16},
	{"ibm866", unicode.Cyrillic, cyrillic, 0.45, 16}, {"iso-8859-5", unicode.Cyrillic, cyrillic, 0.45, 16},
	{"windows-1253", unicode.Greek, "αοιετσνηυρπκάόίέή", 0.6, 16},
	{"windows-1255", unicode.Hebrew, "יוהלאמרשתבנ", 0.6, 16},
	{"windows-1256", unicode.Arabic, "اليمنوترهبة", 0.55, 16},
	{"iso-8859-6", unicode.Arabic, "اليمنوترهبة", 0.55, 16}, {"iso-8859-7", unicode.Greek, "αοιετσνηυρπκάόίέή", 0.6, 16},
	{"koi8-u", unicode.Cyrillic, cyrillic, 0.45, 16}, {"x-mac-cyrillic", unicode.Cyrillic, cyrillic, 0.45, 16},
	{"windows-874", unicode.Thai, thai, 0.55, 16},
	{"gb18030", unicode.Han, chinese, 0.4, 16}, {"big5", unicode.Han, taiwan, 0.4, 16},
	{"euc-kr", unicode.Hangul, korean, 0.35, 20}, {"johab", unicode.Hangul, korean, 0.35, 20},
}

// rareEncodings differ little from one that is more common, and have to fit better than that by a quarter.
var rareEncodings = []string{"koi8-u", "x-mac-cyrillic"}

const (
	rareShare    = 0.75
	certainRival = 0.8 // of the best share: what comes nearer leaves the encoding uncertain
)

// scriptOf returns the encoding in which a sample has letters of one script, nearly no
// others outside of ASCII, and enough frequent ones; of several the one with the greatest
// share. It returns nil if there is none, or another comes near.
func scriptOf(sample []byte) (encoding.Encoding, string) {
	best, second := 0.0, 0.0
	var known encoding.Encoding
	name, text := "", ""
	for _, s := range scripts {
		candidate, canonical := encodingNamed(s.encoding)
		decoded, err := candidate.NewDecoder().Bytes(sample)
		if err != nil {
			continue
		}
		share := s.shareOf(string(decoded)) / s.share
		certain := share >= 1
		if slices.Contains(rareEncodings, s.encoding) {
			share *= rareShare
		}
		switch {
		case string(decoded) == text: // an encoding that differs elsewhere
		case certain && share > best:
			best, second, known, name, text = share, max(best, second), candidate, canonical, string(decoded)
		default:
			second = max(second, share)
		}
	}
	if best == 0 || second > best*certainRival {
		return nil, ""
	}
	return known, name
}

// shareOf returns the share of frequent letters among those of the script, 0 for a text that
// has few of them or too many other characters.
func (s script) shareOf(text string) float64 {
	letters, frequent, other, odd := 0, 0, 0, 0
	before := ' '
	isAlphabet := s.letters != unicode.Han && s.letters != unicode.Hangul
	for at, r := range text {
		switch {
		case unicode.IsUpper(r) && unicode.IsLower(before), isAlphabet && isBasicLetter(before) && unicode.Is(s.letters, r):
			odd++
		}
		before = r
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
	return float64(frequent) / float64(letters) * max(0, 1-oddWeight*float64(other+odd)/float64(letters))
}

// oddWeight is how much a character counts that a text of the script does not have, a capital within a word, and a letter of an alphabet
// that follows a Latin one.
const oddWeight = 8
