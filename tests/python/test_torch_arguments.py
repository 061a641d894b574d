# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every argument of what commsched.torch has: what it must not be is refused in one line, and what it says is seen."""
import os
import threading
from datetime import timedelta

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

import commsched  # noqa: E402
import commsched.torch  # noqa: E402
from argument_sweep import (ANY_INTEGER, ANYTHING, NAN, SWITCH, as_of_ranks, check_tables, integers, job_of_one, methods_of,  # noqa: E402
                            parameters_of, refusals, refused, required)
from commsched.torch import distributed, distributing, transpiling  # noqa: E402
from test_every_argument import ARGUMENTS as OF_PROGRAMS, NAMED  # noqa: E402

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")

X, Y = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), torch.ones(4, 1)
COMMON = ("cluster", "location_root", "strategy", "profile", "calibration", "calibrate", "device")


def distance(model, x, y):
    return (model(x) - y).pow(2).mean()


def dropped(model, x, y):
    return (nn.functional.dropout(model(x), 0.5) - y).pow(2).mean()


def parts(width=1):
    model = nn.Linear(3, width)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def step_of(function, **options):
    kind = getattr(torch.optim.lr_scheduler, function)
    return kind(parts()[1], **options)


SCHEDULER = [1, "x", True, [], object(), step_of("StepLR", step_size=1), step_of("ReduceLROnPlateau"), nn.Linear(1, 1)]
SCALER = [1, "x", True, [], object(), torch.amp.GradScaler]
ARGUMENTS = {
    "transpile": dict(model=required([1, "x", object(), {}, lambda x: x, nn.Linear]), optimizer=required([1, "x", [], object(), torch.optim.SGD]),
                      loss_fn=required([1, "x", [], {}]), before_update=[1, "x", [], True], accumulate=required(integers(1, 3)), scaler=SCALER,
                      example_batch=required([1, "x", [], (), {}, object(), (X, 3), (X, "y"), (X, None), np.zeros(2, object), NAN, True, iter([X])]),
                      seed=required(ANY_INTEGER), **{name: OF_PROGRAMS["transpile"][name] for name in COMMON}),
    "distribute": dict(model=required([1, "x", object(), {}, lambda x: x, nn.Linear, parts()[0]]),
                       optimizer=required([1, "x", [], object(), torch.optim.SGD, parts()[1]]), broadcast_buffers=required(SWITCH)),
    **{name: dict(arguments) for name, arguments in OF_PROGRAMS.items() if name.startswith("Program.")},
    "Program.load_into": dict(model=required([1, "x", object(), {}, nn.Linear, nn.Linear(3, 2)]),
                              optimizer=[1, "x", [], object(), torch.optim.SGD, parts()[1]], scaler=[*SCALER, torch.amp.GradScaler("cpu")]),
    "Optimizer.step": dict(closure=[lambda: 0, 0, False, b"x"], other=[1, None]),
}
ARGUMENTS["Program.call"]["batches"] = ANYTHING  # there is no function besides the step
ARGUMENTS["Program.run"]["scheduler"] = ARGUMENTS["Program.stream"]["scheduler"] = SCHEDULER
# Where an argument is another library's, or nothing is made of it here.
ELSEWHERE = {"Program": "transpile() makes it", "Optimizer.add_param_group": "always refused", "Optimizer.load_state_dict": "PyTorch's",
             "Optimizer.state_dict": "PyTorch's", "Optimizer.zero_grad": "PyTorch's"}
NAMES = {**NAMED, ("transpile", "example_batch"): ["batch"], ("Program.load_into", "model"): ["model"], ("distribute", "model"): ["model", "parameters"],
         ("distribute", "optimizer"): ["optimizer", "parameters"], ("Program.run", "scheduler"): ["scheduler", "ReduceLROnPlateau"],
         ("Program.stream", "scheduler"): ["scheduler", "ReduceLROnPlateau"], ("transpile", "accumulate"): ["accumulate"]}


