#!/usr/bin/env python3
"""Takes the Office files of public test collections, each with a reference made of its own XML: the paragraphs, headings
and rows of a DOCX file, the shapes and notes of the slides of a PPTX file, the texts of the cells of an XLSX file. What a
program does not show is left out: deleted and hidden text, hidden slides, sheets, rows and columns.

    git clone https://github.com/apache/poi         # and tika, unstructured, docling, markitdown
    corpora.py DIR [FILES OF EACH FORMAT] CLONE...

The files are DIR/files/FORMAT/CLONE-NAME, beside NAME.ref.md. Files with less than 20 words, and files that are encrypted or
broken on purpose, have no reference and are left out."""

import hashlib
import os
import posixpath
import re
import sys
import zipfile
from xml.etree import ElementTree

LEAST = 20  # words
LARGEST = 4 << 20  # bytes of a part
FORMATS = ("docx", "pptx", "xlsx")


def name(node):
    return node.tag.rsplit("}", 1)[-1]


def value(node, key):
    return next((v for k, v in node.attrib.items() if k.rsplit("}", 1)[-1] == key), None)


def each(node, kind):
    return [n for n in node.iter() if name(n) == kind]


def runs(node):
    """The text of a node without what is deleted, hidden, an older form of something newer, or the reading of kanji."""
    if name(node) in ("del", "moveFrom", "Fallback", "instrText", "rt") or any(name(n) == "vanish" for p in node if name(p) == "rPr" for n in p):
        return ""
    if name(node) in ("tab", "br", "cr", "p") and not len(node) and not node.text:
        return " "
    text = node.text or "" if name(node) == "t" else ""
    return text + "".join(runs(n) for n in node) + (" " if name(node) in ("p", "tc") else "")


def cells(row):
    """The cells of a row, without those of tables in them."""
    for n in row:
        if name(n) == "tc":
            yield " ".join(runs(n).split())
        elif name(n) in ("sdt", "sdtContent"):
            yield from cells(n)


def relations(z, part):
    try:
        root = ElementTree.fromstring(z.read(posixpath.join(posixpath.dirname(part), "_rels", posixpath.basename(part) + ".rels")))
    except KeyError:
        return {}
    return {r.get("Id"): posixpath.normpath(posixpath.join("/", posixpath.dirname(part), r.get("Target")))[1:] for r in root}


def docx(z):
    levels = {}
    if "word/styles.xml" in z.namelist():
        for style in each(ElementTree.fromstring(z.read("word/styles.xml")), "style"):
            said = next((value(n, "val") for n in style if name(n) == "name"), "") or ""
            if match := re.fullmatch(r"heading (\d)", said, re.I):
                levels[value(style, "styleId")] = int(match[1])

    def blocks(node):
        for child in node:
            if name(child) == "p":
                style = next((value(n, "val") for n in child.iter() if name(n) == "pStyle"), None)
                text = " ".join(runs(child).split())
                if text:
                    yield "#" * levels[style] + " " + text if style in levels else text
            elif name(child) == "tbl":
                for i, row in enumerate(n for n in child if name(n) == "tr"):
                    texts = list(cells(row))
                    yield ("\n" if i == 0 else "") + "| " + " | ".join(texts) + " |" + ("\n|" + " --- |" * len(texts) if i == 0 else "")
            elif name(child) in ("sdt", "sdtContent", "ins", "smartTag", "customXml"):
                yield from blocks(child)

    yield from blocks(each(ElementTree.fromstring(z.read("word/document.xml")), "body")[0])
    for part in ("footnotes", "endnotes", "comments"):
        if f"word/{part}.xml" in z.namelist():
            yield runs(ElementTree.fromstring(z.read(f"word/{part}.xml")))


