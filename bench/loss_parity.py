# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether training gives the losses that JAX gives.

Both examples, 100 steps (--quick: 10), on 1, 2 and 4 workers, as threads of one
process and as processes (cs-run --spawn), against JAX on one device on the same
global batches: the largest relative difference of a loss. Every plan runs twice
as threads, which must give bitwise equal parameters.

The same with 2 trainers and 2 parameter servers: as threads, and as four
processes over TLS with a job token, whose parameters must be bitwise those of
the threads. Last, the digits net trained by those four processes in sync and in
async mode, there at half the rate: the accuracy on the samples that are not
trained on.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _examples import ROOT, Example, unpacked  # noqa: E402
from _processes import Authority, Job, new_token  # noqa: E402
from _tools import tool  # noqa: E402

SERVERS = dict(servers=2, min_block_elements=1024)
EPOCHS = 30  # of the digits net
TIME_LIMIT = 600  # seconds, only ends a hang


def jax_losses(example, batches):
    import jax
    state, jitted, losses = example.state(), jax.jit(example.step), []
    for batch in batches:
        *state, loss = jitted(*state, *batch)
        losses.append(float(loss))
    return losses


def threads(example, workers, batches, strategy):
    """(losses, bytes of all slots, plan, initial values)."""
    program = example.program(workers, *strategy)
    initial = program.slots()
    losses = [m["loss"] for m in program.run(unpacked(batches))]
    final = {name: value.tobytes() for name, value in program.slots().items()}
    program.close()
    return losses, final, program.plan, initial


def write_inputs(example, plan, initial, batches, folder):
    import numpy as np
    from safetensors.numpy import save_file
    (folder / "plan").write_bytes(plan)
    save_file(initial, folder / "init.safetensors")
    np.savez(folder / "batch.npz", **{name: np.concatenate([b[i] for b in batches])
                                      for i, name in enumerate(example.batch_names)})


def results(folder):
    """(losses, parameters by name)."""
    from safetensors.numpy import load_file
    steps = json.loads((folder / "metrics.json").read_text())["steps"]
    return [s["loss"] for s in steps], load_file(folder / "out.safetensors")


def processes(example, workers, batches, plan, initial, folder):
    """(losses, parameters by name) of cs-run --spawn."""
    write_inputs(example, plan, initial, batches, folder)
    command = [tool("cs-run"), "plan", "--spawn", str(workers), "--init", "init.safetensors", "--batch", "batch.npz",
               "--steps", str(len(batches)), "--metrics-json", "metrics.json", "--save-params", "out.safetensors"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cs-run failed ({done.returncode}): {done.stderr}")
    return results(folder)


def run_servers(folder, *of_trainers):
    """The plan in `folder` as 2 trainers and 2 servers over TLS."""
    authority = Authority(folder / "authority")
    options = [*authority.options, *new_token(folder / "token")]
    initial = ["--init", folder / "init.safetensors"]
    job = Job(tool, folder / "plan", folder, lambda role, index: options, (2, 2), initial, [*initial, *of_trainers])
    for index in range(2):
        job.start_server(index)
    for rank in range(2):
        job.start_trainer(rank)
    hanging = job.finish(TIME_LIMIT)
    for name, (_, errors, status) in sorted(job.results.items()):
        if status or hanging:
            sys.exit(f"{name} ended with status {status}: {errors}")


def server_processes(example, batches, plan, initial, folder):
    """(losses, parameters by name)."""
    write_inputs(example, plan, initial, batches, folder)
    run_servers(folder, "--batch", folder / "batch.npz", "--steps", len(batches), "--metrics-json",
                folder / "metrics.json", "--save-params", folder / "out.safetensors")
    return results(folder)


def accuracy(mode, epochs):
    """Of the digits net on its test samples, trained by 2 trainers and 2 servers."""
    from safetensors.numpy import save_file
    import commsched
    example = Example("digits")
    rate = example.module.LEARNING_RATE
    if mode == "async":
        example.module.LEARNING_RATE = rate / 2  # as docs/parameter-server.md advises
    program = example.program(2, commsched.ParameterServers(mode=mode, **SERVERS))
    example.module.LEARNING_RATE = rate
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "plan").write_bytes(program.plan)
        save_file(program.slots(), folder / "init.safetensors")
        run_servers(folder, "--batch", ROOT / "examples" / "digits.train.npz", "--shuffle", "--epochs", epochs,
                    "--eval", "eval", "--eval-batch", ROOT / "examples" / "digits.test.npz", "--metrics-json",
                    folder / "metrics.json")
        program.close()
        return json.loads((folder / "metrics.json").read_text())["calls"][-1]["accuracy"]


