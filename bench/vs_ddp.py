# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps against those of PyTorch DistributedDataParallel over gloo, on the same network.

Emulated, as in shaped_step: profiles on 4 ranks, each on a host of its own, with times
scaled so that communication equals compute (--shares: others too). DDP has modules that
wait for the profile's times in the forward and the backward pass, gradients of the same
sizes, and after them a wait for the time of the updates, which ours has too, one by one
(_ddp_worker.py). Its buckets: the default (25 MiB, the first 1 MiB), and the best of a
sweep. gradient_as_bucket_view saves it a copy. Neither side computes.

Real: the Transformer of examples/ on 2 workers at 1 Gbit/s, 8 samples of 65 bytes each,
trained by ours (costs measured first, then --schedule-comm) and by the same model in
PyTorch, from the same values, on the same batches, with Adam on both sides. The losses of
all steps must agree to 1e-3. One thread per worker.

--hooks, alone: models of transformers as they are, ResNet-50 and one like GPT-2, in eager
PyTorch on 2 ranks, by commsched.torch.distribute and by DDP (_hooks_worker.py), at the rate at which sending the
gradients takes as long as a step without. Real compute; losses as above. Each host has a processor to itself (if there are two): what
communicates for one rank would hold up the compute of the other, by turns, and both wait for the one that is behind. bound_over_best: DDP's best step over what the link takes
for the gradients' bytes, as which no step is faster. And the whole step,
by commsched.torch.transpile and by torch.compile of DDP, in the same hosts. These two sum in other
orders than eager PyTorch, and the gradients of a ResNet-50 that begins are not conditioned: those of
PyTorch in float32 are 2 % from those in float64, and a millionth of the input changes them as much. So
their losses are said, and not judged.

Ours and DDP run in turn, in the same hosts (when training for real: in others like them),
with the same congestion control. Ratios are
DDP's time of a step over ours, medians over the rounds.

Needs root and iproute2, and PyTorch: scripts/setup.sh --bench. Status 77 without them.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

import _shaped
import scheduled_training
from _tools import steady_step_ms
from net import hosts

CASES = [("resnet50", "1gbit"), ("resnet50", "2gbit"), ("distilbert", "1gbit"), ("vgg16", "2gbit")]
RANKS = 4
DEFAULT = None  # of torch: 25 MiB, the first 1 MiB
BUCKETS_MB = [1, 4, 10, 50, 100]
WARM_UP = 2  # DDP makes its buckets anew after the first step
TOLERANCE = 1e-3
WORKER = pathlib.Path(__file__).resolve().parent / "_ddp_worker.py"
HOOKS_WORKER = WORKER.with_name("_hooks_worker.py")
HOOKS_BATCHES = {"resnet50": 8, "gpt2": 4}


