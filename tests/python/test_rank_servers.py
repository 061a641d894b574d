# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameter servers in jobs of ranks: within the ranks, with the values of a job of one process."""
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest
from cases import FIRST

from rank_job import (BROKEN, CLEAN, ROOT, STEP, ended, endless, environment, one_line, outputs, run, script, start_all,
                      token_file, wait_until_running)

# Programs with parameters of random shapes, a table and a counter, and servers of random numbers, from one seed each.
DRAWN = """
import sys, zlib
import numpy as np
import jax
import jax.numpy as jnp
import optax
import commsched

def drawn(seed):
    random = np.random.default_rng(seed)
    shapes = {f"p{i}": tuple(random.integers(1, 60, random.integers(1, 3))) for i in range(random.integers(1, 4))}
    params = {n: random.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    table = bool(random.integers(2))
    if table:
        params["table"] = random.standard_normal((50, 4)).astype(np.float32)
    optimizer = [optax.sgd(0.1), optax.sgd(0.1, momentum=0.9), optax.adam(0.01)][random.integers(3)]
    def loss_of(p, x, ids):
        own = sum(jnp.mean((jnp.sum(v) - x) ** 2) for n, v in p.items() if n != "table")
        return own + (jnp.mean(p["table"][ids] ** 2) if table else 0.0)
    def step(p, s, count, x, ids):
        loss, grads = jax.value_and_grad(loss_of)(p, x, ids)
        updates, s = optimizer.update(grads, s, p)
        return optax.apply_updates(p, updates), s, count + 1, loss
    def evaluate(p, x, ids):
        return {"loss": loss_of(p, x, ids), "sum": jnp.sum(x)}
    batches = [(random.standard_normal(24).astype(np.float32), random.integers(0, 50, 24).astype(np.int32)) for _ in range(12)]
    strategy = commsched.ParameterServers(
        servers=int(random.integers(1, 7)), **({"min_block_elements": int(random.integers(1, 300))} if random.integers(2) else {"slice": False}),
        placement=["balanced", "round-robin", "hash"][random.integers(3)], row_sparse=["table"] if table and random.integers(2) else ())
    x, ids = batches[0]
    return step, params, optimizer.init(params), x, ids, strategy, evaluate, batches

def trained(seed, part, save=None, **options):
    step, params, state, x, ids, strategy, evaluate, batches = drawn(seed)
    program = commsched.transpile(step, params, state, np.zeros((), np.int32), x, ids, batch=(3, 4), strategy=strategy,
                                  functions={"evaluate": (evaluate, params, x, ids)}, **options)
    batches = part(batches)
    metrics = program.call("evaluate", batches[:1]) + program.run(batches[:5])
    if save:
        program.save(save)
    metrics += program.run(batches[5:8]) + [program.step(batches[8])] + program.call("evaluate", batches[9:])
    if save:
        program.restore(save)
        metrics += program.run(batches[5:7])
    print(seed, strategy.servers, strategy.row_sparse, [{n: float(v).hex() for n, v in m.items()} for m in metrics])
    print({n: zlib.crc32(v.tobytes()) for n, v in program.slots().items()}, program.steps, flush=True)
"""
# Each push moves the parameters by the same amount, a power of two: they count the pushes.
COUNTING = """
def counting(mode, **options):
    def step(p, x):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean(x) * sum(jnp.sum(v) for v in p.values()))(p)
        return jax.tree.map(lambda p, g: p - 0.125 * g, p, grads), loss
    p = {"a": np.zeros(3, np.float32), "b": np.zeros((40, 5), np.float32)}
    return commsched.transpile(step, p, np.ones(12, np.float32), strategy=commsched.ParameterServers(mode=mode, servers=3,
                                                                                              min_block_elements=16, **options))
"""


def threads(folder, ranks, text):
    path = pathlib.Path(folder) / "threads.py"
    path.write_text(text)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment(0, 1, 1))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("ranks", [2, 4])
def test_values_are_those_of_threads(tmp_path, ranks):
    (tmp_path / "own").mkdir()
    seeds = range(FIRST + 10 * ranks, FIRST + 10 * ranks + 2)
    alone = DRAWN + "".join(f"trained({s}, list, {str(tmp_path / 'own' / str(s))!r}, cluster={ranks})\n" for s in seeds)
    part = f"lambda batches: [tuple(a[job.rank * {24 // ranks}:(job.rank + 1) * {24 // ranks}] for a in b) for b in batches]"
    text = "".join(f"trained({s}, {part}, {str(tmp_path / str(s))!r})\n" for s in seeds)
    expected = threads(tmp_path, ranks, alone)
    for out in outputs(run(script(tmp_path, text, step=DRAWN), ranks, token_file(tmp_path))):
        assert out == expected
    for seed in seeds:
        assert (tmp_path / str(seed)).read_bytes() == (tmp_path / "own" / str(seed)).read_bytes()


