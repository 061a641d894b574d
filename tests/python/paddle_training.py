# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training by PaddlePaddle's own executor, as several workers do it, to compare with.

One program has the network once for each worker's part of the batch, and the mean of their losses: its gradients are the
means of the workers'. Running statistics are means of what a program without backward pass makes of each part.
"""

import dataclasses
from typing import Any

import numpy as np
import paddle

import commsched.paddle

paddle.enable_static()


@dataclasses.dataclass
class Built:
    main: Any
    startup: Any
    loss: Any
    forward: Any  # without backward pass
    optimizer: Any
    clip: Any = None


def build(make, loss_of, inputs, optimizer_of, parts=1, dtype="float32", value=None):
    """make() -> network, or parts of it; loss_of(network, *inputs) -> loss. inputs: name -> (shape of one sample, dtype);
    optimizer_of(parameters) -> optimizer; value: a bound that gradients are clipped to."""
    saved = paddle.get_default_dtype()
    paddle.set_default_dtype(dtype)
    main, startup = paddle.static.Program(), paddle.static.Program()
    try:
        with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
            data = [[paddle.static.data(n if parts == 1 else f"{n}_{w}", [None, *shape], kind) for n, (shape, kind) in inputs.items()]
                    for w in range(parts)]
            net = make()
            losses = [loss_of(net, *own) for own in data]
            loss = losses[0] if parts == 1 else sum(losses[1:], losses[0]) / parts
            forward = main.clone()
            optimizer = optimizer_of(net.parameters())
            if value is None:
                optimizer.minimize(loss)
            else:  # ClipGradByValue is not there for programs
                optimizer.apply_gradients([(p, paddle.clip(g, -value, value)) for p, g in optimizer.backward(loss)])
    finally:
        paddle.set_default_dtype(saved)
    return Built(main, startup, loss, forward, optimizer)


def values_of(built, scope):
    """By name: all persistable variables."""
    return {n: np.array(scope.find_var(n).get_tensor()) for n in names_of(built)}


def names_of(built):
    found = []
    for op in built.main.global_block().ops:
        attributes = op.attrs()
        if op.name() == "builtin.parameter":
            found.append(attributes["parameter_name"])
        elif op.name() == "pd_op.data" and np.any(attributes.get("persistable", False)):
            found.append(attributes["name"])
    return found


def trainable(built):
    """How many parameters are to be trained."""
    return sum(bool(np.all(op.attrs().get("trainable", False))) for op in built.main.global_block().ops if op.name() == "builtin.parameter")


def start(built, seed):
    """A scope with values drawn from the seed."""
    scope, executor = paddle.static.Scope(), paddle.static.Executor(paddle.CPUPlace())
    paddle.seed(seed)
    with paddle.static.scope_guard(scope):
        executor.run(built.startup)
    return scope


def set_values(scope, found):
    for name, value in found.items():
        scope.find_var(name).get_tensor().set(np.ascontiguousarray(value).reshape(value.shape), paddle.CPUPlace())


def statistics(built, names):
    """Of names, those of running statistics."""
    return [n for n in names if n.endswith((".w_1", ".w_2")) and "norm" in n]


def train(single, joined, first, batches, workers, after_step=None):
    """By the executor; first: values by name. Returns losses and the last values. single, joined: built for one part, and
    for so many as there are workers."""
    scope, apart = start(joined, 0), start(single, 0)
    set_values(scope, first)
    executor, losses = paddle.static.Executor(paddle.CPUPlace()), []
    running = statistics(single, first)
    for batch in batches:
        parts = [{n: a[w * len(a) // workers:(w + 1) * len(a) // workers] for n, a in batch.items()} for w in range(workers)]
        before = {n: np.array(scope.find_var(n).get_tensor()) for n in first}
        of = []
        if running and workers > 1:
            for part in parts:
                set_values(apart, before)
                with paddle.static.scope_guard(apart):
                    executor.run(single.forward, feed=part)
                of.append({n: np.array(apart.find_var(n).get_tensor()) for n in running})
        feed = batch if workers == 1 else {f"{n}_{w}": a for w, part in enumerate(parts) for n, a in part.items()}
        with paddle.static.scope_guard(scope):
            losses.append(float(executor.run(joined.main, feed=feed, fetch_list=[joined.loss])[0]))
        if of:
            set_values(scope, {n: np.mean([o[n] for o in of], 0, dtype=before[n].dtype) for n in running})
        if after_step is not None:
            after_step()
    return losses, values_of(joined, scope)


def distance(a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    assert a.shape == b.shape, (a.shape, b.shape)
    assert np.isfinite(a).all() and np.isfinite(b).all()
    return float(np.max(np.abs(a - b), initial=0.0))


def compare(make, loss_of, inputs, optimizer_of, batches, workers=1, seed=0, dtype="float32", scheduled=False, value=None,
            **options):
    """(worst distance by name, how far parameters moved, the program, losses of both)."""
    single = build(make, loss_of, inputs, optimizer_of, 1, dtype, value)
    joined = single if workers == 1 else build(make, loss_of, inputs, optimizer_of, workers, dtype, value)
    scope = start(single, seed)
    first = values_of(single, scope)
    program = commsched.paddle.transpile(single.main, batches[0], scope=scope, trainers=workers, **options)
    scheduler = single.main.lr_scheduler if scheduled else None
    own = joined.main.lr_scheduler if scheduled else None
    mine = program.run(batches, scheduler=scheduler)
    if own is not None and own is scheduler:  # the same program: begin again
        own.step(0)
    losses, wanted = train(single, joined, first, batches, workers, own.step if own is not None else None)
    found = program.slots()
    rates = program._description(program.workers).rates
    apart = {n: distance(found[n], wanted[n]) for n in wanted if n not in rates}
    moved = max(distance(found[n], first[n]) for n in program.params)
    return apart, moved, program, ([m["loss"] for m in mine], losses)


def assert_same(apart, moved, program, losses, bound):
    """Of what compare() has returned: that it moved, and is nowhere farther apart than the bound."""
    worst = max(apart, key=apart.get)
    assert apart[worst] <= bound, (worst, apart[worst], moved)
    assert moved >= 1e-4
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    text = program.mlir(0)
    assert text.count("= cs.gradient ") == len(program.params)
    program.close()
