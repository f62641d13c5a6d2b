#!/usr/bin/env python3
"""Sets a document of pandoc's (its JSON) with ReportLab, with a running title and page numbers.

    pip install reportlab
    pandoc SOURCE -t json | platypus.py /dev/stdin OUT.pdf

Latin text has the standard fonts of PDF, or DejaVu if they lack its letters. Chinese and
Japanese have fonts that the file only names, as the readers of Adobe know them."""

import json
import sys
from xml.sax.saxutils import escape

from reportlab.lib import colors, pagesizes
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import ListFlowable, ListItem, Paragraph, SimpleDocTemplate, Table

DEJAVU = "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf"


def font(text, language):
    named = {"zh": "STSong-Light", "ja": "HeiseiMin-W3"}.get(language)
    if named:
        pdfmetrics.registerFont(UnicodeCIDFont(named))
        return named
    if all(ord(c) < 256 or c in "–—‘’“”…" for c in text):
        return "Times-Roman"
    pdfmetrics.registerFont(TTFont("DejaVu", DEJAVU))
    return "DejaVu"


class Setter:
    def __init__(self, document):
        language = "".join(i.get("c", "") for i in document["meta"].get("language", {}).get("c", []))
        name = font(json.dumps(document["blocks"], ensure_ascii=False), language)
        wrap = "CJK" if language in ("zh", "ja") else None
        self.body = ParagraphStyle("body", fontName=name, fontSize=10, leading=14, spaceAfter=6, wordWrap=wrap)
        self.heads = [ParagraphStyle("head", parent=self.body, fontSize=size, leading=size * 1.3, spaceBefore=8) for size in (18, 14, 12)]
        self.notes = []

    def inlines(self, parts):
        out = ""
        for part in parts:
            kind, content = part["t"], part.get("c")
            if kind == "Str":
                out += escape(content)
            elif kind in ("Space", "SoftBreak"):
                out += " "
            elif kind == "Link":
                out += f'<link href="{escape(content[2][0])}">{self.inlines(content[1])}</link>'
            elif kind == "Note":
                self.notes.append(content)
                out += f"<super>{len(self.notes)}</super>"
            elif kind in ("Emph", "Strong"):
                out += self.inlines(content)
            elif kind == "Quoted":
                out += "“" + self.inlines(content[1]) + "”"
            else:
                raise ValueError(f"{kind} is not known")
        return out

    def cells(self, rows):
        return [[[f for block in cell[4] for f in self.block(block)] for cell in row[1]] for row in rows]

    def block(self, block):
        kind, content = block["t"], block.get("c")
        if kind in ("Para", "Plain"):
            return [Paragraph(self.inlines(content), self.body)]
        if kind == "Header":
            return [Paragraph(self.inlines(content[2]), self.heads[content[0] - 1])]
        if kind in ("BulletList", "OrderedList"):
            items = content if kind == "BulletList" else content[1]
            return [ListFlowable([ListItem([f for b in item for f in self.block(b)]) for item in items],
                                 bulletType="bullet" if kind == "BulletList" else "1")]
        if kind == "Table":
            rows = self.cells(content[3][1]) + [r for body in content[4] for r in self.cells(body[3])]
            return [Table(rows, style=[("GRID", (0, 0), (-1, -1), 0.5, colors.grey)], repeatRows=1)]
        raise ValueError(f"{kind} is not known")

    def blocks(self, blocks):
        out = [f for block in blocks for f in self.block(block)]
        for number, note in enumerate(self.notes, 1):
            texts = [Paragraph(f"{number}. " + self.inlines(b["c"]), self.body) for b in note]
            out += texts
        return out


def running(canvas, document):
    canvas.setFont("Times-Roman", 8)
    width, height = document.pagesize
    canvas.drawCentredString(width / 2, height - 25, "Quarterly circular")
    canvas.drawCentredString(width / 2, 20, f"Page {document.page}")


def main():
    with open(sys.argv[1]) as f:
        source = json.load(f)
    setter = Setter(source)
    document = SimpleDocTemplate(sys.argv[2], pagesize=pagesizes.A5, leftMargin=50, rightMargin=50, topMargin=50, bottomMargin=50)
    document.build(setter.blocks(source["blocks"]), onFirstPage=running, onLaterPages=running)


if __name__ == "__main__":
    main()
