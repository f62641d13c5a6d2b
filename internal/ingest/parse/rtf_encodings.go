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
	case 10000:
		return "macintosh"
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
