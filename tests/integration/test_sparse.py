# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse gradients with error feedback do what the published algorithms do, in NumPy: in threads and in processes."""
import json
import pathlib
import subprocess

import numpy as np
import pytest
from conftest import TIME_LIMIT, expect_error, expect_success, run, tool
from safetensors.numpy import load_file

STEPS = 12
LOCAL = 4  # samples of a device
RATE = 0.015625
SOURCE = (pathlib.Path(__file__).parent / "Inputs/sparse.mlir").read_text()
CLUSTER = """cs.cluster @test nodes = {} devices = {} device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
"""
DENSITY = {"w": 0.1, "b": 0.25}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sparse")
    random = np.random.default_rng(7)
    x = random.standard_normal((LOCAL * 4 * 2 * STEPS, 24)).astype(np.float32)
    y = (x @ random.standard_normal((24, 8)) + 1).astype(np.float32)
    np.savez(folder / "train.npz", x=x, y=y)
    initial = {"w": random.standard_normal((24, 8)).astype(np.float32) * 0.1, "b": np.zeros(8, np.float32)}
    np.savez(folder / "init.npz", **initial)
    return folder, x, y, initial


def write_plan(path, source, *passes):
    lowered = subprocess.run([tool("cs-opt"), *passes], input=source, text=True, capture_output=True, timeout=TIME_LIMIT)
    assert lowered.returncode == 0, lowered.stderr
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", path], input=lowered.stdout, text=True, check=True,
                   timeout=TIME_LIMIT)
    return path


def compile_plan(path, nodes, devices, method, options="", rules=f"w={DENSITY['w']},b={DENSITY['b']}"):
    pipeline = f"--cs-all-reduce-pipeline=min-elements=1 sparse-method={method} sparse-rules={rules} {options}"
    return write_plan(path, CLUSTER.format(nodes, devices) + SOURCE, pipeline)


def train(folder, plan, state, *arguments, steps=STEPS):
    """Checkpoint and losses."""
    expect_success(run(plan, "--batch", folder / "train.npz", "--steps", steps, "--checkpoint", state,
                       "--metrics-every", 1, "--metrics-json", f"{state}.json", *arguments))
    metrics = json.loads(pathlib.Path(f"{state}.json").read_text())
    return load_file(state), [step["loss"] for step in metrics["steps"]]


def residuals(state, steps, ranks):
    return [load_file(f"{state}.step{steps}.rank{rank}") for rank in range(ranks)]


# ---- the reference ---------------------------------------------------------------------------


def top_k(values, k):
    """Flat indices of the k largest magnitudes, of equal ones the lowest index, ascending."""
    order = np.lexsort((np.arange(values.size), -np.abs(values.ravel())))
    return np.sort(order[:k])


def select(gradient, residual, density, above=0.0):
    """Sparse part and what is kept; the sparse part is dense here, zero elsewhere. above: what is smaller is not selected."""
    total = gradient + residual
    chosen = [i for i in top_k(total, max(1, round(density * total.size))) if abs(total.ravel()[i]) >= above]
    sent = np.zeros(total.size)
    sent[chosen] = total.ravel()[chosen]
    sent = sent.reshape(total.shape)
    return sent, total - sent


def adam(gradient, state, place, rules, ranks):
    """What Adam (Kingma, Ba, ICLR 2015) would add, with a learning rate of -1. Of squares="mean" (docs/sparse.md) the noise of
    one of so many ranks counts as much as in the mean of all."""
    first, second = rules.get("momentum", 0), rules["second_moment"]
    step = state["steps", *place] = state.get(("steps", *place), 0) + 1
    mean = state["velocity", *place] = first * state.get(("velocity", *place), 0) + (1 - first) * gradient
    squares = state["squares", *place] = second * state.get(("squares", *place), 0) + (1 - second) * gradient ** 2
    mean, squares = mean / (1 - first ** step), squares / (1 - second ** step)
    if first and rules.get("squares", "mean") == "mean":
        noise = np.maximum(0, squares - mean ** 2)
        squares = squares - noise + noise / ranks
    return mean / (np.sqrt(squares) + rules["epsilon"])


