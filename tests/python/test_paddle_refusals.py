# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program of PaddlePaddle may not be, each by one line."""
import pytest

pytest.importorskip("paddle", reason="needs PaddlePaddle (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
import paddle  # noqa: E402
from paddle import nn  # noqa: E402
from paddle.nn import functional as F  # noqa: E402

import commsched  # noqa: E402
import commsched.paddle  # noqa: E402

paddle.enable_static()
BATCH = {"x": np.zeros((8, 4), np.float32), "y": np.zeros((8, 1), np.int64)}


def program_of(body, rows=None, optimizer=lambda loss: paddle.optimizer.SGD(0.1).minimize(loss), run=True):
    """body(x, y) -> loss."""
    main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
        loss = body(paddle.static.data("x", [rows, 4], "float32"), paddle.static.data("y", [rows, 1], "int64"))
        optimizer(loss)
    if run:
        with paddle.static.scope_guard(scope):
            paddle.static.Executor(paddle.CPUPlace()).run(startup)
    return main, scope


def plain(x, y):
    return F.cross_entropy(nn.Linear(4, 3)(x), y)


def refused(main, scope, line, batch=BATCH, error=commsched.FrontEndError, **options):
    with pytest.raises(error, match=line) as caught:
        commsched.paddle.transpile(main, batch, scope=scope, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_operation_without_a_rule_has_its_name_and_the_line():
    def body(x, y):
        return F.cross_entropy(nn.Linear(4, 3)(paddle.erfinv(x * 0.1)), y)  # the line
    line = next(i for i, text in enumerate(open(__file__, encoding="utf-8"), 1) if text.rstrip().endswith("# the line"))
    said = refused(*program_of(body), "operation pd_op.erfinv is not supported", error=commsched.UnsupportedOp)
    assert f"test_paddle_refusals.py:{line}" in said


def test_a_form_without_a_rule_has_its_name_and_the_line():
    def body(x, y):
        return F.cross_entropy(nn.Linear(4, 3)(F.dropout(x, 0.5)), y) + paddle.norm(nn.Linear(4, 3)(x), p=3)
    said = refused(*program_of(body), "operation pd_op.p_norm with order 3.0 is not supported", error=commsched.UnsupportedOp)
    assert "test_paddle_refusals.py:" in said


def test_control_flow():
    def body(x, y):
        h = nn.Linear(4, 3)(x)
        return F.cross_entropy(paddle.static.nn.cond(paddle.mean(x) > 0, lambda: h, lambda: 2 * h), y)
    refused(*program_of(body), "operation pd_op.if is not supported", error=commsched.UnsupportedOp)


def test_no_optimizer():
    refused(*program_of(plain, optimizer=lambda loss: None), "must have a backward pass: call optimizer.minimize")
    refused(*program_of(plain, optimizer=paddle.static.append_backward), "must have operations of an optimizer")


def test_two_backward_passes():
    def body(x, y):
        paddle.optimizer.SGD(0.1).minimize(plain(x, y))
        return plain(x, y)
    refused(*program_of(body), "must have one backward pass with its update behind it, got: several")


def test_a_startup_program_that_has_not_run():
    refused(*program_of(plain, run=False), "must have a value in the scope, got none: run the startup program first")


@pytest.mark.parametrize("batch,line", [
    (None, r"example_batch must be given, as dimensions of 'x' are not known: \[-1, 4\]"),
    ({"x": BATCH["x"]}, "a batch must have x, y, got: x"),
    ([BATCH["x"]], "a batch must be a dictionary of x, y, as feed is, got: list"),
    ({**BATCH, "x": BATCH["x"].astype(np.float64)}, r"batch 'x' must match float32\[-1, 4\], got: float64\[8, 4\]"),
    ({**BATCH, "x": np.zeros((6, 4), np.float32)}, r"the arrays of a batch must have one number of samples, got: \[6, 8\]"),
])
def test_batches(batch, line):
    refused(*program_of(plain), line, batch)


def test_samples_that_cannot_be_divided():
    refused(*program_of(plain), "8 samples of the batch are not divisible by 3 workers", trainers=3)


def test_a_batch_size_that_is_a_constant():
    def body(x, y):
        return F.cross_entropy(nn.Linear(4, 3)(paddle.reshape(x, [8, -1])), y)
    refused(*program_of(body, 8), "pd_op.reshape has the batch size 8 as a constant, where each worker has 4 samples", trainers=2)
    commsched.paddle.transpile(program_of(body, 8)[0], BATCH, scope=program_of(body, 8)[1])


@pytest.mark.parametrize("options,line", [
    (dict(trainers=2, cluster=2), "trainers must be left out where cluster is given"),
    (dict(trainers=0), "trainers must be an integer of at least 1, got: 0"),
    (dict(pservers=-1), "pservers must be an integer of at least 0, got: -1"),
    (dict(pservers=1, slice_var_up=False, min_block_size=8), "min_block_size must go with slice_var_up=True, got: slice_var_up=False"),
    (dict(slice_var_up=True), "slice_var_up must go with pservers of at least 1, got: None"),
    (dict(pservers=0, sync_mode=False), "sync_mode must go with pservers of at least 1, got: 0"),
    (dict(pservers=1, sync_mode="no"), "sync_mode must be True or False, got: 'no'"),
    (dict(pservers=1, split_method="Random"), "split_method must be one of RoundRobin, HashName, got: 'Random'"),
    (dict(pservers=1, min_block_size=0), "min_block_size must be an integer of at least 1, got: 0"),
    (dict(pservers=1, strategy=commsched.AllReduce()), "pservers must be left out where strategy is given"),
    (dict(strategy="servers"), "strategy must be an AllReduce or ParameterServers, got: 'servers'"),
    (dict(strategy=commsched.ParameterServers(row_sparse=["table"])), "row_sparse must name parameters, linear_0.b_0, linear_0.w_0, got: 'table'"),
    (dict(metrics=[3]), "metric 'metric.1' must be a variable of the program, got: int"),
    (dict(seed=0.5), "seed must be an integer of 64 bits, got: 0.5"),
])
def test_options(options, line):
    refused(*program_of(plain), line, **options)


def test_what_is_no_program():
    with pytest.raises(commsched.FrontEndError, match="program must be a static program of PIR, paddle.static.Program, got: Linear"):
        commsched.paddle.transpile(nn.Linear(2, 2))


def test_a_parameter_in_sixteen_bits():
    def body(x, y):
        weight = paddle.static.create_parameter([4, 3], "bfloat16", default_initializer=nn.initializer.Constant(0.0))
        return F.cross_entropy((x.astype("bfloat16").matmul(weight)).astype("float32"), y)
    refused(*program_of(body, run=False), "variable '.*' must have an element type of f64, f32 or integers, got: bfloat16; at level O1 of mixed "
            "precision parameters stay in f32")


def test_complex_numbers():
    refused(*program_of(lambda x, y: F.cross_entropy(nn.Linear(4, 3)(paddle.real(x.astype("complex64"))), y)),
            "must have an element type of f64, f32, bf16, f16, i64, i32, i8, u8 or bool, got: complex64")


def test_asgd():
    refused(*program_of(plain, optimizer=lambda loss: paddle.optimizer.ASGD(0.1, 2).minimize(loss)), r"operation pd_op\.asgd_ with its count of steps",
            error=commsched.UnsupportedOp)


def test_a_loop_of_cells():
    def body(x, y):
        return F.cross_entropy(nn.RNN(nn.SimpleRNNCell(2, 3))(x.reshape([-1, 2, 2]))[1], y)
    refused(*program_of(body), "operation pd_op.while is not supported", error=commsched.UnsupportedOp)


def test_dropout_between_recurrent_layers():
    def body(x, y):
        return F.cross_entropy(nn.LSTM(2, 3, num_layers=2, dropout=0.5)(x.reshape([-1, 2, 2]))[0][:, -1], y)
    refused(*program_of(body), "operation pd_op.rnn with dropout between layers is not supported", error=commsched.UnsupportedOp)


def test_a_metric_that_is_no_scalar():
    main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with paddle.utils.unique_name.guard(), paddle.static.program_guard(main, startup):
        x, y = paddle.static.data("x", [None, 4], "float32"), paddle.static.data("y", [None, 1], "int64")
        out = nn.Linear(4, 3)(x)
        paddle.optimizer.SGD(0.1).minimize(F.cross_entropy(out, y))
    with paddle.static.scope_guard(scope):
        paddle.static.Executor(paddle.CPUPlace()).run(startup)
    refused(main, scope, r"metric 'out' must be a scalar, got: \[8, 3\]", metrics={"out": out})


def test_a_loss_that_is_a_sum():
    """Its parts would be averaged."""
    wanted = "the loss must be a mean over the samples of the batch, got: one whose gradients are 2 times as large"
    for rows in (None, 8):
        for reduced in (lambda per: per.sum(), lambda per: per.sum() / 8, lambda per: paddle.scale(per.sum(), 0.5)):
            said = refused(*program_of(lambda x, y: reduced(F.cross_entropy(nn.Linear(4, 3)(x), y, reduction="none")), rows), wanted, trainers=2)
            assert said.endswith("Divide a sum by the number of samples that the step is given (paddle.shape(x)[0])")
    main, scope = program_of(lambda x, y: F.cross_entropy(nn.Linear(4, 3)(x), y, reduction="none").sum())
    commsched.paddle.transpile(main, BATCH, scope=scope, trainers=1)
    main, scope = program_of(lambda x, y: F.cross_entropy(nn.Linear(4, 3)(x), y, reduction="none").mean())
    commsched.paddle.transpile(main, BATCH, scope=scope, trainers=2)
