"""Makes the files in files/ and hostile/. See README.md."""

import gzip
import io
import os
import random
import struct
import tarfile
import zipfile
import zlib
from email.message import EmailMessage

import docx
import img2pdf
import openpyxl
import pptx
import pypdfium2
from ebooklib import epub
from pypdf import PdfReader, PdfWriter
from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen import canvas
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer

HERE = os.path.dirname(os.path.abspath(__file__))
random.seed(1)


def write(folder, name, data):
    if isinstance(data, str):
        data = data.encode()
    with open(os.path.join(HERE, folder, name), "wb") as f:
        f.write(data)


def saved(document):
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def zipped(members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in members:
            z.writestr(zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6)), data, method)
    return out.getvalue()


# --- files: one of each format -------------------------------------------------

def make_pdf():
    out = io.BytesIO()
    styles = getSampleStyleSheet()
    page = SimpleDocTemplate(out, pagesize=A5, title="Harbour handbook", author="R. Keel", invariant=1)
    page.build([
        Paragraph("Harbour handbook", styles["Title"]),
        Paragraph("Tides", styles["Heading1"]),
        Paragraph("The gate opens two hours before high water. It closes when the ebb sets in, which the "
                  "harbour master announces on channel twelve. Ships of more than forty metres need a tug.",
                  styles["BodyText"]),
        PageBreak(),
        Paragraph("Fees", styles["Heading1"]),
        Paragraph("A berth costs 30 € a night. Cafés on the quay take coins, “naturally”.", styles["BodyText"]),
        Spacer(1, 20),
        Paragraph("Fees are due on arrival.", styles["BodyText"]),
    ])
    return out.getvalue()


def make_form():
    """A form that is filled in, with an attachment."""
    out = io.BytesIO()
    page = canvas.Canvas(out, invariant=1)
    page.setTitle("Berth request")
    page.drawString(72, 760, "Fill in this request before arrival.")
    form = page.acroForm
    form.textfield(name="Ship", x=72, y=700, value="Marigold")
    form.checkbox(name="Pilot wanted", x=72, y=660, checked=True)
    form.checkbox(name="Crane wanted", x=72, y=620)
    form.choice(name="Berth", x=72, y=580, options=["North", "South"], value="South")
    page.save()
    writer = PdfWriter(clone_from=PdfReader(out))
    writer.add_attachment("crew.csv", b"Name,Role\nKeel,master\nTarn,mate\n")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def make_scan(pdf):
    """Two pages that are pictures, by the filters DCTDecode and CCITTFaxDecode, and one with text."""
    first, second = [page.render(scale=150 / 72, grayscale=True).to_pil() for page in pypdfium2.PdfDocument(pdf)]
    jpeg, fax, out = io.BytesIO(), io.BytesIO(), PdfWriter()
    first.save(jpeg, "JPEG", quality=50)
    second.convert("1").save(fax, "TIFF", compression="group4")
    for page in (jpeg, fax):
        out.append(io.BytesIO(img2pdf.convert(page.getvalue(), layout_fun=img2pdf.get_fixed_dpi_layout_fun((150, 150)))))
    out.append(io.BytesIO(pdf), pages=(1, 2))
    scan, pictures = io.BytesIO(), PdfWriter()
    out.write(scan)
    pictures.append(scan, pages=(0, 2))
    only = io.BytesIO()
    pictures.write(only)
    return scan.getvalue(), only.getvalue()


def make_docx():
    d = docx.Document()
    d.core_properties.title, d.core_properties.author = "Harbour plan", "R. Keel"
    d.add_heading("Harbour plan", 0)
    d.add_paragraph("This plan says what is built, and when.")
    d.add_heading("Quays", 1)
    p = d.add_paragraph("The ")
    p.add_run("north quay").bold = True
    p.add_run(" is rebuilt in spring.")
    d.add_paragraph("piles are driven", style="List Bullet")
    d.add_paragraph("the wall is cast", style="List Bullet")
    d.add_heading("Costs", 2)
    table = d.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Part", "Cost"
    for part, cost in [("Piles", "12,000"), ("Wall | cap", "40,000")]:
        cells = table.add_row().cells
        cells[0].text, cells[1].text = part, cost
    d.sections[0].footer.paragraphs[0].text = "confidential footer"
    return saved(d)


