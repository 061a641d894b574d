# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of an installed package: cs-opt, cs-translate, cs-run, cs-lsp-server. Not part of commsched, whose
import takes ten times as long as some of these do."""

from __future__ import annotations

import importlib.util
import os
import sys


def main() -> None:
    """Becomes the tool of the package that has this command's name; of a checkout (pip install -e .), that of its build."""
    name = os.path.basename(os.path.realpath(sys.argv[0]))  # a link to it may have any name
    package = importlib.util.find_spec("commsched")  # found, not imported
    folder = os.path.dirname(os.path.abspath(package.origin)) if package and package.origin else ""
    tool = os.path.join(folder, "_bin", name)
    checkout = os.path.dirname(os.path.dirname(folder))
    if not os.path.exists(tool) and os.path.exists(os.path.join(checkout, "scripts", "wheel_backend.py")):
        tool = os.path.join(checkout, "build", "release", "bin", name)
    try:
        os.execv(tool, [name, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: {tool} cannot be run: {error.strerror}")
