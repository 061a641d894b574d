# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cannot be transpiled is refused before anything runs, with one clear error."""

import os
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import commsched
from test_structure import PARAMS, X, Y, accumulated, loss, plain, update


def refuse(step, *arguments, match, batch=(1, 2), error=commsched.FrontEndError, **more):
    with pytest.raises(error, match=match) as caught:
        commsched.transpile(step, *(arguments or (PARAMS, X, Y)), batch=batch, **more)
    return caught.value


def with_loss(function):
    """A step whose loss goes through `function`."""
    def step(params, x, y):
        value, grads = jax.value_and_grad(lambda p: function(x @ p["w"] + p["b"]).sum())(params)
        return update(params, grads), value
    return step


UNSUPPORTED = {
    "stablehlo.tanh with complex numbers": lambda h: jnp.abs(jnp.tanh(h + 1j)),
    "stablehlo.custom_call with target @lapack": lambda h: jnp.linalg.svd(h, full_matrices=False)[1],
    "stablehlo.rng_bit_generator": lambda h: h + jax.lax.rng_bit_generator(
        np.zeros(4, np.uint32), (1,), np.uint32, algorithm=jax.lax.RandomAlgorithm.RNG_THREE_FRY)[1].astype(np.float32),
    "stablehlo.custom_call with target @xla_ffi_python_cpu_callback, a call of Python": lambda h: (
        jax.debug.print("{h}", h=h.sum()), h)[1],
    "element type i16": lambda h: h + jax.lax.stop_gradient(h).astype(np.int16),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_an_operation_is_named_with_its_line(name):
    error = refuse(with_loss(UNSUPPORTED[name]), match=f"operation {name}.*is not supported",
                   error=commsched.UnsupportedOp)
    assert "test_errors.py:" in str(error) and error.location and error.name.startswith(name.split(" ")[0])
    assert isinstance(error, ValueError)


def test_complex_parameters_are_refused():
    refuse(plain, {"w": PARAMS["w"].astype(np.complex64), "b": PARAMS["b"]}, X, Y, match="argument 'p.w' must have one of the element types")


def test_batch_not_divisible():
    refuse(plain, match="batch argument 'x': 8 samples are not divisible by 3 workers", cluster=3)


def test_batch_without_samples():
    refuse(plain, PARAMS, np.float32(1), Y, match="batch argument 'x' must have a dimension of samples, got: a scalar")


def test_batches_of_different_sizes():
    def step(params, x, y):
        grads = jax.grad(lambda p: loss(p, x, y[:4]))(params)
        return update(params, grads), x.sum()
    refuse(step, PARAMS, X[:4], Y, match=r"must have one number of samples, got: \[4, 8\]")


def test_no_gradient():
    refuse(lambda p, x, y: (update(p, p), loss(p, x, y)), match="no gradient of a parameter.*mark_gradients")


def test_gradient_of_something_else():
    def step(params, x, y):
        half = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
        value, grads = jax.value_and_grad(loss)(half, x, y)
        return jax.tree.map(lambda p, g: p - g.astype(p.dtype), params, grads), value
    refuse(step, match="no gradient of a parameter")


def test_gradient_marked_twice():
    def step(params, x, y):
        first = jax.grad(loss)(params, x, y)
        second = jax.grad(loss)(params, x, 2 * y)
        return update(update(params, first), second), loss(params, x, y)
    error = refuse(step, match="the gradient of 'b' is marked twice")
    assert str(error).count("test_errors.py") == 2


def test_gradient_in_a_loop():
    refuse(lambda p, x, y: (update(p, accumulated(p, x, y)), loss(p, x, y)), match="inside a loop or a branch")


def test_parameters_that_do_not_come_back():
    refuse(lambda p, x, y: jax.value_and_grad(loss)(p, x, y)[0],
           match="no output of the step is the new value of argument 'p'")


def test_parameters_of_another_type():
    def step(params, x, y):
        new, value = plain(params, x, y)
        return {"w": new["w"], "b": new["b"].astype(jnp.bfloat16)}, value
    refuse(step, match=r"'b' must match float32\[2\], got: bfloat16\[2\]")


def test_a_metric_that_is_not_a_scalar():
    refuse(lambda p, x, y: (plain(p, x, y)[0], {"errors": x @ p["w"]}),
           match=r"output 'errors' matches no argument.*must be a scalar metric, got: float32\[8, 2\]")


@pytest.mark.parametrize("dtype", ["int32", "bool", "uint32"])
def test_a_metric_that_is_a_count(dtype):
    """Of 15 right ones in all, two workers would have 7.5 each."""
    def step(params, x, y):
        return *plain(params, x, y), {"right": jnp.sum(x > 0).astype(dtype)}
    refuse(step, match=f"^metric '1.right' must be floating point, as metrics are averaged over the workers, got: {dtype}; ")
    refuse(plain, functions={"eval": (lambda p, x: jnp.sum(x > 0), PARAMS, X)}, match="^metric 'loss' must be floating point")


def test_arguments_that_are_not_arrays():
    refuse(plain, {"w": PARAMS["w"], "b": "zero"}, X, Y, match="argument 'p.b' must be an array or a number, got: str")


def test_arguments_of_types_without_a_form():
    for dtype in (np.int16, np.uint16, np.complex64, jnp.float8_e4m3fn):
        refuse(plain, PARAMS, X.astype(dtype), Y, match="argument 'x' must have one of the element types float64, .*got: ")


def test_arrays_with_a_mask():
    refuse(plain, PARAMS, np.ma.masked_array(X, X > 1), Y, match="^argument 'x' must be an array without a mask, got: MaskedArray$")


def test_ordered_calls_of_python():
    refuse(with_loss(lambda h: (jax.debug.print("{h}", h=h.sum(), ordered=True), h)[1]), error=commsched.UnsupportedOp,
           match="of calls of Python in their order while the step runs .* is not supported$")


def test_a_handler_that_fails_is_named(monkeypatch):
    from commsched.frontend.stablehlo.walker import HANDLERS

    def broken(walker, op):
        raise IndexError("list index out of range")
    monkeypatch.setitem(HANDLERS, "stablehlo.sine", broken)
    refuse(with_loss(jnp.sin), match="test_errors.py:.*operation stablehlo.sine in this form is not supported",
           error=commsched.UnsupportedOp)


def test_clusters():
    with pytest.raises(ValueError, match="devices of a cluster must be an integer of at least 1, got: 0"):
        commsched.Cluster(2, devices=0)
    with pytest.raises(ValueError, match="machine_ranks must go with kind=\"cuda\" and devices=1, got: kind='cuda', devices=2"):
        commsched.Cluster(2, devices=2, kind="cuda", machine_ranks=2)
    with pytest.raises(ValueError, match="nodes of a cluster must be an integer of at least 1, got: 0"):
        commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2), cluster=0)
    for wrong in (2.0, "2", True, [2]):
        refuse(plain, match="cluster must be a Cluster or a number of workers, got: ", cluster=wrong)
    refuse(plain, match="nodes of a cluster must be an integer of at least 1, got: -1", cluster=-1)
    with pytest.raises(commsched.FrontEndError, match="mbit_per_s of a cluster must be an integer of at least 1, got: 0.5"):
        commsched.Cluster(2, mbit_per_s=0.5)
    for wrong in ("gpu", None, True, ""):
        with pytest.raises(commsched.FrontEndError, match='kind of a cluster must be "cpu" or "cuda", got: '):
            commsched.Cluster(2, kind=wrong)
    for wrong in ("a b", None, True, "", "a\nb"):
        with pytest.raises(commsched.FrontEndError, match="name of a cluster must be an identifier, got: "):
            commsched.Cluster(2, name=wrong)


