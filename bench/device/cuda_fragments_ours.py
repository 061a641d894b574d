# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cs-run of a plan of cuda_fragments.py: losses, and step times from the moments at which it prints that a step is done."""
import json
import os
import pathlib
import re
import site
import subprocess
import sys
import sysconfig
import threading
import time

from cuda_fragments_peer import LOSSES

WARM = 12  # steps of the first run, of which the later half says how long one takes


def environment(pack):
    """That of cs-run alone: libraries of the pack, and those of NVIDIA's wheels."""
    packages = {pathlib.Path(p) for p in [sysconfig.get_path("purelib"), *site.getsitepackages(), *sys.path] if p}
    wheels = sorted(folder for p in packages for folder in p.glob("nvidia/*/lib"))
    # What the environment says comes first.
    folders = [os.environ.get("LD_LIBRARY_PATH"), pack / "lib" if (pack / "lib").is_dir() else None, *dict.fromkeys(wheels)]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(str(f) for f in folders if f)}


class Ours:
    """Raises RuntimeError with what cs-run says if it fails."""

    def __init__(self, pack, case, init, data, limit):
        self.command = [str(pack / "bin/cs-run"), str(pack / "cuda_fragments" / f"{case['name']}.plan"), "--init", str(init),
                        "--batch", str(data), "--deadline", "120"]
        self.environment, self.metrics, self.limit = environment(pack), pathlib.Path(data).with_suffix(".json"), limit
        self.seconds = None

    def _run(self, steps, every):
        """{step: when it was said to be done}, and the metrics."""
        command = [*self.command, "--steps", str(steps), "--metrics-every", str(every), "--metrics-json", str(self.metrics)]
        process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        limit, stamps, said = threading.Timer(self.limit, process.kill), {}, []
        limit.start()
        try:
            for line in process.stdout:
                now, step = time.perf_counter(), re.match(r"step (\d+)\b", line)
                if step:
                    stamps[int(step[1])] = now
                else:
                    said.append(line)
            if process.wait() != 0:
                raise RuntimeError(f"cs-run ended with {process.returncode}: {''.join(said[-8:]).strip()}")
        finally:
            limit.cancel()
            process.kill()
            process.wait()
        return stamps, json.loads(self.metrics.read_text())

    def losses(self):
        """Of the first steps."""
        stamps, metrics = self._run(WARM, 1)
        self.seconds = max(1e-5, (stamps[WARM] - stamps[WARM // 2]) / (WARM - WARM // 2))
        return [step["loss"] for step in metrics["steps"][:LOSSES]]

    def time(self, seconds, blocks):
        """Milliseconds of a step in so many blocks of so many seconds, after one that does not count; and of all, as cs-run has it."""
        every = max(2, min(1000, round(seconds / self.seconds)))
        stamps, metrics = self._run(every * (blocks + 1), every)
        ms = [(stamps[every * (i + 1)] - stamps[every * i]) / every * 1e3 for i in range(1, blocks + 1)]
        self.seconds = min(ms) / 1e3  # others may have been at work when this was measured before
        return ms, metrics["summary"]["step_ms"]
