# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs of PyTorch and PaddlePaddle for storage_job.py, which names them: small ones, whose values are those of each rank, however it began."""
import os
import zlib

import numpy as np

import commsched
from commsched.errors import of_file
from commsched.saved import content_of
from storage_job import STEPS, open_job, rows_of, train

ROWS, SIZE = 8, 12


def drawn(number):
    random = np.random.default_rng([5, number])
    return random.standard_normal((ROWS, SIZE)).astype(np.float32), random.standard_normal((ROWS, 2)).astype(np.float32)


# ---- PyTorch -------------------------------------------------------------------------------------
def torch_model():
    import torch
    from torch import nn
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(SIZE, 9), nn.BatchNorm1d(9), nn.ReLU(), nn.Dropout(0.2), nn.Linear(9, 2))
    return model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def torch_program(**options):
    import torch
    import commsched.torch
    model, optimizer = torch_model()
    return commsched.torch.transpile(model, optimizer, torch.nn.functional.mse_loss, tuple(map(torch.from_numpy, drawn(0))), seed=3, **options)


def torch(path):
    return train(torch_program(cluster=2), path("saved"), drawn)


def torch_rank(path):
    job = open_job()
    return train(torch_program(strategy=commsched.ParameterServers(servers=3, min_block_elements=8)), path("saved"),
                 lambda number: tuple(rows_of(job, drawn(number))), job=job)


def distribute(path):
    """An eager loop with one line; rank 0 writes the file that all ranks go on from."""
    import io
    import torch
    import commsched.torch
    job = open_job()
    model, optimizer = torch_model()
    optimizer = commsched.torch.distribute(model, optimizer)
    saved, step = path("saved"), 0
    if job.broadcast("looks for a file", b"yes" if os.path.exists(saved) else b""):
        state = torch.load(io.BytesIO(content_of(saved)))
        step = state["step"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    while step < STEPS:
        torch.manual_seed(step)
        optimizer.zero_grad()
        x, y = map(torch.from_numpy, rows_of(job, drawn(step)))
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        step += 1
        job.barrier()
        if job.rank == 0 and step % 2 == 0:
            content = io.BytesIO()
            torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, content)
            try:
                with open(f"{saved}.new", "wb") as file:
                    file.write(content.getvalue())
                os.replace(f"{saved}.new", saved)
            except OSError as error:
                raise of_file(error, saved) from None
    optimizer.undistribute()
    return step, {name: zlib.crc32(value.detach().numpy().tobytes()) for name, value in model.named_parameters()}


# ---- PaddlePaddle --------------------------------------------------------------------------------
def paddle_program(**options):
    import paddle
    import commsched.paddle
    paddle.enable_static()
    paddle.seed(1)
    x, y = paddle.static.data("x", [None, SIZE]), paddle.static.data("y", [None, 2])
    net = paddle.nn.Sequential(paddle.nn.Linear(SIZE, 9), paddle.nn.ReLU(), paddle.nn.Dropout(0.2), paddle.nn.Linear(9, 2))
    loss = paddle.nn.functional.mse_loss(net(x), y)
    paddle.optimizer.Momentum(0.05, 0.9).minimize(loss)
    paddle.static.Executor(paddle.CPUPlace()).run(paddle.static.default_startup_program())
    return commsched.paddle.transpile(example_batch=dict(zip("xy", drawn(0))), seed=3, **options)


def paddle(path):
    return train(paddle_program(trainers=2, pservers=2), path("saved"), lambda number: dict(zip("xy", drawn(number))))


def paddle_rank(path):
    job = open_job()
    return train(paddle_program(strategy=commsched.AllReduce(sparse=commsched.Sparse(0.25, "allgather", min_elements=8))), path("saved"),
                 lambda number: dict(zip("xy", rows_of(job, drawn(number)))), job=job)
