# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What one parameter server does with Adam on 100 M parameters (--quick: 10 M).

A trainer and a server, two processes over loopback TCP: every step pushes a
gradient of all parameters, which the trainer makes with one multiplication per
element, updates them, and pulls them. The parameters must come out as NumPy's.

The limit is taken in the same run, in turn: the larger of the time for one
direction's bytes at the rate of iperf3, and of the time for what Adam must read
and write (gradient, parameter and two moments in, three of them out) at the
rate at which all cores copy memory. Figures are medians over the rounds.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import _adam  # noqa: E402
from transport import congestion_control, free_ports, run_iperf3  # noqa: E402

TIME_LIMIT = 500  # seconds, only ends a hang
TENSORS = 16


def tool(name):
    return str(pathlib.Path(os.environ.get("COMMSCHED_BIN", "build/release/bin")) / name)


def make_plan(folder, rows):
    scheduled = subprocess.run([tool("cs-opt"), "--cs-parameter-server-pipeline=servers=1"],
                               input=_adam.module(TENSORS, rows), text=True, capture_output=True)
    if scheduled.returncode:
        sys.exit(f"server_throughput: cs-opt failed: {scheduled.stderr}")
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", folder / "plan"], input=scheduled.stdout, text=True,
                   check=True)


def run_job(folder, steps):
    """Seconds of a step."""
    server_port, trainer_port = free_ports(2)
    address = f"127.0.0.1:{server_port}"
    server = subprocess.Popen([tool("cs-run"), "plan", "--role", "server", "--index", "0", "--listen", address],
                              cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        trainer = subprocess.run(
            [tool("cs-run"), "plan", "--role", "trainer", "--rank", "0", "--peers", f"127.0.0.1:{trainer_port}",
             "--servers", address, "--batch", "batch.npz", "--steps", str(steps), "--metrics-json", "metrics.json",
             "--save-params", "params.safetensors"],
            cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT)
        _, errors = server.communicate(timeout=TIME_LIMIT)
        if trainer.returncode or server.returncode:
            sys.exit(f"server_throughput: {trainer.stderr}{errors}")
    finally:
        server.kill()
        server.wait()
    return json.loads((folder / "metrics.json").read_text())["summary"]["step_ms"] / 1e3


def check(folder, x):
    from safetensors import safe_open
    wanted = _adam.expected(x)
    with safe_open(folder / "params.safetensors", "np") as file:
        for name in file.keys():
            value = file.get_tensor(name)
            if not (abs(value - wanted) < 1e-5).all():
                sys.exit(f"server_throughput: {name} must be {wanted}, got: {value.min()} to {value.max()}")


def copy_rate(size):
    """Bytes per second, read and written, of all cores together."""
    import numpy as np
    count = os.cpu_count()
    parts = [(np.ones(size // count, np.uint8), np.empty(size // count, np.uint8)) for _ in range(count)]
    for source, target in parts:
        np.copyto(target, source)
    start = time.perf_counter()
    threads = [threading.Thread(target=np.copyto, args=(target, source)) for source, target in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 2 * size / (time.perf_counter() - start)


def main():
    import numpy as np
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if shutil.which("iperf3") is None:
        sys.exit("server_throughput: iperf3 is missing: apt-get install iperf3")
    rows, steps, rounds = (625, 10, 3) if arguments.quick else (6250, 12, 3)
    parameters = TENSORS * rows * _adam.COLUMNS
    x = np.linspace(0.5, 1.5, steps, dtype=np.float32)
    found, network, memory = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_plan(folder, rows)
        np.savez(folder / "batch.npz", x=x)
        for number in range(rounds):
            network.append(run_iperf3(2, congestion_control()))
            memory.append(copy_rate(1 << 29))
            found.append(run_job(folder, steps))
            check(folder, x)
            print(f"round {number + 1}: step {found[-1]:.3f} s; iperf3 {network[-1] / 1e9:.2f} GB/s, "
                  f"copying {memory[-1] / 1e9:.2f} GB/s", flush=True)
    step = statistics.median(found)
    wire = 4 * parameters / statistics.median(network)
    touched = 7 * 4 * parameters / statistics.median(memory)
    limit = max(wire, touched)
    print(f"{parameters / 1e6:.0f} M parameters: step {step:.3f} s, {parameters / step / 1e6:.1f} M updates/s; network at "
          f"least {wire:.3f} s, memory at least {touched:.3f} s")
    print(json.dumps({"gb_per_s": round(8 * parameters / step / 1e9, 3), "over_limit": round(step / limit, 3),
                      "updates_per_s": round(parameters / step), "parameters": parameters,
                      "step_s": round(step, 4), "network_s": round(wire, 4), "memory_s": round(touched, 4)}))


if __name__ == "__main__":
    main()
