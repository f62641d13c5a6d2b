package parse

import (
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// upperHalf is an encoding of single bytes, for reading alone: ASCII, and these 128 characters for the bytes above.
type upperHalf []rune

// The encodings for Latin letters that golang.org/x/text lacks: the Latin 2 of Macintosh, and code pages of DOS for Turkish and the
// Baltic languages.
var (
	macCentral = upperHalf("ÄĀāÉĄÖÜáąČäčĆćéŹźĎíďĒēĖóėôöõúĚěü†°Ę£§•¶ß®©™ę¨≠ģĮįĪ≤≥īĶ∂∑łĻļĽľĹĺŅņŃ¬√ńŇ∆«»…\u00a0ňŐÕőŌ–—“”‘’÷◊ōŔŕŘ‹›řŖŗŠ‚„šŚśÁŤťÍŽžŪÓÔūŮÚůŰűŲųÝýķŻŁżĢˇ")
	ibm857     = upperHalf("ÇüéâäàåçêëèïîıÄÅÉæÆôöòûùİÖÜø£ØŞşáíóúñÑĞğ¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ºªÊËÈ\ufffdÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµ\ufffd×ÚÛÙìÿ¯´\u00ad±\ufffd¾¶§÷¸°¨·¹³²■\u00a0")
	ibm775     = upperHalf("ĆüéāäģåćłēŖŗīŹÄÅÉæÆōöĢ¢ŚśÖÜø£Ø×¤ĀĪóŻżź”¦©®¬½¼Ł«»░▒▓│┤ĄČĘĖ╣║╗╝ĮŠ┐└┴┬├─┼ŲŪ╚╔╩╦╠═╬Žąčęėįšųūž┘┌█▄▌▐▀ÓßŌŃõÕµńĶķĻļņĒŅ’\u00ad±“¾¶§÷„°∙·¹³²■\u00a0")
)

// NewDecoder implements encoding.Encoding.
func (u upperHalf) NewDecoder() *encoding.Decoder { return &encoding.Decoder{Transformer: u} }

// NewEncoder implements encoding.Encoding. Nothing is written in it.
func (u upperHalf) NewEncoder() *encoding.Encoder { return encoding.Nop.NewEncoder() }

// Reset implements transform.Transformer.
func (u upperHalf) Reset() {}

// Transform implements transform.Transformer.
func (u upperHalf) Transform(dst, src []byte, _ bool) (written, read int, err error) {
	for _, b := range src {
		r := rune(b)
		if b >= utf8.RuneSelf {
			r = u[b-utf8.RuneSelf]
		}
		if written+utf8.RuneLen(r) > len(dst) {
			return written, read, transform.ErrShortDst
		}
		written += utf8.EncodeRune(dst[written:], r)
		read++
	}
	return written, read, nil
}
