package parse

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Transcript is what is said in a recording, in order.
type Transcript struct {
	Said []Said
	// Refused is why there is none, for the caller; "" for a transcript.
	Refused string
}

// RecordingKey returns the key of a recording in Source.Transcripts.
func RecordingKey(recording []byte) string {
	hash := sha256.Sum256(recording)
	return string(hash[:])
}

// Said is a piece of what is said in a recording. Start and End are seconds from its beginning; both are 0 if they are not known.
type Said struct {
	Start, End float64
	Text       string
}

// RecordingType returns the media type of a recording by its beginning, "" for other content. It does not tell whether a
// video has sound.
func RecordingType(content []byte) string {
	at := func(offset int, signature string) bool {
		return len(content) > offset && bytes.HasPrefix(content[offset:], []byte(signature))
	}
	switch {
	case at(0, "ID3"), isMP3(content):
		return "audio/mpeg"
	case at(0, "RIFF") && at(8, "WAVE"):
		return "audio/wav"
	case at(0, "fLaC"):
		return "audio/flac"
	case at(0, "OggS"):
		return "audio/ogg"
	case at(0, "\x1aE\xdf\xa3") && bytes.Contains(content[:min(len(content), 64)], []byte("webm")):
		return "video/webm"
	case at(4, "ftypM4A"), at(4, "ftypM4B"):
		return "audio/mp4"
	case at(4, "ftyp"):
		for _, brand := range []string{"isom", "iso2", "iso4", "iso5", "iso6", "mp41", "mp42", "avc1", "M4V ", "MSNV", "3gp", "qt  ", "dash"} {
			if at(8, brand) {
				return "video/mp4"
			}
		}
	}
	return ""
}

// Bit rates in kbit/s and sampling rates in Hz of MPEG-1 layer III; those of MPEG-2 and 2.5 differ.
var (
	bitRates1   = [16]int{1: 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}
	bitRates2   = [16]int{1: 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}
	sampleRates = [4]int{44100, 48000, 32000}
)

// isMP3 reports whether content begins with two frames of MPEG layer III.
func isMP3(content []byte) bool {
	size := frameSize(content)
	return size > 0 && size < len(content) && frameSize(content[size:]) > 0
}

// frameSize returns the size in bytes of the frame of MPEG layer III that content begins with, 0 for none.
func frameSize(content []byte) int {
	if len(content) < 4 || content[0] != 0xff || content[1]&0xe6 != 0xe2 {
		return 0
	}
	version := content[1] >> 3 & 3 // 3 is MPEG-1, 2 MPEG-2, 0 MPEG-2.5
	rate, samples := sampleRates[content[2]>>2&3], 144
	bits := bitRates1[content[2]>>4]
	if version != 3 {
		bits, samples = bitRates2[content[2]>>4], 72
		rate /= 2
	}
	if version == 0 {
		rate /= 2
	}
	if version == 1 || bits == 0 || rate == 0 {
		return 0
	}
	return samples*bits*1000/rate + int(content[2]>>1&1)
}

// isSilent reports whether the content is a whole MP4 file without a track of sound.
func isSilent(content []byte) bool {
	for len(content) >= 8 {
		size, kind := uint64(binary.BigEndian.Uint32(content)), string(content[4:8])
		if size == 1 && len(content) >= 16 {
			size = binary.BigEndian.Uint64(content[8:])
		}
		if size < 8 || size > uint64(len(content)) {
			return false
		}
		if kind == "moov" {
			return !bytes.Contains(content[:size], []byte("soun"))
		}
		content = content[size:]
	}
	return false
}

// detectRecording returns the format of content that is a recording, or why it cannot be read. ok is false for other content.
func detectRecording(src Source) (f Format, ok bool, err error) {
	kind := RecordingType(src.Content)
	switch {
	case kind == "":
		return "", false, nil
	case src.Recordings == 0:
		return "", true, errRecording
	case kind == "video/mp4" && isSilent(src.Content):
		return "", true, unsupported("a video without sound", "only what is said in it could be searched")
	case int64(len(src.Content)) > src.Recordings:
		return "", true, fault.Field("content", "is a recording of %d bytes, over the limit of %d of the setting transcription-max-bytes: compress it or split it", len(src.Content), src.Recordings)
	}
	return Recording, true, nil
}

// errRecording is the error for recordings where nothing writes down what is said in them.
var errRecording = unsupported("a recording", transcribe)

// transcribe is what can be done then.
const transcribe = "an operator can have recordings written down with the setting transcription-model; or upload a transcript, such as subtitles (.vtt)"

// maxSeconds bounds the times of a transcript: ten years.
const maxSeconds = 10 * 366 * 24 * 3600

// Limits of the recordings within one file. They are held in memory until they have transcripts.
const (
	maxUnheard      = 20
	maxUnheardBytes = 64 << 20
)

// recording reads the transcript of a recording, a line for each piece, with its times.
func (p *parser) recording() error {
	transcript, ok := p.src.Transcripts[RecordingKey(p.src.Content)]
	switch {
	case !ok:
		p.doc.Unheard = [][]byte{p.src.Content}
		return nil
	case transcript.Refused != "":
		return fault.Field("content", "%s", transcript.Refused)
	}
	s := &subtitleReader{out: &p.text}
	milliseconds := func(seconds float64) int { return int(math.Round(min(max(0, seconds), maxSeconds) * 1000)) }
	for _, said := range transcript.Said {
		s.begin(milliseconds(said.Start), milliseconds(said.End))
		s.say("", storable(said.Text))
		if p.text.full {
			break
		}
	}
	return nil
}

// unheard adds recordings of a member. It returns an error if there are too many.
func (p *parser) unheard(recordings [][]byte) error {
	for _, recording := range recordings {
		size := len(recording)
		for _, other := range p.doc.Unheard {
			size += len(other)
		}
		if len(p.doc.Unheard) == maxUnheard || size > maxUnheardBytes {
			return unsupported(fmt.Sprintf("one of more than %d recordings in a file, or of more than %d bytes of them", maxUnheard, maxUnheardBytes), "upload it as a document of its own")
		}
		p.doc.Unheard = append(p.doc.Unheard, recording)
	}
	return nil
}
