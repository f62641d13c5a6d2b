package chunk

import (
	"strings"
	"testing"
	"unicode"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// languages are texts of some sentences, without white space between those of scripts that have
// none.
var languages = map[string][]string{
	"Chinese":             {"值班电话在手册的第一页。", "如果泵停了，请先关闭进水阀。", "然后打电话！"},
	"Chinese in quotes":   {"他问：“谁值班？”", "没有人回答……只有风声。", "（见第二页。）", "水位是１，２００毫米；请记录。"},
	"Chinese with Latin":  {"我们使用 Python 语言写 ETL 程序。", "请看 https://foo.bar/?q=中文 页!", "版本 v1.2.3 已发布?", "好。"},
	"Japanese":            {"値は３．１４です。", "次です。", "「はい。」と彼は言った。", "終わり。", "本当！？", "そうです。"},
	"Japanese in Latin":   {"入力はＡ．Ｂ．の値です．", "出力は０．５です．", "以上．"},
	"Hindi":               {"यह पहला वाक्य है। ", "यह दूसरा वाक्य है। ", "क्या डॉ. शर्मा यहाँ हैं? ", "यह तीसरा है।"},
	"Urdu":                {"یہ پہلا جملہ ہے۔ ", "کیا یہ دوسرا ہے؟ ", "یہ تیسرا ہے۔"},
	"Arabic":              {"هل هذه الجملة الأولى؟ ", "نعم! ", "هذه هي الثانية."},
	"Amharic":             {"ይህ የመጀመሪያው ነው።", "ይህ ሁለተኛው ነው።"},
	"Burmese":             {"ဒါက ပထမ ဝါကျ ဖြစ်တယ်။ ", "ဒါက ဒုတိယ ဖြစ်တယ်။"},
	"Khmer":               {"នេះជាប្រយោគទីមួយ។ ", "នេះជាប្រយោគទីពីរ។"},
	"Armenian":            {"Սա առաջին նախադասությունն է։ ", "Սա երկրորդն է։"},
	"Korean":              {"값은 3.14입니다. ", "다음 문장입니다. ", "정말이에요? ", "네, 그렇습니다."},
	"English":             {"He said \"No.\" ", "Then left, i.e. that was all, e.g. for him. ", "Jan. 5 was cold. ", "Version v1.2.3 is out. ", "See https://foo.bar/baz?x=1. ", "Dr. Smith of the U.S. arrived."},
	"English in brackets": {"It works (see Fig. 3.) ", "\"Why?\" ", "Because Ms. J. R. Hill, Ph.D. Oxford, said so! ", "St. John's has Mt. Royal at 3.5 km. ", "OK?"},
	"German":              {"Das kostet ca. Zehn Euro, d. h. z. B. Nr. 5 bzw. Abs. Zwei. ", "Am 5. Januar kam Hr. Dr. Übel. ", "„Gut.“ ", "Er ging."},
	"French":              {"M. Dupont et Mme. Durand arrivent. ", "« Bien. » ", "Il part à 8.30 h. ", "Ça va ?"},
	"Spanish":             {"La Sra. Ruiz vive en la Av. Colón. ", "¿Dónde está? ", "¡Aquí! ", "Vale."},
	"Russian":             {"Это ул. Мира, т. е. центр. ", "А. С. Пушкин жил в г. Москве. ", "«Да.» ", "Он ушёл."},
	"Greek":               {"Αυτή είναι η πρώτη. ", "Αυτή είναι η δεύτερη."},
}

// wholeSentences checks that chunks begin and end where sentences of the text do.
func wholeSentences(t *testing.T, text string, sentences []string, chunks []Chunk) {
	t.Helper()
	starts, ends := map[int]bool{}, map[int]bool{}
	at := 0
	for _, s := range sentences {
		from, to := textspan.Trim(s, 0, len(s))
		starts[at+from], ends[at+to] = true, true
		at += len(s)
	}
	for _, c := range chunks {
		if !starts[c.StartByte] || !ends[c.EndByte] {
			t.Errorf("a chunk cuts a sentence: %q", c.Text)
		}
		if c.Text != text[c.StartByte:c.EndByte] {
			t.Errorf("%q is not the text %q", c.Text, text[c.StartByte:c.EndByte])
		}
	}
}

// longest returns the units of the longest sentence.
func longest(sentences []string) int {
	most := 0
	for _, s := range sentences {
		most = max(most, textspan.Units(s))
	}
	return most
}

func TestSentencesOfEveryLanguageStayWhole(t *testing.T) {
	t.Parallel()
	for name, sentences := range languages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if last := len(sentences) - 1; unicode.Is(unicode.Zs, []rune(sentences[0])[len([]rune(sentences[0]))-1]) {
				sentences[last] += " "
			}
			var repeated []string
			for range 9 {
				repeated = append(repeated, sentences...)
			}
			text := strings.Join(repeated, "")
			for _, size := range []int{longest(repeated) + 1, 2*longest(repeated) + 3, 200, 800} {
				for _, strategy := range []Strategy{Recursive, Markdown, LaTeX} {
					overlap := size / 4
					o, err := Settings{Strategy: strategy, MaxSize: &size, Overlap: &overlap}.RetrievalOptions("", "")
					if err != nil {
						t.Fatal(err)
					}
					chunks, err := Split(t.Context(), text, o)
					if err != nil {
						t.Fatal(err)
					}
					wholeSentences(t, text, repeated, chunks)
					checkCoverage(t, text, o, chunks)
				}
			}
		})
	}
}