def make_pptx():
    show = pptx.Presentation()
    show.core_properties.title = "Harbour in five minutes"
    first = show.slides.add_slide(show.slide_layouts[0])
    first.shapes.title.text, first.placeholders[1].text = "Harbour", "A short introduction"
    second = show.slides.add_slide(show.slide_layouts[1])
    second.shapes.title.text = "Tides"
    body = second.placeholders[1].text_frame
    body.text = "The gate opens before high water"
    line = body.add_paragraph()
    line.text, line.level = "two hours, to be exact", 1
    second.notes_slide.notes_text_frame.text = "Mention the tug."
    third = show.slides.add_slide(show.slide_layouts[5])
    third.shapes.title.text = "Fees"
    table = third.shapes.add_table(2, 2, 0, 0, 1000000, 500000).table
    for (row, column), text in {(0, 0): "Berth", (0, 1): "Fee", (1, 0): "North", (1, 1): "30"}.items():
        table.cell(row, column).text = text
    return saved(show)


def make_xlsx():
    import datetime
    book = openpyxl.Workbook()
    book.properties.creator, book.properties.title = "R. Keel", "Berths"
    book.properties.created = book.properties.modified = datetime.datetime(2026, 1, 2)
    fees = book.active
    fees.title = "Fees"
    fees.append(["Berth", "Fee", "Since", "Free"])
    fees.append(["North 1", 30.5, datetime.date(2026, 4, 1), True])
    fees.append(["North 2", 28, datetime.date(2026, 5, 1), False])
    fees["B2"].number_format = "0.00"
    ships = book.create_sheet("Ships")
    ships.append(["Name", "Length"])
    ships.append(["Albatross", 41])
    book.create_sheet("Empty")
    return saved(book)


def make_epub():
    book = epub.EpubBook()
    book.set_identifier("harbour"), book.set_title("Harbour tales"), book.set_language("en")
    book.add_author("R. Keel")
    chapters = []
    for number, (title, text) in enumerate([("The gate", "It creaked at every tide."), ("The tug", "She was called Ant.")], 1):
        c = epub.EpubHtml(title=title, file_name=f"chapter{number}.xhtml", lang="en")
        c.content = f"<html><body><h1>{title}</h1><p>{text}</p></body></html>"
        book.add_item(c)
        chapters.append(c)
    book.toc, book.spine = chapters, ["nav", *chapters]
    book.add_item(epub.EpubNcx()), book.add_item(epub.EpubNav())
    out = io.BytesIO()
    epub.write_epub(out, book)
    return out.getvalue()


def make_email(attachment=None):
    m = EmailMessage()
    m["From"], m["To"], m["Subject"] = "Rosa Keel <rosa@example.org>", "Jonas <jonas@example.org>", "Fees of 2026 – décision"
    m["Date"], m["Message-ID"] = "Mon, 02 Mar 2026 09:30:00 +0100", "<1@example.org>"
    m.set_content("Dear Jonas,\n\nthe fees stay as they are.\n\nRosa\n")
    m.add_alternative("<p>Dear Jonas,</p><p>the fees stay as they are.</p>", subtype="html")
    for name, kind, data in attachment or []:
        m.add_attachment(data, maintype=kind.split("/")[0], subtype=kind.split("/")[1], filename=name)
    m.set_boundary("b0")
    for i, part in enumerate(m.iter_parts()):
        if part.is_multipart():
            part.set_boundary(f"b{i + 1}")
    return m.as_bytes()


