# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New plans in the middle of a run, and the command that makes them.

    python -m commsched.replan step.mlir --profile {profile} --calibration {calibration} --plan {plan}

is a command for `cs-run --replan`: it compiles the step anew, with the times and links that were measured
during the run. docs/replanning.md describes the whole.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import shlex
import statistics
import sys
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from .arguments import check_choice, check_integer, check_number, check_path, shown
from .check import write
from .errors import FrontEndError, ToolError, of_file
from .strategy import POLICIES, ParameterServers, Strategy
from .temporary import TemporaryFolder
from .tools import call, failure, find


@dataclasses.dataclass(frozen=True)
class Replan:
    """When and how Program.run changes to a new plan.

    every: after so many steps, and again after as many with the new plan.
    when_off: when a step takes so many percent more or less than at first. One of the two, or both.
    window: how many steps what is measured is of, the last ones, at most `every`. None: 20, of which a smaller `every` leaves
        two fewer than itself, but at least 4.
    deadline: seconds that making a plan may take; then training goes on with the old one.
    folder: where measurements and plans are kept; None: nowhere.
    calibration: file of `cs-run --calibrate`. What a message costs beside its bytes, and how much compute slows
        down, cannot be measured in passing and is taken from there.
    schedule: policy of the new plans; None: that of the program.
    """

    every: Optional[int] = None
    when_off: Optional[float] = None
    window: Optional[int] = None
    deadline: float = 600.0
    folder: Optional[str] = None
    calibration: Optional[str] = None
    schedule: Optional[str] = None

    def __post_init__(self):
        if self.every is None and self.when_off is None:
            raise FrontEndError("Replan must have every or when_off")
        def own(name, value):  # of Python's own types, as the library takes them
            object.__setattr__(self, name, value)
        if self.every is not None:
            own("every", check_integer("every", self.every, 1))
        if self.window is not None:
            own("window", check_integer("window", self.window, 1))
            if self.every is not None and self.window > self.every:
                raise FrontEndError(f"window must be at most every, {self.every}, as no plan is made before it is over, got: {self.window}")
        if self.when_off is not None:
            own("when_off", check_number("when_off", self.when_off, "positive"))
        own("deadline", check_number("deadline", self.deadline, "positive"))
        if self.folder is not None:
            own("folder", os.path.abspath(check_path("folder", self.folder)))
        if self.calibration is not None and not os.path.isfile(check_path("calibration", self.calibration)):
            raise FrontEndError(f"calibration must be a file, got: {shown(self.calibration)}, which is none")
        if self.calibration is not None:
            own("calibration", os.path.abspath(self.calibration))
        if self.schedule is not None:
            check_choice("schedule", self.schedule, POLICIES)

    @staticmethod
    def of(value: "Replan | Tune | bool | None") -> "Union[None, Replan, Tune]":
        """What Program.run takes: True means a new plan when steps take 25 percent more or less."""
        if value is None or isinstance(value, (bool, np.bool_)) and not value:
            return None
        if isinstance(value, Tune):
            return value
        if not isinstance(value, (bool, np.bool_, Replan)):
            raise FrontEndError(f"replan must be a Replan, a Tune or a bool, got: {shown(value)}")
        return value if isinstance(value, Replan) else Replan(when_off=25.0)

    def command(self, module: str, pipeline: str, first: Sequence[str] = ()) -> str:
        """For /bin/sh: makes a plan of the module (a path), compiled with `pipeline` (an option of cs-opt). first: the files of
        calibrations that the plan of the run was made with."""
        package = str(pathlib.Path(__file__).resolve().parents[1])
        path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        words = ["env", f"PYTHONPATH={path}", sys.executable, "-m", "commsched.replan", module, f"--pipeline={pipeline}"]
        if self.calibration:
            words += ["--base", self.calibration]
        for path in first:
            words += ["--first-calibration", path]
        if self.schedule:
            words += ["--schedule", self.schedule]
        return " ".join(map(shlex.quote, words)) + " --profile {profile} --calibration {calibration} --plan {plan}"


@dataclasses.dataclass(frozen=True)
class Tune:
    """Program.run tries the plans of several schedules on real steps, and keeps the fastest.

    schedules: policies, besides that of the program.
    steps: of a turn, besides those that warm up. None: 5 to 40, as many as it takes to know what a step takes to a quarter of
    a percent, but no more than take 2 s. The plan that is kept so far and each other run in turns, up to four of the other: docs/replanning.md.
    """

    schedules: Sequence[str] = ("bytescheduler", "priority", "fixed-buckets", "fifo")
    steps: Optional[int] = None

    def __post_init__(self):
        if not isinstance(self.schedules, (tuple, list)) or not self.schedules:
            raise FrontEndError(f"schedules must be some of {', '.join(POLICIES)}, got: {shown(self.schedules)}")
        object.__setattr__(self, "schedules", tuple(self.schedules))
        for schedule in self.schedules:
            if not isinstance(schedule, str) or schedule not in POLICIES:
                raise FrontEndError(f"schedules must be some of {', '.join(POLICIES)}, got: {shown(schedule)}")
        if self.steps is not None:
            object.__setattr__(self, "steps", check_integer("steps", self.steps, 1))

    def strategies(self, strategy: Strategy) -> dict[str, Strategy]:
        """That of the program with the other schedules, by name. Options of the solver do not go with them, but where it cuts
        blocks of servers; most bytes of a message do, but with priorities, where nothing shares a message and so has parts."""
        first = strategy.schedule or "solver"
        others = [name for name in dict.fromkeys(self.schedules) if name != first]
        if strategy.message_bytes is not None and "priority" in others:
            others.remove("priority")
        return {name: scheduled(strategy, name) for name in others}


