# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages to test, and a reader of them that shares no code with the page's own."""
import base64
import json
import pathlib
import re
import subprocess
import sys
import zlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from built import tool  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TIME_LIMIT = 120  # seconds; only ends a hang
CATEGORIES = ["compute", "update", "message", "exposed", "copy"]


def run(name, *arguments):
    return subprocess.run([tool(name), *map(str, arguments)], capture_output=True, text=True, timeout=TIME_LIMIT)


class Page:
    """Summary and events of a page: docs/report.md has the format."""

    def __init__(self, path):
        self.path = path
        text = path.read_text()
        self.summary = json.loads(re.search(r'id="summary">(.*?)</script>', text, re.S)[1])
        block = zlib.decompress(base64.b64decode(re.search(r'id="events">(.*?)</script>', text, re.S)[1]))
        self.bytes, self.at = block, 0
        strings = [self.text() for _ in range(self.number())]
        self.events = []
        for timeline in self.summary["timelines"]:
            for track in timeline["tracks"]:
                self.events += self.track(timeline, track, strings)
        assert self.at == len(block)

    def number(self):
        value = shift = 0
        while True:
            byte = self.bytes[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        value = self.number()
        return -(value + 1) // 2 if value & 1 else value // 2

    def text(self):
        length = self.number()
        self.at += length
        return self.bytes[self.at - length:self.at].decode()

    def track(self, timeline, track, strings):
        count = track["events"]

        def running(values):
            total, out = 0, []
            for value in values:
                total += value
                out.append(total)
            return out

        lengths = [self.number() for _ in range(count)]
        gaps = [self.signed() for _ in range(count)]
        ends = running([gap + length for gap, length in zip(gaps, lengths)])
        begins = [end - length for end, length in zip(ends, lengths)]
        names = [strings[self.number()] for _ in range(count)]
        details = [strings[self.number()] for _ in range(count)]
        categories = [CATEGORIES[self.number()] for _ in range(count)]
        lanes = [self.number() for _ in range(count)]
        steps = running([self.signed() for _ in range(count)])
        sizes, sent = {}, []
        for name in names:
            sizes[name] = sizes.get(name, 0) + self.signed()
            sent.append(sizes[name])
        queued = [self.number() for _ in range(count)]
        keys = ("begin", "end", "name", "detail", "category", "lane", "step", "bytes", "queued")
        return [dict(zip(keys, values), timeline=timeline["name"], process=track["process"], track=track["name"])
                for values in zip(begins, ends, names, details, categories, lanes, steps, sent, queued)]

    def period(self, name):
        return next(p["ns"] for p in self.summary["periods"] if p["name"] == name)


@pytest.fixture(scope="session")
def scheduled(tmp_path_factory):
    """The digits step: its page, its predicted trace and its plan."""
    folder = tmp_path_factory.mktemp("scheduled")
    result = run("cs-opt", "--cs-all-reduce-pipeline", EXAMPLES / "digits.mlir", "-o", folder / "digits.schedule.mlir",
                 f"--report={folder}/digits.html")
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="session")
def plan(scheduled):
    result = run("cs-translate", "--mlir-to-plan", scheduled / "digits.schedule.mlir", "-o", scheduled / "digits.plan")
    assert result.returncode == 0, result.stderr
    return scheduled / "digits.plan"


@pytest.fixture(scope="session")
def predicted_page(scheduled):
    return Page(scheduled / "digits.html")


@pytest.fixture(scope="session")
def measured_page(scheduled, plan):
    result = run("cs-run", plan, "--init", EXAMPLES / "digits.init.safetensors", "--batch",
                 EXAMPLES / "digits.train.npz", "--steps", 12, "--report", scheduled / "run.html",
                 "--predicted", scheduled / "digits.trace.json")
    assert result.returncode == 0, result.stderr
    assert f"report: {scheduled}/run.html" in result.stdout
    return Page(scheduled / "run.html")
