package markup

import (
	"strings"
	"testing"
)

func TestMan(t *testing.T) {
	t.Parallel()
	fence := "```"
	for _, tc := range []struct{ name, source, title, want string }{
		{"macros of man", `.\" a comment
.de Xx
nothing
..
.TH GATE 8 "2026-01-01" "Harbour 1.0" "Commands"
.SH NAME
gate \- opens \fBgates\fR
.SH OPTIONS
Takes \fI\-v\fP and \*(lqmore\*(rq; na\(:ive \[u00E9] \s-1SMALL\s0 caf\('e.
.PP
.BR open (2)
and
.I files
.TP
.BR \-v ", " \-\-verbose
Says more.
.IP
Even twice.
.TP
.B \-q
Says nothing.
.RS
.IP \(bu 2
one
.IP \(bu
two
.RE
.PP
See
.UR https://example.org/
the page
.UE .
.if n .ad l
.SS "An example"
.nf
$ gate \-v
  open
.fi
.TS
tab(|) box;
l l.
Berth|Fee
_
North|T{
thirty
euros
T}
.TE
`, "gate(8)", `
# gate(8)

## NAME

gate - opens gates

## OPTIONS

Takes -v and “more”; naïve é SMALL café.

open(2) and files

- **-v, --verbose:** Says more.

  Even twice.

- **-q:** Says nothing.
  - one
  - two

See [the page](https://example.org/).

### An example

` + fence + `
$ gate -v
  open
` + fence + `

| Berth | Fee |
| --- | --- |
| North | thirty euros |`},
		{"terms as paragraphs", ".TH a 1\n.SH OPTIONS\n.PP\n\\-\\-all\n.RS 4\nAll of them\\&.\n.RE\n.PP\n\\-\\-none\n.RS 4\nNone\\&.\n.sp\n.RS 4\n.ie n \\{\\\n\\h'-04'\\(bu\\h'+03'\\c\n.\\}\n.el \\{\\\n.sp -1\n.IP \\(bu 2.3\n.\\}\ninner\n.RE\n.RE\n", "a(1)", `
# a(1)

## OPTIONS

- **--all:** All of them.
- **--none:** None.
  - inner`},
		{"macros of mdoc", `.Dd January 1, 2026
.Dt GATE 8
.Os
.Sh NAME
.Nm gate
.Nd opens gates
.Sh SYNOPSIS
.Nm
.Op Fl v
.Op Fl o Ar file
.Ar name ...
.Sh DESCRIPTION
.Nm
opens
.Em gates ,
see
.Xr open 2 .
.Bl -tag -width Ds
.It Fl v
Says more.
.It Fl o Ar file
Writes to
.Ar file .
.El
.Pp
Then:
.Bd -literal
$ gate
.Ed
.Bl -bullet
.It
one
.It
two
.El
`, "gate(8)", `
# gate(8)

## NAME

gate — opens gates

## SYNOPSIS

gate [-v] [-o file] name ...

## DESCRIPTION

gate opens gates, see open(2).

- **-v:** Says more.
- **-o file:** Writes to file.

Then:

` + fence + `
$ gate
` + fence + `

- one
- two`},
	} {
		same(t, tc.name, Man(tc.source), tc.title, tc.want)
	}
}

func TestManIsLinear(t *testing.T) {
	t.Parallel()
	units := []string{`\`, `\[`, `\h'`, ".TP\n", ".RS\n", ".RS\nx\n", ".IP x\n.RS\n", ".if \\{\n", ".TS\n", ".de a\n", "a \\\n", ".Bl\n.It x\n", ".Op Fl a Ar b ", ".UR a\n", ".B\n", ".br\n", "x\\c\n"}
	linear(t, "Man", Man, units...)
	linear(t, "Man", func(source string) Text { return Man(".Dd x\n.Sh a\n" + source) }, units...)
}

func FuzzMan(f *testing.F) {
	f.Add(".TH A 1\n.SH B\n.TP\n\\fBx\\fR\ny\n.RS\n.IP \\(bu\nz\n.RE\n.TS\nl l.\na\tb\n.TE\n")
	f.Add(".Dd x\n.Dt A 1\n.Sh N\n.Nm a\n.Nd b\n.Bl -tag\n.It Fl x Ns Ar y\nz\n.El\n")
	f.Fuzz(func(t *testing.T, source string) { valid(t, source, Man(source)) })
}

func TestPagesOfManNeedNoTitle(t *testing.T) {
	t.Parallel()
	if got := Man(".SH A\nx\n" + strings.Repeat(".RE\n", 3)); got.Markdown != "## A\n\nx" || got.Title != "" {
		t.Errorf("%+v", got)
	}
}
