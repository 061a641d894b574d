# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX: traces a training step and hands over its level 0."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import os
import re
from typing import Any, Callable, Mapping, Optional, Sequence

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

try:
    from jax import enable_x64
except ImportError:  # before JAX 0.8
    from jax.experimental import enable_x64

from ..errors import FrontEndError
from .base import BatchArgument, Description, FrontEnd, Slot, check_part
from .means import check_mean
from .jax_arguments import carried_meant, changed, check_arguments, check_functions, explained, forgotten_batch, objects_of
from .jax_draws import draws, of_the_whole
from .jax_gradient import marking, trace_anew
from .jax_leaves import Leaves
from .jax_results import Match, metrics
from .jax_worker import numbering
from .located import best, folder_of_places, shown
from .stablehlo import level0_function, level0_module
from .stablehlo.function import FunctionSpec
from .stablehlo.ir import Printer


def _names_of(function: Callable, count: int) -> list[str]:
    try:
        names = [p.name for p in inspect.signature(function).parameters.values()
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    return [names[i] if i < len(names) else f"arg{i}" for i in range(count)]


def _local(leaves: Leaves, argument: str, workers: int, devices: int) -> list[tuple[int, ...]]:
    """Shapes of a device's part of a batch, of all leaves."""
    shapes, parts = [], workers * devices
    for name, shape, (own, _) in zip(leaves.all_names, leaves.shapes, leaves.types):
        what = f"{argument}{'.' + name if name else ''}"
        if not own:  # a random key has a shape of its own
            raise FrontEndError(f"batch argument '{what}' must have a dimension of samples, got: a scalar")
        if shape[0] == 0:
            raise FrontEndError(f"batch argument '{what}' must have samples, got: {list(shape)}")
        if shape[0] % parts:
            raise FrontEndError(f"batch argument '{what}': {shape[0]} samples are not divisible by "
                                f"{workers} {'workers' if devices == 1 else f'x {devices} devices'}: the example is a global batch")
        shapes.append((shape[0] // parts, *shape[1:]))
    return shapes


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def make_locate(root: Optional[str]) -> Callable[[str], Optional[str]]:
    """Finds the user's source line in the text of a JAX location."""
    root, here = folder_of_places(root), folder_of_places(None)

    def whole(file: str) -> str:
        return os.path.normpath(os.path.join(here, file))

    def locate(text: str) -> Optional[str]:
        frames = [(f, l, c) for f, l, c in re.findall(r'"([^"]+)":(\d+):(\d+)', text)]
        frames = [f for f in frames if not whole(f[0]).startswith(_PACKAGE)]
        own = [f for f in frames if "site-packages" not in f[0]] or frames
        if not own:
            return None
        file, line, column = own[0]
        if "site-packages/" in file:
            file = file.split("site-packages/")[-1]
        elif root and whole(file).startswith(root):
            file = whole(file)[len(root):]
        return f'"{file}":{line}:{column}'
    return locate


def _line_of(root: Optional[str]) -> "Callable[[Any], Optional[str]]":
    """Finds the user's source line of an equation of a trace."""
    folder = os.path.dirname(os.path.abspath(jax.__file__))

    def line(equation: Any) -> Optional[str]:
        frames = getattr(equation.source_info.traceback, "frames", ())
        place = best([(f.file_name, f.line_num) for f in frames], folder)
        return shown(place, root) if place else None
    return line


@contextlib.contextmanager
def _without_shardy():
    """StableHLO with nothing of Shardy in it."""
    saved = getattr(jax.config, "jax_use_shardy_partitioner", None)
    if saved:
        jax.config.update("jax_use_shardy_partitioner", False)
    try:
        yield
    finally:
        if saved:
            jax.config.update("jax_use_shardy_partitioner", True)


def _lower(flat: Callable, specs, change: "Callable[[ClosedJaxpr], Optional[ClosedJaxpr]]" = lambda trace: None):
    with _without_shardy(), numbering():
        traced = jax.jit(flat, keep_unused=True).trace(*specs)
        changed = change(traced.jaxpr)
        if changed is not None:
            traced = jax.jit(jaxpr_as_fun(changed), keep_unused=True).trace(*specs)
        return traced.lower().compiler_ir("stablehlo")


def _drawn_as_whole(flat: Callable, specs, batch: Sequence[bool], parts: int, results: "Callable[[], Sequence[tuple[str, str]]]",
                    locate: "Callable[[Any], Optional[str]]") -> "Callable[[ClosedJaxpr], Optional[ClosedJaxpr]]":
    """Of a trace of one part: that with the random numbers of the whole batch (jax_draws.py), where it draws some for its samples. batch: of each argument, whether it is of one."""
    def change(one: ClosedJaxpr) -> Optional[ClosedJaxpr]:
        if parts == 1 or not draws(one):
            return None
        more = [jax.ShapeDtypeStruct((2 * s.shape[0], *s.shape[1:]), s.dtype) if b else s for s, b in zip(specs, batch, strict=True)]
        try:
            two = jax.jit(lambda *a: flat(*a), keep_unused=True).trace(*more).jaxpr
        except Exception:  # it takes no other number of samples, of which check_mean() warns
            return None
        return of_the_whole(one, two, batch, parts, results(), locate)
    return change


def _lower_step(flat: Callable, specs, change: "Callable[[ClosedJaxpr], Optional[ClosedJaxpr]]"):
    """The module, and whether the user marks gradients: then it is traced a second time, with only those marks."""
    def attempt(automatic):
        trace_anew()
        with marking(automatic) as state:
            module = _lower(lambda *a: flat(*a), specs, lambda trace: None if automatic and state.explicit else change(trace))
        return module, state.explicit
    module, explicit = attempt(True)
    if explicit:
        module, _ = attempt(False)
    return module, explicit


_CONTEXTS = ("threefry_partitionable", "default_prng_impl", "default_matmul_precision", "numpy_dtype_promotion", "numpy_rank_promotion", "enable_custom_prng", "legacy_prng_key",
             "softmax_custom_jvp")


def front_end() -> FrontEnd:
    """describe(), with numbers of 64 bits or without, and with all that a context of JAX says of a step, as it is now: a program is also described, and given batches,
    when that is another matter."""
    kept = [(enable_x64, bool(jax.config.jax_enable_x64))]
    kept += [(getattr(jax, n), getattr(jax.config, f"jax_{n}")) for n in _CONTEXTS if hasattr(jax, n) and hasattr(jax.config, f"jax_{n}")]

    def as_now(function: Callable) -> Callable:
        def called(*arguments, **more):
            with contextlib.ExitStack() as contexts:
                for context, now in kept:
                    contexts.enter_context(context(now))
                return function(*arguments, **more)
        return called

    def described(*arguments, **more) -> Description:
        found = as_now(describe)(*arguments, **more)
        return dataclasses.replace(found, flatten=as_now(found.flatten), restore=as_now(found.restore))
    return described


def describe(step: Callable, arguments: tuple, *, params: int = 0, batch: Sequence[int] = (-1,), workers: int = 1,
             devices: int = 1, constant: Sequence[int] = (), functions: Mapping[str, tuple] = {}, name: str = "step",
             location_root: Optional[str] = None, row_sparse: Sequence[str] = ()) -> Description:
    """See base.FrontEnd. functions: name -> (function, *example arguments); arguments that
    have the structure and shapes of a carried argument of the step are that argument, the
    others are batches, and all outputs are metrics."""
    count = len(arguments)
    names = _names_of(step, count)
    params, batch, constant = check_arguments(step, names, params, batch, constant)
    check_functions(functions)
    all_leaves = [Leaves(a, n) for a, n in zip(arguments, names)]
    carried = {i: all_leaves[i] for i in range(count) if i not in batch}
    slots = _slot_names(names, carried, params)
    for table in row_sparse:
        if table not in slots[params]:
            raise FrontEndError(f"row_sparse must name parameters, {', '.join(slots[params])}, got: '{table}'")
    locate = make_locate(location_root)
    taken = {n for own in slots.values() for n in own}
    _name_batches({names[i]: all_leaves[i] for i in batch}, taken)

    specs, kinds, empty = [], [], {}
    for i, leaves in enumerate(all_leaves):
        if i in batch:
            shapes = _local(leaves, names[i], workers, devices)
            empty[i] = {j: np.zeros(shapes[j], a.dtype) for j, a in leaves.empty.items()}
            shapes = leaves.full(shapes)
            kinds += [("batch", n) for n in leaves.batch_names]
        else:
            shapes = [a.shape for a in leaves.arrays]
            kinds += [("param" if i == params else "state", n) for n in slots[i]]
        specs += leaves.specs(shapes)
    match = Match(names, carried, slots)
    match.params, match.constant = params, constant

    def flat(*values):
        given = _unflatten(all_leaves, values, empty)
        before = objects_of(given)
        output = step(*given)
        match.changed = changed(given, before)
        return match(output)
    all_shapes = [[a.shape for a in leaves.arrays] for leaves in all_leaves]
    of_batch = [kind == "batch" for kind, _ in kinds]
    def whole():
        def called(*values):
            step(*_unflatten(all_leaves, values, {}))
        jax.eval_shape(called, *(spec for leaves in all_leaves for spec in leaves.specs()))
    with forgotten_batch(names, all_shapes, params, batch, constant, lambda: match.unmatched, whole if workers * devices > 1 else None):
        module, explicit = _lower_step(flat, specs, _drawn_as_whole(flat, specs, of_batch, workers * devices, lambda: match.results, _line_of(location_root)))
    results, scalars, alike = match.results, list(match.scalars), match.alike  # which are others' when other numbers of samples have been traced
    samples = {shape[0] for i in batch for shape in all_leaves[i].shapes}
    if len(samples) > 1:
        raise FrontEndError(f"batch arguments must have one number of samples, got: {sorted(samples)}")
    check_mean(lambda _: flat, specs, of_batch, workers * devices, not explicit, lambda: match.results,
               _line_of(location_root))
    printer = Printer()
    spec = FunctionSpec(name, kinds, results, True, samples.pop() if samples else None, scalars, row_sparse, alike)
    texts = [level0_function(module, spec, locate, printer)]

    kind_of = {n: k for k, n in spec.arguments}
    batches = {name: _batch_arguments(kinds, specs)}
    metric_names = {name: [n for k, n in results if k == "metric"]}
    flatteners = {name: (names, {i: all_leaves[i] for i in batch})}
    for other, (function, *examples) in functions.items():
        lines, flattener, arguments_, results = _other(other, function, examples, carried, {i: (names[i], arguments[i]) for i in carried}, slots, kind_of,
                                                       workers, devices, locate, printer, _line_of(location_root))
        texts.append(lines)
        flatteners[other], batches[other], metric_names[other] = flattener, arguments_, results

    slot_list = [Slot(n, kind_of[n], a) for i, leaves in carried.items() for n, a in zip(slots[i], leaves.arrays)]

    def restore(values):
        return {i: leaves.tree_of([values[n] for n in slots[i]]) for i, leaves in carried.items()}
    return Description(lambda header: level0_module(texts, printer, header), slot_list, batches, metric_names,
                       lambda function, value, parts=1: _flatten(*flatteners[function], value, parts), restore, params)


def _unflatten(all_leaves: Sequence[Leaves], values, empty: Mapping[int, Mapping[int, np.ndarray]]) -> list:
    """empty: of arguments at these positions, what arrays without elements are."""
    result, values = [], list(values)
    for i, leaves in enumerate(all_leaves):
        part, values = values[: len(leaves.arrays)], values[len(leaves.arrays):]
        result.append(leaves.tree_of(part, empty.get(i)))
    return result


def _slot_names(names, carried, params) -> dict[int, list[str]]:
    """Parameters by their path alone, state with its argument's name in front."""
    slots: dict[int, list[str]] = {}
    taken: set[str] = set()
    for i in sorted(carried, key=lambda i: i != params):
        slots[i] = []
        for n in carried[i].names:
            full = n if i == params and n else f"{names[i]}.{n}" if n else names[i]
            while full in taken:
                full += "_"
            taken.add(full)
            slots[i].append(full)
    return slots


def _name_batches(leaves_of: Mapping[str, Leaves], taken: set[str]) -> None:
    """Arrays of a batch by their path alone, where that is a name and no other one's."""
    taken = set(taken)
    for argument, leaves in leaves_of.items():
        leaves.batch_names = []
        for n in leaves.names:
            n = n or argument
            if n[0].isdigit() or n in taken:
                n = f"{argument}.{n}"
            while n in taken:
                n += "_"
            taken.add(n)
            leaves.batch_names.append(n)


def _batch_arguments(kinds, specs) -> list[BatchArgument]:
    return [BatchArgument(n, s.shape, np.dtype(s.dtype)) for (k, n), s in zip(kinds, specs) if k == "batch"]


def _other(name, function, examples, carried, of_step, slots, kind_of, workers, devices, locate, printer, line_of):
    """A further function: (lines, flattener, batch arguments, metric names). of_step: name and example of the carried arguments."""
    names = _names_of(function, len(examples))
    leaves = [Leaves(a, n) for a, n in zip(examples, names)]
    looks = [[p for p, c in carried.items() if c.tree == own.tree and c.types == own.types] for own in leaves]
    meant, kinds, specs, batch, empty = carried_meant(name, names, examples, looks, of_step), [], [], {}, {}
    for i, own in enumerate(leaves):
        position = meant.get(i)
        if position is not None:
            kinds += [(kind_of[n], n) for n in slots[position]]
            specs += own.specs()
        else:
            batch[i] = own
            _name_batches({names[i]: own}, {n for _, n in kinds} | {n for s in slots.values() for n in s})
            kinds += [("batch", n) for n in own.batch_names]
            shapes = _local(own, names[i], workers, devices)
            empty[i] = {j: np.zeros(shapes[j], a.dtype) for j, a in own.empty.items()}
            specs += own.specs(own.full(shapes))
    samples = {shape[0] for own in batch.values() for shape in own.shapes}
    if len(samples) > 1:
        raise FrontEndError(f"batch arguments of function {name!r} must have one number of samples, got: {sorted(samples)}; what is no batch must be an argument "
                            "of the step")
    results: list[str] = []
    of_batch = [kind == "batch" for kind, _ in kinds]

    def flat(*values):
        out, results[:] = metrics(function(*_unflatten(leaves, values, empty)))
        return out
    with explained(f"function {name!r}"):
        module = _lower(flat, specs, _drawn_as_whole(flat, specs, of_batch, workers * devices, lambda: [("metric", n) for n in results], line_of))
    names_of_results = list(results)
    check_mean(lambda _: flat, specs, of_batch, workers * devices, False, lambda: [("metric", n) for n in results], line_of, name)
    spec = FunctionSpec(name, kinds, [("metric", n) for n in names_of_results], False, samples.pop() if samples else None)
    lines = level0_function(module, spec, locate, printer)
    return lines, (names, batch), _batch_arguments(kinds, specs), names_of_results


def _flatten(names, batch: Mapping[int, Leaves], value, parts: int) -> dict[str, np.ndarray]:
    """The arrays of a batch given as the step takes it: one argument, or a tuple of them."""
    if len(batch) != 1 and not isinstance(value, (tuple, list)) and not hasattr(value, "shape"):
        raise FrontEndError(f"a batch must be a tuple of {len(batch)} arguments, got: {type(value).__name__}")
    values = [value] if len(batch) == 1 else list(value)
    if len(values) != len(batch):
        raise FrontEndError(f"a batch must have {len(batch)} arguments, got: {len(values)}")
    result = {}
    for (i, leaves), given in zip(batch.items(), values):
        own = Leaves(given, names[i])
        if own.tree != leaves.tree:
            raise FrontEndError(f"batch argument '{names[i]}' must have the structure of its example, got: {own.tree}")
        for n, shape, example in zip(leaves.all_names, own.shapes, leaves.shapes):
            if shape != example and 0 in (*shape, *example):  # what has no elements is no array of the program
                raise FrontEndError(f"batch '{n or names[i]}' must match {list(example)}, got: {list(shape)}")
        for n, array, example in zip(leaves.batch_names, own.arrays, leaves.arrays, strict=True):
            check_part(n, (str(example.dtype), example.shape), (str(array.dtype), array.shape), parts)
            result[n] = np.ascontiguousarray(array)
    return result
