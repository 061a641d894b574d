# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent layers: LSTM, GRU and SimpleRNN over a whole sequence."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .table import NoRule, Operation, rule


def _lstm(gates, carried):
    (_, cell), (of_input, of_hidden) = carried, gates
    i, f, g, o = jnp.split(of_input + of_hidden, 4, -1)
    cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(cell), cell


def _gru(gates, carried):
    (rx, zx, cx), (rh, zh, ch) = (jnp.split(g, 3, -1) for g in gates)
    z, candidate = jax.nn.sigmoid(zx + zh), jnp.tanh(cx + jax.nn.sigmoid(rx + rh) * ch)
    return ((carried[0] - candidate) * z + candidate,)


_CELLS = {"LSTM": _lstm, "GRU": _gru, "RNN_TANH": lambda gates, _: (jnp.tanh(sum(gates)),),
          "RNN_RELU": lambda gates, _: (jnp.maximum(sum(gates), 0),)}


def _layer(cell, x, first, weights, inside, backwards):
    """One layer in one direction. x: [time, batch, features]; first: of each carried state [batch, width]; inside: [time, batch, 1],
    where a sequence is not over, or None. Returns the outputs and the last states."""
    of_input, of_hidden, bias, more = weights
    prepared = x @ of_input.T + bias

    def step(carried, now):
        gates, counts = now if inside is not None else (now, None)
        new = cell((gates, carried[0] @ of_hidden.T + more), carried)
        if counts is None:
            return new, new[0]
        return tuple(jnp.where(counts, n, c) for n, c in zip(new, carried)), jnp.where(counts, new[0], 0)
    last, out = lax.scan(step, first, (prepared, inside) if inside is not None else prepared, reverse=backwards)
    return out, last


def _rnn(op: Operation, x, pre_state, weight_list, sequence_length):
    if op["dropout_prob"] and not op["is_test"] and op["num_layers"] > 1:
        raise NoRule("dropout between layers")
    directions, cell = 2 if op["is_bidirec"] else 1, _CELLS[op["mode"]]
    count = op["num_layers"] * directions
    inside = None
    if sequence_length is not None:
        inside = (jnp.arange(x.shape[0])[:, None] < sequence_length.reshape(1, -1))[..., None]
    last = []
    for layer in range(op["num_layers"]):
        outs = []
        for way in range(directions):
            at = layer * directions + way
            weights = [*weight_list[2 * at:2 * at + 2], *weight_list[2 * (count + at):2 * (count + at) + 2]]
            out, states = _layer(cell, x, tuple(s[at] for s in pre_state), weights, inside, way == 1)
            outs.append(out)
            last.append(states)
        x = outs[0] if directions == 1 else jnp.concatenate(outs, -1)
    return x, [jnp.stack(states) for states in zip(*last)]


@rule("rnn")
def _forward(op: Operation, x, pre_state, weight_list, sequence_length=None, dropout_state_in=None):
    out, state = _rnn(op, x, pre_state, weight_list, sequence_length)
    found = {"out": out, "state": state}
    return tuple(found.get(n) for n in op.names)


@rule("rnn_grad")
def _backward(op: Operation, x, pre_state, weight_list, sequence_length, out_grad, state_grad, **_):
    (out, state), pull = jax.vjp(lambda *of: _rnn(op, of[0], of[1], of[2], sequence_length), x, pre_state, weight_list)
    of_state = [None] * len(state) if state_grad is None else state_grad
    cotangents = (jnp.zeros_like(out) if out_grad is None else out_grad,
                  [jnp.zeros_like(s) if g is None else g for s, g in zip(state, of_state)])
    found = dict(zip(("x_grad", "pre_state_grad", "weight_list_grad"), pull(cotangents)))
    return tuple(found[n] if n in found else None for n in op.names)


@rule("coalesce_tensor")
def _coalesce(op: Operation, input):
    """The same tensors, which need not lie one behind the other here; of all of them as one, Paddle does not say the size."""
    if op["set_constant"] or not op["copy_data"]:
        raise NoRule("values that are not copied")
    return list(input), None
