# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of PaddlePaddle: rates, values back into the scope, dropout, tables, the names of Paddle's transpiler, and what
is refused."""
import importlib

import pytest

pytest.importorskip("paddle", reason="needs PaddlePaddle (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
import paddle  # noqa: E402
import paddle_models as models  # noqa: E402
import paddle_training as training  # noqa: E402
from paddle import nn  # noqa: E402
from paddle.nn import functional as F  # noqa: E402

import commsched  # noqa: E402
import commsched.paddle  # noqa: E402

INPUTS = {"x": ((4,), "float32"), "y": ((1,), "int64")}


def batches(seed, steps, samples=8):
    random = np.random.default_rng(seed)
    return [{"x": random.standard_normal((samples, 4), np.float32), "y": random.integers(0, 3, (samples, 1))} for _ in range(steps)]


def small():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))


def built(optimizer=None, make=small, loss=models.cross_entropy, inputs=INPUTS):
    return training.build(make, loss, inputs, optimizer or models.optimizer("momentum"))


def program_of(one, scope=None, **options):
    return commsched.paddle.transpile(one.main, options.pop("example", batches(0, 1)[0]), scope=scope or training.start(one, 0), **options)


def stepping(kind):
    scheduler = {"step": lambda: paddle.optimizer.lr.StepDecay(0.1, 2, 0.1), "cosine": lambda: paddle.optimizer.lr.CosineAnnealingDecay(0.1, 5),
                 "warmup": lambda: paddle.optimizer.lr.LinearWarmup(0.1, 3, 0.0, 0.1)}[kind]
    return lambda p: paddle.optimizer.AdamW(scheduler(), parameters=p, epsilon=1e-6)


@pytest.mark.parametrize("kind", ["step", "cosine", "warmup"])
@pytest.mark.parametrize("servers", [0, 2])
def test_schedulers(kind, servers):
    apart, moved, program, losses = training.compare(small, models.cross_entropy, INPUTS, stepping(kind), batches(1, 6), workers=2, scheduled=True,
                                                     pservers=servers)
    assert max(apart.values()) <= 2e-6 and moved > 0.05
    np.testing.assert_allclose(*losses, rtol=1e-4)


ALL_SCHEDULERS = {
    "NoamDecay": (4, 3, 2.0), "PiecewiseDecay": ([1, 3], [0.1, 0.02, 0.05]), "NaturalExpDecay": (0.1, 0.5), "InverseTimeDecay": (0.1, 0.5),
    "PolynomialDecay": (0.1, 4), "LinearWarmup": (0.1, 3, 0.0, 0.1), "ExponentialDecay": (0.1, 0.5), "MultiStepDecay": (0.1, [1, 3]), "StepDecay": (0.1, 2),
    "LambdaDecay": (0.1, lambda step: 1 / (1 + step)), "CosineAnnealingDecay": (0.1, 3), "MultiplicativeDecay": (0.1, lambda step: 0.7),
    "OneCycleLR": (0.1, 5), "CyclicLR": (0.01, 0.1, 2), "LinearLR": (0.1, 3), "CosineAnnealingWarmRestarts": (0.1, 2)}


def test_all_schedulers():
    """Of one weight with a gradient of 1, the sum of the rates is what it has gone; ReduceOnPlateau is refused elsewhere."""
    lr = paddle.optimizer.lr
    assert set(ALL_SCHEDULERS) | {"LRScheduler", "ReduceOnPlateau"} == set(lr.__all__)
    for name, arguments in ALL_SCHEDULERS.items():
        main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
        with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [None, 1])
            weight = paddle.static.create_parameter([1], "float32", name="w", default_initializer=nn.initializer.Constant(0.0))
            scheduler = getattr(lr, name)(*arguments)
            paddle.optimizer.SGD(scheduler).minimize(paddle.mean(x * weight))
        with paddle.static.scope_guard(scope):
            paddle.static.Executor(paddle.CPUPlace()).run(startup)
        with commsched.paddle.transpile(main, {"x": np.ones((2, 1), np.float32)}, scope=scope) as program:
            program.run([{"x": np.ones((2, 1), np.float32)}] * 4, scheduler=scheduler)
            again = getattr(lr, name)(*arguments)
            rates = [(again(), again.step())[0] for _ in range(4)]
            np.testing.assert_allclose(-program.params["w"], sum(rates), rtol=1e-5, err_msg=name)
            assert len(set(rates)) > 1, name


def test_rates_of_parameters_and_regularisation():
    """ParamAttr(learning_rate=, regularizer=), L1 and L2, beside each other."""
    def make():
        attribute = paddle.ParamAttr(learning_rate=0.1, regularizer=paddle.regularizer.L2Decay(0.3))
        return nn.Sequential(nn.Linear(4, 6, weight_attr=attribute), nn.Tanh(), nn.Linear(6, 3))
    for optimizer in (lambda p: paddle.optimizer.Momentum(0.5, 0.9, parameters=p, weight_decay=paddle.regularizer.L1Decay(0.02)),
                      lambda p: paddle.optimizer.SGD(paddle.optimizer.lr.StepDecay(0.5, 1, 0.5), parameters=p)):
        scheduled = not isinstance(optimizer(small().parameters())._learning_rate, float)
        training.assert_same(*training.compare(make, models.cross_entropy, INPUTS, optimizer, batches(6, 3), workers=2, scheduled=scheduled), bound=2e-6)


class Scaled:
    """An optimizer with a loss scale, as programs have it."""

    def __init__(self, optimizer, **how):
        self.optimizer, self.scaler = optimizer, paddle.amp.GradScaler(**how)

    def minimize(self, loss):
        return self.scaler.minimize(paddle.static.amp.decorate(self.optimizer), self.scaler.scale(loss))


@pytest.fixture
def half_state():
    """Of f32 and bf16, GradScaler does nothing."""
    state = importlib.import_module("paddle.amp.auto_cast").amp_global_state()
    saved, state.amp_dtype = state.amp_dtype, "float16"
    yield
    state.amp_dtype = saved


@pytest.mark.parametrize("scale", [1024.0, 3e38], ids=["grows", "overflows"])
@pytest.mark.parametrize("name", ["adam", "momentum"])
def test_loss_scaling(half_state, scale, name):
    """In f32, so that Paddle's executor can be asked: steps with gradients that are not finite change nothing but the scale. That
    each worker has such gradients, one program for all need not have, whose losses are smaller."""
    how = dict(init_loss_scaling=scale, incr_every_n_steps=2, decr_every_n_nan_or_inf=1)
    apart, moved, program, losses = training.compare(
        small, models.cross_entropy, INPUTS, lambda p: Scaled(models.optimizer(name)(p), **how), [{**b, "x": 5 * b["x"]} for b in batches(2, 6)],
        workers=2 if scale < 1e38 else 1)
    (found,) = [n for n in program.slots() if n.startswith("loss_scaling")]
    assert program.slots()[found] != scale and apart.pop(found) == 0.0
    training.assert_same(apart, moved, program, losses, bound=5e-6)


def test_loss_scaling_with_servers_is_refused(half_state):
    one = built(lambda p: Scaled(models.optimizer("adam")(p), init_loss_scaling=1024.0))
    with pytest.raises(commsched.RefusedProgram, match='reads state "loss_scaling_0", which depends on gradients'):
        program_of(one, pservers=2)


def test_auto_cast():
    """bf16 of level O1: Paddle's executor has no such gradients on CPUs. Parameters stay f32, and are near those in f32."""
    def mixed(net, x, y):
        with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
            return F.cross_entropy(net(x), y)
    given = batches(8, 5)
    plain, half = (program_of(built(models.optimizer("momentum"), loss=loss), example=given[0], trainers=2) for loss in (models.cross_entropy, mixed))
    wanted, found = plain.run(given), half.run(given)
    assert "bf16" in half.mlir(0) and all(v.dtype == np.float32 for v in half.params.values())
    apart = max(training.distance(half.params[n], v) for n, v in plain.params.items())
    assert 0 < apart < 0.02, apart
    np.testing.assert_allclose([m["loss"] for m in found], [m["loss"] for m in wanted], rtol=0.02)
    half.check(batches(9, 1))