def make_reply():
    m = EmailMessage()
    m["From"], m["To"], m["Subject"] = "Jonas <jonas@example.org>", "Rosa Keel <rosa@example.org>", "Re: Fees of 2026"
    m["Date"], m["Message-ID"] = "Tue, 03 Mar 2026 08:00:00 +0100", "<3@example.org>"
    m["In-Reply-To"] = "Rosa's message of Monday <2@example.org>"
    m["References"] = "<1@example.org> <2@example.org>"
    m.set_content("Thank you.\n")
    return m.as_bytes()


HTML = """<!DOCTYPE html>
<html lang="en"><head><title>Tides – Harbour</title><meta name="author" content="R. Keel"><style>p{}</style></head>
<body>
<header><a href="/">Harbour</a></header>
<nav><ul><li><a href="/a">Home</a></li><li><a href="/b">Fees</a></li></ul></nav>
<main><h1>Tides</h1><p>The gate opens <b>two hours</b> before <a href="/high">high water</a>.</p>
<h2>Table</h2><table><tr><th>Day</th><th>Time</th></tr><tr><td>Monday</td><td>07:10</td></tr></table>
<ul><li>spring tide</li><li>neap tide</li></ul><pre><code>gate --open</code></pre>
<img src="map.png" alt="Map of the gate"><aside>Read also: fees</aside></main>
<div class="cookie-banner">We use cookies</div>
<footer>© Harbour</footer><script>alert(1)</script></body></html>
"""

LATEX = r"""\documentclass{article}
\title{On {Tides}}
\begin{document}
\maketitle
\section{Gates}
They open early.
\subsection*{Locks}
They open late. % mostly
\section{Ships}
They wait.
\end{document}
"""

MARKDOWN = "# Tides\n\nThe gate opens early.\n\n## Why\n\n```\n# no heading\n```\n\nBecause of the sill.\n"
CSV = 'Berth,Fee,"Remark, if any"\nNorth 1,30,\nNorth 2,28,"quiet,\nbut far"\n'
JSONL = '{"id": 1, "text": "The gate opens early."}\n{"id": 2, "text": "Fees are due."}\n'
GO = "package main\n\n// main opens the gate.\nfunc main() {}\n"


def make_notice():
    """A picture with a line of text."""
    drawn = canvas.Canvas(io.BytesIO(), pagesize=(420, 60))
    drawn.setFont("Helvetica", 16)
    drawn.drawString(20, 24, "The gate opens two hours before high water.")
    page, out = pypdfium2.PdfDocument(drawn.getpdfdata())[0], io.BytesIO()
    page.render(scale=150 / 72, grayscale=True).to_pil().save(out, "PNG", optimize=True)
    return out.getvalue()


def make_files():
    pdf, document = make_pdf(), make_docx()
    write("files", "handbook.pdf", pdf)
    write("files", "form.pdf", make_form())
    for name, data in zip(("scanned-and-text.pdf", "scanned.pdf"), make_scan(pdf)):
        write("scans", name, data)
    write("scans", "notice.png", make_notice())
    write("files", "plan.docx", document)
    write("files", "intro.pptx", make_pptx())
    write("files", "berths.xlsx", make_xlsx())
    write("files", "tales.epub", make_epub())
    write("files", "message.eml", make_email([("plan.docx", "application/octet-stream", document), ("logo.bin", "application/octet-stream", b"\0\1\2")]))
    write("files", "reply.eml", make_reply())
    write("files", "tides.html", HTML)
    write("files", "tides.tex", LATEX)
    write("files", "tides.md", MARKDOWN)
    write("files", "berths.csv", CSV)
    write("files", "notes.jsonl", JSONL)
    write("files", "gate.json", '{"gate": {"opens": "early"}}\n')
    write("files", "gate.go", GO)
    write("files", "notes.txt", "The gate opens early.\n")
    write("files", "utf16.txt", "The café opens early.\n".encode("utf-16"))
    members = [("docs/tides.md", MARKDOWN), ("docs/handbook.pdf", pdf), ("__MACOSX/x", "x"), ("logo.png", b"\x89PNG\r\n\x1a\n\0\0")]
    write("files", "archive.zip", zipped(members))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, data in members[:1] + [("docs/notes.txt", "The gate opens early.\n")]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data.encode()))
    write("files", "archive.tar", out.getvalue())
    write("files", "archive.tar.gz", gzip.compress(out.getvalue(), mtime=0))


