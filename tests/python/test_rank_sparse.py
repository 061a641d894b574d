# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse gradients in jobs of ranks, with parameter servers and without: drawn options and runs, with changes of density in them and between
them, closed and saved in between. Values are those of threads that run through it all at once, to the bit."""
import subprocess
import sys

import numpy as np
from cases import cases, count

from rank_job import STEP, environment, outputs, run, script, token_file

STEPS = 10
OF_ALL = """
def trained(strategy, cuts, part, path=None):
    program = make(strategy=strategy, **({"cluster": 2} if path is None else {}))
    losses, begin = [], 0
    for end, then in cuts:
        losses += program.run(part(BATCHES[begin:end]))
        begin = end
        if path is not None and then:
            program.close()
        if path is not None and then == "restored":
            program.save(path)
            program = make(strategy=strategy)
            program.restore(path)
    print([float(m["loss" if "loss" in m else list(m)[0]]).hex() for m in losses], program.params["w"].tobytes().hex(), program.steps, flush=True)
"""


def case(seed):
    """(strategy, cuts), as text: runs end behind these steps, and then nothing is done, workers are closed, or another program goes on."""
    random = np.random.default_rng([seed, 5])
    servers = random.random() < 0.6
    options = ["0.4", "min_elements=0"]
    if random.random() < 0.5:
        options.append("momentum=0.5" if servers or random.random() < 0.5 else "momentum=0.5, second_moment=0.75, epsilon=1.0")
    if random.random() < 0.5:
        options.append(f"warm_up=[({random.choice([1.0, 0.7])}, {random.integers(1, 5)}), (0.5, {random.integers(1, 5)})]")
    if random.random() < 0.3:
        options.append(str(random.choice(["exact_every=3", "values='f16'", "select='mstopk'"])))
    if not servers:
        options.append("method='allgather'")
    sparse = f"commsched.Sparse({', '.join(options)})"
    strategy = f"commsched.ParameterServers(servers={random.integers(1, 4)}, sparse={sparse})" if servers else f"commsched.AllReduce(sparse={sparse})"
    ends = sorted({*map(int, random.integers(1, STEPS, 2)), STEPS})
    return strategy, [(end, str(random.choice(["", "closed", "restored"]))) for end in ends]


def test_ranks_train_as_threads_do(tmp_path):
    drawn = [case(seed) for seed in cases(4)]
    path = tmp_path / "threads.py"
    path.write_text(STEP + OF_ALL + "".join(f"trained({strategy}, {cuts}, lambda batches: batches)\n" for strategy, cuts in drawn))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment(0, 1, 1))
    assert done.returncode == 0, done.stderr
    wanted = done.stdout.splitlines()
    text = "".join(f"trained({strategy}, {cuts}, own, r'{tmp_path}/saved')\n" for strategy, cuts in drawn)
    found = outputs(run(script(tmp_path, text, step=STEP + OF_ALL), 2, token_file(tmp_path)))
    for drawn_case, lines in zip(drawn, zip(wanted, *found, strict=True)):
        assert len(set(lines)) == 1, (drawn_case, lines)
    assert len(wanted) == count(4)


def test_a_run_that_fails_behind_a_change_of_density_leaves_none_of_it(tmp_path):
    """Servers: the values, the number of steps and what is unsent are those of the run before."""
    text = """
    strategy = commsched.ParameterServers(sparse=commsched.Sparse(0.4, min_elements=0, warm_up=[(0.7, 3)]))
    program = make(strategy=strategy)
    program.run(own(BATCHES[:2]))
    before = program.params["w"].tobytes()
    def broken():
        yield from own(BATCHES[2:5])
        raise ValueError("a sample is broken")
    try:
        program.run(broken())
    except (ValueError, commsched.RuntimeFailure):
        print(program.steps, program.params["w"].tobytes() == before)
    """
    assert outputs(run(script(tmp_path, text), 2, token_file(tmp_path))) == [["2 True"]] * 2
