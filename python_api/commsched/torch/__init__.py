# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch, in three ways.

A whole training step, the stock optimizer included, as a distributed program:

    program = commsched.torch.transpile(model, optimizer, loss_fn, example_batch, cluster=4)
    program.run(batches, scheduler=scheduler)
    program.load_into(model, optimizer)

After commsched.init(), in each of the processes that torchrun starts, it is one rank of a job.

The loop of a script as it is, in eager PyTorch, by one line, instead of DistributedDataParallel:

    optimizer = commsched.torch.distribute(model, optimizer)

And `import commsched.torch.distributed` makes "commsched" a backend of torch.distributed.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .distributing import distribute
    from .program import Program
    from .transpiling import transpile

__all__ = ["Program", "distribute", "transpile"]


def __dir__():
    return sorted({*globals(), *__all__})


def __getattr__(name):  # transpile needs JAX, the others do not
    if name == "Program":
        from .program import Program
        return Program
    if name == "transpile":
        from .transpiling import transpile
        return transpile
    if name == "distribute":
        from .distributing import distribute
        return distribute
    raise AttributeError(f"module 'commsched.torch' has no attribute '{name}'")