def test_every_asynchronous_push_counts_once(tmp_path):
    text = """
        for mode, options in ("async", {}), ("half-async", {"merge": 2}), ("half-async", {"merge": 3}):
            program = counting(mode, **options)
            for steps in 5, 3:  # of three gradients in a row, two, and three, the mean is pushed
                program.run([np.ones(4, np.float32)] * steps)
            print(sorted({float(v) for value in program.slots().values() for v in value.ravel()}), program.steps)
    """
    first, *others = outputs(run(script(tmp_path, text, step=STEP + COUNTING), 3, token_file(tmp_path)))
    assert all(other == first for other in others)
    # A run ends with what is left of a merge: 5 steps are pushes of 2, 2 and 1, of 3 and 2.
    assert [line.split("]")[0] for line in first] == [f"[{-0.125 * pushes}" for pushes in (24, 15, 9)]
    assert all(line.endswith(" 8") for line in first)


def of_servers(path):
    path.write_text(path.read_text().replace('options = {"batch"', 'options = {"strategy": commsched.ParameterServers(servers=2), "batch"'))
    return path


def test_killed_rank(tmp_path):
    ranks = start_all(of_servers(endless(tmp_path)), 4, token_file(tmp_path))
    wait_until_running(tmp_path, ranks)
    ranks[1].kill()  # with a server, and a trainer
    results = ended(ranks)
    for rank in (0, 2, 3):
        one_line(results[rank], f"rank {rank}: ", "1")


def test_interrupt_and_going_on(tmp_path):
    more = """
    try:
        program.run(batches())
    except KeyboardInterrupt as error:
        program.save("{FOLDER}/saved")
        print(error.signal, error.steps == program.steps, len(program.metrics) == program.steps)
        print(program.params["w"].tobytes().hex())
        program.run(own(BATCHES[:2]))
        print(program.steps - error.steps)
    """.replace("{FOLDER}", str(tmp_path))
    ranks = start_all(of_servers(endless(tmp_path, more)), 3, token_file(tmp_path))
    wait_until_running(tmp_path, ranks)
    ranks[2].send_signal(signal.SIGINT)
    first, *others = outputs(ended(ranks))
    assert all(other == first for other in others) and first[0] == "2 True True" and first[2] == "2"


def test_an_error_leaves_what_was_before(tmp_path):
    for rank, out in enumerate(outputs(run(of_servers(script(tmp_path, BROKEN + "job.close()\n")), 3, token_file(tmp_path)))):
        assert "sample 17 is broken" in out[0] and out[0].endswith(" 4 True"), (rank, out)


def test_other_numbers_of_batches(tmp_path):
    results = run(of_servers(script(tmp_path, "make().run(own(BATCHES[:5 + job.rank]))", init="commsched.init(deadline=3)")), 2,
                  token_file(tmp_path))
    for result in results:
        one_line(result, "rank ")


def test_refusals(tmp_path):
    text = """
        try:
            make().stream(own(BATCHES))
        except ValueError as error:
            print(error)
    """
    for out in outputs(run(of_servers(script(tmp_path, text)), 2, token_file(tmp_path))):
        assert out == ["steps must be those of run() with parameter servers in a job of ranks, got: stream()"]


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs Open MPI")
def test_mpi_connects_no_servers(tmp_path):
    text = "try:\n    make()\nexcept ValueError as error:\n    print(job.transport, error, file=open(f'FOLDER/{job.rank}', 'w'))\n"
    path = of_servers(script(tmp_path, text.replace("FOLDER", str(tmp_path))))
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, path], capture_output=True,
                          text=True, env={**CLEAN, "PYTHONPATH": str(ROOT / "python_api"), "JAX_PLATFORMS": "cpu"})
    assert done.returncode == 0, done.stderr
    said = {(tmp_path / str(rank)).read_text().split(" ", 1)[0] for rank in range(2)}
    if said == {"mpi"}:  # where the library is built with it
        for rank in range(2):
            assert "transport of the job must be grpc for parameter servers" in (tmp_path / str(rank)).read_text()


def test_ranks_try_plans(tmp_path):
    text = """
        import itertools
        few = list(itertools.islice(itertools.cycle(own(BATCHES)), 4000))
        for schedule in "tuned", None:
            program = make(strategy=commsched.ParameterServers(servers=2, schedule=schedule))
            program.run(few)
            kinds = [event["kind"] for event in program.replans]
            assert job.rank != 0 or kinds.count("kept") == (schedule is not None) and "given up" not in kinds, program.replans
            print(program.params["w"].tobytes().hex())
            program.close()
    """
    for tuned, plain in outputs(run(script(tmp_path, text), 3, token_file(tmp_path))):
        assert tuned == plain
