# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rng_bit_generator, which keys of "rbg" and "unsafe_rbg" draw from: Philox 4x32-10, as XLA has it on CPUs.

The state is two numbers of 64 bits, a key and a counter. Block i of four numbers of 32 bits is made of the counter of
128 bits whose lower half is counter + i and whose upper half is the key (Salmon et al., Parallel Random Numbers: As Easy
as 1, 2, 3, SC 2011).
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp

from .library import inline
from .walker import Walker, handles

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10


@handles("stablehlo.rng_bit_generator")
def _rng_bit_generator(w: Walker, op):
    algorithm = str(op.attributes["rng_algorithm"])
    state = w.get(op.operands[0])
    shape, dtype = w.type_of(op.results[1])
    if "THREE_FRY" in algorithm or state.shape != (2,):
        w.refuse(op, f"{algorithm} and a state of {list(state.shape)}")
    w.set(op, *inline(w, functools.partial(philox, shape=shape, width=dtype.width), [state]))


def _halves(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The lower and the upper 32 bits, as numbers of 64 bits."""
    return x & jnp.uint64(0xFFFFFFFF), x >> jnp.uint64(32)


def philox(state: jax.Array, *, shape: tuple[int, ...], width: int) -> tuple[jax.Array, jax.Array]:
    """(the next state, unsigned numbers of 8, 32 or 64 bits) of a state, uint64[2]."""
    count = math.prod(shape)
    blocks = -(-(count * max(width, 32) // 32) // 4)
    counter = state[1] + jnp.arange(blocks, dtype=jnp.uint64)
    upper = state[0] + (counter < state[1]).astype(jnp.uint64)
    words, key = [*_halves(counter), *_halves(upper)], list(_halves(state[0]))
    for _ in range(_ROUNDS):
        (low0, high0), (low1, high1) = (_halves(words[2 * i] * jnp.uint64(_MULTIPLIERS[i])) for i in range(2))
        words = [high1 ^ words[1] ^ key[0], low1, high0 ^ words[3] ^ key[1], low0]
        key = [_halves(k + jnp.uint64(s))[0] for k, s in zip(key, _STEPS)]
    bits = jnp.stack([jnp.broadcast_to(word, counter.shape) for word in words], 1)
    if width == 64:
        bits = bits[:, 0::2] | bits[:, 1::2] << jnp.uint64(32)
    bits = bits.reshape(-1)[:count].astype(jnp.dtype(f"uint{width}")).reshape(shape)
    return jnp.stack([state[0], state[1] + jnp.uint64(blocks)]), bits
