# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools that the benchmarks run: those of COMMSCHED_BIN, or of the release build."""
import json
import os
import pathlib
import subprocess
import sys


def tool(name):
    return str(pathlib.Path(os.environ.get("COMMSCHED_BIN", "build/release/bin")) / name)


def last_json(command):
    """The JSON of its last line; the lines before are shown as they come. It may end with 1: it has found something."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    last = ""
    for line in process.stdout:
        if not line.startswith("{"):
            print(line, end="", flush=True)
        last = line
    if process.wait() not in (0, 1):
        name = pathlib.Path(sys.argv[0]).stem
        sys.exit(f"{name}: {pathlib.Path(command[0]).name} ended with {process.returncode}")
    return json.loads(last)


def steady_step_ms(summary):
    """Of the summary of `cs-run --metrics-json`: the mean of all steps but the first, which touches memory for the first time."""
    steps = summary["steps"]
    if steps < 2:
        return summary["step_ms"]
    return (summary["step_ms"] * steps - summary["first_step_ms"]) / (steps - 1)


def call(*command):
    """What it prints; its error ends the benchmark."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {pathlib.Path(words[0]).name}: {done.stderr.strip()}")
    return done.stdout
