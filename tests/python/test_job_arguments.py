# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every argument of what is reached from a Job, and of commsched.data: it is refused in one line, or what it says is seen.

A program of ranks refuses what one of threads does, by the same errors: the tables of test_every_argument.py are gone through again."""
import os

import numpy as np
import pytest

import commsched
import commsched.data
from argument_sweep import (DATA, LINE, NAN, NO_TEXT, PATH, SWITCH, as_of_ranks, check_tables, job_of_one, methods_of, parameters_of, refusals,
                            refused, required)
from rank_job import outputs, run, script, token_file

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
jax = pytest.importorskip("jax")

from commsched import transpiling  # noqa: E402
from commsched.rank_program import RankProgram  # noqa: E402
from commsched.steps import Steps  # noqa: E402
from test_every_argument import ARGUMENTS as OF_PROGRAMS, ERRORS, NAMED, Alone  # noqa: E402

ARGUMENTS = {
    "Job.broadcast": dict(what=required(LINE), data=required(DATA)),
    "Job.gather": dict(what=required(LINE), data=required(DATA)),
    "Job.calibrate": dict(plan=required([*DATA, b"", b"no plan", bytearray(b"x")])),
    "Job.barrier": dict(what=required(LINE)),
    "Job.abort": dict(why=required([*NO_TEXT, "", " \n"])),
    "Files": dict(paths=required([1, True, "a", b"a", 2.5, object(), [1], [True], [""], ["a\0b"], [None], NAN]),
                  decode=required([1, "x", True, []]), check=required(SWITCH)),
}
ELSEWHERE = {"Job": "init() returns it", "Batches": "Loader.epoch() returns it", "Statistics": "a result", "Steps": "stream() returns it",
             "Files.describe": "called with indices of its own", "Files.__getitem__": "called by a cache", "DataCache": "test_every_argument.py",
             "Loader": "test_every_argument.py"}
NAMES = {("Job.calibrate", "plan"): ["plan", "no links to measure"], ("Files", "paths"): ["paths"]}


def test_the_tables_have_all_functions_and_arguments():
    found = {}
    for kind in (commsched.Job, Steps, *(getattr(commsched.data, name) for name in commsched.data.__all__)):
        if not issubclass(kind, BaseException):
            found[kind.__name__] = parameters_of(kind)
            found.update((f"{kind.__name__}.{method}", parameters) for method, parameters in methods_of(kind).items())
    check_tables(found, ARGUMENTS, {**ELSEWHERE, "Steps": "stream() returns it", "SampleError": "an error"})


@pytest.fixture(scope="module")
def of_ranks(tmp_path_factory):
    """What Alone has, with a job of one rank, and programs as one of several ranks has them."""
    with job_of_one() as job, pytest.MonkeyPatch.context() as patch:
        as_of_ranks(patch, transpiling, job)
        made = Alone(tmp_path_factory.mktemp("ranks"), 1)
        made.job = job
        assert isinstance(made.program, RankProgram)
        yield made
        made.program.close()


def test_what_a_job_is_given(of_ranks):
    def call(function, /, **given):
        name, _, method = function.partition(".")
        base = {"what": "says", "data": b""} if method in ("broadcast", "gather") else {}
        if name == "Files":
            return commsched.data.Files(**{"paths": ["a"], "decode": len, **given})
        return getattr(of_ranks.job, method)(**{**base, **given})
    wrong = [line for function in ARGUMENTS for line in refusals(
        ARGUMENTS, call, function, NAMES, commsched.FrontEndError if function == "Files" else commsched.JobError)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("function", [name for name in OF_PROGRAMS if name.startswith("Program.")])
def test_what_a_program_of_ranks_is_given(of_ranks, function):
    wrong = refusals(OF_PROGRAMS, of_ranks.call, function, NAMED, ERRORS.get(function, commsched.FrontEndError))
    assert not wrong, "\n".join(wrong)


def test_posts_of_another_group_and_waits_that_end(of_ranks):
    with commsched.Posts(of_ranks.job) as one, commsched.Posts(of_ranks.job) as other:
        stranger = other.post("a", np.ones(2))
        for wait in (lambda: one.wait(stranger), lambda: one.wait_any([stranger]), lambda: one.wait_any((one.post("b", np.ones(2)), stranger))):
            assert refused(wait, "posted must be what post() of this group has returned", error=commsched.RuntimeFailure) is None
        assert stranger.wait(np.float32(5)) and one.wait_any([one.post("c", np.ones(1))], np.int64(5))


def test_bytes_of_any_kind_are_those_that_come(of_ranks):
    for data in (b"abc", bytearray(b"abc"), memoryview(b"abc"), memoryview(b"a-b-c-")[::2]):
        assert of_ranks.job.broadcast("says", data) == b"abc" and of_ranks.job.gather("says", data) == [b"abc"]


def test_batches_and_caches_are_used_as_python_has_it():
    cache = commsched.DataCache([10, 11, 12])
    assert [int(value) for value in cache] == [10, 11, 12] and int(cache[-1]) == 12 and int(cache[np.int8(1)]) == 11
    for index in (3, -4):
        with pytest.raises(IndexError, match=f"sample must be below 3, got: {index}"):
            cache[index]
    loader = commsched.Loader(cache, 1, shuffle=False)
    with loader.epoch(0) as batches:
        first = next(batches)
    assert int(first[0]) == 10 and list(batches) == []  # what is closed has no more


def test_a_position_is_of_a_loader_that_orders_alike():
    """stay orders otherwise: also where the loader that goes on has none."""
    samples = list(range(16))
    def order(loader, position):
        return [batch.tolist() for batch in loader.resume(position, epochs=1)]
    for one in (dict(), dict(ranks=2), dict(ranks=2, stay=True), dict(ranks=4, stay=True), dict(shuffle=False)):
        for other in (dict(), dict(ranks=2), dict(ranks=2, stay=True), dict(ranks=4, stay=True), dict(shuffle=False)):
            mine, theirs = commsched.Loader(samples, 4, **one), commsched.Loader(samples, 4, **other)
            position = mine.epoch(0).position
            wanted = [batch.tolist() for batch in mine.epoch(0)]
            try:
                assert order(theirs, position) == wanted, (one, other)
            except commsched.FrontEndError as error:
                assert wanted != [batch.tolist() for batch in theirs.epoch(0)] and "of the position" in str(error), (one, other)


def test_what_ranks_are_given_is_seen_by_all(tmp_path):
    """A wrong path of rank 0 is an error of the same kind on all; texts that differ late, and reasons of several lines."""
    text = f"""
        program = make()
        def said(call):
            try:
                call()
            except commsched.CommSchedError as error:
                print(type(error).__name__, str(error).removeprefix("rank 0: "))
        wrong = 3 if job.rank == 0 else "{tmp_path}/saved"
        said(lambda: program.save(wrong))
        said(lambda: program.restore(wrong))
        said(lambda: program.set_slots(3))
        program.run(own(BATCHES[:2]))
        program.save("{tmp_path}/saved")
        print(program.steps, program.restore("{tmp_path}/saved"))
        said(lambda: job.barrier("looks whether all of the files are there, " + ("before" if job.rank else "after")))
    """
    for lines in outputs(run(script(tmp_path, text), 2, token_file(tmp_path))):
        assert lines[:2] == ["FrontEndError path must be a path, got: 3"] * 2
        assert lines[2] == "FrontEndError slots must be given as a mapping of names to values, got: int"
        assert lines[3] == "2 None" and lines[4].startswith("JobError ") and "ranks must do the same things in the same order" in lines[4]
    for line in ("sample 7", "sample 7\nis\0broken"):
        text = f"""
            if job.rank == 1:
                job.abort({line!r})
            job.barrier()
        """
        results = run(script(tmp_path, text), 2, token_file(tmp_path))
        assert results[0][0] == 1 and len(results[0][2]) == 1 and " ".join(line.replace("\0", " ").split()) in results[0][2][0], results


def test_path_is_one_of_any_kind(of_ranks, tmp_path):
    """Of each kind that PATH has not: what is written is where it says."""
    assert not any(isinstance(value, os.PathLike) for value in PATH)
    for path in (tmp_path / "one", str(tmp_path / "two")):
        of_ranks.program.save(path)
        assert os.path.exists(path)
        before = of_ranks.program.slots()
        assert of_ranks.program.restore(path) is None and (of_ranks.program.slots()["w"] == before["w"]).all()
