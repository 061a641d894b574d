# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether what a step is described by can be meant: positions of arguments, and batches that were not named."""

from __future__ import annotations

import contextlib
import operator
import os
import re
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

import jax

from ..arguments import listed, shown
from ..errors import FrontEndError
from .located import first_failure


# What JAX, or a library, says of a function that is not for one device alone, and what it must be.
_NOT_ALONE = {
    "from (a )?different trace level": "not read or change a module beside its arguments in place: make it an argument, and return it",
    "unbound axis name": "be what one device does, without axes of devices (pmean, psum, axis_index): gradients, metrics and state are averaged over the workers "
                         "by themselves, and commsched.worker_index() is the number of one",
    "on-hashable static arg": "take all of its arguments as arrays, none as static_argnums or static_argnames: bind what is no array, as by functools.partial",
}
_PMAP = os.path.join("jax", "_src", "pmap.py")  # where its functions are; of a JAX before 0.9 they have a type of their own


class NoNewValue(FrontEndError):
    """No output of a step fits the carried argument at this position. said: the message without a hint at what may be meant."""

    def __init__(self, position: int, said: str, hint: str = ""):
        self.position, self.said = position, said
        super().__init__(said + hint)


def _position(value: Any, what: str, names: Sequence[str]) -> int:
    """Of a position, or of a name."""
    count = len(names)
    if isinstance(value, str):
        if list(names).count(value) == 1:
            return names.index(value)
        raise FrontEndError(f"{what} must be an argument of the step, {listed(names)}, got: {shown(value)}")
    try:
        position = operator.index(value)
    except TypeError:
        position = None
    if position is None or isinstance(value, bool) or not -count <= position < count:
        raise FrontEndError(f"{what} must be a position among the step's {count} arguments, or the name of one, got: {shown(value)}")
    return position % count


def _positions(values: Any, what: str, names: Sequence[str]) -> list[int]:
    if isinstance(values, bytes) or not hasattr(values, "__iter__"):
        raise FrontEndError(f"{what} must be positions among the step's {len(names)} arguments, or their names, got: {shown(values)}")
    return sorted({_position(v, what, names) for v in values})


def check_arguments(step: Callable, names: Sequence[str], params: Any, batch: Any, constant: Any):
    """(params, batch, constant) as positions from 0."""
    count = len(names)
    if not callable(step):
        raise FrontEndError(f"step must be a function, got: {type(step).__name__}")
    if type(step).__name__ == "PmapFunction" or getattr(getattr(step, "__code__", None), "co_filename", "").endswith(_PMAP):
        raise FrontEndError("the step must be what one device does, got: a function of jax.pmap")
    if count == 0:
        raise FrontEndError("the step must have example arguments, got none")
    params = _position(params, "params", names)
    batch, constant = _positions(batch, "batch", names), _positions(constant, "constant", names)
    for position in batch:
        if position == params:
            raise FrontEndError(f"argument '{names[position]}' cannot be both params and batch")
        if position in constant:
            raise FrontEndError(f"argument '{names[position]}' cannot be both constant and batch")
    if params in constant:
        raise FrontEndError(f"argument '{names[params]}' cannot be both params and constant")
    return params, batch, constant


def check_functions(functions: Any) -> None:
    if not isinstance(functions, Mapping):
        raise FrontEndError(f"functions must map names to (function, *example arguments), got: {type(functions).__name__}")
    for name, value in functions.items():
        if not isinstance(name, str) or not name.isidentifier() or name == "step":
            raise FrontEndError(f"a name in functions must be an identifier other than 'step', got: {shown(name)}")
        if not isinstance(value, (tuple, list)) or not value or not callable(value[0]):
            raise FrontEndError(f"function '{name}' must be given as (function, *example arguments), got: "
                                f"{type(value).__name__}")


def carried_meant(function: str, names: Sequence[str], examples: Sequence[Any], looks: Sequence[Sequence[int]],
                  of_step: "Mapping[int, tuple[str, Any]]") -> "dict[int, int]":
    """Which carried argument of the step an argument of a further function is, by position: of those that look like it the same object, else that of the
    same name, else the only one, or all in order. Others are batches.

    looks: of each argument the positions of those that look like it. of_step: name and example of the carried arguments of the step.
    """
    def is_object(i: int, position: int) -> bool:
        one, two = (jax.tree_util.tree_leaves(x) for x in (examples[i], of_step[position][1]))
        return len(one) == len(two) and all(a is b for a, b in zip(one, two))

    def has_name(i: int, position: int) -> bool:
        return of_step[position][0] == names[i]
    meant: "dict[int, int]" = {}
    for rule in (is_object, has_name):
        for i, positions in enumerate(looks):
            found = [p for p in positions if i not in meant and p not in meant.values() and rule(i, p)]
            if len(found) == 1:
                meant[i] = found[0]
    for i, positions in enumerate(looks):
        left = [p for p in positions if p not in meant.values()]
        if i in meant or not left:
            continue
        if sum(j not in meant and left[0] in of for j, of in enumerate(looks)) < len(left):
            of_all = " or ".join(repr(of_step[p][0]) for p in left)
            raise FrontEndError(f"argument '{names[i]}' of function '{function}' must be the same object as an argument of the step, or have its name, as it may be "
                                f"{of_all}")
        meant[i] = left[0]
    return meant


