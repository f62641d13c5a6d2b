package parse

import (
	"strings"
	"testing"
)

func TestQuotationsAtTheEndAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"an answer", "Yes.\n\nOn Mon, 1 Mar 2026, Ana wrote:\n> Shall we?\n>\n> Ana\n\n", "Yes."},
		{"a broken attribution", "Yes.\n\nOn Monday, 1 March 2026 at 09:30, Ana Keel\n<ana@example.org> wrote:\n\n> Shall we?", "Yes."},
		{"in German", "Ja.\n\nAm 01.03.2026 um 09:30 schrieb Ana:\n> Sollen wir?", "Ja."},
		{"without an attribution", "Yes.\n> Shall we?", "Yes."},
		{"by a program of Microsoft", "Yes.\n\n-----Original Message-----\nFrom: Ana\nSent: Monday\n\nShall we?", "Yes."},
		{"an answer below", "On Mon, 1 Mar 2026, Ana wrote:\n> Shall we?\nYes.\n", "On Mon, 1 Mar 2026, Ana wrote:\n> Shall we?\nYes.\n"},
		{"no quotation", "On Monday we sail.\n", "On Monday we sail.\n"},
		{"nothing else", "> Shall we?", ""},
	} {
		if got := withoutQuotation(tc.text); strings.TrimSpace(got) != strings.TrimSpace(tc.want) {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

func TestTextOfJSONIsUnescaped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"K\u00f6ln"`: `"Köln"`, `"\ud83d\ude80"`: `"🚀"`, `"a\\u00f6"`: `"a\\u00f6"`, `"\\\u00f6"`: `"\\ö"`,
		`"\u0022\u000a\u0000"`: `"\u0022\u000a\u0000"`, `"\ud83d"`: `"\ud83d"`, `"\ude80\ud83d x"`: `"\ude80\ud83d x"`, `"\u00`: `"\u00`, `plain`: `plain`,
	} {
		if got := unescaped(in); got != want {
			t.Errorf("unescaped(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestDialectsOfTables(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"semicolons with decimal commas", "Name;Fee\na;1,5\nb;2,5\n", "Name: a; Fee: 1,5\nName: b; Fee: 2,5"},
		{"as Excel says", "sep=|\nName|Fee\na,b|1\n", "Name: a,b; Fee: 1"},
		{"commas in sentences of another table", "Text\tFee\nwell, that, too\t1\nand, this\t2\n", "Text: well, that, too; Fee: 1\nText: and, this; Fee: 2"},
		{"apostrophes in words", "Who,Boat\nO'Hara,'t Anker\nD'Arcy,Swan\n", "Who: O'Hara; Boat: 't Anker\nWho: D'Arcy; Boat: Swan"},
		{"years are no names", "2024,2025\n1,2\n", "2024; 2025\n1; 2"},
		{"one column", "Name\nAna\nBo\n", "Name\nAna\nBo"},
		{"an open quote at the end", "Part,Size\nbolt,5\nnut,\"7\nring,9", "Part: bolt; Size: 5\nPart: nut; Size: \"7\nPart: ring; Size: 9"},
		{"lines of a field", "Part,Text\nbolt,\"a\nb\"\n", "Part: bolt; Text: a b"},
	} {
		d, err := Parse(t.Context(), Source{Content: []byte(tc.text), FileName: "a.csv"})
		if err != nil || d.Text != tc.want {
			t.Errorf("%s: %q, %v", tc.name, d.Text, err)
		}
	}
}

func TestTypesOfColumns(t *testing.T) {
	t.Parallel()
	const table = "Id,Share,Since,Open,Text,None\n1,10%,2026-01-02,yes,a,\n2,0.5,2026-01-03T04:05:06Z,no,3,\n"
	d, err := Parse(t.Context(), Source{Content: []byte(table), FileName: "a.csv"})
	const want = "Id (integer), Share (number), Since (date), Open (boolean), Text (text), None"
	if err != nil || d.Properties["columns"] != want {
		t.Errorf("columns %q, %v", d.Properties["columns"], err)
	}
}

// A mailbox may have any number of messages without the time growing with its square.
func TestALargeMailboxIsReadOnce(t *testing.T) {
	t.Parallel()
	const message = "From a Mon Mar  2 09:30:00 2026\nFrom: a@example.org\nDate: Mon, 02 Mar 2026 09:30:00 +0100\nMessage-ID: <1@example.org>\nSubject: Tides\n\n>From noon on the gate is open.\n\n"
	d, err := Parse(t.Context(), Source{Content: []byte(strings.Repeat(message, 5000))})
	if err != nil || strings.Count(d.Text, "\nFrom noon on") != 5000 {
		t.Errorf("%d messages, %v", strings.Count(d.Text, "\nFrom noon on"), err)
	}
	_, err = Parse(t.Context(), Source{Content: []byte(strings.Repeat(message, maxMembers+1))})
	if !isInvalid(err) || !strings.Contains(err.Error(), "more than 10000 messages") {
		t.Errorf("error %v", err)
	}
}

func TestWhatIsQuotedElsewhereIsNotReadAgain(t *testing.T) {
	t.Parallel()
	const message = "From: bo@example.org\r\nDate: Mon, 4 Mar 2024 10:00:00 +0000\r\nMIME-Version: 1.0\r\n\r\nOn Thursday.\r\n\r\nOn 4 March 2024, Ana wrote:\r\n> When does it come?\r\n"
	for header, want := range map[string]bool{"": true, QuotedElsewhere + ": yes\r\n": false} {
		d, err := Parse(t.Context(), Source{Content: []byte(header + message), FileName: "a.eml"})
		if err != nil || strings.Contains(d.Text, "When does it come?") != want || !strings.Contains(d.Text, "On Thursday.") {
			t.Errorf("%q: %q, %v", header, d.Text, err)
		}
	}
}
