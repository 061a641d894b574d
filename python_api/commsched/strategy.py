# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How workers are kept together: all-reduce, or parameter servers. Each has the options that mean something with it."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Sequence, Union

from .arguments import check_choice, check_integer, check_switch, shown
from .errors import FrontEndError
from .sparse import Sparse

POLICIES = ("solver", "priority", "fifo", "wfbp", "fixed-buckets", "p3", "bytescheduler", "mg-wfbp", "pace", "dear", "tictac",
            "latency-hiding")
_CHOICES = {"mode": ("sync", "async", "half-async"), "placement": ("balanced", "round-robin", "hash"),
            "algorithm": ("auto", "ring", "halving-doubling"), "copies": ("auto", "none", "overlap", "in-line"),
            "schedule": (*POLICIES, "tuned"), "cut_as": POLICIES}
_LEAST = {"servers": 1, "merge": 1, "min_block_elements": 1, "max_block_elements": 1, "staging_bytes": 1,
          "bucket_bytes": 1, "first_bucket_bytes": 1, "effort": 1, "memory_limit": 0, "message_bytes": 1}
_SWITCHES = ("reorder", "slice", "fuse_blocks", "assign_devices", "by_block", "combine", "spread_sums", "parts", "exclusive", "nccl", "hierarchical")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Strategy:
    """What AllReduce and ParameterServers have in common. None leaves the compiler's default.

    schedule: the policy that decides in which messages and in which order tensors are sent (docs/schedule-comm.md):
    "solver" (default), "priority", or a published one. "tuned": a run begins with the solver's, tries some others
    on its steps, and keeps the fastest (docs/replanning.md).
    bucket_bytes, first_bucket_bytes: with schedule="fixed-buckets" (or cut_as): when a bucket, and the first one, is closed.
    effort: with the solver: thousands of messages that it simulates; by default as the size of the step asks for.
    reorder: with the solver: it may change the order of fragments too (default: no), as far as data allows.
    memory_limit: with reorder: bytes that results of fragments may hold at once more than in the order of the step (default 0).
    message_bytes: most bytes of a message that cuts or fuses tensors; not with schedule="priority", which sends tensors whole.
    copies: between devices and host (docs/devices.md): "none" (one memory), "overlap", "in-line", "auto" (default: "overlap"
    where devices of kind "cuda" have code to run, else "none").
    staging_bytes: most bytes of staging memory at once on a node, with copies="overlap".
    assign_devices: give every gradient an owner of its own among the devices of a node (default), instead of device 0.
    """

    schedule: Optional[str] = None
    bucket_bytes: Optional[int] = None
    first_bucket_bytes: Optional[int] = None
    effort: Optional[int] = None
    reorder: Optional[bool] = None
    memory_limit: Optional[int] = None
    message_bytes: Optional[int] = None
    copies: Optional[str] = None
    staging_bytes: Optional[int] = None
    assign_devices: Optional[bool] = None

    def __post_init__(self):
        if type(self) is Strategy:
            raise TypeError("a strategy is an AllReduce or ParameterServers")
        for field in dataclasses.fields(self):
            name, value = field.name, getattr(self, field.name)
            if value is None and field.default is None:
                continue
            if name in _CHOICES:
                check_choice(name, value, _CHOICES[name])
            if name in _LEAST:
                object.__setattr__(self, name, check_integer(name, value, _LEAST[name]))
            if name in _SWITCHES:
                object.__setattr__(self, name, check_switch(name, value))
        for name in ("bucket_bytes", "first_bucket_bytes"):
            if getattr(self, name) is not None and "fixed-buckets" not in (self.schedule, getattr(self, "cut_as", None)):
                raise FrontEndError(f"{name} must go with schedule='fixed-buckets', got: schedule={self.schedule!r}")
        for name in ("effort", "reorder"):
            if getattr(self, name) and self.schedule not in (None, "solver", "tuned") and getattr(self, "cut_as", None) != "solver":
                raise FrontEndError(f"{name} must go with schedule='solver', got: schedule={self.schedule!r}")
        if self.memory_limit is not None and not self.reorder:
            raise FrontEndError(f"memory_limit must go with reorder=True, got: reorder={self.reorder!r}")
        if self.message_bytes is not None and self.schedule == "priority":
            raise FrontEndError("message_bytes must go with a schedule that cuts or fuses tensors, got: schedule='priority'")
        if self.staging_bytes is not None and self.copies != "overlap":
            raise FrontEndError(f"staging_bytes must go with copies='overlap', got: copies={self.copies!r}")

    def at(self, step: int) -> "tuple[Strategy, Optional[int]]":
        """What holds in this step, and for how many steps from it; None: for all."""
        own = Sparse.of(self.sparse)
        if own is None:
            return self, None
        sparse, steps = own.at(step)
        change: Any = {"sparse": sparse}
        return dataclasses.replace(self, **change), steps

    # ---- what each of the two says in its own way ---------------------------------------------
    @property
    def name(self) -> str:
        """For people."""
        raise NotImplementedError

    @property
    def synchronous(self) -> bool:
        """Whether all workers have the same values after each step."""
        raise NotImplementedError

    @property
    def sparse(self) -> "Union[None, float, Sparse]":
        """Which elements of gradients travel; None: all."""
        return None

    @property
    def row_sparse(self) -> Sequence[str]:
        """Names of tables of which only rows travel."""
        return ()

    @property
    def mode(self) -> Optional[str]:
        """Of parameter servers."""
        return None

    def insertion(self) -> list[str]:
        """Arguments of cs-opt for the pass that puts the communication in, alone."""
        raise NotImplementedError

    def pipeline(self, level: int, costs: Sequence[str] = ()) -> list[str]:
        """Arguments of cs-opt that end at this level; costs: options of the pipeline about them."""
        raise NotImplementedError

    def _options(self, names: Sequence[str]) -> list[str]:
        given = {n: getattr(self, n) for n in names if getattr(self, n) is not None}
        return [f"{_OPTIONS.get(n, n).replace('_', '-')}={str(v).lower()}" for n, v in given.items()]

    def _common(self) -> list[str]:
        return self._options([field.name for field in dataclasses.fields(Strategy)])


