# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the documentation names is there: pages and headings that links lead to, files, options of the tools and of benchmarks, names of Python."""
import functools
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests"), str(ROOT / "python_api")]
from blocks import PAGES  # noqa: E402
from built import tool  # noqa: E402

import commsched  # noqa: E402
import commsched.data  # noqa: E402

TEXTS = {page: (ROOT / page).read_text() for page in [*PAGES, *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/reference/*.md")))]}
FENCED = re.compile(r"^ *```.*?^ *```$|(?<=\n\n)(?: {4,}[^\n]*\n)+", re.M | re.S)  # or indented
SPAN = re.compile(r"`([^`\n]+)`")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9_-]*[a-z0-9](?![\w-])")
TOPS = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")} - {"build", "out"}
# Of programs that are not of this repository.
OTHERS = {"--mca", "--kill-on-bad-exit", "--mpi", "--preset", "--filter", "--prefix", "--install", "--cse", "--canonicalize", "--load-dialect-plugin",
          "--load-pass-plugin", "--pass-pipeline", "--verify-roundtrip", "--verify-diagnostics", "--nproc-per-node", "--nproc_per_node", "--server_num", "--allow-run-as-root", "--oversubscribe", "--max-restarts", "--server",
          "--nodes", "--ntasks", "--from-file", "--gpu-name", "--fmad", "--coverage", "--txt-summary", "--param", "--option"}


def headings(text):
    """Anchors, as GitHub makes them."""
    found = set()
    for title in re.findall(r"^#+ +(.*)$", FENCED.sub("", text), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        found.add(anchor)
    return found


def broken_links(texts):
    broken = []
    for page, text in texts.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", SPAN.sub("", FENCED.sub("", text))):
            if re.match(r"https?:", target):
                continue
            path, _, anchor = target.partition("#")
            where = (ROOT / page).parent / path
            there = text if not path else where.read_text() if where.is_file() and where.suffix == ".md" else ""
            if not where.exists() or anchor and anchor not in headings(there):
                broken.append((page, target))
    return broken


def missing_files(texts):
    missing = []
    for page, text in texts.items():
        for span in SPAN.findall(FENCED.sub("", text)):
            for path in re.findall(r"(?:^|(?<=\s))[\w.*/-]+/[\w.*/-]*(?=$|[\s,;:])", span):
                first = path.split("/")[0]
                root = ROOT if first in TOPS else ROOT / "python_api" if first == "commsched" else None
                made = path == "commsched/licences" or re.search(r"\bNAME\b", path)  # in a wheel; by the reader
                if root and not made and not list(root.glob(path.rstrip("/"))):
                    missing.append((page, path))
    return missing


@functools.cache
def helps():
    return "".join(subprocess.run([tool(name), how], capture_output=True, text=True, check=True, timeout=60).stdout
                   for name, how in (("cs-run", "--help"), ("cs-opt", "--help-hidden"), ("cs-translate", "--help-hidden")))


def known_options():
    sources = [path.read_text() for pattern in ("scripts/*.sh", "bench/*.py", "bench/net/*.py", "bench/device/*", "python_api/commsched/*.py", "examples/**/*.py", "tests/python/*.py", "tests/differential/*.cpp")
               for path in ROOT.glob(pattern) if path.is_file()]
    return {option for text in [helps(), *sources] for option in OPTION.findall(text)} | OTHERS


def unknown_options(texts, known):
    """Those in code that nothing has."""
    return [(page, option) for page, text in texts.items()
            for code in [*SPAN.findall(FENCED.sub("", text)), *FENCED.findall(text)]
            for option in OPTION.findall(code) if option not in known]


def unknown_names(texts):
    unknown = []
    for page, text in texts.items():
        for name in set(re.findall(r"\bcommsched\.((?:[a-zA-Z]\w*\.)*[a-zA-Z]\w*)", text)):
            parts, value = name.split("."), commsched
            if name == "parameter.ParameterService" or parts[0] in ("torch", "paddle", "replan", "data") or (ROOT / "python_api/commsched" / f"{parts[0]}.py").exists() and len(parts) == 1:
                continue
            try:
                for part in parts:
                    value = getattr(value, part)
            except AttributeError:
                unknown.append((page, name))
    return unknown


def test_links():
    assert broken_links(TEXTS) == []


def test_files():
    assert missing_files(TEXTS) == []


def test_options():
    assert unknown_options(TEXTS, known_options()) == []


@pytest.mark.parametrize("row", re.findall(r"^\| `bench/run (\w+).*$", TEXTS["bench/README.md"], re.M))
def test_options_of_a_benchmark(row):
    line = next(line for line in TEXTS["bench/README.md"].splitlines() if line.startswith(f"| `bench/run {row}"))
    sources = "\n".join(path.read_text() for path in [ROOT / f"bench/{row}.py", *ROOT.glob("bench/_*.py"), *ROOT.glob("bench/net/*.py"),
                                                     *ROOT.glob("bench/device/*.*"), *ROOT.glob("tests/differential/*.cpp")])
    own = set(OPTION.findall(" ".join(SPAN.findall(line))))
    known = set(OPTION.findall(sources)) | set(OPTION.findall(helps())) | OTHERS
    assert own <= known, own - known


def test_names_of_python():
    pytest.importorskip("jax", reason="needs JAX")
    assert unknown_names(TEXTS) == []


def test_what_is_wrong_is_found():
    wrong = {"docs/page.md": "# A title\n[a](nowhere.md) [b](levels.md#nothing) [c](#a-titel) [d](#a-title) `passes/nothing.h` `passes/Passes.h` "
                             "`cs-run --nothing` `cs-run --spawn` `commsched.Nothing` `commsched.Loader.nothing` `commsched.Loader.epoch`\n"}
    assert broken_links(wrong) == [("docs/page.md", target) for target in ("nowhere.md", "levels.md#nothing", "#a-titel")]
    assert missing_files(wrong) == [("docs/page.md", "passes/nothing.h")]
    assert unknown_options(wrong, known_options()) == [("docs/page.md", "--nothing")]
    assert sorted(unknown_names(wrong)) == [("docs/page.md", "Loader.nothing"), ("docs/page.md", "Nothing")]
