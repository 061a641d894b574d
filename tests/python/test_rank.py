# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank in Python: jobs of several processes compute what the threads of one do, save it and go on."""
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

from rank_job import CLEAN, ROOT, ended, environment, free_port, one_line, outputs, run, script, start, token_file

THREADS = """
program = make(cluster={size})
metrics = program.run(BATCHES[:10])
print([m["loss"].hex() for m in metrics])
print(program.call("distance", BATCHES[:2]))
print(program.params["w"].tobytes().hex())
"""
RANKS = """
program = make()
metrics = program.run(own(BATCHES[:10]))
print([m["loss"].hex() for m in metrics])
print(program.call("distance", own(BATCHES[:2])))
print(program.params["w"].tobytes().hex())
"""


def threads(tmp_path, size, text=THREADS):
    folder = tmp_path / "threads"
    folder.mkdir()
    done = subprocess.run([sys.executable, script(folder, text.format(size=size), init="None")], capture_output=True, text=True,
                          env={**CLEAN, "PYTHONPATH": str(ROOT / "python_api")})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_ranks_compute_what_threads_do(tmp_path):
    expected = threads(tmp_path, 4)
    for out in outputs(run(script(tmp_path, RANKS), 4, token_file(tmp_path))):
        assert out == expected


def test_torchrun(tmp_path):
    """Its store has MASTER_PORT; ranks on one machine need no token."""
    port, path = free_port(), script(tmp_path, RANKS)
    ranks = [start(path, rank, 2, port, LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2",
                   TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RUN_ID="none", TORCHELASTIC_RESTART_COUNT="0")
             for rank in range(2)]
    expected = threads(tmp_path, 2)
    for out in outputs(ended(ranks)):
        assert out == expected


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs Open MPI")
def test_mpirun(tmp_path):
    # To files: mpirun may put lines of two ranks into one.
    text = f"sys.stdout = open('{tmp_path}/out.' + str(job.rank), 'w')\n" + RANKS
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, script(tmp_path, text)],
                          capture_output=True, text=True, env={**CLEAN, "PYTHONPATH": str(ROOT / "python_api")})
    assert done.returncode == 0, done.stderr
    expected = threads(tmp_path, 2)
    for rank in range(2):
        assert (tmp_path / f"out.{rank}").read_text().splitlines() == expected


def test_given_addresses(tmp_path):
    """Without any launcher."""
    init = f"""commsched.init(rank=int(sys.argv[1]), size=2, token="the token of this job", deadline=30,
        peers=["unix:{tmp_path}/a", "unix:{tmp_path}/b"])"""
    path = script(tmp_path, RANKS + "print(repr(job), job.local_rank)", init=init)
    ranks = [subprocess.Popen([sys.executable, path, str(rank)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**CLEAN, "PYTHONPATH": str(ROOT / "python_api")}) for rank in range(2)]
    expected = threads(tmp_path, 2)
    for rank, out in enumerate(outputs(ended(ranks))):
        assert out == [*expected, f"<commsched.Job: rank {rank} of 2, grpc> None"]


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root mounts")
@pytest.mark.parametrize("how", ["init", "torch.distributed"])
def test_where_tmp_cannot_be_written(tmp_path, how):
    """As in a container: socket files are where TMPDIR says."""
    text = RANKS
    if how == "torch.distributed":
        pytest.importorskip("torch", reason="needs PyTorch (scripts/setup.sh --bench)")
        text = """
            import torch
            import torch.distributed as dist
            import commsched.torch.distributed
            dist.init_process_group("commsched")
            ones = torch.ones(3)
            dist.all_reduce(ones)
            print(ones.tolist())
            dist.destroy_process_group()
        """
    path = script(tmp_path, text, **({} if how == "init" else {"init": "None", "step": ""}))
    read_only = "mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp && exec"
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        port = free_port()
        results = ended([subprocess.Popen(
            ["unshare", "-m", "sh", "-c", f"{read_only} {sys.executable} {path}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment(rank, 2, port, TMPDIR=folder, LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2", TORCHELASTIC_RUN_ID="none",
                            TORCHELASTIC_RESTART_COUNT="0")) for rank in range(2)])
        assert os.listdir(folder) == []
    expected = threads(tmp_path, 2) if how == "init" else ["[2.0, 2.0, 2.0]"]
    for out in outputs(results):
        assert out == expected


def test_a_job_of_one_rank(tmp_path):
    text = RANKS + "print(repr(job))"
    env = environment(0, 1, 1)
    done = subprocess.run([sys.executable, script(tmp_path, text)], capture_output=True, text=True, env=env)
    assert done.stdout.splitlines() == [*threads(tmp_path, 1), "<commsched.Job: rank 0 of 1, none>"], done.stderr


