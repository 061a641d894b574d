# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a gradient sits in a JAX step.

While a step is traced, the pullback that jax.value_and_grad and jax.grad use
binds a two-operand identity (gradient, differentiated value). The walker turns
it into cs.gradient where the value is a parameter of the step, through nested
jits. Everywhere else, and outside tracing, it is nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from typing import Any, Callable

import jax
from jax.extend.core import Primitive
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import ad, batching, mlir


class _State(threading.local):
    automatic = False  # mark what value_and_grad returns
    lowering = False   # write the mark into StableHLO
    explicit = False   # the user marked something
    traces = 0         # which of what JAX has traced before is used again


_state = _State()
# What JAX has traced while it had another number is traced again: functions that the user has jitted and run before have no marks.
_traces = getattr(jax, "make_user_context", None) and jax.make_user_context(0)
_numbers = itertools.count(1)
_patched = threading.RLock()  # what is patched, all threads have

gradient_p = Primitive("cs_gradient")
gradient_p.def_impl(lambda gradient, value: gradient)
gradient_p.def_abstract_eval(lambda gradient, value: gradient)
ad.primitive_jvps[gradient_p] = lambda primals, tangents: (primals[0], tangents[0])


def _batch(arguments, dims):
    """Of parameters that are batched themselves, as in an ensemble, it stays a mark; else it is nothing: gradients of
    each sample are not what is averaged."""
    (gradient, value), (dim, of) = arguments, dims
    if dim is None or of is None:
        return gradient, dim
    return gradient_p.bind(jax.numpy.moveaxis(gradient, dim, of), value), of


batching.primitive_batchers[gradient_p] = _batch


def _lower(context, gradient, value):
    if not _state.lowering:
        return [gradient]
    return stablehlo.CustomCallOp([gradient.type], [gradient, value],
                                  call_target_name=ir.StringAttr.get("cs.gradient")).results


mlir.register_lowering(gradient_p, _lower)

# The value of which a gradient is taken: an identity, which the walker looks through. A loss is a metric, and no new value of a scalar that it is made of.
loss_p = Primitive("cs_loss")
loss_p.def_impl(lambda loss: loss)
loss_p.def_abstract_eval(lambda loss: loss)
ad.primitive_jvps[loss_p] = lambda primals, tangents: (primals[0], tangents[0])
batching.primitive_batchers[loss_p] = lambda arguments, dims: (loss_p.bind(arguments[0]), dims[0])


def _lower_loss(context, loss):
    if not _state.lowering:
        return [loss]
    return stablehlo.CustomCallOp([loss.type], [loss], call_target_name=ir.StringAttr.get("cs.loss")).results


mlir.register_lowering(loss_p, _lower_loss)


def _mark_loss(value: Any) -> Any:
    """What is differentiated, if it is one number."""
    if not _state.lowering or jax.numpy.shape(value) != () or not jax.numpy.issubdtype(jax.numpy.result_type(value), jax.numpy.floating):
        return value
    return loss_p.bind(jax.numpy.asarray(value))


def _mark_leaf(gradient, value):
    if getattr(gradient, "dtype", None) is None or gradient.dtype == jax.dtypes.float0:
        return gradient
    if gradient.shape != jax.numpy.shape(value):
        return gradient
    return gradient_p.bind(gradient, jax.numpy.asarray(value))


def mark_gradients(gradients: Any, params: Any) -> Any:
    """Marks gradients (a pytree like params) as the ones to be averaged over the workers.

    For steps whose gradients are not simply what value_and_grad returns, e.g. those
    accumulated over micro-batches in a scan. What value_and_grad returns is then not
    marked automatically anywhere in the step.
    """
    _state.explicit = True
    return jax.tree_util.tree_map(_mark_leaf, gradients, params)


def _pick(arguments, argnums):
    return arguments[argnums] if isinstance(argnums, int) else tuple(arguments[i] for i in argnums)


def value_and_grad(fun: Callable, argnums=0, has_aux: bool = False, **more) -> Callable:
    """jax.value_and_grad whose gradients are marked (see mark_gradients)."""
    inner = jax.value_and_grad(fun, argnums, has_aux, **more)

    def wrapped(*arguments, **keywords):
        automatic, _state.automatic = _state.automatic, False
        try:
            value, gradients = inner(*arguments, **keywords)
        finally:
            _state.automatic = automatic
        return value, mark_gradients(gradients, _pick(arguments, argnums))
    return wrapped


def grad(fun: Callable, argnums=0, has_aux: bool = False, **more) -> Callable:
    """jax.grad whose gradients are marked (see mark_gradients)."""
    inner = value_and_grad(fun, argnums, has_aux, **more)

    def wrapped(*arguments, **keywords):
        value, gradients = inner(*arguments, **keywords)
        return (gradients, value[1]) if has_aux else gradients
    return wrapped


def trace_anew() -> None:
    """From now on, this thread uses nothing again in marking() that was traced before."""
    if _traces is None:  # of a JAX before 0.7
        jax.clear_caches()
    else:
        _state.traces = next(_numbers)


@contextlib.contextmanager
def marking(automatic: bool):
    """Marks gradients, automatically too if asked to, and lets them reach StableHLO.

    Yields an object whose .explicit tells at the end if the user marked anything.
    """
    with _patched, contextlib.nullcontext() if _traces is None else _traces(_state.traces):
        restore = _patch()
        saved = (_state.automatic, _state.lowering, _state.explicit)
        _state.automatic, _state.lowering, _state.explicit = automatic, True, False
        try:
            yield _state
        finally:
            explicit = _state.explicit
            _state.automatic, _state.lowering, _ = saved
            _state.explicit = explicit
            restore()


def _patch() -> Callable[[], None]:
    from jax._src import api

    if "vjp" in _names_used_in(api.value_and_grad):
        original = api.vjp

        def vjp(fun, *primals, **keywords):
            out, pullback, *aux = original(fun, *primals, **keywords)
            out = jax.tree_util.tree_map(_mark_loss, out)
            if not _state.automatic:
                return (out, pullback, *aux)

            def marked(cotangent):
                return tuple(jax.tree_util.tree_map(_mark_leaf, g, p) for g, p in zip(pullback(cotangent), primals))
            return (out, marked, *aux)
        api.vjp = vjp

        def restore_vjp():
            api.vjp = original
        return restore_vjp

    # Another version of JAX: what is looked up as jax.value_and_grad is still found.
    saved = jax.value_and_grad, jax.grad

    def automatic_value_and_grad(fun, argnums=0, has_aux=False, **more):
        inner = saved[0](fun, argnums, has_aux, **more)

        def wrapped(*arguments, **keywords):
            value, gradients = inner(*arguments, **keywords)
            if _state.automatic:
                gradients = jax.tree_util.tree_map(_mark_leaf, gradients, _pick(arguments, argnums))
            return value, gradients
        return wrapped

    def automatic_grad(fun, argnums=0, has_aux=False, **more):
        inner = automatic_value_and_grad(fun, argnums, has_aux, **more)

        def wrapped(*arguments, **keywords):
            value, gradients = inner(*arguments, **keywords)
            return (gradients, value[1]) if has_aux else gradients
        return wrapped
    jax.value_and_grad, jax.grad = automatic_value_and_grad, automatic_grad

    def restore():
        jax.value_and_grad, jax.grad = saved
    return restore


def _names_used_in(function) -> set[str]:
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    names: set[str] = set()

    def visit(code):
        names.update(code.co_names)
        for constant in code.co_consts:
            if hasattr(constant, "co_names"):
                visit(constant)
    if code is not None:
        visit(code)
    return names
