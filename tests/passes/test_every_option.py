# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every option of every pass and pipeline of cs-opt has an effect, or is refused in one line.

The options are those of --help, the passes those of the .td files. What an option does is not known here, only values that
must change something (the module, or a remark), what other options it has no use without (there it must be refused), and
what a module must have for it to matter (without that it may change nothing). Values that make no sense are refused in one
line, and nothing crashes."""
import concurrent.futures
import os
import random
import re
import subprocess
import tempfile

import pytest
from built import ROOT, tool
from cases import FIRST, TIMES, count
from option_modules import MODULES, write

NOWHERE = "/nonexistent/file"
HELP = subprocess.run([tool("cs-opt"), "--help"], capture_output=True, text=True, check=True).stdout
# In the section of pipelines, and the passes of the .td files.
NAMES = sorted({*re.findall(r"^ +--(cs-[a-z-]+-pipeline) +-", HELP, re.M),
                *(name for file in ROOT.glob("passes/*/Passes.td")
                  for name in re.findall(r'^def \w+ : CsPass<"([a-z-]+)"', file.read_text(), re.M))})


def options_of(name):
    """By name, what a value is: "long", "number", "string", or "bool" for switches."""
    found = re.search(rf"^      --{name} +-   .*\n((?:        --.*\n)*)", HELP, re.M)
    assert found, f"{name} is not in --help"
    return {option: kind or "bool" for option, kind in re.findall(r"^        --([a-z-]+)(?:=<(\w+)>)? ", found[1], re.M)}


def given(base, *names):
    return any(re.search(rf"(^| ){name}=", base) for name in names)


def has(base, *words):
    return any(word in base.split() for word in words)


def selects(base):
    return given(base, "density", "rules", "sparse-rules")


class Option:
    """values: of which each must change something, or be refused because a file is not there. needs: whether it is of use
    with these other options; else it is refused. where: what a module has for which it must matter. somewhere: whether it
    changes something depends on numbers: it must in some mode, and not in each."""

    def __init__(self, *values, needs=lambda base: True, where=(), nonsense=(), somewhere=False):
        self.values, self.needs, self.where = values, needs, {where} if isinstance(where, str) else set(where)
        self.nonsense, self.somewhere = list(nonsense), somewhere


NEGATIVE = ["-1", "-9223372036854775808"]
NOT_POSITIVE = ["0", *NEGATIVE]
NO_NUMBER = ["nan", "inf", "-inf", "-1", "1e999"]


def moments(base):
    return given(base, "momentum", "momentum-correction") and given(base, "second-moment")


def fixed(base):
    return has(base, "schedule=fixed-buckets", "policy=fixed-buckets", "cut-as=fixed-buckets")


def solves(base):
    return not given(base, "schedule", "policy") or has(base, "schedule=solver", "policy=solver", "cut-as=solver")


def corrects(base):
    return given(base, "momentum", "momentum-correction")


def mstopk(base):
    return has(base, "select=mstopk")


def cuts(base):
    return not has(base, "schedule=priority", "policy=priority")


def with_servers(base):
    return given(base, "servers") or has(base, "mode=parameter-server")


OPTIONS = {
    # Of several passes and pipelines.
    "algorithm": Option("ring", needs=lambda base: not has(base, "nccl=true"), somewhere=True),
    "bucket-bytes": Option("1024", needs=fixed, where="messages", nonsense=NOT_POSITIVE),
    "first-bucket-bytes": Option("512", needs=fixed, where="messages", nonsense=NOT_POSITIVE),
    "effort": Option("1", needs=solves, somewhere=True, nonsense=[*NEGATIVE, "9223372036854775807"]),
    "reorder": Option("true", needs=solves, somewhere=True),
    "memory-limit": Option("100000000", needs=lambda base: has(base, "reorder=true"), somewhere=True, nonsense=NEGATIVE),
    "message-bytes": Option("1000", needs=cuts, somewhere=True, nonsense=NEGATIVE),
    "parts": Option("true", needs=lambda base: cuts(base) and not with_servers(base) and not has(base, "nccl=true", "algorithm=nccl"),
                    somewhere=True),
    "exclusive": Option("false", needs=lambda base: solves(base) and not with_servers(base) and not has(base, "nccl=true", "algorithm=nccl"),
                        somewhere=True),
    "cut-as": Option("p3", "priority", somewhere=True),
    "fuse-blocks": Option("false", somewhere=True),
    "cluster": Option(str(ROOT / "tests/passes/insert/Inputs/lab.mlir"), nonsense=[NOWHERE, "/"]),
    "calibration": Option(NOWHERE, nonsense=["/", f"{NOWHERE},"]),
    "schedule-calibration": Option(NOWHERE, nonsense=["/", f"{NOWHERE},"]),
    "profile": Option(NOWHERE, nonsense=["/", f"{NOWHERE},"]),
    "nccl-tests": Option(NOWHERE, nonsense=["/"]),
    "reduction": Option("sum"),
    "assign-devices": Option("false", where="devices"),
    "by-block": Option("true", where="device blocks"),
    "hierarchical": Option("false", where="shards"),
    "copies": Option("overlap", "in-line", where="cpu"),
    "staging-bytes": Option("400000", needs=lambda base: has(base, "copies=overlap", "mode=overlap", "@cuda"), somewhere=True, nonsense=NEGATIVE),
    "density": Option("0.25", nonsense=["0", "1.5", *NO_NUMBER]),
    "method": Option("allgather", needs=selects),
    "sparse-method": Option("allgather", needs=selects),
    "min-elements": Option("100000", needs=selects, nonsense=NEGATIVE),
    "rules": Option("p1=0.1", nonsense=["nowhere=0.1", "p1=2", "p1=nan", "p1=0.1:nothing", "(=0.1", "p1"]),
    "sparse-rules": Option("p1=0.1", nonsense=["nowhere=0.1", "p1=2", "p1=nan", "p1=0.1:nothing", "(=0.1", "p1"]),
    "feedback": Option("false", needs=lambda base: selects(base) and (not corrects(base) or moments(base))),
    "mask": Option("false", needs=lambda base: selects(base) and corrects(base) and not moments(base)),
    "second-moment": Option("0.5", needs=lambda base: not with_servers(base), nonsense=["1", *NO_NUMBER]),
    "epsilon": Option("1e-6", needs=lambda base: given(base, "second-moment"), nonsense=["0", "1e-300", "1e300", *NO_NUMBER]),
    "squares": Option("own", needs=lambda base: moments(base) and selects(base)),
    "clip": Option("1", needs=selects, nonsense=["1e-300", "1e300", *NO_NUMBER]),
    "select": Option("sampled", needs=selects),
    "values": Option("f16", needs=selects),
    "unsent-rate": Option("0.1", needs=selects, nonsense=["1e-300", "1e300", *NO_NUMBER]),
    "mstopk-samples": Option("7", needs=mstopk, nonsense=["0", "101", *NEGATIVE]),
    "mstopk-early-stop": Option("false", needs=mstopk),
    "mstopk-seed": Option("-5", needs=mstopk),
    "exact-every": Option("3", needs=selects, nonsense=["0", "16777217", *NEGATIVE]),
    "fuse-bytes": Option("0", needs=selects, where="small", nonsense=["-2"]),
    "sparse-fuse-bytes": Option("0", needs=selects, where="small", nonsense=["-2"]),
    "momentum": Option("0.5", nonsense=["1", *NO_NUMBER]),
    "momentum-correction": Option("0.5", nonsense=["1", *NO_NUMBER]),
    # Of all-reduces.
    "nccl": Option("true", where="cuda"),
    "combine": Option("false", where="sums"),
    "spread-sums": Option("true", where="norms"),
    "schedule": Option("priority", "p3", where="messages"),
    # Of parameter servers.
    "mode": Option("parameter-server"),
    "servers": Option("3", needs=with_servers, nonsense=["4097", *NOT_POSITIVE]),
    "slice": Option("false", needs=with_servers, where="blocks"),
    "min-block-elements": Option("100", needs=lambda base: with_servers(base) and not has(base, "slice=false"), where="blocks",
                                 nonsense=NOT_POSITIVE),
    "max-block-elements": Option("10000", needs=lambda base: with_servers(base) and not has(base, "slice=false"), where="blocks",
                                 nonsense=["8191", *NEGATIVE]),
    "sync-mode": Option("async", "half-async", needs=lambda base: with_servers(base) and not selects(base)),
    "merge": Option("2", needs=lambda base: has(base, "sync-mode=half-async"), nonsense=NOT_POSITIVE),
    "placement": Option("hash", needs=with_servers, where="blocks"),
    # Of one pass.
    "gather-bytes": Option("0", where="gathers", nonsense=["-2"]),
    "policy": Option("p3", "fifo", where="messages"),
    "cut-blocks": Option("false", somewhere=True),
    "turns": Option("true", needs=cuts, where="messages"),
    "size-limit": Option("1", somewhere=True, nonsense=NEGATIVE),
    "apart": Option("false", where="norms"),
    "force": Option("true", where="unpaid norms"),
    "file": Option("-", nonsense=[NOWHERE]),
}
# Where an option of the same name means something else.
OWN = {
    ("spread-sums", "min-elements"): Option("1000000000", where={"norms"}, nonsense=NEGATIVE),
    ("overlap-rpc-memcpy", "mode"): Option("in-line", "devices"),
    ("replicate-devices", "hierarchical"): Option("true", where="shards"),
    ("overlap-rpc-memcpy", "staging-bytes"): Option("400000", somewhere=True, nonsense=NEGATIVE),
    ("cs-parameter-server-pipeline", "servers"): Option("3", nonsense=["4097", *NOT_POSITIVE]),
    # Where a density of 1 is what "dense" says, too.
    ("cs-parameter-server-pipeline", "sparse-method"): Option("dense", somewhere=True),
    ("schedule-comm", "copies"): Option("overlap", "in-line", needs=cuts, somewhere=True, nonsense=["late"]),
    ("extract-problem", "copies"): Option("overlap", "in-line", nonsense=["late"]),
    ("extract-problem", "parts"): Option("true", where="messages"),
    ("solve-problem", "reorder"): Option("false", needs=solves, somewhere=True),
    ("expand-collectives", "algorithm"): Option("ring", "recursive-doubling", where="collectives"),
    ("cs-parameter-server-pipeline", "sparse-fuse-bytes"): Option("64", needs=lambda base: False, nonsense=["-2"]),
    ("cs-parameter-server-pipeline", "second-moment"): Option("0.5", needs=lambda base: False, nonsense=["1", *NO_NUMBER]),
    ("lower-sparse-comm", "second-moment"): Option("0.5", nonsense=["1", *NO_NUMBER]),
}


def option_of(name, option):
    return OWN.get((name, option)) or OPTIONS[option]


class Mode:
    """A pass or pipeline with some options, behind the passes `before` it, on a module."""

    def __init__(self, name, module, base="", before=()):
        self.name, self.module, self.base, self.before = name, module, base, list(before)

    def __repr__(self):
        return " ".join([self.name, self.module, *self.base.split()])

    def without(self, option):
        """The same where this option is not given."""
        words = self.base.split()
        kept = [word for word in words if not word.startswith(option + "=")]
        return self if kept == words else Mode(self.name, self.module, " ".join(kept), self.before)


REDUCE, SERVE = "cs-all-reduce-pipeline", "cs-parameter-server-pipeline"
LEVEL1 = ["--insert-dist-comm"]
SERVERS1 = ["--insert-dist-comm=mode=parameter-server servers=2"]
SPARSE = "density=0.25 min-elements=1"
MODES = [
    Mode(REDUCE, "plain", "schedule=fixed-buckets bucket-bytes=1000 first-bucket-bytes=256"), Mode(REDUCE, "plain", "schedule=priority"),
    Mode(REDUCE, "independent", "reorder=true memory-limit=0"), Mode(REDUCE, "plain", "copies=overlap"), Mode(REDUCE, "plain", "density=0.25"),
    Mode(REDUCE, "devices"), Mode(REDUCE, "shards"), Mode(REDUCE, "sums"), Mode(REDUCE, "norms"), Mode(REDUCE, "urgent"), Mode(REDUCE, "cuda", "nccl=true"),
    Mode(REDUCE, "small", f"{SPARSE} sparse-method=allgather"), Mode(REDUCE, "plain", f"{SPARSE} momentum-correction=0.5"),
    Mode(REDUCE, "plain", f"{SPARSE} momentum-correction=0.5 second-moment=0.5"),
    Mode(REDUCE, "plain", f"{SPARSE} select=mstopk"), Mode(REDUCE, "plain", "momentum-correction=0.5 second-moment=0.5"),
    Mode(SERVE, "plain", "servers=2 schedule=fixed-buckets bucket-bytes=1000 first-bucket-bytes=256"),
    Mode(SERVE, "plain", "servers=2 schedule=priority"), Mode(SERVE, "plain", "servers=2 slice=false"),
    Mode(SERVE, "plain", "servers=2 sync-mode=half-async"), Mode(SERVE, "devices", "servers=2"),
    Mode(SERVE, "independent", "servers=2 reorder=true"), Mode(SERVE, "plain", "servers=2 density=0.25"),
    Mode(SERVE, "plain", f"servers=2 {SPARSE} momentum-correction=0.5"),
    Mode(SERVE, "plain", f"servers=2 {SPARSE} select=mstopk"), Mode(SERVE, "cuda", "servers=2"),
    Mode("insert-dist-comm", "plain"), Mode("insert-dist-comm", "plain", "mode=parameter-server servers=2 sync-mode=half-async"),
    Mode("insert-dist-comm", "plain", "mode=parameter-server slice=false servers=2"),
    Mode("replicate-devices", "shards", before=LEVEL1), Mode("replicate-devices", "devices", before=SERVERS1),
    Mode("assign-devices", "devices", before=[*LEVEL1, "--replicate-devices"]),
    Mode("lower-sparse-comm", "plain", "density=0.25", before=LEVEL1), Mode("lower-sparse-comm", "small", f"{SPARSE} method=hitopk", before=LEVEL1),
    Mode("lower-sparse-comm", "plain", f"{SPARSE} momentum=0.5", before=LEVEL1), Mode("lower-sparse-comm", "plain", "momentum=0.5", before=LEVEL1),
    Mode("lower-sparse-comm", "plain", f"{SPARSE} momentum=0.5 second-moment=0.5", before=LEVEL1),
    Mode("lower-sparse-comm", "plain", f"{SPARSE} select=mstopk", before=LEVEL1),
    Mode("spread-sums", "norms", before=LEVEL1), Mode("spread-sums", "unpaid norms", before=LEVEL1),
    Mode("combine-collectives", "gathers"),
    Mode("schedule-comm", "plain", before=LEVEL1), Mode("schedule-comm", "urgent", before=LEVEL1), Mode("schedule-comm", "kept", "reorder=true memory-limit=0"),
    Mode("schedule-comm", "plain", "policy=fixed-buckets bucket-bytes=1000 first-bucket-bytes=256", before=LEVEL1),
    Mode("schedule-comm", "plain", "policy=priority", before=LEVEL1), Mode("schedule-comm", "plain", before=SERVERS1),
    Mode("read-costs", "plain", before=LEVEL1),
    Mode("expand-collectives", "plain", before=[*LEVEL1, "--schedule-comm"]),
    Mode("overlap-rpc-memcpy", "devices", "mode=overlap", before=[*LEVEL1, "--replicate-devices", "--schedule-comm=message-bytes=400000"]),
    Mode("lower-to-nccl", "cuda", before=[*LEVEL1, "--schedule-comm=algorithm=nccl"]),
    Mode("merge-fragments", "cuda"), Mode("specialize-ranks", "plain", before=[*LEVEL1, "--schedule-comm", "--expand-collectives"]),
    Mode("verify-distributed", "plain", before=[*LEVEL1, "--schedule-comm", "--expand-collectives"]),
    Mode("extract-problem", "plain", before=LEVEL1),
    Mode("solve-problem", "kept", before=["--extract-problem"]),
    Mode("solve-problem", "plain", "policy=fixed-buckets bucket-bytes=1000 first-bucket-bytes=256", before=[*LEVEL1, "--extract-problem"]),
    Mode("verify-solution", "plain", before=[*LEVEL1, "--extract-problem", "--solve-problem"]),
]


@pytest.fixture(scope="session")
def folder():
    with tempfile.TemporaryDirectory() as made:
        write(made)
        yield made


class Runs:
    def __init__(self, folder, ignored=None):
        """ignored: an option that is not handed on, as if the tool ignored it."""
        self.folder, self.inputs, self.known, self.ignored = folder, {}, {}, ignored

    def path(self, mode):
        """What the pass is given: the module behind the passes before it."""
        key = (mode.module, *mode.before)
        if key not in self.inputs:
            source = os.path.join(self.folder, mode.module.replace(" ", "-") + ".mlir")
            path = source if not mode.before else os.path.join(self.folder, f"{len(self.inputs)}.input.mlir")
            if mode.before:
                subprocess.run([tool("cs-opt"), *mode.before, source, "-o", path], check=True)
            self.inputs[key] = path
        return self.inputs[key]

    def __call__(self, mode, more=""):
        text, path = f"{mode.base} {more}".strip(), self.path(mode)
        if self.ignored:
            text = re.sub(rf"(^| ){self.ignored}=\S+", "", text).strip()
        if (mode.name, text, path) in self.known:
            return self.known[mode.name, text, path]
        done = subprocess.run([tool("cs-opt"), f"--{mode.name}" + (f"={text}" if text else ""), "--remarks-filter=.*", path],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        result = self.known[mode.name, text, path] = done.returncode, done.stdout, done.stderr
        return result


@pytest.fixture(scope="session")
def runs(folder):
    return Runs(folder)


def not_refused(result):
    """None, or what is wrong with a refusal: it is one line, the place of the program aside, and nothing crashed."""
    status, _, err = result
    if status == 0:
        return "is accepted"
    lines = [line for line in err.splitlines() if re.search(r"error:|for the --", line)]
    if status < 0 or len(lines) != 1 or "Stack dump" in err or "UNREACHABLE" in err:
        return f"ends with {status}, {err or 'no message'}"
    return None


def test_the_tables_have_all_passes_and_options():
    assert len(NAMES) > 15
    assert {mode.name for mode in MODES} == set(NAMES)
    all_options = {(name, option) for name in NAMES for option in options_of(name)}
    assert {option for name, option in all_options if (name, option) not in OWN} == set(OPTIONS)
    assert not set(OWN) - all_options
    assert {mode.module for mode in MODES} == set(MODULES)


def judged(runs, mode, seen):
    """What is wrong in this mode; (pass, option) that have shown an effect go to `seen`. What is of no use is drawn, but in the
    first mode of a pass."""
    wrong, first = [], mode is next(other for other in MODES if other.name == mode.name)
    for option in options_of(mode.name):
        known = option_of(mode.name, option)
        own = mode.without(option)
        words = f"{own.base} {' '.join('@' + what for what in MODULES[mode.module])}"
        useful = known.needs(words)
        if useful and known.where and not known.where & MODULES[mode.module]:
            continue
        if not useful and not first and random.Random(f"{FIRST} {mode} {option}").random() > TIMES / 3:
            continue
        plain = runs(own)
        if plain[0] != 0:
            if own is mode:
                return [f"{mode}: {plain[2]}"]
            continue
        for value in known.values:
            result = runs(own, f"{option}={value}")
            if not useful or value == NOWHERE:
                if why := not_refused(result):
                    wrong.append(f"{own}: {option}={value} is of no use and {why}")
                elif value == NOWHERE:
                    seen.add((mode.name, option))
            elif result[0] != 0:
                if why := not_refused(result):
                    wrong.append(f"{own}: {option}={value} {why}")
            elif result[1:] != plain[1:]:
                seen.add((mode.name, option))
            elif not known.somewhere:
                wrong.append(f"{own}: {option}={value} is accepted and ignored")
    return wrong


def test_no_option_is_ignored(runs):
    seen = set()
    for mode in MODES:
        runs.path(mode)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        wrong = [line for lines in threads.map(lambda mode: judged(runs, mode, seen), MODES) for line in lines]
    expected = {(name, option) for name in NAMES for option in options_of(name)}
    unseen = {pair for pair in expected - seen if pair not in REFUSED}
    assert not wrong and not unseen, "\n".join([*wrong, *(f"--{name}={option} shows an effect nowhere" for name, option in sorted(unseen))])


@pytest.mark.parametrize("name, option, why", [(REDUCE, "reduction", "accepted and ignored"), (SERVE, "placement", "accepted and ignored"),
                                                (REDUCE, "epsilon", "is of no use and is accepted"), ("solve-problem", "policy", "ignored")])
def test_an_ignored_option_is_found(folder, name, option, why):
    mode = next(mode for mode in MODES if mode.name == name)
    assert any(f"{option}=" in line and why in line for line in judged(Runs(folder, option), mode, set()))


# Of no use in any mode, and refused in all; or seen of --schedule-comm, as no step of level 0 here is short of memory.
REFUSED = {(SERVE, option) for option in ("sparse-fuse-bytes", "second-moment", "epsilon", "squares")} | {
    (name, "memory-limit") for name in (REDUCE, SERVE)}

# Of every kind of value.
NONSENSE = {"long": ["", "x", "1.5", "1e3", "nan", "9223372036854775808", "99999999999999999999", "1,2"],
            "number": ["", "x", "1,2", "0x"], "bool": ["", "2", "yes", "-1"], "string": [""]}
TEXTS = {"cluster", "profile", "calibration", "schedule-calibration", "nccl-tests", "file", "rules", "sparse-rules"}  # others are names of a choice


def nonsense_of(option, kind, known):
    """That of its own, and some of what is of its kind."""
    of_kind = random.Random(f"{FIRST} {option}").sample(NONSENSE[kind], min(len(NONSENSE[kind]), count(2)))
    return [*of_kind, *known.nonsense, *(["nothing", "AUTO"] if kind == "string" and option not in TEXTS else [])]


def test_nonsense_is_refused(runs):
    def check(mode):
        wrong = []
        for option, kind in options_of(mode.name).items():
            known = option_of(mode.name, option)
            if not given(mode.base, option):
                wrong += [f"{mode}: {option}={value} {why}" for value in nonsense_of(option, kind, known)
                          if (why := not_refused(runs(mode, f"{option}={value}")))]
            value = known.values[0]
            if why := not_refused(runs(mode, f"{option}={value} {option}={value}")):
                wrong.append(f"{mode}: {option} twice {why}")
        if why := not_refused(runs(mode, "no-such-option=1")):
            wrong.append(f"{mode}: an unknown option {why}")
        return wrong
    first = list({mode.name: mode for mode in reversed(MODES)}.values())
    for mode in first:
        runs.path(mode)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        wrong = [line for lines in threads.map(check, first) for line in lines]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("option, value", [
    ("effort", "1000000000"), ("memory-limit", "9223372036854775807"), ("message-bytes", "9223372036854775807"), ("message-bytes", "1"),
    ("bucket-bytes", "9223372036854775807"), ("first-bucket-bytes", "1"), ("min-elements", "9223372036854775807"), ("density", "1e-300"),
    ("sparse-fuse-bytes", "9223372036854775807"), ("clip", "1e38"), ("epsilon", "1e38"), ("unsent-rate", "1e38"),
    ("mstopk-seed", "-9223372036854775808"), ("staging-bytes", "9223372036854775807"), ("exact-every", "16777216")])
def test_enormous_values(runs, option, value):
    """Right, or refused."""
    among = {"effort": "", "memory-limit": "reorder=true", "message-bytes": "", "bucket-bytes": "schedule=fixed-buckets",
             "first-bucket-bytes": "schedule=fixed-buckets", "staging-bytes": "copies=overlap",
             "min-elements": "density=0.25", "density": "min-elements=1", "mstopk-seed": f"{SPARSE} select=mstopk",
             "epsilon": f"{SPARSE} second-moment=0.5"}.get(option, SPARSE)
    result = runs(Mode(REDUCE, "plain", among), f"{option}={value}")
    assert result[0] == 0 or not_refused(result) is None, result[2]
