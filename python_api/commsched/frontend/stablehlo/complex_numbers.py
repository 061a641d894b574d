# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers within a step: two tensors, of real and of imaginary parts. Nothing that is carried or measured is complex."""

from __future__ import annotations

import dataclasses
import re
from typing import Callable

import jax.numpy as jnp
import numpy as np

from .fourier import transform
from .ir import Value
from .library import inline
from .walker import COMPLEX_HANDLERS, HANDLERS, Walker


@dataclasses.dataclass
class Pair:
    """What stands for a value of complex elements."""

    real: Value
    imag: Value


def _handles(*names: str):
    def register(function):
        for name in names:
            COMPLEX_HANDLERS["stablehlo." + name] = function
        return function
    return register


def _part(w: Walker, op, choice: list[str]) -> list[Value]:
    """The operation's own handler, with a part of each complex operand."""
    saved = {o: w.values[o] for o in op.operands}
    try:
        for operand, name in zip(op.operands, choice):
            if isinstance(saved[operand], Pair):
                w.values[operand] = getattr(saved[operand], name)
        w.parts += 1
        HANDLERS[op.name](w, op)
        return [w.values[r] for r in op.results]
    finally:
        w.parts -= 1
        w.values.update(saved)


@_handles("add", "subtract", "negate", "broadcast_in_dim", "reshape", "transpose", "slice", "pad", "concatenate", "reverse",
          "dynamic_slice", "dynamic_update_slice", "gather", "select", "optimization_barrier")
def _linear(w: Walker, op):
    """What does to both parts what it does to numbers."""
    parts = [_part(w, op, [name] * len(op.operands)) for name in ("real", "imag")]
    for result, *pair in zip(op.results, *parts):
        w.values[result] = Pair(*pair)


@_handles("reduce", "scatter")
def _sum(w: Walker, op):
    """Sums, and what replaces elements: of both parts alike."""
    inner = [o.operation.name for o in op.regions[0].blocks[0].operations]
    if inner not in (["stablehlo.add", "stablehlo.return"], ["stablehlo.return"]):
        w.refuse(op, "complex numbers")
    _linear(w, op)


@_handles("dot_general")
def _product(w: Walker, op):
    rr, ii, ri, ir = (_part(w, op, choice)[0] for choice in
                      (["real", "real"], ["imag", "imag"], ["real", "imag"], ["imag", "real"]))
    w.set(op, Pair(*inline(w, lambda rr, ii, ri, ir: (rr - ii, ri + ir), [rr, ii, ri, ir])))


@_handles("complex")
def _complex(w: Walker, op):
    w.set(op, Pair(*w.operands(op)))


@_handles("real", "imag")
def _real(w: Walker, op):
    w.set(op, getattr(w.get(op.operands[0]), op.name.split(".")[1]))


@_handles("convert")
def _convert(w: Walker, op):
    value = w.get(op.operands[0])
    target = np.float64 if "f64" in str(op.results[0].type) else np.float32
    parts = (value.real, value.imag) if isinstance(value, Pair) else (value,)
    w.set(op, Pair(*inline(w, lambda *x: tuple(y.astype(target) for y in (*x, jnp.zeros_like(x[0])))[:2], parts)))


@_handles("constant")
def _constant(w: Walker, op):
    shape = [int(n) for n in re.findall(r"(\d+)x", str(op.results[0].type))]
    double = "f64" in str(op.results[0].type)
    text = str(op)  # the bindings have no such attribute
    text = text[text.index("dense<"):text.rindex(" : tensor<")]
    if '"0x' in text:
        array = np.frombuffer(bytes.fromhex(text[text.index("0x") + 2:text.rindex('"')]), "<c16" if double else "<c8")
    else:
        array = np.array([complex(float(a), float(b)) for a, b in re.findall(r"\(([^,()]+),([^,()]+)\)", text)])
    array = np.broadcast_to(array.reshape(shape) if array.size > 1 else array.reshape(()), shape)
    of = np.float64 if double else np.float32
    w.set(op, Pair(*inline(w, lambda: (jnp.asarray(array.real.astype(of)), jnp.asarray(array.imag.astype(of))), [])))


def _by_formula(name: str, formula: Callable):
    """formula: of the operands' parts, (real, imaginary) of each in turn; makes a pair, or one real result."""
    @_handles(name)
    def handler(w: Walker, op):
        results = inline(w, formula, [part for pair in w.operands(op) for part in (pair.real, pair.imag)])
        w.set(op, Pair(*results) if len(results) == 2 else results[0])


def _divide(a, b, c, d):
    """Scaled, so that squares neither overflow nor vanish."""
    size = jnp.maximum(jnp.abs(c), jnp.abs(d))
    c, d = c / size, d / size
    whole = (c * c + d * d) * size
    return (a * c + b * d) / whole, (b * c - a * d) / whole


_by_formula("multiply", lambda a, b, c, d: (a * c - b * d, a * d + b * c))
_by_formula("divide", _divide)
_by_formula("abs", jnp.hypot)
_by_formula("exponential", lambda a, b: (jnp.exp(a) * jnp.cos(b), jnp.exp(a) * jnp.sin(b)))
_by_formula("log", lambda a, b: (jnp.log(jnp.hypot(a, b)), jnp.arctan2(b, a)))


@_handles("compare")
def _compare(w: Walker, op):
    direction = str(op.attributes["comparison_direction"])
    equal = "EQ" in direction
    if not equal and "NE" not in direction:
        w.refuse(op, "complex numbers")
    parts = [part for pair in w.operands(op) for part in (pair.real, pair.imag)]
    w.set(op, *inline(w, lambda a, b, c, d: (a == c) & (b == d) if equal else (a != c) | (b != d), parts))


@_handles("fft")
def _fft(w: Walker, op):
    kind = next(k for k in ("IRFFT", "RFFT", "IFFT", "FFT") if k in str(op.attributes["fft_type"]))
    lengths = [int(n) for n in op.attributes["fft_length"]]
    value = w.get(op.operands[0])
    parts = (value.real, value.imag) if isinstance(value, Pair) else (value,)
    results = inline(w, lambda *x: transform(kind, lengths, *x), parts)
    w.set(op, Pair(*results) if len(results) == 2 else results[0])
