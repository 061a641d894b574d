# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Selected values that travel in fewer bits: what is rounded off them is kept, exactly; and training with them, and with
gradients at parameters that have what is unsent, follows NumPy."""
import json
import pathlib
import re

import numpy as np
import pytest
import test_sparse
from conftest import expect_success, run
from safetensors.numpy import load_file
from test_sparse import CLUSTER, DENSITY, LOCAL, RATE, SOURCE, STEPS, check, compile_plan, exchange, reference, residuals, train
from test_sparse import select, write_plan
from test_sparse import data  # noqa: F401

TYPES = {"f32": np.float32, "f16": np.float16}


def rounded(values, travels, element=np.float32):
    """What comes out where `values` travel so: nearest, ties to even."""
    values = values.astype(np.float32)
    if travels == "f16":
        return np.clip(values, -65504, 65504).astype(np.float16).astype(np.float32)
    if travels == "bf16":  # the upper half of the bits
        bits = values.view(np.uint32)
        bits = (bits + 0x7fff + (bits >> 16 & 1)) & np.uint32(0xffff0000)
        return bits.view(np.float32)
    scale = np.float32(np.abs(values).max() / np.float32(127)) if values.size else np.float32(0)
    if scale == 0:
        return np.zeros_like(values).astype(element)
    codes = np.rint(np.clip(values / scale, -127, 127)).astype(np.float32)
    return (codes * scale).astype(element)


# ---- the ops ---------------------------------------------------------------------------------

LISTS = 3
STATES = {"rest": "n", "sent": "k", "read": "k", "error": "k", "dense": "n"}


def level_1(n, k, element, travels, words):
    """Selects, packs two times, unpacks the second lists, and adds what was rounded off to the rest."""
    types = {name: f"tensor<{n if size == 'n' else k}x{element}>" for name, size in STATES.items()}
    types = {"w": "tensor<1xf32>", **types, "places": f"tensor<{k}xf32>"}
    message = f"tensor<{2 * LISTS}x{words}xi32, #cs.coordinates<tensor<{n}x{element}>, {'i8' if travels == 'int8' else travels}>>"
    placed = {name: f"!cs.placed<{t}, device 0>" for name, t in types.items()}
    dense, list_, indices = types["dense"], types["sent"], f"tensor<{k}xi32>"
    arguments = ", ".join(f'%{name}: {t} {{cs.{"param" if name == "w" else "state"} = "{name}"}}' for name, t in placed.items())
    results = ", ".join(f'{t} {{cs.updates = "{name}"}}' for name, t in placed.items())
    inside = f"!cs.placed<tensor<1x{n}x{element}>, device 0>"
    return f"""