def test_the_tables_have_all_functions_and_arguments():
    found = {name: parameters_of(getattr(commsched.torch, name)) for name in commsched.torch.__all__}
    for name, kind in (("Program", commsched.torch.Program), ("Optimizer", distributing._Distributed)):
        found.update((f"{name}.{method}", parameters) for method, parameters in methods_of(kind).items())
    check_tables(found, ARGUMENTS, ELSEWHERE)


def made(**given):
    model, optimizer = parts()
    return commsched.torch.transpile(**{"model": model, "optimizer": optimizer, "loss_fn": distance, "example_batch": (X, Y), "cluster": 2, **given})


def test_what_transpile_is_given():
    def call(function, /, **given):
        made(**given)
    wrong = refusals(ARGUMENTS, call, "transpile", NAMES, commsched.FrontEndError)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("ranks", [False, True], ids=["threads", "ranks"])
def test_what_a_program_is_given(ranks, monkeypatch):
    with job_of_one() as job:
        if ranks:
            as_of_ranks(monkeypatch, transpiling, job)
        with made(cluster=1) as program:
            def call(function, /, **given):
                method = function.split(".")[1]
                base = {"batches": [(X, Y)]} if method in ("run", "stream", "check", "call") else {}
                base.update({"function": "f"} if method == "call" else dict(model=nn.Linear(3, 1)) if method == "load_into" else {})
                result = getattr(program, method)(**{**base, **given})
                return list(result) if method == "stream" else result
            wrong = [line for name in ARGUMENTS if name.startswith("Program.") for line in refusals(ARGUMENTS, call, name, NAMES, commsched.FrontEndError)]
            assert not wrong, "\n".join(wrong)
            assert program.steps == 0


def test_what_distribute_and_its_optimizer_are_given():
    with job_of_one():
        def call(function, /, **given):
            model, optimizer = parts()
            if function == "distribute":
                return commsched.torch.distribute(**{"model": model, "optimizer": optimizer, **given})
            try:
                commsched.torch.distribute(model, optimizer).step(**given)
            finally:
                optimizer.undistribute()
        for function in ("distribute", "Optimizer.step"):
            wrong = refusals(ARGUMENTS, call, function, NAMES, commsched.FrontEndError)
            assert not wrong, "\n".join(wrong)
        for value in (True, False, np.True_, np.False_):
            model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
            optimizer = commsched.torch.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1), broadcast_buffers=value)
            assert (optimizer._commsched.sharing is not None) == bool(value)
            optimizer.undistribute()


def test_what_transpile_is_given_is_seen():
    def text(**given):
        torch.manual_seed(0)
        program = made(**given)
        return program.mlir(0) + program.mlir(1)
    plain = text()
    same = [dict(cluster=np.int64(2)), dict(accumulate=np.int8(1)), dict(seed=np.int64(5)), dict(scaler=torch.amp.GradScaler("cpu", enabled=False)),
            dict(device="cpu"), dict(calibrate=np.False_), dict(before_update=lambda model: None)]
    others = [dict(cluster=4), dict(accumulate=2), dict(scaler=torch.amp.GradScaler("cpu")), dict(device="cuda"),
              dict(before_update=lambda model: nn.utils.clip_grad_norm_(model.parameters(), 0.1)), dict(strategy=commsched.ParameterServers()),
              dict(loss_fn=nn.L1Loss()), dict(example_batch=(X[:2], Y[:2])), dict(location_root=os.path.dirname(os.path.dirname(__file__)))]
    assert [given for given in same if text(**given) != plain] == []
    texts = [plain, *(text(**given) for given in others)]
    assert len(set(texts)) == len(texts)
    for name in ("profile", "calibration"):  # what the file says is looked at
        with pytest.raises(commsched.ToolError, match=os.path.basename(__file__)):
            made(**{name: __file__}).mlir(2)
    seeds = [0, 1, np.int64(1), -1, 1 << 32, (1 << 63) - 1]
    states = [made(loss_fn=dropped, seed=seed).state[-1].tolist() for seed in seeds]
    assert states[1] == states[2] and len({tuple(state) for state in states}) == len(seeds) - 1


