# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cs-run --check-against and program.check(): plans that are right, and plans of another step."""
import json
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import commsched
from conftest import ROOT, tool
from test_steps import MODELS, cross_entropy, mlp, training

EXAMPLES = ROOT / "examples"


def plan_of(folder, text, pipeline="--cs-all-reduce-pipeline"):
    lowered = subprocess.run([tool("cs-opt"), pipeline], input=text, text=True, capture_output=True, check=True)
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", folder / "plan"], input=lowered.stdout, text=True,
                   check=True)
    return folder / "plan"


def check(folder, *options, steps=3, module=EXAMPLES / "linear.mlir", more={}, **values):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((256, 8)).astype(np.float32)
    np.savez(folder / "train.npz", x=x, y=x @ np.arange(8, dtype=np.float32), **more)
    np.savez(folder / "init.npz", w=rng.standard_normal(8).astype(np.float32), **values)
    return subprocess.run([tool("cs-run"), folder / "plan", "--init", folder / "init.npz", "--batch",
                           folder / "train.npz", "--steps", str(steps), "--check-against", module, *options],
                          text=True, capture_output=True, timeout=300)


@pytest.mark.parametrize("pipeline", ["--cs-all-reduce-pipeline", "--cs-parameter-server-pipeline"])
def test_a_plan_of_the_step(tmp_path, pipeline):
    plan_of(tmp_path, (EXAMPLES / "linear.mlir").read_text(), pipeline)
    done = check(tmp_path, "--check-json", tmp_path / "table", "--shuffle")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"checked 3 steps against {EXAMPLES / 'linear.mlir'}: all 1 tensors within bounds"
    (row,) = json.loads((tmp_path / "table").read_text())
    assert row["name"] == "w" and row["elements"] == 24 and row["outside"] == row["undetermined"] == 0
    assert 0 <= row["largest"] <= row["bound"] <= 1e-5


# Beside the parameter, state that each worker makes of its samples and a metric: means of the workers, whatever becomes of gradients.
STATEFUL = [("%x: tensor<16x8xf32>", '%m: tensor<8xf32> {cs.state = "m"}, %x: tensor<16x8xf32>'),
            ('(tensor<8xf32> {cs.updates = "w"})', '(tensor<8xf32> {cs.updates = "w"}, tensor<8xf32> {cs.updates = "m"}, tensor<f32> {cs.metric = "loss"})'),
            ("  return %new : tensor<8xf32>", """  %m1 = arith.addf %m, %g : tensor<8xf32>
  %e2 = tensor.empty() : tensor<f32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<f32>) -> tensor<f32>
  %loss = linalg.dot ins(%d, %d : tensor<16xf32>, tensor<16xf32>) outs(%z2 : tensor<f32>) -> tensor<f32>
  return %new, %m1, %loss : tensor<8xf32>, tensor<8xf32>, tensor<f32>""")]


def stateful():
    text = (EXAMPLES / "linear.mlir").read_text()
    for old, new in STATEFUL:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("pipeline", ["--cs-all-reduce-pipeline", "--cs-parameter-server-pipeline"])
def test_what_becomes_of_gradients(tmp_path, pipeline, reduction):
    """The plan says it: with the other one the same plan is wrong."""
    module, mark = tmp_path / "step.mlir", "cs.gradient_reduction = #cs<reduction sum>, "
    module.write_text(stateful())
    lowered = subprocess.run([tool("cs-opt"), f"{pipeline}=reduction={reduction}", module], text=True, capture_output=True, check=True).stdout
    assert (mark in lowered) == (reduction == "sum")
    other = lowered.replace(mark, "") if reduction == "sum" else lowered.replace("attributes {", "attributes {" + mark, 1)
    assert other != lowered
    for text, right in ((lowered, True), (other, False)):
        subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", tmp_path / "plan"], input=text, text=True, check=True)
        done = check(tmp_path, module=module, m=np.ones(8, np.float32))
        assert (done.returncode == 0) == right, (done.stdout, done.stderr)
        assert ("all 3 tensors within bounds" in done.stdout) == right and ('"w" is wrong after step' in done.stderr) != right


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("gradient", ["g", "w"], ids=["one batch", "all batches"])
def test_batches_that_the_devices_of_a_node_do_not_use(tmp_path, gradient, reduction):
    """Each has its part of them all the same, and a sum counts what is the same on all devices once for each."""
    cluster = """cs.cluster @lab nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
"""
    text, module = (EXAMPLES / "linear.mlir").read_text(), tmp_path / "step.mlir"
    for old, new in (('{cs.batch = "y"})', '{cs.batch = "y"}, %z: tensor<16x3xf32> {cs.batch = "z"})'), ("cs.gradient %g", f"cs.gradient %{gradient}")):
        assert old in text
        text = text.replace(old, new)
    module.write_text(cluster + text)
    plan_of(tmp_path, module.read_text(), f"--cs-all-reduce-pipeline=reduction={reduction}")
    done = check(tmp_path, module=module, more={"z": np.ones((256, 3), np.float32)})
    assert done.returncode == 0, (done.stdout, done.stderr)


