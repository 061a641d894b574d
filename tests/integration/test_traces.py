# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The trace of a cluster of processes: one file, with a process for each rank."""
import json
import os
import signal

from conftest import expect_error, expect_success, finish, run
from test_lost_peers import children, wait_for


def read_trace(path):
    """Names of the ranks, and their spans, by rank."""
    names, spans = {}, {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["name"] == "process_name":
            assert names.setdefault(event["pid"], event["args"]["name"]) == event["args"]["name"]
        if event["ph"] == "X":
            spans.setdefault(event["pid"], []).append(event)
    return names, spans


def test_one_file_for_all_ranks(linear, linear_data, tmp_path):
    trace = tmp_path / "trace.json"
    out = expect_success(run(linear[4], *linear_data, "--spawn", 4, "--steps", 20, "--trace", trace))
    assert f"trace: {trace}\n" in out
    assert list(tmp_path.iterdir()) == [trace], "files are left"
    names, spans = read_trace(trace)
    assert names == {rank: f"rank {rank}" for rank in range(4)}
    assert spans.keys() == names.keys()
    for rank in range(4):
        assert {span["args"]["call"] for span in spans[rank] if span["cat"] == "compute"} >= set(range(20))
    # On one clock: every rank ends a step after every other has begun it, as
    # they all take part in its all-reduce.
    for call in range(20):
        of_call = {rank: [span for span in spans[rank] if span["args"]["call"] == call and span["cat"] == "message"]
                   for rank in range(4)}
        begin = max(min(span["ts"] for span in of_call[rank]) for rank in range(4))
        end = min(max(span["ts"] + span["dur"] for span in of_call[rank]) for rank in range(4))
        assert end >= begin, f"call {call}"


def test_trace_of_a_run_that_fails(linear, linear_data, cluster, tmp_path):
    trace = tmp_path / "trace.json"
    parent = cluster.start(linear[4], "--spawn", 4, "--steps", 10**9, "--checkpoint", tmp_path / "checkpoint",
                           "--checkpoint-every", 20, "--trace", trace, *linear_data)
    wait_for(lambda: (tmp_path / "checkpoint").exists(), [parent])
    os.kill(children(parent.pid)[2], signal.SIGKILL)
    expect_error(finish(parent), "rank 2 was killed")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", "trace.json"]
    names, spans = read_trace(trace)
    assert names == {0: "rank 0", 1: "rank 1", 2: "rank 2 (no trace)", 3: "rank 3"}
    assert sorted(spans) == [0, 1, 3]


def test_no_trace_of_a_run_that_does_not_begin(linear, linear_data, tmp_path):
    trace = tmp_path / "trace.json"
    expect_error(run(linear[4], "--init", tmp_path / "nothing", *linear_data[2:], "--spawn", 4, "--trace", trace),
                 "nothing")
    assert [path for path in tmp_path.iterdir() if path != trace] == [], "files are left"
