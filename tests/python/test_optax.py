# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The optimizers and transformations of optax, each on a small net of its own, beside JAX.

Many nets are trained by one step, one for each optimizer, so that few steps are compiled.
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from optax import contrib

import commsched
from sharded import distance, errors, train, train_jax

needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
STEPS = 6

OPTIMIZERS = {
    "adabelief": optax.adabelief(1e-2),
    "adadelta": optax.adadelta(3.0),
    "adafactor": optax.adafactor(3e-2, min_dim_size_to_factor=4),
    "adafactor, not factored": optax.adafactor(3e-2, factored=False, momentum=0.9, weight_decay_rate=1e-3),
    "adagrad": optax.adagrad(5e-2),
    "adam": optax.adam(1e-2),
    "adam, nesterov": optax.adam(1e-2, nesterov=True),
    "adamax": optax.adamax(1e-2),
    "adamaxw": optax.adamaxw(1e-2, weight_decay=0.1),
    "adamw": optax.adamw(1e-2, weight_decay=0.1, mask=lambda p: jax.tree.map(lambda a: a.ndim > 1, p)),
    "adan": optax.adan(1e-2),
    "amsgrad": optax.amsgrad(1e-2),
    "fromage": optax.fromage(1e-2),
    "lamb": optax.lamb(1e-2, weight_decay=0.01),
    "lars": optax.lars(0.5, weight_decay=1e-3, trust_coefficient=0.1),
    "lbfgs": optax.lbfgs(0.1, memory_size=3, linesearch=None),
    "lion": optax.lion(1e-2),
    "nadam": optax.nadam(1e-2),
    "nadamw": optax.nadamw(1e-2),
    "novograd": optax.novograd(1e-2),
    "optimistic_gradient_descent": optax.optimistic_gradient_descent(0.05),
    "optimistic_adam_v2": optax.optimistic_adam_v2(1e-2),
    "radam": optax.radam(1e-1),
    "rmsprop": optax.rmsprop(1e-2),
    "rmsprop, centered": optax.rmsprop(1e-2, centered=True, momentum=0.9),
    "rprop": optax.rprop(1e-2),
    "sgd": optax.sgd(0.1),
    "sgd, momentum": optax.sgd(0.05, momentum=0.9),
    "sgd, nesterov": optax.sgd(0.05, momentum=0.9, nesterov=True),
    "sign_sgd": optax.sign_sgd(1e-2),
    "signum": optax.signum(1e-2),
    "sm3": optax.sm3(5e-2),
    "yogi": optax.yogi(1e-2),
}

CONTRIBUTED = {
    "acprop": contrib.acprop(1e-2, eps=1e-3),
    "ademamix": contrib.ademamix(1e-2),
    "adopt": contrib.adopt(1e-2),
    "cocob": contrib.cocob(),
    "dadapt_adamw": contrib.dadapt_adamw(1.0, estim_lr0=1e-2),
    "dog": contrib.dog(1.0, init_step=("learning_rate", 1e-2)),
    "dowg": contrib.dowg(1.0, init_estim_sq_dist=1e-2),
    "madgrad": contrib.madgrad(1e-2),
    "mechanize": contrib.mechanize(optax.sgd(0.1), s_init=1e-2),
    "muon": contrib.muon(2e-2),
    "prodigy": contrib.prodigy(1.0, estim_lr0=1e-2),
    "sam": contrib.sam(optax.sgd(0.1), optax.chain(contrib.normalize(), optax.sgd(0.05))),
    "schedule_free": contrib.schedule_free(optax.sgd(0.1), 0.1),
    "schedule_free_adamw": contrib.schedule_free_adamw(1e-2, warmup_steps=3),
    "simplified_ademamix": contrib.simplified_ademamix(1e-3, alpha=1.0),
}

WARM_UP = optax.warmup_cosine_decay_schedule(0.0, 0.2, 2, 10)
JOINED = optax.join_schedules([optax.linear_schedule(0.05, 0.1, 2), optax.exponential_decay(0.1, 2, 0.9, staircase=True),
                               optax.piecewise_constant_schedule(0.1, {1: 0.5})], [2, 4])