def pptx(z):
    related = relations(z, "ppt/presentation.xml")
    for slide in each(ElementTree.fromstring(z.read("ppt/presentation.xml")), "sldId"):
        part = related.get(next((v for k, v in slide.attrib.items() if k.endswith("}id")), None))
        if part not in z.namelist():  # an entry of a list of sections
            continue
        root = ElementTree.fromstring(z.read(part))
        if root.get("show") in ("0", "false"):
            continue
        notes = [ElementTree.fromstring(z.read(p)) for p in relations(z, part).values() if "/notesSlide" in p]
        for shape in each(root, "sp") + each(root, "graphicFrame") + [s for n in notes for s in each(n, "sp")]:
            kind = next((n.get("type") for n in each(shape, "ph")), None)
            if kind in ("dt", "ftr", "hdr", "sldNum"):
                continue
            for row in each(shape, "tr"):
                yield "| " + " | ".join(cells(row)) + " |"
            text = "" if each(shape, "tr") else " ".join(runs(shape).split())
            if text:
                yield "## " + text if kind in ("title", "ctrTitle") else text


def xlsx(z):
    shared = []
    if "xl/sharedStrings.xml" in z.namelist():
        shared = [written(n) for n in ElementTree.fromstring(z.read("xl/sharedStrings.xml")) if name(n) == "si"]
    related = relations(z, "xl/workbook.xml")
    for sheet in each(ElementTree.fromstring(z.read("xl/workbook.xml")), "sheet"):
        part = related.get(next((v for k, v in sheet.attrib.items() if k.endswith("}id")), None))
        if sheet.get("state") in ("hidden", "veryHidden") or part not in z.namelist():
            continue
        root, hidden = ElementTree.fromstring(z.read(part)), set()
        for columns in each(root, "col"):
            if columns.get("hidden") in ("1", "true"):
                hidden.update(range(int(columns.get("min")), min(int(columns.get("max")), 1000) + 1))
        for row in each(root, "row"):
            texts = []
            for cell in row if row.get("hidden") not in ("1", "true") else []:
                column = 0
                for letter in re.sub("[^A-Z]", "", cell.get("r") or ""):
                    column = column * 26 + ord(letter) - 64
                stored = next((n.text for n in cell if name(n) == "v"), None)
                if column in hidden:
                    continue
                if cell.get("t") == "s" and stored:
                    texts.append(shared[int(stored)])
                elif cell.get("t") == "inlineStr":
                    texts.append("".join(written(n) for n in cell if name(n) == "is"))
                elif cell.get("t") == "str" and stored:
                    texts.append(stored)
            if texts:
                yield " ".join(texts)


def written(node):
    """The text of a string of a workbook without how it is pronounced."""
    return "".join(t.text or "" for n in node if name(n) in ("t", "r") for t in ([n] if name(n) == "t" else n) if name(t) == "t")


def main():
    folder, most = sys.argv[1], int(sys.argv[2])
    found = {f: [] for f in FORMATS}
    for clone in sys.argv[3:]:
        for at, _, files in os.walk(clone):
            found_here = [os.path.join(at, f) for f in files if f.rsplit(".", 1)[-1].lower() in FORMATS]
            for path in found_here:
                found[path.rsplit(".", 1)[-1].lower()].append((os.path.basename(os.path.normpath(clone)), path))
    for kind, files in found.items():
        os.makedirs(os.path.join(folder, "files", kind), exist_ok=True)
        taken = 0
        for clone, path in sorted(files, key=lambda f: hashlib.sha256(os.path.basename(f[1]).encode()).digest()):
            if taken == most:
                break
            try:
                with zipfile.ZipFile(path) as z:
                    if any(p.file_size > LARGEST or p.filename.endswith(".xml") and b"<!DOCTYPE" in z.open(p).read(1000) for p in z.infolist()):
                        continue
                    text = "\n\n".join(globals()[kind](z)).replace(" |\n\n| ", " |\n| ")
            except Exception:  # broken on purpose
                continue
            if len(re.findall(r"\w+", text)) < LEAST:
                continue
            to = os.path.join(folder, "files", kind, clone + "-" + os.path.basename(path).replace(" ", "_"))
            with open(path, "rb") as source, open(to, "wb") as out:
                out.write(source.read())
            with open(to + ".ref.md", "w", encoding="utf-8") as out:
                out.write(text + "\n")
            taken += 1
        print(kind, taken)


if __name__ == "__main__":
    main()
