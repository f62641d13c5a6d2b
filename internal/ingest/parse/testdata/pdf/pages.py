#!/usr/bin/env python3
"""Makes files with ReportLab and pypdf: turned.pdf, whose pages and texts are turned,
rows.pdf, whose two columns are written line by line across both, and ruled.pdf, with tables
in drawn lines: cells of several lines, merged cells, and a table that goes on on the next page
without its head.

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


def boxes(c, top, widths, table):
    """Draws a table as boxes, a row of which is a height and cells of lines; None is merged with the cell before."""
    y = top
    for height, cells in table:
        x = 40
        for i, cell in enumerate(cells):
            if cell is None:
                continue
            end = i + 1
            while end < len(cells) and cells[end] is None:
                end += 1
            width = sum(widths[i:end])
            c.rect(x, y - height, width, height)
            for n, text in enumerate(cell):
                c.drawString(x + 3, y - 11 - 11 * n, text)
            x += width
        y -= height


def ruled():
    c = canvas.Canvas("ruled.pdf", pagesize=A5, invariant=1)
    c.setFont("Helvetica-Bold", 16)
    c.drawString(40, 550, "Moorings")
    c.setFont("Helvetica", 9)
    widths = (60, 150, 60, 60)
    boxes(c, 520, widths, [
        (16, (["Berth"], ["Where it is, and what it is for"], ["Fee"], None)),
        (38, (["North"], ["Behind the breakwater, for ships", "that wait for the flood or for a", "pilot"], ["30 crowns"], ["a day"])),
        (16, (["Fish"], ["Beside the market"], ["12 crowns"], ["a night"])),
    ])
    # Lines across alone between the head and the rows, as many programs draw them, down to the end of the page.
    left, right, top = 40, 370, 400
    for y in (top, top - 16, 40):
        c.line(left, y, right, y)
    for x in (left, 140, 260, right):
        c.line(x, top, x, 40)
    days = [("Day", "Low water", "High water")] + [("March %d" % n, "%02d:%02d" % (n % 12, n * 7 % 60), "%02d:%02d" % (n % 12 + 6, n * 11 % 60)) for n in range(1, 29)]
    for n, day in enumerate(days):
        for x, text in zip((left, 140, 260), day):
            c.drawString(x + 3, top - 12 - 12 * n, text)
    c.showPage()
    c.setFont("Helvetica", 9)
    for y in (550, 534, 518):
        c.line(left, y, right, y)
    for x in (left, 140, 260, right):
        c.line(x, 550, x, 518)
    for n, day in enumerate((("March 29", "05:23", "11:19"), ("March 30", "06:30", "12:30"))):
        for x, text in zip((left, 140, 260), day):
            c.drawString(x + 3, 538 - 16 * n, text)
    c.drawString(left, 480, "All times are those of the harbour.")
    c.save()


turned()
rows()
ruled()
