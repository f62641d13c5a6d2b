"""Hooks of mkdocs: the navigation, links out of docs/, the diagrams, and the answer box."""

import os
import re
from html import escape

from mkdocs.structure.files import File

SOURCE = "https://github.com/ragdhq/ragd/blob/main/"
MERMAID = "assets/mermaid.min.js"
STYLE = "assets/style.css"
BOX = ("ANSWER_BOX_SERVICE", "ANSWER_BOX_KEY", "ANSWER_BOX_INDEX")


def on_config(config):
    """Takes the navigation from the tables of docs/README.md, which a test keeps complete."""
    with open(os.path.join(config.docs_dir, "README.md"), encoding="utf-8") as index:
        nav, section = ["README.md"], None
        for line in index:
            if line.startswith("## "):
                section = []
                nav.append({line[3:].split(":")[0].strip(): section})
            elif line.startswith("|") and section is not None:
                links = re.findall(r"\[([^\]]+)\]\(([^)]+\.md)\)", line)
                if line.startswith("| ["):
                    section.append({links[0][0]: links[0][1]})
                elif links:  # a group of pages in one row
                    title = line.split("|")[1].strip()
                    section.append({title[0].upper() + title[1:]: [{name[0].upper() + name[1:]: page} for name, page in links]})
    config.nav = nav
    return config


def on_files(files, config):
    """Adds the style, and the program that draws diagrams, which hack/site.sh has fetched."""
    files.append(File.generated(config, STYLE, abs_src_path=os.path.join(os.path.dirname(__file__), "style.css")))
    files.append(File.generated(config, MERMAID, abs_src_path=os.environ["MERMAID"]))
    return files


def on_page_markdown(markdown, page, config, files):
    """Points links to files outside of docs/ to the repository."""
    up = "../" * (page.file.src_uri.count("/") + 1)
    return re.sub(r"\]\(" + re.escape(up) + r"(?!\.\./)([^)]+)\)", "](" + SOURCE + r"\1)", markdown)


def on_page_content(html, page, config, files):
    """Loads the program that draws diagrams where there are some."""
    if 'class="mermaid"' not in html:
        return html
    return html + f'<script src="{"../" * page.url.count("/")}{MERMAID}"></script>'


def on_post_page(output, page, config):
    """Adds the answer box (docs/how-to/answer-box.md), if the build names a service, a key for pages and an index."""
    service, key, index = (os.environ.get(name, "") for name in BOX)
    if not (service and key and index):
        return output
    box = f'<script src="{escape(service.rstrip("/"))}/answer-box.js" data-key="{escape(key)}" data-index="{escape(index)}" defer></script>'
    return output.replace("</body>", box + "</body>")
