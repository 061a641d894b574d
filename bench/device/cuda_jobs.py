# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs on one CUDA device: what nccl_pack.py has made, run by cs-run, and NCCL called by cuda_nccl_driver.

    python3 bench/device/cuda_jobs.py PACK [--seconds 90]      # PACK/jobs; programs in PACK/bin, their libraries in PACK/lib

Ranks are processes started by hand, so both have device 0. By messages they meet through pinned memory and gRPC. NCCL refuses two ranks on
one device of one host, so each process gets a NCCL_HOSTID of its own, and they meet through sockets: that it works is not documented by
NVIDIA, and is said with whatever else there is to say. Needs Python and numpy. The last line is one JSON object."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import sys
import tempfile
import threading
import time

import numpy as np
import job_times
from device_runs import Machine, free_port, tail

LIMIT = 40     # seconds of a case's run
DEADLINE = 20  # of cs-run
DEADLINE_OF_NCCL = 10
AT_ONCE = 3    # cases by messages
# Between processes that NCCL takes for two hosts.
SOCKETS = {"NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1", "NCCL_NET": "Socket", "NCCL_NET_PLUGIN": "none", "NCCL_NVLS_ENABLE": "0",
           "NCCL_MNNVL_ENABLE": "0", "NCCL_DEBUG": "WARN"}
WAYS_OF_NCCL = {"sockets": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}, "plain": {},
                "without-cumem": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_CUMEM_ENABLE": "0", "NCCL_CUMEM_HOST_ENABLE": "0"}}
# Two ranks on one device take turns, and what they say goes through sockets: less is as telling.
MOST_OF_TWO = 1 << 20  # float32
# NCCL connects at its first collective, else, when the device may wait for the host already.
CONNECTED = {"NCCL_RUNTIME_CONNECT": "0"}


class Failed(Exception):
    """With a dictionary: what is to be learned."""


def read_safetensors(path):
    """By name. The format: https://github.com/huggingface/safetensors, of float32 and int32."""
    data = pathlib.Path(path).read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, values = json.loads(data[8:8 + length]), {}
    for name, told in header.items():
        if name != "__metadata__":
            begin, end = told["data_offsets"]
            values[name] = np.frombuffer(data[8 + length + begin:8 + length + end], {"F32": "<f4", "I32": "<i4"}[told["dtype"]]).reshape(told["shape"])
    return values


