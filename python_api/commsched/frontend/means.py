# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the mean over the workers of what a step makes of their parts is what it makes of the whole batch: what is refused, and what is warned
of. What becomes of values with more samples is in doubling.py."""

from __future__ import annotations

import math
import warnings
from typing import Any, Callable, NamedTuple, Optional, Sequence

import jax
from jax.extend.core import ClosedJaxpr

from ..errors import FrontEndError, MixedSamples, UncheckedSamples
from ..job import current
from . import continued, trial
from .base import left_behind
from .doubling import Value, followed
from .doubling_rules import SAME, UNKNOWN, Factor, Other, shape
from .jax_draws import beside_gradients, decided_by_number
from .jax_gradient import gradient_p, marking
from .jaxprs import closed, equations, inner
from .kinds import DECIDED, LIMIT, NONE, NUMBER, PLACE, TOGETHER, Mixed, Some, worst
from .marks import without_others
from .places import Moved


def _cut(e: Any) -> "tuple[bool, ...]":
    return tuple(a == b for a, b in zip(shape(e.invars[0]), shape(e.outvars[0]))) if e.primitive.name in ("slice", "dynamic_slice", "pad") else ()


def alike(one: ClosedJaxpr, two: ClosedJaxpr) -> bool:
    """Whether two traces have the same operations, which take all or some of their operands alike."""
    a, b = one.jaxpr.eqns, two.jaxpr.eqns
    return len(a) == len(b) and all(e.primitive.name == f.primitive.name and _cut(e) == _cut(f) and all(
        alike(closed(x), closed(y)) for x, y in zip(inner(e), inner(f), strict=True)) for e, f in zip(a, b))


def _worse(values: "list[Value]", others: "list[Value]") -> "list[Value]":
    """What is mixed in either; if the numbers of values differ, one is empty."""
    if len(values) != len(others):
        return [v._replace(factor=UNKNOWN) for v in others] if not values else values
    return [v if _mixed(v) is not None or _mixed(o) is None else v._replace(kind=o.kind) for v, o in zip(values, others)]


def _counts(factor: float) -> bool:
    """Whether it is that of a power of the number of samples; n / (n - 1), as in a variance, has another one."""
    return factor > 0 and factor != 1.0 and math.log2(factor).is_integer()


def _larger(factor: Factor) -> Optional[str]:
    """In words, of what is larger as a number of samples is."""
    if isinstance(factor, float) and _counts(factor):
        return f"{factor:g} times as large"
    return "other" if isinstance(factor, Other) and _counts(factor.by) else None


def _multiple(factor: Factor) -> Optional[str]:
    """In words, of what is certainly other with twice the samples."""
    return f"{factor:g} times as large" if isinstance(factor, float) and factor not in SAME else _larger(factor)


def _by_number(value: Value) -> Optional[str]:
    """In words, of what no sample has a part in, but their number."""
    if value.kind != NONE or not isinstance(value.factor, (float, Other)) or value.factor in SAME:
        return None
    return f"{value.factor:g} times as large" if isinstance(value.factor, float) else "other"


def _limited(value: Value) -> bool:
    return isinstance(value.kind, Mixed) and value.kind.why == LIMIT


def _not_known(value: Value) -> bool:
    """Whether it may be another one for all that is known: as samples make it, or their number."""
    return value.kind is None or value.factor is UNKNOWN and _mixed(value) is None


def _first_line(error: Exception) -> str:
    text = next(iter(str(error).splitlines()), "").strip()
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def check_mean(step: "Callable[[int], Optional[Callable]]", specs: Sequence[Any], batch: "Sequence[bool]", parts: int, automatic: bool,
               results: "Callable[[], Sequence[tuple[str, str]]]" = lambda: (), locate: "Optional[Callable[[Any], Optional[str]]]" = None,
               function: Optional[str] = None, number: str = "x.shape[0]") -> None:
    """Refuses a step whose gradients are larger with more samples, by parts of which they would be averaged, or new values of state are, which
    would count the samples of a part. With `locate`, warns of a step whose gradients are no means over the samples: those of the parts have another
    mean than the gradient of the whole batch; if they are, of metrics and new values of state that are none; of one that is another step for the whole batch; and of one of which that
    cannot be told.

    step: the step for so many times the samples of one part; None if it is not known, or need not be looked at. specs: the arguments of that of one
    part; batch: of each, whether it is one of a batch. automatic: as of marking(). results: roles and names of what the step returns. locate: the
    user's line of an equation. function: the name of one beside the step, which has metrics only. number: how the user writes that of the
    samples of x. Raises FrontEndError.
    """
    if parts == 1:
        return
    try:
        returned = list(results())
        gradients, outputs, traces = _compared(step, specs, batch, parts, automatic, function, results)
        unknown = None if gradients or outputs else _OTHERS
        if traces is not None and not gradients and any(e.primitive is gradient_p for e in equations(traces.one.jaxpr)):
            unknown = unknown or "its gradients are taken within an operation that is not followed"
    except _Left as error:
        raise left_behind(f"function {function!r}" if function else "the step") from error
    except Exception as error:
        gradients, outputs, traces, unknown = [], [], None, f"it takes no other number of samples than that of a part ({_first_line(error)})"
    made = list(zip(returned, outputs or [Value(UNKNOWN, None) for _ in returned]))
    _refuse(gradients, made, parts, number)
    other = _other(traces, batch, parts, locate) if traces is not None else None
    if other is not None:
        _refuse_decided(gradients, made, other, parts)
    job = current()
    if job is None or job.rank == 0:
        asked = [i for i, (_, v) in enumerate(made) if (v.kind == NONE or _limited(v)) and v.factor is UNKNOWN]
        numbers = other.numbers if other is not None else (trial.by_number(traces.one, traces.two, batch, asked) or []) if traces is not None and asked else []
        if traces is not None and locate is not None:
            decided_by_number(traces.one, traces.two, traces.whole, parts, locate)

        if traces is not None and traces.returned:
            of = f"function {function!r}" if function else "the step"
            warnings.warn(f"{f'{other.place}: ' if other is not None and other.place else ''}what {of} returns is decided by the number of samples: {', '.join(map(repr, traces.returned))} is "
                          f"returned either for the whole batch or for each of {parts} parts, not for both (docs/python.md, \"Losses that are no means\")", MixedSamples, stacklevel=4)

        def a_try() -> Optional[trial.Tried]:
            return other.tried if other is not None else trial.differing(traces.one, traces.two, batch) if traces is not None else None
        _warn(gradients, made, unknown, a_try, numbers, parts, locate, function, other)


def _refuse(gradients: "Sequence[Value]", made: "Sequence[tuple[tuple[str, str], Value]]", parts: int, number: str) -> None:
    """made: the results by role and name."""
    for factor in [v.factor for v in gradients]:
        larger = _multiple(factor)
        if larger:
            raise FrontEndError(
                f"the loss must be a mean over the samples of the batch, got: one whose gradients are {larger} when every sample is "
                f"there twice; each of {parts} parts of the batch has a loss of its own, and gradients are their means. Divide a sum by "
                f"the number of samples that the step is given ({number})")
    for (role, name), value in made:
        larger = _larger(value.factor) or _by_number(value)
        if role == "updates" and larger:
            raise FrontEndError(
                f"the new value of '{name}' must not depend on how many samples the step is given, got: one that is {larger} when every sample is "
                f"there twice; each of {parts} parts of the batch would count its own. Make a sum a mean, and count steps, or samples by a constant")


def _warn(gradients: "Sequence[Value]", made: "Sequence[tuple[tuple[str, str], Value]]", unknown: Optional[str], a_try: "Callable[[], Optional[trial.Tried]]",
          numbers: "Optional[Sequence[int]]", parts: int, locate: "Optional[Callable[[Any], Optional[str]]]", function: Optional[str], other: "Optional[_Other]") -> None:
    """unknown: why nothing is known, if so. a_try: what comes of the step by drawn numbers, where that is needed. numbers: the results that are found to be others with
    another number of samples, and have none; None if that could not be tried. other: where the whole batch has another step, if so."""
    here = other.place if other is not None else None
    by_number = f"{_NUMBER_DECIDES}; " if other is not None else ""

    def warn(what: str, why: str, then: str, not_a: str = "not a", place: Optional[str] = None) -> None:
        warnings.warn(f"{f'{place}: ' if place else ''}{what} {not_a} mean over the samples of the batch: {why}. {then} "
                      "(docs/python.md, \"Losses that are no means\")", MixedSamples, stacklevel=5)

    def warn_mixed(mixed: Mixed, what: str, then: str) -> None:
        place = locate(mixed.by) if locate is not None and mixed.by is not None else None
        name = mixed.by.params.get("name", mixed.by.primitive.name) if mixed.by is not None else "a constant"
        where_one_does = mixed.is_decided()
        also = f"; and {_NUMBER_DECIDES}{f' ({here})' if here else ''}" if tried is not None and other is not None and tried.again else ""
        warn(what, f"what '{name}' makes {_WHY[mixed.why].format(parts=parts)}{also}", f"Where one does, t{then[1:]}" if where_one_does else then,
             "not for all data a" if where_one_does else "not a", place)
    another, reported = "The parameters will not be those of one device on the whole batch", f"The mean of those of {parts} parts is reported"
    mixed = worst([_mixed(g) for g in gradients])
    # Of new values of parameters and state only those that samples have an unknown part in: an optimizer may make much of how gradients are rounded.
    not_known = {i for i, ((role, _), v) in enumerate(made) if (_not_known(v) if role == "metric" else v.kind is None and unknown is None)}
    tried = a_try() if other is not None or mixed is None and (unknown or not_known or any(map(_not_known, gradients))) else None
    if other is not None:
        not_known |= set(range(len(made)))
        found = numbers or other.returns or tried is not None and (tried.gradients or tried.results)
        if mixed is None and not found and (not other.alone or tried is None or numbers is None):
            unknown = _NUMBER_DECIDES + (", which comes to the same, tried with drawn numbers" if tried is not None else "")
    if mixed is not None:
        warn_mixed(mixed, "the gradients are", another)
    elif tried is not None and tried.gradients:
        warn("the gradients are", f"{by_number}tried with drawn numbers, those of parts have another mean than those of the whole", another, place=here)
    elif unknown is not None and (tried is None or not tried.results or not function):
        what = f"the metrics of function {function!r}" if function else "the gradients"
        warnings.warn(f"{f'{here}: ' if here else ''}whether {what} are means over the samples of the batch could not be told of this step: {unknown}. If they are, this can be ignored: "
                      "commsched.UncheckedSamples (docs/python.md, \"Losses that are no means\")", UncheckedSamples, stacklevel=4)
    kept: "dict[Any, list[str]]" = {}  # names of state, by what makes it other than a mean, in words if need be
    for i, ((role, name), value) in enumerate(made):
        larger, of = _multiple(value.factor), _mixed(value)
        why = f"it is {larger} when every sample is there twice" if larger else (f"{by_number}{_TRIED_WHOLE}" if other is not None else _TRIED) if i in (numbers or ()) else None
        if why is None and of is None and tried is not None and not tried.gradients and i in tried.results & not_known:
            why = f"{by_number}{_TRIED_PARTS}"
        if role != "metric":
            if role == "updates" and mixed is None and (of or why):
                kept.setdefault(why if why and _limited(value) else of or why, []).append(name)
            continue
        what = f"the metric '{name}'{f' of function {function!r}' if function else ''} is"
        if why is not None:
            warn(what, why, reported, place=here if why.startswith(_NUMBER_DECIDES) else None)
        elif mixed is None and of is not None:
            warn_mixed(of, what, reported)
    for by, names in kept.items():
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        what, then = f"the new value of '{names[0]}'{others} is", f"The mean of those of {parts} parts is kept"
        if isinstance(by, Mixed):
            warn_mixed(by, what, then)
        else:
            warn(what, by, then, place=here if by.startswith(_NUMBER_DECIDES) else None)


class _Left(Exception):
    """A step uses values of an earlier trace of it."""


class _Traces(NamedTuple):
    """Of the step of one part, of two, of the whole batch, and of another number of samples, if they are known, and of how many parts the last one is. returned: what either a part
    returns or the whole batch."""

    one: ClosedJaxpr
    two: ClosedJaxpr
    whole: Optional[ClosedJaxpr]
    third: Optional[ClosedJaxpr]
    times: int
    returned: "list[str]"


class _Other(NamedTuple):
    """Of the step of the whole batch, where it is another one than a part's. tried: what comes of that with drawn numbers. numbers: the results that are others, and depend on no sample but through
    gradients. Both None if that could not be tried. place: the user's line. alone: whether it may be as a part has one sample, with which many a step does without operations.
    returns: whether it returns something else."""

    tried: "Optional[trial.Tried]"
    numbers: "Optional[list[int]]"
    place: Optional[str]
    alone: bool
    returns: bool


def _other(traces: _Traces, batch: Sequence[bool], parts: int, locate: "Optional[Callable[[Any], Optional[str]]]") -> Optional[_Other]:
    one, whole = traces.one, traces.whole
    samples = next((v.aval.shape[0] for v, b in zip(one.jaxpr.invars, batch, strict=True) if b and v.aval.shape), None)
    found = continued.broken(one, whole, traces.third, samples, (parts, traces.times)) if whole is not None and samples else None
    if whole is None or found is None:
        return None
    place = continued.place(found, one, whole, locate) if locate is not None else None
    numbers: "Optional[list[int]]" = []
    tried = trial.differing(one, whole, batch, parts)
    if traces.returned:
        tried = tried and tried._replace(results=set())
    else:
        of_samples = zip(*(beside_gradients(t.jaxpr, batch) for t in (one, whole)), strict=True)
        numbers = trial.by_number(one, whole, batch, [i for i, of in enumerate(of_samples) if not any(of)], parts)
    return _Other(tried, numbers, place, samples == 1 and continued.computes_as(one, whole), bool(traces.returned))


def _refuse_decided(gradients: "Sequence[Value]", made: "Sequence[tuple[tuple[str, str], Value]]", other: _Other, parts: int) -> None:
    """Where the number of samples certainly decides."""
    here = f"{other.place}: " if other.place else ""
    known = gradients and not any(_mixed(g) or _not_known(g) for g in gradients)  # but for what decides
    if known and other.tried is not None and other.tried.gradients and other.tried.again:
        raise FrontEndError(f"{here}the loss must be a mean over the samples of the batch, got: one that their number decides: gradients are others for the whole batch than for each of "
                            f"{parts} parts, also where all have the same samples. Let it be decided by a number beside the step")
    decided = next((name for i, ((role, name), _) in enumerate(made) if role == "updates" and i in (other.numbers or ())), None)
    if decided is not None:
        raise FrontEndError(f"{here}the new value of '{decided}' must not depend on how many samples the step is given, got: one that is decided by their number, another one for the whole batch "
                            f"than for each of {parts} parts. Let it be decided by a number beside the step")


def _compared(step: "Callable[[int], Optional[Callable]]", specs: Sequence[Any], batch: "Sequence[bool]", parts: int, automatic: bool,
              function: Optional[str], results_of: "Callable[[], Sequence[tuple[str, str]]]") -> "tuple[list[Value], list[Value], Optional[_Traces]]":
    """What becomes of gradients and of results with more samples, and the traces that it is known of."""
    traces: "dict[int, Optional[ClosedJaxpr]]" = {}
    returned: "dict[int, list[tuple[str, str]]]" = {}

    def traced(count: int) -> "Optional[ClosedJaxpr]":
        if count not in traces:
            flat = step(count)
            given = [jax.ShapeDtypeStruct((count * s.shape[0], *s.shape[1:]), s.dtype) if b else s for s, b in zip(specs, batch, strict=True)]
            with marking(automatic):
                found = None if flat is None else jax.make_jaxpr(lambda *a: flat(*a))(*given)
            if found is not None and any(isinstance(c, jax.core.Tracer) for c in found.consts):
                raise _Left
            traces[count] = found if found is None or not automatic else without_others(found, batch)
            returned[count] = list(results_of())
        return traces[count]

    def between(one: int, two: int) -> "Optional[tuple[list[Value], list[Value]]]":
        """None if one of them is not known."""
        first, second = traced(one), traced(two)
        return None if first is None or second is None else followed(first, second)
    found = between(1, 2)
    if found is None:
        return [], [], None
    one, two, whole = traces[1], traces[2], None
    if not found[function is not None]:  # another step with so few samples, such as x[:4] of 4, or what is broadcast of 1
        found = between(2, 4) or found
    try:
        whole = traced(parts)
        # Such as x[:100] of parts with 8: with as many samples as one device has.
        more = between(parts, 2 * parts) if one is not None and whole is not None and not alike(one, whole) else None
    except Exception:  # so many samples are too many for it
        more = None
    gradients, results = found if more is None else (_worse(found[0], more[0]), _worse(found[1], more[1]))
    if one is None or two is None:
        return gradients, results, None
    either = sorted({n for _, n in set(returned[1]) ^ set(returned[parts])}) if whole is not None else []
    if parts > 2:
        return gradients, results, _Traces(one, two, whole, two, 2, either)
    try:
        third = traced(4)
    except Exception:  # as above
        third = None
    return gradients, results, _Traces(one, two, whole, third, 4, either)


_WHY = {TOGETHER: "depends on several samples together, and each of {parts} parts of the batch has its own",
        PLACE: "depends on the places of samples in the batch, and each of {parts} parts of the batch begins with the first place",
        DECIDED: "is decided by several samples together, and each of {parts} parts of the batch, which decides by its own, may decide otherwise for some data",
        LIMIT: "is decided by the number of samples, and each of {parts} parts of the batch, which has fewer, may decide otherwise for some values",
        NUMBER: "of values that become smaller or larger with the number of samples is no multiple of what it would make of the whole batch"}


_OTHERS = "its operations are others with more samples"
_NUMBER_DECIDES = "the number of samples decides which step it is, for the whole batch another one than for a part"
_TRIED = "tried with drawn numbers, it is another one with twice as many samples"
_TRIED_WHOLE = "tried with drawn numbers, it is another one for the whole batch"
_TRIED_PARTS = "tried with drawn numbers, the mean of those of parts is another one"


def _mixed(value: Value) -> Optional[Mixed]:
    """Of a value that certainly is no mean of those of the parts."""
    if isinstance(value.kind, (Some, Moved)):
        return Mixed(value.kind.by, PLACE)
    return value.kind if isinstance(value.kind, Mixed) else None
