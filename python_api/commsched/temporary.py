# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders for files between the steps of a job."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import weakref


def remove_folder(path: str) -> None:
    """With all that is in it, as far as that can be removed: an error of some calls shutil.rmtree raises although it is told to ignore them."""
    with contextlib.suppress(OSError):
        shutil.rmtree(path, ignore_errors=True)


class TemporaryFolder:
    """A folder below that for temporary files, which goes with the object, its block, or the process. As tempfile.TemporaryDirectory, but what cannot
    be removed stays there, without a word: that one tries to give itself the right to, and its error then hides the one that matters.

    Raises OSError if there is no place for it."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="commsched-")
        self._remove = weakref.finalize(self, remove_folder, self.name)

    def cleanup(self) -> None:
        self._remove()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self.cleanup()