@pytest.mark.parametrize("workers", [-1, 0, 2.0, "2", True])
def test_numbers_of_workers(workers):
    program = commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2))
    for use in (lambda: program.run([(X, Y)], workers=workers), lambda: program.mlir(workers=workers)):
        with pytest.raises(commsched.FrontEndError, match="must be an integer|must be at least 1"):
            use()


@pytest.mark.parametrize("name", ["batch", "params", "constant"])
@pytest.mark.parametrize("value", [3, -4, 1.0, "z", None, (0, 7), (0, "z"), b"x", True])
def test_positions_of_arguments(name, value):
    given = {"batch": (1, 2)} | {name: value}
    with pytest.raises(commsched.FrontEndError, match=f"{name} must be .*(position.* among the step's 3 arguments|an argument of the step, p.*, x, y, got: 'z')"):
        commsched.transpile(plain, PARAMS, X, Y, **given)


def test_what_is_no_step_and_no_function():
    refuse(3, PARAMS, X, Y, match="step must be a function, got: int")
    with pytest.raises(commsched.FrontEndError, match="the step must have example arguments, got none"):
        commsched.transpile(lambda: None)
    for wrong in ({"eval": loss}, {"eval": ()}, {"step": (loss, PARAMS, X, Y)}, {3: (loss, PARAMS, X, Y)}, [loss]):
        refuse(plain, match="function", functions=wrong)
    refuse(plain, match="'x' cannot be both constant and batch", constant=(1,))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_forgotten_batch(workers):
    refuse(plain, match=r"argument 'x' \(1\) has as many rows as the batch has samples.*name it in batch=", batch=2,
           cluster=workers)


