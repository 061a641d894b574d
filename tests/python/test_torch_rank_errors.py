# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How jobs of ranks that train models of PyTorch end that do not go well, and what must be the same on all of them."""
import signal
import socket

import pytest

pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")

from rank_job import (endless, ended, free_port, one_line, outputs, run, script, start, start_all, token_file,  # noqa: E402
                      wait_until_running)

STEP = """
import sys
import numpy as np
import torch
from torch import nn
from torch.optim import lr_scheduler
import commsched
import commsched.torch

random = torch.Generator().manual_seed(0)
BATCHES = [(torch.randn(12, 6, generator=random), torch.randint(0, 3, (12,), generator=random)) for _ in range(20)]

def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))

def sgd(model, **options):
    return torch.optim.SGD(model.parameters(), **{"lr": 0.1, **options})

def make(model=None, optimizer=None, loss=nn.CrossEntropyLoss(), **options):
    model = model or net()
    return commsched.torch.transpile(model, optimizer or sgd(model), loss, BATCHES[0], **options)
"""


def test_killed_rank(tmp_path):
    ranks = start_all(endless(tmp_path, step=STEP), 3, token_file(tmp_path))
    wait_until_running(tmp_path, ranks)
    ranks[1].kill()
    results = ended(ranks)
    assert results[1][0] == -signal.SIGKILL
    for rank in (0, 2):
        one_line(results[rank], f"rank {rank}: ", "peer 1")


def test_interrupt_of_one_rank_stops_all(tmp_path):
    more = """
    scheduler = lr_scheduler.ExponentialLR(program._step.optimizer, 0.999)
    try:
        program.run(batches(), scheduler=scheduler)
    except KeyboardInterrupt as error:
        model = net(1)
        program.load_into(model)
        print(error.steps == program.steps > 30, [p.detach().numpy().tobytes().hex() for p in model.parameters()], flush=True)
        raise
    """
    ranks = start_all(endless(tmp_path, more, step=STEP), 2, token_file(tmp_path))
    wait_until_running(tmp_path, ranks)
    ranks[1].send_signal(signal.SIGINT)
    (status, out, errors), other = ended(ranks)
    one_line((status, out, errors), "rank 0: ended by signal 2 (", "after step ", status=130)
    assert other == (130, out, []) and out[0].startswith("True ")


def test_wrong_token_and_port_taken(tmp_path):
    path = script(tmp_path, "make()", init="commsched.init(deadline=5)", step=STEP)
    port = free_port()
    first, second = ended([start(path, rank, 2, port, COMMSCHED_TOKEN_FILE=token_file(tmp_path, "the token of the ranks here"[:20 + rank]))
                           for rank in range(2)])
    one_line(first, "rank 1 did not come")
    one_line(second, "the token must match that of rank 0")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, token = listener.getsockname()[1], token_file(tmp_path)
        first, second = ended([start(path, rank, 2, port, COMMSCHED_TOKEN_FILE=token) for rank in range(2)])
    one_line(first, f"port {port} of 127.0.0.1 cannot be listened on")
    one_line(second, "rank 0 was not met")


def test_another_seed_that_nobody_catches(tmp_path):
    for result in run(script(tmp_path, "make(net(job.rank)).run(own(BATCHES))", step=STEP), 2, token_file(tmp_path)):
        one_line(result, "value of '0.weight' must match that of rank 0 on all ranks, got: another one on rank 1")


