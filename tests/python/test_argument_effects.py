# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What arguments say is seen in plans, values and files; and all that this package raises of its own is of its own classes."""
import ast
import builtins
import json
import os
import pathlib

import numpy as np
import pytest

import commsched
from argument_sweep import job_of_one, refused

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
jax = pytest.importorskip("jax")

PACKAGE = pathlib.Path(commsched.__file__).parent
W, X = {"w": np.ones(4, np.float32)}, np.arange(16, dtype=np.float32).reshape(4, 4)
# Where Python, or an interface of it, wants another class: (file, class).
PYTHON = {("__init__.py", "AttributeError"), ("torch/__init__.py", "AttributeError"),
          ("data/cache.py", "IndexError"),  # with which an iteration over a sequence ends
          ("data/structure.py", "TypeError"), ("data/structure.py", "ValueError"), ("data/disk.py", "OSError"),  # which callers make their own of
          ("job.py", "KeyboardInterrupt"), ("serving.py", "KeyboardInterrupt"),
          ("torch/decisions.py", "ZeroDivisionError"),  # which optimizers catch
          ("strategy.py", "TypeError")}  # of a class that is not to be made
INTERNAL = ("NotImplementedError", "AssertionError", "StopIteration")  # which handlers of operations turn into UnsupportedOp, or mistakes of our own


def step(params, x):
    loss, grads = jax.value_and_grad(lambda p: (x @ p["w"]).mean())(params)
    return {"w": params["w"] - 0.1 * grads["w"]}, loss


def made(**given):
    return commsched.transpile(step, W, X, **{"cluster": 2, **given})


def test_all_errors_are_of_this_package():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and node.exc is not None:
                kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                if isinstance(kind, ast.Name) and hasattr(builtins, kind.id) and kind.id not in INTERNAL:
                    found.add((str(path.relative_to(PACKAGE)), kind.id))
    assert found - PYTHON == set()


def test_positions_that_are_given_once():
    """The step is described again for other numbers of workers: an iterator of positions is then still what it was."""
    for given in (dict(batch=iter([1])), dict(batch=(i for i in [-1])), dict(batch={1}), dict(constant=iter(()))):
        assert made(**given).mlir(workers=4) == made().mlir(workers=4)
    def with_rows(params, rows, x):
        new, loss = step(params, x + rows.mean())
        return new, loss
    texts = [commsched.transpile(with_rows, W, X, X, constant=constant, cluster=2) for constant in ((1,), iter([1]))]
    assert texts[0].mlir(workers=4) == texts[1].mlir(workers=4)


def test_replan_is_what_the_last_run_says():
    """Until a run says otherwise, it stays."""
    replan = commsched.Replan(every=1)
    with made() as program:
        for given, kept in ((replan, replan), (None, replan), (False, None), (None, None), (True, commsched.Replan(when_off=25.0)), (np.False_, None)):
            program.run([X], replan=given)
            assert program._session.replan == kept, given
    with made(strategy=commsched.AllReduce(schedule="tuned")) as program:
        program.run([X], replan=False)
        assert program._session.replan is None
        program.run([X])
        assert isinstance(program._session.replan, commsched.Tune)


def test_a_trace_is_where_it_says_or_refused(tmp_path):
    with made() as program:
        for path in (tmp_path / "none" / "trace", tmp_path, tmp_path / "none" / ".." / "trace"):
            with pytest.raises(OSError):
                program.trace(path)
        for path in (tmp_path / "one", str(tmp_path / "two")):
            program.trace(path)
            program.run([X])
            program.close()
            assert json.loads(pathlib.Path(path).read_text())
        program.trace(None)
        program.run([X])
        program.close()
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


def test_values_that_are_no_arrays():
    with made() as program:
        for value in ([1, [2]], None, "x", object(), [1j] * 4, X):
            assert refused(lambda: program.set_slots({"w": value}), "'w' must", error=commsched.FrontEndError) is None
        for name in ("v", 1, None, ("w",)):
            for error in (commsched.FrontEndError, KeyError):  # of both kinds
                assert refused(lambda: program.set_slots({name: W["w"]}), "slots must be parameters or state, w, got: ", error=error) is None
        for error in (commsched.FrontEndError, KeyError):
            with pytest.raises(error) as caught:
                program.call("f", [X])
            assert str(caught.value) == "function must be one besides the step, of which there are none, got: 'f'"  # as it is, not as a KeyError quotes it


