# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs of PaddlePaddle have beside layers: variables that are assigned, counted and averaged, layers that are used twice, parts of
tensors that are set, random tensors; as the executor has them, for any batches. Faults planted in the rules are found."""
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
from commsched.paddle import capture  # noqa: E402
from commsched.paddle.rules import RULES  # noqa: E402

ROWS, COLUMNS, BOUND = 4, 6, 2e-6
INPUTS = {"x": ((ROWS, COLUMNS), "float32"), "y": ((1,), "int64")}


def batches(seed, steps, samples=8):
    random = np.random.default_rng([seed, 5])
    return [{"x": random.standard_normal((samples, ROWS, COLUMNS)).astype(np.float32), "y": random.integers(0, 3, (samples, 1))} for _ in range(steps)]


class Network(nn.Layer):
    """own(h, x, y): something of what a layer makes of the input, or a list of [weight that is multiplied with the loss, it]."""

    def __init__(self, own):
        super().__init__()
        self.own, self.first = own, nn.Linear(COLUMNS, COLUMNS)
        self.last = nn.Linear(ROWS * COLUMNS, 3)
        self.norm = nn.BatchNorm1D(ROWS)

    def scores(self, h):
        flat = paddle.flatten(h.astype("float32"), 1)
        return F.linear(flat, self.last.weight[:flat.shape[1]], self.last.bias)


def set_part(h, *sets):
    for where, value in sets:
        h[where] = value
    return h


def one_hot(y):
    return F.one_hot(y.squeeze(-1), 3)


def of_classes(*numbers):
    return paddle.to_tensor(np.array(numbers, np.float32))


# Of a network, what its first layer makes, the input and labels: the loss; and the rules that it is there for.
LOSSES = {
    "expand_as": (lambda n, h, x, y: F.cross_entropy(n.scores(paddle.expand_as(h[:, :1], x)), y), ["expand_as_grad"]),
    "unstack": (lambda n, h, x, y: F.cross_entropy(n.scores(paddle.unstack(h, 2)[1]), y), ["unstack_grad"]),
    "argmin": (lambda n, h, x, y: F.cross_entropy(n.scores(h * (paddle.argmin(x, -1, keepdim=True) < 3).astype("float32")), y), ["argmin"]),
    "index_sample": (lambda n, h, x, y: F.cross_entropy(n.scores(paddle.index_sample(h[:, 0], paddle.argsort(x[:, 0], 1))), y), ["index_sample"]),
    "numbers that are set": (lambda n, h, x, y: F.cross_entropy(n.scores(set_part(h, ((slice(None), 0), 0.5), ((slice(None), slice(1, 3), -1), 2.0)) * x), y),
                             ["set_value_"]),
    "tensors that are set": (lambda n, h, x, y: F.cross_entropy(n.scores(set_part(h, ((slice(None), 0), h[:, 1] * x[:, 0]), ((..., slice(1, 6, 2)), x[..., :3]))), y),
                             ["set_value_with_tensor_"]),
    "label_smooth": (lambda n, h, x, y: F.mse_loss(F.label_smooth(F.softmax(n.scores(h)), epsilon=0.2), one_hot(y)), ["label_smooth_grad"]),
    "log_loss": (lambda n, h, x, y: F.log_loss(F.sigmoid(n.scores(h)[:, :1]), (y > 0).astype("float32")).mean(), ["log_loss"]),
    "weights of positives": (lambda n, h, x, y: F.binary_cross_entropy_with_logits(
        n.scores(h), one_hot(y), weight=of_classes(0.5, 1, 2), pos_weight=of_classes(0.5, 3, 2)),
        ["sigmoid_cross_entropy_with_logits", "sigmoid_cross_entropy_with_logits_grad"]),
    "weights of classes": (lambda n, h, x, y: F.nll_loss(F.log_softmax(n.scores(h)), y.squeeze(-1), weight=of_classes(0.5, 1, 2)), ["nll_loss", "nll_loss_grad"]),
    "margins": (lambda n, h, x, y: F.multi_margin_loss(n.scores(h), y.squeeze(-1), weight=of_classes(0.5, 1, 2)), ["gather", "index_sample"]),
    "integers with gradients": (lambda n, h, x, y: F.cross_entropy(n.scores(0.02 * paddle.sum(paddle.cast(h > 0.1, "float32") + paddle.cast(
        3 * h, "int32").astype("float32") + paddle.cast(paddle.sum(paddle.cast(h, "bool"), -1, keepdim=True), "float32"), 2)), y), ["sum"]),
    "used twice": (lambda n, h, x, y: F.cross_entropy(n.scores(n.norm(h) + n.norm(2 * h + x)), y), ["batch_norm_"]),
    "assigned": (lambda n, h, x, y: F.cross_entropy(n.scores(assigned(h, h * h) + h), y), ["assign_out_"]),
    "counted": (lambda n, h, x, y: F.cross_entropy(n.scores(h * counted(2)), y), ["increment_"]),
}
# What has a fixed size, counts the parts of a program that has all of them, or rounds their gradients.
ALONE = ("assigned", "counted", "integers with gradients")


def assigned(h, value):
    out = paddle.zeros([8, ROWS, COLUMNS])
    paddle.assign(value, out)
    return out


def variable(value, name):
    found = paddle.static.create_parameter(list(value.shape), "float32", name=name, default_initializer=nn.initializer.Assign(value))
    found.stop_gradient = True
    return found


def counted(times):
    count = variable(np.zeros(1, np.float32), "count")
    for _ in range(times):
        paddle.increment(count, 0.25)
    return count


def result_of(name, seed, workers, servers=0, optimizer=models.optimizer("momentum")):
    loss = LOSSES[name][0]
    return training.compare(lambda: Network(None), lambda n, x, y: loss(n, n.first(x), x, y), INPUTS, optimizer, batches(seed, 3), workers=workers,
                            seed=seed, **({"pservers": servers} if servers else {}))


def differs(apart, moved, program, losses, bound=BOUND):
    program.close()
    return max(apart.values()) > bound or not np.allclose(*losses, rtol=1e-4)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.filterwarnings("ignore::commsched.MixedSamples")
def test_as_the_executor_has_it(name, seed):
    result = result_of(name, seed, 1 if name in ALONE else 2)
    assert not differs(*result) and result[1] > 1e-4


def faulty(rule):
    """A hundredth more of what is made; of indices, others."""
    def apply(op, *given, **operands):
        found = rule(op, *given, **operands)
        first, *others = found if isinstance(found, tuple) else (found,)
        first = 5 - first if np.issubdtype(first.dtype, np.integer) else first if first.dtype == np.bool_ else first * 1.01
        return (first, *others) if isinstance(found, tuple) else first
    return apply


@pytest.mark.parametrize("name, rule", [(name, rule) for name, (_, rules) in LOSSES.items() for rule in rules])
@pytest.mark.filterwarnings("ignore::commsched.MixedSamples")
def test_a_fault_in_a_rule_is_found(name, rule, monkeypatch):
    monkeypatch.setitem(RULES, rule, faulty(RULES[rule]))
    assert differs(*result_of(name, 0, 1))


# ---- what is done to parameters besides an update --------------------------------------------------------------------

class Then:
    """An optimizer, and what comes before or behind it."""

    def __init__(self, optimizer, behind, before=lambda p: None):
        self.optimizer, self.behind, self.before = optimizer, behind, before

    def minimize(self, loss):
        p = [v for v in paddle.static.default_main_program().global_block().all_parameters() if v.name == "linear_0.w_0"][0]
        self.before(p)
        self.optimizer.minimize(loss)
        self.behind(p)


def average(p):
    mean = variable(np.zeros(p.shape, np.float32), "mean")
    return lambda: paddle.assign(0.9 * mean + 0.1 * p, mean)


OPTIMIZERS = {
    "look ahead": (lambda p: paddle.incubate.LookAhead(models.optimizer("sgd")(p), 0.5, 2), ["assign_out_", "increment_"]),
    "look ahead of Adam": (lambda p: paddle.incubate.LookAhead(models.optimizer("adam")(p), 0.3, 3), []),
    "model average": (lambda p: Then(models.optimizer("sgd")(p), lambda _: paddle.incubate.ModelAverage(0.15, min_average_window=2, max_average_window=4)),
                      ["average_accumulates_"]),
    "moving average": (lambda p: Then(models.optimizer("momentum")(p), lambda q: average(q)()), ["assign_out_"]),
    "moving average before": (lambda p: Then(models.optimizer("momentum")(p), lambda q: None, lambda q: average(q)()), ["assign_out_"]),
    "bounds": (lambda p: Then(models.optimizer("adam")(p), lambda q: paddle.assign(paddle.clip(q, -0.2, 0.2), q)), ["assign_out_"]),
}


def trained(name, seed, workers, servers=0):
    return training.compare(lambda: Network(None), lambda n, x, y: F.cross_entropy(n.scores(n.first(x)), y), INPUTS, OPTIMIZERS[name][0], batches(seed, 5),
                            workers=workers, seed=seed, **({"pservers": servers} if servers else {}))


@pytest.mark.parametrize("servers", [0, 2])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates(name, servers):
    result = trained(name, servers, 2, servers)
    assert not differs(*result) and result[1] > 1e-4


@pytest.mark.parametrize("name, rule", [(name, rule) for name, (_, rules) in OPTIMIZERS.items() for rule in rules])
def test_a_fault_in_an_update_is_found(name, rule, monkeypatch):
    monkeypatch.setitem(RULES, rule, faulty(RULES[rule]))
    assert differs(*trained(name, 0, 1))


class OfAll:
    """An optimizer whose gradients are multiplied with something that is made of all of them."""

    def __init__(self, optimizer, changed):
        self.optimizer, self.changed = optimizer, changed

    def minimize(self, loss):
        pairs = self.optimizer.backward(loss)
        norm = paddle.sqrt(sum(paddle.sum(g * g) for _, g in pairs))
        self.optimizer.apply_gradients([(p, self.changed(1 / (norm + 1), p, g)) for p, g in pairs])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("changed", [lambda f, p, g: f * g, lambda f, p, g: g * f, lambda f, p, g: 0.1 * p + f * (g - paddle.mean(g))], ids=["times", "by", "centred"])
@pytest.mark.filterwarnings("ignore::commsched.MixedSamples")
def test_gradients_of_one_shape_are_told_apart(changed, seed):
    """Weight and bias of the norm have one: each one's own gradient is marked, not that of which the norm of all is made first."""
    result = training.compare(lambda: Network(None), lambda n, x, y: F.cross_entropy(n.scores(n.norm(n.first(x))), y), INPUTS,
                              lambda p: OfAll(models.optimizer("momentum")(p), changed), batches(seed, 3), workers=2, seed=seed)
    assert not differs(*result) and result[1] > 1e-4