def test_a_forgotten_batch_is_one_line():
    error = refuse(plain, match="^argument 'x' .1. has as many rows as the batch has samples, but batch= names only 'y'; name "
                                "it in batch=, or in constant= if every worker is to see all of it$", batch=2, cluster=2)
    assert "broadcast" in str(error.__cause__)


def test_what_is_no_option():
    for wrong, match in (({"strategy": 3}, "strategy must be an AllReduce or ParameterServers, got: 3"),
                         ({"location_root": 3}, "location_root must be a path, got: 3")):
        refuse(plain, match=match, **wrong)
    program = commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2))
    for batches, match in ((3, "batches must be an iterable of global batches, got: int"),
                           ([{"x": X, "y": Y}], "a batch must be a tuple of 2 arguments, got: dict"),
                           ([3], "a batch must be a tuple of 2 arguments, got: int"),
                           (commsched.Loader([(X[0], Y[0])] * 8, 8), "batches must be those of an epoch, .* got: a Loader"),
                           (commsched.Loader([(X[0], Y[0])] * 16, 16, ranks=2, rank=1).epoch(0),
                            "batches must be global ones, of a Loader without rank=, got: those of rank 1 of 2")):
        for use in (program.run, program.check):
            if use == program.run or not isinstance(batches, (int, list)):
                with pytest.raises(commsched.FrontEndError, match=match):
                    use(batches)
    # Those of the only rank are global ones: a script for ranks, which nothing has started several times.
    assert len(program.run(commsched.Loader([(X[0], Y[0])] * 8, 8, ranks=1, rank=0).epoch(0))) == 1
    with pytest.raises(ValueError, match="replan must be a Replan, a Tune or a bool, got: 5"):
        program.run([], replan=5)
    with pytest.raises(commsched.FrontEndError, match="slots must be given as a mapping of names to values, got: int"):
        program.set_slots(3)
    with pytest.raises(commsched.FrontEndError, match="^path must be a path, got: 3$"):
        program.trace(3)


@pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")
@pytest.mark.parametrize("given", [dict(cluster=commsched.Cluster(2, kind="cuda")), dict(cluster=2, device="cuda"),
                                   dict(cluster=commsched.Cluster(2, kind="cuda"), device="cuda")])
def test_devices_that_are_not_here(given):
    """A program for them can be compiled and simulated; what runs says in one line what is missing."""
    program = commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2), **given)
    assert "kind = cuda" in program.mlir() and commsched.simulate(program).workers == 2
    for use in (program.run, lambda batches: list(program.stream(batches)), program.check):
        with pytest.raises((commsched.RuntimeFailure, commsched.ToolError)) as error:
            use([(X, Y)])
        assert re.search("plan is for CUDA devices: .|must be of kind cpu to run it, got: cuda", str(error.value))
        assert "\n" not in str(error.value)


def test_devices_by_name():
    def refused(text, **given):
        with pytest.raises(commsched.FrontEndError, match=text):
            commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2), **given)
    refused("device must match the kind of the cluster, cpu, got: cuda", cluster=commsched.Cluster(2), device="cuda")
    refused("device must match the kind of the cluster, cuda, got: cpu", cluster=commsched.Cluster(2, kind="cuda"), device="cpu")
    refused('device must be "cpu" or "cuda", got: \'gpu\'', device="gpu")
    refused('device must be "cpu" or "cuda", got: 0', device=0)


def test_what_a_program_is():
    assert set(commsched.__all__) <= set(dir(commsched))
    with commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2), cluster=2) as program:
        assert repr(program) == ("<commsched.Program of 'plain': 2 workers, all-reduce, 2 parameters of 8 elements, 0 of state>")


@pytest.mark.parametrize("run", [False, True])
def test_values_are_copies(run):
    if run and "COMMSCHED_BIN" not in os.environ:
        pytest.skip("COMMSCHED_BIN is not set")
    given = {name: value.copy() for name, value in PARAMS.items()}
    program = commsched.transpile(plain, given, X, Y, batch=(1, 2))
    if run:
        program.run([(X, Y)])
        program.close()
    wanted = {name: value.copy() for name, value in program.params.items()}
    value = np.ones_like(X[:2, :2])[:1].repeat(3, 0)
    for arrays in (given, program.params, program.slots()):
        for array in arrays.values():
            array[...] = 100
    for name in wanted:
        np.testing.assert_array_equal(program.params[name], wanted[name])
    program.set_slots({"w": value})
    value[...] = 100
    np.testing.assert_array_equal(program.params["w"], np.ones((3, 2), np.float32))


