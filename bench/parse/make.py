#!/usr/bin/env python3
"""Makes files of many formats from sources/ with other people's tools, each with its source as
reference: DIR/files/FORMAT/SOURCE-TOOL.FORMAT and ….ref.md. A tool that is not installed is
left out, with a message.

    make.py DIR [PART OF A NAME]

The head of a source says what LaTeX needs, and the script of its language: `scripts`. A tool
makes the files of the scripts that it can write."""

import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

LATIN = {"latin"}  # the letters of Western Europe
LATIN2 = LATIN | {"latin2"}
UNSHAPED = LATIN2 | {"cyrillic", "han"}  # without Arabic, whose letters must be joined
ALL = UNSHAPED | {"arabic"}

# What LaTeX is told: a small page with a running title and page numbers.
HEADED = (r"\usepackage{fancyhdr}\pagestyle{fancy}\fancyhf{}\fancyhead[C]{\small Quarterly circular}"
          r"\fancyfoot[L]{\small Draft}\fancyfoot[R]{\small\thepage}")

OFFICE = ["soffice", "-env:UserInstallation=file://{dir}/profile", "--headless", "--convert-to"]
CHROMIUM = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir={dir}/profile"]


def latex(engine, *more):
    return ["pandoc", "{source}", f"--pdf-engine={engine}", *more, "-o", "{out}"]


def office(between, kind):
    """Converts what pandoc makes of the source, in the format between, with LibreOffice."""
    return [["pandoc", "{source}", "-o", "{dir}/a." + between],
            [*OFFICE, kind, "--outdir", "{dir}/made", "{dir}/a." + between],
            ["mv", "{dir}/made/a." + kind, "{out}"]]


# format, name of the tool, program, scripts, and its command lines: {source} is the Markdown
# text, {out} the file to make, {dir} a directory for files between, {here} this directory.
TOOLS = [
    ("pdf", "pdflatex", "pdflatex", LATIN2, [latex("pdflatex")]),
    ("pdf", "xelatex", "xelatex", ALL, [latex("xelatex")]),
    ("pdf", "lualatex", "lualatex", ALL - {"han"}, [latex("lualatex")]),
    ("pdf", "two-columns", "xelatex", ALL, [
        ["sh", "-c", "pandoc {source} -s -V classoption=twocolumn -V geometry:margin=2cm -t latex | sed "
         r"-e 's/\\begin{longtable}\[\]/\\begin{tabular}/' -e 's/\\end{longtable}/\\end{tabular}/' -e '/\\endhead/d' > {dir}/a.tex"],
        ["xelatex", "-interaction=batchmode", "{dir}/a.tex"],
        ["mv", "{dir}/a.pdf", "{out}"]]),
    ("pdf", "narrow", "lualatex", LATIN2, [latex("lualatex", "-V", "geometry:paperwidth=9cm,paperheight=13cm,margin=1.5cm")]),
    ("pdf", "headed", "xelatex", ALL, [latex("xelatex", "-V", "geometry:a6paper,margin=2cm", "-V", "header-includes=" + HEADED)]),
    ("pdf", "numbered", "pdflatex", LATIN2, [latex("pdflatex", "-N", "--toc", "-V", "documentclass=report")]),
    ("pdf", "dvips", "dvips", LATIN2, [
        ["pandoc", "{source}", "-s", "-o", "{dir}/a.tex"],
        ["latex", "-interaction=batchmode", "{dir}/a.tex"],
        ["latex", "-interaction=batchmode", "{dir}/a.tex"],
        ["dvips", "-q", "-o", "{dir}/a.ps", "{dir}/a.dvi"],
        ["ps2pdf", "{dir}/a.ps", "{out}"]]),
    ("pdf", "dvips-bitmaps", "dvips", LATIN, [  # fonts of Type 3, with the encoding OT1
        ["sh", "-c", "pandoc {source} -s -t latex | sed -e '/usepackage{lmodern}/d' -e 's/\\[T1\\]{fontenc}/[OT1]{fontenc}/' > {dir}/a.tex"],
        ["latex", "-interaction=batchmode", "{dir}/a.tex"],
        ["dvips", "-q", "-V1", "-o", "{dir}/a.ps", "{dir}/a.dvi"],
        ["ps2pdf", "{dir}/a.ps", "{out}"]]),
    ("pdf", "groff", "groff", LATIN, [
        ["pandoc", "{source}", "-s", "-t", "ms", "-o", "{dir}/a.ms"],
        ["sh", "-c", "groff -Kutf8 -t -ms -Tpdf {dir}/a.ms > {out}"]]),
    ("pdf", "groff-man", "groff", LATIN, [
        ["pandoc", "{source}", "-s", "-t", "man", "-V", "section=7", "-V", "header=Harbour manual", "-M", "title=CIRCULAR", "-o", "{dir}/a.man"],
        ["sh", "-c", "groff -Kutf8 -t -man -Tpdf {dir}/a.man > {out}"]]),
    ("pdf", "ghostscript", "ps2pdf", LATIN, [
        ["pandoc", "{source}", "-s", "-t", "ms", "-o", "{dir}/a.ms"],
        ["sh", "-c", "groff -Kutf8 -t -ms -Tps {dir}/a.ms > {dir}/a.ps"],
        ["ps2pdf", "{dir}/a.ps", "{out}"]]),
    ("pdf", "distilled", "gs", ALL, [
        ["pandoc", "{source}", "--pdf-engine=xelatex", "-o", "{dir}/a.pdf"],
        ["gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pdfwrite", "-sOutputFile={out}", "{dir}/a.pdf"]]),
    ("pdf", "chromium", "chromium", ALL, [
        ["pandoc", "{source}", "-s", "-o", "{dir}/a.html"],
        [*CHROMIUM, "--print-to-pdf={out}", "{dir}/a.html"]]),
    ("pdf", "chromium-columns", "chromium", ALL, [
        ["pandoc", "{source}", "-s", "-V", "header-includes=<style>body{columns:2;max-width:none!important}</style>", "-o", "{dir}/a.html"],
        [*CHROMIUM, "--print-to-pdf-no-header", "--print-to-pdf={out}", "{dir}/a.html"]]),
    ("pdf", "libreoffice", "soffice", ALL, office("docx", "pdf")),
    ("pdf", "slides", "soffice", ALL, office("pptx", "pdf")),
    ("pdf", "reportlab", "pandoc", UNSHAPED, [
        ["pandoc", "{source}", "-t", "json", "-o", "{dir}/a.json"],
        [sys.executable, "{here}/platypus.py", "{dir}/a.json", "{out}"]]),
    ("docx", "pandoc", "pandoc", ALL, [["pandoc", "{source}", "-o", "{out}"]]),
    ("docx", "libreoffice", "soffice", ALL, office("odt", "docx")),
    ("odt", "pandoc", "pandoc", ALL, [["pandoc", "{source}", "-o", "{out}"]]),
    ("odt", "libreoffice", "soffice", ALL, office("docx", "odt")),
    ("rtf", "pandoc", "pandoc", ALL, [["pandoc", "{source}", "-s", "-o", "{out}"]]),
    ("rtf", "libreoffice", "soffice", ALL, office("docx", "rtf")),
    ("pptx", "pandoc", "pandoc", ALL, [["pandoc", "{source}", "-o", "{out}"]]),
    ("pptx", "libreoffice", "soffice", ALL, office("pptx", "pptx")),
    ("html", "pandoc", "pandoc", ALL, [["pandoc", "{source}", "-s", "-o", "{out}"]]),
    ("html", "libreoffice", "soffice", ALL, office("odt", "html")),
    ("epub", "pandoc", "pandoc", ALL, [["pandoc", "{source}", "-o", "{out}"]]),
    ("epub", "pandoc-2", "pandoc", ALL, [["pandoc", "{source}", "-t", "epub2", "-o", "{out}"]]),
    ("latex", "pandoc", "pandoc", ALL, [["pandoc", "{source}", "-s", "-o", "{out}"]]),
]