def test_metrics_of_any_name_and_size(tmp_path):
    lines, board = commsched.JsonLines(tmp_path / "lines"), commsched.TensorBoard(tmp_path / "board")
    metrics = {"step": 5.0, "time": 1e300, "time_": np.float64(2), "loss": float("nan"), "count": 3}
    for writer in (lines, board):
        writer.write(np.int64(1), metrics)
        writer.close()
        assert refused(lambda: writer.write(2, metrics), "the file of metrics must be open", error=commsched.FrontEndError) is None
    found = json.loads((tmp_path / "lines").read_text())
    assert found["step"] == 1 and 1e9 < found["time"] < 1e10
    assert {n: v for n, v in found.items() if n not in ("step", "time")} == {"step_": 5.0, "time_": 1e300, "time__": 2.0, "loss": None, "count": 3.0}
    with made() as program:
        assert refused(lambda: program.run([X], log=lines), "the file of metrics must be open", error=commsched.FrontEndError) is None


def test_what_is_read_only_stays():
    with job_of_one() as job, commsched.Posts(job) as posts:
        fixed, free = np.frombuffer(b"12345678", np.float64), np.zeros(1)
        for given in (dict(tensor=fixed), dict(tensor=free, output=fixed), dict(tensor=free, output=fixed, kind="all_gather"),
                      dict(tensor=free, output=fixed, kind="reduce_scatter"), dict(tensor=free, output=fixed, kind="all_to_all"),
                      dict(tensor=fixed, kind="receive"), dict(tensor=fixed, kind="broadcast", peer=1)):
            assert refused(lambda: posts.post("k", **given), "array must be writeable", error=commsched.RuntimeFailure) is None, given
        posts.post("k", fixed, output=free).wait()
        assert free == fixed
        posts.post("b", fixed, "broadcast").wait()  # whose values are sent


def test_threads_are_as_many_as_can_be():
    samples = [np.zeros(2)] * 4
    assert refused(lambda: commsched.Loader(samples, 2, threads=1 << 40), "threads must be 0 to 1024, got: 1099511627776") is None
    for threads in (0, 1, 3):
        with commsched.Loader(samples, 2, threads=threads).epoch(0) as batches:
            assert len(batches._prefetcher._threads) == threads


def test_numbers_in_options_have_no_names_of_types():
    """What NumPy calls them would be in the options of the compiler."""
    numbers = dict(density=np.float64(0.1), momentum=np.float32(0.5), rules={"w|v": np.float32(0.5), "w": (np.float64(0.01), "dense")},
                   warm_up=[(np.float64(0.25), np.int64(3))], min_elements=np.int32(1))
    mine = commsched.Sparse(**numbers)
    plain = commsched.Sparse(density=0.1, momentum=0.5, rules={"w|v": 0.5, "w": (0.01, "dense")}, warm_up=((0.25, 3),), min_elements=1)
    assert repr(mine) == repr(plain) and mine.at(np.int64(1)) == plain.at(1)
    for options in (mine.at(5)[0].options(True), commsched.AllReduce(sparse=np.float64(0.1), bucket_bytes=np.int64(9), schedule="fixed-buckets").pipeline(2)):
        assert "np" not in " ".join(options) and "float" not in " ".join(options)
    with made(strategy=commsched.AllReduce(sparse=commsched.Sparse(**{**numbers, "rules": {"w": np.float32(0.5)}}))) as program:
        program.run([X] * 5)
    found = commsched.simulate(made(), bandwidth=np.float64(2), stragglers={np.int64(0): np.float32(2)}, links={1: (np.float64(5), np.int64(6))})
    assert found.step_ns == commsched.simulate(made(), bandwidth=2.0, stragglers={0: 2.0}, links={1: (5.0, 6)}).step_ns
