# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transpile(): from a step to a Program."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, TypeVar, Union

from .arguments import check_path, is_integer, shown
from .cluster import Cluster
from .costs import Costs
from .errors import FrontEndError
from .frontend.base import FrontEnd
from .job import current
from .program import Program
from .rank_program import RankProgram
from .strategy import AllReduce, Strategy


def _jax() -> FrontEnd:
    try:
        from .frontend.jax_frontend import front_end
    except ImportError as error:
        raise FrontEndError(f"the JAX front end needs JAX: pip install 'commsched[jax]' ({error})") from error
    return front_end()


def transpile(step: Callable, *example_arguments: Any, cluster: Union[int, Cluster, None] = None, params: Union[int, str] = 0,
              batch: Union[int, str, Sequence[Union[int, str]]] = -1, constant: Union[int, str, Sequence[Union[int, str]]] = (),
              functions: Optional[Mapping[str, tuple]] = None, location_root: Optional[str] = None,
              strategy: Strategy = AllReduce(), profile: Any = None, calibration: Any = None,
              calibrate: bool = False, device: Optional[str] = None) -> Program:
    """Turns a training step written for one device into a distributed program.

    step(params, opt_state, batch) -> (params, opt_state, loss): any number of arguments,
    all pytrees. `params` and `batch` are positions of arguments, or their names; every other argument is
    state. Outputs are matched to the carried arguments by structure, shapes and dtypes,
    in order; what is left are metrics, floating-point scalars, averaged over the workers; of other types they
    are refused: most integers are counts, whose mean over the workers would be less than they are.

    In a job of several ranks (commsched.init), all ranks call it, and run one worker each; cluster is that of all of them.

    cluster: a number of workers or a Cluster. The example batch is the GLOBAL batch:
    dimension 0 of each batch array is divided by the workers.
    constant: positions or names of state arguments that no output is the new value of (needed only
    where an output could be taken for it).
    functions: further functions of the module, name -> (function, *example arguments);
    arguments that look like carried arguments are those (of several that do, the same object, else that of the same name),
    the others are batches.
    location_root: folder that source files are named relative to (default: the working directory).

    strategy: an AllReduce or ParameterServers, whose options say the rest.

    profile, calibration: files of cs-run --profile and --calibrate, one or several each, from which schedules are made
    (docs/costs.md). calibrate=True: both are measured before the first plan is made, from the example arguments, with workers as
    threads of one process, or, in a job of several ranks, on all of them and between them, here. Without any of them, and without a Cluster, a schedule is made from guesses, which a
    GuessedCosts warning says.

    device: of each worker, "cpu" or "cuda"; None: as the cluster says, whose kind it must match, else "cpu". A program for CUDA
    devices is compiled anywhere and runs where there are devices, one of each worker; run() says what is missing where there are none. Not
    measured on a device (docs/cuda.md).

    A static program of PaddlePaddle in place of step, with an example batch as feed is, goes to commsched.paddle.transpile.

    Raises FrontEndError (a ValueError), UnsupportedOp and RefusedProgram among them, before anything runs.
    """
    if type(step).__module__.split(".")[0] == "paddle":
        return _of_paddle(step, example_arguments, dict(params=(params, 0), batch=(batch, -1), constant=(constant, ()), functions=(functions, None)),
                          cluster=cluster, location_root=location_root, strategy=strategy, profile=profile, calibration=calibration,
                          calibrate=calibrate, device=device)
    cluster, costs = checked(cluster, strategy, location_root, profile, calibration, calibrate, device)
    batch, constant = _positions(batch), _positions(constant)
    return made(Program, RankProgram, _jax(), step, example_arguments, cluster, strategy, costs, location_root=location_root,
                row_sparse=strategy.row_sparse, params=params, batch=batch, constant=constant,
                functions={} if functions is None else functions)


def _positions(given: Any) -> Any:
    """One or several, which may be looked at more than once."""
    if is_integer(given) or isinstance(given, str):
        return (given,)
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, bytes) else given


def _of_paddle(program: Any, examples: tuple, others: "Mapping[str, tuple[Any, Any]]", **options: Any) -> Program:
    """others: what a program has no use for, by name, with what it is when it is not given."""
    from .paddle import transpile as of_program
    for name, (value, default) in others.items():
        if type(value) is not type(default) or value != default:
            raise FrontEndError(f"{name} must be left out for a program of PaddlePaddle, got: {shown(value)}")
    if len(examples) > 1:
        raise FrontEndError(f"a program of PaddlePaddle must have one example batch, a dictionary, got: {len(examples)} arguments")
    return of_program(program, *examples, **options)


def checked(cluster: Any, strategy: Any, location_root: Any, profile: Any, calibration: Any,
            calibrate: Any, device: Any = None) -> "tuple[Optional[Cluster], Costs]":
    """What transpile() of any framework takes: the cluster that is meant, and the costs. Raises FrontEndError."""
    costs = Costs.of(profile, calibration, calibrate, isinstance(cluster, Cluster))
    if device is not None and (not isinstance(device, str) or device not in ("cpu", "cuda")):
        raise FrontEndError(f"device must be \"cpu\" or \"cuda\", got: {shown(device)}")
    if isinstance(cluster, Cluster):
        if device is not None and device != cluster.kind:
            raise FrontEndError(f"device must match the kind of the cluster, {cluster.kind}, got: {device}")
        cluster = cluster.of_ranks()
    elif cluster is not None:
        if isinstance(cluster, bool) or not hasattr(cluster, "__index__"):
            raise FrontEndError(f"cluster must be a Cluster or a number of workers, got: {shown(cluster)}")
        cluster = Cluster.of(device or "cpu", cluster)
    elif device == "cuda":
        job = current()
        cluster = Cluster.of(device, 1 if job is None else job.size)
    if not isinstance(strategy, Strategy):
        raise FrontEndError(f"strategy must be an AllReduce or ParameterServers, got: {shown(strategy)}")
    if location_root is not None:
        check_path("location_root", location_root)
    return cluster, costs


_Made = TypeVar("_Made", bound=Program)


def made(alone: "type[_Made]", of_ranks: "type[_Made]", *arguments: Any, **options: Any) -> _Made:
    """A program of the one class, or, where this process is one rank of a job of several, of the other."""
    job = current()
    if job is None or (job.size == 1 and not job.servers):
        return alone(*arguments, **options)
    return of_ranks(*arguments, job=job, **options)
