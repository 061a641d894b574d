# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PaddlePaddle: hands over the level 0 of a captured program."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Mapping, Optional, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import FrontEndError
from ..frontend import jax_worker
from ..frontend.base import BatchArgument, Description, Slot, check_part, free_name
from ..frontend.means import check_mean
from ..frontend.jax_frontend import _lower
from ..frontend.jax_gradient import marking
from ..frontend.located import Located
from ..frontend.stablehlo import level0_function, level0_module
from ..frontend.stablehlo.function import FunctionSpec
from ..frontend.stablehlo.ir import Printer
from . import interpret
from .capture import Captured
from .indices import Indices
from .labels import none_ignored


@dataclasses.dataclass
class Step:
    """A captured program, the values that its variables had in the scope by name, and how its rates are read."""

    captured: Captured
    values: Mapping[str, np.ndarray]
    program: Any
    scope: Any
    __name__: str = "program"


def example_of(captured: Captured, example: "Optional[Mapping[str, Any]]") -> dict[str, np.ndarray]:
    """A global batch, checked: what is given, or zeros where all shapes are known."""
    result, samples = {}, set()
    if example is not None:
        _check_names(captured, example)
    for source in captured.batches:
        if example is None:
            if -1 in source.shape:
                raise FrontEndError(f"example_batch must be given, as dimensions of '{source.name}' are not known: {list(source.shape)}")
            array = np.zeros(source.shape, source.dtype)
        else:
            array = np.asarray(example[source.name])
            if array.dtype != source.dtype or len(array.shape) != len(source.shape) or any(
                    s not in (-1, n) for s, n in zip(source.shape, array.shape)):
                raise FrontEndError(f"batch '{source.name}' must match {source.dtype}{list(source.shape)}, got: {array.dtype}{list(array.shape)}")
        if not array.shape or not array.shape[0]:
            raise FrontEndError(f"batch '{source.name}' must have a dimension of samples, got: {list(array.shape)}")
        samples.add(array.shape[0])
        result[source.name] = array
    if len(samples) > 1:
        raise FrontEndError(f"the arrays of a batch must have one number of samples, got: {sorted(samples)}")
    return result


def _check_names(captured: Captured, batch: Any) -> None:
    names = [s.name for s in captured.batches]
    if not isinstance(batch, Mapping):
        raise FrontEndError(f"a batch must be a dictionary of {', '.join(names)}, as feed is, got: {type(batch).__name__}")
    if set(batch) != set(names):
        raise FrontEndError(f"a batch must have {', '.join(names)}, got: {', '.join(map(str, batch))}")


class _Names:
    """Slots of what is carried, batches and metrics. A batch or metric that has the name of a slot gets another."""

    def __init__(self, captured: Captured, seeded: bool):
        carried = [s.name for s in [*captured.params, *captured.state]]
        taken = set(carried)
        self.seed = free_name("seed", taken) if seeded else None
        self.batches = {s.name: free_name(s.name, taken) for s in captured.batches}
        self.metrics = {name: free_name(name, taken) for name in captured.metrics}


