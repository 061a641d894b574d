# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Thresholds that serve for several steps (Ok-Topk: Li, Hoefler, PPoPP 2022): the same as in NumPy, and resumed bitwise."""
import numpy as np
import pytest
from conftest import expect_error, expect_success, run
from safetensors.numpy import load_file
from test_sparse import CASES, CLUSTER, STEPS, check, compile_plan, reference, residuals, shards, train, write_plan
from test_sparse import data  # noqa: F401

EVERY = 5  # of 12 steps: the last has age 1


def places_of(method, rows, devices):
    """Suffixes of the states' names, by place."""
    if method == "allgather":
        return [f".device{d}" if d else "" for d in range(devices)]
    count = len(shards(rows, devices))
    return [f".shard{s}" for s in range(count)] if count > 1 else [""]


@pytest.mark.parametrize("nodes,devices,method,rules", [(*case, {}) for case in CASES] + [
    (2, 1, "allgather", dict(momentum=0.5)), (2, 2, "oktopk", dict(momentum=0.75, clip=16.0))])
def test_follows_numpy(data, tmp_path, nodes, devices, method, rules):
    folder, x, y, initial = data
    options = "".join(f" {'momentum-correction' if name == 'momentum' else name}={value}" for name, value in rules.items())
    plan = compile_plan(tmp_path / "plan", nodes, devices, method, f"exact-every={EVERY}{options}")
    got, losses = train(folder, plan, tmp_path / "state", "--init", folder / "init.npz")
    want, want_losses, state = reference(x, y, initial, nodes, devices, method, exact_every=EVERY, **rules)
    check(got, losses, want, want_losses)
    plain, _, _ = reference(x, y, initial, nodes, devices, method, **rules)
    assert not np.allclose(plain["w"], want["w"], rtol=1e-3)  # it matters
    for rank, own in enumerate(residuals(tmp_path / "state", STEPS, nodes)):
        for name in ("w", "b"):
            for place, suffix in enumerate(places_of(method, initial[name].shape[0], devices)):
                np.testing.assert_allclose(own[f"{name}.residual{suffix}"], state[name][rank, place], rtol=1e-3, atol=2e-4)
                np.testing.assert_allclose(own[f"{name}.threshold{suffix}"], state[name]["threshold", rank, place], rtol=1e-3,
                                           atol=2e-4)
                assert own[f"{name}.threshold{suffix}"][1] == STEPS % EVERY


@pytest.mark.parametrize("method", ["allgather", "gtopk", "oktopk"])
def test_resuming_continues_bitwise(data, tmp_path, method):
    folder = data[0]
    plan = compile_plan(tmp_path / "plan", 2, 1, method, f"exact-every={EVERY}")
    whole, _ = train(folder, plan, tmp_path / "whole", "--init", folder / "init.npz")
    train(folder, plan, tmp_path / "half", "--init", folder / "init.npz", steps=7)
    # In the midst of what a threshold serves for.
    assert all(own["w.threshold"][1] == 2 and own["w.threshold"][0] > 0 for own in residuals(tmp_path / "half", 7, 2))
    rest, _ = train(folder, plan, tmp_path / "rest", "--resume", tmp_path / "half", steps=STEPS - 7)
    for name, value in whole.items():
        np.testing.assert_array_equal(value, rest[name])
    for a, b in zip(residuals(tmp_path / "whole", STEPS, 2), residuals(tmp_path / "rest", STEPS, 2)):
        assert a.keys() == b.keys() and "w.threshold" in a
        for name, value in a.items():
            np.testing.assert_array_equal(value, b[name])


@pytest.mark.parametrize("method", ["allgather", "oktopk"])
def test_other_numbers_of_nodes_get_the_mean(data, tmp_path, method):
    folder = data[0]
    plan = compile_plan(tmp_path / "plan", 3, 1, method, f"exact-every={EVERY}")
    train(folder, plan, tmp_path / "three", "--init", folder / "init.npz", steps=3)
    saved = [own["w.threshold"].astype(np.float64) for own in residuals(tmp_path / "three", 3, 3)]
    plan = compile_plan(tmp_path / "plan", 2, 1, method, f"exact-every={EVERY}")
    train(folder, plan, tmp_path / "two", "--resume", tmp_path / "three", steps=0)
    for own in residuals(tmp_path / "two", 3, 2):
        np.testing.assert_allclose(own["w.threshold"], np.mean(saved, axis=0), rtol=1e-6)
        assert own["w.threshold"][1] == 3
    train(folder, plan, tmp_path / "more", "--resume", tmp_path / "two", steps=3)
    assert [own["w.threshold"][1] for own in residuals(tmp_path / "more", 6, 2)] == [1, 1]