class Ddp:
    """Runs jobs of a worker on the hosts of a network."""

    def __init__(self, network, folder, worker=WORKER):
        self.network, self.folder, self.worker = network, folder, worker
        self._port = 29500

    def run(self, job):
        """What the ranks have found, in order."""
        self._port += 1
        path = self.folder / "ddp.json"
        path.write_text(json.dumps(job))
        ranks = len(self.network.addresses)
        results = [self.folder / f"ddp.{rank}.json" for rank in range(ranks)]
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1",
                       "PYTHONPATH": str(_shaped.ROOT / "python_api")}
        processes = [self.network.start(rank, [sys.executable, self.worker, path, results[rank],
                                               f"{self.network.addresses[0]}:{self._port}", rank, ranks],
                                        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                     for rank in range(ranks)]
        _shaped.finish(processes, self.network)
        return [json.loads(result.read_text()) for result in results]

    def emulate(self, layers, update_seconds, buckets, steps):
        """Seconds of a step for each size of buckets: of the rank where it is longest."""
        found = self.run({"kind": "emulated", "layers": layers, "update_seconds": update_seconds, "steps": steps,
                          "warm_up": WARM_UP, "buckets_mb": buckets})
        return [max(of_ranks) for of_ranks in zip(*found)]


def ddp_layers(layers):
    """(seconds forward, seconds backward, bytes of tensors), and seconds of all updates."""
    return ([(layer.forward / 1e9, (layer.inputs + layer.weights) / 1e9, layer.tensors) for layer in layers],
            sum(layer.update for layer in layers) / 1e9)


def name_of(bucket):
    return "default" if bucket is DEFAULT else f"{bucket} MB"


def emulated(model, rate, share, steps, rounds, buckets):
    """Seconds of a step by rounds: (ours, DDP's default, its best), and the best size."""
    program, layers = model.scaled(model.factor(RANKS, rate, share))
    layers, updates = ddp_layers(layers)
    print(f"{model.name}, {model.bytes / 1e6:.0f} MB, {rate / 1e9:g} Gbit/s, communication {share:g} times compute",
          flush=True)
    with tempfile.TemporaryDirectory() as name, hosts.Network([rate] * RANKS, loopback=True) as network:
        folder = pathlib.Path(name)
        cluster, ddp = _shaped.Cluster(network, folder), Ddp(network, folder)
        first = _shaped.compile_plan(folder, model.name, program, RANKS, rate, "priority")
        calibration, _ = cluster.calibrate(first.path, rate)
        plan = _shaped.compile_plan(folder, model.name, program, RANKS, rate, "solver", calibration)
        rows, tried = [], [DEFAULT, *buckets]
        for _ in range(rounds):
            ours = _shaped.step_seconds(cluster.emulate(plan.path, steps + 3))
            theirs = dict(zip(tried, ddp.emulate(layers, updates, tried, steps)))
            print(f"  ours {1e3 * ours:8.1f} ms, {plan.messages} messages; DDP "
                  + ", ".join(f"{name_of(bucket)} {1e3 * seconds:.1f}" for bucket, seconds in theirs.items()),
                  flush=True)
            if not rows:  # the others were slower
                best = min(theirs, key=theirs.get)
                tried = [DEFAULT] if best is DEFAULT else [DEFAULT, best]
            rows.append((ours, theirs[DEFAULT], theirs[best]))
    return rows, best


def real(steps, rounds, rate):
    """The same of the Transformer, trained for real; and the largest relative difference of a loss."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        job = scheduled_training.Job(steps, rate, folder)
        plan, _, _ = job.compile("priority")
        job.train(plan, "--profile", folder / "profile.json")
        job.run(plan, "--calibrate", folder / "calibration.json")
        profiles = ",".join(map(str, sorted(folder.glob("profile*.json"))))
        plan, messages, _ = job.compile("solver", f"profile={profiles} calibration={folder / 'calibration.json'}")
        description = model_of(folder)
        rows, worst, tried = [], 0.0, [DEFAULT, 1, 4]
        with hosts.Network([rate] * scheduled_training.WORKERS, loopback=True) as network:
            ddp = Ddp(network, folder)
            for _ in range(rounds):
                metrics, _ = job.train(plan)
                ours = steady_step_ms(metrics["summary"]) / 1e3
                found = ddp.run({"kind": "real", "steps": steps, "warm_up": WARM_UP, "buckets_mb": tried, **description})
                theirs = [max(seconds for seconds, _ in of_ranks) for of_ranks in zip(*found)]
                for _, losses in found[0]:
                    worst = max(worst, *(abs(a["loss"] / b - 1) for a, b in zip(metrics["steps"], losses, strict=True)))
                rows.append(row(ours, f", {messages} messages", tried, theirs, worst))
    return rows, worst


def row(ours, note, tried, theirs, worst):
    """Of a round: (ours, DDP's default, its best), shown; too large a difference of losses ends the benchmark."""
    print(f"  ours {1e3 * ours:.1f} ms{note}; DDP " + ", ".join(
        f"{name_of(bucket)} {1e3 * seconds:.1f}" for bucket, seconds in zip(tried, theirs))
        + f"; losses differ by {worst:.1e} at most", flush=True)
    if worst > TOLERANCE:
        sys.exit(f"vs_ddp: losses differ by {worst:.1e}, more than {TOLERANCE}")
    return ours, theirs[0], min(theirs)


def model_of(folder):
    """Of the Transformer, for the worker. Its parameters are those whose names do not begin
    like Adam's state; DDP's order is that of their use."""
    sys.path.insert(0, str(_shaped.ROOT / "examples/transformer"))
    text = (folder / "step.mlir").read_text()
    import re
    names = re.findall(r'cs\.param = "([^"]+)"', text)
    layer_parts = ["norm1.scale", "norm1.bias", "qkv", "out", "norm2.scale", "norm2.bias", "up", "down"]
    count = sum(name.endswith(".qkv") for name in names)
    order = ["bytes", "places", *(f"layer{i}.{part}" for i in range(count) for part in layer_parts), "last.scale",
             "last.bias"]
    if sorted(order) != sorted(names):
        sys.exit(f"vs_ddp: the Transformer has other parameters: {sorted(set(order) ^ set(names))}")
    source = (_shaped.ROOT / "examples/transformer/transformer.py").read_text()
    numbers = re.search(r"LAYERS, WIDTH, HEADS, CONTEXT, VOCABULARY = (\d+), (\d+), (\d+), (\d+), (\d+)", source)
    rate = re.search(r"LEARNING_RATE = \d+, ([\de.-]+)", source)
    return {"initial": str(folder / "init.safetensors"), "batches": str(folder / "batch.npz"), "order": order,
            "heads": int(numbers[3]), "context": int(numbers[4]), "rate": float(rate[1])}


def hooks(model, steps, rounds, buckets):
    """PyTorch: seconds of a step by rounds, (ours, DDP's default, its best) eager and of the whole step (ours, DDP compiled, the
    largest relative differences of their losses from the eager ones), the largest of a loss, and what the link takes for the gradients."""
    job = {"model": model, "batch": HOOKS_BATCHES[model], "steps": steps, "warm_up": 4}  # ours measures three steps
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with hosts.Network([0] * 2, loopback=True, own_processors=True) as network:
            alone = Ddp(network, folder, HOOKS_WORKER).run({**job, "how": "alone"})
        compute, size = max(found["seconds"] for found in alone), alone[0]["bytes"]
        rate = round(size * 8 / compute)  # of two ranks each sends as many bytes as the gradients have
        print(f"{model}, {size / 1e6:.0f} MB, {1e3 * compute:.0f} ms without communication, {rate / 1e6:.0f} Mbit/s", flush=True)
        rows, whole, worst, tried = [], [], 0.0, [DEFAULT, *buckets]
        with hosts.Network([rate] * 2, loopback=True, own_processors=True) as network:
            ddp = Ddp(network, folder, HOOKS_WORKER)
            for number in range(rounds):
                peers = [f"{address}:{_shaped.PORT + number}" for address in network.addresses]
                # Each in processes of its own: what one has compiled, or has left in memory, is not in another's way.
                found = [ddp.run({**job, "peers": peers, "how": how}) for how in ("ours", *tried, "compiled", "whole")]
                ours, *theirs, compiled, own = [max(rank["seconds"] for rank in of_ranks) for of_ranks in found]
                mine, *others = [of_ranks[0]["losses"] for of_ranks in found]
                *eager, of_compiled, of_whole = [max(abs(a / b - 1) for a, b in zip(mine, losses, strict=True)) for losses in others]
                worst = max(worst, *eager)
                rows.append(row(ours, "", tried, theirs, worst))
                busy = [max(rank["processors"] for rank in of_ranks) for of_ranks in found]
                print(f"  processor time of a rank: ours {1e3 * busy[0]:.1f} ms; DDP {name_of(DEFAULT)} {1e3 * busy[1]:.1f}", flush=True)
                print(f"  whole step: ours {1e3 * own:.1f} ms, DDP compiled {1e3 * compiled:.1f}; losses differ from the eager ones "
                      f"by {of_whole:.1e}, {of_compiled:.1e} at most", flush=True)
                whole.append((own, compiled, of_whole, of_compiled))
    return rows, whole, worst, compute / _shaped.PAYLOAD


def all_hooks(models, quick, rounds):
    result, bounds = {}, []
    for model in models:
        rows, whole, difference, wire = hooks(model, 4 if quick else 10, rounds, [4] if quick else [1, 4, 10])
        bounds.append(statistics.median(best / wire for _, _, best in rows))
        own, compiled, *differences = zip(*whole)
        result[model] = (*ratios(rows), round(statistics.median(b / a for a, b in zip(own, compiled)), 4), difference,
                         *map(max, differences))
    default, best, compiled, difference, of_whole, of_compiled = zip(*result.values())
    print(json.dumps({"over_default": min(default), "over_best": min(best), "bound_over_best": round(min(bounds), 4),
                      "whole_over_compiled": min(compiled),
                      "loss_difference": float(f"{max(difference):.2e}"), "whole_loss_difference": float(f"{max(of_whole):.2e}"),
                      "compiled_loss_difference": float(f"{max(of_compiled):.2e}"),
                      "cases": {name: list(r[:3]) for name, r in result.items()}}))
    return 0


def ratios(rows):
    return [round(statistics.median(row[i] / row[0] for row in rows), 4) for i in (1, 2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one emulated case, fewer steps, one round")
    parser.add_argument("--cases", help="model:rate, with commas (default "
                        + ",".join(":".join(case) for case in CASES) + "); real: the Transformer; none: only that")
    parser.add_argument("--shares", default="1", help="communication over compute, with commas (default 1)")
    parser.add_argument("--rounds", type=int, help="default 2; 1 with --quick")
    parser.add_argument("--no-real", action="store_true", help="emulated cases only")
    parser.add_argument("--hooks", action="store_true", help="eager PyTorch by commsched.torch.distribute, and nothing else")
    parser.add_argument("--models", help=f"with --hooks: with commas (default {','.join(HOOKS_BATCHES)})")
    options = parser.parse_args()
    if options.hooks and (options.cases or options.no_real or options.shares != "1"):
        parser.error("--hooks goes with --models, --quick and --rounds only")
    models = options.models.split(",") if options.models else list(HOOKS_BATCHES)
    if (options.models and not options.hooks) or not {*models} <= {*HOOKS_BATCHES}:
        parser.error(f"--models must be some of {','.join(HOOKS_BATCHES)}, with --hooks, got: {options.models}")
    why = hosts.why_unavailable() or (
        "needs PyTorch: scripts/setup.sh --bench" if importlib.util.find_spec("torch") is None else "")
    if why:
        print(f"vs_ddp: {why}: skipped")
        return hosts.SKIPPED
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    os.environ["OMP_NUM_THREADS"] = "1"
    rounds = options.rounds or (1 if options.quick else 2)
    if options.hooks:
        _shaped.measure_in_peace()
        return all_hooks(models, options.quick, rounds)
    cases = CASES[:1] if options.quick else CASES
    if options.cases:
        cases = [tuple(case.split(":")) for case in options.cases.split(",") if case != "none"]
    buckets = BUCKETS_MB[1::2] if options.quick else BUCKETS_MB
    _shaped.measure_in_peace()
    result, default, best = {}, [], []
    for name, rate in cases:
        model = _shaped.Model(name)
        for share in map(float, options.shares.split(",")):
            rows, size = emulated(model, hosts.bits_per_second(rate), share, 3, rounds, buckets)
            over = ratios(rows)
            print(f"  DDP over ours: default {over[0]:.3f}, best ({name_of(size)}) {over[1]:.3f}", flush=True)
            result[f"{name}.{rate}.{share:g}"] = over
            if share == 1:
                default.append(over[0])
                best.append(over[1])
    real_default = real_best = difference = None
    if not options.no_real:
        print("Transformer of examples/, 2 workers, 1 Gbit/s", flush=True)
        rows, difference = real(8 if options.quick else 20, rounds, 10**9)
        real_default, real_best = ratios(rows)
    print(json.dumps({"over_default": min(default, default=None), "over_best": min(best, default=None),
                      "real_over_default": real_default, "real_over_best": real_best,
                      "real_loss_difference": difference and float(f"{difference:.2e}"), "cases": result}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
