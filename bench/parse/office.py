#!/usr/bin/env python3
"""Makes office files with other people's writers: DIR/files/FORMAT/NAME, and NAME.ref.md with
the text that a reader of each should find, as Markdown.

    apt-get install --no-install-recommends pandoc libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui
    pip install python-docx==1.2.0 python-pptx==1.0.2 openpyxl==3.1.5
    python office.py DIR
"""

import datetime
import os
import shutil
import subprocess
import sys
import tempfile

import docx
import openpyxl
import pptx
from docx.oxml import parse_xml
from openpyxl.comments import Comment
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
OUT = ""

MARKDOWN = """---
title: Harbour rules
author: R. Keel
lang: en
---

# Entering

The gate opens two hours before high water.[^sill] Ships call on *channel twelve*,
see [the notices](https://example.org/notices).

[^sill]: The sill lies two metres above datum.

1. Call the tower.
2. Wait for the green light.
    a. By day a green flag.
    b. By night three lamps.
3. Enter slowly.

## Speed

- four knots in the basin
    - two knots beside dredgers
- six knots outside

| Berth | Length | Fee |
|-------|-------:|-----|
| North | 40 | 30.50 |
| South quay | 25 | 18.00 |

# Leaving

The drift is $v = \\frac{s}{t}$ with $s^2$ below nine.

> Cast off only when told.

```
gate --close
```

Straße, Ærø, Łódź, Ελλάδα, 東京, مرفأ and naïve café are names of places.
"""

MARKDOWN_REFERENCE = """
# Harbour rules

R. Keel

# Entering

The gate opens two hours before high water. Ships call on channel twelve, see the notices.

The sill lies two metres above datum.

1. Call the tower.
2. Wait for the green light.
    a. By day a green flag.
    b. By night three lamps.
3. Enter slowly.

## Speed

- four knots in the basin
    - two knots beside dredgers
- six knots outside

| Berth | Length | Fee |
|-------|-------:|-----|
| North | 40 | 30.50 |
| South quay | 25 | 18.00 |

# Leaving

The drift is v=s/t with s^2 below nine.

Cast off only when told.

gate --close

Straße, Ærø, Łódź, Ελλάδα, 東京, مرفأ and naïve café are names of places.
"""


def path(name):
    folder = os.path.join(OUT, "files", name.rsplit(".", 1)[1])
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, name)


def reference(name, text):
    with open(path(name) + ".ref.md", "w") as f:
        f.write(text.strip() + "\n")


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def converted(source, kind, *more):
    """Saves a file of OUT in another format with LibreOffice."""
    stem, _ = os.path.splitext(source)
    name = f"{stem}-lo.{kind}"
    with tempfile.TemporaryDirectory() as home:
        made = os.path.join(home, "out", f"{stem}.{kind}")
        for _ in range(3):  # a first start may end after it has made its profile
            if not os.path.exists(made):
                run("soffice", f"-env:UserInstallation=file://{home}/profile", "--headless", "--convert-to", kind, "--outdir", os.path.dirname(made), path(source))
        shutil.copy(made, path(name))
    shutil.copy(path(source) + ".ref.md", path(name) + ".ref.md")


def pandoc_files():
    with tempfile.NamedTemporaryFile("w", suffix=".md") as f:
        f.write(MARKDOWN)
        f.flush()
        for kind in ("docx", "odt", "rtf", "epub", "pptx"):
            run("pandoc", "-s", f.name, "-o", path(f"rules.{kind}"))
            reference(f"rules.{kind}", MARKDOWN_REFERENCE)


# --- Word ------------------------------------------------------------------------

def tracked(paragraph, kind, text):
    inner = f'<w:delText xml:space="preserve">{text}</w:delText>' if kind == "del" else f'<w:t xml:space="preserve">{text}</w:t>'
    paragraph._p.append(parse_xml(f'<w:{kind} {W} w:id="9" w:author="Jonas" w:date="2026-01-02T03:04:05Z"><w:r>{inner}</w:r></w:{kind}>'))