def first_operands_first(self, op, boundary):
    of, seen = self.results[op.input("param")], set()

    def find(number):
        if number in seen or number not in self.maker:
            return None
        seen.add(number)
        own, maker = self.results[number], self.ops[self.maker[number]]
        if self.maker[number] < boundary:
            return number if own.shape == of.shape else None
        return next((found for found in map(find, maker.inputs.values()) if found is not None), None)
    return find(op.inputs["grad"])


def test_a_fault_in_telling_them_apart_is_found(monkeypatch):
    monkeypatch.setattr(capture._Reader, "gradient_of", first_operands_first)
    with pytest.raises(commsched.FrontEndError, match="have one gradient in common"):
        test_gradients_of_one_shape_are_told_apart(lambda f, p, g: f * g, 0)


# ---- random tensors --------------------------------------------------------------------------------------------------

DRAWN = {  # what is drawn beside the input, [rows, 400]; its mean, and that of its squares
    "uniform": (lambda x: paddle.uniform([400], min=-1.0, max=3.0), 1.0, 7 / 3), "rand": (lambda x: paddle.rand_like(x), 0.5, 1 / 3),
    "normal": (lambda x: paddle.normal(0.5, 2.0, [400]), 0.5, 4.25), "randn": (lambda x: paddle.randn_like(x), 0.0, 1.0),
    "bernoulli": (lambda x: paddle.bernoulli(paddle.full_like(x, 0.3)), 0.3, 0.3), "randint": (lambda x: paddle.randint(1, 4, [400]), 2.0, 14 / 3),
    "randperm": (lambda x: paddle.randperm(3), 1.0, 5 / 3), "gumbel": (lambda x: F.gumbel_softmax(x.reshape([-1, 2]), hard=True), 0.5, 0.5)}