def test_a_forgotten_batch_of_another_structure():
    """Nothing could be taken for its new value."""
    def step(params, batch, y):
        return plain(params, batch["x"], y)
    refuse(step, PARAMS, {"x": X, "more": X}, Y, match=r"argument 'batch' \(1\) has as many rows.*name it in batch=",
           batch=2)


def test_a_forgotten_batch_that_is_meant():
    program = commsched.transpile(plain, PARAMS, X, Y, batch=2, constant=(1,))
    assert program.slots()["x"].shape == X.shape


needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


@needs_tools
def test_workers_that_would_drift_apart():
    def step(params, x, y):
        new, value = plain(params, x, y)
        return {"w": new["w"], "b": new["b"] + x.mean()}, value
    error = refuse(step, match="new value of parameter \"b\" depends on the batch other than through its cs.gradient: "
                               "workers would drift apart", error=commsched.RefusedProgram, cluster=2)
    assert "test_errors.py:" in error.location


@needs_tools
def test_state_that_cannot_be_averaged():
    def step(params, seen, x, y):
        new, value = plain(params, x, y)
        return new, seen + jnp.sum(x > 0).astype(np.int32), value
    refuse(step, PARAMS, np.int32(0), X, Y, batch=(2, 3), match="cannot be averaged over the workers",
           error=commsched.RefusedProgram)


def test_params_and_batch_at_one_position():
    refuse(plain, match="cannot be both params and batch", batch=(0, 1))


def test_levels_and_missing_tools(monkeypatch, tmp_path):
    program = commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2))
    with pytest.raises(ValueError, match="level must be 0, 1 or 2, got: 3"):
        program.mlir(3)
    monkeypatch.setenv("COMMSCHED_BIN", str(tmp_path))
    with pytest.raises(commsched.ToolError, match="which has no cs-opt"):
        program.mlir(1)


def test_a_batch_of_another_shape_is_refused_before_it_runs():
    program = commsched.transpile(plain, PARAMS, X, Y, batch=(1, 2))
    flatten = program._description(1).flatten
    with pytest.raises(commsched.FrontEndError, match=r"batch 'x' must match float32\[8, 3\], got: float32\[6, 3\]"):
        flatten("step", (X[:6], Y[:6]))
    with pytest.raises(commsched.FrontEndError, match="a batch must have 2 arguments, got: 1"):
        flatten("step", (X,))


def test_dynamic_shapes():
    from jax import export
    from commsched.frontend.jax_frontend import make_locate
    from commsched.frontend.stablehlo import level0_function
    from commsched.frontend.stablehlo.function import FunctionSpec
    from commsched.frontend.stablehlo.ir import Printer
    shape = jax.ShapeDtypeStruct(export.symbolic_shape("n, 3"), np.float32)
    module = jax.jit(lambda x: x + 1).lower(shape).compiler_ir("stablehlo")
    with pytest.raises(commsched.FrontEndError, match=r"dynamic shape: tensor<\?x3xf32>"):
        level0_function(module, FunctionSpec("f", [("batch", "x")], [("metric", "y")]), make_locate(None), Printer())


def test_values_that_an_earlier_trace_has_left():
    """Of this program, and of JAX before it."""
    kept = {}

    def step(params, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        kept["m"] = 0.9 * kept.get("m", 0) + grads["w"]
        return {**update(params, grads), "w": params["w"] - 0.1 * kept["m"]}, value
    message = "^the step must not use values that an earlier trace of it has left in a variable, an attribute or a list"
    refuse(step, match=message, cluster=2)
    kept.clear()
    jax.jit(step)(PARAMS, X, Y)
    refuse(step, match=message)


def test_parameters_in_another_container():
    def step(pair, x, y):
        new, value = plain({"w": pair[0], "b": pair[1]}, x, y)
        return (new["w"], new["b"]), value
    refuse(step, [PARAMS["w"], PARAMS["b"]], X, Y, match=r"argument 'pair': output 0 has its leaves, but must match \[\*, \*\], got: \(\*, \*\)")


def test_a_metric_before_a_scalar_of_the_state():
    def step(params, rate, x, y):
        new, value = plain(params, x, y)
        return value, new, 0.9 * rate
    refuse(step, PARAMS, np.float32(1), X, Y, batch=(2, 3), match="'rate' but does not depend on it; .*; if the output is a metric, return it after the new value")
