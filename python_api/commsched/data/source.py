# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources of samples: anything with __len__ and __getitem__; and files with a function that decodes them."""

from __future__ import annotations

import hashlib
import os
import time
from typing import Any, Callable, Protocol, Sequence, Union

from ..arguments import check_path, check_switch, shown
from ..errors import FrontEndError, SampleError


class Source(Protocol):
    """What samples come from. __getitem__ is called by several threads at once.

    Two things it may have: `identity`, a string that is another one for other data, and `describe(index)`, the
    name of a sample in messages.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Any: ...


class Files:
    """One sample for each file: decode(path).

    Its identity is made of the paths, sizes and times of change of the files; check=False leaves the latter two
    out, where asking for them takes long.
    """

    def __init__(self, paths: Sequence[Union[str, os.PathLike]], decode: Callable[[str], Any], check: bool = True):
        if isinstance(paths, (str, bytes, os.PathLike)) or not hasattr(paths, "__iter__"):
            raise FrontEndError(f"paths must be several paths, got: {shown(paths)}")
        if not callable(decode):
            raise FrontEndError(f"decode must be a function of a path, got: {shown(decode)}")
        self._paths = [check_path("each of paths", p) for p in paths]
        self._decode, self._check = decode, check_switch("check", check)

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> Any:
        return self._decode(self._paths[index])

    def describe(self, index: int) -> str:
        """The path of a sample, for messages."""
        return self._paths[index]

    @property
    def identity(self) -> str:
        """A digest of the paths, by which a cache on disk knows its source."""
        digest = hashlib.blake2b(digest_size=16)
        for path in self._paths:
            digest.update(os.fsencode(path) + b"\0")
            if self._check:
                status = os.stat(path)
                digest.update(b"%d %d\0" % (status.st_size, status.st_mtime_ns))
        return digest.hexdigest()


def sample_name(source: Any, index: int, name: str) -> str:
    """For messages: "sample 3 (a/b.png) of 'train'"."""
    describe = getattr(source, "describe", None)
    try:
        own = f" ({describe(index)})" if describe is not None else ""
    except Exception:  # the message about the sample is worth more than one about its name
        own = ""
    return f"sample {index}{own}" + (f" of '{name}'" if name else "")


def read(source: Any, index: int, name: str, retries: int) -> Any:
    """A sample of the source. An OSError is tried again, later each time. Raises SampleError."""
    for attempt in range(retries + 1):
        try:
            return source[index]
        except OSError as error:
            if attempt < retries and not isinstance(error, (FileNotFoundError, IsADirectoryError, PermissionError)):
                time.sleep(0.05 * 4 ** attempt)
                continue
            failed: Exception = error
        except Exception as error:
            failed = error
        break
    raise SampleError(sample_name(source, index, name), index, failed) from failed
