# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every policy of communication scheduling, and ours, over the certified bound.

Models of examples/profiles, and of COMMSCHED_DATA if it is set, at 1 to 100 Gb/s on 4
to 256 workers, with all-reduce and with parameter servers: the period of each policy
on the same problem with the same costs, over the bound for our order of ops.

What a message costs: `alpha` is the time of a round without bytes, 30 us up to 25 Gb/s
(TCP) and 8 us above. A third of it occupies the link (processor time, and what the
network interface does for a message), the rest is latency that other messages hide.
An all-reduce of P workers is a reduce-scatter and an all-gather of log2(P) rounds
each, the cheaper algorithm for a power of two at every size, and sends (P-1)/P of the
bytes in each; what a worker receives comes in the other direction of a full-duplex
link, at the same time. Of parameter servers there are as many as workers, on machines
of their own. A message is spread evenly over min(P, 16) of them and pays for as many
parts; a server has P parts to take, of which the last comes that much later. Sums
take no time.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess

import _profiles

ROOT = pathlib.Path(__file__).resolve().parents[1]
RATES = (1, 10, 25, 40, 100)
WORKERS = (4, 16, 64, 256)
GOAL_MEDIAN, GOAL_WORST = 1.02, 1.05


def models(quick):
    """(name, layers) of each profile."""
    ours = sorted((ROOT / "examples/profiles").glob("*.txt"))
    result = [(path.stem, _profiles.read_aicb(path)) for path in ours]
    if quick:
        return [model for model in result if model[0] in ("resnet50", "bert_large")]
    if data := os.environ.get("COMMSCHED_DATA"):
        for path in sorted(pathlib.Path(data, "pipedream").glob("*.graph.txt")):
            result.append((path.name.split(".")[0] + ".pipedream", _profiles.read_pipedream(path)))
        for path in sorted(pathlib.Path(data, "aicb").glob("*.txt")):
            result.append((path.name.split("_")[1] + ".aicb", _profiles.read_aicb(path)))
    return result


def problem(name, layers, gbit, workers, servers, occupied):
    """The text of one case."""
    rate = gbit * 125_000_000
    alpha = 30_000 if gbit <= 25 else 8_000
    overhead = round(alpha * occupied)
    latency = alpha - overhead
    if servers:
        parts = min(workers, 16)
        late = latency + (workers - parts) * overhead
        return _profiles.to_text(
            name, layers, [("up", rate), ("down", rate)],
            lambda size: [(0, size, parts * overhead, late), (1, size, parts * overhead, late)],
            updates=False)
    rounds = int(math.log2(workers))
    return _profiles.to_text(
        name, layers, [("network", rate)],
        lambda size: [(0, size * (workers - 1) // workers, rounds * overhead, rounds * latency)] * 2,
        updates=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two models, 3 rates, 2 sizes")
    parser.add_argument("--occupied", type=float, default=1 / 3, metavar="SHARE",
                        help="of alpha that occupies the link (default: a third)")
    parser.add_argument("--model", help="only this one")
    parser.add_argument("--worst", type=int, default=25, help="so many of the cases that miss the goal")
    parser.add_argument("--keep", type=pathlib.Path, help="write all cases to this file, a line of JSON each")
    arguments = parser.parse_args()
    rates = (1, 10, 40) if arguments.quick else RATES
    sizes = (4, 64) if arguments.quick else WORKERS
    texts = [problem(f"{name},{gbit},{workers},{'servers' if servers else 'all-reduce'}", layers,
                     gbit, workers, servers, arguments.occupied)
             for name, layers in models(arguments.quick) if arguments.model in (None, name)
             for gbit in rates for workers in sizes for servers in (False, True)]
    driver = pathlib.Path(os.environ["COMMSCHED_BIN"]) / "schedule_driver"

    def solve(text):
        done = subprocess.run([driver], input=text, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(solve, texts))
    if arguments.keep:
        arguments.keep.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report(rows, arguments.worst)


def report(rows, worst):
    policies = list(max((row["baselines"] for row in rows), key=len))
    for row in rows:
        row["ratio"] = row["period"] / row["bound"]
        row["best"] = min(row["baselines"], key=row["baselines"].get)
        row["behind"] = row["period"] > row["baselines"][row["best"]] * (1 + 1e-12)
    print(f"{'over the bound':<16}{'median':>8}{'worst':>8}{'best policy in':>16}")
    for policy in ["ours"] + policies:
        ratios = [row["ratio"] if policy == "ours" else row["baselines"][policy] / row["bound"]
                  for row in rows if policy == "ours" or policy in row["baselines"]]
        first = sum(row["best"] == policy for row in rows)
        print(f"{policy:<16}{statistics.median(ratios):8.3f}{max(ratios):8.3f}{first if policy != 'ours' else '':>16}")
    gains = [row["baselines"][row["best"]] / row["period"] for row in rows]
    print(f"the best policy of each case over ours: median {statistics.median(gains):.3f}, most {max(gains):.3f}")
    missed = sorted((row for row in rows if row["ratio"] > GOAL_WORST), key=lambda row: -row["ratio"])
    print(f"\n{len(missed)} of {len(rows)} cases above {GOAL_WORST}"
          + (f", the worst {worst}:" if len(missed) > worst else ":"))
    for row in missed[:worst]:
        print(f"  {row['name']:<44}{row['ratio']:.3f}  best of the others "
              f"{row['baselines'][row['best']] / row['bound']:.3f} ({row['best']}), "
              f"{row['messages']} messages; bound: {row['why']}")
    print(json.dumps({
        "median_ratio": round(statistics.median(row["ratio"] for row in rows), 4),
        "worst_ratio": round(max(row["ratio"] for row in rows), 4),
        "behind_baseline": sum(row["behind"] for row in rows),
        "cases": len(rows),
        "above_goal": len(missed),
        "median_any_order": round(statistics.median(row["period"] / row["any_order_bound"] for row in rows), 4),
        "seconds": round(sum(row["seconds"] for row in rows), 1),
    }))


if __name__ == "__main__":
    main()
