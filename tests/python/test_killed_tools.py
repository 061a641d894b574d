# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tool that is killed while Python waits for it, as by the system for want of memory, is one line that says so; so is a calibration that is none."""
import json
import pathlib
import random
import signal

import numpy as np
import pytest
from cases import cases

import commsched
import mlir_step
from commsched import costs, replan, tools
from commsched.errors import ToolError

SEEDS = pytest.mark.parametrize("seed", cases(2))
LINK = {"from": "rank 0", "to": "rank 1", "latency_ns": 7, "overhead_ns": 5, "bits_per_s": 1000}


@pytest.fixture
def killed(tmp_path, monkeypatch):
    """Makes a tool kill itself with a signal; the others stay what they are."""
    real = {name: tools.find(name) for name in ("cs-opt", "cs-translate", "cs-run")}
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").symlink_to(pathlib.Path(real["cs-run"]).resolve().parents[1] / "lib")

    def kill(tool, number, says):
        for name, path in real.items():
            (tmp_path / "bin" / name).unlink(missing_ok=True)
            if name == tool:
                (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{f'echo {says} >&2' if says else ':'}\nkill -{number:d} $$\n")
                (tmp_path / "bin" / name).chmod(0o755)
            else:
                (tmp_path / "bin" / name).symlink_to(path)
        monkeypatch.setenv("COMMSCHED_BIN", str(tmp_path / "bin"))
    return kill


def compiled(folder):
    return mlir_step.make().plan


def checked(folder):
    return mlir_step.make().check([mlir_step.batch(0)])


def measured(folder):
    with mlir_step.make() as program:
        plan, values = program.plan, program.slots()
    return costs.measured(lambda costs: plan, values, dict(zip("xy", mlir_step.batch(0))), str(folder))


USES = {"cs-opt": [compiled], "cs-translate": [compiled], "cs-run": [checked, measured]}


@SEEDS
@pytest.mark.parametrize("tool, use", [(tool, use) for tool, uses in USES.items() for use in uses])
def test_one_line(killed, tmp_path, tool, use, seed):
    draw = random.Random(f"{tool} {use.__name__} {seed}")
    number, says = draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM]), draw.choice(["", "half of a word"])
    killed(tool, number, says)
    with pytest.raises(ToolError) as raised:
        use(tmp_path)
    said = str(raised.value)
    assert said.startswith(f"{tool} was killed by signal {number:d} ({signal.strsignal(number)})") and "\n" not in said, said
    assert ("memory" in said) == (number == signal.SIGKILL) and (said.endswith(f": {says}") if says else not said.endswith(": ")), said


def test_of_a_new_plan(killed, tmp_path, capsys):
    (tmp_path / "step.mlir").write_text("module {}")
    (tmp_path / "links.json").write_text(json.dumps({"links": [LINK]}))
    killed("cs-opt", signal.SIGKILL, "")
    files = ["--profile", tmp_path / "links.json", "--calibration", tmp_path / "links.json", "--plan", tmp_path / "plan"]
    assert replan.main([str(tmp_path / "step.mlir"), *map(str, files)]) == 1
    assert capsys.readouterr().err.startswith("commsched.replan: cs-opt was killed by signal 9 (Killed), as the system does")
    assert not (tmp_path / "plan").exists()


@pytest.mark.parametrize("text", [b"", b"no JSON", b"\xff\xfe", b"[]", b"7", b"{}", b'{"links": 7}', b'{"links": [7]}', b'{"links": [{"from": "rank 0"}]}',
                                  *(json.dumps({"links": [{**LINK, "bits_per_s": rate}]}).encode() for rate in (0, -1, None, "fast", float("nan"), float("inf")))])
@pytest.mark.parametrize("which", ["--base", "--calibration"])
def test_a_calibration_that_is_none_is_named(tmp_path, capsys, which, text):
    (tmp_path / "step.mlir").write_text("module {}")
    (tmp_path / "good.json").write_text(json.dumps({"links": [LINK]}))
    (tmp_path / "bad.json").write_bytes(text)
    files = {"--profile": "good.json", "--calibration": "good.json", "--base": "good.json", "--plan": "plan", which: "bad.json"}
    assert replan.main([str(tmp_path / "step.mlir"), *(word for name, file in files.items() for word in (name, str(tmp_path / file)))]) == 1
    assert capsys.readouterr().err == f"commsched.replan: {tmp_path}/bad.json: must be a file of cs-run --calibrate, which has links with rates\n"


def test_where_tools_are_linked_to(tmp_path, monkeypatch):
    """COMMSCHED_BIN may be a link, or say where from here."""
    real = pathlib.Path(tools.find("cs-run")).parent
    (tmp_path / "link").symlink_to(real)
    monkeypatch.setenv("COMMSCHED_BIN", str(tmp_path / "link"))
    with mlir_step.make() as program:
        assert np.isfinite(program.run([mlir_step.batch(0)])[0]["loss"])
    from commsched import native
    found = native._find()
    monkeypatch.chdir(real)
    monkeypatch.setenv("COMMSCHED_BIN", ".")
    assert native._find() == found and commsched.tools.find("cs-run") == str(real / "cs-run")
