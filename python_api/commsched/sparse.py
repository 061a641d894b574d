# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which part of gradients travels, and how (docs/sparse.md)."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from .arguments import check_choice, check_integer, check_number, check_switch, is_integer, shown
from .errors import FrontEndError

METHODS = ("auto", "dense", "allgather", "hitopk", "gtopk", "oktopk")
SELECTIONS = ("exact", "histogram", "sampled", "mstopk")
VALUES = ("same", "f16", "bf16", "int8")
SQUARES = ("mean", "own")


def _density(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not 0 < value <= 1:
        raise FrontEndError(f"{name} must be above 0 and at most 1, got: {shown(value)}")
    return float(value)


def _single(name: str, value: object) -> float:
    """What is computed with is of 32 bits."""
    number = check_number(name, value)
    with np.errstate(over="ignore", under="ignore"):
        single = float(np.float32(number))
    if single == float("inf") or (single == 0) != (number == 0):
        raise FrontEndError(f"{name} must be a number of 32 bits, got: {number}")
    return number


# What a density of 1, with which nothing is selected, has no use for.
_OF_SELECTIONS = ("method", "min_elements", "feedback", "mask", "squares", "clip", "select", "fuse_bytes", "exact_every", "values",
                  "unsent_rate", "mstopk_samples", "mstopk_early_stop", "mstopk_seed")


@dataclasses.dataclass(frozen=True)
class Sparse:
    """Of each gradient the elements of largest magnitude travel; what is not sent is added to the next gradient.

    density: their part of all. method: "auto" (what takes the least time on the cluster, dense included), "dense",
    "allgather", "hitopk", "gtopk" or "oktopk". min_elements: smaller gradients stay dense. rules: for parameters by name, a
    regular expression -> density, or (density, method); the first that matches the whole name counts.
    warm_up: (density, steps) of the first steps, one after the other; rules of a smaller density wait as well.
    feedback: keep what is not sent (else it is lost). momentum: momentum correction, in place of the optimizer's own;
    mask: clear the velocity where something is sent. second_moment: select from what Adam with this decay of squares, and
    with `momentum` and `epsilon`, would add; the optimizer is then gradient descent. squares: with both moments, those of
    "mean" (of all workers, as a worker's own tell) or its "own".
    clip: bound of the norm of what a worker selects from, times the root of the workers.
    select: "exact", "histogram", "sampled" (the same elements) or "mstopk" (nearly the largest: MSTopK).
    mstopk_samples: reads in which MSTopK looks for a threshold, N of the paper; mstopk_early_stop: fewer where one leaves
    exactly as many as wanted, with the same result; mstopk_seed: of what it draws anew in each step.
    values: what selected values travel as where they have more bits, "f16", "bf16" or "int8" (with a scale for each list); what
    is rounded off is kept like what is not sent. Not with "gtopk" and "oktopk".
    unsent_rate: a worker computes its gradients (and metrics) at the parameters less so much of what it has not sent yet: the
    learning rate, or a part of it; 0: at those that all workers have. Workers have one device.
    exact_every: select so in one of so many steps, and by the threshold of that step in the others.
    fuse_bytes: most bytes of a message of the selections of several gradients; 0: none; None: by the latency of links.
    """

    density: float = 1.0
    method: str = "auto"
    min_elements: int = 16384
    rules: Mapping[str, Union[float, tuple]] = dataclasses.field(default_factory=dict)
    warm_up: Sequence[tuple] = ()
    feedback: bool = True
    momentum: float = 0.0
    mask: bool = True
    second_moment: float = 0.0
    epsilon: float = 1e-8
    squares: str = "mean"
    clip: float = 0.0
    select: str = "exact"
    fuse_bytes: Optional[int] = None
    exact_every: int = 1
    values: str = "same"
    unsent_rate: float = 0.0
    mstopk_samples: int = 30
    mstopk_early_stop: bool = True
    mstopk_seed: int = 0

    def __post_init__(self):
        def own(name, value):  # of Python's own types, as options are their texts
            object.__setattr__(self, name, value)
        own("density", _density("density", self.density))
        for name, choices in (("method", METHODS), ("select", SELECTIONS), ("values", VALUES),
                              ("squares", SQUARES)):
            check_choice(name, getattr(self, name), choices)
        for name in ("feedback", "mask", "mstopk_early_stop"):
            own(name, check_switch(name, getattr(self, name)))
        for name in ("momentum", "second_moment", "epsilon", "clip", "unsent_rate"):
            own(name, _single(name, getattr(self, name)))
        own("min_elements", check_integer("min_elements", self.min_elements))
        if not isinstance(self.rules, Mapping):
            raise FrontEndError(f"rules must be a dictionary of patterns, got: {shown(self.rules)}")
        rules: "dict[str, Union[float, tuple]]" = {}
        for pattern, rule in self.rules.items():
            if not isinstance(pattern, str) or not pattern or re.search(r"[,=\s{}]", pattern):
                raise FrontEndError(f"rules must be patterns without spaces, commas, '=' and braces, got: '{pattern}'")
            if isinstance(rule, tuple) and len(rule) != 2:
                raise FrontEndError(f"rules must be densities, or pairs of a density and a method, got: {shown(rule)}")
            density, method = rule if isinstance(rule, tuple) else (rule, self.method)
            density = _density(f"density of rules, of '{pattern}',", density)
            rules[pattern] = (density, method) if isinstance(rule, tuple) else density
            check_choice(f"method of rules, of '{pattern}',", method, METHODS)
        own("rules", rules)
        if not isinstance(self.warm_up, (tuple, list)):
            raise FrontEndError(f"warm_up must be pairs of a density and a positive number of steps, got: {shown(self.warm_up)}")
        for phase in self.warm_up:
            if not isinstance(phase, (tuple, list)) or len(phase) != 2 or not is_integer(phase[1], 1):
                raise FrontEndError(f"warm_up must be pairs of a density and a positive number of steps, got: {shown(phase)}")
            _density("density of warm_up", phase[0])
        own("warm_up", tuple((float(density), int(steps)) for density, steps in self.warm_up))
        for (before, _), (density, _) in zip(self.warm_up, self.warm_up[1:]):
            if before < 1 and density == 1:  # with which nothing is sent but whole gradients
                raise FrontEndError(f"warm_up must not have a density of 1 behind one that leaves something unsent, got: {shown(self.warm_up)}")
        if self.momentum >= 1:
            raise FrontEndError(f"momentum must be at least 0 and below 1, got: {self.momentum}")
        if self.second_moment >= 1:
            raise FrontEndError(f"second_moment must be at least 0 and below 1, got: {self.second_moment}")
        if self.epsilon == 0:
            raise FrontEndError(f"epsilon must be above 0, got: {self.epsilon}")
        if not self.mask and (not self.momentum or self.second_moment):
            raise FrontEndError("mask=False must go with momentum, and without second_moment")
        if self.epsilon != 1e-8 and not self.second_moment:
            raise FrontEndError("epsilon must go with second_moment")
        if self.squares != "mean" and not (self.momentum and self.second_moment):
            raise FrontEndError(f"squares must go with momentum and second_moment, got: {self.squares}")
        if self.momentum and not self.second_moment and not self.feedback:
            raise FrontEndError("momentum must go with feedback=True")
        if self.fuse_bytes is not None:
            own("fuse_bytes", check_integer("fuse_bytes", self.fuse_bytes))
        own("exact_every", check_integer("exact_every", self.exact_every, 1, 1 << 24))
        if self.unsent_rate and not self.feedback:
            raise FrontEndError("unsent_rate must go with feedback=True")
        if self.values != "same" and self.method in ("gtopk", "oktopk"):
            raise FrontEndError(f"values must be same with method {self.method}, got: {self.values}")
        own("mstopk_samples", check_integer("mstopk_samples", self.mstopk_samples, 1, 100))
        if not is_integer(self.mstopk_seed):
            raise FrontEndError(f"mstopk_seed must be an integer of 64 bits, got: {shown(self.mstopk_seed)}")
        own("mstopk_seed", int(self.mstopk_seed))
        if self.select != "mstopk" and (self.mstopk_samples, self.mstopk_early_stop, self.mstopk_seed) != (30, True, 0):
            raise FrontEndError("mstopk_samples, mstopk_early_stop and mstopk_seed must go with select='mstopk', got: "
                                f"{self.select}")
        if self.exact_every > 1 and not self.feedback:
            raise FrontEndError("exact_every above 1 must go with feedback=True")
        if not self._selects():
            for name in _OF_SELECTIONS:
                if getattr(self, name) != _DEFAULTS[name] and not (name == "method" and self.method == "dense"):
                    raise FrontEndError(f"{name} must go with a density below 1, where something is selected, got: {self.density}")

    def _selects(self) -> bool:
        """Whether a density below 1 is asked for, if only by a rule or at the end of the warm-up."""
        densities = [rule[0] if isinstance(rule, tuple) else rule for rule in self.rules.values()]
        return min([self.density, *densities]) < 1

    @staticmethod
    def of(value: Union[None, float, "Sparse"]) -> Optional["Sparse"]:
        """A density alone means the defaults for the rest."""
        if value is None or isinstance(value, Sparse):
            return value
        return Sparse(density=_density("sparse", value))

    def at(self, step: int) -> tuple["Sparse", Optional[int]]:
        """What holds in this step, without warm-up, and for how many steps from it; None: for all."""
        begin = 0
        for density, steps in self.warm_up:
            if step < begin + steps:
                def raised(rule):
                    own, method = rule if isinstance(rule, tuple) else (rule, self.method)
                    return (max(own, density), method)
                change: Any = {"density": max(self.density, density), "warm_up": (), "rules": {p: raised(r) for p, r in self.rules.items()}}
                if density == 1:  # nothing is selected yet
                    change.update((name, _DEFAULTS[name]) for name in _OF_SELECTIONS)
                return dataclasses.replace(self, **change), begin + steps - step
            begin += steps
        return dataclasses.replace(self, warm_up=()), None

    def _rules(self) -> str:
        texts = []
        for pattern, rule in self.rules.items():
            density, method = rule if isinstance(rule, tuple) else (rule, self.method)
            texts.append(f"{pattern}={density!r}:{method}")
        return ",".join(texts)

    def options(self, in_pipeline: bool) -> list[str]:
        """Options of --lower-sparse-comm, or of the pipeline that has it."""
        names = {"method": "sparse-method", "rules": "sparse-rules", "momentum": "momentum-correction",
                 "fuse-bytes": "sparse-fuse-bytes"} if in_pipeline else {}
        texts = [f"density={self.density!r}", f"{names.get('method', 'method')}={self.method}",
                 f"min-elements={self.min_elements}"]
        if self.rules:
            texts.append(f"{names.get('rules', 'rules')}={self._rules()}")
        if not self.feedback:
            texts.append("feedback=false")
        if self.momentum:
            texts.append(f"{names.get('momentum', 'momentum')}={self.momentum!r}")
        if not self.mask:
            texts.append("mask=false")
        if self.second_moment:
            texts.append(f"second-moment={self.second_moment!r}")
        if self.second_moment or self.epsilon != 1e-8:
            texts.append(f"epsilon={self.epsilon!r}")
        if self.squares != "mean":
            texts.append(f"squares={self.squares}")
        if self.clip:
            texts.append(f"clip={self.clip!r}")
        if self.select != "exact":
            texts.append(f"select={self.select}")
        if self.values != "same":
            texts.append(f"values={self.values}")
        if self.unsent_rate:
            texts.append(f"unsent-rate={self.unsent_rate!r}")
        if self.mstopk_samples != 30:
            texts.append(f"mstopk-samples={self.mstopk_samples}")
        if not self.mstopk_early_stop:
            texts.append("mstopk-early-stop=false")
        if self.mstopk_seed:
            texts.append(f"mstopk-seed={self.mstopk_seed}")
        if self.fuse_bytes is not None:
            texts.append(f"{names.get('fuse-bytes', 'fuse-bytes')}={self.fuse_bytes}")
        if self.exact_every > 1:
            texts.append(f"exact-every={self.exact_every}")
        return texts


_DEFAULTS: "dict[str, Any]" = {field.name: field.default for field in dataclasses.fields(Sparse)}
