# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tables of rules of all frameworks have in common: how a rule is registered, what it draws from, and what
becomes of an operation that it cannot do."""

from __future__ import annotations

import contextlib
from typing import Callable, Iterator, Optional

import jax

from ..errors import FrontEndError, UnsupportedOp
from .located import first_failure


class NoRule(Exception):
    """This form of the operation has none."""


def registering(rules: "dict[str, Callable]") -> "Callable[..., Callable]":
    """The decorator rule(name...), which enters a function into `rules`."""
    def rule(*names: str) -> Callable:
        def register(function):
            for name in names:
                assert name not in rules, name
                rules[name] = function
            return function
        return register
    return rule


def keys(random: "Optional[jax.Array]") -> "Callable[[], jax.Array]":
    """Gives a key of `random` that nothing else draws from with each call; NoRule if that is None."""
    count = 0

    def key():
        nonlocal count
        if random is None:
            raise NoRule("no random keys here")
        count += 1
        return jax.random.fold_in(random, count - 1)
    return key


@contextlib.contextmanager
def applied(name: str, place: Optional[str]) -> "Iterator[None]":
    """Around the rule of the operation `name`, which the user has at `place`: what fails is an UnsupportedOp."""
    try:
        yield
    except NoRule as why:
        raise UnsupportedOp(f"{name} with {why}", place) from why
    except FrontEndError:
        raise
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, NotImplementedError, ValueError) as error:
        # A form of the operation that its rule did not think of: still its name and the line.
        raise UnsupportedOp(f"{name} in this form ({first_failure(error)})", place) from error
