# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched: distributed training from one single-device step.

    program = commsched.transpile(step, params, opt_state, batch, cluster=4)
    for metrics in program.run(batches, workers=4): ...
"""

from typing import TYPE_CHECKING

from .check import Checked
from .cluster import Cluster
from .costs import GuessedCosts
from .data import DataCache, Loader
from .errors import (CheckError, CommSchedError, FrontEndError, Interrupted, JobError, MixedSamples, NothingDone, RefusedProgram, RuntimeFailure,
                     SampleError, ToolError, UncheckedSamples, UnsupportedOp)
from .following import JsonLines, TensorBoard
from .job import Job, init
from .posts import Posted, Posts
from .program import Program
from .simulation import LinkUse, RankUse, Simulation, simulate
from .sparse import Sparse
from .strategy import AllReduce, ParameterServers
from .transpiling import transpile

__all__ = ["AllReduce", "CheckError", "Checked", "Cluster", "CommSchedError", "DataCache", "FrontEndError", "GuessedCosts", "Interrupted", "Job", "JobError", "JsonLines", "LinkUse", "Loader", "MixedSamples", "NothingDone", "ParameterServers", "Posted", "Posts", "Program", "RankUse",
           "RefusedProgram", "Replan", "RuntimeFailure",
           "SampleError", "Simulation", "Sparse", "TensorBoard", "ToolError", "Tune", "UncheckedSamples", "UnsupportedOp", "grad", "init", "mark_gradients", "simulate", "transpile", "value_and_grad",
           "worker_index", "worker_key"]


def __dir__():
    return sorted({*globals(), *__all__})


if TYPE_CHECKING:  # which would find every name in the function below
    from .frontend.jax_gradient import grad, mark_gradients, value_and_grad
    from .frontend.jax_worker import worker_index, worker_key
    from .replan import Replan, Tune
else:
    def __getattr__(name):
        if name in ("Replan", "Tune"):  # of a command too, which is not to be imported before it runs
            from . import replan
            return getattr(replan, name)
        if name in ("grad", "mark_gradients", "value_and_grad"):  # these need JAX
            from .frontend import jax_gradient
            return getattr(jax_gradient, name)
        if name in ("worker_index", "worker_key"):
            from .frontend import jax_worker
            return getattr(jax_worker, name)
        raise AttributeError(f"module 'commsched' has no attribute '{name}'")
