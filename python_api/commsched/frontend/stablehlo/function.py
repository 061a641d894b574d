# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole functions and modules of level 0."""

from __future__ import annotations

import dataclasses
import re
from typing import Callable, Mapping, Optional, Sequence

from ...errors import FrontEndError
from ..base import left_behind
from .dependence import Dependences, check_unmarked
from .ir import Printer, Value, drop_dead, quoted
from .walker import Walker


@dataclasses.dataclass
class FunctionSpec:
    """What the attributes of a level-0 function say.

    arguments: (kind, name) with kind "param", "state" or "batch".
    results: (kind, name) with kind "updates" or "metric".
    scalars: carried scalars whose new values were found among other scalars: each must
    depend on its old value, and not by the loss alone, else it was a metric.
    alike: of two carried arguments the names of their values: what was found as the new value of the one might also be that of
    the other, which has none.
    row_sparse: names of parameters whose gradients are row-sparse.
    """

    name: str
    arguments: Sequence[tuple[str, str]]
    results: Sequence[tuple[str, str]]
    is_step: bool = False
    global_batch: Optional[int] = None
    scalars: Sequence[str] = ()
    row_sparse: Sequence[str] = ()
    alike: "Sequence[tuple[Sequence[str], Sequence[str]]]" = ()


def level0_function(module, spec: FunctionSpec, locate: Callable[[str], Optional[str]], printer: Printer) -> list[str]:
    """The lines of one function; module's public function is walked.

    For the step: parameters without a gradient are made state in spec.arguments.
    Raises UnsupportedOp and FrontEndError.
    """
    walker = Walker(module, {}, locate)
    main = walker.functions["main"]
    block = main.regions[0].blocks[0]
    arguments = [Value(*walker.type_of(jax_value)) for jax_value in block.arguments]
    if len(arguments) != len(spec.arguments):  # JAX gives a program what it takes from elsewhere as arguments
        raise left_behind("the step" if spec.is_step else f"function {spec.name!r}")
    for value, (kind, name) in zip(arguments, spec.arguments, strict=True):
        if kind == "param":
            walker.carried[value.id] = name
            if name in spec.row_sparse:
                walker.tables[value.id] = (value.shape, value.dtype)
    results = walker.function("main", arguments)
    if spec.is_step and not walker.gradients:
        raise FrontEndError(
            "the step has no gradient of a parameter: take it with jax.value_and_grad or jax.grad at a leaf of the "
            "params argument itself, or mark it with commsched.mark_gradients(grads, params)")
    params = [name for kind, name in spec.arguments if kind == "param"]
    if spec.is_step:
        updated = {name for kind, name in spec.results if kind == "updates"}
        spec.arguments = [("state" if kind == "param" and name in updated and name not in walker.gradients else kind,
                           name) for kind, name in spec.arguments]
        for name in spec.row_sparse:
            if name not in walker.gradients:
                raise FrontEndError(f"the step has no gradient of '{name}', which row_sparse names")
    body = walker.e.block
    known = Dependences(body)
    old = {name: value for value, (_, name) in zip(arguments, spec.arguments)}
    for value, (kind, name) in zip(results, spec.results):
        if kind == "updates" and name in spec.scalars and old[name].id not in known.of([value.id], walker.losses):
            by_loss = old[name].id in known.of([value.id])
            raise FrontEndError(f"an output of the step looks like the new value of '{name}' but does not depend on "
                                f"it{' otherwise than by the loss' if by_loss else ''}; if '{name}' is constant, name its position in constant=; if the output is a metric, return it after the new value")
    if spec.is_step:
        new = {name: value for value, (kind, name) in zip(results, spec.results) if kind == "updates"}
        _check_alike(known, old, new, spec.alike)
        batch = [name for kind, name in spec.arguments if kind == "batch"]
        check_unmarked(known, old, new, params, batch, walker.gradients, walker.differentiated)
    types = ", ".join(r.type for r in results)
    body.terminator = f"return {', '.join(r.ref for r in results)} : {types}"
    drop_dead(body, set())

    printer.begin_function()
    heads: list[str] = []
    names: set[str] = set()
    for value, (kind, name) in zip(arguments, spec.arguments):
        printer.names[value.id] = "%" + _identifier(name, names)
        mark = ", cs.row_sparse" if kind == "param" and name in spec.row_sparse else ""
        heads.append(f'{printer.names[value.id]}: {value.type} {{cs.{kind} = {quoted(name)}{mark}}}')
    outs = [f'{r.type} {{cs.{kind} = {quoted(name)}}}' for r, (kind, name) in zip(results, spec.results, strict=True)]
    attributes = (["cs.step"] if spec.is_step else []) + (
        [f"cs.global_batch = {spec.global_batch} : i64"] if spec.global_batch else [])
    lines = [f"func.func @{spec.name}("]
    lines += [f"    {h}," for h in heads[:-1]] + [f"    {h}" for h in heads[-1:]]
    lines.append("  ) -> (")
    lines += [f"    {o}," for o in outs[:-1]] + [f"    {o}" for o in outs[-1:]]
    lines.append("  )" + (f" attributes {{{', '.join(attributes)}}}" if attributes else "") + " {")
    lines += printer.block(body, 1)
    lines.append("}")
    return lines


def _check_alike(known: Dependences, old: "Mapping[str, Value]", new: "Mapping[str, Value]", alike: "Sequence[tuple[Sequence[str], Sequence[str]]]") -> None:
    """Refuses what is taken for the new value of one argument, but is made of another one, which has none, and not of that. What gradients are made of does not count."""
    for taken, other in alike:
        of = known.of([new[name].id for name in taken], known.gradients)
        if of.isdisjoint(old[name].id for name in taken) and not of.isdisjoint(old[name].id for name in other):
            raise FrontEndError(f"an output of the step looks like the new value of '{taken[0]}', but depends on '{other[0]}' and not on it; "
                                "name the positions of arguments that are constant in constant=, and return the new values of the others in their order")


def _identifier(name: str, taken: set[str]) -> str:
    """A readable SSA name that no generated one equals."""
    text = re.sub(r"[^\w.]", "_", name, flags=re.ASCII)
    if not re.match(r"[A-Za-z_]", text) or re.match(r"(b|in_|out_|pad_|r)\d", text):
        text = "arg_" + text
    while text in taken:
        text += "_"
    taken.add(text)
    return text


def level0_module(functions: Sequence[Sequence[str]], printer: Printer, header: Sequence[str] = ()) -> str:
    """The text of a module: aliases, header lines (cs.cluster) and functions."""
    lines = [f"{alias} = {text}" for text, alias in printer.maps.items()]
    lines += list(header)
    for function in functions:
        lines += ["", *function] if lines else list(function)
    lines += [f"{alias} = loc({text})" for text, alias in printer.locations.items()]
    return "\n".join(lines) + "\n"
