# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dense net (dense_net.py) on the machine of cuda_machine.py."""
import json
import os
import re
import signal

import dense_net
import numpy as np
from cuda_machine import SAYS, Machine, finish, tool
from safetensors.numpy import save_file

# As bench/run loss_parity has found for plans on CPUs, rounded up.
BOUND = 1e-5


def machine_with(folder, programs):
    """A machine with `plans` of the programs, by their keys, and the files of what they begin with (`initial`) and of a batch (`data`)."""
    machine = Machine(folder)
    machine.plans = {key: machine.add(program, f"dense{number}") for number, (key, program) in enumerate(programs.items())}
    machine.initial, machine.data = machine.folder / "initial.safetensors", machine.folder / "data.npz"
    save_file(list(programs.values())[-1].slots(), machine.initial)
    np.savez(machine.data, x=dense_net.X, y=dense_net.Y)
    return machine


def arguments(machine, *more):
    # Long, as the machine may have other things to do.
    return ["--init", machine.initial, "--batch", machine.data, *more, *([] if "--deadline" in more else ["--deadline", 250])]


def goes_on(machine, plan, process, checkpoint, folder, more):
    """Kills a job that writes checkpoints, resumes it, asks it to stop and resumes it again: the same bits as if nothing had been."""
    os.killpg(process.pid, signal.SIGKILL)
    finish(process)
    resume = [*more, "--deadline", 250, "--batch", machine.data, "--resume", checkpoint]
    process = machine.start(tool("cs-run"), plan, *resume, "--checkpoint", checkpoint, "--checkpoint-every", 3, "--steps", 10**6)
    while not (line := process.stdout.readline()).startswith("step "):
        assert line, finish(process)
    process.send_signal(signal.SIGTERM)
    status, out, errors = finish(process)
    assert status in (-signal.SIGTERM, 128 + signal.SIGTERM) and SAYS not in errors, (status, out, errors)
    done = int(re.search(r"stopped after step (\d+)", out)[1])
    again = machine.cs_run(plan, *resume, "--steps", 5, "--save-params", folder / "params")
    assert f"step {done + 5}: loss" in again
    machine.cs_run(plan, *more, *arguments(machine, "--steps", done + 5, "--save-params", folder / "through"))
    assert (folder / "params").read_bytes() == (folder / "through").read_bytes()


def is_jax(losses, params, wanted):
    """`wanted`: losses and parameters of dense_net.jax_steps."""
    assert len(losses) == len(wanted[0])
    assert max(abs(a - b) / abs(b) for a, b in zip(losses, wanted[0])) < BOUND
    for name, value in wanted[1].items():
        assert np.abs(params[name] - value).max() <= BOUND * np.abs(value).max(), name


def runs_in_python(machine, arguments, steps, wanted):
    """dense_net.program(`arguments`) by Program.run in two parts, with an evaluation in between."""
    out = machine.python(f"""
import json, commsched, dense_net
program = dense_net.program({arguments}, device="cuda")
batches = [dense_net.BATCHES[i % len(dense_net.BATCHES)] for i in range({steps})]
losses = [m["loss"] for m in program.run(batches[:10])]
print(json.dumps(program.call("eval", batches[:2])))
losses += [float(m["loss"]) for m in program.run(batches[10:])]
print(program.steps)
print(json.dumps(losses))
print(json.dumps({{name: value.tolist() for name, value in program.slots().items()}}))
program.close()
""").splitlines()
    assert all(np.isfinite(m["loss"]) for m in json.loads(out[0])) and out[1] == str(steps)
    is_jax(json.loads(out[2]), {name: np.asarray(value, np.float32) for name, value in json.loads(out[3]).items()}, wanted)
