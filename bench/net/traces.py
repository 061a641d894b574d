#!/usr/bin/env python3
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One trace out of those of the ranks, with their clocks aligned.

    traces.py OUT TRACE TRACE...        traces in the order of ranks

A rank's trace (`cs-run --trace`) counts from its own beginning, on its own clock.
How far two clocks are apart follows from messages: one that a sends to b arrives
after a has sent it. The least of those differences, less the time for the bytes,
is the offset of the clocks and the least delay of the way. Where both send to each
other, half of the difference of the two is the offset, as in NTP (Mills, RFC 5905),
if both ways are as long. Around a ring nobody answers whom he hears, but the
offsets around it add up to nothing; so in general the offsets and one delay for all
ways are the least-squares solution for all pairs of ranks. Clocks that run at
different speeds are followed by a straight line through the offsets of parts of the
run, where it is long enough.

What this cannot see: a way that always takes longer than the way back. The error is
half of that difference, or less where there are several ways around.
"""
import argparse
import collections
import dataclasses
import json
import pathlib
import re
import sys

PEER = re.compile(r"(send to|receive from) (\d+)")
PART_US = 10e6  # of a run, for the speed of a clock
MOST_PARTS = 8
ROUNDS = 3


class TraceError(Exception):
    """A trace is damaged, or does not say how its clock relates to the others'."""


@dataclasses.dataclass
class Clock:
    """Time on rank 0's clock = time + offset + speed * time; us."""

    offset: float = 0.0
    speed: float = 0.0

    def to_first(self, time):
        return time + self.offset + self.speed * time


def _messages(trace):
    """Of the sends and the receives: {(peer, key, call): [(begin, end, bytes)]}, each in order."""
    tracks = {event["tid"]: PEER.match(event["args"]["name"]) for event in trace["traceEvents"]
              if event.get("name") == "thread_name"}
    sends, receives = collections.defaultdict(list), collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event.get("ph") != "X" or not (match := tracks.get(event.get("tid"))):
            continue
        of = sends if match[1] == "send to" else receives
        of[int(match[2]), event["name"], event["args"].get("call", 0)].append(
            (event["ts"], event["ts"] + event["dur"], event["args"].get("bytes", 0)))
    for of in (sends, receives):
        for spans in of.values():
            spans.sort(key=lambda span: span[1])
    return sends, receives


def _differences(traces):
    """{(a, b): [(sent on a's clock, arrived on b's, bytes)]}. Rounds of one collective to the
    same peer have one name; they go one after the other."""
    messages = [_messages(trace) for trace in traces]
    result = collections.defaultdict(list)
    for a, (sends, _) in enumerate(messages):
        for (b, key, call), spans in sends.items():
            if b >= len(traces):
                continue  # a server, say
            arrived = messages[b][1].get((a, key, call), [])
            if len(arrived) != len(spans):
                continue  # a run that ended early
            for (sent, _, size), (_, end, _) in zip(sorted(spans), arrived):
                result[a, b].append((sent, end, size))
    return result


def _least(of_pair):
    """The least difference of a pair, each message without the time for its bytes; the rate is
    what the largest messages reach at best, but never so fast that small ones seem late."""
    differences = sorted((end - sent, size) for sent, end, size in of_pair)
    largest = max(size for _, size in differences)
    smallest = min(size for _, size in differences)
    fast = min(d for d, size in differences if size <= 2 * smallest)
    slow = min(d for d, size in differences if 2 * size >= largest)
    if largest <= 4 * smallest or slow <= fast:
        return differences[0][0]
    per_byte = (slow - fast) / (largest - smallest)
    return min(d - per_byte * (size - smallest) for d, size in differences)