def chosen_from(gradient, state, place, density, ranks, rules):
    """What a rank sends. rules: "momentum", "clip", "feedback", "second_moment", "epsilon", "exact_every", as the options of
    the pass; factor masking (Lin et al., ICLR 2018) goes with momentum. state: residuals by place, velocities by
    ("velocity", *place), thresholds and their ages by ("threshold", *place)."""
    if "clip" in rules:
        gradient = gradient * min(1, rules["clip"] / np.sqrt(ranks) / np.sqrt((gradient ** 2).sum()))
    if "second_moment" in rules:
        direction = adam(gradient, state, place, rules, ranks)
    else:
        direction = rules.get("momentum", 0) * state.get(("velocity", *place), 0) + gradient
    threshold, age = state.get(("threshold", *place), (0, 0))
    sent, rest = select(direction, state.get(place, 0), density, threshold if age else 0)
    if age == 0:
        threshold = abs(sent[sent != 0]).min()
    state["threshold", *place] = threshold, (age + 1) % rules.get("exact_every", 1)
    if "second_moment" not in rules:
        state["velocity", *place] = np.where(sent != 0, 0, direction)
    state[place] = rest if rules.get("feedback", True) else 0
    return sent


def merge(a, b, k):
    total = a + b
    sent = np.zeros(total.size)
    chosen = [i for i in top_k(total, k) if a.ravel()[i] != 0 or b.ravel()[i] != 0]
    sent[chosen] = total.ravel()[chosen]
    return sent.reshape(total.shape)


def gtopk(parts, kept, density):
    """Re-selects at each of log2 rounds; what was selected first and is not in the result is kept."""
    k = max(1, round(density * parts[0].size))
    current = list(parts)
    distance = 1
    while distance < len(parts):
        pairs = [r ^ distance for r in range(len(parts))]
        current = [merge(current[min(r, p)], current[max(r, p)], k) for r, p in enumerate(pairs)]
        distance *= 2
    result = current[0]
    for other in current:
        np.testing.assert_array_equal(result, other)
    return result, [keep + np.where(result == 0, own, 0) for own, keep in zip(parts, kept)]


