# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend of torch.distributed: DistributedDataParallel and FSDP2 over it come to what they come to over gloo, to the bit."""
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import torch  # noqa: E402

from rank_job import CLEAN, ROOT, TIME_LIMIT, ended, free_port  # noqa: E402

CASES = pathlib.Path(__file__).with_name("torch_distributed_cases.py")


def start(case, file, size):
    port = free_port()
    environment = {**CLEAN, "PYTHONPATH": f"{ROOT}/python_api", "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1",
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(size)}
    return [subprocess.Popen([sys.executable, str(CASES), case, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, env={**environment, "RANK": str(rank)}) for rank in range(size)]


def test_training_is_that_over_gloo(tmp_path):
    for status, _, errors in ended(start("train", tmp_path / "none", 2)):
        assert status == 0, errors[-5:]


def test_functions(tmp_path):
    for status, _, errors in ended(start("functions", tmp_path / "none", 3)):
        assert status == 0, errors[-5:]


def test_killed_rank(tmp_path):
    results = ended(start("killed", tmp_path / "error", 3))
    assert [status for status, _, _ in results] == [0, -9, 0]
    for rank in (0, 2):
        line = (tmp_path / f"error.{rank}").read_text()
        assert '"group ' in line and "peer 1" in line and "\n" not in line, line


def test_several_machines_need_a_secret_and_tls(tmp_path, monkeypatch):
    """Where processes cannot meet at socket files, the rules of docs/security.md hold."""
    import commsched
    from commsched.torch import meeting
    monkeypatch.setattr(meeting, "_place", lambda: "somewhere")
    monkeypatch.setattr(meeting, "_own_address", lambda store: "10.1.2.3")
    store = torch.distributed.HashStore()
    store.set("rank1", '{"place": "elsewhere", "peer": "10.1.2.4:12345"}')
    monkeypatch.setattr(meeting, "_free_port", lambda address: 12345)
    with pytest.raises(commsched.JobError, match="without TLS certificates, got: 10.1.2.3:12345"):
        meeting.meet(store, 0, 2, 5.0)


def test_a_name_with_an_address_that_cannot_be_reached(monkeypatch):
    from commsched.torch import meeting
    monkeypatch.setenv("MASTER_ADDR", "boss")
    found = [(meeting.socket.AF_INET, meeting.socket.SOCK_DGRAM, 0, "", (host, 1)) for host in ("255.255.255.255", "127.0.0.1")]
    monkeypatch.setattr(meeting.socket, "getaddrinfo", lambda *arguments, **keywords: found)
    assert meeting._own_address(None) == "127.0.0.1"
    del found[1]
    assert meeting._own_address(None) == "boss"