func TestRecursiveKeepsSentencesWithoutSpacesWhole(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Chinese", "Chinese in quotes", "Japanese", "Hindi", "Urdu", "Amharic", "Arabic", "Korean", "Burmese", "Armenian"} {
		sentences := languages[name]
		text := strings.Join(sentences, "")
		size := max(20, longest(sentences)+1)
		chunks := mustSplit(t, text, map[string]any{"maxSize": size})
		if size == 20 && len(chunks) < 2 {
			t.Errorf("%s: %d chunks", name, len(chunks))
		}
		wholeSentences(t, text, sentences, chunks)
	}
}

func TestTheSentenceStrategyReturnsTextsAsTheyStand(t *testing.T) {
	t.Parallel()
	for name, sentences := range languages {
		text := strings.TrimSpace(strings.Join(sentences, ""))
		for _, size := range []int{20, 50, 1000} {
			chunks := mustSplit(t, text, map[string]any{"strategy": "sentence", "maxSize": size})
			var all strings.Builder
			for _, c := range chunks {
				if !strings.Contains(text, c.Text) {
					t.Errorf("%s: %q is not in the text", name, c.Text)
				}
				all.WriteString(c.Text)
			}
			if withoutSpace(all.String()) != withoutSpace(text) {
				t.Errorf("%s: %q", name, all.String())
			}
		}
	}
}

// The sentence strategy ends a sentence where other chunkers do: not at a full stop within quotes or
// brackets, and at the one of St.
func TestTheSentenceStrategyKeepsSentencesWhole(t *testing.T) {
	t.Parallel()
	for name, sentences := range languages {
		if name == "English" || name == "English in brackets" || name == "German" || name == "French" || name == "Russian" {
			continue // have such full stops
		}
		text := strings.Join(sentences, "")
		chunks := mustSplit(t, text, map[string]any{"strategy": "sentence", "maxSize": longest(sentences) + 1, "targetSize": 1})
		wholeSentences(t, text, sentences, chunks)
		if len(chunks) != len(sentences) {
			t.Errorf("%s: %d chunks", name, len(chunks))
		}
	}
	const text = `He said "No." Then left, i.e. that was all, e.g. for him. Jan. 5 was cold. Version v1.2.3 is out. See https://foo.bar/baz?x=1. Dr. Smith of the U.S. arrived.`
	var got []string
	for _, c := range mustSplit(t, text, map[string]any{"strategy": "sentence", "maxSize": 70, "targetSize": 1}) {
		got = append(got, c.Text)
	}
	want := `He said "No." Then left, i.e. that was all, e.g. for him.|Jan. 5 was cold.|Version v1.2.3 is out.|See https://foo.bar/baz?x=1.|Dr. Smith of the U.S. arrived.`
	if strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
}

