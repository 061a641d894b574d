# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives without a plan, of ranks that are processes: what they come to, and how they end."""
import signal

import numpy as np
import pytest

import commsched
from rank_job import one_line, outputs, run, script, token_file

PRELUDE = "import sys, os, time\nimport numpy as np\nimport commsched\n"


def ranks(folder, size, text):
    return run(script(folder, text, init="commsched.init(deadline=10)", step=PRELUDE), size, token_file(folder))


def test_all_kinds(tmp_path):
    text = """
    posts = commsched.Posts(job)
    n, rank = job.size, job.rank
    for count in (1, 30, 50001):
        row = np.arange(count)
        for kind in ("float32", "float64", "float16", "int64", "int32", "uint8"):
            x, out = (row % 5 + rank).astype(kind), np.zeros(count, kind)
            posts.post("sum", x, output=out).wait()
            assert (out == sum((row % 5 + r).astype(kind) for r in range(n))).all(), kind
            assert (x == (row % 5 + rank).astype(kind)).all()
        parts = np.zeros((n, count), np.complex64)  # which is only moved
        first = posts.post("gather", (row + 1j * rank).astype(np.complex64), "all_gather", output=parts, priority=5)
        x = (row + rank).astype(np.float64)
        second = posts.post("mean", x, combine="mean", priority=-5)
        assert second.wait() and first.wait(30.0) and first.done()
        assert (parts == row + 1j * np.arange(n)[:, None]).all() and np.allclose(x, row + (n - 1) / 2)
        y = np.full(count, rank == n - 1)
        posts.post("last", y, "broadcast", peer=n - 1).wait()
        assert y.all()
        own = np.zeros(count)
        posts.post("scatter", np.tile(row, n) + 1.0 * rank, "reduce_scatter", combine="max", output=own).wait()
        assert (own == row + n - 1).all()
        sent = np.repeat(np.arange(n), np.arange(n)) * 10 + rank  # r elements to rank r
        got = np.zeros(rank * n, sent.dtype)
        posts.post("all", sent, "all_to_all", output=got, send_counts=list(range(n)), receive_counts=[rank] * n).wait()
        assert (got == rank * 10 + np.repeat(np.arange(n), rank)).all()
    if rank == 0:
        posts.post("note", np.arange(3), "send", peer=1).wait()
    elif rank == 1:
        x = np.zeros(3, np.int64)
        posts.post("note", x, "receive", peer=0).wait()
        assert x.tolist() == [0, 1, 2]
    for _ in range(200):
        posts.post("nobody waits", np.ones(100))
    posts.barrier()
    assert posts.bytes_sent > 0
    with commsched.Posts(job) as other:  # a second group
        x = np.ones(1)
        other.post("sum", x).wait()
        assert x[0] == n
    posts.close()
    print("ok")
    """
    assert outputs(ranks(tmp_path, 3, text)) == [["ok"]] * 3


def test_killed_rank(tmp_path):
    text = f"""
    posts = commsched.Posts(job)
    posts.barrier()
    behind = [{str(tmp_path)!r} + "/behind." + str(rank) for rank in range(3)]
    open(behind[job.rank], "w").close()
    if job.rank == 1:
        while not all(map(os.path.exists, behind)):  # else the last message of the barrier may be lost with it
            pass
        os.kill(os.getpid(), 9)
    posts.post("layer.weight", np.ones(1000, np.float32)).wait()
    """
    results = ranks(tmp_path, 3, text)
    assert results[1][0] == -signal.SIGKILL
    for rank in (0, 2):
        one_line(results[rank], f"rank {rank}: ", '"layer.weight"', "peer 1")


@pytest.mark.parametrize("what, words", [
    ("posts.post('w', np.ones(4 + job.rank))", ["all_reduce (sum) of 4 f64", "all_reduce (sum) of 5 f64"]),
    ("posts.post('w', np.ones(4, np.float32 if job.rank else np.int32))", ["all_reduce (sum) of 4 f32", "all_reduce (sum) of 4 i32"]),
    ("posts.post('w', np.ones(4), *(['broadcast'] if job.rank else []))", ["broadcast of 4 f64 from rank 0", "all_reduce (sum) of 4 f64"]),
])
def test_ranks_that_differ(tmp_path, what, words):
    for result in ranks(tmp_path, 2, f"posts = commsched.Posts(job)\n{what}.wait()"):
        one_line(result, '"w"', "peer", *words)


def test_a_rank_that_does_not_post(tmp_path):
    text = """
    posts = commsched.Posts(job, deadline=1)
    if job.rank == 0:
        posts.post("w", np.ones(4)).wait()
    time.sleep(4)
    posts.post("v", np.ones(4)).wait()
    """
    first, second = ranks(tmp_path, 2, text)
    one_line(first, 'all_reduce "w"', "no progress within 1s", "peer 1")
    one_line(second, "peer 0", '"w"')


def test_what_makes_no_sense(tmp_path, monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    job = commsched.job.joined(commsched.job.job_options(rank=0, size=1))
    posts = commsched.Posts(job)
    x = np.ones(6)
    for arguments, options, line in [
            (("w", x, "all"), {}, "kind must be one of all_reduce, "),
            (("w", x), {"combine": "product"}, "combine must be one of sum, "),
            (("w", x[::2]), {}, 'all_reduce "w": array must be contiguous, '),
            (("w", [1.0]), {}, 'all_reduce "w": tensor must be a NumPy array or a PyTorch tensor, got: list'),
            (("w", x.astype(np.int16)), {}, 'all_reduce "w": elements of int16 cannot be combined by sum'),
            (("w", x.astype(np.uint8)), {"combine": "max"}, 'all_reduce "w": elements of uint8 cannot be combined by max'),
            (("w", x.astype(np.int32)), {"combine": "mean"}, 'all_reduce "w": a mean must be of floating-point elements, got: i32'),
            (("w", x), {"output": np.ones(5)}, 'all_reduce "w": output must have 6 elements, got: 5'),
            (("w", x), {"output": np.ones(6, np.float32)}, 'all_reduce "w": output must be of float64, got: float32'),
            (("w", x, "all_gather"), {}, 'all_gather "w": output must have 6 elements, got: 0'),
            (("w", x, "broadcast"), {"output": np.ones(6)}, 'broadcast "w": output must have 0 elements, got: 6'),
            (("w", x, "broadcast"), {"peer": 1}, 'broadcast "w": rank must be below size 1, got: 1'),
            (("w", x, "send"), {}, 'send "w": rank must be another one, got: 0'),
            (("w", x, "all_to_all"), {"send_counts": [5], "receive_counts": [6], "output": np.ones(6)},
             'all_to_all "w": tensor must have 5 elements, got: 6'),
            (("", x), {}, 'all_reduce "": key must not be empty')]:
        with pytest.raises(commsched.RuntimeFailure) as error:
            posts.post(*arguments, **options)
        assert str(error.value).startswith(line), error.value
    posts.post("w", x).wait()
    posts.close()
    with pytest.raises(commsched.RuntimeFailure, match="the group is closed"):
        posts.post("w", x)
    job.close()
