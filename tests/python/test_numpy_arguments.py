# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers and switches of NumPy mean what Python's do, in every argument that is one by the tables of test_every_argument.py."""
import dataclasses
import json
import os
import time

import numpy as np
import pytest

import commsched
from argument_sweep import Integers, Numbers, Switches

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
jax = pytest.importorskip("jax")

from test_every_argument import ARGUMENTS, Alone  # noqa: E402

SERVERS, SPARSE, MSTOPK = "ParameterServers", "Sparse", dict(density=0.1, select="mstopk")
# What an argument is of no use without, and values where 2, 0.5 and the other than the default are none.
WITH = {(s, n): given for s in ("AllReduce", SERVERS) for n, given in dict(
    bucket_bytes=dict(schedule="fixed-buckets"), first_bucket_bytes=dict(schedule="fixed-buckets"), memory_limit=dict(reorder=True),
    staging_bytes=dict(copies="overlap")).items()}
WITH.update({(SERVERS, "merge"): dict(mode="half-async"), (SERVERS, "max_block_elements"): dict(min_block_elements=1),
             (SPARSE, "mask"): dict(density=0.1, momentum=0.5), (SPARSE, "epsilon"): dict(density=0.1, second_moment=0.5),
             **{(SPARSE, n): dict(density=0.1) for n in ("min_elements", "feedback", "clip", "fuse_bytes", "exact_every", "unsent_rate")},
             **{(SPARSE, n): MSTOPK for n in ("mstopk_samples", "mstopk_early_stop", "mstopk_seed")},
             ("Replan", "window"): dict(every=2), ("Replan", "deadline"): dict(every=2), ("Cluster", "machine_ranks"): dict(kind="cuda"),
             ("DataCache", "disk"): dict(name="a"), ("Loader", "rank"): dict(ranks=2), ("simulate", "jitter_seed"): dict(jitter=0.5),
             ("Loader", "drop_last"): dict(), ("Program.mlir", "cluster"): dict(level=0)})
VALUES = {("Loader", "rank"): 1, ("Loader.epoch", "batch"): 2, ("Loader.epochs", "batch"): 2, ("simulate", "workers"): 4}
ELSEWHERE = ("init", "Posts", "Posts.post", "Posts.wait_any", "Posted.wait", "transpile", "Program.run", "Program.stream")  # below
KINDS = {Integers: (np.int64, np.int8, np.uint16), Numbers: (np.float64, np.float32, np.int64), Switches: (np.bool_,)}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    made = Alone(tmp_path_factory.mktemp("numpy"))
    yield made
    made.program.close()


def default(function, argument):
    kind = getattr(commsched, function, None)
    found = {f.name: f.default for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else {}
    return found.get(argument)


def seen(result):
    """Of what a call has made, all that depends on its arguments."""
    if isinstance(result, commsched.Simulation):
        return repr(dataclasses.replace(result, seconds=0.0))
    if isinstance(result, commsched.Loader):
        return json.dumps([result.epoch(1).position, [batch.tolist() for batch in result.order(1)], result.threads, result.prefetch])
    if hasattr(result, "position"):
        return json.dumps([result.position, [batch.tolist() for _, batch in zip(range(9), result)]])
    if isinstance(result, commsched.DataCache):
        return repr([len(result), result.statistics])
    if isinstance(result, commsched.AllReduce | commsched.ParameterServers):
        return repr([result, result.pipeline(1), result.pipeline(2)])
    return repr([result, result.options(True)] if isinstance(result, commsched.Sparse) else result)


CASES = [(function, argument, kind) for function, arguments in ARGUMENTS.items() if function not in ELSEWHERE
         for argument, kind in arguments.items() if isinstance(kind, (Integers, Numbers, Switches))]


def test_they_mean_what_those_of_python_do(alone, tmp_path):
    assert len(CASES) > 80
    for function, argument, kind in CASES:
        for own in KINDS[type(kind)]:
            value = VALUES.get((function, argument), 2)
            if isinstance(kind, Numbers):
                value = 1 if own is np.int64 else 0.5
                if any(type(v) in (int, float) and v == 1 for v in kind) and own is np.int64:
                    continue
            if isinstance(kind, Switches):
                value = not default(function, argument)
            given = WITH.get((function, argument), {})
            if (function, argument) == ("DataCache", "disk"):
                given, value = {**given, "folder": tmp_path}, 100
            case = f"{function}({argument}={own.__name__}({value}))"
            if function.endswith(".write"):
                alone.call(function, **{argument: own(value)})
                continue
            wanted, found = (seen(alone.call(function, **given, **{argument: v})) for v in (value, own(value)))
            assert found == wanted, case


def test_in_programs(alone):
    rows, weights = alone.arguments[1], alone.arguments[0]
    def made(**given):
        return commsched.transpile(alone.step, weights, rows, **{"cluster": 2, "batch": 1, **given})
    wanted = made().mlir()
    for given in (dict(cluster=np.int64(2)), dict(params=np.int8(0)), dict(batch=np.int64(1)), dict(batch=np.array([1])), dict(calibrate=np.False_)):
        assert made(**given).mlir() == wanted, given
    with made() as program, made() as other:
        metrics = program.run([rows] * 4, workers=np.int64(2), replan=commsched.Replan(every=np.int64(1), window=np.int16(1), deadline=np.float32(30)),
                              progress=np.False_)
        assert other.run([rows] * 4, workers=2) == metrics
        for _ in range(6000):  # until it has begun: the command that plans has the least priority
            if program.replans:
                break
            program.run([rows] * 20)
            time.sleep(0.01)
        assert program.replans and not other.replans
        assert len(list(program.stream([rows], workers=np.int64(2)))) == 1


def test_a_position_can_be_saved(alone, tmp_path):
    """Whatever the loader was made of: files hold it as JSON."""
    samples = [np.ones(4, np.float32)] * 16
    for given in (dict(shuffle=np.True_, drop_last=np.True_), dict(seed=np.uint8(3), stay=np.True_)):
        loader = commsched.Loader(samples, np.int64(4), **given)
        alone.program.run(loader.epoch(np.int64(1), np.int64(2)))
        alone.program.save(tmp_path / "saved")
        position = alone.program.restore(tmp_path / "saved")
        assert position == loader.epochs(None, 2).position and list(loader.resume(position, np.int8(2))) == []


def test_in_jobs(monkeypatch):
    token = "the token of this rank"
    monkeypatch.setattr(commsched.job, "_current", None)
    with commsched.init(rank=np.int64(0), size=np.int16(1), port=np.int64(1234), membership=np.int8(3), deadline=np.float32(7), servers=np.int64(0),
                        insecure=np.False_, listen_any=np.False_, master="localhost", token=token) as job, \
            commsched.Posts(job, deadline=np.float32(5)) as posts:
        assert (job.rank, job.size, job.servers) == (0, 1, 0)
        x, out = np.arange(4.0), np.zeros(4)
        posts.post("k", x, "broadcast", peer=np.int64(0), priority=np.int8(-3)).wait(np.int64(9))
        posted = posts.post("k", x, "all_to_all", output=out, send_counts=np.array([4]), receive_counts=(n for n in [np.int64(4)]))
        assert posts.wait_any([posted], np.float32(9)) is posted and (out == x).all()
