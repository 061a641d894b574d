# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transpile(): from a static program of PaddlePaddle to a Program."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

import paddle

from ..arguments import check_choice, check_integer, check_seed, check_switch
from ..cluster import Cluster
from ..errors import FrontEndError
from ..strategy import AllReduce, ParameterServers, Strategy
from ..transpiling import checked, made
from . import values
from .capture import capture
from .describing import Step, example_of
from .program import Program, RankProgram


def transpile(program: Any = None, example_batch: "Optional[Mapping[str, Any]]" = None, *, trainers: Optional[int] = None,
              pservers: Optional[int] = None, slice_var_up: Optional[bool] = None, min_block_size: Optional[int] = None,
              split_method: Optional[str] = None, sync_mode: Optional[bool] = None, cluster: Union[int, Cluster, None] = None,
              strategy: Optional[Strategy] = None, metrics: "Mapping[str, Any] | Sequence[Any]" = (), scope: Any = None, seed: int = 0,
              location_root: Optional[str] = None, profile: Any = None, calibration: Any = None, calibrate: bool = False,
              device: Optional[str] = None) -> Program:
    """Turns a static program after optimizer.minimize(loss) into a distributed program (docs/paddle.md).

    program: default: paddle.static.default_main_program(). It is only read; its startup program must have run in `scope`
    (default: paddle.static.global_scope()), from which parameters and the optimizer's state are taken.
    example_batch: a GLOBAL batch, as feed is: a dictionary of arrays by the names of paddle.static.data; dimension 0 is divided
    by the workers. Not needed where all shapes are given; these are then those of the global batch.
    metrics: variables of the program beside the loss, floating-point scalars, in a dictionary or a list; averaged over the workers.

    trainers: how many workers. pservers: how many parameter servers; 0, or None: all-reduce. With servers only: slice_var_up,
    whether parameters are cut into blocks, and min_block_size, of at least so many elements; split_method, which server owns a
    block: "RoundRobin" or "HashName" (None: balanced); sync_mode=False: asynchronous.
    Or cluster and strategy (an AllReduce or ParameterServers, row_sparse included), as of commsched.transpile, which also
    says what profile, calibration, calibrate, location_root and device are.
    seed: where what is drawn in the step (dropout) begins; each worker draws its own numbers.

    In a job of several ranks (commsched.init), all ranks call it, with equal programs and values, and run one worker each.

    Raises FrontEndError (a ValueError), UnsupportedOp and RefusedProgram among them, before anything runs.
    """
    program = paddle.static.default_main_program() if program is None else program
    if not isinstance(program, paddle.pir.Program):
        raise FrontEndError(f"program must be a static program of PIR, paddle.static.Program, got: {type(program).__name__}")
    strategy = _strategy(strategy, pservers, dict(slice_var_up=slice_var_up, min_block_size=min_block_size, split_method=split_method,
                                                  sync_mode=sync_mode))
    if trainers is not None:
        if cluster is not None:
            raise FrontEndError("trainers must be left out where cluster is given, which says it")
        cluster = check_integer("trainers", trainers, 1)
    seed = check_seed(seed)
    cluster, costs = checked(cluster, strategy, location_root, profile, calibration, calibrate, device)
    captured = capture(program, metrics)
    example = example_of(captured, example_batch)
    for name in captured.lazy:
        if name not in strategy.row_sparse:
            raise FrontEndError(f"lazy_mode of the optimizer must be False, or '{name}' a table in row_sparse of ParameterServers")
    names = [s.name for s in captured.params]
    for name in strategy.row_sparse:
        if name not in names:
            raise FrontEndError(f"row_sparse must name parameters, {', '.join(names)}, got: '{name}'")
    scope = paddle.static.global_scope() if scope is None else values.check_scope(scope)
    initial = {s.name: values.read(scope, s.name, "variable") for s in [*captured.params, *captured.state]}
    for s in [*captured.params, *captured.state]:
        if initial[s.name].dtype != s.dtype:
            raise FrontEndError(f"variable '{s.name}' of the scope must have elements of {s.dtype}, got: {initial[s.name].dtype}")
    return made(Program, RankProgram, Step(captured, initial, program, scope), example, cluster, strategy, costs, seed=seed,
                location_root=location_root, row_sparse=strategy.row_sparse)


_METHODS = {"RoundRobin": "round-robin", "HashName": "hash"}


def _strategy(strategy: Any, pservers: Any, options: "dict[str, Any]") -> Any:
    """What Paddle's names mean."""
    given = [n for n, v in options.items() if v is not None]
    if strategy is not None:
        if pservers is not None or given:
            raise FrontEndError(f"{', '.join((['pservers'] if pservers is not None else []) + given)} must be left out where strategy is given, "
                                "which says it")
        return strategy
    servers = 0 if pservers is None else check_integer("pservers", pservers)
    if servers == 0:
        if given:
            raise FrontEndError(f"{', '.join(given)} must go with pservers of at least 1, got: {pservers}")
        return AllReduce()
    for name in ("slice_var_up", "sync_mode"):
        if options[name] is not None:
            options[name] = check_switch(name, options[name])
    if options["slice_var_up"] is False and options["min_block_size"] is not None:
        raise FrontEndError("min_block_size must go with slice_var_up=True, got: slice_var_up=False")
    method = getattr(options["split_method"], "__name__", options["split_method"])  # Paddle has classes of these names
    if method is not None:
        check_choice("split_method", method, list(_METHODS))
    size = options["min_block_size"]
    return ParameterServers(servers=servers, slice=options["slice_var_up"], placement=_METHODS.get(method),
                            min_block_elements=None if size is None else check_integer("min_block_size", size, 1),
                            mode="async" if options["sync_mode"] is False else None)
