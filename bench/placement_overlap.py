# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it gains to place RPC on all devices of a node and to overlap its copies.

Profiles of VGG-16 and ResNet-50 as emulated training: 2 trainers of 4 devices
each, 2 parameter servers, 4 hosts with links of 1 Gbit/s (net/hosts.py), TLS
and a token between the processes. What is emulated is the time of devices and
copy engines; messages are sent, and servers add up what they get. Both models'
devices are slowed down by a factor that makes compute last as long as one
direction of the busiest link, and their copies by the same factor from the
12 GB/s of a PCIe 3 slot, since links here are slower than the ones that such
devices have. Three schedules:

    one device    everything that is communicated is reduced to device 0, copies in line
    assigned      every gradient has an owner (--assign-devices), copies in line
    overlapped    the same with copies on engines of their own (--overlap-rpc-memcpy)

A step's time is the difference between runs of two lengths, so that neither the
start nor the last step's tail count. The bound is the larger of the busiest
device's compute, the bytes of the busiest link at its rate (of payload: 1448 of
1514 bytes), and the bytes of the busiest copy engine, all as the overlapped
schedule has them.

Needs root and iproute2 (see net/hosts.py), openssl, and COMMSCHED_DATA, the
folder with pipedream/vgg16.graph.txt and pipedream/resnet50.graph.txt.
"""
import argparse
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from net import hosts

MODELS = {"vgg16": 128, "resnet50": 128}  # samples of the profile
TRAINERS, SERVERS, DEVICES = 2, 2, 4
COPY_GB_PER_S = 12
STAGING_BYTES = 1 << 29
PAYLOAD = 1448 / 1514
PORT = 7000
TIME_LIMIT = 900  # seconds, only ends a hang
SCHEDULES = {
    "one device": "assign-devices=false copies=in-line",
    "assigned": "assign-devices=true copies=in-line",
    "overlapped": f"assign-devices=true copies=overlap staging-bytes={STAGING_BYTES}",
}


def tool(name):
    return str(pathlib.Path(os.environ.get("COMMSCHED_BIN", "build/release/bin")) / name)


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"placement_overlap: {command[0]}: {done.stderr.strip()}")
    return done.stdout


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

    def __init__(self, name, data, folder, rate):
        self.name, self.folder, self.rate = name, folder, rate
        program = call(tool("cs-translate"), "--import-pipedream", f"--profile-batch={MODELS[name]}",
                       "--profile-activations=false", data / "pipedream" / f"{name}.graph.txt")
        self.bytes = parameter_bytes(program)
        compute = sum(int(ns) for ns in re.findall(r"ns = (\d+)>", program)) / 1e9
        # Every trainer sends every gradient, and so does all of the servers together.
        self.factor = self.bytes * 8 / (rate * PAYLOAD) / compute
        self.copy_rate = max(1, round(COPY_GB_PER_S / self.factor))
        self.path = folder / f"{name}.mlir"
        self.path.write_text(re.sub(r"ns = (\d+)>", lambda m: f"ns = {round(int(m[1]) * self.factor)}>", program))
        self.initial = folder / f"{name}.safetensors"
        write_zeros(program, self.initial)
        self.cluster = folder / f"{name}.cluster.mlir"
        self.cluster.write_text(
            f"cs.cluster @emulated nodes = {TRAINERS} devices = {DEVICES}\n"
            f"    device = <kind = cuda, gflops = 10000, gb_per_s = {self.copy_rate}>\n"
            f"    intra = <mbit_per_s = {8000 * self.copy_rate}, latency_ns = 5000>\n"
            f"    inter = <mbit_per_s = {rate // 10**6}, latency_ns = 50000>\n")

    def compile(self, schedule):
        """The plan, and the bound of its step in seconds."""
        stem = self.folder / f"{self.name}.{schedule.replace(' ', '-')}"
        scheduled, plan = stem.with_suffix(".schedule.mlir"), stem.with_suffix(".plan")
        call(tool("cs-opt"), self.path, f"--cs-parameter-server-pipeline=servers={SERVERS} cluster={self.cluster} "
             f"{SCHEDULES[schedule]}", "-o", scheduled)
        call(tool("cs-translate"), "--mlir-to-plan", scheduled, "-o", plan)
        return plan, self.bounds(scheduled.read_text())

    def bounds(self, schedule):
        """Seconds of the busiest of each kind in the trainer's step."""
        step = schedule[schedule.index("func.func @step"):]
        step = step[:step.find("\n  func.func ")]
        compute, engines = {}, {}
        for device, flops, count, ns in re.findall(
                r'cs\.fragment "[^"]*" on (\d+) .*?cost <flops = (\d+), bytes = (\d+), ns = (\d+)>', step):
            seconds = (int(ns) or max(int(flops) // 10000, int(count) // self.copy_rate)) / 1e9
            compute[device] = compute.get(device, 0) + seconds
        for shape, source, target, host in re.findall(
                r"cs\.copy .*?: !cs\.placed<tensor<([\dx]+f32)>, device (\d+)[^>]*> -> "
                r"!cs\.placed<tensor<[^>]*>, device (\d+)( host)?>", step):
            engine = ("to host", source) if host else ("to device", target)
            engines[engine] = engines.get(engine, 0) + 4 * elements(shape) / (self.copy_rate * 1e9)
        return {"compute": max(compute.values()), "link": self.bytes * 8 / (self.rate * PAYLOAD),
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
        (folder / "token").write_text(secrets.token_hex(16) + "\n")
        self.options = ["--tls-ca", folder / "ca.pem", "--tls-cert", folder / "job.pem", "--tls-key",
                        folder / "job.key", "--token-file", folder / "token"]


def await_line(path, text, process):
    """Waits until a process has written the text, or has ended."""
    end = time.monotonic() + TIME_LIMIT
    while text not in path.read_text() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)


def run(plan, steps, initial, rate, certificates, folder):
    """Trains for some steps in a network of its own; the trainer's figures."""
    metrics = folder / "metrics.json"
    with hosts.Network([rate] * (TRAINERS + SERVERS)) as network:
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
            extra = ["--metrics-json", metrics] if rank == 0 else []
            processes.append(network.start(
                rank, [*common, "--role", "trainer", "--rank", rank, "--peers", ",".join(at[:TRAINERS]), "--servers",
                       ",".join(at[TRAINERS:]), "--tls-server-name", "commsched", "--listen-any", "--emulate",
                       "--steps", steps, *extra], stdout=logs[rank], stderr=subprocess.STDOUT))
        status = [process.wait(TIME_LIMIT) for process in reversed(processes)]
        for log in logs:
            log.seek(0)
            text = log.read()
            log.close()
            if any(status):
                print(f"{log.name}:\n{text}", file=sys.stderr)
        if any(status):
            sys.exit("placement_overlap: a process failed")
    return json.loads(metrics.read_text())["summary"]


def measure(plan, lengths, *others):
    """Seconds of a step, and by how much the emulation was late in ms."""
    short, long = (run(plan, steps, *others) for steps in lengths)
    seconds = (long["steps"] * long["step_ms"] - short["steps"] * short["step_ms"]) / (lengths[1] - lengths[0]) / 1e3
    return seconds, long["emulation"]["latest_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ResNet-50 only, fewer steps")
    parser.add_argument("--rate", default="1gbit", help="of the links (default 1gbit)")
    options = parser.parse_args()
    data = pathlib.Path(os.environ.get("COMMSCHED_DATA", ""))
    missing = [why for why in (
        hosts.why_unavailable(), "needs openssl" if shutil.which("openssl") is None else "",
        "" if all((data / "pipedream" / f"{model}.graph.txt").exists() for model in MODELS)
        else "needs COMMSCHED_DATA, the folder with profiles of models") if why]
    if missing:
        print(f"placement_overlap: {'; '.join(missing)}: skipped")
        return hosts.SKIPPED
    # Ends as on an error, which removes the hosts.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    rate, lengths = hosts.bits_per_second(options.rate), (2, 4) if options.quick else (2, 7)
    result = {"vgg16_gain_percent": None, "resnet50_gain_percent": None, "over_bound": None}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        certificates = Certificates(folder)
        for model_name in ["resnet50"] if options.quick else MODELS:
            model = Model(model_name, data, folder, rate)
            print(f"{model_name}: {model.bytes / 1e6:.1f} MB of parameters, devices {model.factor:.2f} times slower, "
                  f"copies {model.copy_rate} GB/s", flush=True)
            seconds = {}
            for schedule in SCHEDULES:
                plan, bounds = model.compile(schedule)
                seconds[schedule], late = measure(plan, lengths, model.initial, rate, certificates, folder)
                print(f"  {schedule:11} {seconds[schedule]:7.3f} s a step; busiest device {bounds['compute']:.3f}, "
                      f"link {bounds['link']:.3f}, copy engine {bounds['copies']:.3f}; at most {late:.1f} ms late",
                      flush=True)
            gain = 100 * (seconds["one device"] / seconds["overlapped"] - 1)
            ratio = seconds["overlapped"] / max(bounds.values())
            print(f"  gain of assigned {100 * (seconds['one device'] / seconds['assigned'] - 1):.1f} %, of overlapped "
                  f"{gain:.1f} %; {ratio:.3f} of the bound", flush=True)
            result[f"{model_name}_gain_percent"] = round(gain, 1)
            result[f"{model_name}_seconds"] = {key: round(value, 4) for key, value in seconds.items()}
            result[f"{model_name}_bounds"] = {key: round(value, 4) for key, value in bounds.items()}
            result["over_bound"] = round(max(ratio, result["over_bound"] or 0), 3)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
