# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All public names of optax: the parts that optimizers are made of, wrappers and schedules beside JAX; losses,
projections and other functions with their derivatives; and a list that says of every name where it is tried."""

import inspect
import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from optax import contrib, losses, projections

import commsched
import test_optax
from sweep_lax import F, N, P, T, U, case, plain
from test_optax import BATCHES, STEPS, check, loss, needs_tools, net
from test_sweep import one_program

STILL = {"w": False, "b": True, "v": False}


def scaled(transformation, rate=1e-2):
    return optax.chain(transformation, optax.scale(-rate))


def largest(tree):
    return jnp.stack([jnp.max(jnp.abs(a)) for a in jax.tree.leaves(tree)]).max()


PARTS = {
    "acprop": scaled(contrib.scale_by_acprop(eps=1e-3)), "adadelta": scaled(optax.scale_by_adadelta(), 3.0), "ademamix": scaled(contrib.scale_by_ademamix()),
    "adamax": scaled(optax.scale_by_adamax()), "adan": scaled(optax.scale_by_adan()), "adopt": scaled(contrib.scale_by_adopt()),
    "amsgrad": scaled(optax.scale_by_amsgrad()), "belief": scaled(optax.scale_by_belief()),
    "cocob": contrib.scale_by_cocob(), "dog": scaled(optax.scale_by_distance_over_gradients(reps_rel=1e-2), 1.0),
    "factored": scaled(optax.scale_by_factored_rms(min_dim_size_to_factor=4)),
    "lbfgs": scaled(optax.scale_by_lbfgs(memory_size=3), 0.1), "learning rate": optax.scale_by_learning_rate(0.1),
    "lion": scaled(optax.scale_by_lion()), "madgrad": contrib.scale_by_madgrad(1e-2),
    "novograd": scaled(optax.scale_by_novograd()), "optimistic": scaled(optax.scale_by_optimistic_gradient(), 0.05),
    "block norm": scaled(optax.scale_by_param_block_norm(), 0.1), "radam": scaled(optax.scale_by_radam(), 0.1),
    "rms": scaled(optax.scale_by_rms()), "rprop": scaled(optax.scale_by_rprop(1e-2), 1.0), "schedule": optax.scale_by_schedule(lambda n: -0.1 / (n + 1)),
    "sign": scaled(optax.scale_by_sign()), "simplified ademamix": scaled(contrib.scale_by_simplified_ademamix(alpha=1.0), 1e-3),
    "sm3": scaled(optax.scale_by_sm3(), 5e-2), "yogi": scaled(optax.scale_by_yogi()), "optimistic adam": optax.optimistic_adam(1e-2),
    "schedule-free sgd": contrib.schedule_free_sgd(0.1, warmup_steps=2), "trace": scaled(optax.trace(0.9, nesterov=True), 0.05),
    "complex, split": contrib.split_real_and_imaginary(optax.sgd(0.1)),
}

WRAPPERS = {
    "apply_if_finite": optax.apply_if_finite(optax.adam(1e-2), 3),
    "freeze": optax.chain(optax.sgd(0.1), optax.freeze(STILL)), "selective": optax.selective_transform(optax.sgd(0.1), freeze_mask=STILL),
    "stateful hyperparameters": optax.inject_stateful_hyperparams(optax.sgd)(learning_rate=optax.linear_schedule(0.1, 0.01, 4)),
    "snapshot": optax.chain(optax.snapshot("largest", largest), optax.sgd(0.1)),
    "multi_transform": optax.multi_transform({"a": optax.adam(1e-2), "b": optax.set_to_zero()}, {"w": "a", "b": "b", "v": "a"}),
    "named_chain": optax.named_chain(("clip", optax.clip(0.02)), ("none", optax.identity()), ("sgd", optax.sgd(0.1))),
    "large ones skipped": optax.MultiSteps(optax.sgd(0.1), 1, should_skip_update_fn=lambda u, n, p: optax.skip_large_updates(u, n, p, 50.0)
                                           ).gradient_transformation(),
    "stateless": optax.stateless(lambda g, p: jax.tree.map(lambda g, p: -0.1 * (g + 0.01 * p), g, p)),
    "stateless, by leaf": optax.stateless_with_tree_map(lambda g, p: -0.1 * g / (1 + jnp.abs(p))),
    "unitwise": optax.chain(optax.stateless_with_tree_map(
        lambda g, p: optax.transforms.unitwise_clip(optax.transforms.unitwise_norm(g), 0.01 + 0 * optax.transforms.unitwise_norm(p), g)), optax.sgd(0.5)),
}

SCHEDULES = {
    "constant": optax.constant_schedule(0.1), "cosine, one cycle": optax.cosine_onecycle_schedule(10, 0.2),
    "interpolated": optax.piecewise_interpolate_schedule("cosine", 0.1, {2: 0.5, 4: 2.0}),
    "restarts": optax.sgdr_schedule([{"init_value": 0.05, "peak_value": 0.2, "decay_steps": 3, "warmup_steps": 1}] * 2),
    "warm-up, constant": optax.warmup_constant_schedule(0.01, 0.1, 3),
    "warm-up, exponential": optax.warmup_exponential_decay_schedule(0.01, 0.1, 2, 2, 0.9),
}

GROUPS = {"parts": PARTS, "wrappers": WRAPPERS, "schedules": {n: optax.sgd(s) for n, s in SCHEDULES.items()}}


@needs_tools
@pytest.mark.parametrize("group", GROUPS)
def test_they_follow_jax(group):
    check(GROUPS[group], 2 if group == "wrappers" else 1, bound=5e-5)  # rounding, of lbfgs most


L, Q = jax.nn.softmax(F), np.full_like(F, 1 / 6)
CLASSES, SIGNS = (N[:, 0] % 6).astype(np.int32), np.sign(F)
PADS = np.zeros((2, 3), np.float32)


def linear_loss(params, inputs, targets):
    return jnp.mean((inputs @ params - targets) ** 2)


FUNCTIONS = {
    "binary_dice_loss": case(losses.binary_dice_loss, F, P), "convex_kl_divergence": case(losses.convex_kl_divergence, F, L),
    "cosine_distance": case(losses.cosine_distance, F, P), "cosine_similarity": case(losses.cosine_similarity, F, P),
    "ctc_loss": case(lambda x: losses.ctc_loss(x, PADS, np.array([[1, 2], [3, 1]]), np.array([[0, 0], [0, 1.0]])), T, rtol=1e-4),
    "ctc_loss_with_forward_probs": plain(lambda x: losses.ctc_loss_with_forward_probs(x, PADS, np.array([[1, 2], [3, 1]]), PADS[:, :2]), T, rtol=1e-4),
    "dice_loss": case(losses.dice_loss, F, P), "generalized_kl_divergence": case(losses.generalized_kl_divergence, F, L),
    "hinge_loss": case(lambda x: losses.hinge_loss(x, SIGNS), F), "huber_loss": case(losses.huber_loss, F, P),
    "kl_divergence": case(losses.kl_divergence, F, L), "kl_divergence_with_log_targets": case(losses.kl_divergence_with_log_targets, F, U),
    "l2_loss": case(losses.l2_loss, F, P), "log_cosh": case(losses.log_cosh, F, P), "squared_error": case(losses.squared_error, F, P),
    "make_fenchel_young_loss": case(lambda x: losses.make_fenchel_young_loss(jax.nn.logsumexp)(x, P), F),
    "multiclass_generalized_dice_loss": case(losses.multiclass_generalized_dice_loss, F, L),
    "multiclass_hinge_loss": case(lambda x: losses.multiclass_hinge_loss(x, CLASSES), F),
    "multiclass_perceptron_loss": case(lambda x: losses.multiclass_perceptron_loss(x, CLASSES), F),
    "multiclass_sparsemax_loss": case(lambda x: losses.multiclass_sparsemax_loss(x, CLASSES), F),
    "ntxent": case(lambda x: losses.ntxent(x, np.array([0, 1, 0, 1])), F, rtol=1e-4), "perceptron_loss": case(lambda x: losses.perceptron_loss(x, SIGNS), F),
    "poly_loss_cross_entropy": case(losses.poly_loss_cross_entropy, F, L), "ranking_softmax_loss": case(losses.ranking_softmax_loss, F, P),
    "safe_softmax_cross_entropy": case(losses.safe_softmax_cross_entropy, F, L), "sigmoid_focal_loss": case(losses.sigmoid_focal_loss, F, L),
    "sigmoid_binary_cross_entropy": case(losses.sigmoid_binary_cross_entropy, F, L), "smooth_labels": case(lambda x: losses.smooth_labels(x, 0.1), F),
    "softmax_cross_entropy": case(losses.softmax_cross_entropy, F, L), "sparsemax_loss": case(lambda x: losses.sparsemax_loss(x, 1.0 * (F > 0)), F),
    "softmax_cross_entropy_with_integer_labels": case(lambda x: losses.softmax_cross_entropy_with_integer_labels(x, CLASSES), F),
    "triplet_margin_loss": case(losses.triplet_margin_loss, F, P, U),
    "projection_box": case(lambda x: projections.projection_box(x, -0.5, 0.5), F), "projection_halfspace": case(lambda x: projections.projection_halfspace(x, P, 0.1), F),
    "projection_hypercube": case(projections.projection_hypercube, F), "projection_hyperplane": case(lambda x: projections.projection_hyperplane(x, P, 0.1), F),
    "projection_l1_ball": case(projections.projection_l1_ball, F), "projection_l1_sphere": case(projections.projection_l1_sphere, F),
    "projection_l2_ball": case(projections.projection_l2_ball, F), "projection_l2_sphere": case(projections.projection_l2_sphere, F),
    "projection_linf_ball": case(projections.projection_linf_ball, F), "projection_non_negative": case(projections.projection_non_negative, F),
    "projection_simplex": case(projections.projection_simplex, F), "projection_vector": case(lambda x: projections.projection_vector(x, P), F),
    "make_perturbed_fun": plain(lambda x: optax.perturbations.make_perturbed_fun(lambda v: jax.nn.one_hot(v.argmax(-1), 6), 20)(jax.random.key(1), x), F, rtol=1e-4),
    "perturbed_normal": plain(lambda x: optax.perturbations.make_perturbed_fun(jnp.sin, 9, noise=optax.perturbations.Normal())(jax.random.key(1), x), F, rtol=1e-4),
    "hvp": plain(lambda p: optax.second_order.hvp(linear_loss, P[0], p, F, F[:, 0]), P[1]), "fisher_diag": plain(lambda p: optax.second_order.fisher_diag(linear_loss, p, F, F[:, 0]), P[1]),
    "hessian_diag": plain(lambda p: optax.second_order.hessian_diag(linear_loss, p, F, F[:, 0]), P[1]),
    "hungarian_algorithm": plain(lambda x: optax.assignment.hungarian_algorithm(x), F), "base_hungarian_algorithm": plain(lambda x: optax.assignment.base_hungarian_algorithm(x[:, :4]), F),
    "scale_gradient": case(lambda x: optax.scale_gradient(jnp.sin(x), 0.5), F), "safe_norm": case(lambda x: optax.safe_norm(x, 1e-3, axis=1), F),
    "safe_root_mean_squares": case(lambda x: optax.safe_root_mean_squares(x, 1e-3), F), "global_norm": case(optax.global_norm, F),
    "incremental_update": case(lambda a, b: optax.incremental_update(a, b, 0.1), F, P), "periodic_update": plain(lambda a, b: optax.periodic_update(a, b, 4, 2), F, P),
    "matrix_inverse_pth_root": plain(lambda x: optax.matrix_inverse_pth_root(x @ x.T + jnp.eye(4), 4), F, rtol=1e-2, atol=1e-3),
    "power_iteration": plain(lambda x: jnp.abs(optax.power_iteration(x @ x.T)[0]), F, rtol=1e-3, atol=1e-3),
    "nnls": plain(lambda x: optax.nnls(x, P[:, 0], 20), F, rtol=1e-3, atol=1e-4),
    "multi_normal": plain(lambda x: optax.multi_normal(x[0], x[1]).log_prob(x), F), "piecewise": plain(lambda x: optax.bias_correction(x, 0.9, 3), F),
    "update_moment": plain(lambda a, b: (optax.update_moment(a, b, 0.9, 2), optax.update_infinity_moment(a, b, 0.9, 1e-8), optax.update_moment_per_elem_norm(a, b, 0.9, 2)), F, P),
    "safe_increment": plain(lambda n: optax.safe_increment(n), N), "safe_int32_increment": plain(lambda n: optax.safe_int32_increment(n), N),
    "per_example_global_norm_clip": plain(lambda g: optax.per_example_global_norm_clip([g], 0.5), F),
    "per_example_layer_norm_clip": plain(lambda g: optax.per_example_layer_norm_clip([g, 2 * g], 0.5), F),
    "microbatch": plain(lambda x: optax.microbatch(lambda x: jnp.sum(x * x), 0, 2)(x), F),
    "micro_vmap": plain(lambda x: optax.microbatching.micro_vmap(jnp.sum, microbatch_size=2)(x), F),
    "reshape_batch_axis": plain(lambda x: optax.microbatching.reshape_batch_axis(x, 2), F),
    "tree_utils": plain(lambda a: [f(a) for f in (optax.tree.norm, optax.tree.sum, optax.tree.max, optax.tree.min)] + [optax.tree.vdot(a, a)], F),
}


@needs_tools
@pytest.mark.parametrize("part", range(2))
def test_functions_and_their_derivatives_are_those_of_jax(part):
    one_program(dict(list(FUNCTIONS.items())[part::2]))


def test_a_state_that_grows_is_refused():
    """monitor begins with no measurements: one call of its update makes the state that a step can carry."""
    optimizer = optax.chain(optax.monitor({"largest": largest, "smooth": optax.measure_with_ema(largest, 0.5)}), optax.sgd(0.1))

    def step(params, state, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value
    start = optimizer.init(net(0))
    with pytest.raises(commsched.FrontEndError, match=r"if output 1 is meant as the new value of argument 'state', it must have its "
                                                      r"structure, but '0.measurements.largest' is in the output only"):
        commsched.transpile(step, net(0), start, *BATCHES[0], batch=(2, 3))
    _, full = optimizer.update(net(1), start, net(0))
    commsched.transpile(step, net(0), full, *BATCHES[0], batch=(2, 3))


def test_private_gradients_are_marked_when_they_are_a_sum():
    """Of differentially_private_aggregate and dpsgd: gradients of each sample are none that workers average."""
    optimizer = contrib.dpsgd(0.1, 1.0, 0.0, seed=0)

    def step(params, state, x, y):
        each = jax.vmap(jax.grad(lambda p, a, b: loss(p, a[None], b[None])), (None, 0, 0))(params, x, y)
        updates, state = optimizer.update(each, state, params)
        return optax.apply_updates(params, updates), state, loss(params, x, y)
    with pytest.raises(commsched.FrontEndError, match="the step has no gradient of a parameter"):
        commsched.transpile(step, net(0), optimizer.init(net(0)), *BATCHES[0], batch=(2, 3), cluster=2)


@needs_tools
def test_marked_private_gradients_follow_jax():
    aggregate = contrib.differentially_private_aggregate(0.5, 0.1, jax.random.key(0))
    private = optax.sgd(0.1)

    def step(params, state, x, y, mean):
        each = jax.vmap(jax.grad(lambda p, a, b: loss(p, a[None], b[None])), (None, 0, 0))(params, x, y)
        grads, own = aggregate.update(each, state["own"], params)
        grads = commsched.mark_gradients(mean(grads), params)
        updates, opt = private.update(grads, state["opt"], params)
        return optax.apply_updates(params, updates), {"own": own, "opt": opt}, mean(loss(params, x, y))
    state = {"own": aggregate.init(net(0)), "opt": private.init(net(0))}
    wanted = test_optax.train_jax(step, 2, net(0), state, BATCHES)
    found = test_optax.train(step, 2, net(0), state, BATCHES)
    assert max(test_optax.errors(net(0), wanted[0], found[0]).values()) < 1e-5 and len(BATCHES) == STEPS


# Names that nothing computes with: types and what makes them, and functions of trees and states outside of a step.
TOOLS = {"init_empty_state", "tree_map_params", "value_and_grad_from_state", "schedule_free_eval_params", "micro_grad"}
# What is refused, by test_optax.REFUSED and above, under another name or as part of it.
REFUSED = {"scale_by_polyak": "polyak_sgd", "scale_by_zoom_linesearch": "lbfgs, with a line search", "scale_by_galore": "galore",
           "hutchinson_estimator_diag_hessian": "sophia", "scale_by_muon": "muon"}


def test_every_public_name_is_tried():
    text = "".join(pathlib.Path(file).read_text() for file in (__file__, test_optax.__file__))
    missing = []
    for module in (optax, contrib, optax.transforms, optax.schedules, losses, projections, optax.perturbations, optax.second_order,
                   optax.assignment, optax.microbatching):
        for name, value in vars(module).items():
            if name.startswith("_") or not inspect.isfunction(value) or name in TOOLS | set(REFUSED):
                continue
            if not re.search(rf"\b{name}\b", text):
                missing.append(f"{module.__name__}.{name}")
    assert not missing, missing
    assert all(re.search(rf"\b{name}\b", text) for name in REFUSED.values())
