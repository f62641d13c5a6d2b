// Package caption tells captions of figures from other paragraphs, and alternative texts that describe a picture from
// those that programs make up.
//
//	caption.IsFigure("Abb. 3: Der Hafen")        // true
//	caption.IsFigure("Figure 3 shows the berth") // false: a sentence about it
package caption

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words that begin captions, as they are written at the beginning of a sentence.
const (
	figureWords = `Figure|Fig|Illustration|Illus|Image|Picture|Photo|Photograph|Plate|Chart|Diagram|Scheme|Graph|Exhibit|Drawing|Map|` +
		`Abbildung|Abb|Bild|Grafik|Schaubild|Skizze|Karte|` +
		`Schéma|Graphique|Carte|Figura|Imagen|Ilustración|Gráfico|Mapa|Fotografía|Imagem|Ilustração|Foto|Immagine|Illustrazione|Grafico|` +
		`Figuur|Afbeelding|Afb|Figur|Kuva|Kuvio|Rysunek|Rys|Wykres|Zdjęcie|Obrázek|Obr|Graf|Slika|Joonis|Şekil|Resim|Hình|Gambar|Mynd|` +
		`Рисунок|Рис|Схема|Фото|График|Малюнок|Мал|Фигура|Фиг|Слика|Εικόνα|Σχήμα|Εικ`
	unspacedWords = `図表|图表|圖表|図|图|圖|写真|照片|그림|도표|รูปที่|ภาพที่|รูป|ภาพ|شكل|الشكل|صورة|تصویر|איור|תרשים|תמונה|चित्र|আকৃতি|படம்`
	tableWords    = `Table|Tab|Tabelle|Tableau|Tabla|Cuadro|Tabela|Quadro|Tabella|Tabel|Tabell|Taulukko|Tabulka|Tablo|Bảng|Tablica|Таблица|Табл|Таблиця|Πίνακας`
	unspacedTable = `表|표|جدول|טבלה|ตารางที่|ตาราง|तालिका`
	before        = `(?:Supplementary|Supplemental|Extended Data|Online|Appendix|Color|Colour)?[ -]?`
	number        = `(?:\p{Lu}{0,2}[.\-–]?\p{Nd}+(?:[.\-–:]\p{Nd}+)*[a-z]?|[IVXLC]+|\p{Lu})`
	// Some languages put the number first.
	numberFirst = `(?:\d+(?:\.\d+)*\.?) ?(?:ábra|Ábra|kép|attēls|att\.|pav\.|paveikslas|irudia)`
)

var (
	figure = regexp.MustCompile(`^(?:` + before + `(?:` + figureWords + `|` + strings.ToUpper(figureWords) + `)[.:]?[  ]?(?:№|No\.?|Nr\.?|n°)? ?` + number + `|` + numberFirst + `)`)
	// The numbers of these may be written in words.
	unspacedFigure = regexp.MustCompile(`^(?:` + unspacedWords + `)[  　]?(?:\p{Nd}+(?:[.\-–－．]\p{Nd}+)*|[一二三四五六七八九十]+)`)
	table          = regexp.MustCompile(`^(?:` + before + `(?:` + tableWords + `|` + strings.ToUpper(tableWords) + `)[.:]?[  ]?` + number + `|(?:` + unspacedTable + `)[  　]?(?:\p{Nd}+|[一二三四五六七八九十]+))`)
	// sentence matches how a sentence goes on that begins with the name of a figure.
	sentence = regexp.MustCompile(`^(?:は|が|に|を|で|の|と|から|より|显示|顯示|示|展示|给出|列出|表示|所示|说明|說明|中|은|는|이|가|을|를|에|의|와|과)`)
	marks    = regexp.MustCompile(`^(?:[#>]+ |[*_]+)+`)
)