def numbered_headings(d):
    """Numbers the headings as 1, 1.1."""
    numbering = d.part.numbering_part.element
    levels = "".join(
        f'<w:lvl w:ilvl="{i}"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:pStyle w:val="Heading{i + 1}"/>'
        f'<w:lvlText w:val="{text}"/></w:lvl>' for i, text in enumerate(["%1", "%1.%2"]))
    numbering.insert(0, parse_xml(f'<w:abstractNum {W} w:abstractNumId="77"><w:multiLevelType w:val="multilevel"/>{levels}</w:abstractNum>'))
    numbering.append(parse_xml(f'<w:num {W} w:numId="77"><w:abstractNumId w:val="77"/></w:num>'))
    for i in (1, 2):
        properties = d.styles[f"Heading {i}"].element.get_or_add_pPr()
        properties.append(parse_xml(f'<w:numPr {W}>' + (f'<w:ilvl w:val="{i - 1}"/>' if i > 1 else "") + '<w:numId w:val="77"/></w:numPr>'))


TEXT_BOX = """<w:r xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"
 xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"
 xmlns:v="urn:schemas-microsoft-com:vml"><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>
 <wp:inline><wp:extent cx="1000000" cy="500000"/><wp:docPr id="5" name="Box" descr="A box with a warning"/><a:graphic><a:graphicData uri="http://schemas.microsoft.com/office/word/2010/wordprocessingShape">
 <wps:wsp><wps:cNvSpPr txBox="1"/><wps:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="1000000" cy="500000"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></wps:spPr>
 <wps:txbx><w:txbxContent><w:p><w:r><w:t>Mind the swell in the entrance.</w:t></w:r></w:p></w:txbxContent></wps:txbx><wps:bodyPr/></wps:wsp>
 </a:graphicData></a:graphic></wp:inline></w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape><v:textbox><w:txbxContent>
 <w:p><w:r><w:t>Mind the swell in the entrance.</w:t></w:r></w:p></w:txbxContent></v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>"""


def word_report():
    d = docx.Document()
    d.core_properties.title, d.core_properties.author = "Quay report", "R. Keel"
    numbered_headings(d)
    d.sections[0].header.paragraphs[0].text = "running header"
    d.sections[0].footer.paragraphs[0].text = "confidential footer"
    d.add_heading("Quay report", 0)
    d.add_heading("Survey", 1)
    p = d.add_paragraph("The wall is ")
    tracked(p, "del", "sound")
    tracked(p, "ins", "cracked")
    p.add_run(" near the crane.")
    d.add_comment(p.runs, "Which crane?", author="Jonas", initials="J")
    gone = d.add_paragraph("First half")
    gone._p.get_or_add_pPr().append(parse_xml(f'<w:rPr {W}><w:del w:id="8" w:author="Jonas"/></w:rPr>'))
    d.add_paragraph(" and second half of a joined paragraph.")
    secret = d.add_paragraph("Shown. ").add_run("hidden words")
    secret.font.hidden = True
    d.add_heading("Piles", 2)
    for text, style in [("drive the piles", "List Number"), ("cast the wall", "List Number"), ("oak", "List Bullet"), ("elm", "List Bullet 2")]:
        d.add_paragraph(text, style=style)
    d.add_heading("Steel", 2)
    outlined = d.add_paragraph("Outlined heading")
    outlined._p.get_or_add_pPr().append(parse_xml(f'<w:outlineLvl {W} w:val="2"/>'))
    d.add_paragraph("Steel rusts below the waterline.")
    d.add_paragraph()._p.append(parse_xml(TEXT_BOX))
    d.add_heading("Costs", 1)
    table = d.add_table(rows=4, cols=3)
    table.style = "Table Grid"
    for r, row in enumerate([["Year", "Works", "Cost"], ["2026", "Piles", "12,000"], ["", "Wall | cap", "40,000"], ["Total", "", "52,000"]]):
        for c, text in enumerate(row):
            table.cell(r, c).text = text
    table.cell(1, 0).merge(table.cell(2, 0)).text = "2026"
    table.cell(3, 0).merge(table.cell(3, 1)).text = "Total"
    nested = table.cell(1, 1).add_table(rows=2, cols=2)
    for r, row in enumerate([["oak", "20"], ["elm", "30"]]):
        for c, text in enumerate(row):
            nested.cell(r, c).text = text
    frame = d.add_table(rows=1, cols=1)
    frame.cell(0, 0).text = "Framed advice."
    frame.cell(0, 0).add_paragraph("drive slowly", style="List Bullet")
    d.save(path("report.docx"))
    reference("report.docx", """
# Quay report

# 1 Survey

The wall is cracked near the crane. Which crane?

First half and second half of a joined paragraph.

Shown.

## 1.1 Piles

1. drive the piles
2. cast the wall
- oak
- elm

## 1.2 Steel

### Outlined heading

Steel rusts below the waterline.

Mind the swell in the entrance.

# 2 Costs

| Year | Works | Cost |
|---|---|---|
| 2026 | Piles oak 20 elm 30 | 12,000 |
| | Wall cap | 40,000 |
| Total | | 52,000 |

Framed advice.

- drive slowly""")


