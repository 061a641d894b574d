# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every include is one of the arrows of the table in docs/architecture.md, which have no circle."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#?\s*(?:include|import)\s+["<]([^">]+)[">]', re.M)
SOURCES = {".h", ".cc", ".cpp", ".cu", ".cuh", ".td", ".proto"}
# Who includes what is not of this repository.
OUTSIDE = {"mlir/": {"ir", "passes", "reference", "tools"}, "llvm/": {"ir", "passes", "reference", "tools"},
           "grpcpp/": {"grpc"}, "mpi.h": {"mpi"}}


def table(text):
    """What each folder may use."""
    rows = re.findall(r"^\| `([a-z_/]+)` \|.*\|([^|]*)\|$", text, re.M)
    return {folder: None if "everything" in uses else set(re.findall(r"`([a-z_/]+)`", uses)) for folder, uses in rows}


def row_of(path, arrows):
    """The folder of the table that a file belongs to, or None."""
    return next((str(p) for p in pathlib.PurePosixPath(path).parents if str(p) in arrows), None)


def violations(files, arrows):
    """What is included that may not be, by file: [(file, included)]."""
    found = []
    for path, text in files.items():
        own = row_of(path, arrows)
        for included in INCLUDE.findall(text):
            outside = next((who for prefix, who in OUTSIDE.items() if included.startswith(prefix)), None)
            if outside is not None and path.split("/")[0] not in outside:
                found.append((path, included))
            other = row_of(included, arrows)
            if other not in (None, own) and arrows[own] is not None and other not in arrows[own]:
                found.append((path, included))
    return found


def circle(arrows):
    """Folders that use each other, if there are any."""
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return path[path.index(folder):]
        if folder in done:
            return None
        path.append(folder)
        for other in sorted(arrows.get(folder) or ()):
            if found := visit(other):
                return found
        path.pop()
        done.add(folder)
        return None
    return next((found for folder in sorted(arrows) if (found := visit(folder))), None)


def sources():
    tops = sorted({folder.split("/")[0] for folder in ARROWS})
    return {str(path.relative_to(ROOT)): path.read_text() for top in tops
            for path in sorted((ROOT / top).rglob("*")) if path.suffix in SOURCES}


ARROWS = table((ROOT / "docs/architecture.md").read_text())
FILES = sources()


def test_every_folder_has_a_row():
    assert len(FILES) > 500 and [path for path in FILES if row_of(path, ARROWS) is None] == []


def test_includes_name_their_folders():
    assert [(path, i) for path, text in FILES.items() for i in re.findall(r'^\s*#include "([^"/]+)"', text, re.M)] == []


def test_every_include_is_an_arrow():
    assert violations(FILES, ARROWS) == []


def test_every_arrow_is_used():
    used = {}
    for path, text in FILES.items():
        used.setdefault(row_of(path, ARROWS), set()).update(row_of(i, ARROWS) for i in INCLUDE.findall(text))
    assert {f: uses - used[f] for f, uses in ARROWS.items() if uses and uses - used[f]} == {}


def test_there_is_no_circle():
    assert circle(ARROWS) is None


def test_what_is_forbidden_is_found():
    def added(path, include):
        return violations(FILES | {path: FILES.get(path, "") + f"\n{include}\n"}, ARROWS)
    for path, include in [("runtime/core/calls.h", "runtime/execute/executor.h"), ("runtime/base/sync.h", "runtime/core/calls.h"),
                          ("passes/place/Devices.h", "passes/lower/WaitGraph.h"), ("ops/base/new.cc", "ops/registry.h"),
                          ("grpc/base/wire.h", "grpc/ranks/link.h"), ("runtime/session/session.h", "grpc/ranks/link.h"),
                          ("mpi/world.cc", "runtime/session/session.h"), ("ir/Cs.td", "passes/insert/Passes.td")]:
        kind = "" if path.endswith(".td") else "#"
        assert added(path, f'{kind}include "{include}"') == [(path, include)]
    assert added("runtime/core/calls.h", "#include <mlir/IR/Value.h>") == [("runtime/core/calls.h", "mlir/IR/Value.h")]
    assert added("tools/cs-run/cs_run.cc", '#include "grpc/ranks/link.h"') == []
    assert circle(ARROWS | {"runtime/base": {"runtime/session"}})
