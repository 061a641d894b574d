# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commsched.simulate() and cs-run --simulate, on plans of profiles."""

import json
import pathlib
import re
import subprocess

import pytest

import commsched
from built import tool

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = ("cs.cluster @lab nodes = {nodes} devices = 1 device = <kind = cuda, gflops = 10000, gb_per_s = 1000>\n"
           "  intra = <mbit_per_s = 80000, latency_ns = 5000>\n"
           "  inter = <mbit_per_s = {rate}, latency_ns = 20000, overhead_ns = 5000>\n")


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compile_plan(folder, model, nodes, rate, policy="solver"):
    """A plan, and the time of a step that the compiler predicts."""
    program, cluster, schedule, plan = (folder / f"{policy}{end}" for end in (".mlir", ".cluster", ".2.mlir", ".plan"))
    program.write_text(call(tool("cs-translate"), "--import-aicb", ROOT / f"examples/profiles/{model}.txt"))
    cluster.write_text(CLUSTER.format(nodes=nodes, rate=rate))
    call(tool("cs-opt"), program, f"--cs-all-reduce-pipeline=cluster={cluster} schedule={policy} algorithm=ring",
         "-o", schedule)
    call(tool("cs-translate"), "--mlir-to-plan", schedule, "-o", plan)
    return plan, int(re.search(r"period_ns = (\d+)", schedule.read_text())[1])


@pytest.fixture(scope="module", params=["solver", "fifo"])
def resnet(request, tmp_path_factory):
    return compile_plan(tmp_path_factory.mktemp("plans"), "resnet50", 4, 4000, request.param)


def test_it_agrees_with_the_evaluator_of_schedules(resnet):
    plan, period = resnet
    result = commsched.simulate(plan)
    assert result.planned_ns == period
    assert result.bound_ns > 0
    assert result.step_ns == pytest.approx(period, rel=0.05)
    assert result.step_ns > 0.99 * result.bound_ns
    assert result.step_ns == pytest.approx(result.compute_ns + result.exposed_ns, rel=1e-3)
    # To the nanosecond.
    assert result.ends_ns[0] == result.first_step_ns and result.ends_ns[-1] == result.total_ns > 1e9


def test_what_if(resnet):
    plan, _ = resnet
    base = commsched.simulate(plan.read_bytes())
    assert commsched.simulate(plan, bandwidth=2).step_ns <= base.step_ns
    faster = commsched.simulate(plan, compute=2)
    assert faster.compute_ns == pytest.approx(base.compute_ns / 2, rel=1e-6)
    many = commsched.simulate(plan, workers=64)
    assert (many.workers, len(many.ranks), many.ranks[0].ranks) == (64, 1, 64)
    assert many.ranks[0].send.bytes_per_step == pytest.approx(
        base.ranks[0].send.bytes_per_step * (63 / 64) / (3 / 4), rel=1e-3)
    slow = commsched.simulate(plan, stragglers={2: 3})
    assert slow.step_ns > 2.5 * base.compute_ns
    assert len(slow.ranks) == 4
    assert commsched.simulate(plan, links={0: (400, 4000)}).step_ns > base.step_ns
    assert commsched.simulate(plan, steps=3).steps == 3


def test_the_tool_says_the_same(resnet, tmp_path):
    plan, _ = resnet
    options = ["--what-if", "bandwidth=2,compute=3", "--straggler", "1=1.5", "--link", "3=2000/1000"]
    text = call(tool("cs-run"), plan, "--simulate", *options, "--metrics-json", tmp_path / "out.json",
                "--trace", tmp_path / "trace.json")
    assert "step:" in text and "bound:" in text and "rank 3" in text
    found = json.loads((tmp_path / "out.json").read_text())
    same = commsched.simulate(plan, bandwidth=2, compute=3, stragglers={1: 1.5}, links={3: (2000, 1000)})
    assert found["step_ns"] == same.step_ns
    assert [rank["exposed_ns"] for rank in found["ranks"]] == [rank.exposed_ns for rank in same.ranks]
    spans = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e["ph"] == "X"]
    assert {"compute", "exposed wait", "message"} <= {span["cat"] for span in spans}
    # Compute in the trace is compute in the result.
    for rank in same.ranks:
        compute = sum(span["dur"] for span in spans
                      if span["pid"] == rank.rank and span["cat"] == "compute" and span["args"]["call"] == 1)
        assert compute * 1e3 == pytest.approx(rank.compute_ns, rel=1e-3)


