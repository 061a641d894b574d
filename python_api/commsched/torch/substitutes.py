# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of PyTorch that end in an operation of their own, which has no rule, written in others, so that gradients are
those of these. Each takes the arguments of the function that it stands for."""

from __future__ import annotations

import math
from typing import Any, Callable

import torch
import torch.nn.functional as F

from ..errors import FrontEndError


def _reduced(loss, reduction):
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def _embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                   per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """Bags that are the rows of `input`, or, with offsets, lie in it one behind the other."""
    if sparse:
        raise FrontEndError("embedding_bag must have sparse=False, as programs have no sparse gradients, got: True")
    if mode not in ("sum", "mean", "max"):
        raise FrontEndError(f"embedding_bag must have the mode 'sum', 'mean' or 'max', got: {mode!r}")
    if mode != "sum" and per_sample_weights is not None:
        raise FrontEndError(f"embedding_bag must have the mode 'sum' with per_sample_weights, got: {mode!r}")
    padding = None if padding_idx is None else padding_idx % len(weight)
    found = F.embedding(input, weight, padding, max_norm, norm_type, scale_grad_by_freq)
    counted = torch.ones_like(input, dtype=weight.dtype) if padding is None else (input != padding).to(weight.dtype)
    if per_sample_weights is not None:
        found = found * per_sample_weights.unsqueeze(-1)
    if input.dim() == 2:
        if mode == "max":
            return _largest(found, counted)
        total, count = (found * counted.unsqueeze(-1)).sum(1), counted.sum(1)
    else:
        if mode == "max":
            raise FrontEndError("embedding_bag must have bags of one size, a matrix of indices, with the mode 'max', got: offsets")
        begins = offsets[:-1] if include_last_offset else offsets
        bag = (torch.arange(len(input)).unsqueeze(1) >= begins).sum(1) - 1
        total = found.new_zeros(len(begins), weight.shape[1]).index_add(0, bag, found * counted.unsqueeze(-1))
        count = counted.new_zeros(len(begins)).index_add(0, bag, counted)
    return total if mode == "sum" else total / count.clamp(min=1).unsqueeze(-1)


def _largest(found, counted):
    largest = found.masked_fill(counted.unsqueeze(-1) == 0, -float("inf")).max(1).values
    return largest.masked_fill(counted.sum(1, keepdim=True) == 0, 0)


def _cdist(x1, x2, p=2.0, compute_mode=None):
    return torch.linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


_NONE = -1e30  # a logarithm of no probability whose differences are numbers


def _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """By the probabilities of all ways to the labels and blanks up to each time."""
    if targets.dim() != 2 or log_probs.dim() != 3:
        raise FrontEndError("ctc_loss must have log_probs [times, samples, classes] and targets [samples, labels], got: "
                            f"{list(log_probs.shape)} and {list(targets.shape)}")
    times, samples, _ = log_probs.shape
    inputs, labels = (torch.as_tensor(n).expand(samples) for n in (input_lengths, target_lengths))
    known = torch.arange(targets.shape[1]) < labels.unsqueeze(1)
    own = torch.where(known, targets, blank).long()
    states = torch.full((samples, 2 * own.shape[1] + 1), blank)
    states[:, 1::2] = own
    # Two states back, over a blank between labels that differ.
    skip = torch.zeros_like(states, dtype=torch.bool)
    skip[:, 3::2] = own[:, 1:] != own[:, :-1]
    terms = log_probs.gather(2, states.expand(times, -1, -1))
    way = terms[0].masked_fill(torch.arange(states.shape[1]) > 1, _NONE)
    for t in range(1, times):
        one = F.pad(way, (1, 0), value=_NONE)[:, :-1]
        two = F.pad(way, (2, 0), value=_NONE)[:, :-2].masked_fill(~skip, _NONE)
        new = torch.stack([way, one, two]).logsumexp(0) + terms[t]
        way = torch.where((t < inputs).unsqueeze(1), new, way)
    last = 2 * labels.unsqueeze(1).long()
    ends = torch.cat([way.gather(1, last), way.gather(1, (last - 1).clamp(min=0)).masked_fill(last == 0, _NONE)], 1)
    loss = -ends.logsumexp(1)
    # PyTorch's gradient is that of probabilities whose sum is 1: this has the value 0, and the rest of that gradient.
    inside = (torch.arange(times).unsqueeze(1) < inputs).unsqueeze(2)
    sums = torch.where(inside, log_probs.exp(), 0).sum((0, 2))
    loss = loss + sums - sums.detach()
    impossible = loss > -_NONE / 2
    loss = torch.where(impossible, 0.0 if zero_infinity else float("inf"), loss)
    return _reduced(loss / labels.clamp(min=1) if reduction == "mean" else loss, reduction)


def _multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Of each label against each class that is none; a label below 0 ends them."""
    if size_average is not None or reduce is not None:
        reduction = torch.nn._reduction.legacy_get_string(size_average, reduce)
    x, labels = torch.atleast_2d(input), torch.atleast_2d(target)
    given, known = (labels < 0).cumsum(1) == 0, labels.clamp(min=0)
    own = (F.one_hot(known, x.shape[1]) * given.unsqueeze(2)).sum(1) > 0
    margins = F.relu(1 - x.gather(1, known).unsqueeze(2) + x.unsqueeze(1))
    loss = torch.where(given.unsqueeze(2) & ~own.unsqueeze(1), margins, 0).sum((1, 2)) / x.shape[1]
    return _reduced(loss if input.dim() == 2 else loss[0], reduction)


def _gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Without its look at whether variances are negative."""
    if not isinstance(var, torch.Tensor):
        var = torch.full_like(input, var)
    if var.dim() == input.dim() - 1:
        var = var.unsqueeze(-1)
    least = var.clone()
    with torch.no_grad():
        least.clamp_(min=eps)
    loss = 0.5 * (torch.log(least) + (input - target) ** 2 / least) + (0.5 * math.log(2 * math.pi) if full else 0)
    return _reduced(loss, reduction)


def _one_hot(tensor, num_classes=-1):
    """Of a number outside of the classes PyTorch says so, where it is not traced."""
    return F.one_hot(torch.ops.commsched.within(tensor, 0, num_classes) if num_classes > 0 else tensor, num_classes)


def _set_items(tensor, index, value):
    """tensor[index] = value: of a mask and what is the same at all of its places, whose gradient would be made of as many as are marked."""
    if (isinstance(index, torch.Tensor) and index.dtype == torch.bool and index.shape == tensor.shape[:index.dim()]
            and isinstance(value, torch.Tensor) and value.dim() <= tensor.dim() - index.dim()):
        mask = index.reshape(*index.shape, *[1] * (tensor.dim() - index.dim()))
        tensor.copy_(torch.where(mask, value.to(tensor.dtype), tensor))
    else:
        tensor[index] = value


def _set_data(tensor, value):
    """tensor.data = value, which no operation tells of."""
    if (tensor.shape, tensor.dtype) != (value.shape, value.dtype):
        raise FrontEndError(f"the data of a tensor that are set in the step must stay {tensor.dtype}{list(tensor.shape)}, got: "
                            f"{value.dtype}{list(value.shape)}")
    tensor.data.copy_(value)


SUBSTITUTES: "dict[Any, Callable]" = {F.embedding_bag: _embedding_bag, torch.cdist: _cdist, F.ctc_loss: _ctc_loss,
                                         F.gaussian_nll_loss: _gaussian_nll_loss, F.multilabel_margin_loss: _multilabel_margin_loss, F.one_hot: _one_hot,
                                         torch.Tensor.data.__set__: _set_data, torch.Tensor.__setitem__: _set_items}
