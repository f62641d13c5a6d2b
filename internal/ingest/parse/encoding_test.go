package parse_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestTextInCommonEncodingsIsDecoded(t *testing.T) {
	t.Parallel()
	const japanese = "これは日本語のテキストです。検索できますか。"
	for _, tc := range []struct{ encoding, text string }{
		{"windows-1252", "café au lait"},
		{"windows-1252", "Die Tür hält den Überdruck – „größer“ als 3 × 5 €."},
		{"windows-1252", "L’été, l’hôpital était fermé: le «garçon» a été créé"},
		{"windows-1252", "L’été, l’hôpital naïf créée: «garçon»"},
		{"windows-1252", "id;name\n1;José Núñez\n2;Zoë Müller\n3;François Lefèvre\n"},
		{"windows-1252", "Meeting of Renée Zoë Müller, Björn Ångström and José Núñez"},
		{"windows-1252", "Café Müller GmbH"},
		{"windows-1252", strings.Repeat("plain ASCII before. ", 10_000) + "né à Nîmes"},
		{"windows-1252", "Temperatura 20°C, 5 µm ± 2 %"},
		{"shift_jis", japanese},
		{"shift_jis", "ID;名前\n1;ポンプの取扱説明書\n2;" + strings.Repeat("バルブの交換。", 20_000)},
		{"euc-jp", japanese},
		{"windows-1251", "Насос подаёт воду в верхний бассейн, когда уровень падает ниже отметки."},
		{"koi8-r", "Насос подаёт воду в верхний бассейн, когда уровень падает ниже отметки."},
		{"ibm866", "Насос подаёт воду в верхний бассейн, когда уровень падает ниже отметки."},
		{"windows-1253", "Η αντλία στέλνει νερό στην επάνω δεξαμενή όταν η στάθμη πέφτει."},
		{"windows-1255", "המשאבה מעבירה מים לבריכה העליונה כאשר המפלס יורד מתחת לסימן"},
		{"windows-1256", "المضخة ترسل الماء إلى الخزان العلوي عندما ينخفض المستوى عن العلامة"},
		{"gb18030", "当水位下降到标记以下时，水泵会把水送到上面的水池里。这是一个很好的方法，我们可以在这里看到它的作用，也可以自己去看。"},
		{"big5", "當水位下降到標記以下時，水泵會把水送到上面的水池裡。這是一個很好的方法，我們可以在這裡看到它的作用，也可以自己去看。"},
		{"euc-kr", "수위가 표시 아래로 내려가면 펌프는 물을 위의 저수지로 보냅니다. 이것은 아주 좋은 방법이며 우리는 여기에서 그 효과를 볼 수 있습니다."},
		{"euc-kr", "회의는 오전 열 시에 시작하며 참석자는 신분증을 가져와야 합니다. 주차장은 건물 뒤쪽에 있습니다."},
		{"euc-kr", "펌프 사용 설명서\n전원을 켜기 전에 밸브가 닫혀 있는지 확인하십시오. 압력이 너무 높으면 즉시 정지 단추를 누르십시오."},
		{"windows-1250", "Prom odpływa co godzinę, jeżeli pozwala na to lód; bilety są w kasie przy przystani."},
		{"windows-1250", "Čerpadlo dodává vodu do horní nádrže, když hladina klesne pod značku; příliš žluťoučký kůň."},
		{"windows-1250", "A szivattyú vizet küld a felső medencébe, ha a vízszint a jelzés alá süllyed; hűvös őszi idő."},
		{"windows-1254", "Su seviyesi işaretin altına düştüğünde pompa suyu üst havuza gönderir; çalışma günlüğü."},
		{"windows-1252", "Þegar vatnið lækkar undir merkið dælir dælan því upp í efri þróna."},
		{"windows-1252", "O nível da água não está acima da marcação; a bomba só funciona às vezes."},
		{"windows-1252", "The committee heard Mr Müller, Ms Nuñez and Mr Ærø on the state of the quays, and it thanked them for their patience in the long winter."},
		{"gb18030", "会议纪要：下次会议将在星期二举行，请所有人准备好自己的文件。"},
		{"big5", "會議紀要：下次會議將在星期二舉行，請所有人準備好自己的文件。"},
		{"iso-2022-jp", "Re: 会議の資料\n" + japanese},
		{"hz-gb-2312", "下次会议的资料: 请大家在星期二以前准备好自己的文件, 我们会在那里看 ~ 和 a{b}。"},
		{"koi8-u", "Шановні колеги! Завтра о десятій годині відбудуться збори відділу. Просимо всіх бути вчасно."},
		{"iso-8859-2", "Schůze začne zítra v deset hodin. Prosíme všechny, aby přišli včas; budeme jednat o rozpočtu."},
		{"iso-8859-2", "Zebranie rozpocznie się jutro o dziesiątej. Prosimy wszystkich o punktualne przybycie. Źródło"},
		{"iso-8859-15", "Le cœur coûte 5 €, c'est très cher cet été"},
		{"windows-1257", "Rytojaus posėdis prasidės dešimtą valandą. Prašome visų dalyvauti laiku, aptarsime biudžetą."},
		{"iso-8859-4", "Rytojaus posėdis prasidės dešimtą valandą. Prašome visų dalyvauti laiku, aptarsime biudžetą."},
		{"iso-8859-6", "سيبدأ الاجتماع غدا في الساعة العاشرة. يرجى من الجميع الحضور في الوقت المحدد."},
		{"windows-874", "การประชุมจะเริ่มพรุ่งนี้เวลาสิบนาฬิกา ขอให้ทุกคนมาตรงเวลา"},
		{"utf-16", "Hällo wörld"},
		{"ibm850", "Die Fähre fährt täglich um fünf; für größere Boote gelten höhere Gebühren."},
		{"ibm850", "El año próximo habrá más autobuses: la línea también parará en la estación después de las ocho."},
		{"ibm850", "La société règle la facture à réception; le délai dépassé, l'intérêt est dû dès août."},
		{"windows-1250", "Příští týden bude přístav zavřený, protože se čistí dno. Děkujeme za trpělivost."},
		{"ibm852", "Příští týden bude přístav zavřený, protože se čistí dno. Děkujeme za trpělivost."},
		{"ibm852", "Następny rejs odbędzie się w środę; prosimy zgłaszać się godzinę wcześniej. Dziękujemy."},
		{"macintosh", "Die Fähre fährt täglich um fünf; für größere Boote gelten höhere Gebühren."},
		{"macintosh", "El año próximo habrá más autobuses: la línea también parará en la estación después de las ocho."},
		{"macintosh", "le café est fermé, la clé est là"},
		{"macintosh", "le café, la clé"},
		{"windows-1251", "Привет, мир: насос не работает."},
		{"koi8-r", "Привет, мир: насос не работает."},
		{"ibm850", "valor no vàlid per a l'opció"},
		{"macintosh", "el valor de configuración"},
		{"windows-1257", "visas funkcijas, klases un termini var būt milzīgs"},
		{"windows-1250", "riječnik metapodataka ili pomoću poziva"},
		{"iso-8859-16", "Portul își închide porțile sâmbătă; navele așteaptă în larg până dimineața următoare."},
		{"iso-8859-2", "Příští týden bude přístav zavřený, protože se čistí dno. Pan Pelľo žádá o trpělivost."},
	} {
		known, name := charset.Lookup(tc.encoding)
		switch tc.encoding { // those that browsers do not read
		case "ibm850":
			known, name = charmap.CodePage850, tc.encoding
		case "ibm852":
			known, name = charmap.CodePage852, tc.encoding
		}
		if tc.encoding == "hz-gb-2312" { // which browsers no longer read
			known, name = simplifiedchinese.HZGB2312, tc.encoding
		}
		if tc.encoding == "utf-16" {
			known, _ = charset.Lookup("utf-16le")
			name = "utf-16"
		}
		content, err := known.NewEncoder().Bytes([]byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		if name == "utf-16" {
			content = append([]byte("\xff\xfe"), content...)
		}
		got, err := parse.Parse(t.Context(), parse.Source{Content: content, FileName: "a.txt"})
		if err != nil {
			t.Errorf("%s %.40s: %v", tc.encoding, tc.text, err)
			continue
		}
		if got.Text != tc.text || got.Properties["encoding"] != name {
			t.Errorf("%s %.40s: read as %.60q in %q", tc.encoding, tc.text, got.Text, got.Properties["encoding"])
		}
	}
}

// johabText is johab in Johab.
const (
	johab     = "갑문은 해마다 가을에 청소합니다. 그때에는 배가 지나갈 수 없으며 공사는 이틀이 걸립니다. 漢字 「표」 1."
	johabText = "\x88s\xa2\x85\xb7e \xd0\x81\xa0a\x94a \x88a\xb7i\xb5A \xc0\xf7\xad\xa1\xd0s\x93\xa1\x94a. \x8ba\x98\x81\xb5A\x93e \xa4\x81\x88a " +
		"\xbb\xa1\x90a\x88i \xae\x81 \xb4\xf4\xb7a\xa1a \x89\xb7\xaca\x93e \xb7\xa1\xcbi\xb7\xa1 \x88\xe9\x9f\xb3\x93\xa1\x94a. \xf7\xd3\xf1\xae \xd9H\xcea\xd9I 1."
)

func TestJohabIsDecoded(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"", "text/plain; charset=johab", "text/plain; charset=CP1361"} {
		got, err := parse.Parse(t.Context(), parse.Source{Content: []byte(johabText), FileName: "a.txt", ContentType: contentType})
		if err != nil || got.Text != johab || got.Properties["encoding"] != "johab" {
			t.Errorf("%q: read as %q in %q, %v", contentType, got.Text, got.Properties["encoding"], err)
		}
	}
	short := parse.Source{Content: []byte(johabText[:13]), FileName: "a.txt"}
	if got, err := parse.Parse(t.Context(), short); !strings.Contains(fault.Public(err), "likely") || !strings.Contains(fault.Public(err), "johab") {
		t.Errorf("a short text is read as %q, %v", got.Text, err)
	}
	short.ContentType = "text/plain; charset=johab"
	if got, err := parse.Parse(t.Context(), short); err != nil || got.Text != "갑문은 해마다" {
		t.Errorf("a short text that is declared is read as %q, %v", got.Text, err)
	}
}

