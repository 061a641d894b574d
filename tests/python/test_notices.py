# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What comes to nothing is said in one line: batches that have ended, a new plan or measurements for one worker; and what comes to something is not."""

import os
import random
import warnings

import jax
import numpy as np
import pytest
from cases import FIRST

import commsched
from commsched import notices, program as programs

W = np.ones(3, np.float32)
BATCH = (np.ones((8, 3), np.float32), np.zeros(8, np.float32))


def step(w, x, y):
    loss, g = jax.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
    return w - 0.1 * g, loss


def made(**options):
    return commsched.transpile(step, W, *BATCH, batch=(1, 2), **{"cluster": 1, "functions": {"eval": (lambda w, x, y: (x @ w - y).mean(), W, *BATCH)}, **options})


class Short:
    """Batches of which fewer come than they say."""

    def __init__(self, said, there):
        self.said, self.there = said, there

    def __len__(self):
        return self.said

    def __iter__(self):
        return iter([BATCH] * self.there)


class Counted:
    """An iterator that says how many there were, as those of a DataLoader do."""

    def __init__(self, said, there):
        self.said, self.left = said, iter([BATCH] * there)

    def __len__(self):
        return self.said

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.left)


def said(call):
    """(what it returns, lines)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    lines = [str(w.message) for w in caught if w.category is commsched.NothingDone]
    assert all("\n" not in line for line in lines) and len(lines) == len(caught), caught
    return result, lines


def expected(kind, count, more, what):
    """The batches, and the line about them."""
    whose, lines = f"{what} was called for", {}
    of = {"list": lambda: [BATCH] * count, "generator": lambda: (BATCH for _ in range(count)), "iterator": lambda: iter([BATCH] * count),
          "counted": lambda: Counted(count + more, count), "short": lambda: Short(count + more, count)}[kind]
    name = {"iterator": "list_iterator", "counted": "Counted", "short": "Short"}.get(kind, kind)
    if count == 0:
        lines = [f"{whose} no batch, as batches have none, got: {name}{'' if kind in ('list', 'short') else '; an iterator has its batches once'}"]
    elif kind == "short" and more:
        lines = [f"{whose} {count} batches, as they ended before their length, got: Short of length {count + more}"]
    return of(), lines or []


def batches_are_said(program, seed):
    rng = random.Random(f"batches {seed}")
    for _ in range(20):
        kind, count, more = rng.choice(["list", "generator", "iterator", "counted", "short"]), rng.choice([0, 0, 1, 3, 12]), rng.choice([0, 1, 5])
        what, call = rng.choice([("the step", program.run), ("the step", lambda b: list(program.stream(b))), ("function 'eval'", lambda b: program.call("eval", b))])
        batches, lines = expected(kind, count, more, what)
        metrics, found = said(lambda: call(batches))
        assert (len(metrics), found) == (count, lines), (kind, count, more)
    spent = iter([BATCH] * 2)
    assert said(lambda: program.run(spent)) [1] == [] and len(said(lambda: program.run(spent))[1]) == 1


@pytest.fixture(scope="module")
def one():
    if "COMMSCHED_BIN" not in os.environ:
        pytest.skip("COMMSCHED_BIN is not set")
    with made() as program:
        yield program


def test_batches_that_end(one):
    batches_are_said(one, FIRST)


def test_a_batch_that_fails_is_an_error_alone(one):
    def batches():
        yield BATCH
        raise OSError("gone")
    for of in (batches(), [BATCH, (BATCH[0], BATCH[1][:4])]):
        with warnings.catch_warnings(), pytest.raises((OSError, commsched.FrontEndError)):
            warnings.simplefilter("error")
            one.run(of)


def test_warnings_that_are_errors_come_behind_the_steps(one):
    before = one.steps
    with warnings.catch_warnings(), pytest.raises(commsched.NothingDone):
        warnings.simplefilter("error")
        one.run(Short(3, 2))
    assert one.steps == before + 2 and len(one.metrics) == 2


def test_one_worker_changes_no_plan(one):
    for replan in (True, commsched.Replan(every=1), commsched.Tune(steps=1)):
        metrics, lines = said(lambda: one.run([BATCH] * 8, replan=replan))
        kind = "Tune" if isinstance(replan, commsched.Tune) else "Replan"
        assert len(metrics) == 8 and one.replans == []
        assert lines == [f"replan={kind} changes nothing with one worker, which sends nothing that could be sent by another plan"]
    for replan in (None, False):
        assert said(lambda: one.run([BATCH], replan=replan))[1] == []


def test_one_worker_measures_nothing(one):
    program = made(calibrate=True)
    found, lines = said(lambda: program.run([BATCH] * 2))
    assert lines == ["calibrate=True measures nothing with one worker, which has no link to another"]
    assert found == made().run([BATCH] * 2) and said(lambda: program.run([BATCH]))[1] == []  # once
    program.close()
    with made(strategy=commsched.AllReduce(schedule="tuned")) as tuned:  # a way of sending, of what is not sent
        assert said(lambda: tuned.run([BATCH]))[1] == []


def test_of_ranks_the_first_says_it(monkeypatch):
    class Job:
        rank = 1
    monkeypatch.setattr(notices, "current", Job)
    assert said(lambda: notices.nothing_done("none"))[1] == []
    Job.rank = 0
    assert said(lambda: notices.nothing_done("none"))[1] == ["none"]


FAULTS = {"nothing is said": (notices, "nothing_done", lambda text: None, test_batches_that_end), "all send": (programs, "sends_nothing", lambda *a: False, test_one_worker_changes_no_plan)}


@pytest.mark.parametrize("module, name, fault, test", FAULTS.values(), ids=FAULTS)
def test_planted_faults_are_found(monkeypatch, one, module, name, fault, test):
    monkeypatch.setattr(module, name, fault)
    with pytest.raises(AssertionError):
        test(one)