func.func @step({arguments}, %x: {inside} {{cs.batch = "x"}}) -> ({results}) attributes {{cs.step}} {{
  %r:7 = cs.fragment "all" on 0 (%w, %rest, %x) : ({placed["w"]}, {placed["rest"]}, {inside}) -> ({", ".join(placed.values())}) {{
  ^bb0(%w0: tensor<1xf32>, %rest0: {dense}, %x0: tensor<1x{n}x{element}>):
    %g = tensor.collapse_shape %x0 [[0, 1]] : tensor<1x{n}x{element}> into {dense}
    %v, %i, %left = cs.top_k "exact" %g, %rest0 : ({dense}, {dense}) -> ({list_}, {indices}, {dense})
    %m, %error = cs.pack_lists %v, %i times 2 : ({list_}, {indices}) -> ({message}, {list_})
    %read, %places = cs.unpack_lists %m from {LISTS} : ({message}) -> ({list_}, {indices})
    %new = cs.scatter_add %error, %places into %left : ({list_}, {indices}, {dense}) -> {dense}
    %dense = cs.scatter_add %read, %places : ({list_}, {indices}) -> {dense}
    %at = arith.sitofp %places : {indices} to tensor<{k}xf32>
    cs.return %w0, %new, %v, %read, %error, %dense, %at : {", ".join(types.values())}
  }}
  return {", ".join(f"%r#{i}" for i in range(7))} : {", ".join(placed.values())}
}}
"""


DATA = {
    "normal": lambda r, n: r.standard_normal(n),
    "large": lambda r, n: r.standard_normal(n) * 1e6,  # beyond f16
    "small": lambda r, n: r.standard_normal(n) * 1e-7,  # below its normal numbers
    "wide": lambda r, n: np.exp(r.uniform(-18, 10, n)) * r.choice([-1, 1], n),
    "halves": lambda r, n: r.integers(-254, 255, n) / 2 * 1.0,  # ties, where the largest is 127
    "zeros": lambda r, n: np.where(r.random(n) < 0.02, 1.0, 0.0),
}


def words_of(entries, travels):
    bytes_ = {"f16": 2, "bf16": 2, "int8": 1}[travels]
    return -(-entries * bytes_ // 4) + (travels == "int8") + entries


@pytest.mark.parametrize("element,travels,entries", [
    ("f32", "f16", 8), ("f32", "bf16", 7), ("f32", "int8", 9), ("f32", "int8", 1), ("f16", "int8", 6)])
def test_what_is_rounded_off_is_kept(tmp_path, element, travels, entries):
    random, n, k = np.random.default_rng(entries), 120, LISTS * entries
    dtype = TYPES[element]
    kinds = [name for name in DATA if element == "f32" or name not in ("large", "wide")]
    x = np.stack([DATA[name](random, n) for name in kinds for _ in range(2)]).astype(dtype)
    source = level_1(n, k, element, travels, words_of(entries, travels))
    write_plan(tmp_path / "plan", CLUSTER.format(1, 1) + source, "--schedule-comm")
    shapes = {name: {"n": n, "k": k}[size] for name, size in STATES.items()}
    np.savez(tmp_path / "init.npz", w=np.zeros(1, np.float32), places=np.zeros(k, np.float32),
             **{name: np.zeros(size, dtype) for name, size in shapes.items()})
    np.savez(tmp_path / "x.npz", x=x)
    rest = np.zeros(n, dtype)
    for step in range(len(x)):
        begin = ("--init", tmp_path / "init.npz") if step == 0 else ("--resume", tmp_path / "state")
        expect_success(run(tmp_path / "plan", *begin, "--batch", tmp_path / "x.npz", "--steps", 1,
                           "--checkpoint", tmp_path / "state"))
        got = load_file(tmp_path / "state")
        total = (x[step].astype(np.float32) + rest.astype(np.float32)).astype(dtype)
        at = got["places"].astype(np.int64)
        sent = got["sent"]
        np.testing.assert_array_equal(total[at], sent)
        want = np.concatenate([rounded(part, travels, dtype) for part in sent.reshape(LISTS, entries)])
        np.testing.assert_array_equal(got["read"], want)
        read, error = got["read"].astype(np.float64), got["error"].astype(np.float64)
        if element == "f32":
            # Exactly: what is sent and what is kept are what there was.
            np.testing.assert_array_equal(read + error, sent.astype(np.float64))
            np.testing.assert_array_equal(got["dense"].astype(np.float64) + got["rest"].astype(np.float64), total.astype(np.float64))
        else:
            # Within one rounding of the error.
            assert (abs(read + error - sent.astype(np.float64)) <= 2.0**-11 * abs(error) + 2.0**-25).all()
        np.testing.assert_array_equal(got["rest"][at], got["error"])
        if travels == "int8":
            most = abs(sent.astype(np.float64).reshape(LISTS, entries)).max(axis=1, keepdims=True) / 127
            assert (abs(error.reshape(LISTS, entries)) <= 0.5001 * most + 1e-30).all() or element != "f32"
        rest = got["rest"]


# ---- training --------------------------------------------------------------------------------


def by_rounding(travels):
    def chosen(gradient, state, place, density, ranks, rules):
        total = gradient + state.get(place, 0)
        sent, rest = select(gradient, state.get(place, 0), density)
        at = np.flatnonzero(sent)
        read = np.zeros(total.size)
        read[at] = rounded(sent.ravel()[at], travels)
        read = read.reshape(total.shape)
        state[place] = total - read
        return read
    return chosen


@pytest.mark.parametrize("nodes,devices,method,travels", [
    (2, 1, "allgather", "f16"), (3, 1, "hitopk", "bf16"), (2, 2, "hitopk", "int8"), (2, 2, "allgather", "int8"), (1, 2, "hitopk", "int8")])
def test_training_follows_numpy(data, tmp_path, monkeypatch, nodes, devices, method, travels):
    folder, x, y, initial = data
    plan = compile_plan(tmp_path / "plan", nodes, devices, method, f"values={travels}")
    got, losses = train(folder, plan, tmp_path / "state", "--init", folder / "init.npz")
    plain, _, _ = reference(x, y, initial, nodes, devices, method)
    monkeypatch.setattr(test_sparse, "chosen_from", by_rounding(travels))
    want, want_losses, state = reference(x, y, initial, nodes, devices, method)
    check(got, losses, want, want_losses)
    assert not np.allclose(plain["w"], want["w"], rtol=1e-6, atol=0)  # it matters
    if devices == 1:
        for rank, own in enumerate(residuals(tmp_path / "state", STEPS, nodes)):
            np.testing.assert_allclose(own["w.residual"], state["w"][rank, 0], rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("method,travels", [("allgather", "int8"), ("hitopk", "f16"), ("hitopk", "same")])
def test_bytes_are_those_of_the_message(data, tmp_path, method, travels):
    """A node of two sends each list once."""
    folder, *_, initial = data
    plan = compile_plan(tmp_path / "plan", 2, 1, method, f"values={travels} select=mstopk sparse-fuse-bytes=0")
    train(folder, plan, tmp_path / "state", "--init", folder / "init.npz")
    metrics = json.loads(pathlib.Path(f"{tmp_path}/state.json").read_text())
    sent = int(re.search(r'"sent_bytes_per_step": *(\d+)', json.dumps(metrics)).group(1))
    counts = [max(1, round(DENSITY[name] * value.size)) for name, value in initial.items()]
    want = sum(4 * (words_of(k, travels) if travels != "same" else 2 * k) for k in counts)
    # The loss travels too, in no more than 16 bytes.
    assert want <= sent <= want + 16, (sent, want)


# ---- what is unsent in the forward pass ------------------------------------------------------


def at_unsent(x, y, initial, nodes, method, rate):
    values = {name: value.astype(np.float64) for name, value in initial.items()}
    state = {name: {} for name in values}
    losses = []
    for step in range(STEPS):
        gradients, loss = {name: [] for name in values}, 0
        for r in range(nodes):
            first = LOCAL * (step * nodes + r)
            a, b = x[first:first + LOCAL].astype(np.float64), y[first:first + LOCAL]
            own = {name: value - rate * state[name].get((r, 0), 0) for name, value in values.items()}
            error = a @ own["w"] + own["b"] - b
            loss += (error * error).sum() / nodes
            gradients["w"].append([a.T @ error])
            gradients["b"].append([error.sum(axis=0)])
        losses.append(loss)
        for name in values:
            values[name] = values[name] - RATE * exchange(method, gradients[name], state[name], DENSITY[name], {})
    return values, losses, state


@pytest.mark.parametrize("nodes,method", [(2, "allgather"), (3, "hitopk"), (4, "gtopk"), (2, "oktopk")])
def test_gradients_at_unsent_parameters(data, tmp_path, nodes, method):
    folder, x, y, initial = data
    plan = compile_plan(tmp_path / "plan", nodes, 1, method, f"unsent-rate={RATE}")
    got, losses = train(folder, plan, tmp_path / "state", "--init", folder / "init.npz")
    want, want_losses, state = at_unsent(x, y, initial, nodes, method, RATE)
    check(got, losses, want, want_losses)
    plain, _, _ = reference(x, y, initial, nodes, 1, method)
    assert not np.allclose(plain["w"], want["w"], rtol=1e-3)
    for rank, own in enumerate(residuals(tmp_path / "state", STEPS, nodes)):
        np.testing.assert_allclose(own["w.residual"], state["w"][rank, 0], rtol=1e-3, atol=2e-4)
