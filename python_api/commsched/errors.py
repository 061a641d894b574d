# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong, as exceptions of one family."""

import signal


class CommSchedError(Exception):
    """Any error of this package."""


def of_file(error: OSError, path: str) -> OSError:
    """The same error, of the file that its user knows: that a disk is full is said of none, and what is renamed later has another name."""
    return OSError(error.errno, error.strerror, path)


class FrontEndError(CommSchedError, ValueError):
    """The step cannot be turned into a program: the message says what to change."""


class UnsupportedOp(FrontEndError):
    """An operation of the framework that is not covered.

    name: the operation ("stablehlo.sort"); location: source line of the user, or None.
    """

    def __init__(self, name: str, location=None):
        self.name, self.location = name, location
        super().__init__(f"{location.replace(chr(34), '') + ': ' if location else ''}operation {name} is not supported")


class UnknownName(FrontEndError, KeyError):
    """There is nothing of the name that an argument has."""

    __str__ = Exception.__str__  # not a KeyError's, which quotes it


class MixedSamples(UserWarning):
    """The gradients of a step are no means over the samples of the batch, such as those of a loss of all pairs, behind a batch norm, or with weights by the
    samples' places: each worker has those of its part, and their mean is another one than that of one device on the whole batch. Or a metric is
    none, of which the mean of those of the parts is reported. It says where, in one line."""


class UncheckedSamples(MixedSamples):
    """Whether the gradients of a step are means over the samples of the batch could not be told, as it is another step with other numbers of samples, or takes
    one number only. It says why, in one line; who knows that they are ignores it."""


class NothingDone(UserWarning):
    """What was asked for is nothing here: a new plan, or measured links, for one worker that sends nothing; steps for batches of which none came, or
    fewer than their length says. It says what, in one line."""


class ToolError(CommSchedError):
    """A compiler tool is missing or failed: the message holds its diagnostics."""


class RefusedProgram(FrontEndError, ToolError):
    """The compiler refuses the program: the message is its diagnostic, at the line of the step.

    location: source line of the user, or None.
    """

    def __init__(self, message: str, location=None):
        self.location = location
        super().__init__(f"{location}: {message}" if location else message)


class CheckError(CommSchedError):
    """A program computes something else than its step. table: of all tensors (commsched.Checked)."""

    def __init__(self, message: str, table: list):
        self.table = table
        super().__init__(message)


class RuntimeFailure(CommSchedError):
    """The runtime reported an error."""


class JobError(RuntimeFailure):
    """Joining a job failed, or what its ranks do together."""


class Interrupted(KeyboardInterrupt):
    """All ranks of a job have stopped after the same step, because a signal asked one of them to.

    signal: its number; steps: of the program, that are done.
    """

    def __init__(self, number: int, steps: int):
        self.signal, self.steps = number, steps
        super().__init__(f"ended by signal {number} ({signal.strsignal(number)}) after step {steps}")


class SampleError(CommSchedError):
    """A sample could not be read or prepared. index: of the sample in its source; __cause__: the error."""

    def __init__(self, what: str, index: int, error=None):
        self.index = index
        super().__init__(f"{what}: {type(error).__name__}: {error}" if error is not None else what)
