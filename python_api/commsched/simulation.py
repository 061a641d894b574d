# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""simulate(): what a run of a plan takes, predicted on a virtual clock."""

from __future__ import annotations

import dataclasses
import json
import os
import warnings
from typing import Any, Mapping, Optional, Tuple, Union

from .arguments import as_float, check_integer, check_number, check_path, check_switch, is_integer, shown
from .errors import RuntimeFailure


@dataclasses.dataclass(frozen=True)
class LinkUse:
    """A direction of a rank's link: its rate in Mbit/s of payload, the bytes of a step, and the part of its
    time in which it sends them."""

    mbit_per_s: float
    bytes_per_step: float
    utilization: float


@dataclasses.dataclass(frozen=True)
class RankUse:
    """What a step is for a rank, and for all that are alike.

    role: "worker", "trainer" or "server"; rank: the first of them, servers counted for themselves; ranks: how
    many; compute_ns and exposed_ns: of the busiest compute stream, how long it computes and stands still.
    """

    role: str
    rank: int
    ranks: int
    compute_ns: float
    exposed_ns: float
    send: LinkUse
    receive: LinkUse


@dataclasses.dataclass(frozen=True)
class Simulation:
    """What simulate() returns. Times are in ns.

    step_ns: of a step in the long run (with `steps`: the mean between the first and the last); steady: False if steps do not
    settle into a rhythm, and step_ns is an average; ends_ns: when each step is complete everywhere; compute_ns
    and exposed_ns: of the rank that computes longest; planned_ns, bound_ns, any_order_bound_ns: what the
    compiler predicted and proved, 0 if the plan says nothing; events, messages, seconds: what the simulation took.
    """

    workers: int
    servers: int
    steps: int
    steady: bool
    step_ns: float
    first_step_ns: float
    total_ns: float
    ends_ns: Tuple[float, ...]
    compute_ns: float
    exposed_ns: float
    planned_ns: int
    bound_ns: int
    any_order_bound_ns: int
    ranks: Tuple[RankUse, ...]
    events: int
    messages: int
    seconds: float


