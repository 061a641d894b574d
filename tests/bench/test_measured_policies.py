# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What bench/measured_policies.py makes of times on a machine that becomes faster and slower."""
import math
import pathlib
import random
import statistics
import sys

import pytest
from cases import cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import measured_policies  # noqa: E402
from _tools import steady_step_ms  # noqa: E402


@pytest.mark.parametrize("seed", cases(20))
def test_the_ratio_is_that_of_the_same_rounds(tmp_path, seed):
    draw = random.Random(seed)
    true = {"tuned": 1.0, **{name: draw.uniform(0.97, 1.08) for name in measured_policies.OTHERS}}
    true[draw.choice(measured_policies.OTHERS)] = best = draw.uniform(0.97, 1.01)
    best = min(best, *(true[name] for name in measured_policies.OTHERS))
    case = measured_policies.Case("drawn", tmp_path, math.inf)
    order = ["tuned", *measured_policies.OTHERS]
    for _ in range(5):
        drift = draw.uniform(0.9, 1.1)
        for name in order:
            case.found["times"].setdefault(name, []).append(true[name] * drift * draw.uniform(0.9995, 1.0005))
    case.save(kept="solver", said="")
    found = case.report(bound=0.1)
    assert found["over_best"] == pytest.approx(1 / best, abs=0.002) and true[found["best"]] <= best * 1.002
    assert not case._unclear()
    assert found["ms"]["tuned"] == round(1e3 * statistics.median(case.found["times"]["tuned"]), 2)


def rounds_of(folder, ours, others):
    """A case with these times, and another policy that takes 1 second in each round."""
    case = measured_policies.Case("drawn", folder, math.inf)
    case.found["times"] = {"tuned": ours, **{name: [1 + 0.1 * number] * len(ours) for number, name in enumerate(measured_policies.OTHERS)}}
    case.found["times"][measured_policies.OTHERS[0]] = others
    return case


@pytest.mark.parametrize("seed", cases(20))
def test_one_slow_round_needs_no_others(tmp_path, seed):
    draw = random.Random(seed)
    ours, others = ([draw.uniform(0.9995, 1.0005) for _ in range(5)] for _ in range(2))
    draw.choice([ours, others])[draw.randrange(5)] *= draw.uniform(1, 2)
    assert not rounds_of(tmp_path, ours, others)._unclear()


def test_what_is_clear_is_known(tmp_path):
    """Ratios that are normally distributed: the median is off by about what it is to be known to, where no more rounds are wanted."""
    draw = random.Random(7)
    errors, wanted = [], {0.002: 0, 0.02: 0}
    for deviation in wanted:
        for _ in range(300):
            case = rounds_of(tmp_path, [draw.gauss(1, deviation) for _ in range(5)], [1.0] * 5)
            if case._unclear():
                wanted[deviation] += 1
            else:
                errors.append(case.best()[1] - 1)
    assert wanted[0.002] < 30 and wanted[0.02] > 200
    assert statistics.fmean(error ** 2 for error in errors) ** 0.5 < 2 * measured_policies.UNCLEAR


def test_more_rounds_of_those_that_are_near(tmp_path):
    """Where the ratio differs from round to round, and of them only."""
    case = measured_policies.Case("drawn", tmp_path, math.inf)
    near, far = measured_policies.OTHERS[0], measured_policies.OTHERS[1:]
    count = {}

    def measure(name):
        count[name] = count.get(name, 0) + 1
        return {"tuned": 1.0, near: 1.0 + 0.03 * (-1) ** count[name]}.get(name, 1.06)
    case.in_turn(3, measure)
    assert count == {"tuned": 9, near: 9, **{name: 3 for name in far}}


def test_the_first_step_of_a_run_does_not_count():
    rng = random.Random(5)
    for _ in range(100):
        times = [rng.uniform(1, 300) for _ in range(rng.randint(1, 20))]
        summary = {"steps": len(times), "step_ms": statistics.mean(times), "first_step_ms": times[0]}
        assert steady_step_ms(summary) == pytest.approx(statistics.mean(times[1:] or times))
