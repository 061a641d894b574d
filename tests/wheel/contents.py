# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/wheel.sh wants of a wheel before it installs it.

    python contents.py WHEEL

Prints its size in bytes and what is largest in it. The first thing that is wrong is an AssertionError.
"""

from __future__ import annotations

import json
import os
import re
import sys
import zipfile

MOST_BYTES = 100_000_000


def main() -> None:
    path = sys.argv[1]
    size = os.path.getsize(path)
    with zipfile.ZipFile(path) as wheel:
        entries = {entry.filename: entry for entry in wheel.infolist()}
        boms = [name for name in entries if re.search(r"\.dist-info/sboms/auditwheel", name)]
        copied = {component["name"] for name in boms for component in json.loads(wheel.read(name))["components"]}
    assert size < MOST_BYTES, f"must be below {MOST_BYTES} bytes, got: {size}"
    assert re.search(r"-py3-none-manylinux_2_36_x86_64\.whl$", path), path
    for name in ("_bin/cs-opt", "_bin/cs-translate", "_bin/cs-run", "lib/libcommsched_c.so", "py.typed", "__init__.py",
                 "include/commsched/runtime/c_api/c_api.h", "include/commsched/passes/Passes.h",
                 "lib/cmake/CommSched/CommSchedConfig.cmake"):
        assert f"commsched/{name}" in entries, f"commsched/{name} is not there"
    unwanted = [name for name in entries if re.search(r"lib(mpi|open-(rte|pal)|LLVM|MLIR)[-.][^/]*$", name)]
    assert not unwanted, f"must have neither MPI nor all of LLVM in it, got: {unwanted}"
    licences = {re.sub(r"\.txt$", "", name.rsplit("/", 1)[1]) for name in entries if name.startswith("commsched/licences/")}
    without = copied - {"commsched"} - licences
    assert boms and not without, f"packages copied must have their licences in cmake/CommSchedInstall.cmake, not so: {without}"
    print(f"{size} bytes, of which")
    for entry in sorted(entries.values(), key=lambda entry: -entry.compress_size)[:5]:
        print(f"  {entry.compress_size:9} ({entry.file_size:9} unpacked) {entry.filename}")


if __name__ == "__main__":
    main()
