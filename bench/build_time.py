# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a newcomer waits for: scripts/demo.sh and scripts/test.sh in clean clones of HEAD.

Each in a clone of its own, with an empty compiler cache; test.sh once more in a third clone with the cache that it has
left. Processor time is that of all processes that were started. Installing is not counted: what is installed
already is used, the Python packages by a link to .venv. --quick measures the demo only. Exit status 1 if one of
them failed.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ["COMMSCHED_ROOT"])


def measured(clone, command, cache):
    """Runs a script in a new clone; (processor minutes, minutes on the clock, exit status, what it printed)."""
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    (clone / ".venv").symlink_to((ROOT / ".venv").resolve())
    env = {name: value for name, value in os.environ.items() if not name.startswith(("COMMSCHED_", "PYTHON", "CCACHE_"))}
    begun = time.monotonic()
    with open(f"{clone}.txt", "wb") as out:
        process = subprocess.Popen(["bash", *command], cwd=clone, env=env | {"CCACHE_DIR": str(cache)}, stdout=out,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begun
    text = pathlib.Path(f"{clone}.txt").read_text(errors="replace")
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        print(text[-6000:])
    return (usage.ru_utime + usage.ru_stime) / 60, wall / 60, code, text


def phases(text):
    """The lines of times that scripts/test.sh ends with, and the slowest tests by name."""
    end = text[text.rfind("== result"):]
    return (re.findall(r"^ +(\d+) s  (\w.*)$", end, re.M),
            {name: float(seconds) for seconds, name in re.findall(r"^  ([0-9.]+) s  (\S+ \(\w+\))$", end, re.M)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the demo only")
    quick = parser.parse_args().quick
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True).stdout:
        print("what is not committed is not measured")
    result = {"benchmark": "build_time", "demo_cpu_min": None, "test_cpu_min": None, "test_cold_wall_min": None,
              "test_warm_wall_min": None, "slowest_tests": {}}
    failed = 0
    folder = pathlib.Path(tempfile.mkdtemp(prefix="build-time-"))
    try:
        cpu, wall, status, _ = measured(folder / "demo", ["scripts/demo.sh"], folder / "demo-cache")
        print(f"demo.sh, empty cache: {cpu:.1f} min of processor time, {wall:.1f} min", flush=True)
        result["demo_cpu_min"] = round(cpu, 1)
        failed |= status
        shutil.rmtree(folder / "demo")
        for kind in () if quick else ("cold", "warm"):
            cpu, wall, status, text = measured(folder / kind, ["scripts/test.sh"], folder / "cache")
            failed |= status
            print(f"test.sh, {kind} cache: {cpu:.1f} min of processor time, {wall:.1f} min")
            lines, slowest = phases(text)
            for seconds, name in lines:
                print(f"  {int(seconds) / 60:6.1f} min  {name}", flush=True)
            result[f"test_{kind}_wall_min"] = round(wall, 1)
            if kind == "cold":
                result |= {"test_cpu_min": round(cpu, 1), "slowest_tests": slowest}
            shutil.rmtree(folder / kind)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(result))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
