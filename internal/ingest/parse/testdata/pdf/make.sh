#!/bin/sh
# Makes the PDF files of this directory from the sources beside them, with other people's tools:
# pdfTeX, XeTeX, LuaTeX, groff, Ghostscript, Chromium, LibreOffice, ReportLab.
set -eu
cd "$(dirname "$0")"
between=$(mktemp -d)
trap 'rm -rf "$between"' EXIT
export SOURCE_DATE_EPOCH=1767225600
for tool in pdflatex xelatex lualatex; do
	for turn in 1 2 3; do "$tool" -interaction=batchmode -output-directory "$between" notice.tex >/dev/null; done
	mv "$between/notice.pdf" "notice-$tool.pdf"
done
pdflatex -interaction=batchmode -output-directory "$between" columns.tex >/dev/null
mv "$between/columns.pdf" .
lualatex -interaction=batchmode -output-directory "$between" arabic.tex >/dev/null
mv "$between/arabic.pdf" .
pdftex -interaction=batchmode -output-directory "$between" type3.tex >/dev/null
mv "$between/type3.pdf" .
groff -ms -Tpdf notice.ms > notice-groff.pdf
groff -ms -Tps notice.ms > "$between/notice.ps"
ps2pdf "$between/notice.ps" notice-ghostscript.pdf
chromium --headless --no-sandbox --disable-gpu --no-pdf-header-footer --print-to-pdf="$between/notice.pdf" notice.html 2>/dev/null
mv "$between/notice.pdf" notice-chromium.pdf
soffice "-env:UserInstallation=file://$between/profile" --headless --convert-to pdf --outdir "$between" notice.fodt >/dev/null
mv "$between/notice.pdf" notice-libreoffice.pdf
python3 pages.py
