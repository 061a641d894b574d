# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a step takes of the place of a sample in the batch (doubling.py): values that no argument of the step has a part in are computed, and samples
that are moved, chosen or left out by their places are followed by their numbers.

A worker's part begins with place 0, as the whole batch does. So weights by place are those of the whole batch only where they come again with every
part, as `jnp.arange(n) % 2` does, and `jnp.linspace(0, 1, n)` does not.
"""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple, Optional, Sequence, Union

import jax
import jax.numpy as jnp
import numpy as np

from .doubling_rules import _ADDED, _COMPARED, _EQUAL, _LINEAR, _PLAIN, _RULES, Place, dimension_of_samples, shape
from .jaxprs import closed, equations, inner

_MOST = 1 << 22  # elements of what is computed
# Not the same in every run, on every worker.
_DRAWN = {n for n in _PLAIN if n.startswith(("random", "threefry", "cs_"))}
_COMPUTED = (_LINEAR | _ADDED | _EQUAL | _COMPARED | _PLAIN | set(_RULES) | {"cumprod", "reduce_prod", "split", "scatter-mul", "scatter_mul", "scatter-min", "scatter_min", "scatter-max", "scatter_max"}) - _DRAWN
_LOOPS = {"scan", "while", "cond", "jit", "pjit", "closed_call"}
_JOINS = ("pad", "concatenate", "scatter", "dynamic_update_slice")
_ADDS = ("scatter-add", "scatter_add")
_MOVES = (*_JOINS, "slice", "rev", "dynamic_slice", "gather", "split")


class Known:
    """A value that depends on no argument of the step, in both traces: computed when it is asked for."""

    def __init__(self, compute: "Callable[[], Optional[tuple[Any, Any]]]"):
        self._compute: "Optional[Callable[[], Optional[tuple[Any, Any]]]]" = compute
        self._found: "Optional[tuple[Any, Any]]" = None

    def both(self) -> "Optional[tuple[Any, Any]]":
        """None of what is too large, or cannot be computed here."""
        if self._compute is not None:
            compute, self._compute = self._compute, None
            self._found = compute()
        return self._found


def _elements(*variables: Any) -> int:
    return max(math.prod(shape(v)) for v in variables)


def _bound(e: Any, arguments: Sequence[Any]) -> "list[Any]":
    with np.errstate(all="ignore"):  # it is not the step that runs
        found = e.primitive.bind(*arguments, **e.params)
    return list(found) if e.primitive.multiple_results else [found]


def _is_computed(e: Any) -> bool:
    """Whether an operation, and all within it, makes numbers of numbers."""
    if e.primitive.name in _LOOPS:
        return all(g.primitive.name in _COMPUTED | _LOOPS for x in inner(e) for g in equations(closed(x).jaxpr))
    return e.primitive.name in _COMPUTED


def computed(e: Any, f: Any, operands: "Sequence[Optional[Known]]") -> "Optional[list[Known]]":
    """The results of an operation of values that are known."""
    if None in operands or not _is_computed(e) or _elements(*e.outvars, *f.outvars) > _MOST:
        return None

    def compute() -> "Optional[list[tuple[Any, Any]]]":
        given = [k.both() for k in operands if k is not None]
        if None in given:
            return None
        try:
            return list(zip(_bound(e, [g[0] for g in given if g]), _bound(f, [g[1] for g in given if g])))
        except Exception:  # of other devices, or not outside of a trace
            return None
    once: "list[Any]" = []

    def of(i: int) -> "Optional[tuple[Any, Any]]":
        if not once:
            once.append(compute())
        return None if once[0] is None else once[0][i]
    return [Known(lambda i=i: of(i)) for i in range(len(e.outvars))]  # type: ignore[misc]


def comes_again(one: np.ndarray, two: np.ndarray, axis: int) -> Optional[bool]:
    """Whether the second has the values of the first twice, one after the other, but for a factor; None if that is not sure."""
    a = np.concatenate([one, one], axis)
    if not jax.dtypes.issubdtype(a.dtype, np.number):
        return bool((a == two).all())
    a, b = (np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64) for x in (a, two))
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return True if np.array_equal(a, b, equal_nan=True) else None
    norm, error = np.vdot(a, a).real, max(abs(a).max(initial=0), abs(b).max(initial=0))
    if norm == 0:
        return not b.any()
    off = abs(b - a * (np.vdot(a, b) / norm)).max()
    return True if off <= 1e-6 * error else None if off <= 1e-3 * error else False


def is_place(one: np.ndarray, two: np.ndarray, axis: int) -> bool:
    def numbers(x: np.ndarray) -> bool:
        row = np.arange(x.shape[axis]).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        return np.issubdtype(x.dtype, np.integer) and bool((x == row).all())
    return numbers(one) and numbers(two)


class Moved(NamedTuple):
    """Along `axis` the rows of EACH, in another order or some of them: of these numbers, in the two traces; -1: no row of it. EACH has `rows` of them in the
    first trace. pure: each is the same function of its own sample; else another one in some places. By `by`."""

    one: "tuple[int, ...]"
    two: "tuple[int, ...]"
    rows: int
    axis: int
    by: Any
    pure: bool = True

    def again(self) -> "list[int]":
        """The rows of two parts, one after the other, by their numbers in both."""
        return [*self.one, *(r + self.rows if r >= 0 else r for r in self.one)]

    def comes_again(self) -> bool:
        """Whether the rows of two parts are those of both, in some order."""
        return sorted(self.again()) == sorted(self.two)

    def twice(self) -> bool:
        """Whether the second trace has the rows of the first twice, if those are the same twice."""
        return self.pure and min(self.two, default=-1) >= 0 and tuple(r % self.rows for r in self.two) == (*self.one, *self.one)

    def like(self, other: "Moved") -> bool:
        return self[:3] == other[:3]

    def in_place(self) -> bool:
        """Whether each row is at its own place."""
        return self.one == tuple(range(self.rows)) and self.two == tuple(range(2 * self.rows))

    def beside(self, other: "Moved") -> "Optional[Moved]":
        """The sum of two that have rows in different places."""
        if self.rows != other.rows or any(a >= 0 and b >= 0 for a, b in (*zip(self.one, other.one), *zip(self.two, other.two))):
            return None
        return self._replace(one=tuple(map(max, self.one, other.one)), two=tuple(map(max, self.two, other.two)), pure=False)


def pairs_come_again(a: Moved, b: Moved) -> bool:
    """Whether what two parts bring together is what both bring together."""
    return a.rows == b.rows and sorted(zip(a.again(), b.again())) == sorted(zip(a.two, b.two))


def own(v: Any, w: Any, by: Any) -> Optional[Moved]:
    """EACH as such: each row at its own place."""
    axis = dimension_of_samples(shape(v), shape(w))
    if axis is None or axis < 0:
        return None
    return Moved(tuple(range(shape(v)[axis])), tuple(range(shape(w)[axis])), shape(v)[axis], axis, by)


def own_rows(e: Any, f: Any, indices: "Optional[Known]") -> bool:
    """Whether a gather takes of each row something at its own place, by indices that are known and not those of the rows alone."""
    both, numbers = indices.both() if indices is not None else None, e.params["dimension_numbers"]
    axis, samples = dimension_of_samples(shape(e.invars[0]), shape(f.invars[0])), dimension_of_samples(shape(e.invars[1]), shape(f.invars[1]))
    if both is None or samples is None or axis not in numbers.start_index_map or samples != 0:
        return False
    column = numbers.start_index_map.index(axis)
    one, two = (np.asarray(b)[..., column] for b in both)
    return is_place(one, two, 0)


def moves(e: Any, operands: "Sequence[Union[Moved, Known, None]]") -> bool:
    """Whether an operation changes which rows are where, of those that are given."""
    name, first = e.primitive.name, next((x for x in operands if isinstance(x, Moved)), None)
    if name in _ADDS:
        same = first is not None and len(operands) == 3 and operands[2] is first and shape(e.invars[0]) == shape(e.invars[2])
        return same and isinstance(operands[1], Known) and first is not None and tuple(e.params["dimension_numbers"].scatter_dims_to_operand_dims) == (first.axis,)
    if name not in _MOVES or first is None:
        return False
    axis, before, after = first.axis, shape(e.invars[0]), shape(e.outvars[0])
    if name == "concatenate":
        return bool(e.params["dimension"] == axis)
    if name == "split":
        return bool(e.params["axis"] == axis)
    if not isinstance(operands[0], Moved):
        return False
    if name == "gather":
        whole = all(s == n for i, (s, n) in enumerate(zip(e.params["slice_sizes"], before)) if i != axis)
        return whole and isinstance(operands[1], Known) and (axis in e.params["dimension_numbers"].start_index_map or e.params["slice_sizes"][axis] != before[axis])
    if name == "scatter":
        return isinstance(operands[1], Known) and not isinstance(operands[2], Moved) and axis in e.params["dimension_numbers"].scatter_dims_to_operand_dims
    if name == "dynamic_update_slice":
        return not isinstance(operands[1], Moved) and shape(e.invars[1])[axis] != before[axis]
    if name == "slice":
        return (e.params["start_indices"][axis], e.params["limit_indices"][axis], (e.params["strides"] or [1] * len(before))[axis]) != (0, before[axis], 1)
    return {"rev": lambda: axis in e.params["dimensions"], "pad": lambda: tuple(e.params["padding_config"][axis]) != (0, 0, 0),
            "dynamic_slice": lambda: after[axis] != before[axis]}[name]()


def moved(e: Any, f: Any, operands: "Sequence[Union[Moved, Known, None]]", index: int) -> "Optional[Moved]":
    """The result of this index of an operation that moves rows by their places: what it makes of the numbers of rows. Operands: their rows, or what is known of them. None
    if it does something else."""
    rows = {x.rows for x in operands if isinstance(x, Moved)}
    axes = {x.axis for x in operands if isinstance(x, Moved)}
    if len(rows) != 1 or len(axes) != 1:
        return None
    if _elements(*e.invars, *f.invars, *e.outvars, *f.outvars) > _MOST:
        return None

    def added(g: Any, second: int) -> "Optional[np.ndarray]":
        """Rows that are added to what is zero: if no two to the same."""
        both, rows_of = operands[1].both(), operands[2]  # type: ignore[union-attr]
        if both is None or not isinstance(rows_of, Moved):
            return None
        along = np.asarray((rows_of.one, rows_of.two)[second], np.int32).reshape([-1 if i == rows_of.axis else 1 for i in range(len(shape(g.invars[2])))])
        zero = jnp.zeros(shape(g.invars[0]), g.invars[0].aval.dtype)
        if zero.dtype.itemsize < 4:
            return None
        try:
            sums = [np.asarray(_bound(g, [zero, both[second], jnp.asarray(np.broadcast_to(x, shape(g.invars[2])), zero.dtype)])[0]).astype(np.int32) for x in (along + 1, along * 0 + 1)]
        except Exception:
            return None
        return sums[0] - 1 if sums[1].max(initial=0) <= 1 else None

    def numbers(g: Any, second: int) -> "Optional[np.ndarray]":
        if g.primitive.name in _ADDS:
            return added(g, second)
        given = []
        for v, x in zip(g.invars, operands):
            if isinstance(x, Moved):
                along = np.asarray((x.one, x.two)[second], np.int32).reshape([-1 if i == x.axis else 1 for i in range(len(shape(v)))])
                given.append(jnp.asarray(np.broadcast_to(along, shape(v))))
            elif g.primitive.name in ("pad", "concatenate") or len(given) == {"scatter": 2, "dynamic_update_slice": 1}.get(g.primitive.name):
                given.append(jnp.full(shape(v), -1, np.int32))
            else:
                both = x.both() if x is not None else None
                if both is None:
                    return None
                given.append(both[second])
        try:
            return np.asarray(_bound(g, given)[index])
        except Exception:
            return None
    one, two = numbers(e, 0), numbers(f, 1)
    if one is None or two is None:
        return None
    axis, pure = axes.pop(), e.primitive.name not in (*_JOINS, *_ADDS) and all(x.pure for x in operands if isinstance(x, Moved))
    if e.primitive.name == "gather":
        varies = [i for i in range(two.ndim) if (two != two.take([0], i)).any()]
        if not varies and two.size:  # of one row
            return Moved((int(one.flat[0]),), (int(two.flat[0]),), rows.pop(), -1, e, pure)
        if len(varies) != 1:
            return None
        axis = varies[0]
    if any((x != x.take([0], i)).any() for x in (one, two) for i in range(x.ndim) if i != axis and x.shape[i]):
        return None  # other rows of each column

    def column(x: np.ndarray) -> "tuple[int, ...]":
        return tuple(np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)[:, 0].clip(-1).tolist()) if x.size else ()
    return Moved(column(one), column(two), rows.pop(), axis, e, pure)
