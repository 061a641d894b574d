#!/usr/bin/env python3
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Everything that needs a CUDA device, on a machine that has one and nothing of CommSched but the folder that
`bench/run cuda_device --pack` has packed: python3 FOLDER/suite.py [--only NAME...] [--seconds N] [--out FILE].

Needs NVIDIA's driver, and for some sections NCCL, cuBLASLt and cuDNN where the loader or Python's packages have them, and
PyTorch and JAX, as peers. Each section is a program of its own with a limit of its own: what hangs or fails is said in the
result, and the others go on. Writes one file, and prints its one JSON object last."""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from device_runs import library_folders

HERE = pathlib.Path(__file__).resolve().parent


def native_environment(**more):
    """For the binaries here: their libraries, NVIDIA's. Not for Python."""
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(library_folders(HERE)), **more}


def run(command, limit, environment=None):
    """(status, stdout, stderr, seconds). A status of None: the limit, and all that it had started is ended."""
    begin = time.monotonic()
    with subprocess.Popen([str(w) for w in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          env=environment, start_new_session=True, cwd=HERE) as process:
        try:
            out, errors = process.communicate(timeout=max(limit, 1))
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, errors = process.communicate()
            status = None
    return status, out, errors, round(time.monotonic() - begin, 1)


def last_object(text):
    """The JSON object of the last line that is one."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                return None
    return None


def tail(text, lines=12):
    return text.strip().splitlines()[-lines:]


def machine(limit):
    asked = "name,driver_version,memory.total,pcie.link.gen.max,pcie.link.width.max"
    status, out, errors, _ = run(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"], limit)
    devices = out.strip().splitlines() if status == 0 else tail(errors)
    return {"devices": devices, "python": sys.version.split()[0], "libraries": library_folders(HERE), "processors": os.cpu_count(),
            "date": time.strftime("%Y-%m-%d", time.gmtime())}


def values(limit):
    """The kernels of plans, each fragment by itself: which outputs have the bits that the emulation has."""
    result, end = {}, time.monotonic() + limit
    for expected in sorted((HERE / "values").glob("*.txt")):
        plan = expected.with_suffix(".plan")
        status, out, errors, seconds = run([HERE / "bin/cuda_values_driver", plan], end - time.monotonic(), native_environment())
        found, wanted = [text.splitlines() for text in (out, expected.read_text())]
        differing = [(a, b) for a, b in zip(found, wanted) if a.split()[:4] != b.split()[:4]]
        far = [pair for pair in differing if not close(*pair)]
        result[plan.stem] = {"outputs": len(wanted), "printed": len(found), "differing": len(differing), "far": len(far),
                             "seconds": seconds, "examples": (far or differing)[:6], "status": status, "errors": tail(errors, 4)}
    return {"outputs": sum(r["outputs"] for r in result.values()),
            "differing": sum(r["differing"] + r["outputs"] - r["printed"] for r in result.values()),
            "far": sum(r["far"] + r["outputs"] - r["printed"] for r in result.values()), "cases": result}


def close(found, wanted, bound=1e-5):
    """Whether two lines of cuda_values_driver may be of equal values but for their last bits."""
    a, b = found.split(), wanted.split()
    if a[:3] != b[:3] or a[6] != b[6]:
        return False
    return all(abs(float(x) - float(y)) <= bound * max(abs(float(y)), 1e-30) for x, y in zip(a[4:6], b[4:6]))


def gtest(limit):
    status, out, errors, seconds = run([HERE / "bin/ops_cuda_test"], limit, native_environment())
    lines = out.splitlines()
    return {"status": status, "passed": sum("[       OK ]" in line for line in lines),
            "failed": [line for line in lines if "[  FAILED  ]" in line][:20],
            "skipped": sum("[  SKIPPED ]" in line for line in lines), "seconds": seconds,
            "tail": tail(out) if status else [], "errors": tail(errors)}


SANITIZED = [("memcheck", "cuda_values_driver", ["values/digits.plan"]), ("racecheck", "cuda_values_driver", ["values/digits.plan"]),
             ("initcheck", "cuda_values_driver", ["--leave-scratch", "values/digits.plan"]),
             ("synccheck", "cuda_values_driver", ["values/digits.plan"]),
             ("memcheck", "cuda_values_driver", ["values/transformer.plan"]),
             ("racecheck", "cuda_values_driver", ["values/transformer.plan"]),
             ("initcheck", "cuda_values_driver", ["--leave-scratch", "values/transformer.plan"]),
             ("memcheck", "ops_cuda_test", ["--gtest_filter=SparseLists*:Quantize*"]),
             ("racecheck", "ops_cuda_test", ["--gtest_filter=SparseListsCudaTest.MergeLists:Quantize*"]),
             ("memcheck", "ops_cuda_test", ["--gtest_filter=TopK*"])]


def sanitizer(limit):
    """compute-sanitizer's tools: what they find in kernels of plans and of the selection."""
    program = shutil.which("compute-sanitizer", path=os.pathsep.join([os.environ["PATH"], "/usr/local/cuda/bin"]))
    if program is None:
        return {"skipped": "no compute-sanitizer"}
    result, end = {}, time.monotonic() + limit
    for tool, binary, arguments in SANITIZED:
        left = end - time.monotonic()
        name = f"{tool} {binary} {' '.join(arguments)}"
        if left < 3:
            result[name] = {"status": "no time left"}
            continue
        status, out, errors, seconds = run([program, "--tool", tool, "--error-exitcode", "9", HERE / "bin" / binary, *arguments],
                                           min(left, 40), native_environment())
        summary = [line for line in (out + errors).splitlines() if line.startswith("=========")]
        result[name] = {"status": status, "summary": summary[-3:], "first": summary[1:8] if status else [], "seconds": seconds}
    return {"clean": sum(r["status"] == 0 for r in result.values()), "runs": len(result), "cases": result}


def times(limit):
    """How long the kernels of the plans of cuda_fragments.py take, each by itself; the 40 that take most of a step."""
    result, end = {}, time.monotonic() + limit
    plans = sorted((HERE / "cuda_fragments").glob("*.plan"), key=lambda path: path.stat().st_size)
    for i, plan in enumerate(plans):
        case = json.loads(plan.with_suffix(".json").read_text())
        # What is looked up is within its table; segments and the like are 0 and 1.
        below = [f"{b['name']}={case['vocabulary']}" for b in case["batch"] if b["name"] in ("tokens", "wanted")]
        command = [HERE / "bin/cuda_times_driver", plan, *[word for each in below for word in ("--below", each)]]
        status, out, errors, seconds = run(command, (end - time.monotonic()) / (len(plans) - i), native_environment())
        rows = [json.loads(line) for line in out.splitlines()] if status == 0 else []
        made = rows.pop() if rows else {}
        by_kernel = {}
        for row in rows:
            known = by_kernel.setdefault(row.get("kernel") or row["library"], [0, 0])
            known[:] = [round(known[0] + row["ms"], 4), known[1] + row["count"]]
        most = dict(sorted(by_kernel.items(), key=lambda item: -item[1][0])[:40])
        result[plan.stem] = {**made, "rows": rows[:40], "by_kernel": most, "seconds": seconds, "status": status,
                             **({"errors": tail(errors, 4)} if status != 0 else {})}
        print(plan.stem, made, f"{seconds} s")
        for row in rows[:12]:
            rate = (row["bytes"] + row["scratch"]) / max(row["us"], 0.01) / 1e3
            print(f"  {row['ms']:9.4f} ms = {row['count']:4} x {row['us']:9.2f} us  {rate:6.0f} GB/s  {row['fragment']}.{row['step']} "
                  f"{row.get('library') or (row['kernel'], row['grid'], row['block'])}", flush=True)
    return {"sums": {name: r.get("sums") for name, r in result.items()}, "cases": result}


def script(name, timed):
    """A section that is a program of its own, whose last line is a JSON object. timed: the options that say how much time it has."""
    def section(limit):
        status, out, errors, seconds = run([sys.executable, HERE / name, HERE, *timed(limit)], limit)
        (HERE / f"{pathlib.Path(name).stem}.log").write_text(out + errors)
        made = last_object(out)
        print("\n".join(tail(out, 40)), flush=True)
        return {**(made or {}), "status": status, "seconds": seconds, **({} if made and status == 0 else {"errors": tail(errors, 25)})}
    return section


def top_k(limit):
    # The libraries that lie here are for the driver, and not for Python.
    wrapped = HERE / "wrapped"
    wrapped.mkdir(exist_ok=True)
    driver = wrapped / "top_k_cuda_driver"
    driver.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH="{HERE}/lib:$LD_LIBRARY_PATH" exec "{HERE}/bin/top_k_cuda_driver" "$@"\n')
    driver.chmod(0o755)
    environment = {**os.environ, "COMMSCHED_BIN": str(wrapped)}
    status, out, errors, seconds = run([sys.executable, HERE / "top_k_cuda.py", "--quick"], limit, environment)
    return {**(last_object(out) or {}), "status": status, "seconds": seconds, "errors": tail(errors, 6)}


# Name, what it does, its limit in seconds. In the order in which a short time is best spent.
SECTIONS = [
    ("machine", machine, 20), ("values", values, 60), ("gpu_tests", gtest, 90),
    ("jobs", script("cuda_jobs.py", lambda s: ["--seconds", f"{s - 10:.0f}"]), 110),
    ("overlap", script("cuda_overlap.py", lambda s: ["--seconds", f"{s - 8:.0f}"]), 70), ("times", times, 40),
    ("fragments", script("cuda_fragments.py", lambda s: ["--limit", f"{s - 20:.0f}", "--end", f"{s - 6:.0f}"]), 160),
    ("top_k", top_k, 60), ("sanitizer", sanitizer, 100)]


def warm_imports(names):
    """Processes that read from the disk what peers will import, while other sections run; none where they come first or not at all."""
    if "fragments" not in names[1:]:
        return []
    code = ("import torch._inductor.compile_fx, triton", "import jax, optax, flax; jax.devices()")
    return [subprocess.Popen(["nice", sys.executable, "-c", each], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env={**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}) for each in code]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=[name for name, _, _ in SECTIONS])
    parser.add_argument("--seconds", type=float, default=600, help="for all of it: later sections are cut, and said to be")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results.json")
    arguments = parser.parse_args()
    end, results = time.monotonic() + arguments.seconds, {}
    warming = warm_imports([name for name, _, _ in SECTIONS if not arguments.only or name in arguments.only])
    for name, section, limit in SECTIONS:
        if arguments.only and name not in arguments.only:
            continue
        left = end - time.monotonic()
        if left < 5:
            results[name] = {"skipped": "no time left"}
            continue
        print(f"== {name}", flush=True)
        begin = time.monotonic()
        try:
            results[name] = section(min(limit, left))
        except Exception as error:  # a section that is broken must not cost the others
            results[name] = {"error": repr(error)}
        print(json.dumps({k: v for k, v in results[name].items() if k != "cases"})[:1500], f"({time.monotonic() - begin:.0f} s)", flush=True)
        arguments.out.write_text(json.dumps(results, indent=1))
    for process in warming:
        process.kill()
        process.wait()
    for log in HERE.glob("*.log"):
        if arguments.out.parent != HERE:
            shutil.copy(log, arguments.out.parent)
    print(json.dumps(results)[:100000])


if __name__ == "__main__":
    main()
