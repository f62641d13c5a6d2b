package parse

import "strconv"

// codepageLabel returns the name of the encoding of a code page of Windows.
func codepageLabel(page int) string {
	switch page {
	case 932:
		return "shift_jis"
	case 936:
		return "gbk"
	case 949:
		return "euc-kr"
	case 950:
		return "big5"
	case 65001:
		return "utf-8"
	case 866:
		return "ibm866"
	case 20127:
		return "windows-1252" // ASCII
	case 20866:
		return "koi8-r"
	case 21866:
		return "koi8-u"
	case 50220, 50221, 50222:
		return "iso-2022-jp"
	case 51932:
		return "euc-jp"
	case 51949:
		return "euc-kr"
	case 54936:
		return "gb18030"
	case 10000:
		return "macintosh"
	}
	if page > 28590 && page <= 28606 {
		return "iso-8859-" + strconv.Itoa(page-28590)
	}
	return "windows-" + strconv.Itoa(page)
}

// charsetLabel returns the encoding of a font's character set, "" for that of the document.
func charsetLabel(set int) string {
	page, ok := map[int]int{
		77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250,
	}[set]
	if !ok {
		return ""
	}
	return codepageLabel(page)
}

// localeLabel returns the encoding of a locale of Windows, "" for one that does not tell it.
func localeLabel(locale uint64) string {
	const language, chinese = 0x3ff, 0x04
	page := map[uint64]int{
		0x01: 1256, 0x02: 1251, 0x05: 1250, 0x08: 1253, 0x0d: 1255, 0x0e: 1250, 0x11: 932, 0x12: 949, 0x15: 1250, 0x18: 1250, 0x19: 1251, 0x1b: 1250,
		0x1c: 1250, 0x1e: 874, 0x1f: 1254, 0x20: 1256, 0x22: 1251, 0x23: 1251, 0x24: 1250, 0x25: 1257, 0x26: 1257, 0x27: 1257, 0x29: 1256, 0x2a: 1258,
	}[locale&language]
	switch {
	case locale == 0x0404, locale == 0x0c04, locale == 0x1404: // Taiwan, Hong Kong, Macau
		page = 950
	case locale&language == chinese:
		page = 936
	}
	if page == 0 {
		return ""
	}
	return codepageLabel(page)
}
