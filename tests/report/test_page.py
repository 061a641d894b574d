# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pages hold."""
import json

import pytest

from conftest import EXAMPLES, Page, run


def overlap(events):
    """Whether any two of the events, by beginning, run at the same time."""
    return any(a["end"] > b["begin"] for a, b in zip(events, events[1:]))


def test_a_predicted_timeline_is_one_of_the_schedule(predicted_page):
    page = predicted_page
    (timeline,) = page.summary["timelines"]
    lengths = [b - a for a, b in zip(timeline["steps"], timeline["steps"][1:])]
    assert lengths == [page.period("this schedule")] * 3
    for track in ("compute", "link inter"):
        events = [e for e in page.events if e["track"] == track]
        assert events and not overlap(sorted(events, key=lambda e: e["begin"]))
    # On the link: all bytes of a step. So few go by recursive doubling, all of a tensor in each of two rounds.
    step = [e for e in page.events if e["track"] == "link inter" and e["step"] == timeline["first_step"]]
    tensors = 4 * (9 * 16 + 16 + 9 * 16 * 32 + 32 + 512 * 10 + 10 + 1)
    assert sum(e["bytes"] for e in step) == pytest.approx(2 * tensors, rel=1e-3)


@pytest.mark.parametrize("pipeline", ["--cs-parameter-server-pipeline=servers=2", "--cs-parameter-server-pipeline=servers=3 schedule=bytescheduler",
                                      "--cs-all-reduce-pipeline=algorithm=ring", "--cs-all-reduce-pipeline=algorithm=halving-doubling schedule=p3"])
def test_predicted_steps_take_the_period(pipeline, tmp_path):
    result = run("cs-opt", pipeline, EXAMPLES / "digits.mlir", "-o", tmp_path / "digits.out.mlir", f"--report={tmp_path}/digits.html")
    assert result.returncode == 0, result.stderr
    page = Page(tmp_path / "digits.html")
    (timeline,) = page.summary["timelines"]
    (period,) = [p["ns"] for p in page.summary["periods"] if p["kind"] == "ours"]
    lengths = [b - a for a, b in zip(timeline["steps"], timeline["steps"][1:])]
    assert lengths == [period] * 3
    links = [track["name"] for track in timeline["tracks"] if track["name"].startswith("link ")]
    assert links
    for link in links:
        assert not overlap(sorted((e for e in page.events if e["track"] == link), key=lambda e: e["begin"]))


def test_what_the_bound_assumes_is_said(predicted_page):
    facts = dict(predicted_page.summary["facts"])
    assert facts["the bound assumes"].startswith("this order of fragments but for deferred ones, 1000 mbit/s, of a message no less than 0 ns of its link")


def test_exposed_time_and_compute_are_the_whole_step(predicted_page):
    steps = predicted_page.summary["timelines"][0]["steps"]
    compute = [e for e in predicted_page.events if e["track"] == "compute"]
    covered = sum(min(e["end"], steps[-1]) - max(e["begin"], steps[0]) for e in compute)
    # Nothing else holds up the one stream of this step.
    assert covered == steps[-1] - steps[0]
    exposed = [e for e in compute if e["category"] == "exposed"]
    assert exposed and all(" waits for " in e["detail"] for e in exposed)


def test_no_schedule_is_below_the_bound_or_a_baseline(predicted_page):
    bound = predicted_page.period("bound")
    ours = predicted_page.period("this schedule")
    baselines = [p for p in predicted_page.summary["periods"] if p["kind"] == "baseline"]
    assert {p["name"] for p in baselines} >= {"fifo", "wfbp", "p3", "bytescheduler", "pace", "dear"}
    assert bound <= ours <= min(p["ns"] for p in baselines)


def test_what_ifs_help_or_hurt(predicted_page):
    what_ifs = {w["name"]: w for w in predicted_page.summary["what_ifs"]}
    ours = predicted_page.period("this schedule")
    for name in ("twice the bandwidth", "half the gradient bytes", "compute twice as fast"):
        # The schedule as it is may even lose: priorities were chosen for other times.
        assert what_ifs[name]["bound_ns"] <= what_ifs[name]["solved_ns"] <= what_ifs[name]["same_ns"]
        assert what_ifs[name]["solved_ns"] < ours
    # Twice the workers have more to send each, in more rounds.
    assert what_ifs["twice the workers"]["solved_ns"] > ours


