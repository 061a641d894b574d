# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of a run whose plan changes is of the plan that it ends with: drawn plans, of which one is the fastest by far wherever it runs, as
emulated devices take the times that a plan has."""
import json
import random
import re
import subprocess

import pytest
from conftest import TIME_LIMIT, tool
from emulated import emulated_plan

POLICIES = ["solver", "bytescheduler", "fixed-buckets", "fifo", "wfbp"]
FAST, SLOW = 1, 20  # ms of a step


class Drawn:
    """Three plans of one step; all but one of them are slow."""

    def __init__(self, folder, seed, servers=None):
        drawn = random.Random(seed)
        self.fastest = seed % 3  # 0: the plan that the run begins with
        self.policies = drawn.sample(POLICIES, 3)
        with_servers = drawn.random() < 0.5 if servers is None else servers
        # Blocks stay as the first plan has them.
        pipeline = f"parameter-server-pipeline=servers=1 cut-as={self.policies[0]}" if with_servers else "all-reduce-pipeline=algorithm=ring"
        self.plans = [emulated_plan(folder / f"{i}.{policy}.plan", FAST if i == self.fastest else SLOW, f"--cs-{pipeline} schedule={policy}")
                      for i, policy in enumerate(self.policies)]

    def run(self, *options):
        done = subprocess.run(list(map(str, [tool("cs-run"), self.plans[0], "--emulate", *options])), capture_output=True, text=True,
                              timeout=TIME_LIMIT)
        assert done.returncode == 0, done.stderr
        return done.stdout


def summary(path):
    return json.loads(re.search(r'id="summary">(.*?)</script>', path.read_text(), re.S)[1])


def expect_of(page, plan, policy):
    """That all the page says of a plan is of this one."""
    facts = dict(page["facts"])
    assert facts["plan"] == str(plan) and page["title"] == plan.name
    assert [period["name"] for period in page["periods"] if period["kind"] == "ours"] == [f"this schedule ({policy})"]


@pytest.mark.parametrize("how", [[], ["--spawn"]], ids=["here", "spawned"])
@pytest.mark.parametrize("seed", range(4))
def test_of_plans_that_are_tried_the_one_that_is_kept(tmp_path, seed, how):
    drawn = Drawn(tmp_path, seed)
    out = drawn.run(*how, "--steps", 250, "--metrics-every", 250, "--report", tmp_path / "page.html", "--tune", ",".join(map(str, drawn.plans[1:])), "--tune-steps", 3)
    kept = re.search(r"(\S+) is kept after", out)
    assert kept and kept[1] == drawn.plans[drawn.fastest].stem, out
    expect_of(summary(tmp_path / "page.html"), drawn.plans[drawn.fastest], drawn.policies[drawn.fastest])


@pytest.mark.parametrize("how", [[], ["--spawn"]], ids=["here", "spawned"])
def test_of_a_plan_that_was_made_in_the_run(tmp_path, how):
    """It lies in no file any more: the page says so."""
    drawn = Drawn(tmp_path, 1, servers=False)
    drawn.run(*how, "--steps", 200, "--report", tmp_path / "page.html", "--replan", f"cp {drawn.plans[1]} {{plan}}", "--replan-every", 6,
              "--replan-window", 4)
    page = summary(tmp_path / "page.html")
    assert dict(page["facts"])["plan"] == f"{drawn.plans[0]}, replaced in the run"
    assert [period["name"] for period in page["periods"] if period["kind"] == "ours"] == [f"this schedule ({drawn.policies[1]})"]


def test_of_a_plan_that_stays(tmp_path):
    drawn = Drawn(tmp_path, 0)
    drawn.run("--steps", 4, "--report", tmp_path / "page.html")
    expect_of(summary(tmp_path / "page.html"), drawn.plans[0], drawn.policies[0])
