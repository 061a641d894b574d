# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The description of a cluster, as the compiler wants it."""

from __future__ import annotations

import dataclasses
import operator
import re
from typing import Any

from .errors import FrontEndError


def check_count(value: Any, what: str, least: int = 1) -> int:
    """Refuses what is no integer of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise FrontEndError(f"{what} must be an integer, got: {value!r}")
    if number < least:
        raise FrontEndError(f"{what} must be at least {least}, got: {number}")
    return number


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Workers and what their devices and links can do.

    nodes: workers; devices: per worker; gflops: of one device; gb_per_s: its memory;
    mbit_per_s and latency_ns: of a link between workers; intra_...: inside a worker.
    """

    nodes: int
    devices: int = 1
    gflops: int = 40
    gb_per_s: int = 20
    mbit_per_s: int = 10_000
    latency_ns: int = 50_000
    intra_mbit_per_s: int = 80_000
    intra_latency_ns: int = 5_000
    kind: str = "cpu"
    name: str = "cluster"

    @staticmethod
    def of(device: str, nodes: int) -> "Cluster":
        """Workers of which all that is known is the device of each, "cpu" or "cuda" (that of an H100)."""
        if device == "cpu":
            return Cluster(nodes)
        return Cluster(nodes, kind=device, gflops=60_000, gb_per_s=3_000, mbit_per_s=100_000, latency_ns=5_000,
                       intra_mbit_per_s=2_880_000, intra_latency_ns=1_000)

    def __post_init__(self):
        for field in ("nodes", "devices", "gflops", "gb_per_s", "mbit_per_s", "latency_ns", "intra_mbit_per_s",
                      "intra_latency_ns"):
            check_count(getattr(self, field), f"{field} of a cluster", 0 if field.endswith("latency_ns") else 1)
        for field in ("kind", "name"):
            if not re.fullmatch(r"[A-Za-z_][\w.$-]*", str(getattr(self, field))):
                raise FrontEndError(f"{field} of a cluster must be an identifier, got: {getattr(self, field)!r}")

    def mlir(self) -> list[str]:
        """The cs.cluster operation."""
        return [f"cs.cluster @{self.name} nodes = {self.nodes} devices = {self.devices} "
                f"device = <kind = {self.kind}, gflops = {self.gflops}, gb_per_s = {self.gb_per_s}>",
                f"    intra = <mbit_per_s = {self.intra_mbit_per_s}, latency_ns = {self.intra_latency_ns}> "
                f"inter = <mbit_per_s = {self.mbit_per_s}, latency_ns = {self.latency_ns}>"]
