# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast the gRPC transport is between two processes, against iperf3.

Both use TCP over loopback with the same congestion control, in turn: in every
round iperf3 (one stream, its defaults), then 16 MiB messages, of which four are
under way. The rate of a message counts whole messages into their receive
buffers, so it holds one copy more than iperf3, which reads into one small
buffer again and again. A table of other sizes and of round trips follows.
Figures are medians over the rounds.

Where the machine's congestion control is not cubic, Linux's own default, the
comparison is made a second time with cubic, in a network namespace of its own
(needs root and iproute2; left out otherwise).
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys

MIB = 1 << 20
GIB = 1 << 30
TIME_LIMIT = 120  # seconds, only ends a hang


def driver():
    path = pathlib.Path(os.environ.get("COMMSCHED_BIN", "build/release/bin")) / "transport_driver"
    if not path.exists():
        sys.exit(f"transport: {path} is missing; build the target transport_driver")
    return path


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def congestion_control():
    return pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()


@contextlib.contextmanager
def namespace_with(control):
    """A network namespace whose loopback uses `control`: the words to put before
    a command to run it there. None where it cannot be made."""
    name = f"commsched-{os.getpid()}"
    inside = ["ip", "netns", "exec", name]
    if os.geteuid() != 0 or shutil.which("ip") is None or subprocess.run(
            ["ip", "netns", "add", name], stderr=subprocess.DEVNULL).returncode != 0:
        yield None
        return
    try:
        setting = f"ip link set lo up && echo {control} > /proc/sys/net/ipv4/tcp_congestion_control"
        made = subprocess.run([*inside, "sh", "-c", setting], stderr=subprocess.DEVNULL).returncode == 0
        yield inside if made else None
    finally:
        subprocess.run(["ip", "netns", "delete", name])


def run_iperf3(seconds, control, inside=()):
    """Received bytes per second of one TCP stream."""
    port = str(free_ports(1)[0])
    server = subprocess.Popen([*inside, "iperf3", "-s", "-1", "-p", port, "-B", "127.0.0.1", "--forceflush"],
                              stdout=subprocess.PIPE, text=True)
    try:
        while "listening" not in (line := server.stdout.readline()):
            if not line:
                sys.exit("transport: the iperf3 server ended before it listened")
        client = subprocess.run([*inside, "iperf3", "-c", "127.0.0.1", "-p", port, "-t", str(seconds),
                                 "-C", control, "-J"], capture_output=True, text=True, timeout=TIME_LIMIT)
        result = json.loads(client.stdout)
        if "error" in result:
            sys.exit(f"transport: iperf3: {result['error']}")
        return result["end"]["sum_received"]["bits_per_second"] / 8
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def run_ours(size, messages, *arguments, inside=()):
    """Seconds for `messages` messages of `size` bytes."""
    peers = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
    command = [*inside, driver(), f"--peers={peers}", f"--bytes={size}", f"--messages={messages}", *arguments]
    sender = subprocess.Popen([*command, "--rank=1"])
    try:
        receiver = subprocess.run([*command, "--rank=0"], stdout=subprocess.PIPE, text=True, timeout=TIME_LIMIT)
        if sender.wait(TIME_LIMIT) != 0 or receiver.returncode != 0:
            sys.exit("transport: the driver failed")
        return json.loads(receiver.stdout)["seconds"]
    finally:
        sender.kill()
        sender.wait()


def rate(size, messages, *arguments, inside=()):
    return size * messages / run_ours(size, messages, *arguments, inside=inside)


def compare(rounds, seconds, budget, control, inside=()):
    """Medians of iperf3's and of our bytes per second, taken in turn."""
    print(f"TCP over loopback, congestion control {control}, {os.cpu_count()} cores, {rounds} rounds")
    theirs, ours = [], []
    for number in range(rounds):
        theirs.append(run_iperf3(seconds, control, inside))
        ours.append(rate(16 * MIB, budget // (16 * MIB), inside=inside))
        print(f"round {number + 1}: iperf3 {theirs[-1] / GIB:.2f} GiB/s, 16 MiB messages {ours[-1] / GIB:.2f} GiB/s",
              flush=True)
    iperf3, transport = statistics.median(theirs), statistics.median(ours)
    print(f"median: iperf3 {iperf3 / GIB:.2f} GiB/s, 16 MiB messages {transport / GIB:.2f} GiB/s, "
          f"ratio {transport / iperf3:.2f}")
    return iperf3, transport


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    arguments = parser.parse_args()
    if shutil.which("iperf3") is None:
        sys.exit("transport: iperf3 is missing: apt-get install iperf3")
    rounds, seconds, budget = (3, 1, GIB) if arguments.quick else (9, 3, 6 * GIB)
    control = congestion_control()
    iperf3, transport = compare(rounds, seconds, budget, control)
    with_cubic = None
    if control != "cubic":
        with namespace_with("cubic") as inside:
            if inside:
                theirs, ours = compare(rounds, seconds, budget, "cubic", inside)
                with_cubic = round(ours / theirs, 3)
            else:
                print("no namespace with cubic: needs root and iproute2")

    table = []
    print("   bytes  GiB/s  messages/s")
    for power in range(12, 27, 2):
        size = 1 << power
        messages = max(8, min(20000, budget // 4 // size))
        window = "--window=64" if size < MIB else "--window=4"
        result = statistics.median(rate(size, messages, window) for _ in range(3))
        table.append({"bytes": size, "gib_per_s": round(result / GIB, 3)})
        print(f"{size:8d} {result / GIB:6.2f} {result / size:11.0f}", flush=True)
    trips = 2000
    microseconds = statistics.median(
        1e6 * run_ours(8, trips, "--round_trips") / trips for _ in range(3))
    print(f"round trip of 8 bytes: {microseconds:.0f} us")
    print(json.dumps({
        "over_iperf3": round(transport / iperf3, 3),
        "over_iperf3_cubic": with_cubic,
        "gib_per_s": round(transport / GIB, 3),
        "iperf3_gib_per_s": round(iperf3 / GIB, 3),
        "congestion_control": control,
        "round_trip_us": round(microseconds, 1),
        "sizes": table,
    }))


if __name__ == "__main__":
    main()
