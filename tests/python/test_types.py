# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a type checker says: nothing of the package, nor of a user's script that is right (the package has py.typed); of a wrong one,
each mistake."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("mypy", reason="needs mypy (scripts/setup.sh --bench)")

import commsched  # noqa: E402

FOLDER = pathlib.Path(commsched.__file__).parents[1]
RIGHT = '''
from typing import Any

import numpy as np

import commsched


def step(w: Any, x: Any) -> Any:
    return w, x.sum()


x = np.zeros((4, 3), np.float32)
strategies: list[commsched.AllReduce | commsched.ParameterServers] = [commsched.AllReduce(schedule="fifo"), commsched.ParameterServers(servers=2)]
program: commsched.Program = commsched.transpile(step, x[0], x, cluster=2, strategy=strategies[0])
losses: list[dict[str, float]] = program.run([x, x], log=commsched.JsonLines("log"), progress=True)
for metrics in program.stream([x]):
    print(metrics["loss"] + 1.0)
program.save("saved")
program.set_slots({"w": x[0]})
text: str = program.mlir(1)
plan: bytes = program.plan
job: commsched.Job = commsched.init()
replan: commsched.Replan = commsched.Replan(every=5)
print(job.rank + job.size)
'''
WRONG = [
    ("commsched.transpile(step, x[0], x, cluser=2)", "cluser"),
    ("commsched.AllReduce(servers=2)", "servers"),
    ("commsched.ParameterServers(modus='sync')", "modus"),
    ("commsched.transpile(step, x[0], x, strategy='all-reduce')", "strategy"),
    ("program.run(3)", "Iterable"),
    ("number: int = program.mlir(1)", "str"),
    ("commsched.no_such_thing()", "no_such_thing"),
]


def test_the_package(tmp_path):
    """As `mypy` in the repository's folder does."""
    root = pathlib.Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", root / "pyproject.toml", "--cache-dir", tmp_path / "cache"], cwd=root,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_script(tmp_path):
    (tmp_path / "script.py").write_text(RIGHT + "".join(f"{text}\n" for text, _ in WRONG))
    # Frameworks are not followed, which would take minutes.
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file=", "--follow-imports=silent", "--ignore-missing-imports", "--no-site-packages",
                           "--cache-dir", str(tmp_path / "cache"), "script.py"],
                          cwd=tmp_path, env={**os.environ, "MYPYPATH": str(FOLDER)}, capture_output=True, text=True)
    found = {int(n): text for n, text in re.findall(r"^script\.py:(\d+): error: (.*)$", done.stdout, re.M)}
    first = RIGHT.count("\n") + 1
    assert sorted(found) == list(range(first, first + len(WRONG))), done.stdout + done.stderr
    for i, (text, words) in enumerate(WRONG):
        assert words in found[first + i], (text, found[first + i])
    assert (FOLDER / "commsched" / "py.typed").exists()