// IsFigure reports whether a paragraph begins as the numbered caption of a figure does, in one of some forty languages, and
// not as a sentence that speaks of a figure. Marks of Markdown before it are ignored.
func IsFigure(paragraph string) bool { return begins(paragraph, figure, unspacedFigure) }

// IsTable reports whether a paragraph begins with the number of a table.
func IsTable(paragraph string) bool { return table.MatchString(bare(paragraph)) }

func bare(paragraph string) string {
	paragraph = strings.TrimSpace(paragraph)
	return paragraph[len(marks.FindString(paragraph)):]
}

func begins(paragraph string, spaced, unspaced *regexp.Regexp) bool {
	paragraph = bare(paragraph)
	if found := unspaced.FindString(paragraph); found != "" {
		rest := paragraph[len(found):]
		return !sentence.MatchString(rest) && !strings.HasPrefix(rest, ",")
	}
	found := spaced.FindString(paragraph)
	if found == "" {
		return false
	}
	rest := paragraph[len(found):]
	next, _ := utf8.DecodeRuneInString(rest)
	if unicode.IsLetter(next) || unicode.IsDigit(next) { // the number was the beginning of a word
		return false
	}
	rest = strings.TrimLeft(rest, " \u00a0*_\t\n")
	next, size := utf8.DecodeRuneInString(rest)
	switch {
	case rest == "", strings.ContainsRune(".:：．。|–—―-·•]/", next):
		return true
	case next == '(' || next == ')':
		next, _ = utf8.DecodeRuneInString(strings.TrimLeft(rest[size:], " "))
		return !unicode.IsLower(next) || next == 'a' || next == 'i'
	}
	return unicode.IsUpper(next) || unicode.IsDigit(next) || unicode.In(next, unicode.Pi, unicode.Ps, unicode.Lo) || next == '"'
}

// made matches alternative texts that programs write by themselves.
var made = regexp.MustCompile(`(?i)` +
	`^(?:a|an) (?:picture|image|close-? ?up|screenshot|photo|drawing|diagram|graph|logo|map|person|group|sign|text) (?:containing|of a (?:computer|cell phone)$)|` +
	`^ein bild, das |^une image contenant|^imagen que contiene|^immagine che contiene|^afbeelding met |^uma imagem com |^en bild som visar |^obraz zawierający|^изображение выглядит как|` +
	`(?:description|descripción|beschreibung|descrizione|description générée) automatically generated|automatisch (?:generierte|gegenereerde) beschr|description générée automatiquement|` +
	`descripción generada automáticamente|descrizione generata automaticamente|descrição gerada automaticamente|ai-generated content|ki-generierte inhalte|` +
	`^(?:picture|image|img|graphic|graphics|grafik|bild|imagen|immagine|afbeelding|photo|foto|figure|fig|object|objekt|shape|obraz|рисунок|图片|図|그림|画像|cover|logo|icon|banner|spacer|chart|diagram|untitled|` +
	`placeholder|content placeholder|screenshot|thumbnail|avatar|portrait|null|undefined|none|alt(?: text)?|drawing|clip ?art|image result for.*|ole object|(?:linked|embedded) (?:object|image|picture)|(?:grafik|bild|image|picture) (?:ohne titel|without title))[ _-]*[\d. ()_-]*$|` +
	`^[a-z]+://|^data:|^[0-9a-f-]{16,}$|^[\pL\w%():@+,\\/ .-]+\.(?:png|jpe?g|gif|bmp|tiff?|svg|webp|emf|wmf|eps|pdf|ico|heic)$`)

// Alternative returns an alternative text in one line, "" if it does not describe the picture: names of files, what programs number or
// say by themselves, single letters.
func Alternative(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	letters := 0
	wide := false
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
		wide = wide || unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana, unicode.Thai)
	}
	const fewest = 4
	if letters < fewest && (!wide || letters <= 1) || made.MatchString(text) || !wide && !strings.Contains(text, " ") && strings.ContainsAny(text, `./\_0123456789`) {
		return ""
	}
	return text
}
