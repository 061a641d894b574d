# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever a user may call is described: every public name, its public methods too, has a docstring, and a page of docs names it."""

import importlib
import inspect
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = "\n".join(path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
MODULES = {"commsched": None, "commsched.data": None, "commsched.torch": "torch", "commsched.paddle": "paddle"}


def described(value) -> bool:
    """Whether it has a docstring that a person wrote: dataclasses without one get their signature."""
    text = inspect.getdoc(value) or ""
    return len(text) > 15 and not text.startswith(f"{getattr(value, '__name__', '')}(")


def members(kind: type):
    """(name, what it is) of public methods and properties that the package defines."""
    for name in dir(kind):
        found = inspect.getattr_static(kind, name)
        found = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
        of = getattr(found.fget if isinstance(found, property) else found, "__module__", None) or ""
        if not name.startswith("_") and of.startswith("commsched") and (isinstance(found, property) or inspect.isfunction(found)):
            yield name, found


def of_module(name: str) -> "list[tuple[str, object]]":
    module = importlib.import_module(name)
    return [(n, getattr(module, n)) for n in module.__all__]


@pytest.fixture(params=list(MODULES))
def names(request):
    if MODULES[request.param]:
        pytest.importorskip(MODULES[request.param], reason=f"needs {MODULES[request.param]} (scripts/setup.sh --bench)")
    return request.param, of_module(request.param)


def test_docstrings(names):
    module, found = names
    lacking = [name for name, value in found if not described(value)]
    for name, value in found:
        if inspect.isclass(value):
            lacking += [f"{name}.{n}" for n, member in members(value) if not described(member)]
    assert not lacking, f"of {module}"
    assert importlib.import_module(module).__doc__


def test_a_page_names_it(names):
    module, found = names
    assert [name for name, _ in found if not re.search(rf"\b{name}\b", PAGES)] == [], f"of {module}"


def test_modules_say_what_is_in_them(names):
    module, found = names
    assert len(found) == len(dict(found)) and not [name for name, value in found if value is None]
    assert set(dict(found)) <= set(dir(importlib.import_module(module)))


def test_what_is_not_described_is_found():
    class Bare:
        def method(self):
            pass
    Bare.__module__ = Bare.method.__module__ = "commsched.bare"
    assert not described(Bare) and [n for n, m in members(Bare) if not described(m)] == ["method"]
