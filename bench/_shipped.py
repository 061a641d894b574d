# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules as users get them, for benchmarks: profiles of models as programs, compiled
by cs-opt with its defaults, and what schedule_driver says of what cs-opt wrote."""
import collections
import json
import os
import pathlib
import re
import subprocess
import tempfile

from _tools import tool

ROOT = pathlib.Path(__file__).resolve().parents[1]
# 82 TFlop/s and 1 TB/s: only updates, and layers without a time, are estimated by them.
DEVICE = "<kind = cuda, gflops = 82000, gb_per_s = 1000>"


def importer(path):
    """The option of cs-translate that reads a file as a profile with times; None if there is none."""
    if path.name.endswith(".graph.txt"):
        return "--import-pipedream"
    if path.suffix == ".et":
        return "--chakra-to-mlir"
    if path.suffix == ".txt":
        lines = path.read_text(errors="replace").splitlines()
        if len(lines) > 2 and lines[1].strip().isdigit() and lines[2].count("\t") == 11:
            return "--import-aicb"
    return None


def profiles(paths):
    """{name: file} of the profiles among files and in folders, whatever is below them. A model that several files have is
    named after its folder too, and what is still the same by the whole name of the file, or its path."""
    found = []
    for path in map(pathlib.Path, paths):
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        found += [file for file in files if importer(file)]
    found = list(dict.fromkeys(found))
    names = {}
    for spell in (lambda file: file.name.split(".")[0], lambda file: f"{file.name.split('.')[0]}.{file.parent.name}",
                  lambda file: f"{file.name}.{file.parent.name}", str):
        left = [file for file in found if file not in names]
        times = collections.Counter(map(spell, left))
        names |= {file: spell(file) for file in left if times[spell(file)] == 1 and spell(file) not in names.values()}
    return {names[file]: file for file in found}


def program(path):
    """A profile as a program of level 0."""
    option = importer(path)
    # Activations only order the ops, and nothing is run.
    small = ["--profile-activations=false"] if option == "--import-pipedream" else []
    return run([tool("cs-translate"), option, *small, path]).stdout


def cluster(nodes, gbit, overhead_ns, latency_ns):
    return (f"cs.cluster @bench nodes = {nodes} devices = 1 device = {DEVICE}\n"
            f"  intra = <mbit_per_s = 80000, latency_ns = 5000>\n"
            f"  inter = <mbit_per_s = {round(gbit * 1000)}, latency_ns = {latency_ns}, overhead_ns = {overhead_ns}>\n")


def run(command):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{pathlib.Path(words[0]).name}: {done.stderr.strip()[-2000:]}")
    return done


def compiled(text, of_cluster, servers=0, alone=False, options=""):
    """What schedule_driver says of the program as cs-opt schedules it by default, with
    `seconds` of --schedule-comm. `servers`: that many parameter servers, else all-reduce."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "program.mlir").write_text(text)
        (folder / "cluster.mlir").write_text(of_cluster)
        pipeline = f"--cs-parameter-server-pipeline=servers={servers}" if servers else "--cs-all-reduce-pipeline="
        pipeline += f" cluster={folder / 'cluster.mlir'} {options}"
        # The module that the pass gets is part of the same run.
        said = run([tool("cs-opt"), folder / "program.mlir", pipeline, "-o", folder / "after.mlir",
                    "--mlir-print-ir-before=schedule-comm", "--mlir-timing", "--mlir-timing-display=list"]).stderr
        begin = re.search(r"^// -----// IR Dump Before .*\n", said, re.M).end()
        end = said.index("\n===----", begin)
        (folder / "before.mlir").write_text(said[begin:end])
        seconds = float(re.search(r"^\s*([\d.]+) \([^)]*\)\s+ScheduleComm$", said[end:], re.M)[1])
        judged = run([tool("schedule_driver"), *(["--alone"] if alone else []),
                      folder / "before.mlir", folder / "after.mlir"]).stdout
        return {**json.loads(judged), "seconds": seconds}