class Jobs:
    def __init__(self, machine, end, folder, virtual=False):
        self.virtual = virtual
        self.machine, self.end, self.pack, self.folder = machine, end, machine.pack / "jobs", pathlib.Path(folder)
        self.told = json.loads((self.pack / "jobs.json").read_text())
        self.nccl = None  # variables with which NCCL connects two ranks on one device
        self.results, self.lock = {}, threading.Lock()

    def limit(self, most=LIMIT):
        left = self.end - time.monotonic()
        if left < 2:
            raise Failed({"skipped": "no time left"})
        return min(most, left)

    # ---- cases -----------------------------------------------------------------------------------
    def case(self, name, run):
        """What `run` returns, with `ok`; or why not."""
        begin = time.monotonic()
        try:
            result = {"ok": True, **run()}
        except Failed as what:
            result = {"ok": False, **what.args[0]}
        except Exception as error:
            result = {"ok": False, "error": repr(error)}
        result["seconds"] = round(time.monotonic() - begin, 2)
        with self.lock:
            self.results[name] = result
            said = {key: value for key, value in result.items() if key not in ("ok", "runs")}
            print(f"{name:28} {'ok' if result['ok'] else 'SKIPPED' if 'skipped' in result else 'FAILED':8} {json.dumps(said)[:150]}", flush=True)
        return result["ok"]

    # ---- processes -------------------------------------------------------------------------------
    def nccl_environment(self, rank, name, host=True):
        """host: as a host of its own."""
        own = {"NCCL_HOSTID": f"rank{rank}"} if host else {}
        return {**SOCKETS, **(self.nccl or {}), **own, "NCCL_DEBUG_FILE": str(self.folder / f"{name}.nccl.{rank}")}

    def start(self, name, net, way, ranks, *arguments, own=lambda rank: [], limit=LIMIT, host=True, data=True):
        """Ranks of a plan, each a process with device 0. own: more arguments of a rank. data: with what they train on."""
        peers = ",".join(f"127.0.0.1:{free_port()}" for _ in range(ranks))
        limit = self.limit(limit)
        return [self.machine.start(
            "cs-run", self.pack / f"{net}.{way}.plan", *(["--rank", rank, "--peers", peers, "--insecure"] if ranks > 1 else ["--transport", "in-process"]),
            *(["--batch", self.pack / f"{net}.batch.npz"] if data else []), "--deadline", DEADLINE_OF_NCCL if way == "nccl" else DEADLINE, *arguments, *own(rank), limit=limit,
            **(self.nccl_environment(rank, name, host) if way == "nccl" else {})) for rank in range(ranks)]

    def debug(self, name):
        """What NCCL has said."""
        return {path.name: tail(path.read_text(errors="replace")) for path in sorted(self.folder.glob(f"{name}.nccl.*")) if path.stat().st_size}

    def good(self, name, runs):
        failures = [run.wait().failure() for run in runs]
        if any(failures):
            raise Failed({"runs": [failure for failure in failures if failure], "nccl": self.debug(name)})
        return runs

    # ---- training --------------------------------------------------------------------------------
    def initial(self, net):
        path = self.pack / f"{net}.init.npz"
        if path.exists():
            return path
        path = self.folder / f"{net}.init.npz"
        with self.lock:
            if not path.exists():
                told = json.loads((self.pack / f"{net}.init.json").read_text())
                random, values = np.random.default_rng(told["seed"]), {}
                for key, shape, scale in told["drawn"]:
                    values[key] = (random.standard_normal(shape) * scale).astype(np.float32)
                for key, shape, kind, value in told["equal"]:
                    values[key] = np.full(shape, value, kind)
                digest = hashlib.sha256()
                for key in sorted(values):
                    digest.update(key.encode() + values[key].tobytes())
                if digest.hexdigest() != told["digest"]:
                    raise Failed({"error": f"{net}: numpy {np.__version__} draws other initial values"})
                np.savez(path, **values)
        return path

    def train(self, name, net, way, *arguments, steps=None):
        """(losses, bytes of the parameters): of rank 0; other ranks have the same parameters."""
        ranks, steps = 1 if way == "one" else 2, steps or self.told[net]["steps"]
        params = [self.folder / f"{name}.params.{rank}" for rank in range(ranks)]
        metrics = self.folder / f"{name}.json"
        self.good(name, self.start(name, net, way, ranks, "--steps", steps, *(arguments or ["--init", self.initial(net)]),
                                   own=lambda rank: ["--save-params", params[rank], *(["--metrics-json", metrics] if rank == 0 else [])]))
        saved = {path.read_bytes() for path in params}
        if len(saved) != 1:
            raise Failed({"error": "ranks have other parameters"})
        return [step["loss"] for step in json.loads(metrics.read_text())["steps"]], saved.pop()

    def like_jax(self, name, net, way):
        told = self.told[net]
        losses, saved = self.train(name, net, way)
        gaps = [abs(a - b) / abs(b) if a == a else float("inf") for a, b in zip(losses, told["losses"])]
        result = {"loss_gap": max(gaps), "steps": len(losses)}
        (self.folder / f"{name}.saved").write_bytes(saved)
        params = read_safetensors(self.folder / f"{name}.params.0")
        with np.load(self.pack / f"{net}.params.npz") as wanted:
            off = {key: float(np.abs(params[key] - wanted[key]).max() / np.abs(wanted[key]).max()) for key in wanted.files}
        if off:
            result["parameter_gap"] = max(value if value == value else float("inf") for value in off.values())
        if len(losses) != told["steps"] or not max(result["loss_gap"], result.get("parameter_gap", 0)) <= told["bound"]:
            raise Failed({**result, "bound": told["bound"], "losses": losses[:5], "wanted": told["losses"][:5]})
        return result

    def same_again(self, name, net, way):
        first = self.folder / f"{net}.{way}.saved"
        if not first.exists():
            raise Failed({"skipped": "there is no first run"})
        if self.train(name, net, way)[1] != first.read_bytes():
            raise Failed({"error": "a second run has other bits"})
        return {}

    def same_bits(self, net, way, other):
        paths = [self.folder / f"{net}.{each}.saved" for each in (way, other)]
        if not all(path.exists() for path in paths):
            raise Failed({"skipped": "one of them has no run"})
        return {"same": len({path.read_bytes() for path in paths}) == 1}

    def killed_and_resumed(self, name, net, way):
        """Rank 1 is killed; rank 0 ends with one line; both go on from the checkpoint to the bits of a run that nothing has disturbed."""
        checkpoint, every = self.folder / f"{name}.checkpoint", ["--checkpoint-every", 3]
        runs = self.start(name, net, way, 2, "--steps", 10**6, "--init", self.initial(net), "--checkpoint", checkpoint, *every, limit=25)
        while not checkpoint.exists() and all(run.process.poll() is None for run in runs):
            time.sleep(0.002)
        lived = all(run.process.poll() is None for run in runs)
        if lived:
            runs[1].kill()
        at, failures = time.monotonic(), [run.wait().failure() for run in runs]
        if not lived or runs[0].timed_out:
            for run in runs:
                run.kill()
            raise Failed({"error": "rank 0 does not end" if lived else "a rank has ended by itself", "runs": failures, "nccl": self.debug(name)})
        said = [line for _, line in runs[0].errors]
        result = {"rank_0_says": said[-3:], "after_seconds": round(time.monotonic() - at, 2)}
        resumed = self.start(f"{name}.resumed", net, way, 2, "--steps", 5, "--resume", checkpoint,
                             own=lambda rank: ["--save-params", self.folder / f"{name}.resumed.{rank}"])
        self.good(f"{name}.resumed", resumed)
        done = int(re.findall(r"^step (\d+): loss", resumed[0].text, re.M)[-1])
        result["steps"] = done
        if self.train(f"{name}.through", net, way, steps=done)[1] != (self.folder / f"{name}.resumed.0").read_bytes():
            raise Failed({**result, "error": "what was resumed has other bits"})
        if len(said) != 1:
            raise Failed({**result, "error": "rank 0 must say one line"})
        return result

    def times(self, name, net, way, steps=30):
        """With --trace and --profile: the same bits as without, and what each rank's files say of each other. And a calibration."""
        ranks, suffix = 1 if way == "one" else 2, lambda rank: f".rank{rank}" if rank else ""
        plain = self.train(f"{name}.plain", net, way, steps=steps)[1]
        params, metrics = [self.folder / f"{name}.params.{rank}" for rank in range(ranks)], self.folder / f"{name}.metrics.json"
        self.good(name, self.start(name, net, way, ranks, "--steps", steps, "--init", self.initial(net), "--trace", self.folder / f"{name}.trace.json",
                                   "--profile", self.folder / f"{name}.profile.json",
                                   own=lambda rank: ["--save-params", params[rank], *(["--metrics-json", metrics] if rank == 0 else [])]))
        result, wrong = {"ranks": []}, []
        for rank in range(ranks):
            files = [job_times.read(self.folder / f"{name}.{kind}{suffix(rank)}.json") for kind in ("trace", "profile")]
            said, differs = job_times.compare(*files, job_times.read(metrics), steps, self.virtual)
            result["ranks"].append(said)
            wrong += [f"rank {rank}: {what}" for what in differs]
        wrong += [] if {path.read_bytes() for path in params} == {plain} else ["with --trace and --profile there are other bits"]
        links = self.folder / f"{name}.links.json"
        self.good(f"{name}.calibrate", self.start(f"{name}.calibrate", net, way, ranks, "--calibrate", links, data=False))
        calibration = job_times.read(links)
        result["copies"], result["all_reduces"] = calibration["copies"], [[each["bytes"], each["ns"]] for each in calibration["nccl"]]
        wrong += [] if len(calibration["copies"]) == 2 and bool(calibration["nccl"]) == (way == "nccl") else ["the calibration has no device"]
        if wrong:
            raise Failed({**result, "wrong": wrong})
        return result

    # ---- NCCL ------------------------------------------------------------------------------------
    def driver(self, name, ranks, count, environments, limit):
        limit = self.limit(limit)
        path = self.folder / f"{name}.id"
        runs = [self.machine.start("cuda_nccl_driver", rank, ranks, path, count, limit=limit, **environments[rank]) for rank in range(ranks)]
        self.good(name, runs)
        return {"ranks": [json.loads(run.text.splitlines()[-1]) for run in runs]}

    def one_rank(self, count):
        return self.driver("nccl-one-rank", 1, count, [{"NCCL_DEBUG": "WARN", "NCCL_DEBUG_FILE": str(self.folder / "nccl-one-rank.nccl.0")}], LIMIT)

    def two_ranks(self, way, count):
        self.nccl, name = WAYS_OF_NCCL[way], f"nccl-two-ranks-{way}"
        try:
            return self.driver(name, 2, min(count, MOST_OF_TWO), [self.nccl_environment(rank, name) for rank in range(2)], 12)
        except Failed:
            self.nccl = None
            raise

    def refused(self, name):
        """Two ranks on one device of one host: what NCCL says of it, and that it ends both."""
        runs = [run.wait() for run in self.start(name, "dense", "nccl", 2, "--steps", 1, "--init", self.initial("dense"), limit=30, host=False)]
        said = [[line for _, line in run.errors][-3:] for run in runs]
        if any(run.timed_out or run.process.returncode != 1 for run in runs):
            raise Failed({"runs": [run.failure() for run in runs], "nccl": self.debug(name)})
        return {"said": said, "nccl": self.debug(name)}


