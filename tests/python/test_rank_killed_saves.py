# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank is killed at a random moment of a save, and the job goes on with other ranks and another strategy: what the file has then is
what was saved last or before, whole, and the values are those of an undisturbed run, bit for bit."""
import os
import random
import signal

import pytest
from cases import cases

from rank_job import one_line, outputs, run, script, token_file
from test_rank_servers import DRAWN, threads

SAVES, EACH = 4, 3  # steps between
MADE = DRAWN + """
import os, pathlib, signal
STRATEGIES = {"all-reduce": commsched.AllReduce(), "sparse": commsched.AllReduce(sparse=commsched.Sparse(0.4, min_elements=0)),
              "servers": commsched.ParameterServers(servers=2, min_block_elements=20)}

def made(seed, strategy, **options):
    step, params, state, x, ids, _, _, batches = drawn(seed)
    return commsched.transpile(step, params, state, np.zeros((), np.int32), x, ids, batch=(3, 4), strategy=STRATEGIES[strategy],
                               **options), batches

def killed_at_line(left):
    # Of this package's sources, from now on.
    def trace(frame, event, argument):
        nonlocal left
        if "/commsched/" not in frame.f_code.co_filename:
            return None
        left -= event == "line"
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace
    sys.settrace(trace)

def shown(program):
    print(program.steps, {n: zlib.crc32(v.tobytes()) for n, v in program.slots().items()}, flush=True)
"""
PART = """
def part(batches):
    rows = 24 // job.size
    return [tuple(a[job.rank * rows:(job.rank + 1) * rows] for a in b) for b in batches]
"""
BEFORE = PART + """
program, batches = made({seed}, {strategy!r})
for k in range({saves}):
    program.run(part(batches[{each} * k:{each} * (k + 1)]))
    if (job.rank, k) == ({victim}, {moment}):
        killed_at_line({line})
    program.save({file!r})
    if (job.rank, k) == ({victim}, {moment}):
        os.kill(os.getpid(), signal.SIGKILL)
"""
AFTER = PART + """
program, batches = made({seed}, {strategy!r})
if job.broadcast("looks for a file", b"yes" if os.path.exists({file!r}) else b""):
    program.restore({file!r})
print(program.steps)
program.run(part(batches[program.steps:{steps}]))
program.save({file!r})
shown(program)
"""
UNDISTURBED = """
program, batches = made({seed}, {before!r}, cluster={ranks})
if {steps}:
    program.run(batches[:{steps}])
    program.save({file!r})
program.close()
program, batches = made({seed}, {after!r}, cluster={then})
if {steps}:
    program.restore({file!r})
program.run(batches[program.steps:])
shown(program)
"""


@pytest.mark.parametrize("seed", cases(3))
def test_killed_in_a_save(tmp_path, seed):
    drawn = random.Random(seed)
    ranks, then = drawn.choice([2, 3]), drawn.choice([1, 2, 3])
    before, after = (drawn.choice(["all-reduce", "sparse", "servers"]) for _ in range(2))
    # Saves that are done before; who is killed, and in which line of the next. A save takes rank 0 some 150 lines, others 50.
    moment, victim = drawn.randrange(SAVES), drawn.choice([0, 0, ranks - 1])
    line, file = int(2 ** drawn.uniform(0, 7.5 if victim == 0 else 6)), str(tmp_path / "saved")
    about = f"{ranks} ranks, {before}, rank {victim} killed in save {moment} at line {line}; then {then} ranks, {after}"
    common = dict(seed=seed, file=file)
    text = BEFORE.format(strategy=before, saves=SAVES, each=EACH, victim=victim, moment=moment, line=line, **common)
    results = run(script(tmp_path, text, "commsched.init(deadline=8)", MADE), ranks, token_file(tmp_path))
    for rank, result in enumerate(results):
        if rank == victim:
            assert result[0] == -signal.SIGKILL, (about, result)
        else:
            one_line(result, f"{victim}")
    text = AFTER.format(strategy=after, steps=SAVES * EACH, **common)
    first, *others = outputs(run(script(tmp_path, text, step=MADE), then, token_file(tmp_path)))
    assert all(other == first for other in others), about
    steps = int(first[0])
    assert steps in (EACH * moment, EACH * (moment + 1)), about
    expected = threads(tmp_path, then, MADE + UNDISTURBED.format(ranks=ranks, then=then, before=before, after=after, steps=steps, seed=seed,
                                                                 file=str(tmp_path / "undisturbed")))
    assert first[1:] == expected, about
    assert [name for name in os.listdir(tmp_path) if name.startswith("saved")] == ["saved"], about


def test_damaged_files_are_refused(tmp_path):
    """Wherever it ends, and whichever bit of it has changed."""
    text = """
        import os, pathlib
        program = make(strategy=commsched.AllReduce(sparse=commsched.Sparse(0.4, min_elements=0)))
        program.run(own(BATCHES[:3]))
        program.save("{FOLDER}/saved")
        program.close()
        whole = pathlib.Path("{FOLDER}/saved").read_bytes()
        before, accepted = program.params["w"].tobytes(), []
        drawn = np.random.default_rng(3)
        for i in range(60):
            at = int(drawn.integers(len(whole)))
            content = bytearray(whole[:at] if i % 2 else whole)
            if i % 2 == 0:
                content[at] ^= 1 << int(drawn.integers(8))
            job.barrier()
            if job.rank == 0:
                pathlib.Path("{FOLDER}/damaged").write_bytes(content)
            try:
                program.restore("{FOLDER}/damaged")
                accepted.append((i, at))
            except ValueError as error:
                assert "damaged" in str(error) or "format must be" in str(error), error
        print(accepted, program.steps, program.params["w"].tobytes() == before)
        program.restore("{FOLDER}/saved")
        print(program.steps)
    """.replace("{FOLDER}", str(tmp_path))
    for out in outputs(run(script(tmp_path, text), 2, token_file(tmp_path))):
        assert out == ["[] 3 True", "3"]