def test_loader_saving_and_going_on(tmp_path):
    """Half of the run by two ranks, the other half by two ranks and by two threads, from rank 0's file."""
    loading = """
        class Rows:
            def __len__(self): return 240
            def __getitem__(self, i): return X.reshape(240, 3)[i], Y.reshape(240)[i]
        parts = dict(ranks=job.size, rank=job.rank) if job else {}
        loader = commsched.Loader(Rows(), 12, seed=3, threads=0, **parts)
        program = make(cluster=2, strategy=commsched.AllReduce(sparse=commsched.Sparse(0.4, min_elements=0)))
    """
    first = loading + """
        program.run(loader.epoch(0))
        saved = "FOLDER/saved" if job.rank == 0 else "FOLDER/not there"
        program.save(saved)
        program.close()
    """.replace("FOLDER", str(tmp_path))
    second = loading + """
        position = program.restore("FOLDER/saved" if job is None or job.rank == 0 else "FOLDER/not there")
        metrics = program.run(loader.resume(position, epochs=2))
        print(program.steps, len(metrics), metrics[-1]["loss"].hex(), program.params["w"].tobytes().hex())
    """.replace("FOLDER", str(tmp_path))
    token = token_file(tmp_path)
    outputs(run(script(tmp_path, first), 2, token))
    assert os.listdir(tmp_path).count("saved") == 1 and not (tmp_path / "not there").exists()
    expected = threads(tmp_path, 2, second.replace("{", "{{").replace("}", "}}"))
    assert expected[0].startswith("40 20 ")
    for out in outputs(run(script(tmp_path, second), 2, token)):
        assert out == expected


def test_a_file_of_others_is_saved_again_before_a_step(tmp_path):
    """What two ranks had of their own is whole in the files of one thread, two and four ranks that have only restored and saved it."""
    text = """
        program = make(cluster=2, strategy=commsched.AllReduce(sparse=commsched.Sparse(0.4, min_elements=0)))
        program.run(own(BATCHES[:5]))
        program.save("FOLDER/2")
    """
    again = """
        program = make(strategy=commsched.AllReduce(sparse=commsched.Sparse(0.4, min_elements=0)))
        program.restore("FOLDER/2")
        program.save(f"FOLDER/{job.size} again")
    """
    token = token_file(tmp_path)
    outputs(run(script(tmp_path, text.replace("FOLDER", str(tmp_path))), 2, token))
    for size in 2, 4, 1:
        outputs(run(script(tmp_path, again.replace("FOLDER", str(tmp_path))), size, token))
        assert (tmp_path / f"{size} again").read_bytes() == (tmp_path / "2").read_bytes()


def test_streams_and_steps(tmp_path):
    text = """
        program = make()
        some = []
        for metrics in program.stream(own(BATCHES)):
            some.append(metrics["loss"].hex())
            if len(some) == 3:
                break
        print(some, program.steps)
        print(program.step(own(BATCHES[:1])[0])["loss"].hex())
        program.set_slots({"params.w" if "params.w" in program.slots() else "w": np.ones(3, np.float32)})
        print(program.params["w"], len(program.metrics))
    """
    first, second = outputs(run(script(tmp_path, text), 2, token_file(tmp_path)))
    assert first == second and first[-1] == "[1. 1. 1.] 1"


def test_files_of_others(tmp_path):
    """One rank writes what all have, and all read it."""
    text = """
        import orbax.checkpoint
        import safetensors.numpy
        program = make()
        program.run(own(BATCHES[:4]))
        before = program.params["w"].tobytes()
        if job.rank == 0:
            safetensors.numpy.save_file(program.slots(), "FOLDER/w.safetensors")
            orbax.checkpoint.PyTreeCheckpointer().save("FOLDER/orbax", program.params)
        job.barrier()
        program.run(own(BATCHES[4:6]))
        print(program.params["w"].tobytes() == before)
        program.set_slots(safetensors.numpy.load_file("FOLDER/w.safetensors"))
        print(program.params["w"].tobytes() == before)
        restored = orbax.checkpoint.PyTreeCheckpointer().restore("FOLDER/orbax")
        again = commsched.transpile(step, restored, X[0], Y[0], batch=(1, 2))
        again.run(own(BATCHES[:2]))
        program.run(own(BATCHES[:2]))
        print(again.params["w"].tobytes() == program.params["w"].tobytes())
    """.replace("FOLDER", str(tmp_path))
    assert outputs(run(script(tmp_path, text), 2, token_file(tmp_path))) == [["False", "True", "True"]] * 2


def test_what_the_environment_does_not_say(tmp_path):
    path = script(tmp_path, "print(job.size)", init="commsched.init()")

    def of(**variables):
        env = {**environment(0, 1, free_port()), **variables}
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, env={n: v for n, v in env.items() if v is not None})
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()
    # One of a Kubernetes job that is not indexed, say: it would be a job of its own.
    one_line(of(RANK=None, WORLD_SIZE="4"), "WORLD_SIZE is 4, but none says which rank this is: set RANK", "or give rank and size")
    one_line(of(COMMSCHED_DEADLINE="soon"), "environment variable COMMSCHED_DEADLINE must be a number of seconds, got: soon")
    one_line(of(COMMSCHED_DEADLINE="-1"), "deadline must be a positive number of seconds, got: -1.0")
    one_line(of(RANK="1", WORLD_SIZE="2", PMI_RANK="0", PMI_SIZE="2"), "RANK and WORLD_SIZE must match PMI_RANK and PMI_SIZE")
    assert of(RANK=None, WORLD_SIZE=None, JOB_COMPLETION_INDEX="3")[:2] == (0, ["1"])


def test_addresses_of_ipv6_and_names(tmp_path):
    for master in "::1", "localhost":
        port, token = free_port(), token_file(tmp_path)
        text = "program = make(strategy=commsched.ParameterServers(servers=2))\nprint(len(program.run(own(BATCHES[:2]))))"
        path = script(tmp_path, text)
        ranks = [start(path, rank, 2, port, MASTER_ADDR=master, COMMSCHED_TOKEN_FILE=token) for rank in range(2)]
        assert outputs(ended(ranks)) == [["2"]] * 2
