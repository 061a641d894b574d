# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it gains to place RPC on all devices of a node and to overlap its copies.

Profiles of VGG-16 and ResNet-50 as emulated training: 2 trainers of 4 devices
each, 2 parameter servers, 4 hosts with shaped links (net/hosts.py), TLS and a
token between the processes. What is emulated is the time of devices and copy
engines; messages are sent, and servers add up what they get and apply it. The
devices are those of the profiles, with 900 GB/s of memory and copy engines of
12 GB/s (PCIe 3), all slowed down by the factor that makes compute last exactly as
long as one direction of the busiest link (--share: so many times as long). Blocks
have at most 128 KiB, or one row; the solver schedules them (--policy). Four schedules:

    one device    everything that is communicated is reduced to device 0, copies in line
    assigned      every block has an owner (--assign-devices, by-block), copies in line
    overlapped    the same with copies on engines of their own (--overlap-rpc-memcpy)
    512 MiB       the same with so much staging memory; else 1.25 GiB

A step's time is the slope of the times at which the steps' compute ends, by least
squares, in one run, as the trace of trainer 0 has it; each of them waits for the
parameters that the step before has left. The bound is the largest of the busiest
device's compute, the bytes of the busiest link at its rate (of payload: 1448 of
1514 bytes), the bytes of the busiest copy engine, and the bound that --schedule-comm
proves from dependences, for any messages that cost nothing but their bytes
(docs/scheduling.md), all as the overlapped schedule has them. The links are slow
enough for the processors of a small machine to be idle most of the time, which "processors" shows: user and system time of all
processes, of what the machine has. Everything runs at real-time priority if that
is allowed.

Needs root and iproute2 (see net/hosts.py), openssl, and COMMSCHED_DATA, the
folder with pipedream/vgg16.graph.txt and pipedream/resnet50.graph.txt.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from _processes import new_token
from _tools import call, tool
from net import hosts

MODELS = {"vgg16": 128, "resnet50": 128}  # samples of the profile
STEPS = {"vgg16": 4, "resnet50": 30}  # single ones of ResNet-50 take 2 to 5 s, by turns
TRAINERS, SERVERS, DEVICES = 2, 2, 4
COPY_MB_PER_S, MEMORY_GB_PER_S, GFLOPS = 12000, 900, 15000  # of a device that is not slowed down
BLOCK_ELEMENTS = 1 << 15
STAGING_BYTES = 5 << 28  # so many as one step of VGG-16 uses
FEW_STAGING_BYTES = 512 << 20
PAYLOAD = 1448 / 1514
PORT = 7000
TIME_LIMIT = 900  # seconds, only ends a hang
SCHEDULES = {
    "one device": "assign-devices=false copies=in-line",
    "assigned": "assign-devices=true by-block=true copies=in-line",
    "overlapped": f"assign-devices=true by-block=true copies=overlap staging-bytes={STAGING_BYTES}",
    "512 MiB": f"assign-devices=true by-block=true copies=overlap staging-bytes={FEW_STAGING_BYTES}",
}

# Schedules whose time is compared with the bound, by their key in the result.
OVER_BOUND = {"overlapped": "over_bound", "512 MiB": "over_bound_512_mib"}


def elements(shape):
    n = 1
    for dim in shape.split("x")[:-1]:
        n *= int(dim)
    return n


def parameter_bytes(program):
    return sum(4 * elements(shape) for shape in re.findall(r"tensor<([\dx]+f32)> \{cs\.param", program))


def write_zeros(program, path):
    """Initial values: a safetensors file of zeros, which needs no space."""
    tensors, end = {}, 0
    for shape, name in re.findall(r'tensor<([\dx]+f32)> \{cs\.param = "([^"]+)"', program):
        begin, end = end, end + 4 * elements(shape)
        tensors[name] = {"dtype": "F32", "shape": [int(dim) for dim in shape.split("x")[:-1]],
                         "data_offsets": [begin, end]}
    header = json.dumps(tensors).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + end)


