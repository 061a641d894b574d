# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An example as the ranks of a job, started in each way there is, and what became of each process."""
import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[1]
LAUNCHERS = ("OMPI_", "PMI", "SLURM_", "TORCHELASTIC_", "COMMSCHED_TOKEN", "COMMSCHED_TLS")
BESIDE = 1000  # how far our port is from that of torchrun's own store
MARK = "COMMSCHED_EXAMPLE_JOB"  # in the environment of all processes of a job


@dataclasses.dataclass
class Ended:
    """A rank's exit status (None: only its launcher knows), lines of stderr, and how long after the fault it has ended, in seconds."""

    status: "int | None"
    errors: list
    seconds: float


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def environment(**more):
    kept = {n: v for n, v in os.environ.items() if not n.startswith(LAUNCHERS) and n not in (
        "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    return {**kept, "PYTHONPATH": str(ROOT / "python_api"), "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", **more}


def why_not(how):
    """What is missing for it; empty if nothing is."""
    if how == "mpirun" and shutil.which("mpirun") is None:
        return "needs Open MPI"
    if how == "torchrun" and not (pathlib.Path(sys.executable).parent / "torchrun").exists():
        return "needs PyTorch"
    if how == "hosts":
        from net import hosts
        return hosts.why_unavailable() or ("" if shutil.which("openssl") else "needs openssl")
    return ""


class Job:
    """`how`: "processes" (with the environment that launchers of frameworks make), "torchrun", "mpirun", or "hosts": two network
    namespaces, all ranks but one on the first. `security`: by rank, more of the environment."""

    def __init__(self, how, command, ranks, folder, security=lambda rank: {}, network=None, port=None, deadline=30.0):
        self.ranks, self.folder, self.how, self.network = ranks, folder, how, network
        self.mark = uuid.uuid4().hex
        self._began, self.direct = time.monotonic(), how in ("processes", "hosts")
        common = {MARK: self.mark, "COMMSCHED_DEADLINE": str(deadline)}
        port = port or free_port()
        if self.direct:
            master = network.addresses[0] if network else "127.0.0.1"
            self.processes = [self._start(rank, command, environment(
                RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR=master, MASTER_PORT=str(port), **common, **security(rank)))
                for rank in range(ranks)]
            return
        shell = folder / "rank.sh"
        variable = "OMPI_COMM_WORLD_RANK" if how == "mpirun" else "RANK"
        own = "".join(f"[ ${variable} != {rank} ] || export {name}='{value}'\n" for rank in range(ranks)
                      for name, value in security(rank).items())
        shell.write_text(f"{own}exec {' '.join(map(str, command))} >{folder}/out.${variable} 2>{folder}/err.${variable}\n")
        if how == "mpirun":
            begin = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks, "sh", shell]
            if security(0):
                common.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        else:
            begin = [pathlib.Path(sys.executable).parent / "torchrun", "--nproc-per-node", ranks, "--master-port", port - BESIDE, "--no-python",
                     "sh", shell]
        with open(folder / "launcher", "wb") as said:
            self.processes = [subprocess.Popen([*map(str, begin)], stdout=said, stderr=said, env=environment(**common))]

    def _start(self, rank, command, env):
        pipes = {name: open(self.folder / f"{short}.{rank}", "wb") for name, short in (("stdout", "out"), ("stderr", "err"))}
        try:
            if self.network:
                return self.network.start(int(rank == self.ranks - 1), command, env=env, **pipes)
            return subprocess.Popen([*map(str, command)], env=env, **pipes)
        finally:
            for pipe in pipes.values():
                pipe.close()

    def pid(self, rank):
        """Of a rank that runs."""
        if self.how == "processes":
            return self.processes[rank].pid
        name = b"OMPI_COMM_WORLD_RANK" if self.how == "mpirun" else b"RANK"
        for pid, variables, command in marked(self.mark):
            if variables.get(name) == str(rank).encode() and command.split(b"\0")[0].split(b"/")[-1].startswith(b"python"):
                return pid
        raise ProcessLookupError(f"rank {rank} does not run")

    def ended(self, limit, since=None):
        """What became of the ranks, by rank; whoever takes longer is ended. `since`: the time of the fault."""
        since = self._began if since is None else since
        times = {}
        while len(times) < len(self.processes) and time.monotonic() - since < limit:
            for number, process in enumerate(self.processes):
                if number not in times and process.poll() is not None:
                    times[number] = time.monotonic() - since
            time.sleep(0.02)
        hanging = self.end()
        found = []
        for rank in range(self.ranks):
            path = self.folder / f"err.{rank}"
            errors = path.read_text(errors="replace").splitlines() if path.exists() else []
            number = rank if self.direct else 0
            status = self.processes[number].returncode if self.direct else None
            found.append(Ended(status, errors, times.get(number, limit)))
        return found, hanging

    @property
    def launcher_status(self):
        return None if self.direct else self.processes[0].returncode

    def end(self):
        """Ends what still runs; which processes those were."""
        time.sleep(0.2)  # for those whose parent has just ended
        left = [(pid, command) for pid, _, command in marked(self.mark)]
        for pid, _ in left:
            for number in (signal.SIGCONT, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        for process in self.processes:
            process.wait()
        while left and any(pid in (one for one, _, _ in marked(self.mark)) for pid, _ in left):  # a kill takes a moment
            time.sleep(0.01)
        return [command.replace(b"\0", b" ").decode(errors="replace").strip() for _, command in left]


def marked(mark):
    """(pid, environment, command line) of processes of a job."""
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            variables = dict(v.split(b"=", 1) for v in (path / "environ").read_bytes().split(b"\0") if b"=" in v)
            if variables.get(MARK.encode()) == mark.encode():
                state = (path / "stat").read_text().rsplit(")", 1)[1].split()[0]
                if state != "Z":
                    yield int(path.name), variables, (path / "cmdline").read_bytes()
