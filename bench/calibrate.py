# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether `cs-run --calibrate` measures what links can do.

Two hosts with links of a known speed (network namespaces, tc tbf): ranks of an
all-reduce, and a trainer and a parameter server over TLS. What a link carries of
payload follows from its rate: TCP has 1448 bytes of it in a frame of 1514. The
error is that of the measured bandwidth against this. Latency and overhead have
no such reference and are reported as they are.

Needs root and iproute2, and openssl for the servers: ends with status 77 and a
message otherwise.
"""
import argparse
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from _processes import Authority, new_token
from _tools import tool
from net import hosts

PAYLOAD = 1448 / 1514
PORT = 7000
TIME_LIMIT = 120  # seconds, only ends a hang
RATES = ["1gbit", "250mbit", "50mbit"]
CLUSTER = ("cs.cluster @lab nodes = {nodes} devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>\n"
           "  intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>\n")
LARGE, SMALL = [1 << 20] * 4, [256] * 16  # elements of parameters


def program(sizes):
    """A step that only updates parameters of these sizes."""
    types = [f"tensor<{size}xf32>" for size in sizes]
    arguments = ", ".join(f'%p{i}: {type} {{cs.param = "p{i}"}}' for i, type in enumerate(types))
    results = ", ".join(f'{type} {{cs.updates = "p{i}"}}' for i, type in enumerate(types))
    lines = [f"func.func @step({arguments}) -> ({results}) attributes {{cs.step}} {{"]
    for i, type in enumerate(types):
        lines += [f"  %m{i} = arith.mulf %p{i}, %p{i} : {type}", f'  %g{i} = cs.gradient %m{i} of "p{i}" : {type}',
                  f"  %n{i} = arith.subf %p{i}, %g{i} : {type}"]
    lines += [f"  return {', '.join(f'%n{i}' for i in range(len(sizes)))} : {', '.join(types)}", "}",
              f"func.func @init() -> ({results}) {{"]
    lines += [f"  %c{i} = arith.constant dense<0.0> : {type}" for i, type in enumerate(types)]
    lines += [f"  return {', '.join(f'%c{i}' for i in range(len(sizes)))} : {', '.join(types)}", "}"]
    return "\n".join(lines) + "\n"


def compile_plan(folder, name, nodes, pipeline):
    source, scheduled, plan = (folder / f"{name}{end}" for end in (".mlir", ".scheduled.mlir", ".plan"))
    source.write_text(CLUSTER.format(nodes=nodes) + program(LARGE + SMALL))
    subprocess.run([tool("cs-opt"), source, pipeline, "-o", scheduled], check=True)
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", scheduled, "-o", plan], check=True)
    return plan


def finish(processes, network):
    try:
        for process in processes:
            out, _ = process.communicate(timeout=TIME_LIMIT)
            if process.returncode != 0:
                sys.exit(f"calibrate: a process ended with {process.returncode}: {out.strip()}")
    finally:
        network.stop(processes)


def calibrate(network, plan, folder, security):
    """The links that rank 0 on host 0, with a peer or a server on host 1, has measured."""
    output = folder / "calibration.json"
    at = [f"{address}:{PORT}" for address in network.addresses]
    common = [tool("cs-run"), plan, "--deadline", 20]
    text = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    if security:
        server = network.start(1, [*common, "--role", "server", "--index", 0, "--listen", at[1], *security], **text)
        rank = network.start(0, [*common, "--role", "trainer", "--rank", 0, "--servers", at[1], *security,
                                 "--calibrate", output], **text)
        finish([rank, server], network)
    else:
        ranks = [network.start(rank, [*common, "--rank", rank, "--peers", ",".join(at), "--insecure",
                                      "--calibrate", output], **text) for rank in range(2)]
        finish(ranks, network)
    return json.loads(output.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one rate only, without a server")
    parser.add_argument("--rates", default=",".join(RATES))
    options = parser.parse_args()
    if why := hosts.why_unavailable():
        print(f"calibrate: {why}: skipped")
        return hosts.SKIPPED
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    rates = options.rates.split(",")[:1] if options.quick else options.rates.split(",")
    links, slowdowns = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plans = [(compile_plan(folder, "ranks", 2, "--cs-all-reduce-pipeline=schedule=priority"), [])]
        if not options.quick and shutil.which("openssl"):
            security = [*Authority(folder / "tls").options, *new_token(folder / "token")]
            plans.append((compile_plan(folder, "server", 1, "--cs-parameter-server-pipeline=schedule=priority"),
                          security))
        elif not options.quick:
            print("no server: needs openssl")
        for rate in rates:
            expected = hosts.bits_per_second(rate) * PAYLOAD
            for plan, security in plans:
                with hosts.Network([hosts.bits_per_second(rate)] * 2, loopback=not security) as network:
                    measured = calibrate(network, plan, folder, security)
                slowdowns += [of["slowdown_percent"] for of in measured["compute"]]
                for link in measured["links"]:
                    error = link["bits_per_s"] / expected - 1
                    links.append({"rate": rate, "link": f"{link['from']} to {link['to']}",
                                  "mbit_per_s": round(link["bits_per_s"] / 1e6, 2), "error": round(error, 4),
                                  "latency_us": round(link["latency_ns"] / 1e3, 1),
                                  "overhead_us": round(link["overhead_ns"] / 1e3, 2)})
                    print(f"{rate:8} {links[-1]['link']:18} {links[-1]['mbit_per_s']:9.2f} Mbit/s, expected "
                          f"{expected / 1e6:9.2f} ({100 * error:+.2f} %), latency {links[-1]['latency_us']} us, overhead "
                          f"{links[-1]['overhead_us']} us", flush=True)
    print(json.dumps({"links": links, "worst_error": max(abs(link["error"]) for link in links),
                      "slowdown_percent": max(slowdowns)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