# Sources in LaTeX, each with its reference, and the engines that set them.
ENGINES = ["pdflatex", "xelatex", "lualatex"]


def reference(text):
    """Returns a source without its head and the marks of its notes, which no tool shows."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    return re.sub(r"\[\^\w+\]:?", "", text).lstrip()


def script(text):
    said = re.search(r"\A---\n.*?^scripts: (\w+)$.*?\n---\n", text, flags=re.S | re.M)
    return said.group(1) if said else "latin"


def filled(word, **values):
    for name, value in values.items():
        word = word.replace("{" + name + "}", str(value))
    return word


def make(commands, source, out):
    with tempfile.TemporaryDirectory() as between:
        for command in commands:
            words = [filled(word, source=source, out=out, dir=between, here=HERE) for word in command]
            done = subprocess.run(words, cwd=between, capture_output=True, text=True, errors="replace", timeout=300)
            if done.returncode and not (words[0] == "latex" and pathlib.Path(between, "a.dvi").exists()):
                raise RuntimeError(f"{words[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
        if not out.exists():
            raise RuntimeError(f"{words[0]} made no file")


def jobs():
    """Yields name, format, program, commands, source and the text of the reference."""
    sources = sorted((HERE / "sources").glob("*.md"))
    for format, tool, program, scripts, commands in TOOLS:
        for source in sources:
            text = source.read_text()
            if not source.name.endswith(".ref.md") and script(text) in scripts:
                yield f"{source.stem}-{tool}", format, program, commands, source, reference(text)
    for source in sorted((HERE / "sources").glob("*.tex")):
        text = source.with_suffix(".ref.md").read_text()
        for engine in ENGINES:
            run = [engine, "-interaction=batchmode", "{source}"]
            yield f"{source.stem}-{engine}", "pdf", engine, [run, run, ["mv", "{dir}/" + source.stem + ".pdf", "{out}"]], source, text


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    missing = set()

    def one(job):
        name, format, program, commands, source, text = job
        out = root / "files" / format / f"{name}.{format}"
        if only not in out.name or out.exists():
            return
        if not shutil.which(program):
            if (program, format) not in missing:
                missing.add((program, format))
                print(f"{program} is not installed: it makes no {format}", file=sys.stderr)
            return
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            make(commands, source, out)
            pathlib.Path(f"{out}.ref.md").write_text(text)
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            out.unlink(missing_ok=True)
            print(f"{out.name}: {problem}", file=sys.stderr)

    with concurrent.futures.ThreadPoolExecutor(3) as workers:
        list(workers.map(one, jobs()))


if __name__ == "__main__":
    main()
