# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainers and parameter servers as processes: they train what one process
trains, over TLS, in every mode, and go on where they were."""
import json
import pathlib
import subprocess

import numpy as np
import pytest
from conftest import CLUSTER, EXAMPLES, TIME_LIMIT, compile_plan, expect_success, run, tool, write_token
from safetensors.numpy import load_file
from servers import DIGITS_DATA, Authority, Job, compile_servers, digits_plan, digits_source
from test_clusters import losses
from test_lost_peers import wait_for

INPUTS = pathlib.Path(__file__).parent / "Inputs"


@pytest.fixture(scope="module")
def plan(folder):
    return digits_plan(folder)


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """security of a Job: TLS with a certificate for each process, and a token."""
    folder = tmp_path_factory.mktemp("secure")
    authority = Authority(folder / "authority")
    token = write_token(folder / "token", "the token of this job")
    return lambda role, index: [*authority.certificate(f"{role}.{index}"), "--token-file", token]


def metrics(path):
    return ["--metrics-every", 1, "--metrics-json", path]


def test_four_processes_over_tls(plan, secure, cluster, tmp_path):
    expect_success(run(plan, *DIGITS_DATA, "--steps", 40, "--save-params", tmp_path / "threads",
                       *metrics(tmp_path / "threads.json")))
    job = Job(cluster, plan, security=secure)
    for index in range(2):
        job.start_server(index, "--init", EXAMPLES / "digits.init.safetensors")
    for rank in range(2):
        job.start_trainer(rank, *DIGITS_DATA, "--steps", 40, "--save-params", tmp_path / "processes",
                          *metrics(tmp_path / "processes.json"))
    for result in job.finish().values():
        expect_success(result)
    assert losses(tmp_path / "processes.json") == losses(tmp_path / "threads.json")
    assert len(losses(tmp_path / "processes.json")) == 40
    assert (tmp_path / "processes").read_bytes() == (tmp_path / "threads").read_bytes()


def test_synchronous_servers_follow_all_reduce(plan, folder, tmp_path):
    """The same gradients, summed elsewhere."""
    reduced = compile_plan(CLUSTER.format(nodes=2) + digits_source(2), folder / "reduce.plan")
    found = []
    for which, name in ((reduced, "reduce"), (plan, "servers")):
        expect_success(run(which, *DIGITS_DATA, "--steps", 40, *metrics(tmp_path / name)))
        found.append(losses(tmp_path / name))
    np.testing.assert_allclose(found[1], found[0], rtol=2e-5)


def test_one_process_starts_all(plan, secure, tmp_path):
    steps = [*DIGITS_DATA, "--steps", 25]
    expect_success(run(plan, *steps, "--save-params", tmp_path / "threads"))
    expect_success(run("--spawn", plan, *steps, "--save-params", tmp_path / "spawned"))
    expect_success(run(plan, *steps, "--spawn", 4, *secure("job", 0), "--save-params", tmp_path / "secured"))
    for name in ("spawned", "secured"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "threads").read_bytes(), name


def test_processes_evaluate_what_threads_evaluate(plan, tmp_path):
    """Over the whole data, although trainers exchange nothing."""
    found = []
    for name, how in (("threads", []), ("processes", ["--spawn"])):
        expect_success(run(plan, *how, *DIGITS_DATA, "--steps", 20, "--eval", "eval", "--eval-every", 10, "--eval-batch",
                           EXAMPLES / "digits.test.npz", "--metrics-json", tmp_path / name))
        found.append(json.loads((tmp_path / name).read_text())["calls"])
    assert len(found[0]) == len(found[1]) == 2
    for threads, processes in zip(*found):
        assert threads["accuracy"] == pytest.approx(processes["accuracy"], abs=1e-6)
        assert threads["loss"] == pytest.approx(processes["loss"], rel=1e-6)


def test_one_trace_of_all(plan, tmp_path):
    expect_success(run(plan, "--spawn", *DIGITS_DATA, "--steps", 5, "--trace", tmp_path / "trace.json"))
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {e["pid"] for e in events if e["ph"] == "X"} == set(range(4))


def accuracy(folder, tmp_path, workers, options, rate, blocks="min-block-elements=1024"):
    """On digits.test.npz, after 30 epochs at this rate in processes."""
    source = digits_source(workers)
    assert "constant 5.000000e-02 : f32" in source
    plan = compile_servers(source.replace("constant 5.000000e-02 : f32", f"constant {rate:e} : f32"),
                           folder / f"rate-{workers}-{options}.plan", workers, 2, f"{blocks} {options}")
    expect_success(run(plan, "--spawn", *DIGITS_DATA, "--epochs", 30, "--eval", "eval", "--eval-batch",
                       EXAMPLES / "digits.test.npz", "--metrics-json", tmp_path / f"{options}.json"))
    return json.loads((tmp_path / f"{options}.json").read_text())["calls"][-1]["accuracy"]


# At the rate of sync mode half-async is on the edge, as async is, where a trainer is held up (docs/parameter-server.md).
@pytest.mark.parametrize("options, rate", [("sync-mode=half-async merge=2", 0.025), ("placement=hash slice=false", 0.05)])
def test_modes_reach_the_accuracy(folder, tmp_path, options, rate):
    assert accuracy(folder, tmp_path, 2, options, rate, blocks="") > 0.95


# With four trainers the rate of sync mode, 0.05, diverges: also in a simulation
# (docs/parameter-server.md).
@pytest.mark.parametrize("workers, less", [(2, 0.01), (4, 0.03)])
def test_async_reaches_the_accuracy_of_sync(folder, tmp_path, workers, less):
    synchronous = accuracy(folder, tmp_path, workers, "sync-mode=sync", 0.05)
    assert synchronous > 0.97
    assert accuracy(folder, tmp_path, workers, "sync-mode=async", 0.05 / workers) >= synchronous - less


def test_checkpoint_of_one_process_has_whole_names(plan, tmp_path):
    whole = ["--init", EXAMPLES / "digits.init.safetensors"]
    data = DIGITS_DATA[2:]
    expect_success(run(plan, *whole, *data, "--steps", 20, "--checkpoint", tmp_path / "whole"))
    expect_success(run(plan, *whole, *data, "--steps", 9, "--checkpoint", tmp_path / "half"))
    expect_success(run(plan, "--resume", tmp_path / "half", *data, "--steps", 11, "--checkpoint", tmp_path / "resumed"))
    expected, resumed = load_file(tmp_path / "whole"), load_file(tmp_path / "resumed")
    assert expected.keys() == resumed.keys() == load_file(EXAMPLES / "digits.init.safetensors").keys()
    for name, tensor in expected.items():
        assert tensor.tobytes() == resumed[name].tobytes(), name


@pytest.mark.parametrize("index", [0, 1])
def test_server_comes_back_from_its_checkpoint(plan, secure, cluster, tmp_path, index):
    steps = 400
    expect_success(run(plan, *DIGITS_DATA, "--steps", steps, "--save-params", tmp_path / "undisturbed"))
    job = Job(cluster, plan, security=secure)
    saving = ["--checkpoint", tmp_path / "saved", "--checkpoint-every", 10]
    job.start(of_servers=[*saving, "--init", EXAMPLES / "digits.init.safetensors"],
              of_trainers=[*DIGITS_DATA, "--steps", steps, "--save-params", tmp_path / "disturbed"])
    wait_for(lambda: (tmp_path / "saved" / f"server.{index}.checkpoint").exists(), job.trainers.values())
    killed = job.servers[index]
    killed.kill()
    killed.wait()
    assert all(trainer.poll() is None for trainer in job.trainers.values()), "the job was over before"
    job.start_server(index, *saving, "--resume", tmp_path / "saved")
    for result in job.finish().values():
        expect_success(result)
    assert (tmp_path / "disturbed").read_bytes() == (tmp_path / "undisturbed").read_bytes()


@pytest.fixture(scope="module")
def statistics_data(folder, linear_data):
    np.savez(folder / "statistics.npz", w=np.zeros(8, np.float32), seen=np.full(8, 2, np.float32))
    return ["--init", folder / "statistics.npz", *linear_data[2:]]


def statistics_plan(folder, options=""):
    return compile_servers((INPUTS / "linear-statistics.mlir").read_text(),
                           folder / f"statistics-{options}.plan", 2, 2, f"min-block-elements=2 {options}")


def train_statistics(folder, steps, together):
    """Inputs/linear-statistics.mlir in NumPy: the parameter, and the metrics of rank 0. steps[r]: of trainer r;
    together: they share metrics and the running mean. (If not, gradients are none of this function's business.)"""
    data = {name: value.astype(np.float64) for name, value in np.load(folder / "train.npz").items()}
    w, seen, losses, drifts = np.zeros(8), np.full(8, 2.0), [], []
    for step in range(max(steps)):
        parts = [slice(16 * (2 * step + rank), 16 * (2 * step + rank + 1)) for rank in range(2) if step < steps[rank]]
        rests = [data["x"][rows] @ w - data["y"][rows] for rows in parts]
        losses.append(np.mean([rest @ rest for rest in (rests if together else rests[:1])]))
        drifts.append(seen @ seen)
        means = [data["x"][rows].mean(axis=0) for rows in (parts if together else parts[:1])]
        seen = 0.5 * seen + 0.5 * np.mean(means, axis=0)
        w = w - 0.00625 * np.mean([data["x"][rows].T @ rest for rows, rest in zip(parts, rests)], axis=0)
    return w, losses, drifts


def train_with_fewer_batches(cluster, plan, statistics_data, tmp_path, steps):
    """The parameter, and the metrics of rank 0."""
    job = Job(cluster, plan)
    for index in range(2):
        job.start_server(index, *statistics_data[:2])
    for rank in range(2):
        job.start_trainer(rank, *statistics_data, "--steps", steps[rank], "--save-params", tmp_path / "params",
                          *metrics(tmp_path / "metrics.json"))
    for result in job.finish().values():
        expect_success(result)
    found = json.loads((tmp_path / "metrics.json").read_text())["steps"]
    return load_file(tmp_path / "params")["w"], [s["loss"] for s in found], [s["drift"] for s in found]


def test_plan_has_no_exchange_between_trainers(folder, statistics_data):
    text = subprocess.run([tool("cs-translate"), "--plan-to-text", statistics_plan(folder)], capture_output=True,
                          text=True, check=True, timeout=TIME_LIMIT).stdout
    assert "push {" in text and "communicate {" not in text


def test_trainer_with_fewer_batches_and_metrics(folder, statistics_data, cluster, tmp_path):
    """Metrics and running statistics are means over who took part."""
    steps = (31, 30)
    w, losses, drifts = train_with_fewer_batches(cluster, statistics_plan(folder), statistics_data, tmp_path, steps)
    wanted_w, wanted_losses, wanted_drifts = train_statistics(folder, steps, True)
    assert len(losses) == 31
    np.testing.assert_allclose(losses, wanted_losses, rtol=1e-4)
    np.testing.assert_allclose(drifts, wanted_drifts, rtol=1e-4)
    np.testing.assert_allclose(w, wanted_w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", ["sync-mode=async", "sync-mode=half-async merge=3"])
def test_asynchronous_trainers_share_no_metrics(folder, statistics_data, cluster, tmp_path, options):
    steps = (31, 30)
    w, losses, drifts = train_with_fewer_batches(cluster, statistics_plan(folder, options), statistics_data, tmp_path,
                                                 steps)
    # The running mean does not depend on the parameter; the rest does, on who comes first.
    _, alone, wanted = train_statistics(folder, steps, False)
    np.testing.assert_allclose(drifts, wanted, rtol=1e-4)
    assert losses[-1] < 0.2 * alone[0] and np.abs(w - np.arange(8)).max() < 7


def test_asynchronous_trainer_without_batches(folder, statistics_data, cluster, tmp_path):
    """The other one is alone then: gradient descent on its part."""
    steps = (31, 0)
    found = train_with_fewer_batches(cluster, statistics_plan(folder, "sync-mode=async"), statistics_data, tmp_path,
                                     steps)
    for got, wanted in zip(found, train_statistics(folder, steps, False), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)


def gradient_descent(x, y, steps, batches):
    """examples/linear.mlir: `batches(step)` are the rows of each trainer."""
    w = np.zeros(8)
    for step in range(steps):
        gradients = [x[rows].T @ (x[rows] @ w - y[rows]) for rows in batches(step)]
        w = w - 0.00625 * np.mean(gradients, axis=0)
    return w


def test_trainer_with_fewer_batches(folder, linear_data, cluster, tmp_path):
    """The others go on, and the mean is over those that are left."""
    plan = compile_servers((EXAMPLES / "linear.mlir").read_text(), folder / "linear-servers.plan", 2, 2,
                           "min-block-elements=2")
    job = Job(cluster, plan)
    for index in range(2):
        job.start_server(index, *linear_data[:2])
    for rank, steps in ((0, 31), (1, 30)):
        job.start_trainer(rank, *linear_data, "--steps", steps, "--save-params", tmp_path / "params")
    for result in job.finish().values():
        expect_success(result)
    data = {name: value.astype(np.float64) for name, value in np.load(folder / "train.npz").items()}
    expected = gradient_descent(data["x"], data["y"], 31, lambda step: [
        slice(16 * (2 * step + rank), 16 * (2 * step + rank + 1)) for rank in range(2 if step < 30 else 1)])
    np.testing.assert_allclose(load_file(tmp_path / "params")["w"], expected, rtol=1e-5, atol=1e-6)
