"""Makes the files figures.* of each format, with captions and alternative texts:

    pip install python-docx==1.2.0 python-pptx==1.0.2 odfpy==1.4.1 ebooklib==0.20 \
        reportlab==5.1.0 pillow==13.0.0
    python generate_figures.py
"""

import base64
import io
import pathlib

import docx
import docx.oxml.ns
import docx.shared
import pptx
import pptx.util
from ebooklib import epub
from odf import draw, opendocument, style, svg, text
from PIL import Image
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Image as Picture
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table

FILES = pathlib.Path(__file__).parent / "files"
FIRST = "The ferry leaves the northern landing at every full hour until dusk."
SECOND = "Whoever brings a cart pays for two. Figure 1 shows where carts wait."


def picture(colour, width=96, height=64):
    out = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(out, "PNG")
    out.seek(0)
    return out


def word():
    d = docx.Document()
    d.core_properties.author = "Harbour office"
    d.add_heading("Ferry", 1)
    d.add_paragraph(FIRST)
    d.add_picture(picture("teal"), width=docx.shared.Inches(4))
    d.add_paragraph("Abbildung 1: Der nördliche Anleger", style="Caption")
    d.add_paragraph(SECOND)
    d.add_picture(picture("navy"), width=docx.shared.Inches(4))
    described = d.element.findall(".//" + docx.oxml.ns.qn("wp:docPr"))[-1]
    described.set("descr", "Two carts on the slipway")
    table = d.add_table(rows=2, cols=2)
    for column, colour in enumerate(["maroon", "olive"]):
        run = table.cell(0, column).paragraphs[0].add_run()
        run.add_picture(picture(colour), width=docx.shared.Inches(2))
        table.cell(1, column).text = f"Figure {column + 2}. Ramp {column + 1} at low water"
    for _ in range(3):
        d.add_picture(picture("gold"), width=docx.shared.Inches(2))
        d.element.findall(".//" + docx.oxml.ns.qn("wp:docPr"))[-1].set("descr", "Crest of the harbour")
        d.add_paragraph(SECOND)
    d.save(FILES / "figures.docx")


def slides():
    p = pptx.Presentation()
    inches = pptx.util.Inches
    for title, caption, alternative in [
        ("Landing", "Figure 1: The northern landing", "image1.png"),
        ("Carts", "Carts that wait for the ferry", "Picture 2"),
        ("Fees", None, "Board with the fees of the ferry"),
    ]:
        s = p.slides.add_slide(p.slide_layouts[5])
        s.shapes.title.text = title
        if caption:
            s.shapes.add_textbox(inches(1), inches(5), inches(5), inches(0.5)).text_frame.text = caption
        shape = s.shapes.add_picture(picture(("red", "green", "blue")[len(title) % 3]), inches(1), inches(1.7), width=inches(5))
        shape._element.nvPicPr.cNvPr.set("descr", alternative)
    p.save(FILES / "figures.pptx")


def open_text():
    d = opendocument.OpenDocumentText()
    for name, parent in [("Caption", "Standard"), ("Illustration", "Caption")]:
        d.styles.addElement(style.Style(name=name, family="paragraph", parentstylename=parent))

    def frame(colour, **descriptions):
        f = draw.Frame(width="9cm", height="6cm", anchortype="as-char")
        href = d.addPicture(colour + ".png", mediatype="image/png", content=picture(colour).getvalue())
        f.addElement(draw.Image(href=href, type="simple", show="embed", actuate="onLoad"))
        if descriptions:
            f.addElement(svg.Title(text=descriptions["title"]))
            f.addElement(svg.Desc(text=descriptions["desc"]))
        return f

    d.text.addElement(text.H(outlinelevel=1, text="Ferry"))
    d.text.addElement(text.P(text=FIRST))
    outer, box, p, around = draw.Frame(width="9cm", anchortype="paragraph"), draw.TextBox(), text.P(stylename="Illustration"), text.P()
    p.addElement(frame("teal"))
    p.addText("Illustration 1: The northern landing")
    box.addElement(p)
    outer.addElement(box)
    around.addElement(outer)
    d.text.addElement(around)
    d.text.addElement(text.P(text=SECOND))
    p = text.P()
    p.addElement(frame("navy", title="Carts", desc="Two carts on the slipway"))
    d.text.addElement(p)
    d.save(FILES / "figures.odt")


def book():
    b = epub.EpubBook()
    b.set_identifier("ferry")
    b.set_title("Ferry")
    b.set_language("en")
    for colour in ["teal", "navy", "gold"]:
        b.add_item(epub.EpubItem(uid=colour, file_name=f"images/{colour}.png", media_type="image/png", content=picture(colour).getvalue()))
    c = epub.EpubHtml(title="Ferry", file_name="text/ferry.xhtml")
    c.content = (
        f'<html><body><h1>Ferry</h1><p><img src="../images/gold.png" alt="Cover"/></p><p>{FIRST}</p>'
        '<figure><img src="../images/teal.png" alt=""/><figcaption><p>The northern landing</p></figcaption></figure>'
        f'<p>{SECOND}</p><p><img src="../images/navy.png" alt="Two carts on the slipway"/></p></body></html>'
    )
    b.add_item(c)
    b.toc, b.spine = (c,), ["nav", c]
    b.add_item(epub.EpubNcx())
    b.add_item(epub.EpubNav())
    epub.write_epub(FILES / "figures.epub", b)


def page():
    def address(colour, *size):
        return "data:image/png;base64," + base64.b64encode(picture(colour, *size).getvalue()).decode()

    (FILES / "figures.html").write_text(
        "<!DOCTYPE html><html lang=en><head><title>Ferry</title></head><body><main><h1>Ferry</h1>"
        f'<p>{FIRST}</p><figure><img src="{address("teal")}" alt="landing.png"><img src="{address("navy")}">'
        "<figcaption>The two landings at dusk</figcaption></figure>"
        f'<p>{SECOND}</p><p>図1 渡し船の航路</p><p><img src="{address("olive")}"></p><p>{FIRST}</p>'
        f'<p><img src="{address("red", 16, 16)}" alt="Arrow that points to the right"></p><p>{SECOND}</p>'
        '<figure><img src="https://example.com/map.png" alt="map"><figcaption>Figure 2. Map of the fairway</figcaption></figure>'
        f'<p><img src="https://example.com/crest.png" alt="Crest of the harbour"> {FIRST}</p></main></body></html>\n'
    )


def pdf():
    styles = getSampleStyleSheet()
    body, small = styles["BodyText"], styles["Italic"]
    caption = "Figure 1: The northern landing at dusk, seen from the pier that was built in the year after the great storm, by an unknown painter"
    pair = Table([
        [Picture(picture("maroon"), 180, 120), Picture(picture("olive"), 180, 120)],
        [Paragraph("Figure 2: Ramp at ebb", small), Paragraph("Figure 3: Ramp at flood", small)],
    ])
    SimpleDocTemplate(str(FILES / "figures.pdf"), title="Ferry", invariant=True).build([
        Paragraph("Ferry", styles["Heading1"]), Picture(picture("gold"), 40, 40), Paragraph(" ".join([FIRST] * 6), body),
        Picture(picture("teal"), 300, 200), Paragraph(caption, small), Spacer(1, 12), Paragraph(" ".join([SECOND] * 6), body), pair,
        Spacer(1, 12), Paragraph("Figure 1 is the oldest of these pictures.", body), Picture(picture("navy"), 200, 130),
    ])


for make in [word, slides, open_text, book, page, pdf]:
    make()