_OPTIONS = {"mode": "sync_mode"}  # names of the compiler's, where they are others


@dataclasses.dataclass(frozen=True, kw_only=True)
class AllReduce(Strategy):
    """All workers have all parameters, and sum gradients with each other. What all strategies have, and

    sparse: of each gradient only this part of the elements, the largest, travels in a step, and the rest is added to the
    next gradient: a density such as 0.01, or a Sparse (docs/sparse.md).
    spread_sums: norms of whole parameters and gradients (LARS, LAMB, clipping), which every worker would compute, are
    shared among the workers where that pays (docs/spread-sums.md); the bits stay the same.
    parts: what shares a message is used as soon as it is there, while the rest is still on its way (default: no;
    docs/schedule-comm.md); around a ring of three or more ranks sums are those of tensors that share no message, else the bits
    stay the same.
    exclusive: with the solver: urgent tensors may go alone, while what is less urgent waits for moments (default;
    docs/transports.md).
    algorithm: of collectives: "auto" (default), "ring", "halving-doubling".
    combine: fewer or smaller collectives with the same results (default).
    hierarchical: large gradients are reduced by all devices of a node, a shard on each (default; docs/devices.md).
    nccl: all-reduces by NCCL, on a cluster of kind "cuda" (default: no; docs/cuda.md).
    """

    sparse: Union[None, float, Sparse] = None
    spread_sums: bool = False
    algorithm: Optional[str] = None
    combine: Optional[bool] = None
    parts: Optional[bool] = None
    exclusive: Optional[bool] = None
    hierarchical: Optional[bool] = None
    nccl: Optional[bool] = None

    name = "all-reduce"
    synchronous = True

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "sparse", Sparse.of(self.sparse))
        if self.parts and self.schedule == "priority":
            raise FrontEndError("parts must go with a schedule that cuts or fuses tensors, got: schedule='priority'")
        if self.parts and self.nccl:
            raise FrontEndError("parts must go with nccl=False, got: nccl=True")
        if self.exclusive is False and (self.schedule or "solver") not in ("solver", "tuned"):
            raise FrontEndError(f"exclusive=False must go with the solver's schedule, got: schedule={self.schedule!r}")
        if self.exclusive is False and self.nccl:
            raise FrontEndError("exclusive=False must go with nccl=False, got: nccl=True")

    def insertion(self) -> list[str]:
        """Arguments of cs-opt for the pass that puts the communication in, alone."""
        return ["--insert-dist-comm"]

    def pipeline(self, level: int, costs: Sequence[str] = ()) -> list[str]:
        """Arguments of cs-opt that end at this level; costs: options of the pipeline about them."""
        sparse = Sparse.of(self.sparse)
        if level == 1:
            if sparse is None and not self.spread_sums:
                return self.insertion()
            passes = ["--insert-dist-comm", "--replicate-devices", "--assign-devices"]
            if sparse is not None:
                passes.append("--lower-sparse-comm=" + " ".join(sparse.options(in_pipeline=False)))
            if self.spread_sums:
                passes.append("--spread-sums")
            return passes
        options = self._options(["algorithm", "combine", "exclusive", "hierarchical", "nccl", "parts"]) + (["spread-sums=true"] if self.spread_sums else [])
        if sparse is not None:
            options += sparse.options(in_pipeline=True)
        options += [*self._common(), *costs]
        return ["--cs-all-reduce-pipeline" + ("=" + " ".join(options) if options else "")]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ParameterServers(Strategy):
    """Gradients go to servers, which own the parameters and the optimizer's state, apply the updates and hand out the
    values (docs/parameter-server.md). What all strategies have, and

    servers: how many (default 1).
    mode: "sync" (default), "async", or "half-async", in which a trainer merges `merge` gradients before it sends them.
    min_block_elements, max_block_elements, slice, placement ("balanced", "round-robin", "hash"): how parameters are cut
    into blocks, and which server owns a block.
    fuse_blocks: whether small blocks of one server may share a message (default True).
    by_block: combine, own and copy the blocks of a gradient one by one on a node of several devices.
    cut_as: the policy whose schedule says how blocks are cut and fused for the wire (default: that of schedule); plans
    with one cut_as have the same blocks.
    row_sparse: names of parameters (as in slots()) that are tables of which a batch reads few rows: only these rows travel,
    and the update is applied to rows that some trainer's batch reads and to no others, so that momentum, Adagrad, Adam and
    weight decay become lazy. docs/row-sparse.md says what the step may do with them.
    sparse: as with AllReduce: what trainers send to servers, which send whole values back. Synchronous, with method "auto"
    or "dense", without second_moment; tables in row_sparse are left out.
    """

    servers: Optional[int] = None
    mode: Optional[str] = None
    merge: Optional[int] = None
    min_block_elements: Optional[int] = None
    max_block_elements: Optional[int] = None
    slice: Optional[bool] = None
    placement: Optional[str] = None
    fuse_blocks: Optional[bool] = None
    by_block: Optional[bool] = None
    cut_as: Optional[str] = None
    row_sparse: Sequence[str] = ()
    sparse: Union[None, float, Sparse] = None

    name = "parameter-server"
    _own = ("servers", "mode", "merge", "min_block_elements", "max_block_elements", "slice", "placement")

    def __post_init__(self):
        super().__post_init__()
        if self.schedule == "tuned" and self.mode not in (None, "sync"):
            raise FrontEndError(f"schedule='tuned' must go with mode='sync', got: mode={self.mode!r}")
        for name in ("min_block_elements", "max_block_elements"):
            if getattr(self, name) is not None and self.slice is False:
                raise FrontEndError(f"{name} must go with slice=True, got: slice=False")
        least = 8192 if self.min_block_elements is None else self.min_block_elements
        if self.max_block_elements is not None and self.max_block_elements < least:
            raise FrontEndError(f"max_block_elements must be at least min_block_elements, {least}, got: {self.max_block_elements}")
        if (self.merge or 1) > 1 and self.mode != "half-async":
            raise FrontEndError(f"merge must be 1 without mode='half-async', got: {self.merge}")
        tables: Any = (self.row_sparse,) if isinstance(self.row_sparse, str) else self.row_sparse
        if not isinstance(tables, (tuple, list, set, frozenset)) or not all(isinstance(name, str) and name for name in tables):
            raise FrontEndError(f"row_sparse must be names of parameters, got: {shown(tables)}")
        object.__setattr__(self, "row_sparse", tuple(tables))
        own = Sparse.of(self.sparse)
        object.__setattr__(self, "sparse", own)
        if own is None:
            return
        if not self.synchronous:
            raise FrontEndError(f"sparse must go with mode='sync', got: mode={self.mode!r}")
        methods = [own.method] + [rule[1] for rule in own.rules.values() if isinstance(rule, tuple)]
        for method in methods:
            if method not in ("auto", "dense"):
                raise FrontEndError(f"sparse must have method auto or dense with parameter servers, got: {method}")
        if own.fuse_bytes:
            raise FrontEndError(f"sparse must have fuse_bytes None or 0 with parameter servers, got: {own.fuse_bytes}")
        if own.second_moment:
            raise FrontEndError(f"sparse must have second_moment 0 with parameter servers, got: {own.second_moment}")

    @property
    def synchronous(self) -> bool:
        return self.mode in (None, "sync")

    def insertion(self) -> list[str]:
        """Arguments of cs-opt for the pass that puts the communication in, alone."""
        return [" ".join(["--insert-dist-comm=mode=parameter-server", *self._options(self._own)])]

    def pipeline(self, level: int, costs: Sequence[str] = ()) -> list[str]:
        """Arguments of cs-opt that end at this level; costs: options of the pipeline about them."""
        sparse = Sparse.of(self.sparse)
        if level == 1:
            if sparse is None:
                return self.insertion()
            return [*self.insertion(), "--replicate-devices", "--assign-devices",
                    "--lower-sparse-comm=" + " ".join(sparse.options(in_pipeline=False))]
        own = [] if sparse is None else sparse.options(in_pipeline=True)
        options = [*self._options([*self._own, "fuse_blocks", "by_block", "cut_as"]), *own, *self._common(), *costs]
        return ["--cs-parameter-server-pipeline" + ("=" + " ".join(options) if options else "")]
