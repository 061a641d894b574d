# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls: of functions, composites and custom calls, the marks of gradients among them."""

from __future__ import annotations

from ...errors import FrontEndError
from .elementwise import elementwise
from .ir import Value, quoted
from .scalar import RULES
from .sorting import approximate_top_k
from .walker import CALL_HANDLERS, Walker, handles
from .worker import worker_index


@handles("func.call")
def _call(w: Walker, op):
    name = str(op.attributes["callee"]).lstrip("@").strip('"')
    w.set(op, *w.function(name, w.operands(op)))


@handles("stablehlo.composite")
def _composite(w: Walker, op):
    name = str(op.attributes["name"]).strip('"')
    if name in RULES:
        elementwise(w, op, RULES[name])
        return
    function = str(op.attributes["decomposition"]).lstrip("@").strip('"')
    w.set(op, *w.function(function, w.operands(op)))


@handles("stablehlo.custom_call")
def _custom_call(w: Walker, op):
    target = str(op.attributes["call_target_name"]).strip('"')
    if target == "cs.gradient":
        gradient, parameter = w.operands(op)
        w.set(op, _mark(w, gradient, parameter))
    elif target == "cs.loss":
        (loss,) = w.operands(op)
        w.losses.add(loss.id)
        w.set(op, loss)
    elif target in CALL_HANDLERS:
        CALL_HANDLERS[target](w, op)
    elif target == "ApproxTopK":
        w.set(op, *approximate_top_k(w, op))
    elif target == "cs.worker_index":
        w.set(op, worker_index(w))
    elif target in ("Sharding", "annotate_device_placement"):
        w.set(op, *w.operands(op))
    elif target.startswith("SPMD"):
        w.refuse(op, _SEVERAL)
    else:
        w.refuse(op, f"target @{target}" + (
            ", a call of Python while the step runs (jax.debug.print, pure_callback, io_callback; error_if of Equinox and Diffrax, which "
            "EQX_ON_ERROR=nan does without)," if "callback" in target else ""))


_SEVERAL = "a mesh of several devices, as of shard_map: a step is what one device does,"


@handles("stablehlo.all_reduce", "stablehlo.all_gather", "stablehlo.reduce_scatter", "stablehlo.all_to_all", "stablehlo.collective_permute")
def _among_devices(w: Walker, op):
    """Of one, where a script for several finds one."""
    groups = op.attributes["source_target_pairs" if op.name.endswith("permute") else "replica_groups"]
    if str(groups.type) not in ("tensor<1x1xi64>", "tensor<1x2xi64>") or any(groups):
        w.refuse(op, _SEVERAL)
    w.set(op, *w.operands(op))


@handles("stablehlo.partition_id", "stablehlo.replica_id")
def _number_of_device(w: Walker, op):
    w.set(op, w.e.splat(0, *w.type_of(op.results[0])))


def _mark(w: Walker, gradient: Value, parameter: Value) -> Value:
    """cs.gradient, if the differentiated value is a parameter of the step."""
    name = w.carried.get(parameter.id)
    if name is None:
        if not w.e.depth:
            w.differentiated.append((parameter, w.where()))
        return gradient
    if w.e.depth:
        raise FrontEndError(f"{w.where()}the gradient of '{name}' is taken inside a loop or a branch; mark the "
                            "accumulated gradient after it with commsched.mark_gradients(grads, params)")
    if name in w.gradients:
        raise FrontEndError(f"{w.where()}the gradient of '{name}' is marked twice, first at {w.gradients[name]}")
    w.gradients[name] = w.e.location or "an unknown line"
    result = Value(gradient.shape, gradient.dtype)
    w.e.emit(f'cs.gradient {gradient.ref} of {quoted(name)} : {gradient.type}', result, located=True, pinned=True)
    return result


@handles("stablehlo.optimization_barrier")
def _barrier(w: Walker, op):
    w.set(op, *w.operands(op))