def test_saved_by_paddle(tmp_path):
    """What paddle.static.save has written goes on here, and what has come of it goes back."""
    one, given = built(models.optimizer("adam")), batches(5, 3)
    scope, other, executor = training.start(one, 3), training.start(one, 4), paddle.static.Executor(paddle.CPUPlace())
    with paddle.static.scope_guard(scope):
        executor.run(one.main, feed=given[0])
        paddle.static.save(one.main, str(tmp_path / "saved"))
        for batch in given[1:]:
            executor.run(one.main, feed=batch)
    with paddle.static.scope_guard(other):
        paddle.static.load(one.main, str(tmp_path / "saved"), executor)
        program = commsched.paddle.transpile(one.main, given[0], trainers=2)
        program.run(given[1:])
        program.load_into()
        paddle.static.save(one.main, str(tmp_path / "again"))
    wanted = training.values_of(one, scope)
    assert max(training.distance(wanted[n], v) for n, v in program.slots().items()) < 1e-6
    state = paddle.static.load_program_state(str(tmp_path / "again"))
    assert all(state[n].tobytes() == v.tobytes() for n, v in program.params.items())


def test_a_rate_in_the_scope_counts():
    one = built(models.optimizer("sgd", rate=0.5))
    scope = training.start(one, 0)
    program = program_of(one, scope)
    (name,) = program._description(1).rates
    training.set_values(scope, {name: np.asarray(0.0, np.float32)})
    before = program.params
    program.step(batches(0, 1)[0])
    assert all((before[n] == v).all() for n, v in program.params.items())


