# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of an installed package: cs-opt, cs-translate, cs-run, cs-lsp-server. Not part of commsched, whose
import takes ten times as long as some of these do."""

from __future__ import annotations

import importlib.util
import os
import sys


def main() -> None:
    """Becomes the tool of the package that has this command's name."""
    name = os.path.basename(sys.argv[0])
    package = importlib.util.find_spec("commsched")  # found, not imported
    tool = os.path.join(package.submodule_search_locations[0], "_bin", name) if package else name
    try:
        os.execv(tool, [name, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: {tool} cannot be run: {error.strerror}")
