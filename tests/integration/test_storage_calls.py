# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One system call of the tools that touches a file fails, or does only a part, or is the last one of its process or of the job: a drawn
one, of any process, with a drawn error, once or from then on. What was asked for is there, or there is one line that names a file and
the reason; what was saved is whole, and the job goes on from there to the bits of an undisturbed one."""
import os
import random
import subprocess

import pytest
from cases import cases
from conftest import CLUSTER, EXAMPLES, TIME_LIMIT, compile_plan, tool
from servers import DIGITS_DATA, digits_plan
from storage import Fault, Storage, drawn

SEEDS = pytest.mark.parametrize("seed", cases(3))
KINDS = ("threads", "ranks", "servers", "reported", "simulated", "tuned", "lowered", "translated")

SPAWNED = ("ranks", "servers", "reported")  # on a disk that goes on failing each process may miss a file of its own


class Work:
    """A command, again and again in one folder after the other."""

    def __init__(self, folder, linear, linear_data):
        self.folder, self.whole, self.linear = folder, {}, linear
        sparse = compile_plan(CLUSTER.format(nodes=3) + (EXAMPLES / "linear.mlir").read_text(), folder / "storage.plan",
                              "--cs-all-reduce-pipeline=density=0.25 sparse-method=allgather min-elements=1")
        other = compile_plan(CLUSTER.format(nodes=3) + (EXAMPLES / "linear.mlir").read_text(), folder / "fifo.plan",
                             "--cs-all-reduce-pipeline=schedule=fifo")
        self.init, self.batch = linear_data[:2], linear_data[2:]
        self.plans = {"sparse": sparse, "servers": digits_plan(folder), "other": other}
        self.scheduled = folder / "storage.mlir"
        subprocess.run([tool("cs-opt"), "--cs-all-reduce-pipeline", EXAMPLES / "digits.mlir", "-o", self.scheduled], check=True)

    def command(self, kind, place):
        """What is to be run, and the files that must have the same bytes in the end."""
        run, params = tool("cs-run"), place / "params"
        if kind == "servers":
            return [run, "--spawn", self.plans["servers"], *DIGITS_DATA, "--epochs", 1, "--checkpoint", place / "saved", "--checkpoint-every", 4,
                    "--resume", place / "saved", "--save-params", params], [params]
        if kind in ("threads", "ranks"):
            begin = ["--resume", place / "saved"] if (place / "saved").exists() else self.init
            return [run, *(["--spawn"] if kind == "ranks" else []), self.plans["sparse"], *begin, *self.batch, "--epochs", 1, "--checkpoint",
                    place / "saved", "--checkpoint-every", 40, "--save-params", params], [params]
        if kind == "reported":
            return [run, "--spawn", self.linear[3], *self.init, *self.batch, "--steps", 12, "--save-params", params, "--report",
                    place / "report.html", "--profile", place / "profile", "--metrics-json", place / "metrics"], [params]
        if kind == "simulated":
            return [run, self.linear[3], "--simulate", "--trace", place / "trace"], [place / "trace"]
        if kind == "tuned":
            return [run, self.linear[3], *self.init, *self.batch, "--steps", 60, "--tune", self.plans["other"], "--tune-steps", 3, "--replan-folder",
                    place / "plans", "--save-params", params], [params]
        if kind == "lowered":
            return [tool("cs-opt"), "--cs-all-reduce-pipeline", EXAMPLES / "digits.mlir", f"--report={place / 'report.html'}", "-o",
                    place / "scheduled"], [place / "scheduled"]
        return [tool("cs-translate"), "--mlir-to-plan", self.scheduled, "-o", place / "plan"], [place / "plan"]

    def run(self, kind, place, decide=lambda call: None):
        """(status, standard error), the files, and the calls."""
        (place / "tmp").mkdir(exist_ok=True)
        seen = Storage([place, self.folder], decide)
        command, files = self.command(kind, place)
        process = seen.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=place / "tmp", start_new_session=True,
                             env={**os.environ, "TMPDIR": str(place / "tmp")})
        self.group = process.pid
        try:
            _, error = process.communicate(timeout=TIME_LIMIT * 4)
        finally:
            process.kill()
        seen.wait()
        return (process.returncode, error), files, seen.calls

    def expected(self, kind, tmp_path):
        if kind not in self.whole:
            place = tmp_path / f"undisturbed {kind}"
            place.mkdir()
            result, files, calls = self.run(kind, place)
            assert result[0] == 0 and all("warning: " in line for line in result[1].splitlines()), result
            self.whole[kind] = [file.read_bytes() for file in files], len(calls)
        return self.whole[kind]

    def wrong(self, kind, place, fault, whole_job=False):
        """What is not as it must be, in words."""
        expected, _ = self.whole[kind]
        found = []

        def decide(call):
            what = fault(call)
            if what == "kill" and whole_job:
                os.killpg(self.group, 9)
            return what
        (status, error), files, _ = self.run(kind, place, decide)
        if fault.call is None:
            return found
        lines = [line for line in error.splitlines() if "warning: " not in line]
        if status == 0 and (lines or [file.read_bytes() for file in files] != expected):
            found.append(f"it has succeeded otherwise: {error}")
        elif status not in (0, 1) and not (fault.what == "kill" and (status == -9 or status > 0 and len(lines) == 1)):
            found.append(f"it has ended otherwise: {status} {error}")
        elif status == 1 and len(lines) != 1 and not (fault.lasting and kind in SPAWNED and lines):
            found.append(f"there is not one line: {error}")
        if status == 1 and isinstance(fault.what, int):
            if not all(os.strerror(fault.what) in line for line in lines):
                found.append(f"the line does not say why: {error}")
            if str(place) not in error and str(self.folder) not in error and "examples/" not in error:
                found.append(f"the line does not say what: {error}")
        again, files, _ = self.run(kind, place)
        if again[0] != 0 or [file.read_bytes() for file in files] != expected:
            found.append(f"it does not go on as if nothing had been: {again}")
        left = [str(path) for path in place.rglob("*") if (".part" in path.name or ".unfinished" in path.name) and path.parent != place / "tmp"]
        if left and kind not in ("lowered", "translated"):
            found.append(f"half files are left: {left}")
        return found


@pytest.fixture(scope="module")
def work(folder, linear, linear_data):
    return Work(folder, linear, linear_data)


@SEEDS
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_fails(work, tmp_path, kind, seed):
    random_ = random.Random(f"{kind} {seed}")
    _, calls = work.expected(kind, tmp_path)
    fault = drawn(random_, calls)
    place = tmp_path / "place"
    place.mkdir()
    assert not work.wrong(kind, place, fault, random_.random() < 0.5), str(fault)


class Loses(Fault):
    """Ends the process where it has saved once, and nearly twice, with all that it had saved cut short."""

    def __init__(self, place):
        super().__init__(0, None, False)
        self.place = place

    def __call__(self, call):
        if call.name != "rename" or self.call is not None:
            return None
        self.count += 1
        if self.count < 8:
            return None
        self.call, self.what = call, "kill"
        for path in self.place.glob("saved*"):
            path.write_bytes(path.read_bytes()[:-1])
        return "kill"


def test_what_is_lost_is_found(work, tmp_path):
    work.expected("threads", tmp_path)
    place = tmp_path / "place"
    place.mkdir()
    assert any("does not go on" in text for text in work.wrong("threads", place, Loses(place)))
