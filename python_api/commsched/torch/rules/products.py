# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products and convolutions, with the gradients of convolutions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .table import Operation, arrays, axis, rule


@rule("aten.mm", "aten.bmm", "aten.mv", "aten.dot", "aten.matmul")
def _product(op: Operation, a, b):
    if not jnp.issubdtype(op.dtype, jnp.floating):
        return jnp.matmul(a, b)
    return jnp.matmul(a, b, preferred_element_type=op.dtype)


def _plus(op: Operation, c, a, b, beta, alpha):
    """beta c + alpha a b. What beta 0 is multiplied with does not count, even if it is no number."""
    if not isinstance(alpha, jax.Array) and not isinstance(beta, jax.Array) and beta == 1 and alpha == 1:
        wanted = op.wide
        return jnp.matmul(a, b, preferred_element_type=op.dtype if op.dtype == wanted else None).astype(wanted) + c.astype(wanted)
    alpha_, beta_ = arrays(op.wide, alpha, beta)
    product = alpha_ * jnp.matmul(a, b, preferred_element_type=op.dtype).astype(op.wide)
    return product if not isinstance(beta, jax.Array) and beta == 0 else product + beta_ * c.astype(op.wide)


@rule("aten.addmm", "aten.baddbmm", "aten.addmv")
def _addmm(op: Operation, c, a, b, *, beta=1, alpha=1):
    return jnp.broadcast_to(_plus(op, c, a, b, beta, alpha), op.shape)


@rule("aten.addr")
def _addr(op: Operation, c, a, b, *, beta=1, alpha=1):
    return _plus(op, c, a[:, None], b[None, :], beta, alpha)


@rule("aten._trilinear")
def _trilinear(op: Operation, a, b, c, expand1, expand2, expand3, sumdim, unroll_dim=1):
    a, b, c = (jnp.expand_dims(x, tuple(dims)) for x, dims in zip(arrays(op.wide, a, b, c), (expand1, expand2, expand3)))
    return jnp.sum(a * b * c, tuple(sumdim))


def _over_others(x, dim):
    """Summed over all dimensions but one."""
    return jnp.sum(x, tuple(d for d in range(x.ndim) if d != axis(dim, x.ndim)), keepdims=True)


@rule("aten._weight_norm_interface")
def _weight_norm(op: Operation, v, g, dim=0):
    v, g = arrays(op.wide, v, g)
    norms = jnp.sqrt(_over_others(v * v, dim))
    return v * (g / norms), norms


@rule("aten._weight_norm_interface_backward")
def _weight_norm_backward(op: Operation, gradient, v, g, norms, dim):
    gradient, v, g, norms = arrays(op.wide, gradient, v, g, norms)
    along = _over_others(gradient * v, dim) / norms
    return g / norms * (gradient - v * (along / norms)), along


# ---- convolutions --------------------------------------------------------------------------------------------

def _letters(rank: int) -> tuple[str, str, str]:
    spatial = "DHW"[3 - rank:] if rank <= 3 else "".join(chr(ord("P") + i) for i in range(rank))
    return "NC" + spatial, "OI" + spatial, "NC" + spatial


def convolution(x, weight, stride, padding, dilation, transposed, output_padding, groups):
    rank = x.ndim - 2
    stride, padding, dilation, output_padding = ((list(v) * rank)[:rank] for v in (stride, padding, dilation, output_padding))
    if not transposed:
        return lax.conv_general_dilated(x, weight, stride, [(p, p) for p in padding], rhs_dilation=dilation,
                                        dimension_numbers=_letters(rank), feature_group_count=groups)
    # The gradient of a convolution: inputs apart by the stride, the kernel turned round.
    channels, features, *kernel = weight.shape
    turned = jnp.flip(weight, tuple(range(2, weight.ndim)))
    turned = turned.reshape(groups, channels // groups, features, *kernel)
    turned = jnp.swapaxes(turned, 1, 2).reshape(groups * features, channels // groups, *kernel)
    pads = [(d * (k - 1) - p, d * (k - 1) - p + o) for k, p, d, o in zip(kernel, padding, dilation, output_padding)]
    return lax.conv_general_dilated(x, turned, [1] * rank, pads, lhs_dilation=stride, rhs_dilation=dilation,
                                    dimension_numbers=_letters(rank), feature_group_count=groups)


@rule("aten.convolution", "aten._convolution")
def _convolution(op: Operation, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *_):
    batched = x.ndim == weight.ndim
    result = convolution(x if batched else x[None], weight, stride, padding, dilation, transposed, output_padding, groups)
    if bias is not None:
        result = result.astype(op.wide) + bias.astype(op.wide).reshape(1, -1, *[1] * (result.ndim - 2))
    return result if batched else result[0]


@rule("aten.convolution_backward")
def _convolution_backward(op: Operation, gradient, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
                          groups, mask):
    def of(x, weight):
        return convolution(x, weight, stride, padding, dilation, transposed, output_padding, groups)
    _, pull = jax.vjp(of, x, weight)
    by_x, by_weight = pull(gradient.astype(x.dtype))
    by_bias = jnp.sum(gradient.astype(jnp.promote_types(gradient.dtype, jnp.float32)), (0, *range(2, gradient.ndim)))
    return tuple(value if wanted else None for value, wanted in zip((by_x, by_weight, by_bias), mask))