def drawing(draw, **options):
    main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
        x = paddle.static.data("x", [None, 400], "float32")
        drawn = draw(x).astype("float32")
        # A product with a weight that stays 1 is a way back through what is drawn.
        one = paddle.static.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(1.0))
        mean, squares, first = paddle.mean(drawn), paddle.mean(drawn * drawn), paddle.mean(paddle.flatten(drawn)[:7] * paddle.arange(1, 8, dtype="float32")[:min(
            7, int(np.prod(drawn.shape)) if -1 not in drawn.shape else 7)])
        paddle.optimizer.SGD(0.0).minimize(paddle.mean(x * one) + mean)
    with paddle.static.scope_guard(scope):
        paddle.static.Executor(paddle.CPUPlace()).run(startup)
    return commsched.paddle.transpile(main, {"x": np.zeros((8, 400), np.float32)}, scope=scope, metrics={"mean": mean, "squares": squares, "first": first}, **options)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.filterwarnings("ignore::commsched.MixedSamples")
def test_what_is_drawn(name):
    draw, mean, squares = DRAWN[name]
    given, found = [{"x": np.zeros((8, 400), np.float32)}] * 8, {}
    for seed, workers in ((0, 1), (0, 2), (1, 2), (0, 2)):
        with drawing(draw, trainers=workers, seed=seed) as program:
            metrics = program.run(given)
        again = found.setdefault((seed, workers), metrics)
        assert again == metrics
        np.testing.assert_allclose(np.mean([m["mean"] for m in metrics]), mean, atol=0.15)
        np.testing.assert_allclose(np.mean([m["squares"] for m in metrics]), squares, rtol=0.1)
    first = {key: [m["first"] for m in metrics] for key, metrics in found.items()}
    assert all(len(set(values)) > 1 for values in first.values()) and len({tuple(v) for v in first.values()}) == 3


