# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a schedule is made from: measured times of fragments and rates of links, or guesses (docs/costs.md)."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import re
from typing import Any, Callable, Mapping, Sequence, Union

import numpy as np

from . import tools
from .arguments import check_switch, shown
from .check import save, write
from .errors import FrontEndError, ToolError
from .temporary import TemporaryFolder

_STEPS = 20  # that a profile is made of; the first ones do not count


class GuessedCosts(UserWarning):
    """A schedule is made from numbers that nobody has measured or given."""


@dataclasses.dataclass(frozen=True)
class Costs:
    """profile, calibration: files of cs-run. calibrate: measure both here before the first run. given: the user has
    described the cluster himself. folder: in which the files lie if they are measured here, whose names are then without one."""

    profile: "tuple[str, ...]" = ()
    calibration: "tuple[str, ...]" = ()
    calibrate: bool = False
    given: bool = False
    folder: "str | None" = None

    @staticmethod
    def of(profile: Any, calibration: Any, calibrate: Any, given: bool) -> "Costs":
        calibrate = check_switch("calibrate", calibrate)
        costs = Costs(_paths("profile", profile), _paths("calibration", calibration), calibrate, given)
        if calibrate and (costs.profile or costs.calibration):
            raise FrontEndError("calibrate=True measures profile and calibration: it goes without files of them")
        return costs

    @property
    def guessed(self) -> bool:
        return not (self.profile or self.calibration or self.given)

    def calibrations(self) -> "list[str]":
        """Paths of their files."""
        return [os.path.join(self.folder or "", path) for path in self.calibration]

    def options(self) -> list[str]:
        """Of the pipelines."""
        return [f"{name}={','.join(files)}" for name, files in (("profile", self.profile), ("calibration", self.calibration))
                if files]


def _paths(name: str, value: Union[None, str, os.PathLike, Sequence]) -> "tuple[str, ...]":
    values = () if value is None else value if isinstance(value, (tuple, list)) else (value,)
    paths = []
    for path in values:
        if not isinstance(path, (str, os.PathLike)):
            raise FrontEndError(f"{name} must be a file or several, got: {shown(value)}")
        path = os.path.abspath(os.fspath(path))
        if not os.path.isfile(path):
            raise FrontEndError(f"{name} must be a file, got: {path}, which is none")
        if re.search(r"[\s,{}=]", path):
            raise FrontEndError(f"{name} must have a name without spaces, commas, '=' and braces, got: {path}")
        paths.append(path)
    return tuple(paths)


def trained(session: Any, batch: Mapping[str, np.ndarray]) -> None:
    """Calls the steps of which a profile is made, in a session that has its values."""
    number = ctypes.c_uint64()
    for _ in range(_STEPS):
        session.call(None, batch, number)


def merged(profiles: "Sequence[bytes]") -> str:
    """One profile of those of the processes of a job."""
    first, *others = [json.loads(text) for text in profiles]
    return json.dumps({**first, "processes": [process for one in (first, *others) for process in one["processes"]]})


def kept(profile: str, calibration: str) -> "tuple[Costs, Any]":
    """Costs of what these files hold, and the folder in which they are."""
    folder = TemporaryFolder()
    for name, text in (("profile.json", profile), ("calibration.json", calibration)):
        write(os.path.join(folder.name, name), [text.encode()])
    return _in(folder.name), folder


def _in(folder: str) -> Costs:
    """Of what lies there. A path may have characters that options of the tools have not."""
    return Costs(("profile.json",), ("calibration.json",), folder=folder)


def calibrated(folder: str) -> Costs:
    """Of the links that are measured first, in this folder: on them depends what nodes of several devices compute, and so which
    fragments there are to measure."""
    return Costs((), ("calibration.json",), folder=folder)


def measured(compiled: "Callable[[Costs], bytes]", values: Mapping[str, np.ndarray], batch: Mapping[str, np.ndarray], folder: str) -> Costs:
    """What a program takes here, with its ranks as threads, in files in the folder: the links, and the fragments of some steps
    that begin with these values. compiled: its plan by some costs."""
    def path(name):
        return os.path.join(folder, name)
    save(path("init"), values)
    training = ["--init", path("init"), "--steps", str(_STEPS)]
    if batch:
        save(path("batch"), batch)
        training += ["--batch", path("batch")]
    for costs, options in ((Costs(), ["--calibrate", path("calibration.json")]),
                           (calibrated(folder), [*training, "--profile", path("profile.json")])):
        write(path("plan"), [compiled(costs)])
        command = [tools.find("cs-run"), path("plan"), *options]
        done = tools.call(command, text=True, errors="replace")
        if done.returncode != 0:
            raise ToolError(tools.failure(command, done))
    return _in(folder)
