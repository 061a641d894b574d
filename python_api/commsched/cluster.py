# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The description of a cluster, as the compiler wants it."""

from __future__ import annotations

import dataclasses
import re

from .arguments import check_integer, shown
from .errors import FrontEndError

_HOUR_NS = 3600 * 10**9  # more is refused by the compiler, too


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Workers and what their devices and links can do.

    nodes: workers; devices: per worker; gflops: of one device; gb_per_s: its memory;
    mbit_per_s and latency_ns: of a link between workers; intra_...: inside a worker. machine_ranks: so many workers of one
    device each, one behind the other, are on one machine and linked by intra_...; NCCL's model counts on it.
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
    machine_ranks: int = 1

    @staticmethod
    def of(device: str, nodes: int) -> "Cluster":
        """Workers of which all that is known is the device of each, "cpu" or "cuda" (that of an H100)."""
        if device == "cpu":
            return Cluster(nodes)
        return Cluster(nodes, kind=device, gflops=60_000, gb_per_s=3_000, mbit_per_s=100_000, latency_ns=5_000,
                       intra_mbit_per_s=2_880_000, intra_latency_ns=1_000)

    def of_ranks(self) -> "Cluster":
        """The same devices, each of kind "cuda" as a worker of its own, which is how they run. They share what their
        machine has of the network."""
        if self.kind != "cuda" or self.devices == 1:
            return self
        return dataclasses.replace(self, nodes=self.nodes * self.devices, devices=1, machine_ranks=self.devices,
                                   mbit_per_s=max(1, self.mbit_per_s // self.devices))

    def __post_init__(self):
        for field in ("nodes", "devices", "gflops", "gb_per_s", "mbit_per_s", "latency_ns", "intra_mbit_per_s",
                      "intra_latency_ns", "machine_ranks"):
            bounds = (0, _HOUR_NS) if field.endswith("latency_ns") else (1,)
            object.__setattr__(self, field, check_integer(f"{field} of a cluster", getattr(self, field), *bounds))
        if not isinstance(self.kind, str) or self.kind not in ("cpu", "cuda"):
            raise FrontEndError(f"kind of a cluster must be \"cpu\" or \"cuda\", got: {shown(self.kind)}")
        if not isinstance(self.name, str) or not re.fullmatch(r"[A-Za-z_][\w.$-]*", self.name, re.ASCII):
            raise FrontEndError(f"name of a cluster must be an identifier, got: {shown(self.name)}")
        if self.machine_ranks > 1 and (self.kind != "cuda" or self.devices > 1):
            raise FrontEndError("machine_ranks must go with kind=\"cuda\" and devices=1, got: "
                                f"kind={self.kind!r}, devices={self.devices}")

    def mlir(self) -> list[str]:
        """The cs.cluster operation."""
        return [f"cs.cluster @{self.name} nodes = {self.nodes} devices = {self.devices} "
                f"device = <kind = {self.kind}, gflops = {self.gflops}, gb_per_s = {self.gb_per_s}>",
                f"    intra = <mbit_per_s = {self.intra_mbit_per_s}, latency_ns = {self.intra_latency_ns}> "
                f"inter = <mbit_per_s = {self.mbit_per_s}, latency_ns = {self.latency_ns}>"
                + (f" nccl = <machine_ranks = {self.machine_ranks}>" if self.machine_ranks > 1 else "")]
