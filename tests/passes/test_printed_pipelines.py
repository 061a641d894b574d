# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What MLIR prints of passes (--dump-pass-pipeline, reproducers) does the same when it is given as --pass-pipeline, whatever the
options of the passes are, to the last bit of a number."""
import concurrent.futures
import os
import random
import re
import subprocess

import pytest
from built import tool
from cases import FIRST, count
from option_modules import write
from test_every_option import MODES, NOWHERE, Runs, given, option_of, options_of

PRECISE = {"density": "0.0123456789012345", "momentum": "0.123456789", "momentum-correction": "0.123456789", "second-moment": "0.123456789",
           "clip": "1.23456789e-7", "epsilon": "1.23456789e-7", "unsent-rate": "0.0123456789"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules")
    write(str(folder))
    made = Runs(str(folder))
    for mode in MODES:
        made.path(mode)
    return made


def printed(mode, text, path):
    """The pipeline of a pass or pipeline with these options, and what it makes of the module; None where they are refused."""
    done = subprocess.run([tool("cs-opt"), f"--{mode.name}" + (f"={text}" if text else ""), "--dump-pass-pipeline", path],
                          capture_output=True, text=True)
    found = re.match(r"Pass Manager with \d+ pass(?:es)?:\n(builtin\.module\(.*?\n\))\n", done.stderr, re.S)
    return (" ".join(found[1].split()), done.stdout) if done.returncode == 0 else None


def other(pipeline, path, made):
    """Empty, or what a printed pipeline does that is not the same."""
    done = subprocess.run([tool("cs-opt"), f"--pass-pipeline={pipeline}", path], capture_output=True, text=True)
    return done.stderr or ("" if done.stdout == made else "makes another module")


def cases(mode):
    """As it is, and with some more options."""
    drawn = random.Random(f"{FIRST} {mode}")
    options = [f"{option}={PRECISE.get(option, value)}" for option in options_of(mode.name) if not given(mode.base, option)
               for value in option_of(mode.name, option).values if value != NOWHERE]
    return [mode.base, *(f"{mode.base} {option}".strip() for option in drawn.sample(options, min(len(options), count(2))))]


def test_printed_pipelines_do_the_same(runs):
    def check(mode):
        path = runs.path(mode)
        for text in cases(mode):
            if (found := printed(mode, text, path)) and (why := other(found[0], path, found[1])):
                return f"{mode}: {text}: {found[0]}: {why}"
        return None
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        wrong = list(filter(None, threads.map(check, MODES)))
    assert not wrong, "\n".join(wrong)


def test_all_options_are_printed_in_some_case():
    """So that an option which cannot be read back is found, if not with the first seed."""
    names = {mode.name for mode in MODES}
    drawable = {(mode.name, option) for mode in MODES for option in options_of(mode.name)
                if given(mode.base, option) or any(value != NOWHERE for value in option_of(mode.name, option).values)}
    every = {(name, option) for name in names for option in options_of(name)}
    assert {option for _, option in every - drawable} == {"profile", "calibration", "schedule-calibration", "nccl-tests"}


@pytest.mark.parametrize("what, by, found", [(r"clip=\S+", "clip=1.234568e-07", True), ('cluster=""', "cluster=", True), ('cluster="" ', "", False)])
def test_what_a_pipeline_lost_is_found(runs, what, by, found):
    mode = next(mode for mode in MODES if mode.module == "plain" and "density" in options_of(mode.name))
    path = runs.path(mode)
    pipeline, made = printed(mode, "density=0.25 min-elements=1 clip=1.23456789e-7", path)
    assert re.search(what, pipeline) and other(pipeline, path, made) == ""
    assert (other(re.sub(what, by, pipeline), path, made) != "") == found
