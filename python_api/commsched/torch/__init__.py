# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch, in two ways.

A whole training step, the stock optimizer included, as a distributed program:

    program = commsched.torch.transpile(model, optimizer, loss_fn, example_batch, cluster=4)
    program.run(batches, scheduler=scheduler)
    program.load_into(model, optimizer)

After commsched.init(), in each of the processes that torchrun starts, it is one rank of a job.

`import commsched.torch.distributed` makes "commsched" a backend of torch.distributed.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .program import Program
    from .transpiling import transpile

__all__ = ["Program", "transpile"]


def __dir__():
    return sorted({*globals(), *__all__})


def __getattr__(name):  # transpile needs JAX, the others do not
    if name == "Program":
        from .program import Program
        return Program
    if name == "transpile":
        from .transpiling import transpile
        return transpile
    raise AttributeError(f"module 'commsched.torch' has no attribute '{name}'")