def test_what_must_be_the_same_and_what_is_refused(tmp_path):
    text = """
        def refused(call, *words, kind=commsched.JobError):
            try:
                call()
            except kind as error:
                assert all(w in str(error) for w in words) and "\\n" not in str(error), error
            else:
                raise AssertionError(words)

        class Constant(nn.Module):
            def __init__(self, value):
                super().__init__()
                self.linear, self.value = nn.Linear(6, 3), torch.full((1000,), float(value))

            def forward(self, x):
                return self.linear(x) * self.value.mean()

        def constant():
            torch.manual_seed(0)
            return Constant(job.rank)
        drop = lambda: nn.Sequential(net(), nn.Dropout())
        trained = net()
        momentum = sgd(trained, momentum=0.9)
        nn.CrossEntropyLoss()(trained(BATCHES[0][0]), BATCHES[0][1]).backward()
        if job.rank:
            momentum.step()
            trained.load_state_dict(net().state_dict())
        step = "step must match that of rank 0 on all ranks, got: another one on rank 1"
        values = "value of {} must match that of rank 0 on all ranks, got: another one on rank 1"
        refused(lambda: make(constant()), step)
        refused(lambda: make(loss=nn.CrossEntropyLoss(label_smoothing=0.1 * job.rank)), step)
        refused(lambda: make(before_update=(lambda m: nn.utils.clip_grad_norm_(m.parameters(), 1.0)) if job.rank else None), step)
        refused(lambda: make(drop(), seed=job.rank).run(own(BATCHES)), values.format("'seed'"))
        refused(lambda: make(trained, momentum).run(own(BATCHES)), values.format("'optimizer.0.weight.momentum_buffer'"))
        refused(lambda: make().run(BATCHES), "batch 'batch.0' must match float32[6, 6] (the rows of one of 2 ranks), got: float32[12, 6]",
                kind=(commsched.FrontEndError, commsched.RuntimeFailure))  # the own one, or that of the rank that was first
        refused(lambda: make(cluster=4), "cluster must match the job's 2 ranks, got: 4", kind=commsched.FrontEndError)

        # Rates that part ways: before a run, by a scheduler of one rank, by another scheduler.
        model = net()
        optimizer = sgd(model, lr=0.1 + 0.1 * job.rank)
        program = make(model, optimizer)
        refused(lambda: program.run(own(BATCHES)),
                "rates, and the scheduler, must match [0.1, None] of rank 0 on all ranks, got: [0.2, None] on rank 1")
        optimizer.param_groups[0]["lr"] = 0.1
        one = lr_scheduler.ConstantLR(optimizer, 1.0) if job.rank else None
        refused(lambda: program.run(own(BATCHES), scheduler=one), "[0.1, None] of rank 0 on all ranks, got: [0.1, 'ConstantLR'] on rank 1")
        program.run(own(BATCHES[:2]))
        refused(lambda: program.run(own(BATCHES), scheduler=lr_scheduler.StepLR(optimizer, 3 + job.rank, 0.5)),
                "rates of the optimizer must match [0.05] of rank 0 on all ranks, got: [0.1] on rank 1")
        print(program.steps)
    """
    first, second = outputs(run(script(tmp_path, text, step=STEP), 2, token_file(tmp_path)))
    assert first == second == ["5"]


RATED = """
        import time
        model = net()
        optimizer = sgd(model)
        program = make(model, optimizer, strategy=commsched.ParameterServers(servers=2, min_block_elements=1){more})
        def batches():
            for batch in {batches}:
                if job and job.rank == 0:
                    time.sleep(0.02)  # others are ahead
                yield batch
        metrics = program.run(batches(), scheduler=lr_scheduler.ExponentialLR(optimizer, 0.8))
        print([m["loss"].hex() for m in metrics])
"""


def test_rates_that_change_reach_servers_between_steps(tmp_path):
    (tmp_path / "threads").mkdir()
    threads = script(tmp_path / "threads", RATED.format(more=", cluster=3", batches="BATCHES"), init="None", step=STEP)
    (status, expected, errors), = ended([start(threads, 0, 1, free_port())])
    assert status == 0, errors
    path = script(tmp_path, RATED.format(more="", batches="own(BATCHES)"), step=STEP)
    for out in outputs(run(path, 3, token_file(tmp_path))):
        assert out == expected


def test_rates_that_change_are_refused_where_servers_are_processes_of_their_own(tmp_path):
    path = script(tmp_path, RATED.format(more="", batches="own(BATCHES)"), init="commsched.init(deadline=30, servers=2)", step=STEP)
    results = run(path, 4, token_file(tmp_path))
    for status, out, errors in results[:2]:
        assert (status, out) == (1, []) and "rates must stay as they are within a run where parameter servers are processes" in errors[-1], errors
    for status, _, errors in results[2:]:
        assert status == 1 and len(errors) == 1, errors
