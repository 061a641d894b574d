# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of a step's gradients when every sample of the batch is there twice.

A worker has the step of its part of the batch, and gradients are means over the workers. That is the step of one device on the
whole batch where the loss is a mean over the samples, which does not change when each is there twice. A sum becomes twice as
large; the means over N workers of sums are an N-th of it, and the training would be another one without a word.

The step is traced twice, at the shapes of one part and with twice the samples, and the two traces are followed side by side. Of
each value is known by which factor it is larger in the second: everywhere, or along the dimension of the samples, where the
second has the values of the first twice, one after the other. Whatever is not understood is not known, and nothing is said of it.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Optional, Sequence

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from . import loops, orders
from .doubling_rules import SAME, UNKNOWN, ZERO, Factor, Other, Place, common, constant, dimension_of_samples, of_mapped, result, shape
from .jax_gradient import gradient_p, loss_p
from .jaxprs import closed
from .kinds import EACH, LIMIT, NONE, SUM, Blend, Kind, Mixed, Placed, Some, decided, joined
from .mixing_rules import in_order
from .mixing_rules import result as kind_of_result
from .orders import Shuffled, by_order, factor_of, geometry, inverse, is_drawn, joined_again, order_of_largest, order_of_sort, reshaped, split, then, tiled
from .places import Known, Moved, comes_again, computed, is_place


# The operations that have another trace in them, and under which name.
_INNER = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat": "jaxpr", "remat2": "jaxpr",
          "checkpoint": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr",
          "custom_lin": "call_jaxpr", "shard_map": "jaxpr"}
# Between the devices of a mesh, of which there is one.
_AMONG_DEVICES = {"psum", "psum_invariant", "pmax", "pmin", "pvary", "pcast", "all_gather", "all_gather_invariant", "all_gather_reduced", "reduce_scatter", "all_to_all", "ppermute"}


_AGAINST_ZERO = 1e-6


class _Different(Exception):
    """The two traces have other operations."""


class Value(NamedTuple):
    """What is known of a value: by which factor it is larger, and how it depends on the samples (mixing_rules.py)."""

    factor: Factor
    kind: Kind
    known: Optional[Known] = None


def _of_constant(one: Any, two: Any, e: Any = None, known: Optional[Known] = None) -> Value:
    """Of an operation `e`, or one that the step has in it."""
    known = known or Known(lambda: (one, two))
    if jax.dtypes.issubdtype(getattr(one, "dtype", np.asarray(one).dtype), jax.dtypes.extended):
        return Value(constant(one, two), NONE, known)
    a, b = np.asarray(one), np.asarray(two)
    factor, axis = constant(a, b), dimension_of_samples(a.shape, b.shape)
    if factor is not UNKNOWN or axis is None or axis < 0:
        return Value(factor, NONE, known)
    again = comes_again(a, b, axis)
    return Value(Place() if is_place(a, b, axis) else UNKNOWN, NONE if again else Placed(e) if again is False else None, known)


def _of_finite(e: Any, values: "list[Value]") -> Factor:
    """Of a test of a sum over the samples for what is no finite number: what is claimed is of finite ones. Else UNKNOWN."""
    name, sums = e.primitive.name, [v for v in values if v.kind == SUM]
    if not sums or name not in ("is_finite", "eq", "ne"):
        return UNKNOWN
    if name == "is_finite":
        return 1.0

    def infinite(v: Value) -> bool:
        both = v.known.both() if v.known is not None else None
        return both is not None and not any(np.isfinite(np.asarray(x, np.float64)).any() for x in both)
    itself = e.invars[0] is e.invars[1]
    if not itself and not (len(sums) == 1 and any(v.kind == NONE and infinite(v) for v in values)):
        return UNKNOWN
    return 1.0 if itself == (name == "eq") else ZERO


def _by_identity(factor: Factor, known: "Sequence[Optional[Known]]") -> Factor:
    """Of a product with a multiple of the identity."""
    both = next((x for x in (k.both() for k in known if k is not None) if x is not None), None)
    return factor if both is not None and np.ndim(both[0]) == 2 and np.asarray(both[0]).flat[0] == np.asarray(both[1]).flat[0] else UNKNOWN


