# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tests/cases.py and tests/cases.h take the same texts, for the same numbers of cases, and refuse the same in the same line."""
import fractions
import math
import os
import pathlib
import runpy
import subprocess

import pytest
from built import ROOT, tool

BUDGET = 4


def of_python(environment):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("COMMSCHED_TEST_SEED", "COMMSCHED_TEST_TIMES"):
            patch.delenv(name, raising=False)
        for name, text in environment.items():
            patch.setenv(name, text)
        try:
            made = runpy.run_path(str(ROOT / "tests" / "cases.py"))
        except ValueError as error:
            return str(error)
    assert made["cases"](BUDGET) == range(made["FIRST"], made["FIRST"] + made["count"](BUDGET))
    return made["count"](BUDGET)


def of_fuzz(environment, path):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COMMSCHED_TEST_")}
    done = subprocess.run([tool("cs-fuzz"), "--cases", str(BUDGET), path], capture_output=True, text=True, env={**clean, **environment})
    if done.returncode != 0:
        return done.stderr.strip().removeprefix("error: ")
    return int(done.stdout.split()[0])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file: pathlib.Path = tmp_path_factory.mktemp("cases") / "nothing.mlir"
    file.write_text("module {\n}\n")
    return file


@pytest.mark.parametrize("times", ["1", "2", "0.5", ".75", "5.", "0.001", "00.25", "1.9", "10.0", None])
def test_numbers(times, path):
    given = {} if times is None else {"COMMSCHED_TEST_TIMES": times}
    wanted = max(1, math.floor(BUDGET * fractions.Fraction(times or "1")))
    assert of_python(given) == of_fuzz(given, path) == wanted


@pytest.mark.parametrize("name, must, texts", [
    ("COMMSCHED_TEST_TIMES", "a number above 0, 100000 at most", ["", "0", "0.0", "-1", "+1", "inf", "nan", "1e3", "0x10", " 1", "1 ", "100001", "1,5", ".", "x", "1.2.3"]),
    ("COMMSCHED_TEST_SEED", "a whole number below 2^31", ["", "-1", "+1", "1.5", "x", "2147483648", "99999999999", " 1", "1 ", "0x1"])])
def test_what_is_no_number_is_refused(name, must, texts, path):
    for text in texts:
        assert of_python({name: text}) == of_fuzz({name: text}, path) == f"{name} must be {must}, got: '{text}'"


def test_the_greatest_seed(path):
    given = {"COMMSCHED_TEST_SEED": str(2**31 - 1)}
    assert of_python(given) == of_fuzz(given, path) == BUDGET
