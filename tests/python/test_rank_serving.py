# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameter servers as processes of their own, the last ones of a job: values of threads, and how it ends."""
import pathlib
import signal
import subprocess
import sys

import pytest
from cases import FIRST

from rank_job import (BROKEN, STEP, ended, endless, one_line, outputs, run, script, start_all, token_file, wait_until_running)
from test_rank_hosts import environment, hosts, tls_of, unavailable
from test_rank_servers import COUNTING, DRAWN, of_servers, threads


def init(servers, deadline=30, **more):
    return f"commsched.init(servers={servers}, deadline={deadline}{''.join(f', {n}={v!r}' for n, v in more.items())})"


@pytest.mark.parametrize("ranks, servers", [(2, 1), (1, 2), (3, 2)])
def test_values_are_those_of_threads(tmp_path, ranks, servers):
    (tmp_path / "own").mkdir()
    seeds = range(FIRST + 100 * ranks, FIRST + 100 * ranks + 2)
    alone = DRAWN + "".join(f"trained({s}, list, {str(tmp_path / 'own' / str(s))!r}, cluster={ranks})\n" for s in seeds)
    part = f"lambda batches: [tuple(a[job.rank * {24 // ranks}:(job.rank + 1) * {24 // ranks}] for a in b) for b in batches]"
    text = f"assert (job.size, job.servers) == ({ranks}, {servers})\n" + "".join(
        f"trained({s}, {part}, {str(tmp_path / str(s))!r})\n" for s in seeds)
    results = outputs(run(script(tmp_path, text, init(servers), DRAWN), ranks + servers, token_file(tmp_path)))
    expected = threads(tmp_path, ranks, alone)
    assert results == [expected] * ranks + [[]] * servers
    for seed in seeds:
        assert (tmp_path / str(seed)).read_bytes() == (tmp_path / "own" / str(seed)).read_bytes()


def test_every_asynchronous_push_counts_once(tmp_path):
    text = """
        for mode, options in ("async", {}), ("half-async", {"merge": 2}):
            program = counting(mode, **options)
            for steps in 5, 3:
                program.run([np.ones(4, np.float32)] * steps)
            print(sorted({float(v) for value in program.slots().values() for v in value.ravel()}), program.steps)
    """
    first, *others = outputs(run(script(tmp_path, text, init(2), STEP + COUNTING), 5, token_file(tmp_path)))
    assert others == [first] * 2 + [[]] * 2
    assert [line.split("]")[0] for line in first] == [f"[{-0.125 * pushes}" for pushes in (24, 15)]


