# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C++ is written as the .clang-format files say; `git ls-files '*.h' '*.cc' '*.cpp' | xargs clang-format -i` does it."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG_FORMAT = pathlib.Path(sys.executable).parent / "clang-format"
FILES = sorted(str(path.relative_to(ROOT)) for top in ROOT.iterdir() if top.is_dir() and top.name not in ("build", "out", ".venv", ".git")
               for path in top.rglob("*") if path.suffix in (".h", ".cc", ".cpp"))


def test_sources_are_formatted():
    assert len(FILES) > 700
    done = subprocess.run([CLANG_FORMAT, "--dry-run", "-Werror", *FILES], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


def test_what_is_not_formatted_is_found(tmp_path):
    (tmp_path / ".clang-format").write_text((ROOT / ".clang-format-google").read_text())
    (tmp_path / "a.cc").write_text("int  f( ) {return 1;}\n")
    assert subprocess.run([CLANG_FORMAT, "--dry-run", "-Werror", tmp_path / "a.cc"], capture_output=True).returncode != 0
