package markup

import (
	"strings"
	"testing"
)

func TestRST(t *testing.T) {
	t.Parallel()
	fence := "```"
	for _, tc := range []struct{ name, source, title, want string }{
		{"sections by their adornments", "=====\nTides\n=====\n\nText.\n\nHigh water\n----------\n\nMore.\n\nSpring\n~~~~~~\n\nLow water\n---------\n\nEnd.\n", "Tides", `
# Tides

Text.

## High water

More.

### Spring

## Low water

End.`},
		{"inline", "See :ref:`the table <tab>`, :func:`os.path.join`, :class:`~a.b.Gate`, `site <https://example.org/>`_, Docs_ and `other docs`_.\nAn *em*, **strong** and ``lit*eral``; |v| \\*as is\\*, [1]_ snake_case_name.\n\n.. |v| replace:: version 2\n.. _Docs: https://example.org/docs\n.. _other docs: https://example.org/o\n.. [1] The note.\n", "", "See the table, os.path.join(), Gate, [site](https://example.org/), Docs and [other docs](https://example.org/o). An em, strong and `lit*eral`; version 2 *as is*, [1] snake_case_name.\n\n[1] The note."},
		{"code", "Run this::\n\n    $ make\n      all\n\n.. code-block:: python\n   :linenos:\n\n   x = 1\n\n>>> 1 + 1\n2\n\n::\n\n  raw\n", "", "Run this:\n\n" + fence + "\n$ make\n  all\n" + fence + "\n\n" + fence + "python\nx = 1\n" + fence + "\n\n" + fence + "python\n>>> 1 + 1\n2\n" + fence + "\n\n" + fence + "\nraw\n" + fence},
		{"notes and versions", ".. note::\n\n   Mind the *gap*.\n\n.. warning:: Wet.\n\n.. versionadded:: 3.1\n   The gate.\n\n.. admonition:: By the way\n\n   Yes.\n", "", `
**Note:** Mind the gap.

**Warning:** Wet.

**New in version 3.1:** The gate.

**By the way:** Yes.`},
		{"lists", "* one\n  more\n\n  - inner\n* two\n\n1. first\n2. second\n\nterm\n   What it is.\n\n:Author: Rosa\n\n-v, --verbose  Says more.\n--out=FILE     Where to.\n", "", "- one more\n\n  - inner\n\n- two\n1. first\n2. second\n- **term:** What it is.\n- **Author:** Rosa\n- **`-v, --verbose`:** Says more.\n- **`--out=FILE`:** Where to."},
		{"an empty comment", "- one\n\n..\n\n   A quotation.\n\nEnd. [1]_\n\n.. [1]\n   The note.\n", "", "- one\n\nA quotation.\n\nEnd. [1]\n\n[1] The note."},
		{"what is not shown", ".. a comment\n   of two lines\n\n.. include:: other.txt\n.. toctree::\n   :maxdepth: 2\n\n   a\n   b\n\n.. _anchor:\n\n.. image:: x.png\n   :alt: A ship\n\n.. figure:: y.png\n\n   The *caption*.\n\nEnd.\n", "", "A ship\n\nThe caption.\n\nEnd."},
		{"tables", "+-------+-----+\n| Berth | Fee |\n+=======+=====+\n| North | 30  |\n| one   |     |\n+-------+-----+\n\n=====  ===\nA      B\n=====  ===\n1      x\n2      y\n       z\n=====  ===\n\n.. csv-table:: Fees\n   :header: \"A\", \"B\"\n\n   1, \"x, y\"\n\n.. list-table::\n\n   * - A\n     - B\n   * - 1\n     - 2\n", "", `
| Berth | Fee |
| --- | --- |
| North one | 30 |

| A | B |
| --- | --- |
| 1 | x |
| 2 | y z |

Fees

| A | B |
| --- | --- |
| 1 | x, y |

| A | B |
| --- | --- |
| 1 | 2 |`},
		{"objects", ".. function:: open(file, mode='r')\n              open(path)\n\n   Opens a gate.\n\n   :param file: The *name*.\n   :returns: a gate\n\n.. unknown:: x\n\n   Kept.\n", "", "`open(file, mode='r')`\n`open(path)`\n\nOpens a gate.\n\n- **param file:** The name.\n- **returns:** a gate\n\nx\n\nKept."},
	} {
		same(t, tc.name, RST(tc.source), tc.title, tc.want)
	}
}

func TestRSTIsLinear(t *testing.T) {
	t.Parallel()
	linear(t, "RST", RST, "``", "*", "* ", ".. ", "`a <", "|", "=== ===\nx\n", "+-+\n| |\n", ":a:`", "a\n b\n", "_", "::\n\n", "- - - ", "x\n=\n", " * a\n  * b\n   * c\n    * d\n")
	_ = RST(strings.Repeat(" ", 2000) + "x" + strings.Repeat("\n.. note::\n", 2000))
}

func FuzzRST(f *testing.F) {
	f.Add("T\n=\n\n.. note:: `a <b>`_ |c| ``d``\n\n   * x\n\n=== ===\na   b\n=== ===\n")
	f.Fuzz(func(t *testing.T, source string) { valid(t, source, RST(source)) })
}
