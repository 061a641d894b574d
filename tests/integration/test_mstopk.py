# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MSTopK (Shi et al., MLSys 2021): plans select as algorithm 1 says, and train with it as NumPy does."""
import re
import subprocess

import numpy as np
import pytest
import test_sparse
from conftest import TIME_LIMIT, expect_error, expect_success, run, tool
from ms_top_k import ms_top_k
from safetensors.numpy import load_file
from test_sparse import CLUSTER, DENSITY, SOURCE, STEPS, check, compile_plan, reference, residuals, train, write_plan
from test_sparse import data  # noqa: F401

# ---- the op, over random arrays --------------------------------------------------------------

ROUNDS = 4


def on_thresholds(random, size):
    """Mean 16 and maximum 32, so that thresholds are integers, and elements with them."""
    half = np.append(32, random.integers(0, 33, size // 2))[:size // 2]
    values = np.concatenate([half, 32 - half, np.full(size % 2, 16)])
    return random.permutation(values) * random.choice([-1, 1], size)


KINDS = {
    "normal": lambda r, n: r.standard_normal(n),
    "heavy": lambda r, n: r.standard_t(1.5, n),
    "ties": lambda r, n: r.integers(-3, 4, n) / 4,
    "sparse": lambda r, n: np.where(r.random(n) < 0.05, r.integers(-8, 9, n), 0),
    "zeros": lambda r, n: np.zeros(n),
    "alike": lambda r, n: np.full(n, -0.5),
    "thresholds": on_thresholds,
}


def cases(seed):
    """(kind, elements, k, samples, seed, feedback): any of each, and the ends."""
    random = np.random.default_rng(seed)
    for kind in KINDS:
        for _ in range(12 if kind == "thresholds" else 4):
            size = int(random.choice([1, 2, 7, 63, 300, 5000]))
            k = int(random.choice([1, max(1, size // 100), max(1, size // 3), size]))
            yield (kind, size, k, int(random.choice([1, 2, 5, 30, 100])), int(random.integers(-1 << 63, 1 << 63)),
                   bool(random.integers(2)))


def program_of(all_cases, early_stop):
    arguments, results, types, body, returned = [], [], [], [], []
    for i, (_, size, k, samples, seed, feedback) in enumerate(all_cases):
        t = f"tensor<{size}xf32>"
        arguments += [f'%x{i}: tensor<1x{size}xf32> {{cs.batch = "x{i}"}}', f'%r{i}: {t} {{cs.state = "rest{i}"}}',
                      f'%o{i}: tensor<{k}xf32> {{cs.state = "at{i}"}}', f'%p{i}: tensor<{k}xf32> {{cs.state = "sent{i}"}}']
        results += [f'{t} {{cs.updates = "rest{i}"}}', f'tensor<{k}xf32> {{cs.updates = "at{i}"}}',
                    f'tensor<{k}xf32> {{cs.updates = "sent{i}"}}']
        types += [t, f"tensor<{k}xf32>", f"tensor<{k}xf32>"]
        residual, more = (f", %r{i}", f", {t}") if feedback else ("", "")
        body.append(f'%g{i} = tensor.collapse_shape %x{i} [[0, 1]] : tensor<1x{size}xf32> into {t}')
        body.append(f'%v{i}, %i{i}, %n{i} = cs.top_k "mstopk" %g{i}{residual} seed {seed} step %t samples {samples} '
                    f'{"early_stop" if early_stop else ""} : ({t}{more}, tensor<1xi32>) -> (tensor<{k}xf32>, tensor<{k}xi32>, {t})')
        body.append(f"%a{i} = arith.sitofp %i{i} : tensor<{k}xi32> to tensor<{k}xf32>")
        returned += [f"%n{i}", f"%a{i}", f"%v{i}"]
    return (CLUSTER.format(1, 1) + 'func.func @step(%w: tensor<1xf32> {cs.param = "w"}, %t: tensor<1xi32> {cs.state = "t"},'
            + ",\n".join(arguments) + ') -> (tensor<1xf32> {cs.updates = "w"}, tensor<1xi32> {cs.updates = "t"},'
            + ",\n".join(results) + ") attributes {cs.step} {\n%one = arith.constant dense<1> : tensor<1xi32>\n"
            "%u = arith.addi %t, %one : tensor<1xi32>\n%w1 = cs.gradient %w of \"w\" : tensor<1xf32>\n" + "\n".join(body)
            + f"\nreturn %w1, %u, {', '.join(returned)} : tensor<1xf32>, tensor<1xi32>, {', '.join(types)}\n}}\n")


@pytest.mark.parametrize("seed", range(3))
def test_selects_as_the_paper_says(tmp_path, seed):
    all_cases, random = list(cases(seed)), np.random.default_rng(seed + 100)
    inputs = [np.stack([KINDS[kind](random, size) for _ in range(ROUNDS)]).astype(np.float32) for kind, size, *_ in all_cases]
    np.savez(tmp_path / "x.npz", **{f"x{i}": x for i, x in enumerate(inputs)})
    first_step = 5
    initial = {"w": np.zeros(1, np.float32), "t": np.array([first_step], np.int32)}
    for i, (_, size, k, *_) in enumerate(all_cases):
        initial.update({f"rest{i}": np.zeros(size, np.float32), f"at{i}": np.zeros(k, np.float32),
                        f"sent{i}": np.zeros(k, np.float32)})
    np.savez(tmp_path / "init.npz", **initial)
    saved = {}
    for early_stop in (False, True):
        source = program_of(all_cases, early_stop)
        write_plan(tmp_path / "plan", source, "--cs-all-reduce-pipeline")
        for step in range(ROUNDS):
            begin = ("--init", tmp_path / "init.npz") if step == 0 else ("--resume", tmp_path / "state")
            expect_success(run(tmp_path / "plan", *begin, "--batch", tmp_path / "x.npz", "--steps", 1,
                               "--checkpoint", tmp_path / "state"))
            saved[early_stop, step] = load_file(tmp_path / "state")
    filled, drawn = 0, 0
    for i, ((_, size, k, samples, own, feedback), x) in enumerate(zip(all_cases, inputs)):
        rest = np.zeros(size, np.float32)
        for step in range(ROUNDS):
            total = x[step] + rest if feedback else x[step]
            want, missing = ms_top_k(total, k, samples, own, first_step + step)
            filled += missing > 0
            drawn += missing > 0 and not np.array_equal(want, ms_top_k(total, k, samples, own, first_step)[0])
            rest = total.copy()
            rest[want] = 0
            for early_stop in (False, True):
                got = saved[early_stop, step]
                where = f"{all_cases[i]}, step {step}, early stop {early_stop}"
                np.testing.assert_array_equal(got[f"at{i}"], want, err_msg=where)
                assert got[f"sent{i}"].tobytes() == total[want].tobytes(), where
                np.testing.assert_array_equal(got[f"rest{i}"], rest, err_msg=where)
    # The cases are of all sorts.
    assert filled > 20 and drawn > 5


# ---- training --------------------------------------------------------------------------------


def seeds_in(nodes, devices, method, options):
    """By the label of the fragment, what --lower-sparse-comm has made each selection begin with."""
    lowered = subprocess.run(
        [tool("cs-opt"), "--insert-dist-comm", "--replicate-devices", "--assign-devices",
         f"--lower-sparse-comm=min-elements=1 method={method} rules=w={DENSITY['w']},b={DENSITY['b']} {options}"],
        input=CLUSTER.format(nodes, devices) + SOURCE, text=True, capture_output=True, timeout=TIME_LIMIT, check=True).stdout
    found = re.findall(r'cs\.fragment "top_k\.([^"]*)".*?cs\.top_k "mstopk"[^\n]* seed (-?\d+) step', lowered, re.S)
    return {label: int(seed) for label, seed in found}


def by_ms_top_k(samples, seeds, name, filled):
    """In place of test_sparse's exact selection, for one parameter; `state` counts steps by place."""
    def chosen(gradient, state, place, density, ranks, rules):
        step = state["steps", *place] = state.get(("steps", *place), -1) + 1
        total = gradient + state.get(place, 0)
        suffixes = {label.partition(".")[2]: seed for label, seed in seeds.items() if label.partition(".")[0] == name()}
        seed = suffixes[sorted(suffixes)[place[1]]]
        at, missing = ms_top_k(total, max(1, round(density * total.size)), samples, seed, step)
        filled.append(missing)
        sent = np.zeros(total.size)
        sent[at] = total.ravel()[at]
        sent = sent.reshape(total.shape)
        state[place] = total - sent
        return sent
    return chosen


CASES = [(2, 1, "allgather", 30), (3, 1, "hitopk", 30), (2, 2, "hitopk", 1), (2, 2, "hitopk", 30), (3, 2, "hitopk", 2),
         (2, 2, "allgather", 2), (2, 1, "gtopk", 1), (4, 1, "gtopk", 2), (2, 1, "oktopk", 2), (3, 2, "oktopk", 1)]


@pytest.mark.parametrize("nodes,devices,method,samples", CASES)
def test_training_follows_numpy(data, tmp_path, monkeypatch, nodes, devices, method, samples):
    folder, x, y, initial = data
    options = f"select=mstopk mstopk-samples={samples} mstopk-seed=11"
    seeds = seeds_in(nodes, devices, method, options)
    assert len(set(seeds.values())) == len(seeds) >= 2  # tensors draw apart
    plan = compile_plan(tmp_path / "plan", nodes, devices, method, options)
    got, losses = train(folder, plan, tmp_path / "state", "--init", folder / "init.npz")
    filled, names = [], []

    def exchange(method, gradients, state, density, rules):
        names.append(next(n for n, d in DENSITY.items() if d == density))
        return original(method, gradients, state, density, rules)
    original = test_sparse.exchange
    monkeypatch.setattr(test_sparse, "exchange", exchange)
    monkeypatch.setattr(test_sparse, "chosen_from", by_ms_top_k(samples, seeds, lambda: names[-1], filled))
    want, want_losses, state = reference(x, y, initial, nodes, devices, method)
    check(got, losses, want, want_losses)
    assert any(filled) == (samples < 30)
    for own in residuals(tmp_path / "state", STEPS, nodes):
        steps = [value for name, value in own.items() if ".step" in name]
        assert len(steps) == len(seeds) and all(value == [STEPS] for value in steps)


def test_resuming_continues_bitwise(data, tmp_path):
    folder = data[0]
    plan = compile_plan(tmp_path / "plan", 2, 2, "hitopk", "select=mstopk mstopk-samples=1")
    whole, _ = train(folder, plan, tmp_path / "whole", "--init", folder / "init.npz")
    train(folder, plan, tmp_path / "half", "--init", folder / "init.npz", steps=5)
    rest, _ = train(folder, plan, tmp_path / "rest", "--resume", tmp_path / "half", steps=STEPS - 5)
    for a, b in zip([whole, *residuals(tmp_path / "whole", STEPS, 2)], [rest, *residuals(tmp_path / "rest", STEPS, 2)]):
        assert a.keys() == b.keys()
        assert all(value.tobytes() == b[name].tobytes() for name, value in a.items())
    other = compile_plan(tmp_path / "other", 2, 2, "hitopk", "select=mstopk mstopk-samples=1 mstopk-seed=1")
    different, _ = train(folder, other, tmp_path / "different", "--init", folder / "init.npz")
    assert any(value.tobytes() != different[name].tobytes() for name, value in whole.items())


def test_thresholds_serve_in_between(data, tmp_path):
    folder = data[0]
    states = []
    for early_stop in ("true", "false"):
        plan = compile_plan(tmp_path / "plan", 2, 1, "hitopk", f"select=mstopk exact-every=3 mstopk-early-stop={early_stop}")
        train(folder, plan, tmp_path / "state", "--init", folder / "init.npz")
        states.append([load_file(tmp_path / "state"), *residuals(tmp_path / "state", STEPS, 2)])
    for a, b in zip(*states):
        assert a.keys() == b.keys() and all(value.tobytes() == b[name].tobytes() for name, value in a.items())
    # As with an exact selection, whose thresholds these are if 30 samples find k.
    plan = compile_plan(tmp_path / "plan", 2, 1, "hitopk", "exact-every=3")
    want, _ = train(folder, plan, tmp_path / "exact", "--init", folder / "init.npz")
    for name, value in want.items():
        np.testing.assert_array_equal(states[0][0][name], value)
    for own in states[0][1:]:
        assert own["w.step"] == [STEPS] and own["w.threshold"][1] == STEPS % 3


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_ends_the_run(data, tmp_path, bad):
    folder, x, y, _ = data
    changed = x.copy()
    changed[17, 3] = bad
    np.savez(tmp_path / "bad.npz", x=changed, y=y)
    plan = compile_plan(tmp_path / "plan", 2, 1, "hitopk", "select=mstopk")
    expect_error(run(plan, "--batch", tmp_path / "bad.npz", "--steps", 4, "--init", folder / "init.npz"), "top_k", "NaN or infinite")