def _is_against_zero(known: Optional[Known]) -> bool:
    """Of a constant beside what grows or becomes smaller with the number of samples: whether it is there for a division by zero, and else may be nothing beside the other."""
    both = known.both() if known is not None else None
    return both is not None and all(np.abs(np.asarray(x, np.float64)).max(initial=0) <= _AGAINST_ZERO for x in both)


def _of_number(e: Any, f: Any, values: "Sequence[Value]") -> "list[Value]":
    """Of a loop as many times as there are samples, or as their number decides. values: what it takes."""
    alone = all(v.kind == NONE or isinstance(v.kind, Mixed) and v.kind[1:] == (LIMIT, NONE) for v in values)
    return [Value(UNKNOWN, NONE if alone and shape(v) == shape(w) else None) for v, w in zip(e.outvars, f.outvars)]


def _drawn(values: "list[Value]", found: Value) -> Value:
    """Of a random number below another: which one it is, the number of samples decides, but not what may be expected."""
    kind = found.kind
    return found._replace(kind=kind.of) if isinstance(kind, Mixed) and kind.why == LIMIT and not any(isinstance(v.kind, Mixed) for v in values) else found


class _Walk:
    def __init__(self) -> None:
        self.gradients: "list[Value]" = []
        self.path: "list[int]" = []  # of the equations that this one is in

    def run(self, one: ClosedJaxpr, two: ClosedJaxpr, inputs: Sequence[Value]) -> "list[Value]":
        a, b = one.jaxpr, two.jaxpr
        if len(a.eqns) != len(b.eqns) or len(a.invars) != len(b.invars) or len(one.consts) != len(two.consts):
            raise _Different
        known: "dict[Any, Value]" = dict(zip(a.invars, inputs, strict=True))
        known.update((v, _of_constant(x, y)) for v, x, y in zip(a.constvars, one.consts, two.consts))

        def value(v: Any, w: Any) -> Value:
            if isinstance(v, Literal):
                return _of_constant(v.val, w.val) if isinstance(w, Literal) else Value(UNKNOWN, None)
            return known[v]
        for e, f in zip(a.eqns, b.eqns):
            if e.primitive.name != f.primitive.name or len(e.invars) != len(f.invars) or len(e.outvars) != len(f.outvars):
                raise _Different
            self.path.append(id(e))
            found = self.equation(e, f, [value(v, w) for v, w in zip(e.invars, f.invars)])
            self.path.pop()
            for v, w, x in zip(e.outvars, f.outvars, found, strict=True):
                x = Value(ZERO, NONE) if 0 in shape(v) and 0 in shape(w) else x
                known[v] = x if dimension_of_samples(shape(v), shape(w)) is not None else x._replace(factor=UNKNOWN)
        return [value(v, w) for v, w in zip(a.outvars, b.outvars)]

    def equation(self, e: Any, f: Any, values: "list[Value]") -> "list[Value]":
        name = e.primitive.name
        if not e.outvars:
            return []  # a call of the host
        if e.primitive is gradient_p:
            self.gradients.append(values[0])
            return [values[0]._replace(kind=NONE, known=None)]  # the mean of all parts
        if e.primitive is loss_p:
            return values
        axes = e.params["axes" if "axes" in e.params else "axis_name"] if name in _AMONG_DEVICES else ()
        if axes and all(isinstance(a, str) for a in axes):
            return values
        reductions = of_mapped(e)
        if reductions is not None:
            return [x for one, two, v in zip(reductions, of_mapped(f) or (), values, strict=True) for x in self.equation(one, two, [v])]
        if e.params.get("name") == "isinf" and values[0].kind == SUM:
            return [Value(ZERO, NONE)]
        if name in ("concatenate", "split"):  # with nothing, as a pad by nothing is
            of = [i for i, (v, w) in enumerate(zip(*([*g.invars, *g.outvars] for g in (e, f)))) if 0 not in shape(v) or 0 not in shape(w)]
            if len(of) == 2:
                return [values[min(of)]] * len(e.outvars)
        if name in _INNER and _INNER[name] in e.params:
            found = _placed(e, values, self.run(closed(e.params[_INNER[name]]), closed(f.params[_INNER[name]]), values))
            return found if e.params.get("name") != "_randint" else [_drawn(values, v) for v in found]
        if name in ("scan", "while", "cond"):
            numbers = computed(e, f, [v.known for v in values])
            both = [(x, x.both()) for x in numbers or ()]
            if both and all(pair is not None for _, pair in both):
                return [_of_constant(pair[0], pair[1], e, x) for x, pair in both if pair is not None]
        if name == "scan":
            return self.scan(e, f, values)
        if name == "while":
            return self.repeated(e, f, values)
        if name == "cond":
            return self.cond(e, f, values)
        if name == "custom_linear_solve":
            return self.solved(e, f, values)
        factors, kinds, known = [v.factor for v in values], [v.kind for v in values], [v.known for v in values]
        if name in ("sort", "top_k") or by_order(e, factors):
            ordered = self.ordered(e, f, values)
            if ordered is not None:
                return ordered
        if kinds[:1] == [EACH] or kinds and isinstance(kinds[0], Shuffled):
            order = kinds[0].order if isinstance(kinds[0], Shuffled) else ()
            merged = reshaped(e, f, order) if name == "reshape" else tiled(e, f, order) if name == "tile" else None
            if merged is not None and not isinstance(factors[0], Place):
                return [Value(factors[0], Shuffled(merged, e, getattr(kinds[0], "rows", 1)) if merged else EACH)]
        cut = name == "reshape" and (split(e, f) or joined_again(e, f, kinds[0]))
        if cut and (kinds[0] == EACH or isinstance(kinds[0], Shuffled)):
            return [Value(factors[0], in_order(kinds[0], cut, e, f, None))]
        finite = _of_finite(e, values)
        if finite is not UNKNOWN:
            return [Value(finite, NONE)]
        if name in ("add", "max") and any(x not in SAME for x in factors):
            factors = [UNKNOWN if x == 1.0 and _is_against_zero(k) else x for x, k in zip(factors, known)]
        factor, constants = result(e, f, factors), computed(e, f, known)
        if constants is not None and factor is not UNKNOWN and not isinstance(factor, (Other, Place)):
            return [Value(factor, NONE, x) for x in constants]
        both = [(x, x.both()) for x in constants or ()]
        if both and all(pair is not None for _, pair in both):
            found = [_of_constant(pair[0], pair[1], e, x) for x, pair in both if pair is not None]
            return [v._replace(factor=factor, kind=Placed(e)) if isinstance(factor, Place) and factor.column >= 0 else v for v in found]
        if isinstance(factor, Place):
            return [Value(factor, kind_of_result(e, f, kinds, factors, known, factor) if kinds else Placed(e))]
        if e.primitive.name == "split":
            return [Value(factor, kind_of_result(e, f, kinds, factors, known, factor, i)) for i in range(len(e.outvars))]
        kind = kind_of_result(e, f, kinds, factors, known, factor)
        if not orders.to_be_expected(kinds, kind):
            factor = UNKNOWN
        if factor is UNKNOWN and isinstance(kind, Moved) and kind.twice():
            factor = common([x for x, k in zip(factors, kinds) if k == EACH or isinstance(k, Moved)])
        if factor is UNKNOWN and name == "dot_general" and (kind == EACH or isinstance(kind, Shuffled)) and NONE in kinds:
            factor = _by_identity(next((x for x, k in zip(factors, kinds) if k != NONE), UNKNOWN), known)
        return [Value(factor, kind)] * len(e.outvars)

    def ordered(self, e: Any, f: Any, values: "list[Value]") -> "Optional[list[Value]]":
        """Of a sort along the samples, or of what takes or sets them in such an order; None if it is something else."""
        factors, kinds, known = [v.factor for v in values], [v.kind for v in values], [v.known for v in values]
        name = e.primitive.name
        if name not in ("sort", "top_k"):
            at = factors[1]
            if not isinstance(at, Place) or not geometry(e, f, at):
                return None
            of = 0 if e.primitive.name == "gather" else 2
            same = orders.uniform(e.invars[of], f.invars[of], factors[of], known[of])
            kind = in_order(kinds[of], at.order if of == 0 else inverse(at.order), e, f, same)
            if name in ("scatter-add", "scatter_add"):
                kind = joined([kinds[0], kind], e)
            return [Value(factor_of(e, factors) if orders.to_be_expected([at], kind) else UNKNOWN, kind)]
        order = (order_of_sort(e, f, kinds, factors, known, tuple(self.path)) if name == "sort" else
                 order_of_largest(e, f, kinds[0], factors[0], known[0], tuple(self.path)))
        if order is None:
            return None

        def of_places(own: "tuple[Any, ...]") -> Value:
            found = then(own, order or ())
            return Value(Place(-1, found), NONE if found and is_drawn(found) else Mixed(e) if found else Placed(e))

        def of_operand(i: int) -> Value:
            place = factors[i]
            if isinstance(place, Place):
                return of_places(place.order)
            if i < e.params.get("num_keys", 1) and kinds[i] == NONE:
                return Value(factors[i], None)  # random numbers from the smallest to the largest
            kind = in_order(kinds[i], order, e, f, orders.uniform(e.invars[i], f.invars[i], factors[i], known[i]))
            return Value(factors[i] if orders.to_be_expected([Place(-1, order or ())], kind) else UNKNOWN, kind)
        return [of_operand(i) for i in range(len(values))] + ([of_places(())] if name == "top_k" else [])

    def scan(self, e: Any, f: Any, values: "list[Value]") -> "list[Value]":
        consts, carried = e.params["num_consts"], e.params["num_carry"]
        if e.params["length"] != f.params["length"]:
            if not loops.over_samples(e, f):
                raise _Different
            return self.over_samples(e, f, values)
        values = [v._replace(known=None) for v in values]
        carry, before = values[consts:consts + carried], len(self.gradients)
        while True:
            del self.gradients[before:]
            out = self.run(e.params["jaxpr"], f.params["jaxpr"], [*values[:consts], *carry, *values[consts + carried:]])
            out = [v._replace(known=None) for v in out]
            # What is added up begins as zero; what else changes from one time to the next is not known.
            new = [Value(x.factor if x.factor == y.factor else y.factor if x.factor == ZERO else x.factor if y.factor == ZERO else UNKNOWN,
                         joined([x.kind, y.kind], e)) for x, y in zip(carry, out)]
            if new == carry:
                return carry + out[carried:]
            carry = new

    def over_samples(self, e: Any, f: Any, values: "list[Value]") -> "list[Value]":
        consts, count, before = e.params["num_consts"], e.params["num_carry"], len(self.gradients)
        given, begin, rows = values[:consts], values[consts:consts + count], values[consts + count:]
        if not rows and all(v.kind == NONE for v in values):
            return _of_number(e, f, values)
        how = [loops.carried(e.params["jaxpr"].jaxpr, consts, i) for i in range(count)]
        rows, order = loops.in_one_order(rows)
        rest = zip(e.invars[consts + count:], f.invars[consts + count:], rows)
        one = [Value(x.factor, loops.of_one(x.kind, x.factor, orders.uniform(v, w, x.factor, x.known))) for v, w, x in rest]
        given = [x._replace(kind=x.kind if loops.all_kinds([x.kind]) else None, known=None) for x in given]
        inside = [loops.inside_kind(h, x.kind, e) for h, x in zip(how, begin)]
        while True:
            del self.gradients[before:]
            carry = [Value(loops.inside_factor(h, x.factor), k) for h, x, k in zip(how, begin, inside)]
            out = self.run(e.params["jaxpr"], f.params["jaxpr"], [*given, *carry, *one])
            new = [k if h.added and h.alone else loops.next_kind(h, k, x.kind, e) for h, k, x in zip(how, inside, out)]
            if new == inside:
                break
            inside = new
        follows = any(k == SUM and not h.same for h, k in zip(how, inside))
        ends = [Value(loops.factor_at_the_end(h, x.factor, y.factor), loops.at_the_end(h, x.kind, y.kind, k, e))
                for h, x, y, k in zip(how, begin, out, inside)]
        ends = [x._replace(kind=loops.all_of(x.kind, order)) for x in ends]
        beside = [loops.of_all(x.kind, follows, e) for x in out[count:]]
        return ends + [Value(x.factor, order if k == EACH else k) for x, k in zip(out[count:], beside)]

    def repeated(self, e: Any, f: Any, values: "list[Value]") -> "list[Value]":
        """While a condition holds that is the same for any batch."""
        tested, consts, before = e.params["cond_nconsts"], e.params["body_nconsts"], len(self.gradients)
        values = [v._replace(known=None) for v in values]
        carry = values[tested + consts:]
        while True:
            del self.gradients[before:]
            go = self.run(e.params["cond_jaxpr"], f.params["cond_jaxpr"], [*values[:tested], *carry])[0]
            if isinstance(go.kind, Mixed):
                # LIMIT: such as once for each sample
                return _of_number(e, f, [*values, *carry]) if go.kind.why == LIMIT else [Value(UNKNOWN, go.kind)] * len(carry)
            if go.kind == SUM or isinstance(go.kind, Blend):
                return [Value(UNKNOWN, Mixed(e))] * len(carry)
            out = self.run(e.params["body_jaxpr"], f.params["body_jaxpr"], [*values[tested:tested + consts], *carry])
            new = [Value(x.factor if x.factor == y.factor else y.factor if x.factor == ZERO else x.factor if y.factor == ZERO else UNKNOWN,
                         joined([x.kind, y.kind], e)) for x, y in zip(carry, out)]
            if new == carry:
                return carry if go.kind == NONE and go.factor in SAME else _of_number(e, f, [*values, *carry])
            carry = new

    def solved(self, e: Any, f: Any, values: "list[Value]") -> "list[Value]":
        """A system of equations: by what solves it, which takes its own of the constants, and the right sides."""
        counts = e.params["const_lengths"]
        begin, sides = counts.matvec + counts.vecmat, values[sum(counts):]
        return self.run(e.params["jaxprs"].solve, f.params["jaxprs"].solve, [*values[begin:begin + counts.solve], *sides])

    def cond(self, e: Any, f: Any, values: "list[Value]") -> "list[Value]":
        chosen = values[0]
        branches = [self.run(a, b, values[1:]) for a, b in zip(e.params["branches"], f.params["branches"], strict=True)]

        def either(found: Sequence[Value]) -> Value:
            kind = joined([v.kind for v in found], e)
            return Value(common([v.factor for v in found]) if chosen.factor in SAME else UNKNOWN,
                         kind if chosen.kind == NONE else decided(chosen.kind, kind) if chosen.kind is None or isinstance(chosen.kind, Mixed) else Mixed(e))
        return [either(found) for found in zip(*branches)]