WRONG = {
    "rate": ("dense<0.00625>", "dense<0.00626>"),
    "sign": ("arith.subf %w, %u", "arith.addf %w, %u"),
    "gradient without its operand": ("linalg.vecmat ins(%d, %x", "linalg.vecmat ins(%y, %x"),
    "accumulates into what it should not": ("outs(%z1 : tensor<8xf32>) -> tensor<8xf32>\n  %g1",
                                           "outs(%w : tensor<8xf32>) -> tensor<8xf32>\n  %g1"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_plan_of_another_step(tmp_path, fault):
    text = (EXAMPLES / "linear.mlir").read_text()
    assert WRONG[fault][0] in text
    plan_of(tmp_path, text.replace(*WRONG[fault]))
    done = check(tmp_path)
    assert done.returncode == 1
    assert 'linear.mlir: "w" is wrong after step ' in done.stderr and "1 of 1 tensors" in done.stderr, done.stderr
    assert "outside" in done.stdout


@pytest.mark.parametrize("options, message", [
    (["--spawn", "2"], "--check-against runs all ranks in this process"),
    (["--save-params", "p"], "--check-against goes without what training, measuring and predicting need"),
    (["--steps", "0"], "--check-against needs --steps"),
])
def test_what_it_does_not_go_with(tmp_path, options, message):
    plan_of(tmp_path, (EXAMPLES / "linear.mlir").read_text())
    done = check(tmp_path, *options)
    assert done.returncode != 0 and message in done.stderr


def test_a_step_that_cannot_be_interpreted(tmp_path):
    plan_of(tmp_path, (EXAMPLES / "linear.mlir").read_text())
    (tmp_path / "other.mlir").write_text("func.func @f() {\n  return\n}\n")
    done = check(tmp_path, module=tmp_path / "other.mlir")
    assert done.returncode == 1 and "could not be interpreted" in done.stderr
    assert "has no function with cs.step" in done.stderr


def batches(count, rows=8):
    rng = np.random.default_rng(1)
    return [(rng.standard_normal((rows, 24)).astype(np.float32), rng.integers(0, 3, rows).astype(np.int32))
            for _ in range(count)]


@pytest.mark.parametrize("strategy", [commsched.AllReduce(), commsched.ParameterServers(servers=2)], ids=["all-reduce", "servers"])
def test_a_program(strategy):
    params, optimizer = mlp(np.random.default_rng(0), (24, 16, 3)), optax.adam(1e-2)
    program = commsched.transpile(training(optimizer, cross_entropy), params, optimizer.init(params), batches(1)[0],
                                  cluster=2, strategy=strategy)
    before = program.slots()
    table = {row.name: row for row in program.check(batches(3))}
    assert set(before) < set(table) and len(table) == len(before) + 1
    assert all(row.outside == 0 and row.largest <= row.bound for row in table.values())
    assert all(row.determined for row in table.values())
    after = program.slots()
    assert all((before[name] == after[name]).all() for name in before)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_models(name, workers):
    """Among them two towers, whose gradients fusion and bufferisation once exchanged."""
    make, loss, optimizer = MODELS[name]
    params = make(np.random.default_rng(0))
    program = commsched.transpile(training(optimizer, loss), params, optimizer.init(params), batches(1)[0], cluster=workers)
    table = program.check(batches(2))
    known = [row for row in table if row.determined and not row.undetermined]
    assert len(known) >= len(params) + 1 and all(0 <= row.largest <= row.bound for row in known)


@pytest.mark.parametrize("of", [lambda x: x != x, jnp.isnan, lambda x: ~(x == x)])
def test_a_number_beside_itself(of):
    """Is this NaN? No, however near the number is known: what depends on it keeps a bound of rounding."""
    def loss(params, x):
        h = x @ params["w"]
        return jnp.mean(jnp.where(of(h), 7.0, jnp.where(of(-h), h, h * h)))

    def step(params, x):
        value, grads = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    rng = np.random.default_rng(5)
    x = rng.standard_normal((8, 6)).astype(np.float32)
    program = commsched.transpile(step, {"w": rng.standard_normal((6, 4)).astype(np.float32)}, x, cluster=2)
    with pytest.raises(ValueError, match="check must have at least one batch, got: none"):
        program.check([])
    for row in program.check([x, x]):
        assert row.undetermined == row.outside == 0 and row.bound < 1e-4, row


def test_a_program_whose_plan_is_wrong():
    params, optimizer = mlp(np.random.default_rng(0), (24, 16, 3)), optax.sgd(0.1)
    make = lambda rate: commsched.transpile(training(optax.sgd(rate), cross_entropy), params, optimizer.init(params),
                                            batches(1)[0], cluster=2)
    program = make(0.1)
    program._plans = {key: make(0.1001).plan for key in [(2, *program.strategy.pipeline(2))]}
    with pytest.raises(commsched.CheckError, match="is wrong after step 1") as error:
        program.check(batches(2))
    assert any(row.outside for row in error.value.table)


def test_programs_that_mean_something_else():
    params, optimizer = mlp(np.random.default_rng(0), (24, 16, 3)), optax.sgd(0.1)
    program = commsched.transpile(training(optimizer, cross_entropy), params, optimizer.init(params), batches(1)[0],
                                  cluster=2, strategy=commsched.AllReduce(sparse=0.1))
    with pytest.raises(ValueError, match="sparse gradients"):
        program.check(batches(1))


UNKNOWN = """
cs.cluster @one nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: tensor<8xf32> {cs.param = "w"}, %q: tensor<8xf32> {cs.state = "q"},
                %x: tensor<16x8xf32> {cs.batch = "x"}, %y: tensor<16xf32> {cs.batch = "y"})
    -> (tensor<8xf32> {cs.updates = "w"}, tensor<8xf32> {cs.updates = "q"}) attributes {cs.step} {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %g = linalg.reduce { arith.addf } ins(%x : tensor<16x8xf32>) outs(%zero : tensor<8xf32>) dimensions = [0]
  %m = cs.gradient %g of "w" : tensor<8xf32>
  %n = arith.subf %w, %m : tensor<8xf32>
  // Zero, but for rounding: what it is depends on the order of the sum.
  %d = arith.subf %g, %m : tensor<8xf32>
  %i = arith.divf %w, %d : tensor<8xf32>
  return %n, %i : tensor<8xf32>, tensor<8xf32>
}
"""


def test_what_is_not_determined_is_said(tmp_path):
    (tmp_path / "step.mlir").write_text(UNKNOWN)
    plan_of(tmp_path, UNKNOWN)
    x = np.random.default_rng(3).standard_normal((64, 8)).astype(np.float32)
    np.savez(tmp_path / "train.npz", x=x, y=x[:, 0])
    np.savez(tmp_path / "init.npz", w=np.ones(8, np.float32), q=np.zeros(8, np.float32))
    done = subprocess.run([tool("cs-run"), "plan", "--init", "init.npz", "--batch", "train.npz", "--steps", "2",
                           "--check-against", "step.mlir"], cwd=tmp_path, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "q       not determined" in lines
    assert lines[-1] == ("checked 2 steps against step.mlir: 1 tensors within bounds, 1 not determined: q "
                         "(16 of 32 elements are not determined)")
