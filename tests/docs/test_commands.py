# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands that the documentation shows run, and print what it quotes: blocks of them are run as they stand, those of a page one after the other
in one folder, which has the files that they name. A comment before a block, which no reader sees, may say:

    <!-- not run: WHY -->                   none of it
    <!-- not run, "A", "B": WHY -->         no command that begins so
    <!-- printed -->                        these lines, in this order, are printed by the commands before; "..." is anything
    <!-- printed, with other numbers -->    the same, but for the numbers

" ..." at the end of a command stands for the options that anybody would have to give."""
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from safetensors.numpy import save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
from blocks import PAGES, blocks, of_page  # noqa: E402
from built import tool  # noqa: E402

EXAMPLES = ROOT / "examples"
BIN = pathlib.Path(tool("cs-run")).parent
LIMIT = 600  # seconds; only ends a hang
# What a command begins with, and no line of what they print.
COMMAND = re.compile(r"(?:\$ )?(?:sudo |\w+=\S* +)*(?:(?:\$bin/|build/\S*/)?cs-(?:opt|run|translate|lsp-server) |bash |bin=|pip |python3? |torchrun |mpirun |srun |sbatch "
                     r"|mlir-opt |cmake |ninja |ctest |for \w+ in |openssl |kubectl |\(umask |bench/|scripts/)")
NOT_RUN = re.compile(r'not run(?P<some>(?:, "[^"]+")*): \S.*')
PRINTED = re.compile(r"printed(?P<others>, with other numbers)?")
TIME, NUMBER = re.compile(r"[\d.]+(?= s\b)"), re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?")
# In the place of " ...", by what stands before it.
REST = {"cs-opt": "model.mlir -o model.schedule.mlir", "cs-run": "--init init.safetensors --batch train.npz --epochs 1"}
WORKERS, SERVERS = "--cs-all-reduce-pipeline", "--cs-parameter-server-pipeline=servers=2"
PLANS = {"docs/running.md": SERVERS, "docs/parameter-server.md": SERVERS}  # how the file "plan" was made; elsewhere of workers alone
NODES = {"docs/simulator.md": 2}  # of the cluster in "lab.mlir"
TRAIN = """import commsched, jax, jax.numpy as jnp, numpy as np
def step(w, x, y):
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - 0.1 * gradient, loss
job = commsched.init()
x = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
program = commsched.transpile(step, jnp.zeros(5), x, x.sum(1), batch=(1, 2))
mine = slice(8 // job.size * job.rank, 8 // job.size * (job.rank + 1))
program.run([(x[mine], x.sum(1)[mine])] * 3)
"""


def is_command(block):
    return block.language in ("", "sh", "bash") and any(COMMAND.match(line) for line in block.text.splitlines())


def commands(block):
    """Those of it that are run, and the lines that they print."""
    mark = NOT_RUN.fullmatch(block.mark)
    left_out = tuple(re.findall(r'"([^"]+)"', mark["some"])) if mark else ()
    if mark and not left_out:
        return [], []
    prompts = any(line.startswith("$ ") for line in block.text.splitlines())
    run, printed, whole = [], [], ""
    for line in block.text.splitlines():
        if prompts and not whole and not line.startswith("$ "):
            printed.append(line)
            continue
        whole += line.removeprefix("$ ") + "\n"
        goes_on = line.endswith("\\") or whole.startswith("for ") and line != "done"
        if not goes_on:
            if whole.strip() and not (left_out and whole.startswith(left_out)):
                run.append(whole)
            whole = ""
    assert not whole, f"{block}: the last command does not end"
    return run, printed


def with_the_rest(command):
    """Options in the place of " ..."."""
    def options(match):
        return f"{match[1]} {next((rest for kind, rest in REST.items() if kind in match[1]), '...')}"
    return re.sub(r"^([^#\n]*?) \.\.\.(?= |$)", options, command, flags=re.M)


def expect_printed(shown, output, others, where):
    """The lines stand in the output, in this order."""
    def plain(text):
        return " ".join((NUMBER if others else TIME).sub("0", text).split())
    lines, at = [plain(line) for line in output.splitlines()], 0
    for line in map(str.strip, shown):
        if line in ("...", ""):
            continue
        wanted = re.compile(".*".join(map(re.escape, re.split(r"\.\.\.", plain(line)))))
        while at < len(lines) and not wanted.fullmatch(lines[at]):
            at += 1
        assert at < len(lines), f'{where}: "{line}" is not printed, or not behind the line before it:\n{output}'
        at += 1


@functools.cache
def plan_of_digits(pipeline):
    """The bytes of the plan."""
    scheduled = subprocess.run([tool("cs-opt"), pipeline, EXAMPLES / "digits.mlir"], capture_output=True, check=True, timeout=LIMIT)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "plan")
        subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", path], input=scheduled.stdout, check=True, timeout=LIMIT)
        return path.read_bytes()


def made(folder, plan=WORKERS, nodes=4):
    """The files that commands name and that no command of the page makes."""
    for names, source in ((("step.mlir", "model.mlir"), EXAMPLES / "digits.mlir"), (("init.safetensors", "INIT"), EXAMPLES / "digits.init.safetensors"),
                          (("train.npz", "data.npz", "DATA"), EXAMPLES / "digits.train.npz"),
                          (("vgg16.graph.txt",), ROOT / "tests/passes/profile/Inputs/net.graph.txt")):
        for name in names:
            shutil.copy(source, folder / name)
    with np.load(EXAMPLES / "digits.train.npz") as arrays:
        save_file({name: np.ascontiguousarray(arrays[name]) for name in arrays.files}, folder / "train.safetensors")
    lab = re.search(r"^cs\.cluster @lab .*\n .*\n", (ROOT / "docs/levels.md").read_text(), re.M)[0]
    (folder / "lab.mlir").write_text(lab.replace("nodes = 4", f"nodes = {nodes}"))
    (folder / "train.py").write_text(TRAIN)
    for name, where in (("examples", EXAMPLES), ("build/release/bin", BIN), ("build/release/lib", BIN.parent / "lib")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(where)
    for name, how in (("plan", plan), ("PLAN", WORKERS), ("step.plan", WORKERS)):
        (folder / name).write_bytes(plan_of_digits(how))


def run_block(block, folder):
    """What its commands print."""
    run, printed = commands(block)
    script = "\n".join(["set -euo pipefail", "bin=build/release/bin", *map(with_the_rest, run)])
    path = [str(BIN), str(pathlib.Path(sys.executable).parent), "/usr/lib/llvm-22/bin", os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(path), "PYTHONPATH": str(ROOT / "python_api"), "COMMSCHED_BIN": str(BIN),
                   # As examples/launch/mpirun.sh has it, and without tests' own settings.
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
    assert done.returncode == 0, f"{block}: status {done.returncode} of\n{script}\n{done.stdout[-4000:]}"
    expect_printed(printed, done.stdout, False, block)
    return done.stdout


def check_page(found, folder):
    output = ""
    for block in found:
        if is_command(block):
            output = run_block(block, folder)
        elif quoted := PRINTED.fullmatch(block.mark):
            expect_printed(block.text.splitlines(), output, quoted["others"], block)


@pytest.mark.parametrize("page", [page for page in PAGES if any(commands(block)[0] for block in of_page(page) if is_command(block))])
def test_commands(page, tmp_path):
    made(tmp_path, PLANS.get(page, WORKERS), NODES.get(page, 4))
    check_page(of_page(page), tmp_path)


def test_marks_are_known():
    marks = {str(block): block.mark for page in PAGES for block in of_page(page)}
    assert {where: mark for where, mark in marks.items() if mark and not (NOT_RUN.fullmatch(mark) or PRINTED.fullmatch(mark) or mark.startswith("from: "))} == {}


PAGE = """# A page

    cs-opt step.mlir --cs-all-reduce-pipeline \\
      | cs-translate --mlir-to-plan -o a.plan
    cs-run a.plan ...                                    # threads

<!-- printed, with other numbers -->
    step 22: loss 0.5

<!-- not run, "cs-run b": there is no such file -->
```
$ cs-run PLAN --arena-info
$ cs-run b.plan
...
```
"""
# What is planted, and what the failure names.
FAULTS = {
    "an option that there is not": ("--arena-info", "--arena-size", "--arena-size"),
    "a file that nothing makes": ("cs-run a.plan", "cs-run c.plan", "c.plan"),
    "a failure in a pipe": ("cs-opt step", "cs-opt nothing", "nothing.mlir"),
    "a command that was not meant": ('"cs-run b"', '"cs-run c"', "b.plan"),
    "what is not printed": ("step 22:", "stage 22:", '"stage 22: loss 0.5" is not printed'),
    "a number that is another": (", with other numbers", "", '"step 22: loss 0.5" is not printed'),
}


def test_a_page_that_is_right(tmp_path):
    made(tmp_path)
    check_page(blocks("page", PAGE), tmp_path)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(tmp_path, fault):
    was, becomes, said = FAULTS[fault]
    assert PAGE.count(was) == 1
    made(tmp_path)
    with pytest.raises(AssertionError, match=re.escape(said)):
        check_page(blocks("page", PAGE.replace(was, becomes)), tmp_path)