def all_cases(jobs, count, nets, ways):
    """Runs them, those by messages several at once."""
    def trained(way):
        for net in nets:
            yield f"{net}.{way}", lambda net=net: jobs.like_jax(f"{net}.{way}", net, way)
            yield f"{net}.{way}.times", lambda net=net: jobs.times(f"{net}.{way}.times", net, way)
        if way != "one" and "dense" in nets:
            yield f"dense.{way}.again", lambda: jobs.same_again(f"dense.{way}.again", "dense", way)
            yield f"dense.{way}.killed", lambda: jobs.killed_and_resumed(f"dense.{way}.killed", "dense", way)
    if "nccl" in ways:
        jobs.case("nccl-one-rank", lambda: jobs.one_rank(count))
    first, *others = [case for way in ("host", "one") if way in ways for case in trained(way)] or [None]
    # One alone, as devices may be for one process at a time.
    at_once = AT_ONCE if first is not None and jobs.case(*first) else 1
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for name, run in others:
            pool.submit(jobs.case, name, run)
    if "nccl" not in ways:
        return
    for way in WAYS_OF_NCCL:
        if jobs.case(f"nccl-two-ranks-{way}", lambda way=way: jobs.two_ranks(way, count)):
            break
    cases = list(trained("nccl"))
    if jobs.nccl is not None and cases and not jobs.case(*cases[0]):
        # Whether it is that NCCL connects late. If not, one failure is enough.
        jobs.nccl = {**jobs.nccl, **CONNECTED}
        if not jobs.case(f"{cases[0][0]}.connected", cases[0][1]):
            cases = cases[:1]
    cases = cases[1:] if jobs.nccl is not None else cases
    if jobs.nccl is None:  # one, for what it says
        cases, jobs.nccl = cases[:1], WAYS_OF_NCCL["sockets"]
    for name, run in cases:
        jobs.case(name, run)
    jobs.case("nccl-refused", lambda: jobs.refused("nccl-refused"))
    for net in nets:
        jobs.case(f"{net}.nccl-bits-of-host", lambda net=net: jobs.same_bits(net, "nccl", "host"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack")
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--count", type=int, default=1 << 24, help="float32 of a window of NCCL's")
    parser.add_argument("--nets", nargs="*", default=["dense", "digits", "transformer"])
    parser.add_argument("--ways", nargs="*", default=["host", "one", "nccl"],
                        help="two ranks by messages, one rank, two ranks by NCCL and NCCL called alone")
    parser.add_argument("--virtual", action="store_true", help="the device's time has nothing to do with the host's: that of tests")
    arguments = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        jobs = Jobs(Machine(arguments.pack), begin + arguments.seconds, folder, arguments.virtual)
        all_cases(jobs, arguments.count, arguments.nets, arguments.ways)
    failed = [name for name, result in jobs.results.items() if not result["ok"]]
    print(json.dumps({"cases": jobs.results, "failed": failed, "cores": os.cpu_count(), "numpy": np.__version__,
                      "seconds": round(time.monotonic() - begin, 1)}))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
