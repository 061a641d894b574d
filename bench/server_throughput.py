# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What one parameter server does with Adam on 100 M parameters (--quick: 10 M).

A trainer and a server, two processes over loopback TCP: every step pushes a
gradient of all parameters, which the trainer makes with one multiplication per
element, updates them, and pulls them. The parameters must come out as NumPy's.

The limit is taken in the same run, in turn: the larger of

- network: the bytes that are pushed and pulled (8 per parameter) at the rate at
  which iperf3 sends both ways at once, both added up;
- memory: what Adam must read and write (gradient, parameter and two moments in,
  three of them out: 28 bytes per parameter) at the rate at which all cores copy
  memory.

Neither knows of the other: on loopback the kernel's copies, ours and Adam share
the processors and the memory, so 1 cannot be reached. The first two steps do not count:
memory is touched there for the first time, which may take a machine seconds. Figures are medians over
the rounds. The processor time of a step is that of both processes together, over
the number of processors: no step can be shorter.
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
from _shaped import measure_in_peace, step_seconds  # noqa: E402
from transport import congestion_control, free_ports  # noqa: E402
from _tools import tool  # noqa: E402

TIME_LIMIT = 500  # seconds, only ends a hang
TENSORS = 16
WARM_UP = 2  # steps


def make_plan(folder, rows):
    scheduled = subprocess.run([tool("cs-opt"), "--cs-parameter-server-pipeline=servers=1"],
                               input=_adam.module(TENSORS, rows), text=True, capture_output=True)
    if scheduled.returncode:
        sys.exit(f"server_throughput: cs-opt failed: {scheduled.stderr}")
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", folder / "plan"], input=scheduled.stdout, text=True,
                   check=True)


def run_iperf3(seconds, *how):
    """Received bytes per second, of both directions together if there are two."""
    port = str(free_ports(1)[0])
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", port, "-B", "127.0.0.1", "--forceflush"],
                              stdout=subprocess.PIPE, text=True)
    try:
        while "listening" not in (line := server.stdout.readline()):
            if not line:
                sys.exit("server_throughput: the iperf3 server ended before it listened")
        client = subprocess.run(["iperf3", "-c", "127.0.0.1", "-p", port, "-t", str(seconds), "-J", *how],
                                capture_output=True, text=True, timeout=TIME_LIMIT)
        result = json.loads(client.stdout)
        if "error" in result:
            sys.exit(f"server_throughput: iperf3: {result['error']}")
        ways = [result["end"][key] for key in ("sum_received", "sum_received_bidir_reverse") if key in result["end"]]
        return sum(way["bits_per_second"] for way in ways) / 8
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def processor_seconds(processes):
    """That the processes' threads have run so far."""
    total = 0
    for process in processes:
        for path in pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
            try:
                total += int(path.read_text().split()[0])
            except OSError:
                pass  # has ended
    return total / 1e9


def run_job(folder, steps):
    """Seconds of a step, and how many processors trainer and server keep busy meanwhile."""
    address = f"127.0.0.1:{free_ports(1)[0]}"
    roles = [["--role", "server", "--index", "0", "--listen", address],
             ["--role", "trainer", "--rank", "0", "--servers", address, "--batch", "batch.npz", "--steps", str(steps),
              "--trace", "trace.json", "--save-params", "params.safetensors"]]
    processes, samples = [], []
    try:
        for role in roles:
            processes.append(subprocess.Popen([tool("cs-run"), "plan", *role, "--insecure"], cwd=folder, stdout=subprocess.DEVNULL,
                                              stderr=subprocess.PIPE, text=True))
        end = time.monotonic() + TIME_LIMIT
        while all(process.poll() is None for process in processes) and time.monotonic() < end:
            samples.append((time.monotonic(), processor_seconds(processes)))
            time.sleep(0.1)
        # The error of the first to end is in that of the other.
        errors = [process.communicate(timeout=60)[1] for process in processes]
        if any(process.returncode for process in processes):
            sys.exit(f"server_throughput: {errors[1]}{errors[0]}")
    finally:
        for process in processes:
            process.kill()
            process.wait()
    # Most of the time is steps.
    busy = statistics.median((c1 - c0) / (t1 - t0) for (t0, c0), (t1, c1) in zip(samples, samples[1:]))
    # Their first call makes what training begins with.
    return step_seconds([json.loads((folder / "trace.json").read_text())], 1 + WARM_UP), busy


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
    measure_in_peace()
    rows, steps, rounds = (625, 20, 3) if arguments.quick else (6250, 20, 3)
    parameters = TENSORS * rows * _adam.COLUMNS
    x = np.linspace(0.5, 1.5, steps, dtype=np.float32)
    found, one_way, network, memory, processors = [], [], [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_plan(folder, rows)
        np.savez(folder / "batch.npz", x=x)
        for number in range(rounds):
            one_way.append(run_iperf3(2))
            network.append(run_iperf3(2, "--bidir"))
            memory.append(copy_rate(1 << 29))
            step, cores = run_job(folder, steps)
            found.append(step)
            processors.append(cores * step / os.cpu_count())
            check(folder, x)
            print(f"round {number + 1}: step {found[-1]:.3f} s, processors {processors[-1]:.3f} s; iperf3 "
                  f"{one_way[-1] / 1e9:.2f} GB/s, both ways at once {network[-1] / 1e9:.2f} GB/s, copying "
                  f"{memory[-1] / 1e9:.2f} GB/s", flush=True)
    step = statistics.median(found)
    one = 4 * parameters / statistics.median(one_way)
    wire = 8 * parameters / statistics.median(network)
    touched = 28 * parameters / statistics.median(memory)
    rows = [("step", step), ("processors", statistics.median(processors)),
            ("network, both ways at once", wire), ("network, one way alone", one), ("memory", touched)]
    print(f"{parameters / 1e6:.0f} M parameters, {parameters / step / 1e6:.1f} M updates/s; TCP uses "
          f"{congestion_control()}")
    for what, seconds in rows:
        print(f"  {what:30} {seconds:7.3f} s  {'' if what == 'step' else f'{step / seconds:5.2f} times that'}")
    print(json.dumps({"gb_per_s": round(8 * parameters / step / 1e9, 3),
                      "over_limit": round(step / max(wire, touched), 3), "updates_per_s": round(parameters / step),
                      "parameters": parameters, "step_s": round(step, 4), "network_s": round(wire, 4),
                      "network_one_way_s": round(one, 4), "memory_s": round(touched, 4),
                      "processors_s": round(statistics.median(processors), 4)}))


if __name__ == "__main__":
    main()
