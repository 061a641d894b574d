# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How jobs of ranks in Python end that do not go well: in one line of each process, which says why."""
import os
import signal
import socket

from rank_job import (ended, endless, free_port, one_line, outputs, run, script, start, start_all, token_file,
                      wait_until_running)


def test_killed_rank(tmp_path):
    ranks = start_all(endless(tmp_path), 4, token_file(tmp_path))
    wait_until_running(tmp_path, ranks)
    ranks[2].kill()
    results = ended(ranks)
    assert results[2][0] == -signal.SIGKILL
    for rank in (0, 1, 3):
        one_line(results[rank], f"rank {rank}: ", "peer 2")


def test_interrupt_of_one_rank_stops_all(tmp_path):
    for number in (signal.SIGINT, signal.SIGTERM):
        for rank in range(3):
            (tmp_path / f"running.{rank}").unlink(missing_ok=True)
        ranks = start_all(endless(tmp_path), 3, token_file(tmp_path))
        wait_until_running(tmp_path, ranks)
        ranks[1].send_signal(number)
        results = ended(ranks)
        one_line(results[0], f"rank 0: ended by signal {int(number)} (", "after step ", status=128 + number)
        for result in results[1:]:
            assert result == (128 + number, [], [])


def test_after_an_interrupt_it_can_be_saved(tmp_path):
    more = """
    try:
        program.run(batches())
    except KeyboardInterrupt as error:
        program.save("{FOLDER}/saved")
        print(error.signal, error.steps == program.steps, program.steps, len(program.metrics))
        program.run(own(BATCHES[:2]))
        print(program.steps)
    """.replace("{FOLDER}", str(tmp_path))
    ranks = start_all(endless(tmp_path, more), 2, token_file(tmp_path))
    wait_until_running(tmp_path, ranks)
    for rank in ranks:
        rank.send_signal(signal.SIGINT)
    first, second = outputs(ended(ranks))
    assert first == second
    number, same, steps, metrics = first[0].split()
    assert (number, same) == ("2", "True") and int(steps) > 30 and metrics == steps and int(first[1]) == int(steps) + 2
    assert (tmp_path / "saved").exists()


def test_interrupt_between_runs(tmp_path):
    text = """
        import time
        program = make()
        program.run(own(BATCHES[:2]))
        open(f"{FOLDER}/running.{job.rank}", "w").close()
        if job.rank == 1:
            time.sleep(100)
        program.run(own(BATCHES[:2]))
    """.replace("{FOLDER}", str(tmp_path))
    ranks = start_all(script(tmp_path, text), 2, token_file(tmp_path))
    wait_until_running(tmp_path, ranks)
    ranks[1].send_signal(signal.SIGINT)
    results = ended(ranks)
    one_line(results[0], "rank 1: interrupted")
    assert results[1] == (130, [], [])


def test_wrong_token(tmp_path):
    path = script(tmp_path, "make()", init="commsched.init(deadline=3)")
    port = free_port()
    ranks = [start(path, rank, 3, port, COMMSCHED_TOKEN_FILE=token_file(tmp_path, "the token of the ranks here"[: 20 + (rank == 1)]))
             for rank in range(3)]
    results = ended(ranks)
    one_line(results[0], "rank 1 did not come")
    one_line(results[1], "the token must match that of rank 0")
    one_line(results[2], "rank 1 did not come")


def test_port_taken(tmp_path):
    path = script(tmp_path, "make()", init="commsched.init(deadline=3)")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, token = listener.getsockname()[1], token_file(tmp_path)
        results = ended([start(path, rank, 2, port, COMMSCHED_TOKEN_FILE=token) for rank in range(2)])
    one_line(results[0], f"rank 0: port {port} of 127.0.0.1 cannot be listened on")
    one_line(results[1], "rank 1: rank 0 was not met")


def test_no_secret(tmp_path):
    path = script(tmp_path, "make()")
    results = ended([start(path, rank, 2, free_port()) for rank in range(2)])
    for result in results:
        one_line(result, "must share a secret: token_file, or insecure")