def _solve(matrix, right):
    """Gauss with pivots."""
    n = len(right)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for column in range(n):
        pivot = max(range(column, n), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(n):
            if row != column and rows[row][column]:
                factor = rows[row][column] / rows[column][column]
                rows[row] = [value - factor * other for value, other in zip(rows[row], rows[column])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def _offsets(ranks, least):
    """What to add to the clock of each rank, from {(a, b): difference}: the difference is
    offset a - offset b + delay. The ranks are connected there and back."""
    # Unknowns: offsets of ranks 1 and up, and the delay.
    equations = []
    for (a, b), difference in sorted(least.items()):
        row = [0.0] * ranks
        if a:
            row[a - 1] += 1
        if b:
            row[b - 1] -= 1
        row[ranks - 1] = 1.0
        equations.append((row, difference))
    normal = [[sum(row[i] * row[j] for row, _ in equations) for j in range(ranks)] for i in range(ranks)]
    right = [sum(row[i] * value for row, value in equations) for i in range(ranks)]
    return [0.0] + _solve(normal, right)[:-1]


def _line(points):
    """(value at 0, slope) of the straight line through points."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0
    return mean_y - slope * mean_x, slope


def _connected(ranks, pairs):
    """Whether there is a way from rank 0 to each and back."""
    for ways in (pairs, [(b, a) for a, b in pairs]):
        seen, waiting = {0}, [0]
        while waiting:
            source = waiting.pop()
            found = {b for a, b in ways if a == source} - seen
            seen |= found
            waiting += found
        if len(seen) < ranks:
            return False
    return True


def _rest(pairs, clocks):
    """What is still to be corrected after `clocks`, as clocks from their results."""
    corrected = {(a, b): [(clocks[a].to_first(sent), clocks[b].to_first(end), size) for sent, end, size in of]
                 for (a, b), of in pairs.items()}
    whole = _offsets(len(clocks), {pair: _least(of) for pair, of in corrected.items()})
    arrivals = [end + whole[b] for (_, b), of in corrected.items() for _, end, _ in of]
    begin, length = min(arrivals), max(arrivals) - min(arrivals)
    parts = min(MOST_PARTS, int(length / PART_US))
    points = [[] for _ in clocks]
    for part in range(parts if parts > 1 else 0):
        low, high = begin + part * length / parts, begin + (part + 1) * length / parts
        inside = {(a, b): [m for m in of if low <= m[1] + whole[b] <= high] for (a, b), of in corrected.items()}
        if not all(inside.values()):
            continue
        for rank, offset in enumerate(_offsets(len(clocks), {pair: _least(of) for pair, of in inside.items()})):
            points[rank].append(((low + high) / 2 - whole[rank], offset))
    if len(points[0]) < 2:
        return [Clock(offset) for offset in whole]
    return [Clock(*_line(of_rank)) for of_rank in points]


def align(traces):
    """The clock of each trace. TraceError if messages do not connect all ranks, both
    ways or around."""
    pairs = _differences(traces)
    if not _connected(len(traces), list(pairs)):
        raise TraceError("messages do not connect all ranks with rank 0 there and back")
    clocks = [Clock() for _ in traces]
    # The least of a part is where the clock is furthest, unless its speed is corrected already.
    for _ in range(ROUNDS if pairs else 0):
        rest = _rest(pairs, clocks)
        clocks = [Clock(other.to_first(clock.offset), clock.speed + other.speed + clock.speed * other.speed)
                  for clock, other in zip(clocks, rest)]
        if all(other.speed == 0 for other in rest):
            break
    return clocks


def merge(traces, clocks=None):
    """One trace of all ranks on the clock of the first, with numbers of tracks of its own."""
    clocks = clocks or align(traces)
    events = []
    for rank, (trace, clock) in enumerate(zip(traces, clocks)):
        events.append({"ph": "M", "name": "process_sort_index", "pid": rank, "args": {"sort_index": rank}})
        for event in trace["traceEvents"]:
            event = {**event, "pid": rank}
            if event["ph"] != "M":
                begin = clock.to_first(event["ts"])
                event["dur"] = round(clock.to_first(event["ts"] + event.get("dur", 0)) - begin, 3)
                event["ts"] = round(begin, 3)
            events.append(event)
    others = [trace.get("otherData", {}) for trace in traces]
    return {"displayTimeUnit": "ms", "otherData": {
        **others[0], "dropped_spans": sum(other.get("dropped_spans", 0) for other in others)}, "traceEvents": events}


def write(trace, path):
    """As cs-run writes it: an event on a line."""
    head = {key: value for key, value in trace.items() if key != "traceEvents"}
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in trace["traceEvents"])
    text = json.dumps(head, separators=(",", ":"))[:-1] + ',"traceEvents":[\n' + lines + "\n]}\n"
    path.write_text(text)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("traces", type=pathlib.Path, nargs="+")
    options = parser.parse_args(arguments)
    try:
        traces = [json.loads(path.read_text()) for path in options.traces]
        clocks = align(traces)
        write(merge(traces, clocks), options.out)
    except (OSError, ValueError, KeyError, TraceError) as error:
        print(f"traces: {error}", file=sys.stderr)
        return 1
    for rank, clock in enumerate(clocks):
        print(f"rank {rank}: {clock.offset:+.1f} us, {1e6 * clock.speed:+.2f} ppm")
    return 0


if __name__ == "__main__":
    sys.exit(main())
