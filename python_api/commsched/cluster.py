# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The description of a cluster, as the compiler wants it."""

from __future__ import annotations

import dataclasses


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

    def __post_init__(self):
        for field in ("nodes", "devices"):
            value = getattr(self, field)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{field} of a cluster must be at least 1, got: {value}")

    def mlir(self) -> list[str]:
        """The cs.cluster operation."""
        return [f"cs.cluster @{self.name} nodes = {self.nodes} devices = {self.devices} "
                f"device = <kind = {self.kind}, gflops = {self.gflops}, gb_per_s = {self.gb_per_s}>",
                f"    intra = <mbit_per_s = {self.intra_mbit_per_s}, latency_ns = {self.intra_latency_ns}> "
                f"inter = <mbit_per_s = {self.mbit_per_s}, latency_ns = {self.latency_ns}>"]
