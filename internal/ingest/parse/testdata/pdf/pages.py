#!/usr/bin/env python3
"""Makes files with ReportLab and pypdf: turned.pdf, whose pages and texts are turned, and
rows.pdf, whose two columns are written line by line across both.

    pip install reportlab==5.1.0 pypdf==7.1.0
"""

import io

from pypdf import PdfReader, PdfWriter
from reportlab.lib.pagesizes import A5, landscape
from reportlab.pdfgen import canvas

TEXT = [
    ("Helvetica", 10, "At low water the sill lies dry, and the gates of"),
    ("Helvetica", 10, "the basin stay closed until the flood has begun."),
    (None, 0, ""),
    ("Helvetica", 10, "Small boats wait in the outer harbour."),
]
TABLE = [("Berth", "Depth", "Crane"), ("North", "11.5", "yes"), ("Fish", "4.0", "none")]


def page(c, width, height, title):
    y = height - 60
    for font, size, text in [("Helvetica-Bold", 18, title)] + TEXT:
        if font:
            c.setFont(font, size)
            c.drawString(50, y, text)
        y -= max(12, size * 1.3)
    for row in TABLE:
        y -= 14
        for i, cell in enumerate(row):
            c.drawString(50 + 90 * i, y, cell)


def turned():
    """A page for each value of Rotate, drawn so that it is seen upright, and one whose text is turned."""
    width, height = A5
    made = io.BytesIO()
    c = canvas.Canvas(made, pagesize=A5, invariant=1)
    for angle, title in ((90, "A quarter"), (180, "A half"), (270, "Three quarters")):
        c.setPageSize(landscape(A5) if angle != 180 else A5)
        page_width, page_height = c._pagesize
        seen_width, seen_height = (page_height, page_width) if angle != 180 else (page_width, page_height)
        c.translate(page_width / 2, page_height / 2)
        c.rotate(angle)
        c.translate(-seen_width / 2, -seen_height / 2)
        page(c, seen_width, seen_height, title)
        c.showPage()
    c.setPageSize(A5)
    c.translate(width, 0)
    c.rotate(90)
    page(c, height, width, "Turned text")
    c.showPage()
    c.save()
    writer = PdfWriter()
    for angle, p in zip((90, 180, 270, 0), PdfReader(made).pages):
        p.rotate(angle)
        writer.add_page(p)
    writer.write("turned.pdf")


def rows():
    left = """The first column begins here. Where the shore is
open the water rises for six hours and falls for
six hours, and the time of high water is later by
fifty minutes from one day to the next. In narrow
channels the flood comes earlier than at the mouth
of the river, and the ebb runs longer. Its end.""".split("\n")
    right = """The second column begins here. At low water the
sill lies dry, and the gates of the basin stay
closed. Small boats wait in the outer harbour,
where there is room for forty of them. The pilot
brings the larger ones in with the next tide. And
that is the end of the second column.""".split("\n")
    c = canvas.Canvas("rows.pdf", pagesize=landscape(A5), invariant=1)
    c.setFont("Times-Roman", 10)
    for i, (a, b) in enumerate(zip(left, right)):
        c.drawString(50, 300 - 12 * i, a)
        c.drawString(310, 300 - 12 * i, b)
    c.save()


turned()
rows()