def test_the_trace_beside_it_has_the_same_events(scheduled, predicted_page):
    trace = json.loads((scheduled / "digits.trace.json").read_text())
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert sorted((round(e["ts"] * 1000), e["name"]) for e in events) == sorted(
        (e["begin"], e["name"]) for e in predicted_page.events)
    assert trace["otherData"]["commsched"]["what_ifs"] == predicted_page.summary["what_ifs"]


def test_a_run_is_shown_below_its_prediction(measured_page, predicted_page):
    predicted, measured = measured_page.summary["timelines"]
    assert (predicted["name"], measured["name"]) == ("predicted", "measured")
    assert {t["process"] for t in measured["tracks"]} == {f"rank {r}" for r in range(4)}
    assert len(measured["steps"]) == 5 and len(predicted["steps"]) == 5
    lengths = [b - a for a, b in zip(predicted["steps"], predicted["steps"][1:])]
    assert lengths == [predicted_page.period("this schedule")] * 4
    for kind in ("bound", "ours", "baseline"):
        assert [p for p in measured_page.summary["periods"] if p["kind"] == kind] == [
            p for p in predicted_page.summary["periods"] if p["kind"] == kind]
    assert measured_page.summary["what_ifs"] == predicted_page.summary["what_ifs"]


def test_every_measured_wait_has_a_reason(measured_page):
    exposed = [e for e in measured_page.events if e["category"] == "exposed" and e["timeline"] == "measured"]
    assert exposed and all(e["detail"] for e in exposed)


def test_processes_write_one_page(scheduled, plan, tmp_path):
    result = run("cs-run", plan, "--spawn", 4, "--init", EXAMPLES / "digits.init.safetensors", "--batch",
                 EXAMPLES / "digits.train.npz", "--steps", 5, "--report", tmp_path / "spawn.html")
    assert result.returncode == 0, result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["spawn.html", "spawn.trace.json"]
    page = Page(tmp_path / "spawn.html")
    assert {e["process"] for e in page.events} == {f"rank {r}" for r in range(4)}
    # Again, from the trace.
    result = run("cs-run", plan, "--measured", tmp_path / "spawn.trace.json", "--report", tmp_path / "again.html")
    assert result.returncode == 0, result.stderr
    assert Page(tmp_path / "again.html").events == page.events


def test_a_simulation_is_a_prediction(scheduled, plan, measured_page, tmp_path):
    result = run("cs-run", plan, "--simulate", "--report", tmp_path / "simulated.html",
                 "--measured", scheduled / "run.trace.json")
    assert result.returncode == 0, result.stderr
    page = Page(tmp_path / "simulated.html")
    assert [t["name"] for t in page.summary["timelines"]] == ["predicted", "measured"]
    what_ifs = {w["name"]: w["same_ns"] for w in page.summary["what_ifs"]}
    assert what_ifs["twice the bandwidth"] < page.period("simulated") < what_ifs["twice the workers"]
    # The plan's bound is of other costs than the simulator's.
    assert all(p["kind"] != "bound" for p in page.summary["periods"])
    assert any(name.startswith("bound") for name, _ in page.summary["facts"])


@pytest.mark.parametrize("text, error", [
    ("{", "is no JSON at byte 1"),
    ('{"traceEvents":[{"ph":"X","name":"a","ts":0,"dur":-1}]}', "an event must have a time and a duration"),
    ('{"traceEvents":[]}', "has no step"),
    ("{}", "has no traceEvents"),
    ('{"traceEvents":[]} and more', "has something behind its end"),
])
def test_bad_traces_are_refused(plan, tmp_path, text, error):
    (tmp_path / "bad.json").write_text(text)
    result = run("cs-run", plan, "--measured", tmp_path / "bad.json", "--report", tmp_path / "bad.html")
    assert result.returncode == 1
    assert result.stderr.startswith("cs-run: ") and f"bad.json: " in result.stderr and error in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "bad.html").exists()


def test_options_that_exclude_each_other(plan, tmp_path):
    for arguments, error in [
        (["--predicted", "a.json"], "needs --report"),
        (["--report", "a.html", "--measured", "a.json", "--steps", "3"], "--measured is of a run that has been"),
        (["--report", "a.html", "--calibrate", "b.json"], "--calibrate goes without what training needs and writes, got: --report"),
    ]:
        result = run("cs-run", plan, *arguments)
        assert result.returncode == 2 and error in result.stderr
