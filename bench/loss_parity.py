# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether training gives the losses that JAX gives.

Both examples, 100 steps (--quick: 10), on 1, 2 and 4 workers, as threads of one
process and as processes (cs-run --spawn), against JAX on one device on the same
global batches: the largest relative difference of a loss. Every plan runs twice
as threads, which must give bitwise equal parameters.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _examples import Example, unpacked  # noqa: E402


def jax_losses(example, batches):
    import jax
    state, jitted, losses = example.state(), jax.jit(example.step), []
    for batch in batches:
        *state, loss = jitted(*state, *batch)
        losses.append(float(loss))
    return losses


def threads(example, workers, batches):
    """(losses, bytes of all slots, plan, initial values)."""
    program = example.program(workers)
    initial = program.slots()
    losses = [m["loss"] for m in program.run(unpacked(batches))]
    final = {name: value.tobytes() for name, value in program.slots().items()}
    program.close()
    return losses, final, program.plan, initial


def processes(example, workers, batches, plan, initial, folder):
    """(losses, parameters by name) of cs-run --spawn."""
    import numpy as np
    from safetensors.numpy import load_file, save_file
    folder = pathlib.Path(folder)
    (folder / "plan").write_bytes(plan)
    save_file(initial, folder / "init.safetensors")
    np.savez(folder / "batch.npz", **{name: np.concatenate([b[i] for b in batches])
                                      for i, name in enumerate(example.batch_names)})
    command = [str(pathlib.Path(os.environ["COMMSCHED_BIN"]) / "cs-run"), "plan", "--spawn", str(workers),
               "--init", "init.safetensors", "--batch", "batch.npz", "--steps", str(len(batches)),
               "--metrics-json", "metrics.json", "--save-params", "out.safetensors"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cs-run failed ({done.returncode}): {done.stderr}")
    steps = json.loads((folder / "metrics.json").read_text())["steps"]
    return [s["loss"] for s in steps], load_file(folder / "out.safetensors")


def difference(found, wanted):
    if len(found) != len(wanted):
        sys.exit(f"{len(found)} losses must match {len(wanted)}")
    # A loss that is not a number must not pass as small.
    return max((abs(a - b) / abs(b) if a == a else float("inf")) for a, b in zip(found, wanted))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--examples", nargs="*", default=["digits", "transformer"])
    arguments = parser.parse_args()
    count = arguments.steps or (10 if arguments.quick else 100)
    worst, equal = 0.0, True
    print(f"{'example':12} {'workers':>7} {'how':10} {'seconds':>8} {'first loss':>11} {'last loss':>11} "
          f"{'largest relative difference':>28}")

    def row(name, workers, how, seconds, losses, wanted):
        nonlocal worst
        gap = difference(losses, wanted) if wanted else 0.0
        worst = max(worst, gap)
        print(f"{name:12} {workers:7} {how:10} {seconds:8.2f} {losses[0]:11.6f} {losses[-1]:11.6f} "
              + (f"{gap:28.2e}" if wanted else ""), flush=True)

    for name in arguments.examples:
        example = Example(name)
        batches = example.batches(count)
        start = time.perf_counter()
        wanted = jax_losses(example, batches)
        row(name, 1, "JAX", time.perf_counter() - start, wanted, None)
        for workers in (1, 2, 4):
            start = time.perf_counter()
            losses, final, plan, initial = threads(example, workers, batches)
            row(name, workers, "threads", time.perf_counter() - start, losses, wanted)
            again, final_again, _, _ = threads(example, workers, batches)
            if (losses, final) != (again, final_again):
                equal = False
                print(f"{name}: two runs on {workers} workers differ")
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                losses, saved = processes(example, workers, batches, plan, initial, folder)
                row(name, workers, "processes", time.perf_counter() - start, losses, wanted)
            if any(value.tobytes() != final[key] for key, value in saved.items()):
                print(f"{name}: threads and processes differ in parameters on {workers} workers")
    print(f"{count} steps; two runs of a plan are bitwise equal: {'yes' if equal else 'NO'}")
    print(json.dumps({"worst_relative_difference": worst, "steps": count, "bitwise_equal": equal}))
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
