package parse_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// box returns a box of an MP4 file.
func box(kind string, content ...string) string {
	all := strings.Join(content, "")
	return string(binary.BigEndian.AppendUint32(nil, uint32(8+len(all)))) + kind + all
}

// track returns a track of an MP4 file.
func track(handler string) string {
	return box("trak", box("mdia", box("hdlr", "\x00\x00\x00\x00\x00\x00\x00\x00"+handler)))
}

// frame returns a frame of layer III with 128 kbit/s and 44.1 kHz.
var frame = "\xff\xfb\x90\x00" + strings.Repeat("\x55", 413)

func TestRecordingsAreDetected(t *testing.T) {
	t.Parallel()
	film := box("ftyp", "isom\x00\x00\x02\x00") + box("mdat", "\x00\xff")
	for name, tc := range map[string]struct{ content, want string }{
		"mp3 with tags":      {"ID3\x04\x00\x00\x00\x00\x00\x00\xff", "audio/mpeg"},
		"mp3":                {frame + frame, "audio/mpeg"},
		"mp3 of MPEG-2":      {strings.Repeat("\xff\xf3\x40\x00"+strings.Repeat("\x55", 100), 2), "audio/mpeg"},
		"one frame alone":    {frame, ""},
		"wav":                {"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00", "audio/wav"},
		"a RIFF picture":     {"RIFF\x24\x00\x00\x00WEBPVP8 \x10\x00", ""},
		"flac":               {"fLaC\x00\x00\x00\x22", "audio/flac"},
		"ogg":                {"OggS\x00\x02\x00\x00OpusHead", "audio/ogg"},
		"webm":               {"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm", "video/webm"},
		"m4a":                {box("ftyp", "M4A \x00\x00\x00\x00"), "audio/mp4"},
		"a film":             {film + box("moov", track("vide"), track("soun")), "video/mp4"},
		"a picture of HEIF":  {box("ftyp", "heic\x00\x00\x00\x00"), ""},
		"UTF-16 with a mark": {"\xff\xfea\x00b\x00", ""},
		"text":               {"ID", ""},
	} {
		if got := parse.RecordingType([]byte(tc.content)); got != tc.want {
			t.Errorf("%s is %q, want %q", name, got, tc.want)
		}
		if tc.want == "" {
			continue
		}
		src := parse.Source{Content: []byte(tc.content), FileName: "a.bin"}
		if _, err := parse.Detect(src); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "transcription-model") {
			t.Errorf("%s, which nothing reads: %v", name, err)
		}
		src.Recordings = 1000
		if got, err := parse.Detect(src); err != nil || got != parse.Recording {
			t.Errorf("%s is of the format %q, %v", name, got, err)
		}
		src.Recordings = 5
		if _, err := parse.Detect(src); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "over the limit of 5 of the setting transcription-max-bytes") {
			t.Errorf("%s that is too large: %v", name, err)
		}
	}
	silent := parse.Source{Content: []byte(film + box("moov", track("vide"))), Recordings: 1000}
	if _, err := parse.Detect(silent); err == nil || !strings.Contains(err.Error(), "a video without sound") {
		t.Errorf("a silent film: %v", err)
	}
	text := parse.Source{Content: []byte("notes on a song"), FileName: "song.mp3"}
	if got, err := parse.Detect(text); err != nil || got != parse.Text {
		t.Errorf("a text with the name of a recording is %q, %v", got, err)
	}
}

