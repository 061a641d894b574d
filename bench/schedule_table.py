# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every policy of communication scheduling, and what cs-opt makes, over the certified bound.

Models of examples/profiles, and of COMMSCHED_DATA if it is set (or of the files and
folders given instead: PipeDream's *.graph.txt, AICB's *.txt, Chakra's *.et), at 1 to
100 Gb/s on 4 to 256 workers, with all-reduce and with parameter servers. Each is
compiled by cs-opt with its defaults. The schedule is read from what cs-opt wrote, and
its period is found on the problem of the module that --schedule-comm got; so are that
of each policy and the bound for our order of ops. Where connections to servers share a
link, each has a queue of its own, and a server's link has a message and a request of every
worker (docs/scheduling.md).

What a message costs: `alpha` is the time of a round without bytes, 30 us up to 25 Gb/s
(TCP) and 8 us above. A third of it occupies the link (processor time, and what the
network interface does for a message), the rest is latency that other messages hide.
What collectives and messages of servers are is in docs/schedule-comm.md. There are as
many servers as workers, 16 at most, on machines of their own. Policies, and the bound,
may cut blocks of servers anywhere, and send those of one server in one message; cs-opt
cuts them between rows, and fuses small ones. `servers_as_allowed` is against policies and
bound that may do no more. `behind_applied` is against the policies as cs-opt would apply them.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import tempfile

import _odd_profiles
import _shipped

RATES = (1, 10, 25, 40, 100)
WORKERS = (4, 16, 64, 256)
GOAL_MEDIAN, GOAL_WORST = 1.01, 1.04
OURS = "cs-opt"
QUICK = ("bert_large", "resnet50")


def cases(paths, arguments):
    """Of each its name, the program, and what compiled() takes besides."""
    for name, path in paths.items():
        text = _shipped.program(path)
        for gbit in arguments.rates:
            alpha = 30_000 if gbit <= 25 else 8_000
            overhead = round(alpha * arguments.occupied)
            for workers in arguments.workers:
                for way in arguments.ways:
                    yield (f"{name},{gbit},{workers},{way}", text,
                           _shipped.cluster(workers, gbit, overhead, alpha - overhead),
                           min(workers, 16) if way == "servers" else 0)


def profiles_of(arguments):
    """{name: file} of what is asked for. --quick has two of the repository's own, which with others beside them may have
    other names."""
    own = _shipped.ROOT / "examples/profiles"
    if arguments.quick and not arguments.paths:
        return {name: path for name, path in _shipped.profiles([own]).items() if name in QUICK}
    return _shipped.profiles(arguments.paths or [own, *filter(None, [os.environ.get("COMMSCHED_DATA", "")])])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=pathlib.Path, metavar="PATH", help="profiles, or folders of them")
    parser.add_argument("--quick", action="store_true", help="two models, 3 rates, 2 sizes")
    parser.add_argument("--occupied", type=float, default=1 / 3, metavar="SHARE",
                        help="of alpha that occupies the link (default: a third)")
    parser.add_argument("--odd", action="store_true", help="models as nobody builds them instead (_odd_profiles.py)")
    parser.add_argument("--model", help="only this one")
    parser.add_argument("--rates", type=float, nargs="+", help="Gb/s")
    parser.add_argument("--workers", type=int, nargs="+")
    parser.add_argument("--ways", nargs="+", choices=("all-reduce", "servers"), default=("all-reduce", "servers"))
    parser.add_argument("--options", default="", help="of the pipeline, beside its defaults")
    parser.add_argument("--worst", type=int, default=25, help="so many of the cases that miss the goal")
    parser.add_argument("--keep", type=pathlib.Path, help="write all cases to this file, a line of JSON each")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cases at once")
    arguments = parser.parse_args()
    for path in arguments.paths:
        if not path.exists():
            parser.error(f"there is no file or folder {path}")
    arguments.rates = arguments.rates or ((1, 10, 40) if arguments.quick else RATES)
    arguments.workers = arguments.workers or ((4, 64) if arguments.quick else WORKERS)
    folder = tempfile.TemporaryDirectory()
    profiles = _odd_profiles.write(folder.name) if arguments.odd else profiles_of(arguments)
    profiles = {name: path for name, path in profiles.items() if arguments.model in (None, name)}
    if not profiles:
        parser.error("there is no profile with times" + (f" called {arguments.model}" if arguments.model else ""))

    def row(case):
        name, *given = case
        return {"name": name, **_shipped.compiled(*given, options=arguments.options)}

    rows = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for one in pool.map(row, cases(profiles, arguments)):
            rows.append(one)
            if arguments.keep:
                with arguments.keep.open("w" if len(rows) == 1 else "a") as file:
                    file.write(json.dumps(one) + "\n")
    report(rows, arguments)


