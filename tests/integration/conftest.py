# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of whole clusters share: the tools, plans, and processes."""
import atexit
import functools
import pathlib
import secrets
import subprocess
import sys
import tempfile

import numpy as np
import pytest

for folder in (pathlib.Path(__file__).parent, pathlib.Path(__file__).resolve().parents[1]):
    sys.path.insert(0, str(folder))
from built import tool  # noqa: E402
from ports import free_port  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TIME_LIMIT = 120  # seconds; only ends a hang
CLUSTER = """cs.cluster @test nodes = {nodes} devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
"""


def compile_plan(source, plan, pipeline="--cs-all-reduce-pipeline"):
    """Level-0 text to a plan file."""
    lowered = subprocess.run([tool("cs-opt"), pipeline], input=source, text=True,
                             capture_output=True, check=True, timeout=TIME_LIMIT)
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", plan], input=lowered.stdout, text=True,
                   check=True, timeout=TIME_LIMIT)
    return plan


@functools.cache
def _token_file():
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return write_token(pathlib.Path(folder.name) / "token", secrets.token_hex(32))


def write_token(path, token):
    """A file for --token-file."""
    path.write_text(token + "\n")
    path.chmod(0o600)
    return path


def secret():
    """Options of cs-run: the token that the processes of all jobs here share."""
    return ["--token-file", _token_file()]


class Cluster:
    """Processes that all end with the test."""

    def __init__(self):
        self.processes = []

    def start(self, *arguments, **keywords):
        process = subprocess.Popen([tool("cs-run"), *map(str, arguments)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, **keywords)
        self.processes.append(process)
        return process

    def join(self, plan, ranks, peers, *arguments, **keywords):
        """The processes of `ranks`, each started by hand."""
        return {rank: self.start(plan, "--rank", rank, "--peers", ",".join(peers), *secret(), *arguments, **keywords)
                for rank in ranks}

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()


@pytest.fixture
def cluster():
    cluster = Cluster()
    yield cluster
    cluster.end()


def finish(process):
    """Standard output and error, and the exit status."""
    out, err = process.communicate(timeout=TIME_LIMIT)
    return out, err, process.returncode


def run(*arguments):
    process = subprocess.run([tool("cs-run"), *map(str, arguments)], capture_output=True, text=True,
                             timeout=TIME_LIMIT)
    return process.stdout, process.stderr, process.returncode


def expect_success(result):
    out, err, status = result
    assert status == 0, err
    return out


def expect_error(result, *words):
    """One line on standard error, with all `words`, and a failure by exit
    status (not by a signal)."""
    out, err, status = result
    assert status > 0, f"exit status {status}, output:\n{out}{err}"
    errors = [line for line in err.splitlines() if not line.startswith("cs-run: warning: ")]
    assert len(errors) == 1, f"must be one line:\n{err}"
    assert err.startswith("cs-run: "), err
    for word in words:
        assert word in err, f"{word} is not in:\n{err}"


def addresses(count):
    return [f"127.0.0.1:{free_port()}" for _ in range(count)]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plans")


@pytest.fixture(scope="session")
def digits(folder):
    """Plan and arguments of the digits net on 4 workers."""
    plan = compile_plan((EXAMPLES / "digits.mlir").read_text(), folder / "digits.plan")
    return [plan, "--init", EXAMPLES / "digits.init.safetensors", "--batch", EXAMPLES / "digits.train.npz",
            "--shuffle"]


@pytest.fixture(scope="session")
def linear(folder):
    """Plans of the linear regression by the number of nodes."""
    source = (EXAMPLES / "linear.mlir").read_text()
    return {nodes: compile_plan(CLUSTER.format(nodes=nodes) + source, folder / f"linear{nodes}.plan")
            for nodes in (2, 3, 4)}


@pytest.fixture(scope="session")
def linear_data(folder):
    x = np.random.default_rng(0).standard_normal((4800, 8)).astype(np.float32)
    np.savez(folder / "train.npz", x=x, y=x @ np.arange(8, dtype=np.float32))
    np.savez(folder / "init.npz", w=np.zeros(8, np.float32))
    return ["--init", folder / "init.npz", "--batch", folder / "train.npz"]
