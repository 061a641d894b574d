# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What sweeps over the arguments of public functions have in common: kinds of values that arguments must not be, and how one is refused."""
import contextlib
import inspect
import os

import numpy as np
import pytest

import commsched

class Integers(list):
    """What is no such integer: integers of NumPy are."""


class Numbers(list):
    """What is no such number: those of NumPy are."""


class Switches(list):
    """What is neither True nor False: those of NumPy are."""


NAN, INF = float("nan"), float("inf")
NO_NUMBER = Numbers([NAN, INF, -INF, -1, -0.5, True, "x", "1", "", [], {}, (1,), object(), np.zeros(2), 1j, 10**400, np.True_])
NO_TEXT = [0, 1, 1.5, True, b"x", [], ["x"], {}, object(), np.zeros(2)]


def integers(least, *more, most=None):
    """Kinds of values: what is none of them."""
    return Integers([least - 1, -(1 << 70), 1 << 70, 0.5, 2.0, True, False, NAN, INF, "1", "x", "", [], [1], {}, object(), np.zeros(2), np.float32(2),
                     *([] if most is None else [most + 1]), *more])


COUNT, INDEX, ANY_INTEGER = integers(1), integers(0), integers(-(1 << 63))
NUMBER, POSITIVE = NO_NUMBER, Numbers([*NO_NUMBER, 0, 0.0])
SWITCH = Switches([0, 1, 2.0, "yes", "true", "", [], {}, object(), np.ones(1), NAN, np.int64(1)])
CHOICE = [*NO_TEXT, "", "nothing", "AUTO", " auto", "auto\n"]
PATH = [0, 1, 2.5, True, [], ["x"], {}, object(), "", "a\0b", b"x", NAN]
TEXT = [*NO_TEXT, ""]
LINE = [*NO_TEXT, "a\0b", "a\nb", "\ud800"]  # of one line, for the runtime
DATA = [0, 1, 1.5, True, "x", "", [], [1], {}, object()]  # no bytes
ANYTHING = []  # of the caller's, or for another library: nothing is known of it


def required(kind):
    """Not None either."""
    return type(kind)([*kind, None])


def parameters_of(function):
    """Names of what a function, a class or a method is given."""
    names = list(inspect.signature(function).parameters)
    return names[1:] if names[:1] == ["self"] else names


def methods_of(kind):
    """By name: public methods that a class of this package has, and its context manager's and operators' that take an argument."""
    found = {}
    for name in dir(kind):
        function = inspect.getattr_static(kind, name)
        function = function.__func__ if isinstance(function, (staticmethod, classmethod)) else function
        of = getattr(function, "__module__", None) or ""
        if inspect.isfunction(function) and of.startswith("commsched") and (not name.startswith("_") or name == "__getitem__"):
            found[name] = parameters_of(function)
    return found


def check_tables(found, arguments, elsewhere):
    """found: parameters by function. Each has a case for every one of them, or a reason why it has none."""
    for name, parameters in found.items():
        excused = name in elsewhere or name.split(".")[0] in elsewhere
        assert name in arguments or excused or not parameters, f"{name} has no case"
        if name in arguments:
            assert sorted(arguments[name]) == sorted(parameters), name
    assert not set(arguments) - set(found)
    assert not set(arguments) & set(elsewhere)


def refused(call, *names, error=commsched.CommSchedError, value=None):
    """None, or what is wrong with how a call is refused: it must be by this error, in one line with one of these names. A value that is a
    text is told as Python writes it, or by its type, where not the runtime says what is wrong with it."""
    try:
        call()
    except error as caught:
        text = str(caught)
        own = isinstance(caught, commsched.FrontEndError) and not isinstance(caught, commsched.ToolError)
        if own and isinstance(value, str) and "got: " in text and not any(said in text for said in (repr(value), "got: str", os.path.abspath(value))):
            return f"is refused by {type(caught).__name__}: {text!r}, which must have {value!r} as Python writes it"
        if len(text.splitlines()) != 1 or not any(name in text for name in names):
            return f"is refused by {type(caught).__name__}: {text!r}, which must be one line with {' or '.join(names)}"
        return None
    except Exception as caught:
        return f"ends with {type(caught).__name__}: {caught}"
    return "is accepted"


def refusals(arguments, call, function, named={}, error=commsched.CommSchedError):
    """What is wrong with how a function refuses what its arguments must not be. call(function, argument=value)."""
    return [f"{function}({argument}={value!r}) {why}" for argument, values in arguments[function].items() for value in values
            if (why := refused(lambda: call(function, **{argument: value}), *named.get((function, argument), [argument]), error=error, value=value))]


@contextlib.contextmanager
def job_of_one():
    """This process as a job of one rank, also where it has been one before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commsched.job, "_current", None)
        with commsched.init() as job:
            yield job


def as_of_ranks(patch, module, job):
    """transpile() of this module makes what it makes in a job of several ranks."""
    patch.setattr(module, "made", lambda alone, ranks, *arguments, **options: ranks(*arguments, job=job, **options))