func TestRecordingsAreReadWithTheirTimes(t *testing.T) {
	t.Parallel()
	src := parse.Source{Content: []byte("fLaC\x00\x00\x00\x22"), FileName: "pilot talk.flac", Recordings: 100}
	key := parse.RecordingKey(src.Content)
	hear := func(said ...parse.Said) { src.Transcripts = map[string]parse.Transcript{key: {Said: said}} }
	hear(parse.Said{Start: 0, End: 2.5, Text: " The gate  opens <soon>.\x00"}, parse.Said{Start: 2.5, End: 4, Text: "Ships wait."}, parse.Said{Start: 4, End: 5, Text: "Ships wait."},
		parse.Said{Start: 60.25, End: 62, Text: "A pilot comes."}, parse.Said{Start: 1e300, End: -1, Text: "Of the harbour."})
	d, err := parse.Parse(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	if want := "The gate opens <soon>.\nShips wait.\n\nA pilot comes.\n\nOf the harbour."; d.Text != want || d.ContentType != "text/plain" || d.Title != "pilot talk" {
		t.Errorf("read %q of type %s, titled %q", d.Text, d.ContentType, d.Title)
	}
	want := []parse.Span{
		{Kind: parse.Time, Start: 0, End: 22, Number: 0, Last: 2500}, {Kind: parse.Time, Start: 23, End: 34, Number: 2500, Last: 4000},
		{Kind: parse.Time, Start: 36, End: 50, Number: 60250, Last: 62000},
	}
	for n, span := range want {
		if len(d.Spans) != 4 || d.Spans[n] != span {
			t.Errorf("spans %+v, want %+v", d.Spans, want)
			break
		}
	}
	hear(parse.Said{Text: "One piece."})
	if d, err = parse.Parse(t.Context(), src); err != nil || d.Text != "One piece." || len(d.Spans) != 0 {
		t.Errorf("without times: %+v, %v", d, err)
	}
	hear()
	if _, err = parse.Parse(t.Context(), src); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "a recording file without text") {
		t.Errorf("silence: %v", err)
	}
	src.Transcripts[key] = parse.Transcript{Refused: "is refused"}
	if _, err = parse.Parse(t.Context(), src); fault.KindOf(err) != fault.Invalid || err.Error() != "content: is refused" {
		t.Errorf("refused: %v", err)
	}
}

// Recordings in archives and attached to messages, also in others, are returned until there are transcripts.
func TestRecordingsWithinFilesAreRead(t *testing.T) {
	t.Parallel()
	pack := func(files map[string][]byte) []byte {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for name, content := range files {
			w, err := z.Create(name)
			if err == nil {
				_, err = w.Write(content)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	one, two := []byte("fLaC\x00\x00\x00\x22"), []byte("OggS\x00\x02\x00\x00OpusHead\xff")
	message := []byte("Subject: Talk\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nListen.\n--b\nContent-Type: audio/ogg\nContent-Disposition: attachment; filename=two.ogg\nContent-Transfer-Encoding: base64\n\n" +
		base64.StdEncoding.EncodeToString(two) + "\n--b--\n")
	src := parse.Source{Content: pack(map[string][]byte{"one.flac": one}), FileName: "talks.zip", Recordings: 100}
	d, err := parse.Parse(t.Context(), src)
	if err != nil || len(d.Unheard) != 1 || !bytes.Equal(d.Unheard[0], one) || d.Text != "" {
		t.Fatalf("an archive of nothing else: %+v, %v", d, err)
	}
	src.Content = pack(map[string][]byte{"talk.eml": message})
	d, err = parse.Parse(t.Context(), src)
	if err != nil || len(d.Unheard) != 1 || !bytes.Equal(d.Unheard[0], two) {
		t.Fatalf("a message in an archive: %+v, %v", d, err)
	}
	src.Transcripts = map[string]parse.Transcript{parse.RecordingKey(two): {Said: []parse.Said{{Start: 1, End: 2, Text: "The gate opens."}}}}
	d, err = parse.Parse(t.Context(), src)
	if err != nil || len(d.Unheard) != 0 || !strings.Contains(d.Text, "# two.ogg\n\nThe gate opens.") || len(d.Skipped) != 0 ||
		!slices.ContainsFunc(d.Spans, func(s parse.Span) bool { return s.Kind == parse.Time && s.Number == 1000 && s.Last == 2000 }) {
		t.Errorf("with its transcript: %+v, %v", d, err)
	}
	many := map[string][]byte{}
	for n := range 22 {
		many[fmt.Sprintf("%d.flac", n)] = append(slices.Clone(one), byte(n))
	}
	src.Content = pack(many)
	if d, err = parse.Parse(t.Context(), src); err != nil || len(d.Unheard) != 20 {
		t.Errorf("many: %d, %v", len(d.Unheard), err)
	}
}
