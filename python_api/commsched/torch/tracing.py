# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How PyTorch behaves while a step is traced, so that what it does has rules and is one graph."""

from __future__ import annotations

import contextlib
import logging
from typing import Any, Callable, Iterator

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import checkpoint

from ..errors import FrontEndError
from . import places


def _conversion(module: torch.nn.Module, function: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> torch.nn.Module:
    """In place of Module._apply, which gives a module new parameters: what to(dtype) of a model's own code asks for is mostly
    what it has."""
    for part in module.modules() if recurse else [module]:
        for name, tensor in [*part._parameters.items(), *part._buffers.items()]:
            if tensor is not None and function(tensor) is not tensor:
                raise FrontEndError(f"{places.here()}the step must not convert a module whose '{name}' is {tensor.dtype}: do that before transpile()")
    return module


def _of_any_momentum(own: Callable) -> Callable:
    """In place of the forward pass of batch norms: one with momentum=None, whose running statistics are means over all batches, reads the number of these."""
    def forward(self: Any, input: torch.Tensor) -> torch.Tensor:
        if self.momentum is not None or not self.training or not self.track_running_stats or self.num_batches_tracked is None:
            return own(self, input)
        self._check_input_dim(input)
        self.num_batches_tracked.add_(1)
        statistics = self.running_mean, self.running_var
        own_ones = [torch.zeros_like(t) for t in statistics]
        result = torch.nn.functional.batch_norm(input, *own_ones, self.weight, self.bias, True, 1.0, self.eps)
        for running, new in zip(statistics, own_ones):
            running.add_((new - running) / self.num_batches_tracked)
        return result
    return forward


class _NotAgain:
    """In place of reentrant checkpoints: values are what they would be, and nothing is computed again. As theirs, what is
    computed of no argument that requires a gradient has none."""

    @staticmethod
    def apply(function: Callable, preserve: bool, *arguments: Any) -> Any:
        wanted = any(isinstance(a, torch.Tensor) and a.requires_grad for a in arguments)
        with contextlib.nullcontext() if wanted else torch.no_grad():
            return function(*arguments)


def _not_again(*_, **__) -> "Iterator[None]":
    """In place of the others."""
    yield


@contextlib.contextmanager
def plain():
    """Attention and recurrent layers as operations that have rules; checkpoints, whose second forward pass would draw other
    random numbers than the first, are computed once; distributions do not look at their arguments, as that reads data."""
    fast, blocked = torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()
    # Which write errors that are raised, too.
    logs = [logging.getLogger(name) for name in ("torch._subclasses.fake_tensor", "torch.fx.experimental.sym_node")]
    levels = [log.level for log in logs]
    apply, torch.nn.Module._apply = torch.nn.Module._apply, _conversion
    again = checkpoint.CheckpointFunction, checkpoint._checkpoint_without_reentrant_generator
    checkpoint.CheckpointFunction, checkpoint._checkpoint_without_reentrant_generator = _NotAgain, _not_again
    norm, batch_norm = torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.batchnorm._BatchNorm.forward
    norm.forward = _of_any_momentum(batch_norm)
    validated = torch.distributions.Distribution._validate_args
    torch.distributions.Distribution.set_default_validate_args(False)
    torch.backends.mha.set_fastpath_enabled(False)
    torch._C._set_mkldnn_enabled(False)
    for log in logs:
        log.setLevel(logging.CRITICAL + 1)
    try:
        # Anomalies are found by looking at gradients.
        with sdpa_kernel(SDPBackend.MATH), torch.autograd.set_detect_anomaly(False):
            yield
    finally:
        torch.distributions.Distribution.set_default_validate_args(validated)
        checkpoint.CheckpointFunction, checkpoint._checkpoint_without_reentrant_generator = again
        torch.nn.Module._apply = apply
        norm.forward = batch_norm
        torch.backends.mha.set_fastpath_enabled(fast)
        torch._C._set_mkldnn_enabled(blocked)
        for log, level in zip(logs, levels):
            log.setLevel(level)


