#!/usr/bin/env python3
"""Takes pages from Debian's documentation packages, each with a reference: its main content as
Markdown, which is what is left of a page without the menus, headers and footers that its
generator is known to make.

    pip install beautifulsoup4==4.15.0 lxml==6.1.3
    pages.py DIR [PAGES OF EACH PACKAGE]

The pages are DIR/files/html/PACKAGE-NN.html, beside NAME.ref.md."""

import glob
import os
import re
import subprocess
import sys

from bs4 import BeautifulSoup, NavigableString

PAGES = 40  # of each package unless the command line says it, evenly from all
SMALLEST = 60  # words of a page

# package, pages, what holds the main content, what of it is not content
SOURCES = [
    ("postgresql-doc-15", "html/*.html", "body", ".navheader, .navfooter"),  # DocBook
    ("debian-policy", "**/*.html", "body", ".navheader, .navfooter, .related, .sphinxsidebar, .footer, .headerlink"),  # DocBook and Sphinx
    ("debian-handbook", "html/en-US/*.html", "body", "#banner, #title, .docnav"),  # Publican
    ("git-doc", "*.html", "body", "#footer"),  # AsciiDoc
    ("python3.11-doc", "html/**/*.html", "[role=main]", ".headerlink"),  # Sphinx
    ("cmake-doc", "html/**/*.html", "[role=main], .body", ".headerlink"),  # Sphinx, another theme
    ("python-django-doc", "html/[a-z]*/*.html", "[role=main], #bd .yui-b", ".headerlink, .sphinxsidebar, .nav, .footer"),  # Sphinx, by an old theme
    ("sqlite3-doc", "*.html", "body", ".nosearch, #toc_sub, #toc_mk"),  # by hand
    ("openjdk-17-doc", "api/java.base/java/util/*.html", "main", ".sub-nav, nav"),  # Javadoc
]


def unpacked(folder):
    """Downloads and unpacks the packages, and returns the folder."""
    folder = os.path.join(folder, "packages")
    os.makedirs(folder, exist_ok=True)
    for package, *_ in SOURCES:
        if not os.path.isdir(os.path.join(folder, package)):
            subprocess.run(["apt-get", "-q", "download", package], cwd=folder, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            deb = glob.glob(os.path.join(folder, package + "_*.deb"))[0]
            subprocess.run(["dpkg-deb", "-x", deb, os.path.join(folder, package)], check=True)
    return folder


def words(text):
    return re.findall(r"\w+", text.lower())


def reference(page, content, noise):
    """Returns the main content: headings, items and rows of tables as lines of Markdown."""
    soup = BeautifulSoup(page, "lxml")
    for tag in soup.select("script, style, noscript, template, form, " + noise):
        tag.decompose()
    found = soup.select(content)
    outer = [tag for tag in found if not any(other is not tag and other in tag.parents for other in found)]
    return "\n".join("".join(lines(tag)) for tag in outer)


BLOCKS = {"p", "div", "section", "ul", "ol", "dl", "dt", "dd", "table", "blockquote", "article", "main", "header", "hr", "br"}


def lines(tag):
    """Yields the pieces of the text of an element."""
    for child in tag.children:
        if isinstance(child, NavigableString):
            if type(child) is NavigableString:
                yield re.sub(r"\s+", " ", child)
        elif re.fullmatch("h[1-6]", child.name):
            yield f"\n\n{'#' * int(child.name[1])} {one_line(child)}\n\n"
        elif child.name == "pre":
            yield "\n\n```\n" + child.get_text() + "\n```\n\n"
        elif child.name == "li":
            yield "\n- " + "".join(lines(child)).strip() + "\n"
        elif child.name == "tr":
            yield "\n| " + " | ".join(one_line(cell) for cell in child.find_all(["td", "th"], recursive=False)) + " |"
        elif child.name in BLOCKS:
            yield "\n" + "".join(lines(child)) + "\n"
        else:
            yield from lines(child)


def one_line(tag):
    return " ".join(tag.get_text(" ").split())


def pages(folder, package, pattern, most):
    """Yields names and contents, without pages that are nothing but an index."""
    root = os.path.join(folder, package, "usr/share/doc")
    found = sorted(p for p in glob.glob(f"{root}/**/{pattern}", recursive=True) if os.path.isfile(p) and not os.path.islink(p))
    found = [p for p in found if not re.search(r"genindex|search|/index|_modules|py-modindex|toc\.html|-tree|-use|hitlist|keyword_index", p)]
    for n in range(min(most, len(found))):
        path = found[n * len(found) // min(most, len(found))]
        with open(path, "rb") as f:
            yield f"{package}-{n:02}.html", f.read()


def main():
    folder = sys.argv[1]
    most = int(sys.argv[2]) if len(sys.argv) > 2 else PAGES
    out = os.path.join(folder, "files", "html")
    os.makedirs(out, exist_ok=True)
    source = unpacked(folder)
    for package, pattern, content, noise in SOURCES:
        for name, page in pages(source, package, pattern, most):
            text = reference(page, content, noise)
            if len(words(text)) < SMALLEST:
                continue
            with open(os.path.join(out, name), "wb") as f:
                f.write(page)
            with open(os.path.join(out, name + ".ref.md"), "w") as f:
                f.write(text)


if __name__ == "__main__":
    main()