def ratios(rows):
    """`ratio`, `best` (policy), `behind` and `behind_applied` of each."""
    for row in rows:
        row["ratio"] = row["period"] / row["bound"]
        row["best"] = min(row["baselines"], key=row["baselines"].get)
        row["behind"] = row["period"] > row["baselines"][row["best"]] * (1 + 1e-9)
        if "applied" in row:
            ours = row.get("alone", row)["period"]
            row["behind_applied"] = ours > min(row["applied"].values()) * (1 + 1e-9)
    return rows


def summary(rows):
    """Of cases with `ratio`."""
    return {
        "median_ratio": round(statistics.median(row["ratio"] for row in rows), 4),
        "worst_ratio": round(max(row["ratio"] for row in rows), 4),
        "behind_baseline": sum(row["behind"] for row in rows),
        **({"behind_applied": sum(row["behind_applied"] for row in rows)} if "applied" in rows[0] else {}),
        "cases": len(rows),
        "above_goal": sum(row["ratio"] > GOAL_WORST for row in rows),
    }


def report(rows, arguments):
    ratios(rows)
    policies = list(max((row["baselines"] for row in rows), key=len))
    print(f"{'over the bound':<16}{'median':>8}{'worst':>8}{'best policy in':>16}")
    for policy in [OURS] + policies:
        over = [row["ratio"] if policy == OURS else row["baselines"][policy] / row["bound"]
                for row in rows if policy == OURS or policy in row["baselines"]]
        first = sum(row["best"] == policy for row in rows)
        print(f"{policy:<16}{statistics.median(over):8.3f}{max(over):8.3f}{first if policy != OURS else '':>16}")
    gains = [row["baselines"][row["best"]] / row["period"] for row in rows]
    print(f"the best policy of each case over ours: median {statistics.median(gains):.3f}, "
          f"least {min(gains):.3f}, most {max(gains):.3f}")
    missed = sorted((row for row in rows if row["ratio"] > GOAL_WORST or row["behind"]),
                    key=lambda row: -row["ratio"])
    print(f"\n{len(missed)} of {len(rows)} cases above {GOAL_WORST} or behind a policy"
          + (f", the worst {arguments.worst}:" if len(missed) > arguments.worst else ":"))
    for row in missed[:arguments.worst]:
        print(f"  {row['name']:<44}{row['ratio']:.3f}  best of the others "
              f"{row['baselines'][row['best']] / row['bound']:.3f} ({row['best']}), "
              f"{row['tensors']} tensors, {row['messages']} messages; bound: {row['why']}")
    result = {"path": OURS, **summary(rows)}
    for way in ("all-reduce", "servers"):
        if of_way := [row for row in rows if row["name"].endswith(way)]:
            result[way.replace("-", "_")] = summary(of_way)
    if alone := [row["alone"] for row in rows if "alone" in row]:
        result["servers_as_allowed"] = summary(ratios(alone))
    result["reordered"] = sum(row["reordered"] for row in rows)
    result["median_any_order"] = round(statistics.median(row["period"] / row["any_order_bound"] for row in rows), 4)
    result["seconds"] = round(sum(row["seconds"] for row in rows), 1)
    print(json.dumps(result))


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:  # of a tool, which names the file
        raise SystemExit(f"schedule_table: {error}") from None
