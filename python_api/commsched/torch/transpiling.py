# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transpile(): from a model, its optimizer and its loss to a Program."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

import torch

from ..arguments import check_integer, check_seed
from ..cluster import Cluster
from ..errors import FrontEndError
from ..strategy import AllReduce, Strategy
from ..transpiling import checked, made
from . import optimizers
from .capture import Step
from .describing import Batch, is_criterion
from .first_state import carried
from .program import Program
from .rank_program import RankProgram
from .scaling import Scaling


def transpile(model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_fn: Callable[..., Any], example_batch: Any, *,
              cluster: Union[int, Cluster, None] = None, before_update: Optional[Callable[[torch.nn.Module], Any]] = None,
              accumulate: int = 1, scaler: Optional[torch.amp.GradScaler] = None, seed: int = 0,
              location_root: Optional[str] = None, strategy: Strategy = AllReduce(), profile: Any = None, calibration: Any = None,
              calibrate: bool = False, device: Optional[str] = None) -> Program:
    """Turns the training step of a model into a distributed program (docs/pytorch.md).

    The step is what one writes for one device: loss, backward pass, before_update(model) if given, optimizer.step().
    loss_fn: one of PyTorch's own (torch.nn.CrossEntropyLoss(), torch.nn.functional.mse_loss): of the model's output for all
    of a batch but its last element, and that. Or a function of the model and the batch (its elements, if that is a tuple)
    that returns the loss, or a dictionary or tuple of scalars that begins with it; the others are metrics.

    example_batch: a GLOBAL batch, tensors in any structure; dimension 0 is divided by the workers.
    before_update: may change gradients, as torch.nn.utils.clip_grad_norm_ does; they are means over the workers.
    accumulate: into how many parts, one after the other, a worker's rows of the batch are divided; gradients and metrics are
    means over them.
    scaler: scales the loss and unscales the gradients before before_update; an update whose gradients are not finite is left out.
    seed: where what is drawn in the step (dropout) begins; each worker draws its own numbers.
    cluster, strategy (without row_sparse), location_root, profile, calibration, calibrate, device: as of commsched.transpile.

    In a job of several ranks (commsched.init), all ranks call it, with models of the same values and the same global example
    batch, and run one worker each.

    Raises FrontEndError (a ValueError), UnsupportedOp and RefusedProgram among them, before anything runs.
    """
    if not isinstance(model, torch.nn.Module):
        raise FrontEndError(f"model must be a torch.nn.Module, got: {type(model).__name__}")
    for module in model.modules():
        if isinstance(module, (torch.jit.ScriptModule, torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)) or \
                type(module).__name__ == "OptimizedModule":
            raise FrontEndError(f"model must be a plain torch.nn.Module, got a part of type {type(module).__name__}")
        if isinstance(module, torch.nn.parameter.UninitializedTensorMixin) or any(
                isinstance(p, torch.nn.parameter.UninitializedTensorMixin) for p in module._parameters.values()):
            raise FrontEndError(f"model has lazy parameters ({type(module).__name__}); call it once on an example first")
        if getattr(module, "sparse", False) is True and isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
            raise FrontEndError(f"{type(module).__name__}(sparse=True) makes sparse gradients, which programs have not; have sparse be False")
    if not callable(loss_fn):
        raise FrontEndError(f"loss_fn must be a function, got: {type(loss_fn).__name__}")
    if is_criterion(loss_fn) and not (isinstance(example_batch, (tuple, list)) and len(example_batch) > 1):
        raise FrontEndError("the batch must be a tuple of the model's inputs and a target with this loss_fn, got: "
                            f"{type(example_batch).__name__}")
    if isinstance(loss_fn, torch.nn.Module) and loss_fn is not model and any(True for _ in loss_fn.parameters()):
        raise FrontEndError("loss_fn must have no parameters of its own; make it a part of the model")
    if before_update is not None and not callable(before_update):
        raise FrontEndError(f"before_update must be a function of the model, got: {type(before_update).__name__}")
    seed, accumulate = check_seed(seed), check_integer("accumulate", accumulate, 1)
    scaling = Scaling.of(scaler, list(model.parameters()))
    cluster, costs = checked(cluster, strategy, location_root, profile, calibration, calibrate, device)
    if strategy.row_sparse:
        raise FrontEndError(f"row_sparse must be empty for a PyTorch model, got: {strategy.row_sparse!r}")
    optimizers.check(optimizer, list(model.parameters()))
    Batch(example_batch)
    begins = carried(optimizer, [p.requires_grad for p in model.parameters()], list(model.parameters()))
    counted = frozenset((entry.group, entry.key) for entry in begins.entries if entry.group is not None)
    step = Step(model, optimizer, loss_fn, before_update, optimizers.Hyper.of(optimizer, counted, begins.read), begins, type(model).__name__, accumulate,
                scaler, scaling)
    return made(Program, RankProgram, step, example_batch, cluster, strategy, costs, seed=seed, location_root=location_root)