def word_long():
    d = docx.Document()
    text = []
    for chapter in range(1, 13):
        d.add_heading(f"Chapter {chapter}", 1)
        text.append(f"\n# Chapter {chapter}\n")
        for section in range(1, 6):
            d.add_heading(f"Section {chapter}.{section}", 2)
            text.append(f"\n## Section {chapter}.{section}\n")
            sentence = f"Pier {chapter * 10 + section} was built in {1800 + chapter * 7 + section} of granite from quarry {chapter}. "
            d.add_paragraph(sentence * 4)
            text.append(sentence * 4 + "\n")
            t = d.add_table(rows=1, cols=3)
            for row in [("Item", "Depth", "Note"), (f"bollard {chapter}{section}", f"{section}.5", f"painted {chapter}")]:
                cells = t.rows[0].cells if row[0] == "Item" else t.add_row().cells
                for cell, value in zip(cells, row):
                    cell.text = value
                text.append("| " + " | ".join(row) + " |" + ("\n|---|---|---|" if row[0] == "Item" else ""))
            text.append("")
    d.save(path("long.docx"))
    reference("long.docx", "\n".join(text))


# --- PowerPoint ------------------------------------------------------------------

def show():
    s = pptx.Presentation()
    s.core_properties.title = "Harbour at a glance"
    one = s.slides.add_slide(s.slide_layouts[0])
    one.shapes.title.text, one.placeholders[1].text = "Harbour at a glance", "Spring meeting"
    two = s.slides.add_slide(s.slide_layouts[1])
    two.shapes.title.text = "Traffic"
    frame = two.placeholders[1].text_frame
    frame.text = "ferries every hour"
    deeper = frame.add_paragraph()
    deeper.text, deeper.level = "none at night", 1
    link = frame.add_paragraph().add_run()
    link.text = "timetable"
    link.hyperlink.address = "https://example.org/timetable"
    two.notes_slide.notes_text_frame.text = "Mention the strike."
    three = s.slides.add_slide(s.slide_layouts[5])
    three.shapes.title.text = "Fees"
    table = three.shapes.add_table(3, 3, 0, 0, Inches(6), Inches(2)).table
    for r, row in enumerate([["Berth", "Summer", "Winter"], ["North", "30", "20"], ["", "28", "19"]]):
        for c, text in enumerate(row):
            table.cell(r, c).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    four = s.slides.add_slide(s.slide_layouts[5])
    four.shapes.title.text = "Groups and charts"
    group = four.shapes.add_group_shape()
    box = group.shapes.add_textbox(0, 0, Inches(2), Inches(1))
    box.text_frame.text = "grouped words"
    inner = group.shapes.add_group_shape()
    inner.shapes.add_textbox(0, 0, Inches(2), Inches(1)).text_frame.text = "deeply grouped words"
    data = CategoryChartData()
    data.categories = ["January", "July"]
    data.add_series("Ships", (12, 48))
    four.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(4), Inches(3), data)
    five = s.slides.add_slide(s.slide_layouts[1])
    five.shapes.title.text, five.placeholders[1].text = "Spare slide", "Answers to questions"
    five._element.set("show", "0")
    # The order of the presentation is not that of the parts.
    ids = s.slides._sldIdLst
    ids.insert(1, ids[2])
    s.save(path("glance.pptx"))
    reference("glance.pptx", """
# Harbour at a glance

Spring meeting

# Fees

| Berth | Summer | Winter |
|---|---|---|
| North | 30 | 20 |
| | 28 | 19 |

# Traffic

- ferries every hour
    - none at night
- timetable

Mention the strike.

# Groups and charts

grouped words

deeply grouped words

| | Ships |
|---|---|
| January | 12 |
| July | 48 |

# Spare slide

- Answers to questions""")