class Model:
    """A profile, slowed down to suit links of `rate` bits per second."""

    def __init__(self, name, data, folder, rate, share, policy):
        self.name, self.folder, self.rate, self.policy = name, folder, rate, policy
        program = call(tool("cs-translate"), "--import-pipedream", f"--profile-batch={MODELS[name]}",
                       "--profile-activations=false", data / "pipedream" / f"{name}.graph.txt")
        self.bytes = parameter_bytes(program)
        compute = sum(int(ns) for ns in re.findall(r"ns = (\d+)>", program)) / 1e9
        # Every trainer sends every gradient, and so does all of the servers together.
        self.factor = share * self.bytes * 8 / (rate * PAYLOAD) / compute
        self.copy_rate = round(COPY_MB_PER_S / self.factor)
        self.memory_rate = max(1, round(MEMORY_GB_PER_S / self.factor))
        self.gflops = round(GFLOPS / self.factor)
        self.path = folder / f"{name}.mlir"
        self.path.write_text(re.sub(r"ns = (\d+)>", lambda m: f"ns = {round(int(m[1]) * self.factor)}>", program))
        self.initial = folder / f"{name}.safetensors"
        write_zeros(program, self.initial)
        self.cluster = self.write_cluster("cluster", "latency_ns = 50000")
        self.free = self.write_cluster("free", "latency_ns = 0, overhead_ns = 1")

    def write_cluster(self, name, costs):
        path = self.folder / f"{self.name}.{name}.mlir"
        path.write_text(
            f"cs.cluster @emulated nodes = {TRAINERS} devices = {DEVICES}\n"
            f"    device = <kind = cuda, gflops = {self.gflops}, gb_per_s = {self.memory_rate}, "
            f"copy_mb_per_s = {self.copy_rate}>\n"
            f"    intra = <mbit_per_s = {8 * self.copy_rate}, latency_ns = 5000>\n"
            f"    inter = <mbit_per_s = {-int(-self.rate * PAYLOAD // 10**6)}, {costs}>\n")
        return path

    def dependences(self, schedule):
        """Seconds of the bound that dependences prove, where messages cost only their bytes."""
        written = call(tool("cs-opt"), self.path, f"--cs-parameter-server-pipeline=servers={SERVERS} cluster={self.free} "
                       f"schedule=fifo max-block-elements={BLOCK_ELEMENTS} {SCHEDULES[schedule]}")
        return int(re.search(r" bound_ns = (\d+)", written)[1]) / 1e9

    def compile(self, schedule):
        """The plan, and the bounds of its step in seconds."""
        stem = self.folder / f"{self.name}-{schedule.replace(' ', '-')}"
        scheduled, plan = stem.with_suffix(".mlir"), stem.with_suffix(".plan")
        call(tool("cs-opt"), self.path, f"--cs-parameter-server-pipeline=servers={SERVERS} cluster={self.cluster} "
             f"schedule={self.policy} max-block-elements={BLOCK_ELEMENTS} {SCHEDULES[schedule]}", "-o", scheduled)
        call(tool("cs-translate"), "--mlir-to-plan", scheduled, "-o", plan)
        return plan, self.bounds(scheduled.read_text()) | {"dependences": self.dependences(schedule)}

    def bounds(self, schedule):
        """Seconds of the busiest of each kind in a step."""
        step = schedule[schedule.index("func.func @step"):]
        step = step[:step.find("\n  func.func ")]
        compute, engines, sent = {}, {}, {}
        for device, flops, count, ns in re.findall(
                r'cs\.fragment "[^"]*" on (\d+) .*?cost <flops = (\d+), bytes = (\d+), ns = (\d+)>', step):
            seconds = (int(ns) or max(int(flops) // self.gflops, int(count) // self.memory_rate)) / 1e9
            compute[device] = compute.get(device, 0) + seconds
        for shape, source, target, host in re.findall(
                r"cs\.copy .*?: !cs\.placed<tensor<([\dx]+f32)>, device (\d+)[^>]*> -> "
                r"!cs\.placed<tensor<[^>]*>, device (\d+)( host)?>", step):
            engine = ("to host", source) if host else ("to device", target)
            engines[engine] = engines.get(engine, 0) + 4 * elements(shape) / (self.copy_rate * 1e6)
        for server, shape in re.findall(r"cs\.send .*?@server\.(\d+) : !cs\.placed<tensor<([\dx]+f32)>", step):
            sent[server] = sent.get(server, 0) + 4 * elements(shape)
        busiest = max(sum(sent.values()), TRAINERS * max(sent.values()))
        return {"compute": max(compute.values()), "link": busiest * 8 / (self.rate * PAYLOAD),
                "copies": max(engines.values())}


class Certificates:
    """One authority, and one certificate that all processes of the job show."""

    def __init__(self, folder):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        call("openssl", "req", "-x509", *key, "-days", "2", "-subj", "/CN=benchmark authority", "-keyout",
             folder / "ca.key", "-out", folder / "ca.pem")
        call("openssl", "req", *key, "-subj", "/CN=job", "-keyout", folder / "job.key", "-out", folder / "job.csr")
        (folder / "job.ext").write_text("subjectAltName=DNS:commsched\n")
        call("openssl", "x509", "-req", "-in", folder / "job.csr", "-CA", folder / "ca.pem", "-CAkey",
             folder / "ca.key", "-CAcreateserial", "-days", "2", "-extfile", folder / "job.ext", "-out",
             folder / "job.pem")
        self.options = ["--tls-ca", folder / "ca.pem", "--tls-cert", folder / "job.pem", "--tls-key",
                        folder / "job.key", *new_token(folder / "token")]


def await_line(path, text, process):
    """Waits until a process has written the text, or has ended."""
    end = time.monotonic() + TIME_LIMIT
    while text not in path.read_text() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)


def run(plan, steps, initial, rate, certificates, folder, congestion):
    """Trains for some steps in a network of its own. The trainer's figures, its
    trace, and the share of the processors' time that was used."""
    metrics, trace = folder / "metrics.json", plan.with_suffix(".trace.json")
    used, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with hosts.Network([rate] * (TRAINERS + SERVERS), congestion) as network:
        at = [f"{address}:{PORT}" for address in network.addresses]
        common = [tool("cs-run"), plan, *certificates.options, "--deadline", 60]
        logs = [open(folder / f"process{number}.log", "w+") for number in range(TRAINERS + SERVERS)]
        processes = []
        for index in range(SERVERS):
            number = TRAINERS + index
            processes.append(network.start(number, [*common, "--role", "server", "--index", index, "--listen",
                                                    at[number], "--init", initial],
                                           stdout=logs[number], stderr=subprocess.STDOUT))
            await_line(folder / f"process{number}.log", "listens on", processes[-1])
        for rank in range(TRAINERS):
            extra = ["--metrics-json", metrics, "--trace", trace] if rank == 0 else []
            processes.append(network.start(
                rank, [*common, "--role", "trainer", "--rank", rank, "--servers", ",".join(at[TRAINERS:]),
                       "--tls-server-name", "commsched", "--emulate", "--steps", steps, *extra], stdout=logs[rank], stderr=subprocess.STDOUT))
        status = [process.wait(TIME_LIMIT) for process in reversed(processes)]
        for log in logs:
            log.seek(0)
            text = log.read()
            log.close()
            if any(status):
                print(f"{log.name}:\n{text}", file=sys.stderr)
        if any(status):
            sys.exit("placement_overlap: a process failed")
    seconds, now = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    share = (now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime) / seconds / len(os.sched_getaffinity(0))
    return json.loads(metrics.read_text())["summary"], json.loads(trace.read_text())["traceEvents"], share


def measure(plan, steps, *others):
    """Seconds at which each step's compute ends, by how much the emulation was late in ms,
    and the share of the processors."""
    summary, trace, share = run(plan, steps, *others)
    ends = [0] * steps
    for span in trace:
        if span.get("cat") == "compute" and not span["name"].startswith(("sum.", "update.")):
            call = span["args"]["call"]
            ends[call] = max(ends[call], span["ts"] + span["dur"])
    return [end / 1e6 for end in ends], summary["emulation"]["latest_ms"], share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ResNet-50 only, fewer steps")
    parser.add_argument("--rate", default="250mbit", help="of the links (default 250mbit)")
    parser.add_argument("--share", type=float, default=1.0, help="compute over the busiest link (default 1)")
    parser.add_argument("--policy", default="solver", help="of --schedule-comm (default solver)")
    parser.add_argument("--steps", type=int, help="of a run (default 4 of VGG-16, 10 of ResNet-50, 6 with --quick)")
    parser.add_argument("--models", help="with commas (default all)")
    parser.add_argument("--schedules", help="with commas (default all)")
    parser.add_argument("--congestion", default="cubic", help="control of TCP in the hosts (default cubic)")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for plans, traces and logs")
    options = parser.parse_args()
    models = options.models.split(",") if options.models else ["resnet50"] if options.quick else list(MODELS)
    schedules = options.schedules.split(",") if options.schedules else list(SCHEDULES)
    for what, chosen, known in [("models", models, MODELS), ("schedules", schedules, SCHEDULES)]:
        if unknown := [name for name in chosen if name not in known]:
            parser.error(f"{what} must be some of {', '.join(known)}, got: {', '.join(unknown)}")
    data = pathlib.Path(os.environ.get("COMMSCHED_DATA", ""))
    missing = [why for why in (
        hosts.why_unavailable(), "needs openssl" if shutil.which("openssl") is None else "",
        "" if all((data / "pipedream" / f"{model}.graph.txt").exists() for model in MODELS)
        else "needs COMMSCHED_DATA, the folder with profiles of models") if why]
    if missing:
        print(f"placement_overlap: {'; '.join(missing)}: skipped")
        return hosts.SKIPPED
    # What else the machine does must not keep emulated devices waiting.
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    # Ends as on an error, which removes the hosts.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    rate = hosts.bits_per_second(options.rate)
    result = {"vgg16_gain_percent": None, "resnet50_gain_percent": None}
    result |= {key: None for key in OVER_BOUND.values()}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.keep:
            folder = options.keep.resolve()
            folder.mkdir(parents=True, exist_ok=True)
        certificates = Certificates(folder)
        for model_name in models:
            model = Model(model_name, data, folder, rate, options.share, options.policy)
            steps = options.steps or (6 if options.quick else STEPS[model_name])
            print(f"{model_name}: {model.bytes / 1e6:.1f} MB of parameters, links of {options.rate}, devices "
                  f"{model.factor:.2f} times slower, copies {model.copy_rate} MB/s, {steps} steps", flush=True)
            seconds = {}
            for schedule in schedules:
                plan, bounds = model.compile(schedule)
                ends, late, share = measure(plan, steps, model.initial, rate, certificates, folder, options.congestion)
                # The slope: a mean of their differences would be what the first and the last happened to be.
                seconds[schedule] = statistics.linear_regression(range(steps), ends).slope
                each = [after - before for before, after in zip(ends, ends[1:])]
                print(f"  {schedule:11} {seconds[schedule]:7.3f} s a step ({min(each):.3f} to {max(each):.3f}); busiest "
                      f"device {bounds['compute']:.3f}, link {bounds['link']:.3f}, copy engine {bounds['copies']:.3f}; "
                      f"dependences {bounds['dependences']:.3f}; processors {100 * share:.0f} %, at most {late:.1f} ms late", flush=True)
                result[f"{model_name}_bounds"] = {key: round(value, 4) for key, value in bounds.items()}
            result[f"{model_name}_seconds"] = {key: round(value, 4) for key, value in seconds.items()}
            for schedule, key in OVER_BOUND.items():
                if schedule in seconds:
                    ratio = round(seconds[schedule] / max(bounds.values()), 3)
                    print(f"  {schedule}: {ratio:.3f} of the bound", flush=True)
                    result[f"{model_name}_{key}"] = ratio
                    result[key] = max(ratio, result[key] or 0)
            if "one device" in seconds and "overlapped" in seconds:
                gain = 100 * (seconds["one device"] / seconds["overlapped"] - 1)
                print(f"  gain of overlapped {gain:.1f} %", flush=True)
                result[f"{model_name}_gain_percent"] = round(gain, 1)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
