# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What optimizers do to one parameter: each result NAME_out is the new value of operand NAME. And the scale of mixed precision."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .table import NoRule, Operation, known, rule


def _plain(op: Operation, *absent) -> None:
    if op.get("multi_precision") or any(v is not None for v in absent):
        raise NoRule("master weights")


def _unless(skip, old, new):
    """The new values, or the old ones where a gradient was not finite."""
    return new if skip is None else tuple(n if n is None or o is None else jnp.where(skip.reshape(()), o, n) for o, n in zip(old, new))


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
    _plain(op, master_param)
    found = _adam_step(op, param, grad, _rate(learning_rate, param), moment1, moment2, moment2_max, beta1_pow, beta2_pow,
                       (beta1, beta2, epsilon))
    return _unless(skip_update, (param, moment1, moment2, moment2_max, beta1_pow, beta2_pow, None), found)


@rule("adamw_")
def _adamw(op: Operation, param, grad, learning_rate, moment1, moment2, moment2_max, beta1_pow, beta2_pow, master_param, skip_update, beta1,
           beta2, epsilon):
    _plain(op, master_param)
    rate = _rate(learning_rate, param) * np.asarray(op["lr_ratio"], param.dtype)
    decayed = param * (1 - rate * np.asarray(op["coeff"], param.dtype)) if op["with_decay"] else param
    found = _adam_step(op, decayed, grad, rate, moment1, moment2, moment2_max, beta1_pow, beta2_pow, (beta1, beta2, epsilon))
    return _unless(skip_update, (param, moment1, moment2, moment2_max, beta1_pow, beta2_pow, None), found)


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


@rule("adadelta_")
def _adadelta(op: Operation, param, grad, avg_squared_grad, avg_squared_update, learning_rate, master_param=None):
    _plain(op, master_param)
    rho, epsilon = (np.asarray(op[n], param.dtype) for n in ("rho", "epsilon"))
    avg_squared_grad = rho * avg_squared_grad + (1 - rho) * grad * grad
    update = jnp.sqrt((avg_squared_update + epsilon) / (avg_squared_grad + epsilon)) * grad
    avg_squared_update = rho * avg_squared_update + (1 - rho) * update * update
    return param - _rate(learning_rate, param) * update, avg_squared_grad, avg_squared_update, None


_DECAY = 0.96  # of NAdam's momentum; no attribute in Paddle


@rule("nadam_")
def _nadam(op: Operation, param, grad, learning_rate, momentum_decay_pow, beta2_pow, mu_product, moment1, moment2, master_param=None):
    _plain(op, master_param)
    beta1, beta2, epsilon, decay, base = (np.asarray(v, param.dtype) for v in (
        op["beta1"], op["beta2"], op["epsilon"], op["momentum_decay"], _DECAY))
    momentum_decay_pow, beta2_pow = momentum_decay_pow * base, beta2_pow * beta2
    now, half = jnp.power(momentum_decay_pow, decay), np.asarray(0.5, param.dtype)
    mu, following = beta1 * (1 - half * now), beta1 * (1 - half * now * np.power(base, decay))
    mu_product = mu_product * mu
    moment1 = beta1 * moment1 + (1 - beta1) * grad
    moment2 = beta2 * moment2 + (1 - beta2) * grad * grad
    ahead = following * moment1 / (1 - mu_product * following) + (1 - mu) * grad / (1 - mu_product)
    param = param - _rate(learning_rate, param) * ahead / (jnp.sqrt(moment2 / (1 - beta2_pow)) + epsilon)
    return param, momentum_decay_pow, beta2_pow, mu_product, moment1, moment2, None


@rule("radam_")
def _radam(op: Operation, param, grad, learning_rate, beta1_pow, beta2_pow, rho, moment1, moment2, master_param=None):
    _plain(op, master_param)
    beta1, beta2, epsilon = (np.asarray(op[n], param.dtype) for n in ("beta1", "beta2", "epsilon"))
    beta1_pow, beta2_pow = beta1_pow * beta1, beta2_pow * beta2
    longest = 2 / (1 - beta2) - 1
    rho = (rho * (beta2 - beta2_pow) + beta2_pow) / (1 - beta2_pow)
    length = longest - 2 * rho
    moment1 = beta1 * moment1 + (1 - beta1) * grad
    moment2 = beta2 * moment2 + (1 - beta2) * grad * grad
    mean, long = moment1 / (1 - beta1_pow), length > 5
    safe = jnp.where(long, length, 6)
    rectified = jnp.sqrt((safe - 4) * (safe - 2) * longest / ((longest - 4) * (longest - 2) * safe))
    scaled = mean * rectified * jnp.sqrt(1 - beta2_pow) / (jnp.sqrt(moment2) + epsilon)
    return param - _rate(learning_rate, param) * jnp.where(long, scaled, mean), beta1_pow, beta2_pow, rho, moment1, moment2, None


