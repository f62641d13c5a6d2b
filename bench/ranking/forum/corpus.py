"""Writes corpus.jsonl, queries.jsonl and qrels.tsv of the labelled set "forum".

    python3 corpus.py DOC FOLDER

DOC is /usr/share/doc with the packages unpacked. Pages that list symbols or changes alone are left out, as are
those that no reader asks for: sources of pages, indexes of names, notes about releases.
"""

import html
import json
import pathlib
import re
import sys

# The folder of each package below DOC, and which of its pages are there.
PACKAGES = {
    "git": ("git-doc", r".*"),
    "sqlite": ("sqlite3", r"[^/]+"),
    "python": ("python3.11/html", r"(library|howto|faq|tutorial|using|installing)/.*"),
    "cmake": ("cmake-data/html", r"(command|manual|module|cpack_gen)/.*"),
}
LISTS = re.compile(r"(^|/)(genindex.*|search|howto-index|changes|chronology|news|oldnews|keyword_index|doclist|sitemap|doc_.*)$")


def pages(root: pathlib.Path):
    """Yields the id, title and HTML of every page."""
    for package, (folder, wanted) in PACKAGES.items():
        for path in sorted((root / folder).rglob("*.html")):
            name = path.relative_to(root / folder).as_posix()
            if path.is_symlink() or not re.fullmatch(wanted, name) or LISTS.search(name.removesuffix(".html")):
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            title = re.search(r"<title>(.*?)</title>", text, re.S | re.I)
            yield f"{package}/{name}", html.unescape(title.group(1)).strip() if title else "", text


def main(root: pathlib.Path, folder: pathlib.Path) -> None:
    known = set()
    with open(folder / "corpus.jsonl", "w", encoding="utf-8") as corpus:
        for page, title, text in pages(root):
            known.add(page)
            corpus.write(json.dumps({"id": page, "title": title, "contentType": "text/html", "text": text}) + "\n")
    questions = pathlib.Path(__file__).with_name("questions.tsv").read_text(encoding="utf-8").splitlines()
    with open(folder / "queries.jsonl", "w", encoding="utf-8") as queries, open(folder / "qrels.tsv", "w", encoding="utf-8") as qrels:
        qrels.write("query_id\tdoc_id\trelevance\n")
        for number, line in enumerate(questions, start=1):
            package, question, answers = line.split("\t")
            queries.write(json.dumps({"id": f"f{number:03}", "text": question}) + "\n")
            for answer in answers.split():
                page = f"{package}/{answer}"
                if page not in known:
                    raise SystemExit(f"line {number}: there is no page {page}")
                qrels.write(f"f{number:03}\t{page}\t1\n")
    print(f"{len(known)} pages, {len(questions)} questions")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
