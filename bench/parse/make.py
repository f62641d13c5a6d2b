#!/usr/bin/env python3
"""Makes files of many formats from sources/*.md with other people's tools, each with its
source as reference: DIR/files/FORMAT/SOURCE-TOOL.FORMAT and ….ref.md. A tool that is not
installed is left out, with a message."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

# format, name of the tool, program, and its command lines: {source} is the Markdown text,
# {out} the file to make, {dir} a directory for files between.
TOOLS = [
    ("pdf", "pdflatex", "pdflatex", [["pandoc", "{source}", "--pdf-engine=pdflatex", "-o", "{out}"]]),
    ("pdf", "xelatex", "xelatex", [["pandoc", "{source}", "--pdf-engine=xelatex", "-o", "{out}"]]),
    ("pdf", "lualatex", "lualatex", [["pandoc", "{source}", "--pdf-engine=lualatex", "-o", "{out}"]]),
    ("pdf", "two-columns", "xelatex", [["pandoc", "{source}", "--pdf-engine=xelatex", "-V", "classoption=twocolumn", "-o", "{out}"]]),
    ("pdf", "groff", "groff", [
        ["pandoc", "{source}", "-s", "-t", "ms", "-o", "{dir}/a.ms"],
        ["sh", "-c", "groff -Kutf8 -t -ms -Tpdf {dir}/a.ms > {out}"]]),
    ("pdf", "ghostscript", "ps2pdf", [
        ["pandoc", "{source}", "-s", "-t", "ms", "-o", "{dir}/a.ms"],
        ["sh", "-c", "groff -Kutf8 -t -ms -Tps {dir}/a.ms > {dir}/a.ps"],
        ["ps2pdf", "{dir}/a.ps", "{out}"]]),
    ("pdf", "chromium", "chromium", [
        ["pandoc", "{source}", "-s", "-o", "{dir}/a.html"],
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--print-to-pdf={out}", "{dir}/a.html"]]),
    ("pdf", "libreoffice", "soffice", [
        ["pandoc", "{source}", "-o", "{dir}/a.docx"],
        ["soffice", "-env:UserInstallation=file://{dir}/profile", "--headless", "--convert-to", "pdf", "--outdir", "{dir}", "{dir}/a.docx"],
        ["mv", "{dir}/a.pdf", "{out}"]]),
    ("docx", "pandoc", "pandoc", [["pandoc", "{source}", "-o", "{out}"]]),
    ("docx", "libreoffice", "soffice", [
        ["pandoc", "{source}", "-o", "{dir}/a.odt"],
        ["soffice", "-env:UserInstallation=file://{dir}/profile", "--headless", "--convert-to", "docx", "--outdir", "{dir}", "{dir}/a.odt"],
        ["mv", "{dir}/a.docx", "{out}"]]),
    ("html", "pandoc", "pandoc", [["pandoc", "{source}", "-s", "-o", "{out}"]]),
    ("epub", "pandoc", "pandoc", [["pandoc", "{source}", "-o", "{out}"]]),
    ("latex", "pandoc", "pandoc", [["pandoc", "{source}", "-s", "-o", "{out}"]]),
]


def make(commands, source, out):
    with tempfile.TemporaryDirectory() as between:
        for command in commands:
            words = [word.format(source=source, out=out, dir=between) for word in command]
            done = subprocess.run(words, capture_output=True, text=True, timeout=300)
            if done.returncode:
                raise RuntimeError(done.stderr.strip()[-300:])


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    sources = sorted((pathlib.Path(__file__).parent / "sources").glob("*.md"))
    for format, tool, program, commands in TOOLS:
        if not shutil.which(program):
            print(f"{program} is not installed: no {format} by {tool}", file=sys.stderr)
            continue
        for source in sources:
            out = root / "files" / format / f"{source.stem}-{tool}.{format}"
            if out.exists():
                continue
            out.parent.mkdir(parents=True, exist_ok=True)
            try:
                make(commands, source, out)
                shutil.copy(source, f"{out}.ref.md")
            except (RuntimeError, subprocess.TimeoutExpired) as problem:
                out.unlink(missing_ok=True)
                print(f"{out.name}: {problem}", file=sys.stderr)


if __name__ == "__main__":
    main()