def simulate(plan: Union[bytes, str, os.PathLike, object], *, steps: Optional[int] = None, bandwidth: float = 1,
             latency: float = 1, compute: float = 1, workers: Optional[int] = None, algorithm: Optional[str] = None,
             stragglers: Optional[Mapping[int, float]] = None,
             links: Optional[Mapping[int, Union[float, Tuple[float, float]]]] = None,
             latency_ns: Optional[int] = None, overhead_ns: Optional[int] = None, engine_ns: Optional[int] = None,
             burst_bytes: Optional[int] = None, queue_ns: Optional[int] = None, profile: Union[str, os.PathLike, None] = None,
             calibration: Union[str, os.PathLike, None] = None, nccl_tests: Union[str, os.PathLike, None] = None, every_rank: bool = False,
             jitter: float = 0, jitter_seed: int = 0, in_order: bool = False, trace: Union[str, os.PathLike, None] = None) -> Simulation:
    """Predicts what a run of a plan takes, without running it (docs/simulator.md says what is modelled).

    plan: bytes of a plan, the path of one, or a Program.
    steps: of the run; None: as many as it takes until the time of a step repeats.
    bandwidth, latency, compute: what if links had so many times the bandwidth and latency, and devices so many
    times the speed. workers: what if there were so many; all-reduces are those of that number. Each worker has the batch
    that it has in the plan. algorithm: of all-reduces, with `workers` or without: "ring", "halving-doubling", "recursive-doubling",
    "auto" (the fastest); None: as in the plan; a plan without all-reduces has no use for it.
    stragglers: {rank: factor}; the compute of that rank takes `factor` times as long.
    links: {rank: Mbit/s} or {rank: (sends, receives)}; servers come behind the trainers.
    latency_ns, overhead_ns, burst_bytes, queue_ns: of every link; engine_ns: of a rank for each round of a collective.
    profile, calibration: files of `cs-run --profile` and `--calibrate`, for what the plan does not say. nccl_tests: output of
    nccl-tests' all_reduce_perf of as many ranks, for what NCCL's collectives take.
    every_rank: simulates each rank, not one of each kind. jitter: compute takes between 1 - jitter and 1 + jitter times as
    long, drawn for each rank and step. in_order: collectives go one at a time, in one order on all ranks. trace: a file for the predicted timeline.

    Raises RuntimeFailure for options and plans that make no sense, OSError if a plan cannot be read.
    """
    from .native import library
    if hasattr(plan, "plan"):
        data = plan.plan
    elif isinstance(plan, (bytes, bytearray)):
        data = bytes(plan)
    elif not isinstance(plan, (str, os.PathLike)):
        raise RuntimeFailure(f"plan must be bytes, a path or a Program, got: {type(plan).__name__}")
    else:
        with open(check_path("plan", plan, RuntimeFailure), "rb") as file:
            data = file.read()
    _check(RuntimeFailure, {"bandwidth": bandwidth, "latency": latency, "compute": compute},
           {"steps": steps, "workers": workers, "latency_ns": latency_ns, "overhead_ns": overhead_ns,
            "engine_ns": engine_ns, "burst_bytes": burst_bytes, "queue_ns": queue_ns},
           {"every_rank": every_rank, "in_order": in_order}, {"stragglers": stragglers, "links": links})
    if algorithm is not None and (not isinstance(algorithm, str) or not algorithm or not algorithm.isprintable()):
        raise RuntimeFailure(f"algorithm must be a name, got: {shown(algorithm)}")
    jitter = check_number("jitter", jitter, error=RuntimeFailure)
    check_integer("jitter_seed", jitter_seed, error=RuntimeFailure)
    if jitter_seed and not jitter:
        raise RuntimeFailure(f"jitter_seed must go with jitter, got: {jitter_seed}")
    what_if = [f"{name}={_plain(value)}" for name, value in (("bandwidth", bandwidth), ("latency", latency),
                                                       ("compute", compute)) if value != 1]
    what_if += [f"workers={workers}"] if workers is not None else []
    what_if += [f"algorithm={algorithm}"] if algorithm is not None else []
    lines = [f"what_if {word}" for word in what_if]
    lines += [f"straggler {rank}={_plain(factor)}" for rank, factor in (stragglers or {}).items()]
    if jitter or jitter_seed:
        lines.append(f"jitter {jitter!r}/{jitter_seed}")
    for rank, rates in (links or {}).items():
        up, down = rates if isinstance(rates, tuple) else (rates, rates)
        lines.append(f"link {rank}={_plain(up)}/{_plain(down)}")
    lines += [f"{name} {value}" for name, value in (
        ("steps", steps), ("latency_ns", latency_ns), ("overhead_ns", overhead_ns), ("engine_ns", engine_ns),
        ("burst_bytes", burst_bytes), ("queue_ns", queue_ns)) if value is not None]
    for name, path in (("profile", profile), ("calibration", calibration), ("nccl_tests", nccl_tests), ("trace", trace)):
        if path is not None:
            path = check_path(name, path, RuntimeFailure)
            if "\n" in path:
                raise RuntimeFailure(f"{name} must be a path without line breaks, got: {path!r}")
            lines.append(f"{name} {path}")
    lines.append(f"every_rank {int(every_rank)}")
    lines.append(f"in_order {int(in_order)}")
    lib = library()
    answer = lib.cs_simulate(data, len(data), os.fsencode("\n".join(lines)))
    if answer is None:
        raise RuntimeFailure(lib.cs_last_error().decode(errors="replace"))
    found = json.loads(answer)
    for warning in found["warnings"]:
        warnings.warn(warning, stacklevel=2)
    return _from_json(found)


def _plain(value: Any) -> str:
    """A number as Python writes its own: those of NumPy have their types with them."""
    return repr(int(value) if is_integer(value) else float(value))


def _check(error: "type[RuntimeFailure]", factors: dict, integers: dict, switches: dict, of_ranks: dict) -> None:
    """What the library is told as text, and so cannot tell apart; it says what numbers can be."""
    for name, value in factors.items():
        if as_float(value) is None:
            raise error(f"{name} must be a number, got: {shown(value)}")
    for name, value in integers.items():
        if value is not None and not is_integer(value):
            raise error(f"{name} must be an integer, got: {shown(value)}")
    for name, value in switches.items():
        check_switch(name, value, error)
    for name, values in of_ranks.items():
        if values is None:
            continue
        if not isinstance(values, Mapping) or not all(is_integer(rank, 0) for rank in values):
            raise error(f"{name} must be a dictionary of ranks, got: {shown(values)}")
        for rank, value in values.items():
            for one in value if name == "links" and isinstance(value, tuple) and len(value) == 2 else (value,):
                check_number(f"{name} of rank {rank}", one, "positive", error)


def _from_json(found: dict) -> Simulation:
    ranks = tuple(RankUse(of["role"], of["rank"], of["ranks"], of["compute_ns"], of["exposed_ns"],
                          LinkUse(**of["send"]), LinkUse(**of["receive"])) for of in found["ranks"])
    plan = found["plan"]
    same = {name: found[name] for name in ("workers", "servers", "steps", "steady", "step_ns", "first_step_ns",
                                           "total_ns", "compute_ns", "exposed_ns", "events", "messages", "seconds")}
    return Simulation(**same, ends_ns=tuple(found["ends_ns"]), planned_ns=plan["period_ns"], bound_ns=plan["bound_ns"],
                      any_order_bound_ns=plan["any_order_bound_ns"], ranks=ranks)
