# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PaddlePaddle: a static program after minimize(), as a distributed program.

    trainer = commsched.paddle.transpile(main_program, trainers=2, pservers=2)
    trainer.run(batches, scheduler=scheduler)      # dictionaries, as feed is
    trainer.load_into()                            # back into the scope

After commsched.init(), in each of the processes that mpirun or torchrun starts, it is one rank of a job.
"""

from .program import Program
from .transpiling import transpile

__all__ = ["Program", "transpile"]