// Latin letters of old encodings are bytes of kana, Cyrillic letters and signs in others.
func TestLettersWithinLatinWordsAreLatin(t *testing.T) {
	t.Parallel()
	const spanish = "La estación también abrirá aquí; según el dueño, el café está a 20 metros. "
	for name, known := range map[string]encoding.Encoding{"ibm850": charmap.CodePage850, "macintosh": charmap.Macintosh} {
		content, err := known.NewEncoder().Bytes([]byte(strings.Repeat(spanish, 20)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse.Parse(t.Context(), parse.Source{Content: content, FileName: "a.txt"})
		if err == nil && got.Text != strings.Repeat(spanish, 20) || err != nil && !strings.Contains(fault.Public(err), name) {
			t.Errorf("%s is read as %.60q in %q, %v", name, got.Text, got.Properties["encoding"], err)
		}
	}
}

// A broken byte in a text of ASCII is no letter of a rare encoding.
func TestABrokenByteIsNotALetter(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"abc\xff\xfedef", "abc\xfe", "ab\xc0\xafcd", "aaa\xf0\x9f\x92", "valid text then cut \xe2\x82", "Ein Wort \xe2\x80 abgeschnitten", "caf\xc3",
		"This is a long English log line with a broken\xfe byte at the end of a word", "Das ist eine lange Zeile mit einem kaputten\xfe Byte",
	} {
		if got, err := parse.Parse(t.Context(), parse.Source{Content: []byte(text), FileName: "a.txt"}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q is read as %q, %v", text, got.Text, err)
		}
	}
}

// Text that would be decoded to wrong letters is rejected, with what to do.
func TestTextInUncertainEncodingsIsRejected(t *testing.T) {
	t.Parallel()
	for encoding, text := range map[string]string{
		"windows-1251": "Привет, мир", "koi8-r": "Привет, мир", "iso-8859-7": "Καλημέρα κόσμε",
		"x-mac-cyrillic": "Уважаемые коллеги! Завтра в десять часов состоится собрание отдела. Просим всех быть вовремя.", "gb18030": "会议资料", "shift_jis": "会議資料", "euc-jp": "東京都港区", "euc-kr": "이것은 한국어 텍스트입니다.", "big5": "這是一個中文文本", "windows-1250": "Zażółć gęślą jaźń",
	} {
		known, _ := charset.Lookup(encoding)
		content, err := known.NewEncoder().Bytes([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse.Parse(t.Context(), parse.Source{Content: content, FileName: "a.txt"})
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "is not UTF-8 text, and its encoding is not certain: convert it") {
			t.Errorf("%s is read as %q, error %v", encoding, got.Text, err)
		}
		if encoding != "windows-1250" && encoding != "iso-8859-7" && !strings.Contains(fault.Public(err), "it is likely "+encoding) {
			t.Errorf("%s is not the likeliest: %v", encoding, err)
		}
	}
}

// Texts in units of two and four bytes are read with and without a byte order mark, in every script.
func TestWideTextIsDecoded(t *testing.T) {
	t.Parallel()
	texts := []string{
		"Hello world, this is a plain text.\nAnother line.", "Уважаемые коллеги! Завтра в десять часов собрание.", "これは日本語のテキストです。検索できますか。",
		"会议将于明天上午十点开始，请大家准时参加。", "회의는 내일 오전 열 시에 시작합니다. 모두 오십시오.", "سيبدأ الاجتماع غدا في الساعة العاشرة.", "การประชุมจะเริ่มพรุ่งนี้ ขอให้ทุกคนมา",
	}
	for name, of := range map[string]func(mark bool) encoding.Encoding{
		"utf-16le": func(mark bool) encoding.Encoding { return unicode.UTF16(unicode.LittleEndian, markOf16[mark]) },
		"utf-16be": func(mark bool) encoding.Encoding { return unicode.UTF16(unicode.BigEndian, markOf16[mark]) },
		"utf-32le": func(mark bool) encoding.Encoding { return utf32.UTF32(utf32.LittleEndian, markOf32[mark]) },
		"utf-32be": func(mark bool) encoding.Encoding { return utf32.UTF32(utf32.BigEndian, markOf32[mark]) },
	} {
		for _, text := range texts {
			for _, mark := range []bool{false, true} {
				content, err := of(mark).NewEncoder().Bytes([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				got, err := parse.Parse(t.Context(), parse.Source{Content: content, FileName: "a.txt"})
				if err != nil || got.Text != text || got.Properties["encoding"] != name[:len("utf-16")] {
					t.Errorf("%s, mark %v, %.20s: read as %.40q, error %v", name, mark, text, got.Text, err)
				}
			}
		}
	}
}

var (
	markOf16 = map[bool]unicode.BOMPolicy{false: unicode.IgnoreBOM, true: unicode.UseBOM}
	markOf32 = map[bool]utf32.BOMPolicy{false: utf32.IgnoreBOM, true: utf32.UseBOM}
)

// What a content type declares is believed if the text can be in that encoding.
func TestTheDeclaredEncodingIsDecoded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ contentType, encoding, text, want string }{
		{"text/plain; charset=koi8-r", "koi8-r", "Привет, мир", "koi8-r"},
		{"text/plain; charset=EUC-KR", "euc-kr", "한국어", "euc-kr"},
		{"text/csv; charset=ISO-8859-2", "iso-8859-2", "Łódź", "iso-8859-2"},
		{"text/markdown; charset=iso-2022-jp", "iso-2022-jp", "灯台", "iso-2022-jp"},
		{"text/plain; charset=us-ascii", "windows-1252", "café", "windows-1252"},
		{"text/plain; charset=koi8-r", "utf-8", "Привет, мир", ""},
		{"text/plain; charset=no-such-set", "windows-1252", "un enfant né à Nîmes", "windows-1252"},
		{"text/plain; charset=gbk", "windows-1252", "un enfant né à Nîmes", "windows-1252"},
	} {
		known, _ := charset.Lookup(tc.encoding)
		content, err := known.NewEncoder().Bytes([]byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		src := parse.Source{Content: content, ContentType: tc.contentType}
		got, err := parse.Parse(t.Context(), src)
		if err != nil || strings.TrimSpace(got.Text) != tc.text || got.Properties["encoding"] != tc.want {
			t.Errorf("%s: read as %q in %q, error %v", tc.contentType, got.Text, got.Properties["encoding"], err)
		}
		if decodes := parse.IsEncoded(parse.Text, src); decodes != (tc.want != "") {
			t.Errorf("%s: IsEncoded is %v", tc.contentType, decodes)
		}
		if strings.Contains(got.ContentType, "charset") {
			t.Errorf("the text, which is UTF-8, has the content type %s", got.ContentType)
		}
	}
}

func TestUTF16WithoutAByteOrderMarkIsDecoded(t *testing.T) {
	t.Parallel()
	const text = "Die Tür hält den Überdruck.\n"
	for _, encoding := range []string{"utf-16le", "utf-16be"} {
		known, _ := charset.Lookup(encoding)
		content, err := known.NewEncoder().Bytes([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parse.Parse(t.Context(), parse.Source{Content: content}); err != nil || got.Text != text {
			t.Errorf("%s is read as %q, error %v", encoding, got.Text, err)
		}
	}
	for _, content := range []string{strings.Repeat("\x00", 100), strings.Repeat("\x01\x00", 100), strings.Repeat("a\x00b\x01", 10), "a\x00b\x00"} {
		if got, err := parse.Parse(t.Context(), parse.Source{Content: []byte(content)}); err == nil {
			t.Errorf("%q is read as %q", content, got.Text)
		}
	}
}

// Texts of seven bits in ISO-2022-KR are read, and texts that only look like one of these encodings stay what they are.
func TestTextsOfSevenBits(t *testing.T) {
	t.Parallel()
	shifted := func(text string) string {
		raw, err := korean.EUCKR.NewEncoder().Bytes([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for i := range raw {
			raw[i] &^= 0x80
		}
		return "\x0e" + string(raw) + "\x0f"
	}
	for _, tc := range []struct{ content, want, encoding string }{
		{"\x1b$)C" + shifted("수문장") + " opens at 7.\n" + shifted("배") + ": " + shifted("두척") + "\n", "수문장 opens at 7.\n배: 두척", "iso-2022-kr"},
		{"\x1b$)C" + strings.Repeat(shifted("갑문은일곱시에열린다")+"\n", 3000), strings.TrimSpace(strings.Repeat("갑문은일곱시에열린다\n", 3000)), "iso-2022-kr"},
		{"if s:match('~{ab~}') then return '~{cdef~}' end\nlocal t = '~{a.b.c.d.e.f.g.h~}'", "", ""},
		{"\\section{Ties}see~{\\bf the appendix and other places~} and~{\\it more of the same in many words~}", "", ""},
	} {
		got, err := parse.Parse(t.Context(), parse.Source{Content: []byte(tc.content), FileName: "a.txt"})
		want := tc.want
		if want == "" {
			want = tc.content
		}
		if err != nil || strings.TrimSpace(got.Text) != want || got.Properties["encoding"] != tc.encoding {
			t.Errorf("%.40q: read as %.60q in %q, %v", tc.content, got.Text, got.Properties["encoding"], err)
		}
	}
	declared, err := parse.Parse(t.Context(), parse.Source{Content: []byte("\x1b$)C" + shifted("항구")), FileName: "a.txt", ContentType: "text/plain; charset=iso-2022-kr"})
	if err != nil || declared.Text != "항구" {
		t.Errorf("declared: %q, %v", declared.Text, err)
	}
	letter := "From: a@example.com\r\nSubject: Harbour\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=ISO-2022-KR\r\n\r\n\x1b$)C\r\n" + shifted("항구") + " 7\r\n"
	mail, err := parse.Parse(t.Context(), parse.Source{Content: []byte(letter), FileName: "a.eml"})
	if err != nil || !strings.Contains(mail.Text, "항구 7") {
		t.Errorf("an email: %q, %v", mail.Text, err)
	}
}
