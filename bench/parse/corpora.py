#!/usr/bin/env python3
"""Takes the Office files of public test collections, each with a reference made of its own XML: the paragraphs, headings
and rows of a DOCX or ODT file, the shapes and notes of the slides of a PPTX or ODP file, the texts of the cells of an XLSX or ODS
file. What a program does not show is left out: deleted and hidden text, hidden slides, sheets, rows and columns. RTF files have no
XML and no reference.

    git clone https://github.com/apache/poi         # and tika, unstructured, docling, markitdown, LibreOffice/core
    corpora.py DIR [FILES OF EACH FORMAT] CLONE...

The files are DIR/files/FORMAT/CLONE-NAME, beside NAME.ref.md. Files with less than 20 words, and files that are encrypted or
broken on purpose, have no reference and are left out."""

import hashlib
import os
import posixpath
import re
import shutil
import sys
import zipfile
from xml.etree import ElementTree

LEAST = 20  # words
LARGEST = 4 << 20  # bytes of a part
FORMATS = ("docx", "pptx", "xlsx", "odt", "ods", "odp", "rtf")


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


def automatic(root):
    """The names of the styles of a file that hide what has them."""
    return {
        value(style, "name")
        for style in each(root, "style")
        for n in style
        if (name(n) == "text-properties" and value(n, "display") == "none") or (name(n) == "drawing-page-properties" and value(n, "visibility") == "hidden")
    }


# Children of a paragraph or a frame that are no text of it, or stand elsewhere.
APART = ("tracked-changes", "forms", "notes", "note", "annotation", "sequence-decls", "variable-decls", "user-field-decls", "ruby-text", "note-citation",
         "table-of-content", "illustration-index", "table-index", "object-index", "user-index", "alphabetical-index", "bibliography", "binary-data", "title",
         "script", "event-listeners", "hidden-text", "hidden-paragraph", "math", "header", "footer", "date-time", "page-number", "object-ole", "config-item-set")


def odf(node, hidden):
    """The text of a node, without what stands apart from it or is hidden."""
    if name(node) in ("tab", "s", "line-break"):
        return " "
    if name(node) in APART or value(node, "style-name") in hidden and name(node) in ("span", "p", "h"):
        return ""
    return (node.text or "") + "".join(odf(n, hidden) + (n.tail or "") for n in node) + (" " if name(node) in ("p", "h", "frame") else "")


def rows(node):
    """The rows of a table, without those of tables in it."""
    for n in node:
        if name(n) == "table-row":
            yield n
        elif name(n) in ("table-rows", "table-header-rows", "table-row-group"):
            yield from rows(n)


def odt(z):
    root = ElementTree.fromstring(z.read("content.xml"))
    hidden = automatic(root) | automatic(ElementTree.fromstring(z.read("styles.xml")))

    def blocks(node):
        for child in node:
            if name(child) in APART or value(child, "display") == "none":
                continue
            if name(child) in ("p", "h"):
                text = " ".join(odf(child, hidden).split())
                if text:
                    yield "#" * min(int(value(child, "outline-level") or 1), 6) + " " + text if name(child) == "h" else text
                for note in each(child, "note-body") + each(child, "annotation"):
                    yield odf_apart(note, hidden)
            elif name(child) == "table":
                for i, row in enumerate(rows(child)):
                    texts = [" ".join(odf(c, hidden).split()) for c in row if name(c) == "table-cell"]
                    yield ("\n" if i == 0 else "") + "| " + " | ".join(texts) + " |" + ("\n|" + " --- |" * len(texts) if i == 0 else "")
            else:
                yield from blocks(child)

    yield from blocks(each(root, "text")[0])


def odf_apart(node, hidden):
    """The text of a note or a comment, without who wrote it."""
    return " ".join(" ".join(odf(n, hidden) for n in node.iter() if name(n) == "p").split())


def odp(z):
    root = ElementTree.fromstring(z.read("content.xml"))
    hidden = automatic(root)
    for slide in each(each(root, "presentation")[0], "page"):
        if value(slide, "style-name") in hidden:
            continue
        for shape in slide.iter():
            if name(shape) in ("p", "h"):
                text = " ".join(odf(shape, hidden).split())
                if text:
                    yield text


def ods(z):
    root = ElementTree.fromstring(z.read("content.xml"))
    away = {value(s, "name") for s in each(root, "style") for n in s if name(n) == "table-properties" and value(n, "display") == "false"}
    for sheet in each(each(root, "spreadsheet")[0], "table"):
        if value(sheet, "style-name") in away:
            continue
        columns = []
        for c in each(sheet, "table-column"):
            columns += [value(c, "visibility") in ("collapse", "filter")] * min(int(value(c, "number-columns-repeated") or 1), 2000)
        for row in each(sheet, "table-row"):
            if value(row, "visibility") in ("collapse", "filter"):
                continue
            at, texts = 0, []
            for cell in row:
                texts += [odf(cell, set())] if name(cell) == "table-cell" and value(cell, "value-type") == "string" and not columns[at:at + 1] == [True] else []
                at += int(value(cell, "number-columns-repeated") or 1)
            if any(t.strip() for t in texts):
                yield " ".join(texts)


def rtf(path):
    """Whether an RTF file is not broken on purpose and has words, by its letters that are of no control word. It has no reference: what readers agree on is one."""
    with open(path, "rb") as file:
        content = file.read(LARGEST)
    if "/fail/" in path or os.path.basename(path).startswith("forcepoint"):  # made by fuzzing
        return False
    return content.startswith(b"{\\rtf") and len(re.findall(rb"[a-z]{3,}", re.sub(rb"\\\\[a-z]+-?\d*|[0-9a-f]{20,}", b"", content))) > 3 * LEAST


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
            to = os.path.join(folder, "files", kind, clone + "-" + os.path.basename(path).replace(" ", "_"))
            if kind == "rtf":
                if rtf(path):
                    shutil.copyfile(path, to)
                    taken += 1
                continue
            try:
                with zipfile.ZipFile(path) as z:
                    if any(p.file_size > LARGEST or p.filename.endswith(".xml") and b"<!DOCTYPE" in z.open(p).read(1000) for p in z.infolist()):
                        continue
                    text = "\n\n".join(globals()[kind](z)).replace(" |\n\n| ", " |\n| ")
            except Exception:  # broken on purpose
                continue
            if len(re.findall(r"\w+", text)) < LEAST:
                continue
            shutil.copyfile(path, to)
            with open(to + ".ref.md", "w", encoding="utf-8") as out:
                out.write(text + "\n")
            taken += 1
        print(kind, taken)


if __name__ == "__main__":
    main()
