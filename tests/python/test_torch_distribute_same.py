# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must be the same on all ranks of distribute() is, when it begins and in each step, or is refused on all in one line before anything is updated; and loops as people write them come
to what one process comes to with whole batches."""
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

from rank_job import CLEAN, ROOT, ended, free_port  # noqa: E402

CASES = pathlib.Path(__file__).with_name("torch_distribute_same.py")


@pytest.mark.parametrize("size, case", [(3, "at_first"), (2, "later"), (3, "later"), (2, "gradients_of_some"), (2, "buffers"), (2, "groups"), (2, "one_looks"), (2, "loops"), (3, "loops"), (2, "planted")])
def test_same_on_all_ranks(size, case):
    environment = {**CLEAN, "PYTHONPATH": f"{ROOT}/python_api:{ROOT}/tests", "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1",
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(size)}
    processes = [subprocess.Popen([sys.executable, str(CASES), case], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**environment, "RANK": str(rank)})
                 for rank in range(size)]
    for status, _, errors in ended(processes):
        assert status == 0, errors[-5:]
