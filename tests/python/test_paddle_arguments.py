# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every argument of what commsched.paddle has: what it must not be is refused in one line, and what it says is seen."""
import os

import pytest

pytest.importorskip("paddle", reason="needs PaddlePaddle (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
import paddle  # noqa: E402
from paddle import nn  # noqa: E402
from paddle.nn import functional as F  # noqa: E402

import commsched  # noqa: E402
import commsched.paddle  # noqa: E402
from argument_sweep import (ANY_INTEGER, ANYTHING, CHOICE, COUNT, INDEX, SWITCH, as_of_ranks, check_tables, integers, job_of_one, methods_of,  # noqa: E402
                            parameters_of, refusals, refused, required)
from commsched.paddle import transpiling  # noqa: E402
from test_every_argument import ARGUMENTS as OF_PROGRAMS, NAMED  # noqa: E402

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
paddle.enable_static()

BATCH = {"x": np.arange(32, dtype=np.float32).reshape(8, 4) / 32, "y": np.zeros((8, 1), np.int64)}
COMMON = ("cluster", "location_root", "strategy", "profile", "calibration", "calibrate", "device")


class Built:
    """A program with its scope and some of its variables."""

    def __init__(self, drop=0.0, rate=0.1):
        self.main, startup, self.scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
        with paddle.utils.unique_name.guard(), paddle.static.program_guard(self.main, startup):
            x, y = paddle.static.data("x", [None, 4], "float32"), paddle.static.data("y", [None, 1], "int64")
            paddle.seed(0)
            out = nn.Linear(4, 3)(F.dropout(x, drop) if drop else x)
            self.loss = F.cross_entropy(out, y)
            self.twice, self.half = 2 * self.loss, 0.5 * self.loss
            paddle.optimizer.SGD(rate).minimize(self.loss)
        with paddle.static.scope_guard(self.scope):
            paddle.static.Executor(paddle.CPUPlace()).run(startup)

    def transpile(self, **given):
        base = dict(program=self.main, example_batch=BATCH, scope=self.scope, trainers=2)
        for name in ("cluster", "strategy"):
            if name in given:
                base["trainers"] = None
        if {"slice_var_up", "min_block_size", "split_method", "sync_mode"} & set(given):
            base["pservers"] = 2
        return commsched.paddle.transpile(**{**base, **given})


@pytest.fixture(scope="module")
def built():
    return Built()


VARIABLE = Built()
SCHEDULER = [1, "x", True, [], object(), paddle.optimizer.lr.StepDecay(0.1, 2), paddle.optimizer.lr.ReduceOnPlateau(0.1)]
SCOPE = [1, "x", True, object(), {}, [], paddle.static.Scope]
ARGUMENTS = {
    "transpile": dict(program=[1, "x", True, object(), [], paddle.static.Program], trainers=COUNT, pservers=INDEX, slice_var_up=SWITCH, min_block_size=COUNT,
                      split_method=CHOICE, sync_mode=SWITCH, seed=required(ANY_INTEGER), scope=[*SCOPE, paddle.static.Scope()],
                      example_batch=required([1, "x", [], {}, object(), True, {"x": BATCH["x"], "y": None}, {"x": BATCH["x"], "y": "s"}, {1: 2}]),
                      metrics=required([1, "x", True, ["x"], [1], {"a": 1}, {1: 2}, {"": VARIABLE.loss}, {"a\nb": VARIABLE.loss}, {1: VARIABLE.loss},
                                        object(), [None], iter([]), VARIABLE.twice, {"loss": VARIABLE.twice}]),
                      **{name: [value for value in OF_PROGRAMS["transpile"][name] if value is not None] for name in COMMON}),
    **{name: dict(arguments) for name, arguments in OF_PROGRAMS.items() if name.startswith("Program.")},
    "Program.load_into": dict(scope=[*SCOPE, paddle.static.Scope()]),
    "Program.get_pserver_program": dict(server=required(integers(0, most=1))),
}
ARGUMENTS["Program.call"]["batches"] = ANYTHING  # there is no function besides the step
ARGUMENTS["Program.run"]["scheduler"] = ARGUMENTS["Program.stream"]["scheduler"] = SCHEDULER
ELSEWHERE = {"Program": "transpile() makes it"}
NAMES = {**NAMED, ("transpile", "example_batch"): ["batch"], ("transpile", "metrics"): ["metric"],
         ("Program.run", "scheduler"): ["scheduler", "ReduceOnPlateau"], ("Program.stream", "scheduler"): ["scheduler", "ReduceOnPlateau"]}


def test_the_tables_have_all_functions_and_arguments():
    found = {name: parameters_of(getattr(commsched.paddle, name)) for name in commsched.paddle.__all__}
    found.update((f"Program.{method}", parameters) for method, parameters in methods_of(commsched.paddle.Program).items())
    check_tables(found, ARGUMENTS, ELSEWHERE)


def test_what_transpile_is_given():
    operations = len(VARIABLE.main.global_block().ops)
    wrong = refusals(ARGUMENTS, lambda function, /, **given: VARIABLE.transpile(**given), "transpile", NAMES, commsched.FrontEndError)
    assert not wrong, "\n".join(wrong)
    assert len(VARIABLE.main.global_block().ops) == operations  # the program is only read
    for given in (dict(params=1), dict(params=False), dict(batch=0), dict(batch=-1.0), dict(constant=(1,)), dict(constant=[]), dict(functions={})):
        assert refused(lambda: commsched.transpile(VARIABLE.main, BATCH, **given), next(iter(given)), error=commsched.FrontEndError) is None, given


@pytest.mark.parametrize("ranks", [False, True], ids=["threads", "ranks"])
def test_what_a_program_is_given(ranks, monkeypatch, built):
    with job_of_one() as job:
        if ranks:
            as_of_ranks(monkeypatch, transpiling, job)
        with built.transpile(trainers=1) as program, built.transpile(trainers=1, pservers=2) as of_servers:
            def call(function, /, **given):
                method = function.split(".")[1]
                base = {"batches": [BATCH]} if method in ("run", "stream", "check", "call") else {}
                base.update({"function": "f"} if method == "call" else {})
                result = getattr(of_servers if method == "get_pserver_program" else program, method)(**{**base, **given})
                return list(result) if method == "stream" else result
            wrong = [line for name in ARGUMENTS if name.startswith("Program.") for line in refusals(ARGUMENTS, call, name, NAMES, commsched.FrontEndError)]
            assert not wrong, "\n".join(wrong)
            assert program.steps == 0 and refused(lambda: program.get_pserver_program(0), "must have parameter servers") is None
            assert of_servers.get_pserver_program(np.int64(1)) == of_servers.get_pserver_program(1) != of_servers.get_pserver_program(0)


def test_what_transpile_is_given_is_seen(built):
    def text(**given):
        program = built.transpile(**given)
        return program.mlir(0) + program.mlir(1)
    plain = text()
    same = [dict(trainers=np.int64(2)), dict(pservers=0), dict(cluster=2), dict(metrics=[built.loss]), dict(metrics=[]), dict(seed=np.int64(3)),
            dict(device="cpu"), dict(strategy=commsched.AllReduce(), cluster=2), dict(calibrate=np.False_), dict(metrics={"loss": built.loss})]
    assert [given for given in same if text(**given) != plain] == []
    others = [dict(trainers=4), dict(pservers=1), dict(pservers=2), dict(min_block_size=1), dict(sync_mode=False), dict(split_method="HashName"),
              dict(metrics=[built.twice]), dict(metrics={"cost": built.loss}), dict(device="cuda"), dict(location_root=os.path.dirname(os.path.dirname(__file__))),
              dict(example_batch={name: value[:4] for name, value in BATCH.items()})]
    texts = [plain, *(text(**given) for given in others)]
    assert len(set(texts)) == len(texts)
    for name, values in dict(slice_var_up=(True, False), sync_mode=(True, False)).items():
        assert text(**{name: np.bool_(values[0])}) == text(**{name: values[0]}), name
        assert text(**{name: np.bool_(values[1])}) == text(**{name: values[1]}), name
    assert text(min_block_size=np.int64(1)) == text(min_block_size=1) != text(slice_var_up=False)
    for name in ("profile", "calibration"):
        with pytest.raises(commsched.ToolError, match=os.path.basename(__file__)):
            built.transpile(**{name: __file__}).mlir(2)
    drawn, seeds = Built(0.5), [0, 1, np.int64(1), -1, 1 << 32]
    states = [drawn.transpile(seed=seed).state[-1].tolist() for seed in seeds]
    assert states[1] == states[2] and len({tuple(state) for state in states}) == len(seeds) - 1


def test_metrics_have_the_names_that_they_are_given(built):
    with built.transpile(metrics={"cost": built.loss, "twice": built.twice, "half": built.half}) as program:
        (found,) = program.run([BATCH])
        assert list(found) == ["loss", "cost", "twice", "half"] and found["cost"] == found["loss"]
        assert (found["twice"], found["half"]) == pytest.approx((2 * found["loss"], found["loss"] / 2))
    with built.transpile(metrics=(built.loss, built.half)) as program:
        assert len(program.run([BATCH])[0]) == 2
    wanted = "metric 'loss' must have a name of its own"
    assert refused(lambda: built.transpile(metrics={"loss": built.half}), wanted, error=commsched.FrontEndError) is None


def test_a_scope_is_that_which_is_given(built):
    """Values are read from the one, and written to the other."""
    other = Built()
    for name, _ in built.transpile().params.items():
        tensor = other.scope.find_var(name).get_tensor()
        tensor.set(np.zeros_like(np.array(tensor)), paddle.CPUPlace())
    with built.transpile(scope=other.scope) as program:
        assert all((value == 0).all() for value in program.params.values())
        program.run([BATCH] * 2)
        program.load_into(None)
        assert all((np.array(other.scope.find_var(n).get_tensor()) == v).all() and v.any() for n, v in program.params.items() if "b_0" in n)
        fresh = Built()
        program.load_into(fresh.scope)
        assert all((np.array(fresh.scope.find_var(n).get_tensor()) == v).all() for n, v in program.params.items())