def describe(step: Step, arguments: tuple, *, workers: int, devices: int = 1, seed: int = 0, location_root: Optional[str] = None,
             row_sparse: Sequence[str] = ()) -> Description:
    """See base.FrontEnd. arguments: the example batch."""
    captured, example, parts = step.captured, arguments[0], workers * devices
    samples = len(next(iter(example.values()))) if example else 1
    if samples % parts:
        raise FrontEndError(f"{samples} samples of the batch are not divisible by {parts} workers")
    carried, located = [*captured.params, *captured.state], Located(location_root)
    names = _Names(captured, interpret.draws(captured))
    initial = [step.values[s.name] for s in carried]
    shapes = [(example[s.name].shape[0] // parts, *example[s.name].shape[1:]) for s in captured.batches]
    results: list[tuple[str, str]] = []
    with jax.enable_x64(True):
        if names.seed:
            initial.append(np.asarray(jax.random.key_data(jax.random.key(seed))))
        specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in initial]
        specs += [jax.ShapeDtypeStruct(shape, s.dtype) for shape, s in zip(shapes, captured.batches)]

        def flat(*arrays, part=samples // parts, of=captured):
            inputs, next_seed, random = list(arrays), [], None
            if names.seed:
                kept, drawn = jax.random.split(jax.random.wrap_key_data(inputs.pop(len(carried))))
                random, next_seed = jax.random.fold_in(drawn, jax_worker.worker_index()), [jax.random.key_data(kept)]
            given = {s.id: value for s, value in zip([*carried, *captured.batches], inputs)}
            found = interpret.run(of, given, located, (part * parts, part), random)
            updates = {n: found[i] for n, i in captured.updates.items() if found[i] is not None}
            results[:] = [("updates", n) for n in updates] + [("updates", names.seed or "")] * len(next_seed)
            results.extend(("metric", n) for n in names.metrics.values())
            return [_fitting(n, v, step.values[n]) for n, v in updates.items()] + next_seed + [
                _metric(n, found[i]) for n, i in captured.metrics.items()]
        with marking(False):
            module = _lower(flat, specs)
        of = none_ignored(captured, example)
        check_mean(lambda times: functools.partial(flat, part=times * samples // parts, of=of), specs, [i >= len(initial) for i in range(len(specs))],
                   parts, False, lambda: results, located.line_of, number="paddle.shape(x)[0]")
    kinds = [("param", s.name) for s in captured.params] + [("state", s.name) for s in captured.state]
    kinds += [("state", names.seed)] if names.seed else []
    slots = [Slot(n, k, a) for (k, n), a in zip(kinds, initial)]
    kinds += [("batch", names.batches[s.name]) for s in captured.batches]
    printer = Printer()
    spec = FunctionSpec("step", kinds, results, True, samples, row_sparse=row_sparse)
    lines = level0_function(module, spec, located, printer)
    indices = Indices(captured)

    def flatten(function: str, batch: Any, parts: int = 1) -> dict[str, np.ndarray]:
        _check_names(captured, batch)
        found = {}
        for s in captured.batches:
            array, old = np.asarray(batch[s.name]), example[s.name]
            check_part(s.name, (str(old.dtype), old.shape), (str(array.dtype), array.shape), parts)
            found[names.batches[s.name]] = np.ascontiguousarray(array)
        indices.check(batch)
        return found

    def restore(found: Mapping[str, np.ndarray]) -> dict[int, Any]:
        return {0: {s.name: found[s.name] for s in captured.params}, 1: {s.name: found[s.name] for s in captured.state},
                **({2: found[names.seed]} if names.seed else {})}
    arguments_ = [BatchArgument(names.batches[s.name], shape, s.dtype) for s, shape in zip(captured.batches, shapes)]
    return Description(lambda header: level0_module([lines], printer, header), slots, {"step": arguments_},
                       {"step": list(names.metrics.values())}, flatten, restore, 0, captured.rates)


def _fitting(name: str, value: Any, old: np.ndarray) -> Any:
    """A new value, of the shape that the variable has in the scope."""
    if value.size != old.size or value.dtype != old.dtype:
        raise FrontEndError(f"new value of '{name}' must match {old.dtype}{list(old.shape)}, got: {value.dtype}{list(value.shape)}")
    return jnp.reshape(value, old.shape)


def _metric(name: str, value: Any) -> Any:
    if value.size != 1:
        raise FrontEndError(f"metric '{name}' must be a scalar, got: {list(value.shape)}")
    if not jnp.issubdtype(value.dtype, jnp.floating):
        raise FrontEndError(f"metric '{name}' must be floating point, as metrics are averaged over the workers, got: {value.dtype}")
    return jnp.reshape(jnp.asarray(value), ())
