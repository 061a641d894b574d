# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cs-run as launchers start it: real processes under mpirun, and with the variables of
others. Arguments: cs-run, the plan that commsched_make_plan 4 writes, mpirun or nothing."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ports import free_port  # noqa: E402

CS_RUN, PLAN, MPIRUN = (sys.argv[1:] + [""])[:3]
RANKS, TIME_LIMIT = 4, 120
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("OMPI_", "PMI", "SLURM_")) and name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR")}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def start(*command, **environment):
    return subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**CLEAN, **environment})


def ended(process):
    out, errors = process.communicate(timeout=TIME_LIMIT)
    return process.returncode, out, errors


def expect(true, *what):
    if not true:
        sys.exit(" ".join(map(str, ("launch_test:", *what))))


def parameters(folder, name):
    return ["--save-params", folder / name]


def mpirun(ranks, *options):
    return [MPIRUN, "--oversubscribe", "-n", ranks, CS_RUN, PLAN, *options]


def write(path, tensors):
    """A safetensors file: {name: (dtype, shape, bytes)}."""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        init = write(folder / "init", {"w": ("F32", [100], struct.pack("<100f", *[0.5] * 100)),
                                       "n": ("I32", [], struct.pack("<i", 100))})
        batch = write(folder / "batch", {"x": ("F32", [40, 100], struct.pack("<4000f", *(1 / i for i in range(1, 4001))))})
        training = ["--init", init, "--batch", batch]
        status, out, errors = ended(start(CS_RUN, PLAN, *training, *parameters(folder, "threads")))
        expect(status == 0, "threads:", errors)
        expected = (folder / "threads").read_bytes()

        if MPIRUN:
            for transport in ("mpi", "grpc"):
                options = ["--transport", "grpc"] if transport == "grpc" else []
                status, out, errors = ended(
                    start(*mpirun(RANKS, *options, *training, *parameters(folder, transport)), **AS_ROOT))
                expect(status == 0, "mpirun,", transport, errors)
                expect("\x1b" not in out and "memory of a rank" in out, "mpirun,", transport, "prints a bar where no terminal is:", repr(out))
                expect(out.count("step time") <= 1, "more than one rank reports:", out)
                expect((folder / transport).read_bytes() == expected, "mpirun,", transport, "has other parameters")
                links = folder / f"{transport}.links"
                status, out, errors = ended(start(*mpirun(RANKS, *options, "--calibrate", links), **AS_ROOT))
                expect(status == 0, "mpirun, --calibrate", transport, errors)
                measured = json.loads(links.read_text())
                expect(measured["transport"] == transport and len(measured["links"]) == RANKS, measured)
            status, out, errors = ended(start(*mpirun(2, *training), **AS_ROOT))
            expect(status != 0 and "made for a cluster of 4 nodes, got: an MPI job of 2" in errors, errors)
            status, out, errors = ended(start(CS_RUN, PLAN, "--transport", "mpi", *training, **AS_ROOT))
            expect(status != 0 and "start it with mpirun -n 4" in errors, errors)
            # One rank fails: no input. All end, with one of them saying why.
            status, out, errors = ended(start(*mpirun(RANKS, "--init", folder / "missing"), **AS_ROOT))
            expect(status != 0 and "missing" in errors, errors)

        port = free_port()
        # TLS is needed beyond this machine, a secret here too.
        status, out, errors = ended(start(CS_RUN, PLAN, *training, RANK="0", WORLD_SIZE=str(RANKS),
                                          MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)))
        expect(status != 0 and "share a secret" in errors, errors)
        token = folder / "token"
        token.write_text("the token of the ranks here\n")
        token.chmod(0o600)
        secret = ["--token-file", token]
        ranks = [start(CS_RUN, PLAN, *training, *secret, *parameters(folder, f"env{rank}"), RANK=str(rank),
                       WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)) for rank in range(RANKS)]
        for rank, (status, out, errors) in enumerate([ended(process) for process in ranks]):
            expect(status == 0, "RANK", rank, errors)
        expect((folder / "env0").read_bytes() == expected, "RANK, WORLD_SIZE: other parameters")

        status, out, errors = ended(start(CS_RUN, PLAN, *training, RANK="0", WORLD_SIZE="4"))
        expect(status != 0 and "MASTER_ADDR" in errors, errors)
        status, out, errors = ended(start(CS_RUN, PLAN, *training, RANK="0", WORLD_SIZE="4", PMI_RANK="1", PMI_SIZE="4"))
        expect(status != 0 and "must match" in errors, errors)
        # Told where to run: the environment does not count.
        status, out, errors = ended(start(CS_RUN, PLAN, "--transport", "in-process", *training, RANK="0", WORLD_SIZE="7"))
        expect(status == 0, errors)


if __name__ == "__main__":
    main()
