# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs of ranks in Python under mpirun: connected by MPI, or by gRPC where there is none or it is asked for."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from rank_job import CLEAN, ROOT, STEP, TIME_LIMIT, endless, free_port, one_line, outputs, script, token_file

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n"]
BUILD = pathlib.Path(os.environ.get("COMMSCHED_BIN") or ROOT / "build" / "release" / "bin").resolve()
PLUGIN = BUILD.parent / "lib" / "libcommsched_c_mpi.so"
pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None or not PLUGIN.exists(), reason="needs Open MPI")

# Two programs at once, one of them run twice, and a file of each.
RANKS = """
program, other = make(), make(strategy=commsched.AllReduce(sparse=commsched.Sparse(0.4, min_elements=0)))
for _ in range(2):
    for metrics in program.run(own(BATCHES)) + other.run(own(BATCHES[:7])) + program.call("distance", own(BATCHES[:2])):
        print(sorted(metrics.items()))
    program.close()
other.save("{FOLDER}/saved")
other.restore("{FOLDER}/saved")
other.run(own(BATCHES[:3]))
for each in program, other:
    print(each.steps, {n: v.tobytes().hex() for n, v in each.slots().items()})
"""


# Without JAX, of which it says nothing.
BARE = "import sys\nimport commsched"

# With a parameter of 200 kB, which goes in parts.
LARGE = STEP.replace('jnp.mean((x @ p["w"] - y) ** 2)', 'jnp.mean((x @ p["w"] + x[:, 0] * p["v"].mean() - y) ** 2)').replace(
    '{"w": np.zeros(3, np.float32)}', '{"w": np.zeros(3, np.float32), "v": np.ones(50000, np.float32)}')


def begin(folder, path, size, by="exec", **more):
    """mpirun as a process. What each rank prints goes to files: mpirun may put lines of two ranks into one."""
    (folder / "rank.sh").write_text(f"{by} {sys.executable} {path} >{folder}/out.$OMPI_COMM_WORLD_RANK 2>{folder}/err.$OMPI_COMM_WORLD_RANK\n")
    return subprocess.Popen([*MPIRUN, str(size), "sh", folder / "rank.sh"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            env={**CLEAN, "PYTHONPATH": str(ROOT / "python_api"), "PYTHONWARNINGS": "ignore", "JAX_PLATFORMS": "cpu", **more})


def end(folder, mpirun, size):
    """As rank_job.ended; of the ranks, mpirun says one status."""
    status = mpirun.wait(TIME_LIMIT)
    return [(status, *((folder / f"{name}.{rank}").read_text().splitlines() for name in ("out", "err"))) for rank in range(size)]


def run(folder, path, size, **more):
    return end(folder, begin(folder, path, size, **more), size)


def threads(folder, ranks, text, step=STEP):
    path = folder / "threads.py"
    path.write_text(pathlib.Path(script(folder, text.replace("{FOLDER}", str(folder)), step=step)).read_text().replace(
        "job = commsched.init(deadline=30)", "import types\njob = types.SimpleNamespace(size=1, rank=0)").replace(
            "def make(**options):", f"def make(**options):\n    options = dict(cluster={ranks}, **options)"))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env={
        **CLEAN, "PYTHONPATH": str(ROOT / "python_api"), "PYTHONWARNINGS": "ignore", "JAX_PLATFORMS": "cpu"})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_values_are_those_of_threads(tmp_path):
    expected = threads(tmp_path, 4, RANKS)
    text = RANKS.replace("{FOLDER}", str(tmp_path)) + "print(job)\njob.close()\nprint(job.closed)\n"
    for rank, out in enumerate(outputs(run(tmp_path, script(tmp_path, text), 4))):
        assert out == [*expected, f"<commsched.Job: rank {rank} of 4, mpi>", "True"]


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root gives a process a host name of its own")
def test_values_where_ranks_share_no_memory(tmp_path):
    """Several connections at once over MPI itself: as of other hosts, by their names."""
    text = RANKS.replace("{FOLDER}", str(tmp_path)).replace("v.tobytes().hex()", "__import__('zlib').crc32(v.tobytes())").replace(
        "range(2)", "range(1)").replace("own(BATCHES)", "own(BATCHES[:4])")
    expected = threads(tmp_path, 2, text, LARGE)
    path = script(tmp_path, text + "print(job.transport)", step=LARGE)
    by = "exec unshare --uts sh -c 'hostname of-rank-$OMPI_COMM_WORLD_RANK; exec \"$@\"' sh"
    assert outputs(run(tmp_path, path, 2, by=by)) == [[*expected, "mpi"]] * 2


