# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of PaddlePaddle by the ranks of a job: they come to what the threads of one process come to, to the bit. And the
examples."""

import subprocess
import sys

import pytest

pytest.importorskip("paddle", reason="needs PaddlePaddle (scripts/setup.sh --bench)")

import numpy as np  # noqa: E402
from rank_job import ROOT, TIME_LIMIT, ended, environment, free_port, outputs, start, token_file  # noqa: E402


STEP = """
import sys
sys.path.insert(0, "{tests}")
import numpy as np
import paddle
import commsched
import commsched.paddle
import paddle_models as models
import paddle_training as training

def made(size, seed=1, **options):
    def make():
        return models.nn.Sequential(models.nn.Conv2D(3, 4, 3), models.nn.BatchNorm2D(4), models.nn.ReLU(), models.nn.Flatten(),
                                    models.nn.Dropout(0.2), models.nn.Linear(400, 5))
    def optimizer(p):
        return paddle.optimizer.Adam(paddle.optimizer.lr.StepDecay(0.01, 2), parameters=p, grad_clip=models.nn.ClipGradByGlobalNorm(0.5))
    one = training.build(make, models.cross_entropy, models.image_inputs(size=12), optimizer)
    scope = training.start(one, seed)
    program = commsched.paddle.transpile(one.main, BATCHES[0], scope=scope, seed=4, **options)
    return one, scope, program

BATCHES = models.images(0, 5, 8, size=12)
"""

RANK = """
job = commsched.init(deadline=30)
one, scope, program = made(job.size, {seed})
rows = 8 // job.size
own = [{{n: a[job.rank * rows:(job.rank + 1) * rows] for n, a in b.items()}} for b in BATCHES]
metrics = program.run(own, scheduler=one.main.lr_scheduler)
program.load_into()
np.savez(f"{folder}/rank{{job.rank}}.npz", losses=[m["loss"] for m in metrics], **training.values_of(one, scope))
program.close()
"""


def script(folder, seed="1"):
    path = folder / "rank.py"
    path.write_text(STEP.format(tests=ROOT / "tests" / "python") + RANK.format(folder=folder, seed=seed))
    return path


def test_ranks_compute_what_threads_do(tmp_path):
    port, token, path = free_port(), token_file(tmp_path), script(tmp_path)
    outputs(ended([start(path, rank, 2, port, COMMSCHED_TOKEN_FILE=token) for rank in range(2)]))
    names = {}
    exec(STEP.format(tests=ROOT / "tests" / "python"), names)
    one, scope, program = names["made"](2, trainers=2)
    losses = [m["loss"] for m in program.run(names["BATCHES"], scheduler=one.main.lr_scheduler)]
    program.load_into()
    wanted = names["training"].values_of(one, scope)
    rates = program._description(2).rates
    for rank in range(2):
        found = dict(np.load(tmp_path / f"rank{rank}.npz"))
        assert list(found.pop("losses")) == losses
        assert all(found[n].tobytes() == v.tobytes() for n, v in wanted.items() if n not in rates)


def test_other_values_on_a_rank_are_refused(tmp_path):
    port, token = free_port(), token_file(tmp_path)
    path = script(tmp_path, "1 + job.rank")
    for result in ended([start(path, rank, 2, port, COMMSCHED_TOKEN_FILE=token) for rank in range(2)]):
        assert result[0] == 1 and "on all ranks, got: another one on rank 1" in result[2][-1], result


def test_the_example_of_ranks(tmp_path):
    pytest.importorskip("sklearn")
    port, token = free_port(), token_file(tmp_path)
    found = outputs(ended([start(ROOT / "examples/paddle/ranks.py", rank, 2, port, COMMSCHED_TOKEN_FILE=token) for rank in range(2)]))
    lines = [line for line in found[0] if line.startswith(("epoch", "accuracy"))]
    assert len(lines) == 11 and float(lines[-1].split(": ")[1]) > 0.9


def last_loss(lines):
    return float([line for line in lines if line.startswith("step")][-1].split("loss ")[1])


def test_the_example_of_servers(tmp_path):
    """Alone, and as two ranks, with the servers within them: the same numbers."""
    path, found = ROOT / "examples/paddle/transformer.py", {}
    alone = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment(0, 1, 1), timeout=TIME_LIMIT)
    assert alone.returncode == 0, alone
    found = outputs(ended([start(path, rank, 2, port, COMMSCHED_TOKEN_FILE=token) for port, token in [(free_port(), token_file(tmp_path))]
                           for rank in range(2)]))
    assert [line for line in alone.stdout.splitlines() if line.startswith("step")] == [line for line in found[0] if line.startswith("step")]
    assert last_loss(found[0]) < 1.0


def test_paddles_launcher(tmp_path):
    """It says who is who in variables of its own."""
    path = tmp_path / "who.py"
    path.write_text("import commsched\njob = commsched.init(deadline=60)\n"
                    f"open(f'{tmp_path}/' + str(job.rank), 'w').write(f'{{job.rank}} of {{job.size}}, {{job.local_rank}}')\n")
    clean = {n: v for n, v in environment(0, 1, 1).items() if n not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    done = subprocess.run([sys.executable, "-m", "paddle.distributed.launch", "--nproc_per_node", "2", "--log_dir", str(tmp_path / "log"), str(path)],
                          capture_output=True, text=True, env=clean, timeout=TIME_LIMIT)
    assert done.returncode == 0, done
    assert [(tmp_path / str(rank)).read_text() for rank in range(2)] == ["0 of 2, 0", "1 of 2, 1"]