def test_a_scaler_that_is_not_enabled_is_none_everywhere():
    model, scaler = nn.Linear(3, 1), torch.amp.GradScaler("cpu", enabled=False)
    with made(scaler=scaler) as program:
        program.load_into(model, scaler=scaler)
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), program.params.values()))
    with made(scaler=torch.amp.GradScaler("cpu")) as program:
        assert refused(lambda: program.load_into(model, scaler=scaler), "the scaler must stay enabled") is None


def test_batches_of_numpy():
    """Of memory that PyTorch cannot share, too."""
    import ml_dtypes
    for x in (X.numpy()[::-1], np.asfortranarray(X.numpy()), X.numpy().astype(ml_dtypes.bfloat16)):
        def loss(model, x, y):
            return (model(x.float()) - y).pow(2).mean()
        tensor = torch.from_numpy(np.array(x.astype(np.float32), order="C")).to(torch.bfloat16 if x.dtype == ml_dtypes.bfloat16 else torch.float32)
        torch.manual_seed(0)
        with made(loss_fn=loss, example_batch=(tensor, Y)) as program:
            wanted = program.step((tensor, Y))
        torch.manual_seed(0)
        with made(loss_fn=loss, example_batch=(x, Y.numpy())) as program:
            assert program.step((x, Y.numpy())) == wanted
            assert refused(lambda: program.step((x.astype(">f4"), Y.numpy())), "batch", error=commsched.FrontEndError) is None


def test_schedulers_that_are_steps_of_any_kind():
    """A scheduler is what has step(); one that has an optimizer has that of the program."""
    class Halving:
        def __init__(self, optimizer):
            self.groups = optimizer.param_groups

        def step(self):
            self.groups[0]["lr"] /= 2
    model, optimizer = parts()
    with made(model=model, optimizer=optimizer) as program:
        program.run([(X, Y)] * 3, scheduler=Halving(optimizer))
        program.run([(X, Y)] * 2, scheduler=torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5))
    assert optimizer.param_groups[0]["lr"] == 0.1 / 2 ** 5


# ---- the backend of torch.distributed -------------------------------------------------------------------------------------
TENSORS = "torch.distributed looks at tensors before it calls the group"
GROUP = {"opts": "below", "tag": "below", "output_splits": TENSORS, "input_splits": TENSORS, "source": "below", "destination": "below",
         "name": "below", "text": "below", **{name: TENSORS for name in ("tensors", "output", "outputs", "input", "inputs", "output_lists")}}


def test_the_group_has_no_other_arguments():
    for method, parameters in methods_of(distributed.ProcessGroup).items():
        assert set(parameters) <= set(GROUP), method
    assert methods_of(distributed.Work)["wait"] == ["timeout"]


