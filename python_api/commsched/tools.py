# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler tools, called as programs."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import shutil
import signal
import subprocess
import warnings
from typing import Any, Optional, Sequence

from .errors import RefusedProgram, ToolError, of_file
from .strategy import AllReduce, Strategy
from .temporary import TemporaryFolder


def installed(module: str) -> "pathlib.Path | None":
    """The folder of libraries (DIR/lib) of `cmake --install --prefix DIR`, if this file of the package lies in what that has put there."""
    package = pathlib.Path(module).resolve().parent
    return package.parents[2] if package.parts[-3:] == ("commsched", "python", "commsched") else None


def find(name: str) -> str:
    """A tool: in COMMSCHED_BIN, in this package or beside it if it is installed, on the PATH, or in the build folder beside the
    sources."""
    folder = os.environ.get("COMMSCHED_BIN")
    if folder:
        candidate = pathlib.Path(folder).absolute() / name
        if candidate.exists():
            return str(candidate)
        raise ToolError(f"COMMSCHED_BIN is {folder}, which has no {name}")
    libraries = installed(__file__)
    # Libraries may lie one folder deeper than tools, as in lib/x86_64-linux-gnu.
    beside = [libraries.parent / "bin", libraries.parents[1] / "bin"] if libraries else []
    for place in [pathlib.Path(__file__).resolve().parent / "_bin", *beside]:
        if (place / name).exists():
            return str(place / name)
    found = shutil.which(name)
    if found:
        return os.path.abspath(found)
    built = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "bin" / name
    if built.exists():
        return str(built)
    raise ToolError(f"{name} was not found: build CommSched, and set COMMSCHED_BIN to its bin folder")


def call(command: list[str], **options: Any) -> "subprocess.CompletedProcess[Any]":
    """Runs a tool, with options of subprocess.run, and keeps what it prints. It ends with this process, however that
    ends."""
    return subprocess.run(command, capture_output=True, env={**os.environ, "COMMSCHED_STARTED_BY": str(os.getpid())}, **options)


def failure(command: Sequence[str], done: "subprocess.CompletedProcess[Any]", where: str = "") -> str:
    """How a tool has ended that did not succeed, and what it says. where: " in FOLDER"."""
    name, said = os.path.basename(command[0]), done.stderr
    message = (said if isinstance(said, str) else said.decode(errors="replace")).strip().removeprefix(f"{name}: ")
    how = f"{name} failed ({done.returncode}){where}"
    if done.returncode < 0:  # it could say nothing: for want of memory, as a rule
        number = -done.returncode
        how = f"{name} was killed by signal {number} ({signal.strsignal(number)}){where}"
        if number == signal.SIGKILL:
            how += ", as the system does when the memory of a host, or of a container, is used up"
    return f"{how}: {message}" if message else how


def _run(command: list[str], data: bytes, folder: Optional[str] = None) -> bytes:
    done = call(command, input=data, cwd=folder)
    if done.returncode != 0:
        raise ToolError(failure(command, done))
    _pass_on(done.stderr.decode(errors="replace"))
    return done.stdout


# Without where it is in the module, whose name no user knows.
_WARNING = re.compile(r"^(?:<\w+>(?::\d+)+: )?(.*:\d+:\d+: )?warning: (.*)$", re.M)


def _pass_on(said: str) -> None:
    """What a tool that has succeeded warns of, in Python's way: each line once. Of a job's ranks, which all call it, rank 0 does."""
    from .job import current
    for place, text in _WARNING.findall(said):
        job = current()
        if job is None or job.rank == 0:
            warnings.warn(f"{place}{text}", stacklevel=2)


def libdevice() -> str | None:
    """NVIDIA's libdevice.10.bc, for functions without a polynomial on CUDA devices: the file that COMMSCHED_LIBDEVICE names, or that
    of a toolkit (CUDA_HOME, CUDA_PATH, /usr/local/cuda) or of NVIDIA's wheels; None: it is not here."""
    named = os.environ.get("COMMSCHED_LIBDEVICE")
    if named:
        return named
    toolkits = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    wheels = importlib.util.find_spec("nvidia")
    folders = [pathlib.Path(folder) for folder in toolkits if folder]
    for place in (wheels.submodule_search_locations or []) if wheels else []:
        folders += sorted(pathlib.Path(place).iterdir(), reverse=True)
    found = (folder / "nvvm" / "libdevice" / "libdevice.10.bc" for folder in folders)
    return next((str(path) for path in found if path.exists()), None)


def lower(text: str, level: int, strategy: Strategy = AllReduce(), costs: Sequence[str] = (), folder: Optional[str] = None) -> str:
    """Level-0 text to the text of a later level. folder: in which files of costs lie that have names only."""
    return _run([find("cs-opt"), *strategy.pipeline(level, costs), "-"], text.encode(), folder).decode()


_CUDA = re.compile(r"^ *cs\.cluster .*device = <kind = cuda", re.M)


def plan(text: str, strategy: Strategy = AllReduce(), costs: Sequence[str] = (), folder: Optional[str] = None) -> bytes:
    """Level-0 text to the bytes of a plan file; folder as of lower()."""
    scheduled = lower(text, 2, strategy, costs, folder)
    with TemporaryFolder() as own:
        path, library = os.path.join(own, "plan"), libdevice() if _CUDA.search(scheduled) else None
        named = [f"--libdevice={library}"] if library else []
        _run([find("cs-translate"), "--mlir-to-plan", *named, "-", "-o", path], scheduled.encode())
        try:
            return pathlib.Path(path).read_bytes()
        except OSError as error:
            raise of_file(error, path) from None


def check(text: str, strategy: Strategy = AllReduce()) -> None:
    """Raises RefusedProgram if the workers of this level-0 program could not be kept together: the first of the
    compiler's passes says so. Does nothing where the tools are not there: the first use of a level says that."""
    try:
        command = [find("cs-opt"), *strategy.insertion(), "-o", os.devnull, "-"]
    except ToolError:
        return
    try:
        _run(command, text.encode())
    except ToolError as error:
        # "cs-opt failed (1): step.py:3:5: error: ..."; the module itself has no name that the user knows.
        found = re.search(r"^(?:cs-opt failed \(1\): )?(?:<stdin>:\d+:\d+|(.+?:\d+:\d+)): error: (.*)$", str(error),
                          flags=re.M)
        if found is None:
            raise
        raise RefusedProgram(found[2], found[1] or None) from error
