# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks of a job in Python as processes, started as a launcher does it."""
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from ports import free_port  # noqa: E402, F401

TIME_LIMIT = 300
LAUNCHERS = ("OMPI_", "PMI", "SLURM_", "TORCHELASTIC_", "PADDLE_", "TRAINING_ROLE", "COMMSCHED_TOKEN", "COMMSCHED_TLS")
CLEAN = {n: v for n, v in os.environ.items()
         if not n.startswith(LAUNCHERS) and n not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}

# A step with one parameter, of which the global batch has 12 rows.
STEP = """
import sys
import numpy as np
import jax
import jax.numpy as jnp
import commsched

def step(params, x, y):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] - y) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss

def distance(params, x, y):
    return {"distance": jnp.mean(jnp.abs(x @ params["w"] - y))}

random = np.random.default_rng(0)
X = random.standard_normal((20, 12, 3)).astype(np.float32)
Y = random.standard_normal((20, 12)).astype(np.float32)
BATCHES = list(zip(X, Y))

def make(**options):
    options = {"batch": (1, 2), "functions": {"distance": (distance, {"w": np.zeros(3, np.float32)}, X[0], Y[0])}, **options}
    return commsched.transpile(step, {"w": np.zeros(3, np.float32)}, X[0], Y[0], **options)
"""

# This rank's rows of global batches.
OWN = """
def own(batches):
    rows = 12 // job.size
    return [tuple(a[job.rank * rows:(job.rank + 1) * rows] for a in batch) for batch in batches]
"""


# Of both: `batches()` without an end, of which a file tells when some are trained on.
ENDLESS = """
    import itertools
    program = make()
    def batches():
        for i, batch in enumerate(itertools.cycle(own(BATCHES))):
            if i == 30:
                open(f"{FOLDER}/running.{job.rank}", "w").close()
            yield batch
"""


# A run in which an iterator of one rank fails.
BROKEN = """
program = make()
program.run(own(BATCHES[:4]))
before = program.params["w"].tobytes()
def broken():
    yield from own(BATCHES[:5])
    if job.rank == 1:
        raise ValueError("sample 17 is broken")
    yield from own(BATCHES)
try:
    program.run(broken())
except (ValueError, commsched.RuntimeFailure) as error:
    print(str(error), program.steps, program.params["w"].tobytes() == before)
"""


def script(folder, text, init="commsched.init(deadline=30)", step=STEP):
    """A file with the step, and `text` once the process is a rank: `job`. Always the same one: ranks may be reading it already."""
    path = pathlib.Path(folder) / "rank.py"
    path.write_text(f"{step}{OWN}\njob = {init}\n{textwrap.dedent(text)}")
    return path


def endless(folder, more="    program.run(batches())", step=STEP):
    return script(folder, ENDLESS.replace("{FOLDER}", str(folder)) + more, step=step)


def wait_until_running(folder, ranks):
    while any(not (folder / f"running.{rank}").exists() for rank in range(len(ranks))):
        if any(rank.poll() is not None for rank in ranks):
            raise AssertionError(ended(ranks))
        time.sleep(0.05)


def token_file(folder, text="the token of the ranks here"):
    path = pathlib.Path(folder) / f"token{len(os.listdir(folder))}"
    path.write_text(text + "\n")
    path.chmod(0o600)
    return str(path)


def environment(rank, size, port, **more):
    return {**CLEAN, "RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
            "PYTHONPATH": str(ROOT / "python_api"), "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore", **more}


def start(path, rank, size, port, **more):
    return subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment(rank, size, port, **more))


def start_all(path, size, token, **more):
    port = free_port()
    return [start(path, rank, size, port, COMMSCHED_TOKEN_FILE=token, **more) for rank in range(size)]


def ended(processes):
    """(status, lines of stdout, lines of stderr) of each."""
    results = []
    try:
        for process in processes:
            out, errors = process.communicate(timeout=TIME_LIMIT)
            results.append((process.returncode, out.splitlines(), errors.splitlines()))
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
    return results


def run(path, size, token, **more):
    return ended(start_all(path, size, token, **more))


def one_line(result, *words, status=1):
    """A rank has ended with one line that has these words."""
    code, _, errors = result
    assert code == status and len(errors) == 1 and errors[0].startswith("commsched: "), result
    for word in words:
        assert word in errors[0], errors
    assert re.search(r"\b(rank \d+): \1: ", errors[0]) is None, errors


def outputs(results):
    """Of ranks that are to have succeeded, what they have printed."""
    for rank, (status, _, errors) in enumerate(results):
        assert status == 0, (rank, errors)
    return [out for _, out, _ in results]