# --- hostile: each is refused --------------------------------------------------

def pdf_of(objects, trailer=""):
    out = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + (body if isinstance(body, bytes) else body.encode()) + b"\nendobj\n"
    xref = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % p for p in places)
    return out + b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer.encode(), xref)


def stream(data, entries=""):
    return b"<< /Length %d %s >>\nstream\n" % (len(data), entries.encode()) + data + b"\nendstream"


def page_of(content, resources="<< >>", more=()):
    return pdf_of(["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                   f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R /Resources {resources} >>",
                   content, *more])


def encrypted_pdf(pdf):
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf)))
    writer.encrypt("secret", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def lying_zip(members):
    """Declares all members to be of one byte."""
    data = bytearray(zipped(members))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.find(signature)
        while at >= 0:
            struct.pack_into("<I", data, at + offset, 1)
            at = data.find(signature, at + 4)
    return bytes(data)


def encrypted_zip(data):
    data = bytearray(data)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(signature, at + 4)
    return bytes(data)


def replaced(package, name, data):
    with zipfile.ZipFile(io.BytesIO(package)) as z:
        return zipped([(m, data if m == name else z.read(m)) for m in z.namelist()])


def deflated(size):
    return zlib.compress(b" " * size, 9)


def make_hostile():
    pdf, document, show, book = make_pdf(), make_docx(), make_pptx(), make_xlsx()
    write("hostile", "empty.pdf", b"")
    write("hostile", "truncated.pdf", pdf[: len(pdf) // 3])
    write("hostile", "garbage.pdf", b"%PDF-1.7\n" + random.randbytes(5000))
    write("hostile", "encrypted.pdf", encrypted_pdf(pdf))
    write("hostile", "no-text.pdf", page_of(stream(b"0 0 100 100 re f")))
    write("hostile", "bomb.pdf", page_of(stream(zlib.compress(deflated(100 << 20), 9), "/Filter [/FlateDecode /FlateDecode]")))
    write("hostile", "page-loop.pdf", pdf_of(["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"]))
    write("hostile", "many-pages.pdf", pdf_of(["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 2000000000 >>"]))
    form = '/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F {} 0 R >> >>'
    forms = [stream(b"/F Do " * 50, form.format(number + 1)) for number in range(5, 15)]
    write("hostile", "form-bomb.pdf", page_of(stream(b"/F Do " * 50), "<< /XObject << /F 5 0 R >> >>", forms))
    write("hostile", "deep-arrays.pdf", pdf_of(["<< /Type /Catalog /Pages 2 0 R >>", "[" * 20000]))

    write("hostile", "truncated.docx", document[: len(document) // 2])
    write("hostile", "encrypted-part.docx", encrypted_zip(document))
    write("hostile", "no-document.docx", zipped([("word/document2.xml", "<a/>")]))
    write("hostile", "broken-xml.docx", replaced(document, "word/document.xml", "<w:document><w:body>"))
    laughs = '<!DOCTYPE l [<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(9)) + "]><l>&j;</l>"
    write("hostile", "billion-laughs.docx", replaced(document, "word/document.xml", laughs))
    write("hostile", "outside-entity.docx", replaced(
        document, "word/document.xml", '<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><l>&a;</l>'))
    write("hostile", "deep-xml.docx", replaced(document, "word/document.xml", "<a>" * 100000))
    write("hostile", "bomb.docx", replaced(document, "word/document.xml", b"<a>" + b" " * (80 << 20) + b"</a>"))
    write("hostile", "empty.docx", saved(docx.Document()))
    write("hostile", "password.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 504 + "EncryptedPackage".encode("utf-16-le") + b"\0" * 512)
    write("hostile", "old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 1016)
    write("hostile", "missing-slide.pptx", zipped([
        (n, d) for n, d in ((n, zipfile.ZipFile(io.BytesIO(show)).read(n)) for n in zipfile.ZipFile(io.BytesIO(show)).namelist())
        if n != "ppt/slides/slide2.xml"]))
    write("hostile", "broken-xml.xlsx", replaced(book, "xl/workbook.xml", "<workbook"))
    write("hostile", "bomb.xlsx", lying_zip([("xl/workbook.xml", "<workbook/>"), ("xl/worksheets/sheet1.xml", b" " * (300 << 20))]))
    write("hostile", "no-package.epub", zipped([("mimetype", "application/epub+zip"), ("META-INF/container.xml", "<container/>")]))
    write("hostile", "protected.epub", zipped([("META-INF/container.xml", "<container/>"), (
        "META-INF/encryption.xml", '<encryption><CipherReference URI="c1.xhtml"/></encryption>')]))

    write("hostile", "bomb.zip", zipped([("a.txt", b" " * (70 << 20))]))
    bombs = zipped([(f"{i}.txt", b" " * (60 << 20)) for i in range(6)])
    write("hostile", "bomb-of-bombs.zip", zipped([("in.zip", bombs)]))
    nested = zipped([("a.txt", "deep")])
    for _ in range(5):
        nested = zipped([("in.zip", nested)])
    write("hostile", "nested.zip", nested)
    write("hostile", "encrypted.zip", encrypted_zip(zipped([("a.txt", "secret text")])))
    write("hostile", "only-pictures.zip", zipped([("a.png", b"\x89PNG\r\n\x1a\n\0\0")]))
    write("hostile", "empty.zip", zipped([]))
    write("hostile", "bomb.tar.gz", gzip.compress(tar_of("a.txt", 70 << 20), mtime=0))
    write("hostile", "truncated.tar", tar_of("a.txt", 4096)[:2000])
    write("files", "note.txt.gz", gzip.compress(b"just text", mtime=0))
    write("hostile", "deep.html", "<div>" * 2000)
    write("hostile", "only-navigation.html", "<nav><a href=x>Home</a></nav>")
    write("hostile", "bad-line.jsonl", '{"a": 1}\n{"a": \n')
    write("hostile", "cyrillic.txt", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440: \u043d\u0430\u0441\u043e\u0441".encode("cp1251"))
    write("hostile", "picture.pdf", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    write("hostile", "blank.md", " \n\t\n")
    write("hostile", "deep.rtf", "{\\rtf1 " + "{" * 5000 + "text")
    write("hostile", "bin.rtf", "{\\rtf1 \\bin99999999999 text}")
    write("hostile", "no-body.eml", "From: a@example.org\nDate: x\nMessage-ID: <1>\nContent-Type: multipart/mixed; boundary=b\n\n")
    write("hostile", "encrypted.eml", 'From: a@example.org\nDate: Mon, 02 Mar 2026 09:30:00 +0100\nMIME-Version: 1.0\n'
          'Content-Type: multipart/encrypted; boundary=b\n\n--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b--\n')
    parts = "".join(f"--b\nContent-Type: text/plain\n\n{i}\n" for i in range(600))
    write("hostile", "many-parts.eml", f"From: a@example.org\nDate: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n")


def tar_of(name, size):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        info = tarfile.TarInfo(name)
        info.size = size
        t.addfile(info, io.BytesIO(b" " * size))
    return out.getvalue()


if __name__ == "__main__":
    make_files()
    make_hostile()