def test_a_seed_that_is_fixed_is_refused():
    with pytest.raises(commsched.UnsupportedOp, match=r"test_paddle_programs\.py:\d+: operation pd_op\.uniform with a seed that is fixed"):
        drawing(lambda x: paddle.uniform([400], seed=3), trainers=1)


def test_noise_of_gradients_is_refused():
    """Each worker would have its own."""
    def noisy(p):
        optimizer = paddle.optimizer.SGD(0.1)

        class Noisy:
            def minimize(self, loss):
                optimizer.apply_gradients([(q, g + 0.1 * paddle.randn(q.shape)) for q, g in optimizer.backward(loss)])
        return Noisy()
    with pytest.raises(commsched.RefusedProgram, match="depends on the worker's index other than through its cs.gradient"):
        training.compare(lambda: Network(None), lambda n, x, y: F.cross_entropy(n.scores(n.first(x)), y), INPUTS, noisy, batches(0, 1))


# ---- refusals ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name, loss", {
    "labels": lambda n, h, x, y: F.cross_entropy(paddle.matmul(n.scores(h), n.scores(h), transpose_y=True), paddle.arange(8).reshape([8, 1])),
    "noise": lambda n, h, x, y: F.cross_entropy(n.scores(h) + paddle.rand([8, 1]), y)}.items())
def test_another_operand_with_the_batch_size_as_a_constant(name, loss):
    def of(workers):
        one = training.build(lambda: Network(None), lambda n, x, y: loss(n, n.first(x), x, y), INPUTS, models.optimizer("sgd"))
        return commsched.paddle.transpile(one.main, batches(0, 1)[0], scope=training.start(one, 0), trainers=workers)
    of(1).close()
    line = r"test_paddle_programs\.py:\d+: an operand of pd_op\.\w+ has the batch size 8 as a constant, where each worker has 4 samples; have it be -1"
    with pytest.raises(commsched.FrontEndError, match=line) as caught:
        of(2)
    assert "\n" not in str(caught.value)