TRANSFORMATIONS = {
    "adaptive_grad_clip": optax.chain(optax.adaptive_grad_clip(0.05), optax.sgd(0.5)),
    "add_decayed_weights": optax.chain(optax.add_decayed_weights(0.1), optax.sgd(0.1)),
    "apply_every": optax.chain(optax.apply_every(2), optax.sgd(0.1)),
    "centralize": optax.chain(optax.centralize(), optax.sgd(0.1)),
    "clip": optax.chain(optax.clip(0.02), optax.sgd(0.1)),
    "clip_by_block_rms": optax.chain(optax.clip_by_block_rms(0.02), optax.sgd(0.5)),
    "clip_by_global_norm": optax.chain(optax.clip_by_global_norm(0.1), optax.adam(1e-2)),
    "conditionally_mask": optax.conditionally_mask(optax.sgd(0.1), lambda step: step % 2 == 0),
    "conditionally_transform": optax.chain(optax.conditionally_transform(optax.scale(0.5), lambda step: step > 2),
                                           optax.sgd(0.1)),
    "ema": optax.chain(optax.ema(0.9), optax.sgd(0.1)),
    "flatten": optax.flatten(optax.adam(1e-2)),
    "inject_hyperparams": optax.inject_hyperparams(optax.adam)(learning_rate=optax.cosine_decay_schedule(2e-2, 20)),
    "keep_params_nonnegative": optax.chain(optax.sgd(0.1), optax.keep_params_nonnegative()),
    "lookahead": optax.lookahead(optax.sgd(0.1), sync_period=2, slow_step_size=0.5),
    "masked": optax.masked(optax.sgd(0.1), {"w": True, "b": False, "v": True}),
    "MultiSteps": optax.MultiSteps(optax.adam(1e-2), 2).gradient_transformation(),
    "normalize_by_update_norm": optax.chain(optax.normalize_by_update_norm(), optax.sgd(0.1)),
    "partition": optax.partition({"a": optax.adam(1e-2), "b": optax.sgd(0.1)}, {"w": "a", "b": "b", "v": "a"}),
    "scale_by_param_block_rms": optax.chain(optax.scale_by_param_block_rms(), optax.sgd(0.2)),
    "scale_by_rss": optax.chain(optax.scale_by_rss(), optax.sgd(0.05)),
    "scale_by_stddev": optax.chain(optax.scale_by_stddev(), optax.sgd(1e-2)),
    "schedules, joined": optax.sgd(JOINED),
    "schedules, polynomial": optax.adam(optax.polynomial_schedule(2e-2, 1e-3, 2, 5)),
    "schedules, one cycle": optax.sgd(optax.linear_onecycle_schedule(10, 0.2), momentum=0.9),
    "schedules, warm-up": optax.sgd(WARM_UP, momentum=0.9),
    "skip_not_finite": optax.MultiSteps(optax.sgd(0.1), 1, should_skip_update_fn=optax.skip_not_finite
                                        ).gradient_transformation(),
    "trust ratio": optax.chain(optax.scale_by_adam(), optax.scale_by_trust_ratio(), optax.scale(-1e-2)),
    "zero_nans": optax.chain(optax.zero_nans(), optax.sgd(0.1)),
}

RANDOM = {
    "add_noise": optax.chain(optax.add_noise(0.01, 0.55, key=jax.random.key(7)), optax.sgd(0.1)),
    "noisy_sgd": optax.noisy_sgd(0.1, key=jax.random.key(7)),
}

GROUPS = {"optimizers": OPTIMIZERS, "contributed": CONTRIBUTED, "transformations": TRANSFORMATIONS,
          "random": RANDOM}


