# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank of test_torch_distributed.py: CASE FILE. Trains over gloo and over commsched, and compares losses and parameters; or
compares the functions of torch.distributed with what they are to come to."""
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn

CASE, FILE = sys.argv[1:]


def net(how):
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.Identity() if how == "mixed" else nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 64), nn.GELU(),
                         nn.LayerNorm(64), nn.Linear(64, 5))


def train(how, rank):
    model = net(how)
    if how in ("ddp", "powersgd"):
        trained = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.02 if how == "ddp" else 25)
        if how == "powersgd":
            from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
            trained.register_comm_hook(powerSGD_hook.PowerSGDState(None, 1, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook)
    else:
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
        policy = {"mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)} if how == "mixed" else {}
        for layer in model:
            if isinstance(layer, (nn.Linear, nn.Conv2d)):
                fully_shard(layer, **policy)
        trained = fully_shard(model, **policy)
    optimizer = torch.optim.AdamW(trained.parameters(), lr=1e-2)
    random = torch.Generator().manual_seed(rank + 1)
    losses = []
    for step in range(6):
        x, y = torch.randn(4, 3, 8, 8, generator=random), torch.randint(5, (4,), generator=random)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(trained(x).float(), y)
        loss.backward()
        nn.utils.clip_grad_norm_(trained.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, [(p.full_tensor() if hasattr(p, "full_tensor") else p).detach().clone() for p in model.parameters()]


def functions(rank, size):
    ones = torch.arange(6.0).view(2, 3).t()  # not contiguous
    x = ones + rank
    dist.all_reduce(x)
    assert torch.equal(x, size * ones + sum(range(size)))
    for op, wanted in ((dist.ReduceOp.MAX, size - 1), (dist.ReduceOp.MIN, 0), (dist.ReduceOp.AVG, (size - 1) / 2)):
        x = torch.full((3,), float(rank))
        dist.all_reduce(x, op)
        assert x.tolist() == [wanted] * 3
    for kind in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8):
        x = torch.full((5,), rank + 1).to(kind)
        work = dist.all_reduce(x, async_op=True)
        future = work.get_future().wait()
        assert future[0] is x or torch.equal(future[0], x)
        assert x.tolist() == [size * (size + 1) // 2] * 5
    # What follows a future may post something, and wait for that.
    x = torch.full((3,), float(rank + 1))
    after = dist.all_reduce(x, async_op=True).get_future().then(lambda f: dist.all_reduce(f.value()[0] * 2, async_op=True).get_future().then(lambda g: g.value()[0] + 1).wait())
    assert after.wait().tolist() == [size * size * (size + 1) + 1] * 3
    x = torch.full((2,), rank == 1)
    dist.broadcast(x, 1)
    assert x.all()
    parts = [torch.zeros(2) for _ in range(size)]
    dist.all_gather(parts, torch.full((2,), float(rank)))
    assert torch.stack(parts)[:, 0].tolist() == list(range(size))
    out = torch.zeros(2)
    dist.reduce_scatter(out, [torch.full((2,), float(r + rank)) for r in range(size)])
    assert out.tolist() == [size * rank + sum(range(size))] * 2
    dist.all_to_all_single(out := torch.zeros(size, 2), torch.arange(size)[:, None].expand(size, 2) + 10.0 * rank)
    assert out[:, 1].tolist() == [rank + 10.0 * r for r in range(size)]
    sends, receives = [r + 1 for r in range(size)], [rank + 1] * size
    out = torch.zeros(sum(receives), 3)
    dist.all_to_all_single(out, torch.full((sum(sends), 3), float(rank)), receives, sends)
    assert out[:, 2].tolist() == [float(r) for r in range(size) for _ in range(rank + 1)]
    got = [torch.zeros(r + 1) for r in range(size)]
    dist.all_to_all(got, [torch.full((rank + 1,), float(rank)) for _ in range(size)])
    assert [g.tolist() for g in got] == [[float(r)] * (r + 1) for r in range(size)]
    x = torch.full((3,), float(rank))
    dist.reduce(x, 1)
    assert rank != 1 or x.tolist() == [sum(range(size))] * 3
    parts = [torch.zeros(2) for _ in range(size)] if rank == 1 else None
    dist.gather(torch.full((2,), float(rank)), parts, 1)
    assert rank != 1 or torch.stack(parts)[:, 0].tolist() == list(range(size))
    out = torch.zeros(2)
    dist.scatter(out, [torch.full((2,), float(r)) for r in range(size)] if rank == 1 else None, 1)
    assert out.tolist() == [rank] * 2
    x = torch.full((4,), float(rank))
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, (rank + 1) % size),
                                    dist.P2POp(dist.irecv, y := torch.zeros(4), (rank - 1) % size)])
    for work in works:
        work.wait()
    assert y.tolist() == [(rank - 1) % size] * 4
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in range(size)]
    objects = [f"of rank {rank}"]
    dist.broadcast_object_list(objects, 1)
    assert objects == ["of rank 1"]
    groups = [dist.new_group([0, 1]), dist.new_group([size - 1, 0])]  # of which a rank is in one, or both
    for members, group in zip(([0, 1], [0, size - 1]), groups):
        if rank in members:
            x = torch.full((3,), float(rank))
            dist.all_reduce(x, group=group)
            assert x.tolist() == [sum(members)] * 3
    dist.barrier()
    for call, line in ((lambda: dist.all_reduce(torch.ones(1), dist.ReduceOp.PRODUCT), "all_reduce: reduce op must be SUM, AVG, MAX or MIN, got: PRODUCT"),
                       (lambda: dist.recv(torch.ones(1)), "recv: source must be a rank of the group, got: any"),
                       (lambda: dist.all_reduce(torch.ones(1, dtype=torch.int16)), "elements of int16 cannot be combined by sum"),
                       (lambda: dist.all_reduce(torch.ones(2).to_sparse()), "tensor must be dense, got: torch.sparse_coo")):
        try:
            call()
        except Exception as error:
            assert line in str(error), error
        else:
            raise AssertionError(line)
    dist.barrier()


def main():
    import commsched.torch.distributed  # noqa: F401
    if CASE == "train":
        found = {}
        for backend in ("gloo", "commsched"):
            dist.init_process_group(backend)
            found[backend] = {how: train(how, dist.get_rank()) for how in ("ddp", "powersgd", "fsdp", "mixed")}
            dist.destroy_process_group()
        for how, (losses, values) in found["commsched"].items():
            their_losses, their_values = found["gloo"][how]
            assert losses == their_losses and losses[-1] != losses[0], (how, losses, their_losses)
            assert all(torch.equal(a, b) for a, b in zip(values, their_values, strict=True)), how
        return
    dist.init_process_group("commsched")
    rank, size = dist.get_rank(), dist.get_world_size()
    if CASE == "functions":
        functions(rank, size)
    else:
        dist.barrier()
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            dist.all_reduce(torch.ones(10))
        except Exception as error:
            with open(f"{FILE}.{rank}", "w") as file:
                file.write(str(error))
        return
    dist.destroy_process_group()


main()
