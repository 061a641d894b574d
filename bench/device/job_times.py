# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a trace, a profile and the metrics of one run on a device say of each other. Needs nothing but Python."""
import collections
import json
import statistics

COMPUTE = ("compute", "deferred compute for messages", "deferred compute")
ROUNDED_US = 1.0      # an event's steps, on both sides
NEAR_US, NEAR = 3.0, 0.25
WARM_UP = 3           # steps that a profile leaves out


def rows_of(trace):
    """{row: events}, of streams of the device, by their begin."""
    rows, names = collections.defaultdict(list), {}
    for event in trace["traceEvents"]:
        if event["ph"] == "M" and event["name"] == "thread_name":
            names[event["pid"], event["tid"]] = event["args"]["name"]
        elif event["ph"] == "X" and not names[event["pid"], event["tid"]].startswith(("send to ", "receive from ")):
            rows[names[event["pid"], event["tid"]]].append(event)
    return {name: sorted(events, key=lambda event: event["ts"]) for name, events in rows.items()}


def compare(trace, profile, metrics, steps, virtual=False):
    """(what they say, what is wrong). virtual: the device's time has nothing to do with the host's."""
    rows, wrong, said = rows_of(trace), [], {"rows": {}}
    begins = collections.defaultdict(lambda: float("inf"))
    for name, events in rows.items():
        calls = collections.Counter((event["args"]["call"], event["name"]) for event in events)
        if set(calls.values()) != {1} or {call for call, _ in calls} != set(range(steps)):
            wrong.append(f"row {name}: its ops are not there once in each step")
        over = [round(a["ts"] + a["dur"] - b["ts"], 3) for a, b in zip(events, events[1:]) if a["ts"] + a["dur"] > b["ts"] + ROUNDED_US]
        if over:
            wrong.append(f"row {name}: {len(over)} of {len(events)} ops begin before the one before has ended, by up to {max(over)} us")
        for event in events:
            begins[event["args"]["call"]] = min(begins[event["args"]["call"]], event["ts"])
        busy, span = sum(event["dur"] for event in events), events[-1]["ts"] + events[-1]["dur"] - events[0]["ts"]
        said["rows"][name] = {"ops": len(events) // steps, "busy_us_a_step": round(busy / steps, 1), "busy": round(busy / max(span, 1e-9), 4)}
        if busy > span + ROUNDED_US * len(events):
            wrong.append(f"row {name}: busy for {busy:.1f} us of {span:.1f} us")
    # From the first op of a step to that of the next one: behind the first steps, which are slower.
    periods = [begins[call + 1] - begins[call] for call in range(WARM_UP, steps - 1)]
    said["step_us_by_trace"], said["step_us"] = round(statistics.mean(periods), 1), round(metrics["summary"]["step_ms"] * 1e3, 1)
    # The host's mean has the first steps in it.
    if not virtual and statistics.mean(periods) > said["step_us"] * (1 + NEAR) + NEAR_US:
        wrong.append(f"a step takes {said['step_us']} us, and {said['step_us_by_trace']} us by the trace")
    # Of each fragment, the median over the same steps.
    function, = profile["processes"][0]["functions"]
    lengths = collections.defaultdict(list)
    for name, events in rows.items():
        for event in events:
            if event["args"]["call"] >= WARM_UP:
                lengths[event["name"]].append(event["dur"])
    said["fragments"] = sum(fragment["kind"] == "run" for fragment in function["fragments"])
    for fragment in function["fragments"]:
        traced, measured = statistics.median_low(lengths.get(fragment["label"], [0])), fragment["median_ns"] / 1e3
        if fragment["count"] != steps - WARM_UP or abs(traced - measured) > ROUNDED_US:
            wrong.append(f"{fragment['label']}: {measured} us of {fragment['count']} in the profile, {traced} us in the trace")
    compute = sum(sum(event["dur"] for event in rows.get(name, ())) for name in COMPUTE) / steps
    said["compute_us_a_step"] = round(compute, 1)
    if not virtual and rows["compute"] and said["rows"]["compute"]["busy_us_a_step"] > said["step_us_by_trace"] * (1 + NEAR) + NEAR_US:
        wrong.append(f"a stream computes for {said['rows']['compute']['busy_us_a_step']} us of a step's {said['step_us_by_trace']} us")
    return said, wrong[:8]


def read(path):
    return json.loads(path.read_text())