def test_what_chooses_grpc(tmp_path):
    path = script(tmp_path, "print(job.transport)", step=BARE,
                  init="commsched.init(**(eval(sys.argv[1]) if sys.argv[1:] else {}))")
    secret = {"COMMSCHED_TOKEN_FILE": token_file(tmp_path), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    assert outputs(run(tmp_path, path, 2, **secret)) == [["grpc"]] * 2
    assert outputs(run(tmp_path, f"{path} '{{\"transport\": \"mpi\"}}'", 2, **secret)) == [["mpi"]] * 2
    assert outputs(run(tmp_path, f"{path} '{{\"transport\": \"grpc\"}}'", 2)) == [["grpc"]] * 2
    for result in run(tmp_path, f"{path} '{{\"transport\": \"mpi\", \"port\": 4000}}'", 2):
        one_line(result, "transport mpi goes without addresses, a port, a token and TLS")
    for result in run(tmp_path, f"{path} '{{\"transport\": \"tcp\"}}'", 2):
        one_line(result, "transport must be one of grpc, mpi, got: 'tcp'")


def test_without_the_plugin(tmp_path):
    """As on a machine without Open MPI: by gRPC, which rank 0 says."""
    (tmp_path / "bin").mkdir()
    for name in (BUILD / "cs-opt", BUILD / "cs-translate", PLUGIN.with_name("libcommsched_c.so")):
        (tmp_path / "bin" / name.name).symlink_to(name)
    folder = {"COMMSCHED_BIN": str(tmp_path / "bin")}
    results = run(tmp_path, script(tmp_path, "print(job.transport)", step=BARE), 2, **folder)
    assert [(status, out) for status, out, _ in results] == [(0, ["grpc"])] * 2
    assert results[1][2] == [] and len(results[0][2]) == 1
    assert "warning: the ranks are connected by grpc, not by MPI: MPI cannot be loaded: " in results[0][2][0]
    for result in run(tmp_path, script(tmp_path, "", init='commsched.init(transport="mpi")', step=BARE), 2, **folder):
        one_line(result, "MPI cannot be loaded: ")


def test_without_a_launcher_of_mpi(tmp_path):
    path = script(tmp_path, "print(job)", init='commsched.init(transport="mpi", deadline=5)', step=BARE)
    env = {**CLEAN, "PYTHONPATH": str(ROOT / "python_api")}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=env)
    assert done.stdout == "<commsched.Job: rank 0 of 1, none>\n", done.stderr
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env={**env, "RANK": "1", "WORLD_SIZE": "3"})
    one_line((done.returncode, [], done.stderr.splitlines()), "MPI must say the same as RANK and WORLD_SIZE, rank 1 of 3, got: rank 0 of 1")


@pytest.mark.parametrize("by", ["mpi", "grpc"])
def test_killed_rank(tmp_path, by):
    text = pathlib.Path(endless(tmp_path)).read_text().replace("init(", f'init(transport="{by}", ').replace(
        "program = make()", 'program = make()\nimport os\nopen("FOLDER/pid.%d" % job.rank, "w").write(str(os.getpid()))'.replace(
            "FOLDER", str(tmp_path)))
    (tmp_path / "endless.py").write_text(text)
    mpirun = begin(tmp_path, tmp_path / "endless.py", 3)
    wait(tmp_path, mpirun, 3)
    os.kill(int((tmp_path / "pid.1").read_text()), signal.SIGKILL)
    results = end(tmp_path, mpirun, 3)
    assert results[1][1:] == ([], [])
    for rank in (0, 2):
        one_line((1, *results[rank][1:]), f"rank {rank}: ", "peer 1", "process has ended" if by == "mpi" else "")
    assert results[0][0] != 0


def test_stopped_rank(tmp_path):
    """Of ranks that wait for each other in a ring, all name the one that stands still."""
    text = pathlib.Path(endless(tmp_path)).read_text().replace("deadline=30", 'deadline=8, transport="mpi"').replace(
        "program = make()", f'program = make()\nimport os\nopen("{tmp_path}/pid.%d" % job.rank, "w").write(str(os.getpid()))')
    (tmp_path / "endless.py").write_text(text)
    mpirun = begin(tmp_path, tmp_path / "endless.py", 4)
    wait(tmp_path, mpirun, 4)
    stopped = int((tmp_path / "pid.1").read_text())
    os.kill(stopped, signal.SIGSTOP)
    try:
        results = end(tmp_path, mpirun, 4)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(stopped, signal.SIGKILL)
    for rank in (0, 2, 3):
        one_line((1, *results[rank][1:]), f"rank {rank}: ", "peer 1", "its process is stopped")
    assert results[0][0] != 0


def wait(folder, mpirun, size):
    limit = time.monotonic() + TIME_LIMIT
    while any(not (folder / f"running.{rank}").exists() for rank in range(size)):
        assert mpirun.poll() is None and time.monotonic() < limit, end(folder, mpirun, size)
        time.sleep(0.05)


def test_interrupt(tmp_path, monkeypatch):
    """mpirun tells its processes, once and again."""
    # On a busy machine a rank needs more than the second that mpirun leaves it then.
    monkeypatch.setenv("OMPI_MCA_odls_base_sigkill_timeout", "20")
    mpirun = begin(tmp_path, endless(tmp_path), 3)
    wait(tmp_path, mpirun, 3)
    mpirun.send_signal(signal.SIGINT)
    results = end(tmp_path, mpirun, 3)
    one_line((1, *results[0][1:]), "rank 0: ended by signal ", "after step ")
    assert results[1][1:] == results[2][1:] == ([], [])


def test_wrong_token_and_port_taken(tmp_path):
    secrets = [token_file(tmp_path, "the token of the ranks here"[:20 + (rank == 1)]) for rank in range(2)]
    init = f'commsched.init(deadline=3, token_file={secrets}[int(__import__("os").environ["OMPI_COMM_WORLD_RANK"])])'
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    # The first that fails has mpirun end the others: each has said something, or nothing.
    results = run(tmp_path, script(tmp_path, "", init=init, step=BARE), 2, **where)
    one_line((1, *results[1][1:]), "the token must match that of rank 0")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        results = run(tmp_path, script(tmp_path, "", init=f'commsched.init(deadline=3, token_file="{secrets[0]}")', step=BARE), 2,
                      MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    one_line((1, *results[0][1:]), f"port {port} of 127.0.0.1 cannot be listened on")


def test_an_error_of_the_script_of_one_rank(tmp_path):
    text = """
        program = make()
        program.run(own(BATCHES[:3]))
        if job.rank == 2:
            open("no such file")
        program.run(own(BATCHES[:3]))
    """
    results = run(tmp_path, script(tmp_path, text), 3)
    assert results[2][2][-1].startswith("FileNotFoundError"), results[2]
    for rank in (0, 1):
        one_line((1, *results[rank][1:]), "rank 2: FileNotFoundError: ", "no such file")
