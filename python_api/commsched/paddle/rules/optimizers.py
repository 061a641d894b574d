# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What optimizers do to one parameter. Each result NAME_out is the new value of operand NAME."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .table import NoRule, Operation, known, rule


def _plain(op: Operation, *absent) -> None:
    if op.get("multi_precision") or any(v is not None for v in absent):
        raise NoRule("master weights, or an update that may be skipped")


def _number(value, dtype):
    return np.asarray(known(value, "a constant").reshape(-1)[0], dtype)


def _rate(learning_rate, param):
    return learning_rate.reshape(()).astype(param.dtype)


@rule("sgd_")
def _sgd(op: Operation, param, learning_rate, grad, master_param=None):
    _plain(op, master_param)
    return param - _rate(learning_rate, param) * grad, None


@rule("momentum_")
def _momentum(op: Operation, param, grad, velocity, learning_rate, master_param=None):
    _plain(op, master_param)
    rate, mu = _rate(learning_rate, param), np.asarray(op["mu"], param.dtype)
    if op["rescale_grad"] != 1:
        grad = grad * np.asarray(op["rescale_grad"], param.dtype)
    if op["regularization_method"] == "l2_decay":
        grad = grad + np.asarray(op["regularization_coeff"], param.dtype) * param
    elif op["regularization_method"]:
        raise NoRule(f"regularisation {op['regularization_method']}")
    velocity = mu * velocity + grad
    return param - rate * (grad + mu * velocity if op["use_nesterov"] else velocity), velocity, None


def _adam_step(op: Operation, param, grad, rate, moment1, moment2, moment2_max, beta1_pow, beta2_pow, constants):
    beta1, beta2, epsilon = (_number(v, param.dtype) for v in constants)
    if op["use_global_beta_pow"]:
        raise NoRule("use_global_beta_pow")
    one, two = (p.reshape(()).astype(param.dtype) for p in (beta1_pow, beta2_pow))
    moment1 = beta1 * moment1 + (1 - beta1) * grad
    moment2 = beta2 * moment2 + (1 - beta2) * grad * grad
    of, root = moment2, jnp.sqrt(1 - two)
    if op["amsgrad"]:
        of = moment2_max = jnp.maximum(moment2, moment2_max)
    param = param - rate * (root / (1 - one)) * (moment1 / (jnp.sqrt(of) + epsilon * root))
    return (param, moment1, moment2, moment2_max if op["amsgrad"] else None, beta1_pow * _number(constants[0], beta1_pow.dtype),
            beta2_pow * _number(constants[1], beta2_pow.dtype), None)


@rule("adam_")
def _adam(op: Operation, param, grad, learning_rate, moment1, moment2, moment2_max, beta1_pow, beta2_pow, master_param, skip_update, beta1,
          beta2, epsilon):
    _plain(op, master_param, skip_update)
    return _adam_step(op, param, grad, _rate(learning_rate, param), moment1, moment2, moment2_max, beta1_pow, beta2_pow,
                      (beta1, beta2, epsilon))


@rule("adamw_")
def _adamw(op: Operation, param, grad, learning_rate, moment1, moment2, moment2_max, beta1_pow, beta2_pow, master_param, skip_update, beta1,
           beta2, epsilon):
    _plain(op, master_param, skip_update)
    rate = _rate(learning_rate, param) * np.asarray(op["lr_ratio"], param.dtype)
    if op["with_decay"]:
        param = param * (1 - rate * np.asarray(op["coeff"], param.dtype))
    return _adam_step(op, param, grad, rate, moment1, moment2, moment2_max, beta1_pow, beta2_pow, (beta1, beta2, epsilon))


@rule("adagrad_")
def _adagrad(op: Operation, param, grad, moment, learning_rate, master_param=None):
    _plain(op, master_param)
    moment = moment + grad * grad
    return param - _rate(learning_rate, param) * grad / (jnp.sqrt(moment) + np.asarray(op["epsilon"], param.dtype)), moment, None


@rule("rmsprop_")
def _rmsprop(op: Operation, param, mean_square, grad, moment, learning_rate, mean_grad=None, master_param=None):
    _plain(op, master_param)
    decay, epsilon, momentum = (np.asarray(op[n], param.dtype) for n in ("decay", "epsilon", "momentum"))
    mean_square = decay * mean_square + (1 - decay) * grad * grad
    spread = mean_square
    if op["centered"]:
        mean_grad = decay * mean_grad + (1 - decay) * grad
        spread = mean_square - mean_grad * mean_grad
    moment = momentum * moment + _rate(learning_rate, param) * grad / jnp.sqrt(spread + epsilon)
    return param - moment, moment, mean_square, mean_grad if op["centered"] else None, None


@rule("adamax_")
def _adamax(op: Operation, param, grad, learning_rate, moment, inf_norm, beta1_pow, master_param=None):
    _plain(op, master_param)
    beta1, beta2, epsilon = (np.asarray(op[n], param.dtype) for n in ("beta1", "beta2", "epsilon"))
    moment = beta1 * moment + (1 - beta1) * grad
    inf_norm = jnp.maximum(jnp.abs(grad), beta2 * inf_norm + epsilon)
    rate = _rate(learning_rate, param) / (1 - beta1_pow.reshape(()).astype(param.dtype))
    return param - rate * moment / inf_norm, moment, inf_norm, None
