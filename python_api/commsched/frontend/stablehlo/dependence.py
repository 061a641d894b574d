# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is computed from what, through loops and branches value by value."""

from __future__ import annotations

import re
from typing import Collection, Iterable, Mapping, Sequence

from ...errors import FrontEndError
from .ir import Block, Op, Value, references

_INIT = re.compile("\u27e6(\\d+)\u27e7 = \u27e6(\\d+)\u27e7")


class Dependences:
    """Of the values of a function's body, by their ids.

    gradients: for the result of each cs.gradient its operand. indices: the results of cs.worker_index.
    """

    def __init__(self, body: Block):
        self.gradients: dict[int, int] = {}
        self.indices: set[int] = set()
        self._sources: dict[int, list[int]] = {}
        self._block(body)

    def of(self, values: Iterable[int], without: Collection[int] = ()) -> set[int]:
        """The values and all that they are computed from; what `without` is computed from is not looked at."""
        found, todo = set(), list(values)
        while todo:
            value = todo.pop()
            if value not in found:
                found.add(value)
                if value not in without:
                    todo += self._sources.get(value, ())
        return found

    def _from(self, value: int, sources: Iterable[int]) -> None:
        self._sources.setdefault(value, []).extend(sources)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if op.regions:
                self._control(op)
                continue
            sources = list(references(op.text))
            for result in op.results:
                self._from(result.id, sources)
                if op.text.startswith("cs.gradient "):
                    self.gradients[result.id] = sources[0]
                elif op.text.startswith("cs.worker_index"):
                    self.indices.add(result.id)

    def _control(self, op: Op) -> None:
        """A loop or a branch, as control.py writes them."""
        ends = []
        for region in op.regions:
            self._block(region)
            ends.append(list(references(region.terminator)))
        for argument, init in _INIT.findall(op.text):
            self._from(int(argument), [int(init)])
        if op.text.startswith("scf.for"):
            for result, argument, end in zip(op.results, op.regions[0].arguments[1:], ends[0], strict=True):
                self._from(argument.id, [end])
                self._from(result.id, [argument.id])
        elif op.text.startswith("scf.while"):
            before, after = (region.arguments for region in op.regions)
            for result, test, inner, end in zip(op.results, before, after, ends[1], strict=True):
                self._from(test.id, [end])
                self._from(inner.id, [test.id])
                self._from(result.id, [test.id, ends[0][0]])
        else:
            selector = list(references(op.text))
            for result, *values in zip(op.results, *ends, strict=True):
                self._from(result.id, [*selector, *values])


def check_unmarked(known: Dependences, arguments: Mapping[str, Value], results: Mapping[str, Value], params: Collection[str],
                   batch: Collection[str], gradients: Collection[str], differentiated: Sequence[tuple[Value, str]]) -> None:
    """Refuses updates by gradients that are marked nowhere: every worker would take its own, of which each new value
    would be the mean. What is updated from the batch without a gradient is a running statistic only as long as
    gradients do not depend on it, or it is state by the user's word.

    arguments: all of them, by name; results: new values of the carried ones. gradients: names of parameters that have one.
    differentiated: what is no parameter and has a gradient nevertheless, and where it was taken.
    """
    carried = {arguments[name].id: name for name in results}
    local = {arguments[name].id for name in batch} | known.indices
    own = {name for name in results if name not in gradients
           and not local.isdisjoint(known.of([results[name].id], known.gradients))}

    def refuse(name: str, why: str):
        raise FrontEndError(f"{why}, but its new value depends on the batch and on no gradient of it that is marked: every "
                            "worker would use a gradient of its own; mark it with commsched.mark_gradients(grads, params) as "
                            f"that of a leaf of params, or, if '{name}' is a running statistic, keep it in an argument of its own")
    for value, where in differentiated:
        of = known.of([value.id])
        names = [carried[i] for i in of if i in carried]
        if len(names) == 1 and names[0] in own and local.isdisjoint(of):
            refuse(names[0], f"{where}a gradient is taken of '{names[0]}', or of what is made from it")
    for value, where in differentiated:
        of = known.of([value.id], known.gradients)
        if not local.isdisjoint(of) or of.isdisjoint(known.gradients):
            continue
        for name in sorted(gradients):
            if arguments[name].id in of and name in results and not local.isdisjoint(known.of([results[name].id], known.gradients)):
                raise FrontEndError(
                    f"{where}a second gradient of '{name}' is taken, where the first one has led, as sharpness-aware minimization does, and a step has one mean of the gradients of "
                    "each parameter: every worker would use a second one of its own; mark the second ones alone with commsched.mark_gradients(grads, params), and each worker goes "
                    "there by the gradient of its own part of the batch")
    reached = known.of(known.gradients.values())
    for name in own:
        if name in params and arguments[name].id in reached:
            refuse(name, f"the gradients of the step depend on the parameter '{name}'")