def test_a_scheduler_of_another_program_is_refused():
    program = program_of(built(stepping("step")))
    with pytest.raises(commsched.FrontEndError, match="scheduler must be that of the program"):
        program.run(batches(0, 1), scheduler=paddle.optimizer.lr.StepDecay(0.1, 2))


def test_values_go_back_bit_for_bit_and_training_goes_on():
    one = built(models.optimizer("adamw"))
    scope, given = training.start(one, 3), batches(5, 4)
    program = program_of(one, scope)
    untouched = training.values_of(one, scope)
    program.run(given[:2])
    assert all((untouched[n] == v).all() for n, v in training.values_of(one, scope).items())
    program.load_into()
    assert all(v.tobytes() == program.slots()[n].tobytes() for n, v in training.values_of(one, scope).items())
    program.run(given[2:])
    executor = paddle.static.Executor(paddle.CPUPlace())
    with paddle.static.scope_guard(scope):
        for batch in given[2:]:
            executor.run(one.main, feed=batch)
    assert max(training.distance(v, program.slots()[n]) for n, v in training.values_of(one, scope).items()) < 1e-6


def test_load_into_another_scope_is_all_or_nothing():
    one = built()
    program = program_of(one)
    program.run(batches(0, 1))
    other = training.start(one, 9)
    names = sorted(program.params)
    training.set_values(other, {names[-1]: np.zeros((2, 2), np.float32)})
    before = training.values_of(one, other)
    with pytest.raises(commsched.FrontEndError, match=f"variable '{names[-1]}' of the scope must match"):
        program.load_into(other)
    assert all((before[n] == v).all() for n, v in training.values_of(one, other).items())


def test_the_program_is_only_read():
    one = built()
    before = str(one.main)
    program_of(one, trainers=2).run(batches(0, 1))
    assert str(one.main) == before


def test_dropout_draws_in_every_step_and_worker():
    def make():
        return nn.Sequential(nn.Linear(4, 400), nn.Dropout(0.25), nn.Linear(400, 3))
    one = built(models.optimizer("sgd", rate=0.0), make)
    same = {n: np.concatenate([a[:4], a[:4]]) for n, a in batches(0, 1)[0].items()}
    found = {}
    for workers in (1, 2):
        program = program_of(one, trainers=workers, seed=3)
        found[workers] = [m["loss"] for m in program.run([same] * 4)]
        assert len(set(found[workers])) == 4
        again = program_of(one, trainers=workers, seed=3)
        assert [m["loss"] for m in again.run([same] * 4)] == found[workers]
    assert found[1] != found[2]
    # Both workers have the same rows, of which the first one draws what a worker on its own does: so the other draws others.
    half = {n: v[:4] for n, v in same.items()}
    alone = [m["loss"] for m in program_of(one, example=half, seed=3).run([half] * 4)]
    assert not np.isclose(found[2], alone, rtol=1e-5).any()
    off = built(models.optimizer("sgd", rate=0.0), lambda: nn.Sequential(nn.Linear(4, 400), nn.Dropout(0.0), nn.Linear(400, 3)))
    exact = program_of(off).step(same)["loss"]
    assert abs(np.mean(found[1]) - exact) < 0.2


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["sgd", "momentum", "adam"])
def test_tables(sparse, name):
    """Row-sparse: the rows that no batch reads stay as they are, and with SGD all others are as without."""
    def make():
        return nn.Sequential(nn.Embedding(30, 4, padding_idx=2, sparse=sparse), nn.Flatten(), nn.Linear(12, 3))
    inputs = {"x": ((3,), "int64"), "y": ((1,), "int64")}
    random = np.random.default_rng(7)
    given = [{"x": random.integers(0, 20, (8, 3)), "y": random.integers(0, 3, (8, 1))} for _ in range(3)]
    apart, moved, program, _ = training.compare(make, models.cross_entropy, inputs, models.optimizer(name), given, workers=2)
    assert max(apart.values()) <= 1e-6 and moved > 1e-4
    (table,) = [n for n in program.params if n.startswith("embedding")]
    strategy = commsched.ParameterServers(servers=2, row_sparse=[table], min_block_elements=8)
    one = built(models.optimizer(name), make, inputs=inputs)
    rows = program_of(one, example=given[0], trainers=2, strategy=strategy)
    before = rows.params[table]
    rows.run(given)
    assert (rows.params[table][20:] == before[20:]).all() and (rows.params[table][:20] != before[:20]).any()
    assert "cs.fetch_rows" in rows.get_trainer_program() and "cs.update_rows" in rows.get_pserver_program(1)