def normal(seed, *shape, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def net(seed):
    return {"w": normal(seed, 6, 12, scale=0.4), "b": normal(seed + 1, 12, scale=0.4), "v": normal(seed + 2, 12, 4, scale=0.4)}


def loss(p, x, y):
    return ((jnp.tanh(x @ p["w"] + p["b"]) @ p["v"] - y) ** 2).mean()


BATCHES = [(normal(i, 8, 6), normal(100 + i, 8, 4)) for i in range(STEPS)]


def fast(params):
    """What is differentiated: of lookahead the fast parameters alone."""
    return {name: p.fast if isinstance(p, optax.LookaheadParams) else p for name, p in params.items()}


def start(group):
    params = {name: net(3 * i) for i, name in enumerate(group)}
    if "lookahead" in params:
        params["lookahead"] = optax.LookaheadParams.init_synced(params["lookahead"])
    return params, {name: group[name].init(p) for name, p in params.items()}


def step_of(group):
    def step(params, state, x, y, *, mean):
        value, grads = mean(jax.value_and_grad(lambda p: sum(loss(q, x, y) for q in p.values()))(fast(params)))
        new_params, new_state = {}, {}
        for name, optimizer in group.items():
            updates, new_state[name] = optimizer.update(grads[name], state[name], params[name])
            new_params[name] = optax.apply_updates(params[name], updates)
        return new_params, new_state, mean(value)
    return step


def plain(leaf):
    """A leaf as numbers, a typed random key too."""
    typed = jax.dtypes.issubdtype(getattr(leaf, "dtype", np.float32), jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if typed else leaf)


def check(group, workers, bound=1e-5):
    params, state = start(group)
    step = step_of(group)
    wanted, wanted_state, wanted_losses = train_jax(step, workers, params, state, BATCHES)
    found, found_state, losses = train(step, workers, params, state, BATCHES)
    np.testing.assert_allclose(losses, wanted_losses, rtol=1e-5)
    wrong = {}
    for name in group:
        off = errors(params[name], wanted[name], found[name])
        wrong |= {name + path: error for path, error in off.items() if not error < bound}
        # Every optimizer is to have done something worth comparing.
        moved = max(distance(a, b) / distance(b, 0 * b) for a, b in zip(
            jax.tree.leaves(wanted[name]), jax.tree.leaves(params[name])))
        assert moved > 1e-3, f"{name} moved its parameters by {moved}"
        for (path, a), b in zip(jax.tree_util.tree_flatten_with_path(wanted_state[name])[0],
                                jax.tree.leaves(found_state[name]), strict=True):
            a, b = plain(a), plain(b)
            size = distance(a, 0 * a)
            error = distance(a, b) / size if size else distance(a, b)
            if not error < bound:
                wrong[name + ", state" + jax.tree_util.keystr(path)] = error
    assert not wrong, wrong


def test_there_are_at_least_45():
    assert sum(map(len, GROUPS.values())) >= 45


@needs_tools
@pytest.mark.parametrize("group", GROUPS)
def test_optimizers_follow_jax(group):
    check(GROUPS[group], 1)


@needs_tools
@pytest.mark.parametrize("names", [["sgd, momentum", "adam", "lamb", "adafactor", "lbfgs", "sm3"],
                                   ["muon", "schedule_free", "clip_by_global_norm", "MultiSteps", "lookahead"]])
def test_optimizers_follow_jax_on_two_workers(names):
    every = {name: optimizer for group in GROUPS.values() for name, optimizer in group.items()}
    check({name: every[name] for name in names}, 2)


DRIFT = "workers would drift apart"

# What cannot be honoured, and what is said. A value that is a mean over the workers is made of gradients, metrics and
# state only: an update that uses the loss of the batch itself would be another one on every worker.
REFUSED = {
    "polyak_sgd, of the loss": (optax.polyak_sgd(0.1), DRIFT),
    "momo, of the loss": (contrib.momo(0.1), DRIFT),
    "momo_adam, of the loss": (contrib.momo_adam(1e-2), DRIFT),
    "lbfgs, with a line search in the loss": (optax.lbfgs(), DRIFT),
    "backtracking, in the loss": (optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(5)), DRIFT),
    "reduce_on_plateau, of the loss": (optax.chain(optax.sgd(0.1), contrib.reduce_on_plateau()), DRIFT),
    "sophia, of second derivatives of the loss": (contrib.sophia(1e-2), DRIFT),
    "galore, by a singular value decomposition": (contrib.galore(1e-2, rank=2), "custom_call"),
}


@needs_tools
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_honoured_is_refused(name):
    optimizer, reason = REFUSED[name]
    optimizer = optax.with_extra_args_support(optimizer)

    def step(params, state, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        function = {"obj_fn" if "sophia" in name else "value_fn": lambda p: loss(p, x, y)}
        updates, state = optimizer.update(grads, state, params, value=value, grad=grads, **function)
        return optax.apply_updates(params, updates), state, value
    params = net(0)
    with pytest.raises(commsched.CommSchedError, match=reason):
        commsched.transpile(step, params, optimizer.init(params), *BATCHES[0], batch=(2, 3), cluster=2)