def region_sizes(selected, nodes):
    """Ok-Topk (Li, Hoefler, PPoPP 2022) as docs/sparse.md has it: entries that go to the owner of a region, and that it
    keeps."""
    return min(selected, -(-5 * selected // (4 * nodes))), -(-selected // nodes)


def oktopk(parts, kept, density, cuts):
    """Owners of regions add up what they are sent of them and keep the largest sums. cuts: where regions begin and end;
    cuts of the next step come from what was selected in each, and from where the result lies there."""
    nodes, size = len(parts), parts[0].size
    selected = max(1, round(density * size))
    capacity, most = region_sizes(selected, nodes)
    result = np.zeros(size)
    sent = [np.zeros(size) for _ in parts]
    counts, places = [], []
    for begin, end in zip(cuts, cuts[1:]):
        total = np.zeros(size)
        counts.append(0)
        for rank, part in enumerate(parts):
            own = [i for i in range(begin, end) if part.ravel()[i] != 0]
            counts[-1] += len(own)
            own = [own[i] for i in top_k(part.ravel()[own], capacity)]
            sent[rank][own] = part.ravel()[own]
            total += np.where(np.isin(np.arange(size), own), part.ravel(), 0)
        there = [i for i in range(begin, end) if any(own[i] != 0 for own in sent)]
        chosen = [there[i] for i in top_k(total[there], most)]
        result[chosen] = total[chosen]
        places.append(chosen)
    weights = np.cumsum([0] + counts)
    next_cuts = [0]
    for cut in range(1, nodes):
        if not any(counts):
            next_cuts.append(cuts[cut])
            continue
        # The entry that cut / nodes of all are in front of.
        r = max(i for i in range(nodes) if weights[i] * nodes <= cut * weights[-1] and counts[i] > 0)
        inside, all_ = cut * weights[-1] - weights[r] * nodes, counts[r] * nodes
        next_cuts.append(places[r][inside * len(places[r]) // all_])
    next_cuts.append(size)
    shape = parts[0].shape
    kept = [keep + (part.ravel() - np.where(result != 0, own, 0)).reshape(shape)
            for part, own, keep in zip(parts, sent, kept)]
    return result.reshape(shape), kept, next_cuts


def shards(rows, devices):
    if rows < devices:
        return [slice(0, rows)]
    return [slice(rows * d // devices, rows * (d + 1) // devices) for d in range(devices)]


def exchange(method, gradients, state, density, rules):
    """gradients[node][device] -> what all apply; state is the residuals, by node and place."""
    nodes, devices = len(gradients), len(gradients[0])
    if method == "allgather":
        total = 0
        for r in range(nodes):
            for d in range(devices):
                total = total + chosen_from(gradients[r][d], state, (r, d), density, nodes * devices, rules)
        return total / (nodes * devices)
    result = np.zeros(gradients[0][0].shape)
    for s, rows in enumerate(shards(result.shape[0], devices)):
        parts = []
        for r in range(nodes):
            mean = sum(g[rows] for g in gradients[r]) / devices
            parts.append(chosen_from(mean, state, (r, s), density, nodes, rules))
        if method == "gtopk":
            combined, kept = gtopk(parts, [state[r, s] for r in range(nodes)], density)
            state.update({(r, s): kept[r] for r in range(nodes)})
        elif method == "oktopk" and nodes > 1:
            cuts = state.get(("cuts", s), [r * parts[0].size // nodes for r in range(nodes + 1)])
            combined, kept, state["cuts", s] = oktopk(parts, [state[r, s] for r in range(nodes)], density, cuts)
            if rules.get("feedback", True):
                state.update({(r, s): kept[r] for r in range(nodes)})
        else:
            combined = sum(parts)
        result[rows] = combined / nodes
    return result


def corrected(gradients, state, rules):
    """Of a gradient that is dense."""
    mean = sum(g for own in gradients for g in own) / sum(len(own) for own in gradients)
    if "second_moment" in rules:
        return adam(mean, state, (0, 0), rules, 1)
    velocity = state["velocity", 0, 0] = rules.get("momentum", 0) * state.get(("velocity", 0, 0), 0) + mean
    return velocity


def reference(x, y, initial, nodes, devices, method, steps=STEPS, dense=(), **rules):
    values = {name: value.astype(np.float64) for name, value in initial.items()}
    state = {"w": {}, "b": {}}
    losses = []
    for step in range(steps):
        gradients = {"w": [], "b": []}
        loss = 0
        for r in range(nodes):
            own = {"w": [], "b": []}
            for d in range(devices):
                first = LOCAL * (step * nodes * devices + r * devices + d)
                a, b = x[first:first + LOCAL].astype(np.float64), y[first:first + LOCAL]
                error = a @ values["w"] + values["b"] - b
                loss += (error * error).sum() / (nodes * devices)
                own["w"].append(a.T @ error)
                own["b"].append(error.sum(axis=0))
            for name, list_ in own.items():
                gradients[name].append(list_)
        losses.append(loss)
        for name in values:
            if name in dense:
                total = corrected(gradients[name], state[name], rules)
            else:
                total = exchange(method, gradients[name], state[name], DENSITY[name], rules)
            values[name] = values[name] - RATE * total
    return values, losses, state


def check(got, losses, want, want_losses):
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=2e-4, atol=2e-5, err_msg=name)
    np.testing.assert_allclose(losses, want_losses, rtol=2e-4)


# ---- tests ------------------------------------------------------------------------------------

CASES = [(2, 1, "allgather"), (3, 1, "hitopk"), (2, 2, "allgather"), (2, 2, "hitopk"), (1, 3, "hitopk"), (4, 1, "gtopk"),
         (2, 2, "gtopk"), (2, 1, "oktopk"), (4, 1, "oktopk"), (3, 2, "oktopk"), (1, 2, "oktopk")]


@pytest.mark.parametrize("nodes,devices,method", CASES)
def test_follows_numpy(data, tmp_path, nodes, devices, method):
    folder, x, y, initial = data
    plan = compile_plan(tmp_path / "plan", nodes, devices, method)
    got, losses = train(folder, plan, tmp_path / "state", "--init", folder / "init.npz")
    want, want_losses, state = reference(x, y, initial, nodes, devices, method)
    check(got, losses, want, want_losses)
    assert set(got) == {"w", "b"}
    for rank, own in enumerate(residuals(tmp_path / "state", STEPS, nodes)):
        for name in ("w", "b"):
            parts = shards(initial[name].shape[0], devices) if method != "allgather" else [slice(None)] * devices
            for place in range(len(parts)):
                suffix = "" if len(parts) == 1 else f".shard{place}"
                if method == "allgather":
                    suffix = f".device{place}" if place else ""
                np.testing.assert_allclose(own[f"{name}.residual{suffix}"], state[name][rank, place], rtol=1e-3,
                                           atol=2e-4)
                if method == "oktopk" and nodes > 1:
                    cuts = state[name]["cuts", place]
                    shifts = [cut - r * cuts[-1] // nodes for r, cut in enumerate(cuts)]
                    np.testing.assert_array_equal(own[f"{name}.regions{suffix}"], shifts[1:-1])


ADAM = dict(momentum=0.75, second_moment=0.875, epsilon=2.0)  # without epsilon all elements of the first step are 1 or -1
RULES = [("allgather", 1, dict(momentum=0.5)), ("allgather", 2, dict(clip=8.0)), ("hitopk", 2, dict(momentum=0.75, clip=16.0)),
         ("hitopk", 1, dict(feedback=False)), ("oktopk", 2, dict(clip=16.0)), ("oktopk", 1, dict(feedback=False)),
         ("allgather", 2, ADAM), ("hitopk", 2, ADAM), ("allgather", 2, dict(ADAM, squares="own")), ("oktopk", 1, ADAM), ("gtopk", 1, dict(second_moment=0.5, epsilon=1.0)),
         ("allgather", 1, dict(ADAM, feedback=False))]


@pytest.mark.parametrize("method,devices,rules", RULES)
def test_rules_follow_numpy(data, tmp_path, method, devices, rules):
    folder, x, y, initial = data
    options = " ".join(f"{'momentum-correction' if name == 'momentum' else name.replace('_', '-')}={str(value).lower()}"
                       for name, value in rules.items())
    plan = compile_plan(tmp_path / "plan", 2, devices, method, options)
    got, losses = train(folder, plan, tmp_path / "state", "--init", folder / "init.npz")
    want, want_losses, state = reference(x, y, initial, 2, devices, method, **rules)
    check(got, losses, want, want_losses)
    plain, _, _ = reference(x, y, initial, 2, devices, method)
    assert not np.allclose(plain["w"], want["w"], rtol=1e-3)  # they matter
    if "second_moment" in rules and "momentum" in rules:  # as does whose squares they are
        other = dict(rules, squares="own" if "squares" not in rules else "mean")
        assert not np.allclose(reference(x, y, initial, 2, devices, method, **other)[0]["w"], want["w"], rtol=1e-3)
    if "momentum" in rules:
        names = ("velocity", "squares") if "second_moment" in rules else ("velocity",)
        own = residuals(tmp_path / "state", STEPS, 2)[1]
        suffix = ".shard1" if devices == 2 else ""
        if method == "allgather" and devices == 2:
            suffix = ".device1"
        for name in names:
            np.testing.assert_allclose(own[f"w.{name}{suffix}"], state["w"][name, 1, devices - 1], rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("options,rules", [("momentum-correction=0.5", dict(momentum=0.5)),
                                           ("momentum-correction=0.75 second-moment=0.875 epsilon=2", ADAM)])
def test_dense_gradients_are_corrected_too(data, tmp_path, options, rules):
    """One that is dense and one that is not, by the same rules. All ranks have the moments of the whole."""
    folder, x, y, initial = data
    plan = compile_plan(tmp_path / "plan", 2, 1, "allgather", options, rules=f"w=1,b={DENSITY['b']}")
    got, losses = train(folder, plan, tmp_path / "state", "--init", folder / "init.npz")
    want, want_losses, state = reference(x, y, initial, 2, 1, "allgather", dense=["w"], **rules)
    check(got, losses, want, want_losses)
    for own in residuals(tmp_path / "state", STEPS, 2):
        assert "w.residual" not in own and "b.residual" in own
        np.testing.assert_allclose(own["w.velocity.mean"], state["w"]["velocity", 0, 0], rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("options", ["schedule=priority", "schedule=fifo", "copies=overlap", "copies=in-line", "select=sampled",
                                     "sparse-fuse-bytes=0"])
def test_schedules_and_copies_change_nothing(data, tmp_path, options):
    folder = data[0]
    states = []
    for number, own in enumerate(["", options]):
        plan = compile_plan(tmp_path / f"plan{number}", 2, 2, "hitopk", own)
        states.append(train(folder, plan, tmp_path / f"state{number}", "--init", folder / "init.npz")[0])
    for name, value in states[0].items():
        np.testing.assert_array_equal(value, states[1][name])


@pytest.mark.parametrize("nodes,devices,method", CASES + [(4, 2, "hitopk"), (3, 2, "allgather"), (4, 2, "oktopk")])
def test_bytes_follow_the_formulas(data, tmp_path, nodes, devices, method):
    """docs/sparse.md: what rank 0 sends. The loss goes to rank 0, which sends nothing for it."""
    folder, _, _, initial = data
    plan = compile_plan(tmp_path / "plan", nodes, devices, method)
    train(folder, plan, tmp_path / "state", "--init", folder / "init.npz", steps=2)
    lists = 0
    for name, value in initial.items():
        parts = shards(value.shape[0], devices) if method != "allgather" else [slice(None)] * devices
        for part in parts:
            selected = max(1, round(DENSITY[name] * value[part].size))
            # Of oktopk, to the owners and from them, each with a count.
            lists += 8 * sum(region_sizes(selected, nodes)) + 8 if method == "oktopk" else 8 * selected
    factor = np.log2(nodes) if method == "gtopk" else nodes - 1
    metrics = json.loads((tmp_path / "state.json").read_text())
    sent = find(metrics, "sent_bytes_per_step")
    assert sent == factor * lists


def find(value, name):
    if isinstance(value, dict):
        if name in value:
            return value[name]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            if (found := find(inner, name)) is not None:
                return found
    return None


@pytest.mark.parametrize("method", ["allgather", "gtopk", "oktopk"])
def test_processes_train_the_same(data, tmp_path, method):
    folder = data[0]
    plan = compile_plan(tmp_path / "plan", 2, 1, method)
    threads, losses = train(folder, plan, tmp_path / "threads", "--init", folder / "init.npz")
    processes, other = train(folder, plan, tmp_path / "processes", "--init", folder / "init.npz", "--spawn", 2)
    assert losses == other
    for name, value in threads.items():
        np.testing.assert_array_equal(value, processes[name])
    for a, b in zip(residuals(tmp_path / "threads", STEPS, 2), residuals(tmp_path / "processes", STEPS, 2)):
        for name, value in a.items():
            np.testing.assert_array_equal(value, b[name])


@pytest.mark.parametrize("spawn,method", [(False, "allgather"), (True, "allgather"), (False, "oktopk")])
def test_resuming_continues_bitwise(data, tmp_path, spawn, method):
    folder = data[0]
    extra = ("--spawn", 2) if spawn else ()
    plan = compile_plan(tmp_path / "plan", 2, 1, method)
    whole, _ = train(folder, plan, tmp_path / "whole", "--init", folder / "init.npz", *extra)
    train(folder, plan, tmp_path / "half", "--init", folder / "init.npz", *extra, steps=5)
    rest, _ = train(folder, plan, tmp_path / "rest", "--resume", tmp_path / "half", *extra, steps=STEPS - 5)
    for name, value in whole.items():
        np.testing.assert_array_equal(value, rest[name])
    for a, b in zip(residuals(tmp_path / "whole", STEPS, 2), residuals(tmp_path / "rest", STEPS, 2)):
        for name, value in a.items():
            np.testing.assert_array_equal(value, b[name])
    # Without the residuals it would not.
    (tmp_path / "half.step5.rank1").unlink()
    out, err, status = run(plan, "--batch", folder / "train.npz", "--steps", 1, "--resume", tmp_path / "half", *extra)
    assert status > 0 and "half.step5.rank1" in err, err


@pytest.mark.parametrize("method", ["allgather", "oktopk"])
def test_other_numbers_of_nodes_get_the_mean(data, tmp_path, method):
    folder = data[0]
    plan = compile_plan(tmp_path / "plan", 4, 1, method)
    train(folder, plan, tmp_path / "four", "--init", folder / "init.npz", steps=3)
    saved = residuals(tmp_path / "four", 3, 4)
    plan = compile_plan(tmp_path / "plan", 2, 1, method)
    train(folder, plan, tmp_path / "two", "--resume", tmp_path / "four", steps=0)
    for own in residuals(tmp_path / "two", 3, 2):
        for name, value in own.items():
            if ".regions" in name:  # equal ones
                assert value.shape == (1,) and not value.any()
                continue
            np.testing.assert_allclose(value, np.mean([s[name].astype(np.float64) for s in saved], axis=0), rtol=1e-6)


def test_infinite_gradients_end_the_run(data, tmp_path):
    folder, x, y, initial = data
    bad = x.copy()
    bad[LOCAL * 2 + 1, 3] = np.inf
    np.savez(tmp_path / "bad.npz", x=bad, y=y)
    plan = compile_plan(tmp_path / "plan", 2, 1, "allgather")
    expect_error(run(plan, "--batch", tmp_path / "bad.npz", "--steps", 4, "--init", folder / "init.npz"), "top_k", "finite")


OPS = """
func.func @step(%w: tensor<3x5x{t}> {{cs.param = "w"}}, %a: tensor<6x{t}> {{cs.state = "sent"}},
                %b: tensor<3x5x{t}> {{cs.state = "rest"}}, %c: tensor<3x5x{t}> {{cs.state = "cleared"}},
                %d: tensor<4x{t}> {{cs.state = "merged"}}, %e: tensor<15x{t}> {{cs.state = "others"}},
                %x: tensor<3x5x{t}> {{cs.batch = "x"}})
    -> (tensor<3x5x{t}> {{cs.updates = "w"}}, tensor<6x{t}> {{cs.updates = "sent"}},
        tensor<3x5x{t}> {{cs.updates = "rest"}}, tensor<3x5x{t}> {{cs.updates = "cleared"}},
        tensor<4x{t}> {{cs.updates = "merged"}}, tensor<15x{t}> {{cs.updates = "others"}})
    attributes {{cs.step}} {{
  %x1 = cs.gradient %x of "w" : tensor<3x5x{t}>
  %v, %i, %r = cs.top_k "{method}" %x1 : (tensor<3x5x{t}>) -> (tensor<6x{t}>, tensor<6x{i}>, tensor<3x5x{t}>)
  %n = cs.scatter_add %v, %i over 2 into %w : (tensor<6x{t}>, tensor<6x{i}>, tensor<3x5x{t}>) -> tensor<3x5x{t}>
  %z = cs.scatter_clear %x1, %i : tensor<3x5x{t}>, tensor<6x{i}>
  %v2 = tensor.concat dim(0) %v, %v : (tensor<6x{t}>, tensor<6x{t}>) -> tensor<12x{t}>
  %i2 = tensor.concat dim(0) %i, %i : (tensor<6x{i}>, tensor<6x{i}>) -> tensor<12x{i}>
  %mv, %mi = cs.merge_top_k %v2, %i2 : (tensor<12x{t}>, tensor<12x{i}>) -> (tensor<4x{t}>, tensor<4x{i}>)
  %f = tensor.collapse_shape %r [[0, 1]] : tensor<3x5x{t}> into tensor<15x{t}>
  %o = cs.scatter_add %v, %i except %mi into %f : (tensor<6x{t}>, tensor<6x{i}>, tensor<4x{i}>, tensor<15x{t}>) -> tensor<15x{t}>
  return %n, %v, %r, %z, %mv, %o : tensor<3x5x{t}>, tensor<6x{t}>, tensor<3x5x{t}>, tensor<3x5x{t}>, tensor<4x{t}>, tensor<15x{t}>
}}
"""


@pytest.mark.parametrize("element,index,method", [("f32", "i32", "exact"), ("f16", "i64", "histogram"), ("f32", "i64", "sampled")])
def test_ops_compute_at_level_0(tmp_path, element, index, method):
    source = CLUSTER.format(1, 1) + OPS.format(t=element, i=index, method=method)
    write_plan(tmp_path / "plan", source, "--cs-all-reduce-pipeline")
    dtype = {"f32": np.float32, "f16": np.float16}[element]
    x = np.array([[3, -8, 0.5, 2, -2], [7, 1, -6, 0, 4], [-5, 9, 0.25, -1, 2]], dtype)
    zeros = {"sent": 6, "rest": (3, 5), "cleared": (3, 5), "merged": 4, "others": 15}
    np.savez(tmp_path / "init.npz", w=np.ones((3, 5), dtype), **{n: np.zeros(shape, dtype) for n, shape in zeros.items()})
    np.savez(tmp_path / "x.npz", x=x)
    expect_success(run(tmp_path / "plan", "--init", tmp_path / "init.npz", "--batch", tmp_path / "x.npz", "--steps", 1,
                       "--checkpoint", tmp_path / "state"))
    got = load_file(tmp_path / "state")
    chosen = top_k(x, 6)
    sent = np.zeros(15, dtype)
    sent[chosen] = x.ravel()[chosen]
    np.testing.assert_array_equal(got["sent"], x.ravel()[chosen])
    np.testing.assert_array_equal(got["w"], 1 + (sent / 2).reshape(3, 5))
    np.testing.assert_array_equal(got["rest"], x - sent.reshape(3, 5))
    np.testing.assert_array_equal(got["cleared"], got["rest"])
    again = top_k(2 * sent, 4)
    np.testing.assert_array_equal(got["merged"], 2 * sent[again])
    kept = (x.ravel() - sent) + np.where(np.isin(np.arange(15), again), 0, sent)
    np.testing.assert_array_equal(got["others"], kept)