@pytest.mark.parametrize("optimizer", [
    lambda p: paddle.optimizer.Adam(1e-3, parameters=p, lazy_mode=True), models.optimizer("rmsprop")], ids=["lazy Adam", "RMSProp"])
def test_sparse_and_lazy_are_as_in_paddle(optimizer):
    """In a program they change nothing: gradients of tables are dense."""
    def make():
        return nn.Sequential(nn.Embedding(30, 4, sparse=True), nn.Flatten(), nn.Linear(12, 3))
    random = np.random.default_rng(11)
    given = [{"x": random.integers(0, 20, (8, 3)), "y": random.integers(0, 3, (8, 1))} for _ in range(4)]
    inputs = {"x": ((3,), "int64"), "y": ((1,), "int64")}
    apart, moved, _, _ = training.compare(make, models.cross_entropy, inputs, optimizer, given, workers=2)
    assert max(apart.values()) <= 1e-5 and moved > 1e-4


def test_names_of_the_transpiler():
    one = built()
    trainer = program_of(one, trainers=2, pservers=2, slice_var_up=True, min_block_size=4, split_method="RoundRobin", sync_mode=True)
    assert trainer.strategy == commsched.ParameterServers(servers=2, slice=True, min_block_elements=4, placement="round-robin")
    assert trainer.get_trainer_program().startswith("  func.func @step(")
    servers = [trainer.get_pserver_program(k) for k in range(2)]
    assert all(s.startswith(f"  func.func @server.{k}(") for k, s in enumerate(servers))
    assert all("cs.update_block" in s or "cs.send_gradient" in s or "linear_0.w_0" in s for s in servers)
    asynchronous = program_of(one, trainers=2, pservers=1, sync_mode=False, slice_var_up=False)
    assert (asynchronous.strategy.mode, asynchronous.strategy.slice) == ("async", False)
    for step in asynchronous.run(batches(0, 3)):
        assert np.isfinite(step["loss"])
    with pytest.raises(commsched.FrontEndError, match="server must be an integer of 0 to 1, got: 2"):
        trainer.get_pserver_program(2)
    with pytest.raises(commsched.FrontEndError, match="must have parameter servers"):
        program_of(one, trainers=2).get_pserver_program(0)


def test_commsched_transpile_takes_programs():
    one = built()
    with paddle.static.scope_guard(training.start(one, 0)):
        program = commsched.transpile(one.main, batches(0, 1)[0], cluster=2)
        assert program.run(batches(0, 2)) == commsched.paddle.transpile(one.main, batches(0, 1)[0], trainers=2).run(batches(0, 2))
        with pytest.raises(commsched.FrontEndError, match="functions must be left out for a program of PaddlePaddle"):
            commsched.transpile(one.main, batches(0, 1)[0], functions={"eval": (small,)})


def test_metrics_beside_the_loss():
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
        x, y = paddle.static.data("x", [8, 4], "float32"), paddle.static.data("y", [8, 1], "int64")
        out = small()(x)
        loss = F.cross_entropy(out, y)
        accuracy = paddle.static.accuracy(out, y)
        paddle.optimizer.SGD(0.1).minimize(loss)
    scope, executor = paddle.static.Scope(), paddle.static.Executor(paddle.CPUPlace())
    with paddle.static.scope_guard(scope):
        executor.run(startup)
        given = batches(4, 2)
        program = commsched.paddle.transpile(main, metrics={"accuracy": accuracy}, trainers=2)  # all shapes are given
        mine = program.run(given)
        for batch, found in zip(given, mine):
            wanted = executor.run(main, feed=batch, fetch_list=[loss, accuracy])
            np.testing.assert_allclose([found["loss"], found["accuracy"]], wanted, rtol=1e-5)


def test_a_loss_that_is_made_of_gradients():
    """paddle.static.gradients within the program is no backward pass of its own: the loss is that of minimize()."""
    def penalised(net, x, y):
        hidden = paddle.tanh(net[0](x))
        (of,) = paddle.static.gradients([paddle.sum(hidden)], [hidden])
        return F.cross_entropy(net[1](hidden), y) + paddle.mean(of * of * hidden)
    training.assert_same(*training.compare(lambda: nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 3)), penalised, INPUTS, models.optimizer("momentum"),
                                           batches(3, 3), workers=2), bound=1e-6)


def test_saved_and_restored(tmp_path):
    one, given = built(stepping("step")), batches(2, 4)
    program = program_of(one, trainers=2)
    program.run(given[:2])
    program.save(tmp_path / "saved")
    program.run(given[2:])
    wanted = program.slots()
    program.restore(tmp_path / "saved")
    program.run(given[2:])
    assert all(wanted[n].tobytes() == v.tobytes() for n, v in program.slots().items())


def test_check():
    program_of(built(models.optimizer("adamw")), trainers=2).check(batches(0, 2))