_JAX = os.path.dirname(os.path.abspath(jax.__file__)) + os.sep


def _placed(e: Any, values: "list[Value]", found: "list[Value]") -> "list[Value]":
    """Results of the trace within an equation. Those of JAX's own functions have the line of who called them first: it is the equation that has them."""
    jaxpr = e.params[_INNER[e.primitive.name]]
    if not (getattr(getattr(jaxpr, "jaxpr", jaxpr).debug_info, "func_filename", None) or "").startswith(_JAX):
        return found
    before = [v.kind for v in values]
    return [v._replace(kind=v.kind._replace(by=e)) if isinstance(v.kind, (Blend, Mixed)) and v.kind not in before else v for v in found]


def followed(one: ClosedJaxpr, two: ClosedJaxpr) -> "tuple[list[Value], list[Value]]":
    """What is known of each gradient that is marked, in their order, and of each result. Empty if the two traces differ."""
    walk, shapes = _Walk(), [dimension_of_samples(shape(v), shape(w)) for v, w in zip(one.jaxpr.invars, two.jaxpr.invars)]
    try:
        results = walk.run(one, two, [Value(UNKNOWN, None) if d is None else Value(1.0, NONE if d < 0 else EACH) for d in shapes])
    except _Different:
        return [], []
    return walk.gradients, results


def factors_of(one: ClosedJaxpr, two: ClosedJaxpr) -> "list[Factor]":
    """By which factor each gradient that is marked is larger with twice the samples, in their order; UNKNOWN where that is not
    known. Empty if the two traces differ."""
    return [v.factor for v in followed(one, two)[0]]
