# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether copies to pinned memory and back go on beside compute, on a CUDA device: what overlap_pack.py has made, run by cs-run.

    python3 bench/device/cuda_overlap.py PACK [--seconds 60]      # PACK/overlap; programs in PACK/bin, their libraries in PACK/lib

A turn is the plain copies of cuda_copy_driver, then the plans of copies alone, products alone, and both. Times are those between two lines of
cs-run, behind the first steps, and medians over the turns. `bandwidth` is what the plan copies each way in a second by what plain copies do both ways at
once; `exposed` the part of a step of both by which it is longer than the longer of the two alone. The last line is one JSON object."""
import argparse
import json
import re
import statistics
import sys
import time

from device_runs import Machine

LIMIT = 40  # seconds of a run
STEPS, FROM, TO, EVERY = 70, 20, 60, 10  # the end of a run waits for all of it, so it does not count
TURNS = 5
LONGER = 1.05  # products take so many times as long as the copies, or more
# What is asked for.
BANDWIDTH, EXPOSED = 0.9, 0.05


class Failed(Exception):
    """With what is to be learned from a run."""


class Overlap:
    def __init__(self, machine, end):
        self.machine, self.end, self.folder = machine, end, machine.pack / "overlap"
        self.told = json.loads((self.folder / "overlap.json").read_text())
        self.errors, self.samples = [], {}

    def limit(self):
        return max(1.0, min(LIMIT, self.end - time.monotonic()))

    def good(self, run, what):
        if (failure := run.failure()) is not None:
            self.errors.append({"what": what, **failure})
            raise Failed(what)
        return run

    def plain(self):
        """GB/s of the copies alone, without a plan."""
        rounds = 2 if self.told["small"] else 10
        run = self.machine.run("cuda_copy_driver", self.told["buffers"], self.told["buffer_bytes"], rounds, limit=self.limit())
        return json.loads(self.good(run, "cuda_copy_driver").text.splitlines()[-1])

    def step_ms(self, plan):
        """Of its steps FROM to TO, and checks what they have left."""
        run = self.machine.run("cs-run", self.folder / f"{plan}.plan", "--steps", STEPS, "--metrics-every", EVERY, "--eval", "check",
                               "--deadline", 20, "--transport", "in-process", limit=self.limit())
        self.good(run, plan)
        times = {int(found[1]): at for at, line in run.lines if (found := re.match(r"step (\d+)\b(?! time)", line))}
        checked = re.search(r"@check after step \d+: (.*)", run.text)
        wrong = [word for word in checked[1].split(", ") if word.split()[-1] != "0"] if checked else ["nothing was checked"]
        if wrong or FROM not in times or TO not in times:
            self.errors.append({"what": plan, "wrong": wrong, "stdout": run.text.splitlines()[-12:]})
            raise Failed(plan)
        return 1e3 * (times[TO] - times[FROM]) / (TO - FROM)

    def choose(self):
        """How many products take longer than the copies."""
        copies, first = self.step_ms("copies"), self.told["products"][0]
        product = self.step_ms(f"compute{first}") / first
        counts = sorted(self.told["products"])
        chosen = next((count for count in counts if count * product > LONGER * copies), counts[-1])
        flops = 2 * self.told["size"] ** 3
        return {"copies_ms": copies, "product_ms": product, "tflop_per_s": flops / product / 1e9, "products": chosen}

    def try_others(self, failed):
        """Where one plan has failed: what the others do."""
        first = self.told["products"][0]
        for plan in ("copies", f"compute{first}", f"both{first}"):
            if plan == failed:
                continue
            try:
                self.samples.setdefault(f"{plan} alone", []).append(self.step_ms(plan))
            except Failed:
                pass

    def turn(self, products):
        names = {"plain": self.plain, "copies": lambda: self.step_ms("copies"), "compute": lambda: self.step_ms(f"compute{products}"),
                 "both": lambda: self.step_ms(f"both{products}")}
        measured = {}
        for name, measure in names.items():
            measured[name] = measure()
        for name, value in measured.items():
            self.samples.setdefault(name, []).append(value)

    def results(self):
        """Of the turns that were whole; an empty object where there was none."""
        if "both" not in self.samples:
            return {}
        copies, compute, both = (statistics.median(self.samples[name]) for name in ("copies", "compute", "both"))
        plain = {key: statistics.median(sample[key] for sample in self.samples["plain"]) for key in self.samples["plain"][0]}
        planned = self.told["buffers"] * self.told["buffer_bytes"] / copies / 1e6
        result = {"copies_ms": copies, "compute_ms": compute, "both_ms": both, "plan_gb_per_s": planned, "plain": plain,
                  "bandwidth": planned / plain["both_gb_per_s"], "exposed": (both - max(copies, compute)) / both}
        result["kept"] = result["bandwidth"] >= BANDWIDTH and result["exposed"] <= EXPOSED
        return result


def rounded(value):
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack")
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    begin = time.monotonic()
    overlap, chosen, turns = Overlap(Machine(arguments.pack), begin + arguments.seconds), {}, 0
    try:
        chosen = overlap.choose()
        print(f"copies {chosen['copies_ms']:.3f} ms, a product {chosen['product_ms']:.3f} ms ({chosen['tflop_per_s']:.1f} TFLOP/s): "
              f"{chosen['products']} products", flush=True)
        print(f"{'turn':>4} {'plain GB/s: host':>17} {'device':>7} {'both':>7} {'copies ms':>10} {'compute ms':>11} {'both ms':>8}")
        longest = 0.0
        while turns < TURNS and time.monotonic() + longest < overlap.end:
            at = time.monotonic()
            overlap.turn(chosen["products"])
            longest, turns = max(longest, time.monotonic() - at), turns + 1
            plain, copies, compute, both = (overlap.samples[name][-1] for name in ("plain", "copies", "compute", "both"))
            print(f"{turns:4} {plain['to_host_gb_per_s']:17.2f} {plain['to_device_gb_per_s']:7.2f} {plain['both_gb_per_s']:7.2f} "
                  f"{copies:10.3f} {compute:11.3f} {both:8.3f}", flush=True)
    except Failed as what:
        print(f"failed: {what}", flush=True)
        overlap.try_others(str(what))
    except Exception as error:  # whatever it was, what has been measured counts
        overlap.errors.append({"what": repr(error)})
    if "plain" not in overlap.samples:  # what the machine does, though plans have failed
        try:
            overlap.samples["plain"] = [overlap.plain()]
        except Exception as error:
            overlap.errors.append({"what": repr(error)})
    print(json.dumps(rounded({"overlap": overlap.results(), "chosen": chosen, "turns": turns, "samples": overlap.samples,
                              "sizes": overlap.told, "errors": overlap.errors, "seconds": time.monotonic() - begin})))
    sys.exit(1 if overlap.errors else 0)


if __name__ == "__main__":
    main()
