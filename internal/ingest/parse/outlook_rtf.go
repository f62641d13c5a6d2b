package parse

import "encoding/binary"

// rtfDictionary is what the texts of messages in RTF are compressed with (MS-OXRTFCP).
const rtfDictionary = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0` +
	"\r\n" + `\par \pard\plain\f0\fs20\b\i\u\tab\tx`

// decompressedRTF returns a compressed text in RTF, as far as it can be read.
func decompressedRTF(content []byte) []byte {
	const head, compressed, plain, window = 16, 0x75465A4C, 0x414C454D, 4096
	if len(content) < head {
		return nil
	}
	size := min(int(binary.LittleEndian.Uint32(content[4:])), maxMember)
	kind := binary.LittleEndian.Uint32(content[8:])
	content = content[head:]
	switch kind {
	case plain:
		return content[:min(size, len(content))]
	case compressed:
	default:
		return nil
	}
	out := append(make([]byte, 0, len(rtfDictionary)+min(size, 8*len(content))), rtfDictionary...)
	size += len(rtfDictionary)
	for len(content) > 1 {
		flags := content[0]
		content = content[1:]
		for bit := 0; bit < 8 && len(content) > 0; bit++ {
			if flags>>bit&1 == 0 {
				out, content = append(out, content[0]), content[1:]
				continue
			}
			if len(content) < 2 {
				return out[len(rtfDictionary):]
			}
			reference := int(binary.BigEndian.Uint16(content))
			content = content[2:]
			offset, length := reference>>4, reference&15+2
			back := (len(out) - offset) & (window - 1) // bytes before the end
			if back == 0 {
				return out[len(rtfDictionary):min(len(out), size)]
			}
			for range length {
				if back > len(out) {
					return out[len(rtfDictionary):]
				}
				out = append(out, out[len(out)-back])
			}
			if len(out) >= size {
				return out[len(rtfDictionary):size]
			}
		}
	}
	return out[len(rtfDictionary):min(len(out), size)]
}