def difference(found, wanted):
    if len(found) != len(wanted):
        sys.exit(f"{len(found)} losses must match {len(wanted)}")
    # A loss that is not a number must not pass as small.
    return max((abs(a - b) / abs(b) if a == a else float("inf")) for a, b in zip(found, wanted))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--only-servers", action="store_true", help="not the rows without parameter servers")
    parser.add_argument("--examples", nargs="*", default=["digits", "transformer"])
    arguments = parser.parse_args()
    count = arguments.steps or (10 if arguments.quick else 100)
    worst, worst_servers, equal, processes_equal = 0.0, 0.0, True, True
    print(f"{'example':12} {'workers':>7} {'how':17} {'seconds':>8} {'first loss':>11} {'last loss':>11} "
          f"{'largest relative difference':>28}")

    def row(name, workers, how, seconds, losses, wanted):
        nonlocal worst, worst_servers
        gap = difference(losses, wanted) if wanted else 0.0
        if how.startswith("servers"):
            worst_servers = max(worst_servers, gap)
        else:
            worst = max(worst, gap)
        print(f"{name:12} {workers:7} {how:17} {seconds:8.2f} {losses[0]:11.6f} {losses[-1]:11.6f} "
              + (f"{gap:28.2e}" if wanted else ""), flush=True)

    def same_parameters(saved, final, what):
        nonlocal processes_equal
        if any(value.tobytes() != final[key] for key, value in saved.items()):
            processes_equal = False
            print(f"{what}: threads and processes differ in parameters")

    def both(example, workers, batches, wanted, prefix, strategy, run_processes):
        nonlocal equal
        start = time.perf_counter()
        losses, final, plan, initial = threads(example, workers, batches, strategy)
        row(example.name, workers, prefix + "threads", time.perf_counter() - start, losses, wanted)
        if (losses, final) != threads(example, workers, batches, strategy)[:2]:
            equal = False
            print(f"{example.name}: two runs on {workers} workers differ")
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            losses, saved = run_processes(plan, initial, pathlib.Path(folder))
            row(example.name, workers, prefix + "processes", time.perf_counter() - start, losses, wanted)
        same_parameters(saved, final, f"{example.name}, {prefix}{workers} workers")

    import commsched
    for name in arguments.examples:
        example = Example(name)
        batches = example.batches(count)
        start = time.perf_counter()
        wanted = jax_losses(example, batches)
        row(name, 1, "JAX", time.perf_counter() - start, wanted, None)
        for workers in () if arguments.only_servers else (1, 2, 4):
            both(example, workers, batches, wanted, "", (), lambda plan, initial, folder: processes(
                example, workers, batches, plan, initial, folder))
        both(example, 2, batches, wanted, "servers, ", (commsched.ParameterServers(**SERVERS),), lambda plan, initial, folder: server_processes(
            example, batches, plan, initial, folder))
    accuracies = {}
    if "digits" in arguments.examples:
        epochs = 5 if arguments.quick else EPOCHS
        for mode in ("sync", "async"):
            accuracies[f"{mode}_accuracy"] = round(accuracy(mode, epochs), 4)
        print(f"digits, {epochs} epochs with 2 trainers and 2 servers: accuracy {accuracies['sync_accuracy']:.4f} in "
              f"sync mode, {accuracies['async_accuracy']:.4f} in async mode")
    print(f"{count} steps; two runs of a plan are bitwise equal: {'yes' if equal else 'NO'}")
    print(json.dumps({"worst_relative_difference": None if arguments.only_servers else worst,
                      "servers_relative_difference": worst_servers, "steps": count,
                      "bitwise_equal": equal, "processes_equal": processes_equal,
                      **accuracies}))
    sys.exit(0 if equal and processes_equal else 1)


if __name__ == "__main__":
    main()
