#!/usr/bin/env python3
"""Writes the client that waits (ragd._sync) from the asynchronous one (ragd._async).

generate.py          writes the files
generate.py --check  fails if they are not up to date
"""

import re
import sys
from pathlib import Path

here = Path(__file__).parent / "src/ragd"

replacements = [
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bimport asyncio\b", "import time"),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\bhttpx\.AsyncClient\b", "httpx.Client"),
    (r"\bAsync(Iterator|Iterable)\b", r"\1"),
    (r"\bAsync([A-Z]\w*)\b", r"\1"),
    (r"\b__aiter__\b", "__iter__"),
    (r"\banext\b", "next"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\b__aenter__\b", "__enter__"),
    (r"\b__aexit__\b", "__exit__"),
    (r"\baiter_bytes\b", "iter_bytes"),
    (r"\baclose\b", "close"),
    (r"\baread\b", "read"),
    (r"The asynchronous client\.", "The client that waits."),
]


def waiting(text: str) -> str:
    for pattern, by in replacements:
        text = re.sub(pattern, by, text)
    return text


def main() -> None:
    stale = []
    for source in sorted((here / "_async").glob("*.py")):
        target = here / "_sync" / source.name
        text = waiting(source.read_text())
        first, rest = text.split("\n", 1)
        text = f"{first}\n\n# Generated from ../_async/{source.name} by generate.py. Do not edit.\n{rest}"
        if target.exists() and target.read_text() == text:
            continue
        if "--check" in sys.argv:
            stale.append(str(target))
            continue
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)
    if stale:
        sys.exit("not up to date, run sdk/python/generate.py: " + ", ".join(stale))


if __name__ == "__main__":
    main()