def test_infinite_gradients_end_the_run(data, tmp_path):
    folder, x, y, _ = data
    bad = x.copy()
    bad[20, 3] = np.inf  # step 2: by the threshold
    np.savez(tmp_path / "bad.npz", x=bad, y=y)
    plan = compile_plan(tmp_path / "plan", 2, 1, "allgather", f"exact-every={EVERY}")
    expect_error(run(plan, "--batch", tmp_path / "bad.npz", "--steps", 4, "--init", folder / "init.npz"), "top_k", "finite")


# Every consumer of lists gets one with padding.
OPS = """
func.func @step(%w: tensor<3x5x{t}> {{cs.param = "w"}}, %s: tensor<2xf32> {{cs.state = "state"}},
                %r: tensor<3x5x{t}> {{cs.state = "rest"}}, %a: tensor<6x{t}> {{cs.state = "sent"}},
                %c: tensor<3x5x{t}> {{cs.state = "cleared"}}, %d: tensor<4x{t}> {{cs.state = "merged"}},
                %e: tensor<3x5x{t}> {{cs.state = "others"}}, %f: tensor<4x{t}> {{cs.state = "split"}},
                %h: tensor<2x{i}> {{cs.state = "counts"}}, %j: tensor<1x{i}> {{cs.state = "shifts"}},
                %x: tensor<3x5x{t}> {{cs.batch = "x"}})
    -> (tensor<3x5x{t}> {{cs.updates = "w"}}, tensor<2xf32> {{cs.updates = "state"}},
        tensor<3x5x{t}> {{cs.updates = "rest"}}, tensor<6x{t}> {{cs.updates = "sent"}},
        tensor<3x5x{t}> {{cs.updates = "cleared"}}, tensor<4x{t}> {{cs.updates = "merged"}},
        tensor<3x5x{t}> {{cs.updates = "others"}}, tensor<4x{t}> {{cs.updates = "split"}},
        tensor<2x{i}> {{cs.updates = "counts"}}, tensor<1x{i}> {{cs.updates = "shifts"}})
    attributes {{cs.step}} {{
  %x1 = cs.gradient %x of "w" : tensor<3x5x{t}>
  %v, %l, %rest, %next = cs.top_k "{method}" %x1, %r threshold %s every 3
      : (tensor<3x5x{t}>, tensor<3x5x{t}>, tensor<2xf32>) -> (tensor<6x{t}>, tensor<6x{i}>, tensor<3x5x{t}>, tensor<2xf32>)
  %n = cs.scatter_add %v, %l over 2 : (tensor<6x{t}>, tensor<6x{i}>) -> tensor<3x5x{t}>
  %z = cs.scatter_clear %x1, %l : tensor<3x5x{t}>, tensor<6x{i}>
  %v2 = tensor.concat dim(0) %v, %v : (tensor<6x{t}>, tensor<6x{t}>) -> tensor<12x{t}>
  %l2 = tensor.concat dim(0) %l, %l : (tensor<6x{i}>, tensor<6x{i}>) -> tensor<12x{i}>
  %mv, %ml = cs.merge_top_k %v2, %l2 : (tensor<12x{t}>, tensor<12x{i}>) -> (tensor<4x{t}>, tensor<4x{i}>)
  %o = cs.scatter_add %v, %l except %ml into %rest
      : (tensor<6x{t}>, tensor<6x{i}>, tensor<4x{i}>, tensor<3x5x{t}>) -> tensor<3x5x{t}>
  %equal = arith.constant dense<0> : tensor<1x{i}>
  %sv, %sl, %counts = cs.split_regions %v, %l by %equal of 15
      : (tensor<6x{t}>, tensor<6x{i}>, tensor<1x{i}>) -> (tensor<4x{t}>, tensor<4x{i}>, tensor<2x{i}>)
  %shifts = cs.balance_regions %sl, %counts by %equal of 15 : tensor<4x{i}>, tensor<2x{i}>, tensor<1x{i}>
  return %n, %next, %rest, %v, %z, %mv, %o, %sv, %counts, %shifts
      : tensor<3x5x{t}>, tensor<2xf32>, tensor<3x5x{t}>, tensor<6x{t}>, tensor<3x5x{t}>, tensor<4x{t}>, tensor<3x5x{t}>,
        tensor<4x{t}>, tensor<2x{i}>, tensor<1x{i}>
}}
"""
# Numbers that f16 has. With what is left: 6, exactly; 3 that are not below the threshold, 4; 8; 6, exactly; none.
GRADIENTS = [[[3, -8, 0.5, 2, -2], [7, 4, -6, 0, 4], [-5, 9, 0.25, -1, 2]],
             [[0, 0, 0, 3, 0.5], [0, -5, 0, 0.5, 0], [0, 0.5, 0, -0.25, 0]],
             [[5, 6, 7, 8, 4], [0, 0, 0, -9, 10], [5, 0, 0, 3, -7]],
             [[0.5, 0, 0, 1, 0], [0, 2, 0, 0, 0], [0, 0, -3, 0, 0]],
             [[0] * 5] * 3]


