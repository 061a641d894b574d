# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks of torch.distributed as ranks of a job here: they tell each other through torch's Store where they are."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import tempfile
from typing import Any, Optional

from ..errors import JobError
from ..job import Job, job_options, joined
from ..posts import Posts
from ..temporary import remove_folder


def meet(store: Any, rank: int, size: int, seconds: float) -> "Meeting":
    """All ranks. On one machine they are connected by socket files, elsewhere by TCP, with what COMMSCHED_TOKEN_FILE and
    COMMSCHED_TLS_... say (docs/security.md); without a token of the user's, rank 0 makes one, which the Store hands on.

    seconds: for joining, and without progress of what is posted. Raises JobError.
    """
    folder: Optional[str] = None
    address = _own_address(store)
    own = {"place": _place(), "peer": f"[{address}]" if ":" in address else address}
    with contextlib.suppress(OSError):  # then no port is free, or the address is not here: joining says so
        own["peer"] += f":{_free_port(address)}"
    store.set(f"rank{rank}", json.dumps(own))
    all_ranks = [json.loads(store.get(f"rank{r}")) for r in range(size)]
    try:
        if rank == 0:
            try:
                said = {"token": secrets.token_hex(32)}
                if all(other["place"] == own["place"] for other in all_ranks):
                    folder = tempfile.mkdtemp(prefix="commsched-", dir=_base())  # which nobody else may enter
                    said["folder"] = folder
            except OSError as error:
                said = {"error": f"rank 0: {error}"}
            store.set("meeting", json.dumps(said))
        said = json.loads(store.get("meeting"))
        if "error" in said:
            raise JobError(said["error"])
        peers = [f"unix:{said['folder']}/{r}" if "folder" in said else all_ranks[r]["peer"] for r in range(size)]
        token = None if os.environ.get("COMMSCHED_TOKEN_FILE") else said["token"]
        job = joined(job_options(rank=rank, size=size, token=token, deadline=min(seconds, 1e7), membership=0, peers=peers))
        return Meeting(job, folder)
    except BaseException:
        if folder:
            remove_folder(folder)
        raise


class Meeting:
    """job, and posts in it. close() leaves both."""

    def __init__(self, job: Job, folder: Optional[str]):
        self.job, self._folder = job, folder
        try:
            self.posts = Posts(job)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.job.close()
        if self._folder:
            remove_folder(self._folder)
            self._folder = None


def _base() -> str:
    """Where socket files are, whose names may be of 107 bytes."""
    if not os.access("/tmp", os.W_OK | os.X_OK):
        with contextlib.suppress(OSError):  # there is no other
            other = tempfile.gettempdir()
            return other if len(other) < 60 else "/tmp"
    return "/tmp"


def _place() -> str:
    """Equal of processes that can meet at a socket file and have one network."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    base = os.stat(_base())
    return f"{boot} {os.stat('/proc/self/ns/net').st_ino} {base.st_dev}.{base.st_ino} {os.getuid()}"


def _own_address(store: Any) -> str:
    """That by which this machine reaches the Store, or what the launcher says."""
    host = os.environ.get("MASTER_ADDR")
    while not host and store is not None:
        host, store = getattr(store, "host", None), getattr(store, "underlying_store", None)
    host = host or socket.gethostname()
    with contextlib.suppress(OSError):
        for family, kind, _, _, address in socket.getaddrinfo(host, 1, type=socket.SOCK_DGRAM):
            with contextlib.suppress(OSError), socket.socket(family, kind) as probe:  # of a protocol that this machine has no way for
                probe.connect(address)  # of a datagram's socket: nothing is sent
                return probe.getsockname()[0]
    return host


def _free_port(address: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]