def objects_of(arguments: Sequence[Any]) -> "list[list[tuple[Any, list[Any]]]]":
    """Of each argument the objects in it that are no containers of Python, such as modules of Flax NNX, with their leaves."""
    def objects(tree: Any) -> "list[Any]":
        found = jax.tree_util.tree_leaves(tree, is_leaf=lambda x: x is not None and not isinstance(x, (dict, list, tuple)))
        return [x for x in found if not jax.tree_util.all_leaves([x])]
    return [[(x, jax.tree_util.tree_leaves(x)) for x in objects(a)] for a in arguments]


def changed(arguments: Sequence[Any], before: "list[list[tuple[Any, list[Any]]]]") -> "set[int]":
    """Positions of arguments in which an object has other leaves than before. What is changed in a container is a step's own, as under jax.jit."""
    def other(x: Any, leaves: "list[Any]") -> bool:
        now = jax.tree_util.tree_leaves(x)
        return len(now) != len(leaves) or any(a is not b for a, b in zip(now, leaves))
    return {i for i, own in enumerate(before) if any(other(*pair) for pair in own)}


def _like_batches(shapes: Sequence[Sequence[tuple]], others: Sequence[int], batch: Sequence[int]) -> list[int]:
    """Arguments all arrays of which have as many rows as a batch has samples."""
    samples = {s[0] for i in batch for s in shapes[i] if s}
    return [i for i in others if shapes[i] and all(s and s[0] in samples and s[0] > 1 for s in shapes[i])]


def _works(function: Callable[[], Any]) -> bool:
    try:
        function()
    except Exception:
        return False
    return True


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Around the tracing of what the user has written, such as "the step": what it must be, where JAX says something else."""
    try:
        yield
    except Exception as error:
        must = next((m for said, m in _NOT_ALONE.items() if re.search(said, str(error))), None)
        if must is None or isinstance(error, FrontEndError):
            raise
        raise FrontEndError(f"{what} must {must}; got: {type(error).__name__}: {first_failure(error)}") from error


@contextlib.contextmanager
def forgotten_batch(names, shapes, params: int, batch: Sequence[int], constant: Sequence[int],
                    unmatched: Callable[[], Sequence[int]], whole: "Optional[Callable[[], Any]]" = None) -> Iterator[None]:
    """Around the tracing of a step. An argument that nothing updates and that has as many rows as the batch has
    samples is most likely a batch: every worker would see all of it. Its meaning has to be said.

    shapes: of each argument's arrays. unmatched: the state that no output is the new value of, once it is traced. whole: traces the step with the
    whole batch, where it was with a part.
    """
    others = [i for i in range(len(names)) if i != params and i not in batch and i not in constant]

    def meant(positions) -> str:
        listed = " and ".join(f"'{names[i]}' ({i})" for i in positions)
        return (f"argument {listed} has as many rows as the batch has samples, but batch= names only "
                f"{', '.join(repr(names[b]) for b in batch) or 'nothing'}; name it in batch=, or in constant= if every "
                "worker is to see all of it")
    try:
        with explained("the step"):
            yield
    except NoNewValue as error:
        if error.position not in _like_batches(shapes, others, batch):
            raise
        raise FrontEndError(f"{error.said}; {meant([error.position])}") from error
    except (FrontEndError, NotImplementedError):
        raise
    except (TypeError, ValueError) as error:  # what jax says of shapes that do not fit
        like = _like_batches(shapes, others, batch)
        if isinstance(error, jax.errors.JAXTypeError):
            raise
        if like:
            raise FrontEndError(meant(like)) from error
        if whole is None or not _works(whole):
            raise
        raise FrontEndError("the step must take the part of the batch that a worker gets, as it takes the whole batch; an array beside the batch that has "
                            f"a row for each sample must be an argument named in batch=; got: {first_failure(error)}") from error
    like = _like_batches(shapes, unmatched(), batch)
    if like:
        raise FrontEndError(meant(like))
