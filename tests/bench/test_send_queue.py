# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whom bench/send_queue.py compares, and what it makes of it: on a network that only notes who is started, and how."""
import json
import pathlib
import random
import statistics
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import _shaped  # noqa: E402
import send_queue  # noqa: E402
from test_shaped import trace  # noqa: E402

VARIABLE = "COMMSCHED_SEND_QUEUE"


class Ended:
    returncode = 0

    def communicate(self, timeout=None):
        return "", None


class Network:
    """Its ranks leave traces of steps that take a drawn time."""

    made, random = [], random.Random()

    def __init__(self, rates, loopback):
        self.rates, self.runs = rates, []
        self.addresses = [f"127.77.0.{i + 1}" for i in range(len(rates))]
        self.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def stop(self, processes):
        pass

    def start(self, number, command, env, **_):
        assert all(isinstance(value, str) for value in env.values())
        if number == 0:
            self.runs.append({"processes": [], "seconds": self.random.uniform(0.5, 1.5)})
        run = self.runs[-1]
        run["processes"].append((str(command[1]), env.get(VARIABLE)))
        if "--trace" in command:
            path, steps = (command[command.index(name) + 1] for name in ("--trace", "--steps"))
            begins = [0, 1e6, *(2e6 + 1e6 * run["seconds"] * i for i in range(steps - 2))]
            if number:
                path = path.with_suffix(f".rank{number}.json")
            path.write_text(json.dumps(trace(begins)))
        return Ended()


@pytest.fixture
def network(monkeypatch):
    """With what stands for a model and its plans."""
    def compile_plan(folder, name, program, ranks, rate, policy, servers=0):
        assert (policy, ranks, servers) in (("solver", 4, 0), ("solver", 2, 2))
        return _shaped.Plan(folder / f"{ranks}.{rate}.plan", folder, bound_ns=1)

    class Model:
        def __init__(self, name):
            self.name = name

        def factor(self, ranks, rate, share):
            assert share == 1
            return 1

        def scaled(self, factor):
            return "", []
    monkeypatch.setattr(Network, "made", [])
    for where, name, value in ((send_queue.hosts, "Network", Network), (send_queue.hosts, "why_unavailable", lambda: ""),
                               (_shaped, "compile_plan", compile_plan), (_shaped, "Model", Model),
                               (_shaped, "measure_in_peace", lambda: None), (send_queue.signal, "signal", lambda *_: None)):
        monkeypatch.setattr(where, name, value)
    return Network


def result(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["send_queue", *map(str, arguments)])
    assert send_queue.main() == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.parametrize("ours", [None, "0", "1"])
@pytest.mark.parametrize("seed", range(3))
def test_both_go_in_turn_with_one_plan_on_one_network(network, capsys, monkeypatch, ours, seed):
    monkeypatch.delenv(VARIABLE, raising=False)
    if ours is not None:
        monkeypatch.setenv(VARIABLE, ours)
    monkeypatch.setattr(network, "random", random.Random(seed))
    rounds, steps = 1 + seed, 4 + seed
    found = result(capsys, monkeypatch, "--rounds", rounds, "--steps", steps)
    gains = {}
    for made, (way, processes, rate) in zip(network.made, [("servers", 4, 1), ("servers", 4, 2), ("all-reduce", 4, 1), ("all-reduce", 4, 2)],
                                            strict=True):
        assert made.rates == [rate * 10**9] * processes and len(made.runs) == 2 * rounds
        assert len({plan for run in made.runs for plan, _ in run["processes"]}) == 1
        pairs = []
        for number in range(rounds):
            # What our own environment says is not handed on.
            without, bounded = [[run for run in made.runs[2 * number:2 * number + 2] if [value for _, value in run["processes"]] == [given] * processes]
                                for given in ("0", None)]
            assert len(without) == len(bounded) == 1
            assert made.runs[2 * number] is (bounded if number % 2 else without)[0]
            pairs.append(1 - bounded[0]["seconds"] / without[0]["seconds"])
        gains[f"resnet50.{way}.{rate}gbit"] = pytest.approx(100 * statistics.median(pairs), abs=6e-3)
    assert found == {"gain_percent": gains, "worst_gain_percent": min(found["gain_percent"].values())}


def test_quick_is_one_round_of_one_case(network, capsys, monkeypatch):
    assert list(result(capsys, monkeypatch, "--quick")["gain_percent"]) == ["resnet50.servers.2gbit"]
    assert [len(made.runs) for made in network.made] == [2]


@pytest.mark.parametrize("arguments", [["--rounds", "0"], ["--steps", "3"], ["--ways", "servers,rings"]])
def test_what_cannot_be_measured_is_refused(network, capsys, monkeypatch, arguments):
    monkeypatch.setattr(sys, "argv", ["send_queue", *arguments])
    with pytest.raises(SystemExit):
        send_queue.main()
    assert f"got: {'rings' if 'rings' in arguments[-1] else arguments[-1] if arguments[0] == '--steps' else '8 and 0'}" in capsys.readouterr().err
    assert network.made == []