@rule("lamb_")
def _lamb(op: Operation, param, grad, learning_rate, moment1, moment2, beta1_pow, beta2_pow, master_param=None, skip_update=None):
    _plain(op, master_param)
    old = param, moment1, moment2, beta1_pow, beta2_pow, None
    beta1, beta2, epsilon, decay = (np.asarray(op[n], param.dtype) for n in ("beta1", "beta2", "epsilon", "weight_decay"))
    one, two = (p.reshape(()).astype(param.dtype) for p in (beta1_pow, beta2_pow))
    moment1 = beta1 * moment1 + (1 - beta1) * grad
    moment2 = beta2 * moment2 + (1 - beta2) * grad * grad
    update = moment1 / (1 - one) / (jnp.sqrt(moment2 / (1 - two)) + epsilon) + decay * param
    ratio = np.ones((), param.dtype)
    if op["weight_decay"] > 0 or op["always_adapt"]:
        of_param, of_update = (jnp.sqrt(jnp.sum(v * v)) for v in (param, update))
        usual = (of_param > 0) & (of_update > 0)
        ratio = jnp.where(usual, of_param / jnp.where(usual, of_update, 1), 1)
    return _unless(skip_update, old, (param - _rate(learning_rate, param) * ratio * update, moment1, moment2,
                                      beta1_pow * beta1.astype(beta1_pow.dtype), beta2_pow * beta2.astype(beta2_pow.dtype), None))


@rule("rprop_")
def _rprop(op: Operation, param, grad, prev, learning_rate, master_param, learning_rate_range, etas):
    """learning_rate: of each element, and state."""
    _plain(op, master_param)
    least, most, less, more = (np.asarray(n, param.dtype) for v, what in ((learning_rate_range, "a range of rates"), (etas, "factors"))
                               for n in known(v, what).reshape(-1))
    product = grad * prev
    rates = jnp.clip(learning_rate * jnp.where(product > 0, more, jnp.where(product < 0, less, 1)), least, most).astype(param.dtype)
    grad = jnp.where(product < 0, 0, grad)
    return param - jnp.sign(grad) * rates, grad, rates, None


@rule("asgd_")
def _asgd(op: Operation, **_):
    raise NoRule("its count of steps, which a program of Paddle 3.3 does not carry on")


# ---- averages of parameters -----------------------------------------------------------------------------------------

_MOST_SUMMED = 16384  # parameters, before a sum goes to the next one; no attribute in Paddle


@rule("average_accumulates_")
def _average_accumulates(op: Operation, param, in_sum_1, in_sum_2, in_sum_3, in_num_accumulates, in_old_num_accumulates, in_num_updates):
    """ModelAverage: sums of what the parameters have been, of which the last two windows are kept."""
    updates, count = in_num_updates + 1, in_num_accumulates + 1
    one, two, three = in_sum_1 + param, in_sum_2, in_sum_3
    full = (updates % _MOST_SUMMED == 0).reshape(())
    one, two = jnp.where(full, 0, one), jnp.where(full, two + one, two)
    window = jnp.minimum(op["max_average_window"], (updates.astype(jnp.float32) * np.float32(op["average_window"])).astype(jnp.int64))
    over = (count >= op["min_average_window"]) & (count >= window)
    of = over.reshape(())
    three = jnp.where(of, one + two, three)
    found = {"sum_1": jnp.where(of, 0, one), "sum_2": jnp.where(of, 0, two), "sum_3": three, "num_accumulates": jnp.where(over, 0, count),
             "old_num_accumulates": jnp.where(over, count, in_old_num_accumulates), "num_updates": updates}
    return tuple(found[n.removeprefix("out_")] for n in op.names)


# ---- the scale of mixed precision -----------------------------------------------------------------------------------

@rule("check_finite_and_unscale_")
def _unscale(op: Operation, x, scale):
    found = jnp.any(jnp.stack([jnp.any(~jnp.isfinite(g)) for g in x]))
    return [g / scale.reshape(()).astype(g.dtype) for g in x], found.reshape(1)


@rule("update_loss_scaling_")
def _update_scale(op: Operation, x, found_infinite, prev_loss_scaling, in_good_steps, in_bad_steps, stop_update=None):
    if stop_update is not None and known(stop_update, "whether the scale stays").any():
        raise NoRule("a scale that stays")
    bad, one = found_infinite.reshape(()), np.asarray(1, prev_loss_scaling.dtype)
    larger = prev_loss_scaling * np.asarray(op["incr_ratio"], prev_loss_scaling.dtype)
    smaller = jnp.maximum(prev_loss_scaling * np.asarray(op["decr_ratio"], prev_loss_scaling.dtype), one)
    goods, bads = jnp.where(bad, 0, in_good_steps + 1), jnp.where(bad, in_bad_steps + 1, 0)
    grown = (goods == op["incr_every_n_steps"]) & jnp.isfinite(larger)
    scale = jnp.where(bads == op["decr_every_n_nan_or_inf"], smaller, jnp.where(grown, larger, prev_loss_scaling))
    return ([jnp.where(bad, 0, g) for g in x], scale, jnp.where(goods == op["incr_every_n_steps"], 0, goods).astype(in_good_steps.dtype),
            jnp.where(bads == op["decr_every_n_nan_or_inf"], 0, bads).astype(in_bad_steps.dtype))
