# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of the documentation: between fences, or indented by four. A comment on the line before a block says what is special about it."""
import dataclasses
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted({str(path.relative_to(ROOT)) for pattern in ("*.md", "docs/*.md", "bench/*.md", "examples/*/*.md") for path in ROOT.glob(pattern)})
_BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^(?P<fence> *```)(?P<language>\w*)\n(?P<fenced>.*?)^ *```$"
                    r"|(?:^<!-- (?P<note>[^\n]*?) -->\n|(?<=\n\n))(?P<indented>(?: {4}[^\n]*\n|\n(?= {4}))+)", re.M | re.S)


@dataclasses.dataclass
class Block:
    page: str
    line: int
    mark: str  # "" without a comment
    language: str
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"


def blocks(page, text):
    """All of them, in order."""
    found = []
    for match in _BLOCK.finditer(text):
        body = "fenced" if match["fence"] else "indented"
        found.append(Block(page, text.count("\n", 0, match.start(body)) + 1, match["mark"] or match["note"] or "", match["language"] or "",
                           textwrap.dedent(match[body])))
    return found


def of_page(page):
    return blocks(page, (ROOT / page).read_text())
