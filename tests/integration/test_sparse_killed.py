# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks with residuals of their own, all killed while some have written what belongs to a checkpoint and others have
not: the job goes on from the checkpoint before, bitwise as if nothing had been."""
import os
import re
import signal
import time

import pytest
from conftest import CLUSTER, EXAMPLES, TIME_LIMIT, addresses, compile_plan, expect_error, expect_success, finish, run
from safetensors import safe_open
from test_lost_peers import children, wait_for


@pytest.fixture(scope="module")
def plan(folder):
    return compile_plan(CLUSTER.format(nodes=3) + (EXAMPLES / "linear.mlir").read_text(), folder / "sparse-killed.plan",
                        "--cs-all-reduce-pipeline=density=0.25 sparse-method=allgather min-elements=1")


def newest(folder, rank):
    found = [re.fullmatch(rf"c\.step([0-9]+)\.rank{rank}", name) for name in os.listdir(folder)]
    return max((int(match[1]) for match in found if match), default=0)


def saved_step(path):
    with safe_open(path, "np") as file:
        return int(file.metadata()["step"])


def stop_behind(folder, ranks, late):
    """Stops rank `late` when it has not written what belongs to a checkpoint that is there, and ends all."""
    end = time.monotonic() + TIME_LIMIT
    while True:
        assert time.monotonic() < end, "the ranks always are at the same checkpoint"
        os.kill(ranks[late], signal.SIGSTOP)
        time.sleep(0.1)  # the others go as far as they can
        if saved_step(folder / "c") > newest(folder, late):
            break
        os.kill(ranks[late], signal.SIGCONT)
        time.sleep(0.003)
    for pid in ranks:
        os.kill(pid, signal.SIGKILL)


def saving(folder):
    return ["--checkpoint", folder / "c", "--checkpoint-every", 1]


@pytest.mark.parametrize("late", [1, 2])
def test_goes_on_from_the_checkpoint_before(plan, linear_data, cluster, tmp_path, late):
    for attempt in range(2):  # the second: what the first has left is there too
        how = ["--resume", tmp_path / "c", *linear_data[2:]] if attempt else linear_data
        parent = cluster.start(plan, "--spawn", *how, "--steps", 10**9, *saving(tmp_path))
        wait_for((tmp_path / "c").exists, [parent])
        before = newest(tmp_path, late)
        wait_for(lambda: newest(tmp_path, late) > before + 1, [parent])
        ranks = children(parent.pid)
        stop_behind(tmp_path, ranks, late)
        parent.wait(timeout=TIME_LIMIT)
    lost = saved_step(tmp_path / "c")
    steps = lost + 20
    resumed = run(plan, "--spawn", "--resume", tmp_path / "c", *linear_data[2:], "--steps", 21, *saving(tmp_path),
                  "--save-params", tmp_path / "disturbed")
    expect_success(resumed)
    assert f"goes on from {tmp_path}/c.step{lost - 1}\n" in resumed[1]
    assert saved_step(tmp_path / "c") == steps
    expect_success(run(plan, "--spawn", *linear_data, "--steps", steps, "--save-params", tmp_path / "undisturbed"))
    assert (tmp_path / "disturbed").read_bytes() == (tmp_path / "undisturbed").read_bytes()
    left = {f"c.step{step}.rank{rank}" for step in (steps - 1, steps) for rank in range(3)} | {f"c.step{steps - 1}", "c"}
    assert {name for name in os.listdir(tmp_path) if name.startswith("c")} == left


def test_ranks_by_hand_agree_where_they_go_on(plan, linear_data, cluster, tmp_path):
    ranks = cluster.join(plan, range(3), addresses(3), *linear_data, "--steps", 10**9, *saving(tmp_path))
    # The first that is whole: what goes on needs one before the last.
    wait_for(lambda: (tmp_path / "c").exists() and newest(tmp_path, 2) > 0, ranks.values())
    stop_behind(tmp_path, [ranks[rank].pid for rank in range(3)], 2)
    for process in ranks.values():
        process.wait(timeout=TIME_LIMIT)
    lost = saved_step(tmp_path / "c")
    again = cluster.join(plan, range(3), addresses(3), *linear_data[2:], "--resume", tmp_path / "c", "--steps", 5,
                         *saving(tmp_path))
    ends = [finish(process) for process in again.values()]
    assert [status for _, _, status in ends] == [0, 0, 0], ends
    assert saved_step(tmp_path / "c") == lost + 4


@pytest.mark.parametrize("bad", range(3))
def test_without_a_whole_one_all_say_whose_is_missing(plan, linear_data, cluster, tmp_path, bad):
    expect_success(run(plan, "--spawn", *linear_data, "--steps", 1, *saving(tmp_path)))
    missing = tmp_path / f"c.step1.rank{bad}"
    missing.unlink()
    resume = [*linear_data[2:], "--resume", tmp_path / "c", "--steps", 5]
    why = f"{tmp_path}/c: not all ranks have written what belongs to it, and there is no whole one before it: {missing}"
    ends_with_reason(cluster.join(plan, range(3), addresses(3), *resume), bad, why)
    out = run(plan, "--spawn", *resume)
    assert out[1].count("cs-run:") == 1 and f"rank {bad}: {why}" in out[1] and out[2] == 1, out


def ends_with_reason(ranks, bad, why):
    """Rank `bad` says it, each other one that it is `bad`'s."""
    for rank, process in ranks.items():
        out, err, status = finish(process)
        assert status == 1 and why in err and err.count("\n") == 1, err
        assert rank == bad or f"peer {bad} (" in err, err


@pytest.mark.parametrize("bad", range(3))
def test_all_say_whose_file_could_not_be_written(plan, linear_data, cluster, tmp_path, bad):
    blocked = tmp_path / f"c.step3.rank{bad}"
    blocked.mkdir()
    (blocked / "full").touch()
    ranks = cluster.join(plan, range(3), addresses(3), *linear_data, "--steps", 10**9, *saving(tmp_path), cwd=tmp_path)
    ends_with_reason(ranks, bad, str(blocked))


@pytest.mark.parametrize("how", [[], ["--spawn"]])
def test_what_another_job_has_left_is_not_of_this_one(plan, linear_data, tmp_path, how):
    """A rank is killed before it has written what belongs to a checkpoint, where there is a file of that name of the job before."""
    left = tmp_path / "c.step2.rank1"
    before = None
    for _ in range(2):
        expect_success(run(plan, *how, *linear_data, "--steps", 2, "--checkpoint", tmp_path / "c"))
        before = before or left.read_bytes()
    resume = [plan, *how, *linear_data[2:], "--resume", tmp_path / "c", "--steps", 1]
    expect_success(run(*resume))
    left.write_bytes(before)
    expect_error(run(*resume), f"{left}: is of another job")