# --- Excel -----------------------------------------------------------------------

def workbook():
    book = openpyxl.Workbook()
    book.properties.creator, book.properties.title = "R. Keel", "Harbour accounts"
    book.properties.created = book.properties.modified = datetime.datetime(2026, 1, 2)
    s = book.active
    s.title = "Fees"
    s.append(["Fees of the harbour, 2026"])
    s.append([])
    s.append(["Berth", "Fee", "Since", "Share", "Free", "Opens"])
    rows = [["North 1", 1230.5, datetime.date(2026, 4, 1), 0.125, True, datetime.time(7, 30)],
            ["North 2", 28, datetime.datetime(2026, 5, 1, 13, 45), 0.5, False, datetime.time(18, 5)]]
    for row in rows:
        s.append(row)
    for r in (4, 5):
        s.cell(r, 2).number_format = '#,##0.00 "EUR"'
        s.cell(r, 4).number_format = "0.0%"
        s.cell(r, 6).number_format = "hh:mm"
    s["C4"].number_format = "d mmmm yyyy"
    s["C5"].number_format = "yyyy-mm-dd hh:mm"
    s["A4"].comment = Comment("Leaks in autumn", "Jonas")
    s.merge_cells("A1:F1")
    m = book.create_sheet("Merged")
    for row in [["Quay", "Depth", None], [None, "Low", "High"], ["East", 3, 7], [None, 4, 8], ["West", 5, 9]]:
        m.append(row)
    m.merge_cells("A1:A2"), m.merge_cells("B1:C1"), m.merge_cells("A3:A4")
    h = book.create_sheet("Lists")
    h.append(["Code", "Meaning"])
    h.append(["X1", "closed"])
    h.sheet_state = "hidden"
    book.create_sheet("Empty")
    book.save(path("accounts.xlsx"))
    reference("accounts.xlsx", """
# Fees
Fees of the harbour, 2026
Berth Fee Since Share Free Opens
North 1 1,230.50 EUR 1 April 2026 12.5% TRUE 07:30 Leaks in autumn
North 2 28.00 EUR 2026-05-01 13:45 50.0% FALSE 18:05
# Merged
Quay Depth Low High East 3 7 4 8 West 5 9
# Lists
Code Meaning X1 closed""")


def workbook_long():
    book = openpyxl.Workbook(write_only=True)
    s = book.create_sheet("Log")
    s.append(["Ship", "Tons", "Berth", "Day"])
    text = ["# Log", "Ship Tons Berth Day"]
    for i in range(2000):
        s.append([f"Vessel {i}", i * 3, f"B{i % 17}", datetime.date(2026, 1, 1) + datetime.timedelta(i % 300)])
        text.append(f"Vessel {i} {i * 3} B{i % 17}")
    book.save(path("log.xlsx"))
    reference("log.xlsx", "\n".join(text))


def main():
    global OUT
    OUT = sys.argv[1]
    pandoc_files()
    word_report()
    word_long()
    show()
    workbook()
    workbook_long()
    for source, kinds in {"rules.docx": ["docx", "odt", "rtf", "doc"], "report.docx": ["docx", "odt", "rtf", "doc"], "long.docx": ["odt", "rtf"],
                          "glance.pptx": ["pptx", "odp", "ppt"], "accounts.xlsx": ["xlsx", "ods", "xls"], "log.xlsx": ["ods", "xls"]}.items():
        for kind in kinds:
            converted(source, kind)


if __name__ == "__main__":
    main()