def test_jitter_and_one_order(resnet, tmp_path):
    plan, _ = resnet
    base = commsched.simulate(plan, steps=10)
    drawn = commsched.simulate(plan, steps=10, jitter=0.1, jitter_seed=3)
    assert drawn.step_ns != base.step_ns
    assert drawn.step_ns == pytest.approx(base.step_ns, rel=0.1)
    assert len(drawn.ranks) == 4
    assert commsched.simulate(plan, steps=10, jitter=0.1, jitter_seed=4).step_ns != drawn.step_ns
    ordered = commsched.simulate(plan, steps=10, jitter=0.1, jitter_seed=3, in_order=True)
    assert ordered.step_ns != drawn.step_ns
    call(tool("cs-run"), plan, "--simulate", "--steps", 10, "--jitter", "0.1/3", "--in-order", "--metrics-json", tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["step_ns"] == ordered.step_ns


@pytest.mark.parametrize("merge", [2, 3, 4, 5, 7, 40])
def test_steps_of_which_few_are_pushed_have_their_mean(tmp_path, merge):
    """Between two pushes steps are alike, which is no end of the rhythm."""
    program, cluster, schedule, plan = (tmp_path / name for name in ("step.mlir", "cluster.mlir", "schedule.mlir", "step.plan"))
    program.write_text(call(tool("cs-translate"), "--import-aicb", ROOT / "examples/profiles/resnet50.txt"))
    cluster.write_text(CLUSTER.format(nodes=2, rate=500))
    call(tool("cs-opt"), program, f"--cs-parameter-server-pipeline=cluster={cluster} servers=2 sync-mode=half-async merge={merge} schedule=fifo", "-o", schedule)
    call(tool("cs-translate"), "--mlir-to-plan", schedule, "-o", plan)
    predicted, long = commsched.simulate(plan), commsched.simulate(plan, steps=4 * merge + 2)
    assert predicted.step_ns == pytest.approx(long.step_ns, rel=0.02)
    assert predicted.step_ns > 1.05 * predicted.compute_ns


@pytest.mark.parametrize("slowdown", [0, 50])
def test_a_step_below_its_bound_says_what_the_bound_assumes(tmp_path, slowdown):
    """Compute that gets slower while links are busy, which is not simulated."""
    program, cluster, schedule, plan = (tmp_path / name for name in ("step.mlir", "cluster.mlir", "schedule.mlir", "step.plan"))
    program.write_text(call(tool("cs-translate"), "--import-aicb", ROOT / "examples/profiles/resnet50.txt"))
    cluster.write_text(CLUSTER.format(nodes=2, rate=100000) + f"  slowdown_percent = {slowdown}\n")
    call(tool("cs-opt"), program, f"--cs-all-reduce-pipeline=cluster={cluster} schedule=fifo", "-o", schedule)
    call(tool("cs-translate"), "--mlir-to-plan", schedule, "-o", plan)
    said, result = call(tool("cs-run"), plan, "--simulate"), commsched.simulate(plan)
    assert (result.step_ns < 0.999 * result.bound_ns) == (slowdown != 0)
    assert ("it assumes" in said) == ("while links are busy, 50 percent more" in said) == (slowdown != 0), said


@pytest.mark.parametrize("options, message", [
    ({"bandwidth": -1}, "bandwidth must be a number above 0 and at most 1e+09, got: -1"),
    ({"workers": 0}, "workers must be a number of at least 1, got: 0"),
    ({"algorithm": "tree"}, "algorithm must be ring, halving-doubling, recursive-doubling or auto, got: tree"),
    ({"stragglers": {9: 2}}, "straggler must be a rank below 4, got: 9"),
    ({"links": {9: 100}}, "link must be of a rank below 4, got: 9"),
    ({"jitter": 1.5}, "jitter must be at least 0 and below 1, got: 1.5"),
    ({"steps": -3}, "steps must be a number of at least 0, got: -3"),
])
def test_bad_options_are_one_error(resnet, options, message):
    with pytest.raises(commsched.RuntimeFailure) as caught:
        commsched.simulate(resnet[0], **options)
    assert str(caught.value) == message


def test_bad_plans_and_files_are_one_error(resnet, tmp_path):
    with pytest.raises(commsched.RuntimeFailure, match="not a plan|plan"):
        commsched.simulate(b"nothing")
    (tmp_path / "links.json").write_text("{}")
    with pytest.raises(commsched.RuntimeFailure, match="calibration format must be"):
        commsched.simulate(resnet[0], calibration=tmp_path / "links.json")
    for arguments, message in [
            (["--simulate", "--spawn", "4"], "--simulate runs nothing"),
            (["--what-if", "bandwidth=2"], "needs --simulate"),
            (["--simulate", "--what-if", "speed=2"], "--what-if must name bandwidth"),
            (["--simulate", "--straggler", "1"], "--straggler factor must be a number above 0"),
            (["--simulate", "--link", "x=3"], "--link must begin with a rank"),
            (["--simulate", "--read-profile", str(tmp_path / "none")], "--read-profile: ")]:
        done = subprocess.run([tool("cs-run"), resnet[0], *arguments], capture_output=True, text=True)
        assert done.returncode in (1, 2)
        assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1
