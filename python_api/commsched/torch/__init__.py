# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch: a whole training step, the stock optimizer included, as a distributed program.

    program = commsched.torch.transpile(model, optimizer, loss_fn, example_batch, cluster=4)
    program.run(batches, scheduler=scheduler)
    program.load_into(model, optimizer)

After commsched.init(), in each of the processes that torchrun starts, it is one rank of a job.
"""

from .program import Program
from .transpiling import transpile

__all__ = ["Program", "transpile"]