@pytest.fixture
def groups():
    """Two ranks in this process. The second one posts nothing of itself."""
    store, found = dist.HashStore(), {}

    def join(rank):
        found[rank] = distributed.ProcessGroup(store, rank, 2, timedelta(seconds=30), "two")
    threads = [threading.Thread(target=join, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield found[0], found[1]
    for group in found.values():
        group.abort()


def options_of(method, timeout):
    c10d = torch._C._distributed_c10d
    names = {"all_gather": "Allgather", "allgather": "Allgather", "reduce_scatter": "ReduceScatter", "all_to_all": "AllToAll", "alltoall": "AllToAll",
             "allreduce": "Allreduce", "broadcast": "Broadcast", "reduce": "Reduce", "barrier": "Barrier", "gather": "Gather", "scatter": "Scatter"}
    found = getattr(c10d, names[max((n for n in names if method.startswith(n)), key=len)] + "Options")()
    found.timeout = timeout
    return found


def test_a_timeout_of_a_call_is_that_of_its_wait(groups):
    group = groups[0]
    x, two = torch.ones(2), torch.ones(4)
    given = {"tensors": [x], "output": x.clone(), "outputs": [two.clone()], "input": x, "inputs": [x], "output_splits": [1, 1], "input_splits": [1, 1]}
    special = {"allgather": dict(outputs=[[x.clone(), x.clone()]]), "allgather_coalesced": dict(output_lists=[[x.clone()], [x.clone()]]),
               "all_gather_single": dict(output=two.clone()), "reduce_scatter": dict(outputs=[x.clone()], inputs=[[x, x]]),
               "reduce_scatter_single": dict(input=two), "reduce_scatter_single_coalesced": dict(outputs=[x.clone()], inputs=[two]),
               "reduce_scatter_tensor_coalesced": dict(outputs=[x.clone()], inputs=[two]), "alltoall": dict(outputs=[x.clone()] * 2, inputs=[x, x]),
               "gather": dict(outputs=[[x.clone(), x.clone()]]), "scatter": dict(outputs=[x.clone()], inputs=[[x, x]])}
    called = 0
    for method, parameters in methods_of(distributed.ProcessGroup).items():
        if "opts" in parameters:
            arguments = {**{name: given[name] for name in parameters if name in given}, **special.get(method, {})}
            work = getattr(group, method)(**arguments, opts=options_of(method, timedelta(milliseconds=100)))
            assert refused(work.wait, "no end within 0.1 s", error=commsched.RuntimeFailure) is None, method
            called += 1
    assert called >= 15


def test_what_wait_is_given(groups):
    work = groups[0].allreduce([torch.ones(2)])
    for timeout in (1, 0.5, "1", timedelta(seconds=-1), True, []):
        assert refused(lambda: work.wait(timeout), "timeout must be a timedelta", error=commsched.RuntimeFailure) is None, timeout
    assert refused(lambda: work.wait(timedelta(milliseconds=50)), "no end within 0.05 s", error=commsched.RuntimeFailure) is None
    other = groups[1].allreduce([torch.ones(2)])
    assert work.wait(timedelta(seconds=20)) and work.wait() and other.wait(timedelta(0))


def test_tags_ranks_and_names(groups):
    one, two = groups
    first, second = torch.ones(1), torch.ones(1)
    works = [two.send([torch.tensor([5.0])], 0, 5), two.send([torch.tensor([7.0])], 0, 7), one.recv([first], 1, 7), one.recv([second], 1, 5)]
    assert all(work.wait() for work in works) and (first.item(), second.item()) == (7, 5) and works[2].source_rank() == 1
    for rank in (2, -1, 0):
        for call in (lambda: one.send([first], rank), lambda: one.recv([first], rank)):
            assert refused(call, "peer", "rank", error=commsched.RuntimeFailure) is None, rank
    assert refused(lambda: one.recv_anysource([first]), "source must be a rank", error=commsched.RuntimeFailure) is None
    for op in (dist.ReduceOp.BAND, dist.ReduceOp.PRODUCT):
        options = dist.AllreduceOptions()
        options.reduceOp = op
        assert refused(lambda: one.allreduce([first], options), "reduce op must be SUM, AVG, MAX or MIN", error=commsched.RuntimeFailure) is None
    one.setGroupName("a name")
    one.setGroupDesc("what it is for")
    assert "a name" in repr(one) and (one.getGroupName(), one.getGroupDesc()) == ("a name", "what it is for")


def test_options_of_the_backend():
    for options in (1, "x", {}, dist.AllreduceOptions()):
        assert refused(lambda: distributed._create(None, options), "pg_options of commsched must be None", error=commsched.RuntimeFailure) is None