def scheduled(strategy: Strategy, name: str) -> Strategy:
    """The strategy with another schedule, and those of its options that go with it: see Tune.strategies()."""
    first = strategy.schedule or "solver"
    if name == first:
        return strategy
    fields: dict[str, Any] = {"schedule": name}
    servers = isinstance(strategy, ParameterServers)
    cut_as = getattr(strategy, "cut_as", None) or first
    if servers:  # they go on with what they store, and so with their blocks
        fields["cut_as"] = cut_as
    if name != "solver" and not (servers and cut_as == "solver"):
        fields.update(effort=None, reorder=None, memory_limit=None)
    if not servers and name != "solver":
        fields.update(exclusive=None)
    if not servers and name == "priority":
        fields.update(parts=None, message_bytes=None)
    if first == "fixed-buckets" and not (servers and cut_as == first):
        fields.update(bucket_bytes=None, first_bucket_bytes=None)
    return dataclasses.replace(strategy, **fields)


def merge_calibration(measured: Mapping[str, Any], base: Optional[Mapping[str, Any]]) -> Optional[dict]:
    """What a calibration says, with the rates that were measured in passing.

    Links of `base` get the measured rate of the same link; if that was not measured, their own rate changes as
    much as that of the others (the median). Without base: the measured one, or None if it has no link.
    """
    rates = {(link["from"], link["to"]): link["bits_per_s"] for link in measured["links"]}
    if base is None:
        return dict(measured) if rates else None
    merged = json.loads(json.dumps(base))
    changes = [rates[link["from"], link["to"]] / link["bits_per_s"] for link in merged["links"]
               if (link["from"], link["to"]) in rates]
    change = statistics.median(changes) if changes else 1.0
    for link in merged["links"]:
        rate = rates.get((link["from"], link["to"]), link["bits_per_s"] * change)
        link["bits_per_s"] = max(1, round(rate))
    return merged


def plan(module: str, pipeline: str, profile: str, calibration: str, base: Optional[str], schedule: Optional[str],
         output: str, first: Sequence[str] = ()) -> None:
    """Compiles a module of level 0 with what was measured. Arguments but pipeline and schedule are paths, of any characters. What is
    computed and reduced is as `first`, the calibrations of the run's first plan, make it; measured costs only schedule it."""
    name, _, given = pipeline.partition("=")
    options = [option for option in given.split() if not (schedule and option.startswith("schedule="))]
    if schedule:
        options.append(f"schedule={schedule}")
    module, output = os.path.abspath(module), os.path.abspath(output)
    written = output + ".part"
    # In the options of a pipeline, names are such that nothing of them must be quoted.
    with TemporaryFolder() as folder:
        measured = _read(profile)
        options.append("profile=profile.json")
        write(os.path.join(folder, "profile.json"), [measured.encode()])
        names = [f"first.{number}.json" for number in range(len(first))]
        for path, calibrated in zip(first, names):
            write(os.path.join(folder, calibrated), [_read(path).encode()])
        if names:
            options.append(f"calibration={','.join(names)}")
        merged = merge_calibration(_calibration(calibration), _calibration(base) if base else None)
        if merged is not None:
            options.append("schedule-calibration=links.json")
            write(os.path.join(folder, "links.json"), [json.dumps(merged).encode()])
        try:
            for command in ([find("cs-opt"), f"{name}={' '.join(options)}", module, "-o", "scheduled.mlir"],
                            [find("cs-translate"), "--mlir-to-plan", "scheduled.mlir", "-o", written]):
                done = call(command, cwd=folder)
                if done.returncode != 0:
                    raise ToolError(failure(command, done))
            os.replace(written, output)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(written)
            raise


def _calibration(path: str) -> Any:
    """Of a file of `cs-run --calibrate`, what is used here. Raises FrontEndError."""
    try:
        found = json.loads(_read(path))
        links = [(link["from"], link["to"], link["bits_per_s"] + 0) for link in found["links"]]
    except (ValueError, KeyError, TypeError):
        links = None
    if links is None or not all(0 < rate < math.inf for _, _, rate in links):
        raise FrontEndError(f"{path}: must be a file of cs-run --calibrate, which has links with rates")
    return found


def _read(path: str) -> str:
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise of_file(error, path) from None


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="commsched.replan", description="Makes a plan of what a run has measured.")
    parser.add_argument("module", help="the step at level 0, with its cluster")
    parser.add_argument("--pipeline", default="--cs-all-reduce-pipeline", help="option of cs-opt")
    parser.add_argument("--profile", required=True, help="times of fragments, from the run")
    parser.add_argument("--calibration", required=True, help="rates of links, from the run")
    parser.add_argument("--base", help="file of cs-run --calibrate, for what cannot be measured in passing")
    parser.add_argument("--first-calibration", action="append", default=[], metavar="FILE",
                        help="that with which the plan of the run was made, if there was one; several times, if it was several")
    parser.add_argument("--schedule", help="policy of the schedule")
    parser.add_argument("--plan", required=True, help="the file to write")
    options = parser.parse_args(arguments)
    try:
        plan(options.module, options.pipeline, options.profile, options.calibration, options.base, options.schedule,
             options.plan, options.first_calibration)
    except (ToolError, OSError, ValueError, KeyError) as error:
        print(f"commsched.replan: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
