# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A peer of cuda_fragments.py as a process: it compiles its step, says so, and takes times when it is told to.

Lines of its output that begin with MARK are JSON: first {"losses": {variant: [...]}, "failed": {variant: why}}, then for each line
of its input, {"variant", "seconds", "blocks"}, {"ms": [...]}: milliseconds of a step in so many blocks of so many seconds."""
import json
import pathlib
import sys
import time

MARK = "@@ "
LOSSES = 5  # steps that are compared
WARM = 5  # more, before anything is timed


def wait_for(*paths):
    """Until they are there: they are written while peers are imported."""
    while not all(pathlib.Path(path).exists() for path in paths):
        time.sleep(0.02)


def say(**what):
    print(MARK + json.dumps(what), flush=True)


class Variant:
    """run(batches): enqueues steps; wait(): until the device has done them. seconds: of a step, about."""

    def __init__(self, run, wait):
        self.run, self.wait, self.seconds = run, wait, None

    def time(self, batches, steps):
        self.wait()
        start = time.perf_counter()
        self.run([batches[i % len(batches)] for i in range(steps)])
        self.wait()
        return (time.perf_counter() - start) / steps

    def warm(self, batches):
        self.time(batches, WARM)
        self.seconds = self.time(batches, WARM)


def serve(variants, batches):
    """Answers until its input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        variant = variants[asked["variant"]]
        steps = max(2, min(WARM, round(asked["seconds"] / variant.seconds)))
        # Others were at work when this was measured before.
        variant.seconds = variant.time(batches, steps)
        steps = max(2, min(1000, round(asked["seconds"] / variant.seconds)))
        say(ms=[variant.time(batches, steps) * 1e3 for _ in range(asked["blocks"])], steps=steps)