def first(values, k, above=0):
    """Places of the first k by magnitude, then by place, of those that are not below `above`; ascending."""
    order = sorted(range(len(values)), key=lambda i: (-abs(values[i]), i))
    return sorted(i for i in order[:k] if abs(values[i]) >= above)


@pytest.mark.parametrize("element,index,method",
                         [("f32", "i32", "exact"), ("f16", "i64", "histogram"), ("f32", "i64", "sampled")])
def test_ops_take_padding(tmp_path, element, index, method):
    source = CLUSTER.format(1, 1) + OPS.format(t=element, i=index, method=method)
    write_plan(tmp_path / "plan", source, "--cs-all-reduce-pipeline")
    dtype = {"f32": np.float32, "f16": np.float16}[element]
    integer = {"i32": np.int32, "i64": np.int64}[index]
    shapes = {"w": (3, 5), "rest": (3, 5), "sent": 6, "cleared": (3, 5), "merged": 4, "others": (3, 5), "split": 4}
    np.savez(tmp_path / "init.npz", state=np.zeros(2, np.float32), counts=np.zeros(2, integer), shifts=np.zeros(1, integer),
             **{name: np.zeros(shape, dtype) for name, shape in shapes.items()})
    np.savez(tmp_path / "x.npz", x=np.array(GRADIENTS, dtype).reshape(-1, 5))
    residual, threshold, found = np.zeros(15), 0, []
    for step, gradient in enumerate(GRADIENTS):
        begin = ("--init", tmp_path / "init.npz") if step == 0 else ("--resume", tmp_path / "state")
        expect_success(run(tmp_path / "plan", *begin, "--batch", tmp_path / "x.npz", "--steps", 1,
                           "--checkpoint", tmp_path / "state"))
        got = {name: value.astype(np.float64) for name, value in load_file(tmp_path / "state").items()}
        total = residual + np.ravel(gradient)
        exact = step % 3 == 0
        found.append("exact" if exact else int((abs(total) >= threshold).sum()))
        chosen = first(total, 6, 0 if exact else threshold)
        if exact:
            threshold = min(abs(total[chosen]))
        sent = np.zeros(15)
        sent[chosen] = total[chosen]
        residual = total - sent
        padded = lambda values, size: np.append(values, np.zeros(size - len(values)))  # noqa: E731
        np.testing.assert_array_equal(got["state"], [threshold, (step + 1) % 3])
        np.testing.assert_array_equal(got["sent"], padded(total[chosen], 6))
        np.testing.assert_array_equal(got["rest"].ravel(), residual)
        np.testing.assert_array_equal(got["w"].ravel(), sent / 2)
        np.testing.assert_array_equal(got["cleared"].ravel(), np.where(np.isin(np.arange(15), chosen), 0, np.ravel(gradient)))
        merged = [i for i in first(2 * sent, 4) if i in chosen]
        np.testing.assert_array_equal(got["merged"], padded(2 * sent[merged], 4))
        np.testing.assert_array_equal(got["others"].ravel(), residual + np.where(np.isin(np.arange(15), merged), 0, sent))
        halves = [[i for i in chosen if i < 7], [i for i in chosen if i >= 7]]
        taken = [[half[i] for i in first(total[half], 2)] for half in halves]
        np.testing.assert_array_equal(got["split"], np.concatenate([padded(total[half], 2) for half in taken]))
        np.testing.assert_array_equal(got["counts"], [len(half) for half in halves])
        if not chosen:
            np.testing.assert_array_equal(got["shifts"], [0])
    assert found == ["exact", 3, 8, "exact", 0]
