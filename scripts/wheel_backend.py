# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pip calls to build the package: scikit-build-core, and then auditwheel, which puts the libraries into the wheel
that a machine may lack (gRPC, oneDNN, ...), under names that no other package has, and checks that all else is there on
every Linux that the wheel's tag names. `pip install -e .` compiles nothing: the modules are those of the checkout, and the
tools and libraries those of its build/release."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Optional

from scikit_build_core.build import *  # noqa: F403: the hooks that stay as they are
from scikit_build_core import build as _scikit_build

# glibc of Debian 12, on which MLIR 22 of its own is built.
_PLATFORM = "manylinux_2_36_x86_64"
# Those that CMake finds without Python, not those that this Python was compiled with: what the preset release has
# compiled is in the compiler cache under their names.
for _variable, _compiler in (("CC", "cc"), ("CXX", "c++")):
    os.environ.setdefault(_variable, _compiler)


def build_wheel(wheel_directory: str, config_settings: Optional[dict[str, Any]] = None,
                metadata_directory: Optional[str] = None) -> str:
    """Builds the wheel of this checkout into `wheel_directory`; its file's name."""
    with tempfile.TemporaryDirectory() as folder:
        name = _scikit_build.build_wheel(folder, config_settings, metadata_directory)
        repaired = pathlib.Path(folder) / "repaired"
        subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--plat", _PLATFORM, "--only-plat", "--strip",
                        "--zip-compression-level", "9", "--wheel-dir", str(repaired), str(pathlib.Path(folder) / name)],
                       check=True)
        wheel, = repaired.iterdir()
        target = pathlib.Path(wheel_directory) / wheel.name
        target.write_bytes(wheel.read_bytes())
        return wheel.name


def _without_cmake(config_settings: Optional[dict[str, Any]]) -> dict[str, Any]:
    return {**(config_settings or {}), "wheel.cmake": "false"}


def get_requires_for_build_editable(config_settings: Optional[dict[str, Any]] = None) -> list[str]:
    return _scikit_build.get_requires_for_build_editable(_without_cmake(config_settings))


def prepare_metadata_for_build_editable(metadata_directory: str, config_settings: Optional[dict[str, Any]] = None) -> str:
    return _scikit_build.prepare_metadata_for_build_editable(metadata_directory, _without_cmake(config_settings))


def build_editable(wheel_directory: str, config_settings: Optional[dict[str, Any]] = None,
                   metadata_directory: Optional[str] = None) -> str:
    return _scikit_build.build_editable(wheel_directory, _without_cmake(config_settings), metadata_directory)
