"""Takes pages from Debian's documentation packages, and makes a reference text for each.

    pip install beautifulsoup4==4.15.0 lxml==6.1.3
    python pages.py DIR [COMMAND ...], such as: go run ./bench/parse read

DIR gets pages of several generators, and reference/NAME.txt with the main content of each:
what is left of a page without the menus, headers and footers that its generator is known to
make. With a COMMAND, which turns the page named by its last argument into text on standard
output, it prints how much of the main content that finds (recall of words), and which share
of its words are of menus and the like.
"""

import collections
import glob
import os
import re
import statistics
import subprocess
import sys

from bs4 import BeautifulSoup

PAGES = 40  # of each package, evenly from all
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
    soup = BeautifulSoup(page, "lxml")
    for tag in soup.select("script, style, noscript, template, form, " + noise):
        tag.decompose()
    found = soup.select(content)
    outer = [tag for tag in found if not any(other is not tag and other in tag.parents for other in found)]
    return "\n".join(tag.get_text("\n" if tag.name == "pre" else " ") for tag in outer)


def pages(folder, package, pattern):
    """Yields names and contents, without pages that are nothing but an index."""
    root = os.path.join(folder, package, "usr/share/doc")
    found = sorted(p for p in glob.glob(f"{root}/**/{pattern}", recursive=True) if os.path.isfile(p) and not os.path.islink(p))
    found = [p for p in found if not re.search(r"genindex|search|/index|_modules|py-modindex|toc\.html|-tree|-use|hitlist|keyword_index", p)]
    for n in range(min(PAGES, len(found))):
        path = found[n * len(found) // min(PAGES, len(found))]
        with open(path, "rb") as f:
            yield f"{package}-{n:02}.html", f.read()


def compare(folder, command):
    total = collections.defaultdict(list)
    for path in sorted(glob.glob(os.path.join(folder, "*.html"))):
        name = os.path.basename(path)
        with open(os.path.join(folder, "reference", name + ".txt")) as f:
            want = collections.Counter(words(f.read()))
        read = subprocess.run(command + [path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode(errors="replace")
        got = collections.Counter(words(read))
        common = sum((want & got).values())
        total[name[:-8]].append((common / sum(want.values()), 1 - common / max(sum(got.values()), 1), name))
    rows = list(total.items()) + [("all", [r for rows in total.values() for r in rows])]
    for package, rows in rows:
        worst = min(rows)
        print(f"{package:20} {len(rows):4} pages  recall {statistics.mean(r[0] for r in rows):.3f}  under 0.9: {sum(r[0] < 0.9 for r in rows):3}"
              f"  other words {statistics.mean(r[1] for r in rows):.3f}  worst {worst[0]:.2f} {worst[2]}")


def main():
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, "reference"), exist_ok=True)
    if not glob.glob(os.path.join(folder, "*.html")):
        source = unpacked(folder)
        for package, pattern, content, noise in SOURCES:
            for name, page in pages(source, package, pattern):
                text = reference(page, content, noise)
                if len(words(text)) < SMALLEST:
                    continue
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(page)
                with open(os.path.join(folder, "reference", name + ".txt"), "w") as f:
                    f.write(text)
    if sys.argv[2:]:
        compare(folder, sys.argv[2:])


if __name__ == "__main__":
    main()
