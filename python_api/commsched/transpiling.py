# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transpile(): from a step to a Program."""

from __future__ import annotations

import functools
import os
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from .cluster import Cluster
from .errors import FrontEndError
from .frontend.base import FrontEnd
from .job import current
from .program import Program
from .rank_program import RankProgram
from .sparse import Sparse
from .strategy import Strategy


def _jax() -> FrontEnd:
    try:
        from .frontend.jax_frontend import describe
    except ImportError as error:
        raise FrontEndError(f"the JAX front end needs JAX: pip install 'commsched[jax]' ({error})") from error
    return describe


def transpile(step: Callable, *example_arguments: Any, cluster: Union[int, Cluster, None] = None, params: int = 0,
              batch: Union[int, Sequence[int]] = -1, constant: Sequence[int] = (),
              functions: Optional[Mapping[str, tuple]] = None, location_root: Optional[str] = None,
              mode: str = "all-reduce", servers: Optional[int] = None, sync_mode: Optional[str] = None,
              merge: Optional[int] = None, min_block_elements: Optional[int] = None, slice: Optional[bool] = None,
              placement: Optional[str] = None, max_block_elements: Optional[int] = None,
              row_sparse: Sequence[str] = (), schedule: Optional[str] = None,
              sparse: Union[None, float, Sparse] = None, spread_sums: bool = False) -> Program:
    """Turns a training step written for one device into a distributed program.

    step(params, opt_state, batch) -> (params, opt_state, loss): any number of arguments,
    all pytrees. `params` and `batch` are positions of arguments; every other argument is
    state. Outputs are matched to the carried arguments by structure, shapes and dtypes,
    in order; what is left are metrics, floating-point scalars, averaged over the workers; of other types they
    are refused: most integers are counts, whose mean over the workers would be less than they are.

    In a job of several ranks (commsched.init), all ranks call it, and run one worker each; cluster is that of all of them.

    cluster: a number of workers or a Cluster. The example batch is the GLOBAL batch:
    dimension 0 of each batch array is divided by the workers.
    constant: positions of state arguments that no output is the new value of (needed only
    where an output could be taken for it).
    functions: further functions of the module, name -> (function, *example arguments);
    arguments that look like carried arguments are those, the others are batches.
    location_root: folder that source files are named relative to (default: the working directory).

    mode: "all-reduce", or "parameter-server": gradients go to `servers` parameter servers
    (default 1), which own the parameters and the optimizer's state, apply the updates and
    hand out the values. sync_mode: "sync" (default), "async", or "half-async", in which a
    trainer merges `merge` gradients before it sends them. min_block_elements, max_block_elements,
    slice (bool) and placement ("balanced", "round-robin", "hash") say how parameters are cut
    into blocks and which server owns a block. docs/parameter-server.md describes all of them.

    row_sparse: names of parameters (as in slots()) that are tables of which a batch reads few
    rows, with parameter servers: only these rows travel, and the update is applied to rows
    that some trainer's batch reads and to no others, so that momentum, Adagrad, Adam and
    weight decay become lazy. docs/row-sparse.md says what the step may do with them.

    schedule: the policy that decides in which messages and in which order tensors are sent:
    "solver" (default), "priority", or a published one (docs/schedule-comm.md).

    sparse: of each gradient only this part of the elements, the largest, travels in a step, and the
    rest is added to the next gradient: a density such as 0.01, or a Sparse (docs/sparse.md).

    spread_sums: norms of whole parameters and gradients (LARS, LAMB, clipping), which every worker would
    compute, are shared among the workers where that pays (docs/spread-sums.md); the bits stay the same.

    Raises FrontEndError (a ValueError), UnsupportedOp and RefusedProgram among them, before anything runs.
    """
    if cluster is not None and not isinstance(cluster, Cluster):
        if isinstance(cluster, bool) or not hasattr(cluster, "__index__"):
            raise FrontEndError(f"cluster must be a Cluster or a number of workers, got: {cluster!r}")
        cluster = Cluster(nodes=cluster)
    batch, constant = ((p,) if isinstance(p, int) else p for p in (batch, constant))
    strategy = Strategy(mode, servers, sync_mode, merge, min_block_elements, slice, placement,
                        max_block_elements, schedule, Sparse.of(sparse), spread_sums)
    row_sparse = (row_sparse,) if isinstance(row_sparse, str) else row_sparse
    if not isinstance(row_sparse, (tuple, list, set, frozenset)):
        raise FrontEndError(f"row_sparse must be names of parameters, got: {row_sparse!r}")
    row_sparse = tuple(row_sparse)
    if not isinstance(spread_sums, bool):
        raise FrontEndError(f"spread_sums must be True or False, got: {spread_sums!r}")
    if location_root is not None and not isinstance(location_root, (str, os.PathLike)):
        raise FrontEndError(f"location_root must be a path, got: {location_root!r}")
    if row_sparse and mode != "parameter-server":
        raise FrontEndError(f"row_sparse must go with mode='parameter-server', got: mode='{mode}'")
    job = current()
    make = Program if job is None or job.size == 1 else functools.partial(RankProgram, job)
    return make(_jax(), step, example_arguments, cluster, strategy, location_root=location_root,
                row_sparse=row_sparse, params=params, batch=batch, constant=constant,
                functions={} if functions is None else functions)
