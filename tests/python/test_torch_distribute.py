# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Eager PyTorch by one line: it comes to what DistributedDataParallel over gloo comes to, to the bit; and the schedule."""
import pathlib
import random
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

from rank_job import CLEAN, ROOT, ended, free_port, token_file  # noqa: E402

CASES = pathlib.Path(__file__).with_name("torch_distribute_cases.py")


def start(case, size=2, **more):
    environment = {**CLEAN, "PYTHONPATH": f"{ROOT}/python_api:{ROOT}/tests", "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1",
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(size), **more}
    return [subprocess.Popen([sys.executable, str(CASES), case, "none"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, env={**environment, "RANK": str(rank)}) for rank in range(size)]


def run(case, size=2, **more):
    return ended(start(case, size, **more))


@pytest.mark.parametrize("case", ["train", "drawn", "passes", "planted", "refusals", "buffers"])
def test_as_distributed_data_parallel(case):
    for status, _, errors in run(case):
        assert status == 0, errors[-5:]


def test_without_torch_distributed(tmp_path):
    results = run("launched", COMMSCHED_TOKEN_FILE=token_file(tmp_path))
    assert [status for status, _, _ in results] == [0, 0], results
    assert results[0][1] == results[1][1] and len(results[0][1]) == 1


@pytest.mark.parametrize("case", ["dropped", "left"])
def test_what_is_under_way_in_the_end_is_completed(tmp_path, case):
    for status, _, errors in run(case, 3, COMMSCHED_TOKEN_FILE=token_file(tmp_path)):
        assert (status, errors) == (0, [])


def test_another_optimizer_on_a_rank_is_refused(tmp_path):
    for status, _, errors in run("others", 3, COMMSCHED_TOKEN_FILE=token_file(tmp_path)):
        assert (status, errors) == (0, [])


@pytest.mark.parametrize("case", ["killed", "stopped"])
def test_lost_rank(case):
    processes = start(case, 3)
    lost = processes.pop(1)
    try:
        for status, _, errors in ended(processes):
            assert status == 1 and ('"gradient ' in errors[-1] or 'all_gather "step"' in errors[-1]) and "peer 1" in errors[-1], errors
    finally:
        lost.kill()
        lost.communicate()


def test_schedule_over_seeds():
    from commsched.torch.first_use import EARLY, EARLY_BYTES, FUSED_BYTES, SPREAD, early, schedule
    for seed in range(200):
        draw = random.Random(seed)
        count = draw.randrange(1, 40)
        ready = [-1.0 if draw.random() < 0.1 else draw.random() for _ in range(count)]
        used = [-1.0 if draw.random() < 0.1 else draw.random() for _ in range(count)]
        sizes = [draw.choice((4, 1000, 100_000, FUSED_BYTES, 5_000_000)) for _ in range(count)]
        types = [draw.choice(("a", "b")) if seed % 2 else "a" for _ in range(count)]
        leads = [-1.0 if draw.random() < 0.5 else draw.random() * r for r in ready]
        alone = early(leads, ready, sizes)
        for i in range(count):
            part = ready[i] >= 0 and leads[i] >= 0 and leads[i] >= EARLY * max(ready) and sizes[i] >= EARLY_BYTES
            assert (i in alone) == part
        units = schedule(used, ready, sizes, types, alone)
        assert all([i] in units for i in alone)
        order = [i for unit in units for i in unit]
        assert sorted(order) == [i for i in range(count) if ready[i] >= 0]
        known = [used[i] for i in order if used[i] >= 0]
        assert known == sorted(known) and all(used[i] < 0 for i in order[len(known):])
        for unit in units:
            assert len(unit) == 1 or (sum(sizes[i] for i in unit) <= FUSED_BYTES and len({types[i] for i in unit}) == 1
                                      and max(ready[i] for i in unit) - min(ready[i] for i in unit) <= SPREAD * max(ready))