def test_a_broken_batch_of_one_rank(tmp_path):
    text = """
        program = make()
        def batches():
            yield from own(BATCHES)
            if job.rank == 1:
                raise ValueError("sample 17 is broken")
            yield from own(BATCHES)
        program.run(batches())
    """
    results = run(script(tmp_path, text), 3, token_file(tmp_path))
    status, _, errors = results[1]
    assert status == 1 and errors[-1] == "ValueError: sample 17 is broken" and errors[0].startswith("Traceback"), results[1]
    for rank in (0, 2):
        one_line(results[rank], "rank 1: ValueError: sample 17 is broken")


def test_an_error_of_the_script_of_one_rank(tmp_path):
    text = """
        program = make()
        program.run(own(BATCHES[:3]))
        if job.rank == 2:
            open("no such file")
        program.run(own(BATCHES[:3]))
    """
    results = run(script(tmp_path, text), 3, token_file(tmp_path))
    assert results[2][0] == 1 and results[2][2][-1].startswith("FileNotFoundError"), results[2]
    for rank in (0, 1):
        one_line(results[rank], "rank 2: FileNotFoundError: ", "no such file")


def test_files_that_cannot_be_written_or_read(tmp_path):
    """What rank 0 finds is an error of the same kind on all, so that all go on if the script does; else it is one line on the others."""
    path = script(tmp_path, f"""
        import os, resource
        program = make()
        try:
            program.restore("{tmp_path}/none")
        except FileNotFoundError as error:
            print(error.errno)
        metrics = program.run(own(BATCHES[:5]))
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50, before[1]))  # as a full disk
        try:
            program.save("{tmp_path}/saved")
        except OSError as error:
            print(error.errno, os.listdir("{tmp_path}").count("saved"))
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        program.save("{tmp_path}/saved")
        print(program.steps)
        program.save("{tmp_path}/no folder/saved")
    """)
    results = run(path, 3, token_file(tmp_path))
    for rank, result in enumerate(results):
        assert result[1] == ["2", "27 0", "5"], result
        if rank != 0:
            one_line(result, f"rank {rank}: rank 0: ", "[Errno 2] No such file or directory: ", "no folder")
    assert results[0][0] == 1 and results[0][2][-1].startswith("FileNotFoundError: ")
    assert not [name for name in os.listdir(tmp_path) if "part" in name]


def test_batches_of_other_numbers(tmp_path):
    text = """
        program = make()
        program.run(own(BATCHES[:5 + job.rank]))
    """
    path = script(tmp_path, text, init="commsched.init(deadline=3)")
    results = run(path, 2, token_file(tmp_path))
    for result in results:
        one_line(result, "rank ")


def test_what_must_be_the_same(tmp_path):
    cases = {
        "step must match that of rank 0 on all ranks, got: another one on rank 1":
            "program = make(strategy=commsched.AllReduce(schedule='fifo' if job.rank else None))",
        "value of 'w' must match that of rank 0 on all ranks, got: another one on rank 1": """
            program = commsched.transpile(step, {"w": np.full(3, job.rank, np.float32)}, X[0], Y[0], batch=(1, 2))
            program.run(own(BATCHES))""",
        "ranks must do the same things in the same order": """
            program = make()
            program.run(own(BATCHES)) if job.rank else program.save("/dev/null")""",
    }
    for words, text in cases.items():
        for result in run(script(tmp_path, text), 2, token_file(tmp_path)):
            one_line(result, words)


def test_what_is_refused(tmp_path):
    text = """
        def refused(call, *words):
            try:
                call()
            except (commsched.CommSchedError, ValueError, OSError) as error:
                assert all(w in str(error) for w in words), error
            else:
                raise AssertionError(words)
        refused(commsched.init, "once in a process")
        refused(lambda: make(cluster=4), "cluster must match the job's 2 ranks, got: 4")
        program = make()
        rows = list(zip(X.reshape(240, 3), Y.reshape(240)))
        refused(lambda: program.run(commsched.Loader(rows, 12, threads=0).epoch(0)), "ranks=2", f"rank={job.rank}", "got: ranks=1")
        refused(lambda: program.run(BATCHES), "must match float32[6, 3] (the rows of one of 2 ranks), got: float32[12, 3]")
        refused(lambda: program.run(own(BATCHES), workers=4), "workers must match the job's 2 ranks, got: 4")
        refused(lambda: program.restore("not there"), "not there")
        refused(lambda: program.save("not there/at all"), "not there")
        print(program.run(own(BATCHES))[-1])
    """
    first, second = outputs(run(script(tmp_path, text), 2, token_file(tmp_path)))
    assert first == second and len(first) == 1