@pytest.mark.skipif(bool(unavailable), reason=unavailable)
def test_on_hosts_of_their_own(tmp_path):
    """Trainers on two hosts, servers on a third, all with shaped links and TLS."""
    path = of_servers(script(tmp_path, "program = make()\nprint(program.run(own(BATCHES[:8])), program.params['w'].tobytes().hex())", init(2)))
    alone = STEP + "program = make(cluster=2, strategy=commsched.ParameterServers(servers=2))\n" \
        "print(program.run(BATCHES[:8]), program.params['w'].tobytes().hex())"
    with hosts.Network([50 * 10**6] * 3) as network:
        security = {"COMMSCHED_TOKEN_FILE": token_file(tmp_path), **tls_of(tmp_path, network)}
        found = ended([network.start(host, [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(
            rank, 4, 29400, MASTER_ADDR=network.addresses[0], **security)) for rank, host in enumerate((0, 1, 2, 2))])
    expected = threads(tmp_path, 2, alone)
    assert outputs(found) == [expected, expected, [], []]


def serving(folder, servers=2, more="    program.run(batches())"):
    path = of_servers(endless(folder, more))
    path.write_text(path.read_text().replace("commsched.init(deadline=30)", init(servers, 8)))
    return path


@pytest.mark.parametrize("victim", [1, 3])
def test_killed(tmp_path, victim):
    """A trainer, or a process with servers."""
    processes = start_all(serving(tmp_path), 4, token_file(tmp_path))
    wait_until_running(tmp_path, processes[:2])
    processes[victim].kill()
    for rank, result in enumerate(ended(processes)):
        if rank == victim:
            assert result[0] == -signal.SIGKILL
        else:
            one_line(result, f"rank {rank}: ", "1" if victim == 1 else "")


def test_interrupt_of_all_and_saving(tmp_path):
    """As a terminal does it: what the trainers do then needs the servers."""
    more = """
    try:
        program.run(batches())
    except KeyboardInterrupt as error:
        program.save("{FOLDER}/saved")
        program.run(own(BATCHES[:2]))
        print(program.steps - error.steps)
        raise
    """.replace("{FOLDER}", str(tmp_path))
    processes = start_all(serving(tmp_path, 1, more), 3, token_file(tmp_path))
    wait_until_running(tmp_path, processes[:2])
    for process in processes:
        process.send_signal(signal.SIGINT)
    first, second, server = ended(processes)
    assert first[:2] == second[:2] == (130, ["2"]) and server == (130, [], []) and (tmp_path / "saved").exists()
    one_line(first[:1] + ([],) + first[2:], "ended by signal 2", status=130)


def test_an_error_leaves_what_was_before_and_the_job_goes_on(tmp_path):
    *trainers, server = run(of_servers(script(tmp_path, BROKEN, init(1))), 3, token_file(tmp_path))
    for out in outputs(trainers):
        assert "sample 17 is broken" in out[0] and out[0].endswith(" 4 True"), out
    assert server[:2] == (0, []), server


@pytest.mark.parametrize("servers", [0, 1])
def test_whoever_tells_first_tells_the_reason(tmp_path, servers):
    """A rank may hear of the end from servers sooner than from the rank that is to blame, and from those that end with others in their process."""
    text = """
        program = make(strategy=commsched.ParameterServers(servers=8))
        def broken(steps):
            yield from own(BATCHES[:steps])
            if job.rank == 1:
                raise ValueError("sample 17 is broken")
            yield from own(BATCHES)
        for steps in range(1, 9):
            try:
                program.run(broken(steps))
            except (ValueError, commsched.RuntimeFailure) as error:
                print(error)
    """
    results = outputs(run(script(tmp_path, text, init(servers) if servers else "commsched.init(deadline=30)"), 3 + servers, token_file(tmp_path)))
    for out in results[:3]:
        assert len(out) == 8 and all("sample 17 is broken" in line for line in out), out


def test_an_error_of_the_script_of_a_trainer(tmp_path):
    results = run(of_servers(script(tmp_path, "make().run(own(BATCHES[:3]))\nif job.rank == 1:\n    open('no such file')\n"
                                              "make().run(own(BATCHES[:3]))", init(1))), 3, token_file(tmp_path))
    assert results[1][2][-1].startswith("FileNotFoundError"), results
    for rank in (0, 2):
        one_line(results[rank], "rank 1: FileNotFoundError: ", "no such file")


def test_what_is_refused(tmp_path):
    for number, (text, options, words) in enumerate((
            ("", dict(servers=2), "servers must be fewer than the job's 2 processes, got: 2"),
            ("", dict(servers=1, transport="mpi"), "transport must be grpc for parameter servers, which MPI does not connect"),
            ("", dict(servers=-1), "servers must be a number of 0 to 4095, got: -1"))):
        folder = pathlib.Path(tmp_path / str(number))
        folder.mkdir()
        for result in run(script(folder, text, init(**options)), 2, token_file(tmp_path)):
            one_line(result, words)
    results = run(script(tmp_path, "make()", init(1)), 3, token_file(tmp_path))
    for rank in (0, 1):
        assert results[rank][2][-1].startswith("commsched.errors.FrontEndError: strategy must be ParameterServers in a job with servers=1"), results
    one_line(results[2], "strategy must be ParameterServers")


def test_a_process_that_is_alone(tmp_path):
    """Its servers are threads."""
    text = "program = make(cluster=2)\nprint(job.size, job.servers, len(program.run(BATCHES[:3])))"
    path = of_servers(script(tmp_path, text, init(2)))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment(0, 1, 1))
    assert done.stdout == "1 0 3\n", done.stderr