func TestSentencesThatAreTooLongAreCutAtClausesAndWords(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		size int
		want string
	}{
		"clauses":               {"如果泵停了，请先关闭进水阀，然后打电话；最后记录时间、地点和水位，谢谢", 14, "如果泵停了，请先关闭进水阀，|然后打电话；|最后记录时间、地点和水位，|谢谢"},
		"no clause in a number": {"总数是１，０００，０００个而已，没有其他", 18, "总数是１，０００，０００个而已，|没有其他"},
		"words in Chinese":      {"这是版本Python3.12和Kubernetes的说明", 12, "这是版本|Python3.12和|Kubernetes的说|明"},
		"words in Japanese":     {"東京タワーへ行きましたのでカメラを買いました", 10, "東京タワーへ|行きましたので|カメラを買いました"},
		"syllables in Thai":     {"ประเทศไทยเป็นประเทศที่ตั้งอยู่ในเอเชีย", 16, "ประเทศไทยเป็นประ|เทศที่ตั้งอยู่ใน|เอเชีย"},
		"spaces in Thai":        {"ประเทศไทย เป็นประเทศ ตั้งอยู่", 20, "ประเทศไทย เป็นประเทศ|ตั้งอยู่"},
		"words with ZWSP":       {"ខ្ញុំ\u200bស្រឡាញ់\u200bភាសា\u200bខ្មែរ", 16, "ខ្ញុំ\u200bស្រឡាញ់\u200b|ភាសា\u200bខ្មែរ"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range mustSplit(t, tc.text, map[string]any{"maxSize": tc.size, "overlap": 0}) {
				got = append(got, c.Text)
			}
			if joined := strings.Join(got, "|"); joined != tc.want {
				t.Errorf("got  %s\nwant %s", joined, tc.want)
			}
		})
	}
}

// With an overlap, and without upload, chunks are those of other chunkers.
func TestAnOverlapKeepsTheCutsOfOtherChunkers(t *testing.T) {
	t.Parallel()
	chunks := mustSplit(t, "如果泵停了请先关闭进水阀。然后打电话", map[string]any{"maxSize": 16, "overlap": 4})
	if got := chunks[0].Text + "|" + chunks[1].Text; got != "如果泵停了请先关闭进水阀。然后打|。然后打电话" {
		t.Errorf("got %s", got)
	}
}

// wrap breaks the lines of a text as an editor does.
func wrap(text string, width int) string {
	var sb strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := textspan.Units(word)
		switch {
		case column == 0:
		case column+1+n > width:
			sb.WriteByte('\n')
			column = 0
		default:
			sb.WriteByte(' ')
			column++
		}
		sb.WriteString(word)
		column += n
	}
	return sb.String()
}

func TestSentencesInWrappedLinesStayWhole(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"English", "German", "Hindi", "Russian", "Korean"} {
		text := wrap(strings.Repeat(strings.Join(languages[name], "")+" ", 30), 72)
		o, err := Settings{}.RetrievalOptions("text/plain", "")
		if err != nil {
			t.Fatal(err)
		}
		chunks, err := Split(t.Context(), text, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(chunks) < 2 {
			t.Errorf("%s: %d chunks", name, len(chunks))
		}
		for _, c := range chunks {
			begins, ends := false, false
			flat := strings.ReplaceAll(c.Text, "\n", " ")
			for _, s := range languages[name] {
				s = strings.TrimSpace(s)
				begins, ends = begins || strings.HasPrefix(flat, s), ends || strings.HasSuffix(flat, s)
			}
			if !begins || !ends {
				t.Errorf("%s: a chunk cuts a sentence: %q", name, c.Text)
			}
		}
		checkCoverage(t, text, o, chunks)
	}
}

func TestLinesThatAreNotWrappedStayWhole(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"a list":      "- One thing. Another thing.\n- And. More, of another length than that.\n",
		"a table":     "| A cell. With two sentences. | And one more. Really. |\n",
		"a log":       "2026-01-02 Started. Waiting for the leader.\n2026-01-02 Leader is node 7. Done. All followers are connected now.\n",
		"source code": "\tx.Y = 1. // One. Two.\n\tif a {\n\t\treturn b. // Three.\n\t}\n",
	} {
		text := strings.Repeat(line, 40)
		size, overlap := 200, 0
		o, err := Settings{MaxSize: &size, Overlap: &overlap}.RetrievalOptions("text/plain", "")
		if err != nil {
			t.Fatal(err)
		}
		chunks, err := Split(t.Context(), text, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chunks {
			if c.EndByte < len(text)-1 && text[c.EndByte] != '\n' {
				t.Errorf("%s: a chunk cuts a line: %q", name, c.Text)
			}
		}
	}
}
