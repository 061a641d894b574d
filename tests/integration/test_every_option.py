# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every option of cs-run in every way of running: it has an effect, or is refused in one line that names it.

The options are those of --help. What an option does is not known here, only how one could see that it does something: a
value with which a run must fail (a file that is not there), or a run that differs with and without it. An option that is
accepted and shows neither is one that is ignored."""
import random
import re
import subprocess

import numpy as np
import pytest
from cases import FIRST, count
from conftest import CLUSTER, EXAMPLES, TIME_LIMIT, addresses, compile_plan, secret, tool
from servers import Authority, digits_plan, digits_source

NOWHERE = "/nonexistent/file"
HELP = subprocess.run([tool("cs-run"), "--help"], capture_output=True, text=True, check=True).stdout
# Of lines that begin with one, as far as the description, which may name options of other tools.
OPTIONS = sorted({option for line in re.findall(r"^  (--.*?)(?:  |$)", HELP, re.M) for option in re.findall(r"--[a-z-]*\w", line)})


def effect(*values, among=(), without=()):
    """Seen by comparing a run with the option with one without, both `among` other options and `without` some of the base."""
    return {"values": values, "among": among, "without": without, "fails": False}


def poison(value, among=(), without=()):
    """Seen by a run that fails for this value."""
    return {"values": [value], "among": among, "without": without, "fails": True}


INIT = EXAMPLES / "digits.init.safetensors"
TLS = ["--tls-ca", "{ca}", "--tls-cert", "{cert}", "--tls-key", "{key}"]
NAN = ["--batch", "{nan}"]
# By option: ways to see it, of which one must show something where it is accepted.
SEEN = {
    "--batch": [poison(NOWHERE)],
    "--init": [poison(NOWHERE)],
    "--steps": [effect("3"), poison("0")],
    "--epochs": [effect("1", "2", without=["--steps"])],
    "--shuffle": [effect(None)],
    "--seed": [effect("7", among=["--shuffle"])],
    "--resume": [poison(NOWHERE, without=["--init"])],
    "--resume-job": [poison(NOWHERE), poison(NOWHERE, without=["--init"])],
    "--checkpoint": [poison(NOWHERE), poison(NOWHERE, among=["--checkpoint-every", "2"])],
    # What was saved before the run ended with an error.
    "--checkpoint-every": [effect("1", among=["--checkpoint", "{new}", "--stop-on-nan", *NAN])],
    "--save-params": [poison(NOWHERE)],
    "--call": [poison("nothing")],
    "--stop-on-nan": [effect(None, among=NAN)],
    "--check-against": [poison(NOWHERE)],
    "--check-json": [poison(NOWHERE)],
    "--eval": [poison("nothing")],
    "--eval-batch": [poison(NOWHERE, among=["--eval", "eval"])],
    "--eval-every": [effect("2", among=["--eval", "eval"])],
    "--spawn": [effect("2"), poison("5")],
    "--rank": [poison("9"), effect("1", "3", among=["--insecure", "--deadline", "1"])],
    "--peers": [effect("unix:/nonexistent/a,unix:/nonexistent/b", among=["--rank", "0", "--insecure", "--deadline", "1"])],
    "--role": [poison("nothing")],
    "--index": [effect("1", "7")],
    "--listen": [poison("nothing")],
    "--servers": [poison("nothing")],
    "--listen-any": [effect(None, among=[*TLS, "--token-file", "{token}"])],
    "--transport": [poison("mpi")],
    "--token-file": [poison(NOWHERE, without=["--token-file"])],
    "--insecure": [effect(None, without=["--token-file"])],
    "--tls-ca": [poison(NOWHERE, among=TLS[2:])],
    "--tls-cert": [poison(NOWHERE, among=TLS[:2] + TLS[4:])],
    "--tls-key": [poison(NOWHERE, among=TLS[:4])],
    "--tls-server-name": [poison("other", among=TLS)],
    "--congestion-control": [poison("nothing")],
    "--no-shared-memory": [],  # tests/grpc/shared_ranks_test.cc
    "--membership": [poison("3")],  # of one rank only
    "--deadline": [effect("1e-7"), poison("0")],
    "--emulate": [effect(None, without=["--init"]), effect(None, among=["--simulate"])],
    "--simulate": [effect(None, without=["--init", "--batch"])],
    "--what-if": [effect("bandwidth=0.01")],
    "--straggler": [poison("99=2")],
    "--jitter": [effect("0.5")],
    "--in-order": [effect(None), effect(None, among=["--link-latency-ns", "10000000"])],
    "--link": [poison("99=5")],
    "--link-latency-ns": [effect("70000000")],
    "--link-overhead-ns": [effect("7000000")],
    "--link-burst": [effect("100000000", among=["--link", "0=1"])],
    "--link-queue-ns": [],  # tests/runtime/simulator_test.cc: of messages that could overtake
    "--engine-ns": [effect("70000000")],
    "--read-profile": [poison(NOWHERE)],
    "--read-calibration": [poison(NOWHERE)],
    "--read-nccl-tests": [poison(NOWHERE)],
    "--every-rank": [],  # tests/runtime/simulator_classes_test.cc
    "--replan": [poison("nothing", among=["--replan-every", "2"])],
    "--replan-every": [effect("3", among=["--replan", "cp {plan0} {{plan}}", "--replan-when-off", "900000"])],
    "--replan-when-off": [poison("0", among=["--replan", "cp {plan0} {{plan}}"])],
    "--replan-window": [poison("0", among=["--replan", "cp {plan0} {{plan}}", "--replan-every", "3"])],
    "--replan-deadline": [poison("0", among=["--replan", "cp {plan0} {{plan}}", "--replan-every", "3"])],
    "--replan-folder": [poison(NOWHERE, among=["--replan", "cp {plan0} {{plan}}", "--replan-every", "3"]),
                        poison(NOWHERE, among=["--tune", "{plan0}"])],
    "--tune": [poison(NOWHERE)],
    "--tune-steps": [poison("0", among=["--tune", "{plan0}"])],
    "--metrics-every": [effect("1", "2")],
    "--metrics-json": [poison(NOWHERE)],
    "--trace": [poison(NOWHERE)],
    "--report": [poison(NOWHERE + ".html")],
    "--report-steps": [effect("2", among=["--report", "{new}.html"])],
    "--predicted": [poison(NOWHERE, among=["--report", "{new}.html"])],
    "--measured": [poison(NOWHERE, among=["--report", "{new}.html"])],
    "--profile": [poison(NOWHERE)],
    "--calibrate": [poison(NOWHERE)],
    "--arena-info": [effect(None, without=["--init", "--batch", "--steps"])],
}


def test_the_table_has_all_options():
    assert sorted(SEEN) == [option for option in OPTIONS if option not in ("--help", "--version")]


@pytest.fixture(scope="module")
def files(folder, tmp_path_factory):
    own = tmp_path_factory.mktemp("options")
    with np.load(EXAMPLES / "digits.train.npz") as data:
        arrays = dict(data)
    # Steps 1 to 4 take what is whole.
    arrays["x"] = arrays["x"].copy()
    arrays["x"][32 * 4:] = np.nan
    np.savez(own / "nan.npz", **arrays)
    source = digits_source(2)
    (own / "step.mlir").write_text(source)
    plan = compile_plan(CLUSTER.format(nodes=2) + source, own / "ranks.plan")
    found = {"plan0": plan, "servers": digits_plan(folder), "nan": own / "nan.npz", "step": own / "step.mlir",
             "trace": own / "trace.json"}
    found |= dict(zip(("ca", "cert", "key"), Authority(own / "authority").certificate("all")[1::2]))
    out = subprocess.run([tool("cs-run"), plan, *map(str, DATA), "--steps", "4", "--trace", found["trace"]],
                         capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return found


DATA = ["--init", INIT, "--batch", EXAMPLES / "digits.train.npz"]
TRAIN = [*DATA, "--steps", "6"]
MODES = {
    "threads": ["{plan0}", *TRAIN],
    "evaluated": ["{plan0}", *TRAIN, "--eval", "eval"],
    "spawned": ["{plan0}", *TRAIN, "--spawn"],
    "server threads": ["{servers}", *TRAIN],
    "spawned servers": ["{servers}", *TRAIN, "--spawn"],
    "rank": ["{plan0}", *TRAIN, "--rank", "0", "--peers", "{peers}", "--token-file", "{token}"],
    "trainer": ["{servers}", *TRAIN, "--role", "trainer", "--rank", "0", "--servers", "{listen}", "--token-file", "{token}"],
    "server": ["{servers}", "--init", INIT, "--role", "server", "--index", "0", "--listen", "{listen0}", "--token-file", "{token}"],
    "simulated": ["{plan0}", "--simulate", "--steps", "5"],
    "simulated servers": ["{servers}", "--simulate", "--steps", "5"],
    "calibrated": ["{plan0}", "--calibrate", "{new}.links"],
    "calibrated processes": ["{plan0}", "--calibrate", "{new}.links", "--spawn"],
    "calibrated servers": ["{servers}", "--init", INIT, "--calibrate", "{new}.links", "--spawn"],
    "checked": ["{plan0}", *DATA, "--check-against", "{step}", "--steps", "2"],
    "shown": ["{plan0}", "--report", "{new}.page.html", "--measured", "{trace}"],
    "arena": ["{plan0}", "--arena-info"],
    "arena of a server": ["{servers}", "--arena-info", "--role", "server", "--index", "0"],
    "tuned": ["{plan0}", *TRAIN, "--tune", "{plan0}"],
    "re-planned": ["{plan0}", *TRAIN, "--replan", "cp {plan0} {{plan}}", "--replan-every", "3"],
}
# Others of the job, which are not given the option.
OTHERS = {
    "rank": [["{plan0}", *TRAIN, "--rank", "1", "--peers", "{peers}", "--token-file", "{token}"]],
    "trainer": [["{servers}", *TRAIN, "--role", "trainer", "--rank", "1", "--servers", "{listen}", "--token-file", "{token}"],
                *(["{servers}", "--init", INIT, "--role", "server", "--index", str(k), "--listen", "{listen%d}" % k,
                   "--token-file", "{token}"] for k in range(2))],
    "server": [*(["{servers}", *TRAIN, "--role", "trainer", "--rank", str(r), "--servers", "{listen}", "--token-file", "{token}"]
                 for r in range(2)),
               ["{servers}", "--init", INIT, "--role", "server", "--index", "1", "--listen", "{listen1}", "--token-file", "{token}"]],
}


# All that it changes is how long steps take.
TIME_ONLY = {("--emulate", "rank"), ("--emulate", "trainer")}


class Runs:
    """Runs of one mode, each in a folder of its own."""

    def __init__(self, name, files, tmp_path):
        self.name, self.files, self.tmp_path, self.number, self.known = name, files, tmp_path, 0, {}

    def line(self, words, folder, ports):
        places = {"new": "new", "peers": ",".join(ports[:2]), "listen": ",".join(ports[2:]), "listen0": ports[2],
                  "listen1": ports[3], "token": secret()[1], **self.files}
        return [str(word).format(**places) for word in words]

    def __call__(self, words, others):
        key = (tuple(map(str, words)), others)
        if key in self.known:
            return self.known[key]
        self.number += 1
        folder = self.tmp_path / str(self.number)
        folder.mkdir()
        ports = addresses(4)
        start = [(subprocess.Popen([tool("cs-run"), *self.line(line, folder, ports)], cwd=folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)) for line in [words]]
        process = start[0]
        if others:
            # What is refused at once needs no others.
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                pass
            if process.poll() is None:
                start += [subprocess.Popen([tool("cs-run"), *self.line([*line, "--deadline", "3"], folder, ports)], cwd=folder,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                          for line in OTHERS[self.name]]
        try:
            out, err = process.communicate(timeout=TIME_LIMIT)
        finally:
            for other in start:
                other.kill()
                other.wait()
        result = self.known[key] = (process.returncode, without_times(out), without_times(err), contents(folder))
        return result


def without_times(text):
    """Numbers that are times, or follow from them, say nothing; nor do ports and names of processes."""
    lines = [line for line in text.splitlines() if not re.search(r"step time|Mbit/s|rank \d+: (a round|compute)|^rank|^server", line)]
    return re.sub(r"127\.0\.0\.1:\d+|\d+(\.\d+)? ?(ms|us|%)|(?<=\(pid )\d+", "N", "\n".join(lines))


def contents(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        text = ""
        if path.suffix == ".html":
            text = str(re.findall(r"\d+ of \d+ steps", path.read_text()))
        found[str(path.relative_to(folder))] = text
    return found


def drop(base, names):
    words, kept = list(base), []
    while words:
        word = words.pop(0)
        if word in names:
            if words and not str(words[0]).startswith("--"):
                words.pop(0)
            continue
        kept.append(word)
    return kept


def judged(runs, base, option, others):
    """None, or what is wrong."""
    seen = False
    for how in SEEN[option]:
        kept = [*drop(base, [option, *how["without"], *(word for word in how["among"] if str(word).startswith("--"))]), *how["among"]]
        plain = runs(kept, others)
        if plain[0] == 2:  # what the option goes with is refused
            continue
        for value in how["values"]:
            result = status, _, err, _ = runs([*kept, option, *([] if value is None else [value])], others)
            lines = [line for line in err.splitlines() if "warning" not in line]
            # Of processes each may say its own.
            if status < 0 or (status != 0 and (not lines or (len(lines) > 1 and not all(re.match("cs-run: (rank|server) ", line)
                                                                                          for line in lines)))):
                return f"{option} {value}: status {status}, {err or 'no message'}"
            if status == 2 and not any(str(word) in err for word in [option, *kept] if str(word).startswith("--")):
                return f"{option} {value} is refused, and no option named: {err}"
            seen |= result != plain and (status != 0 or not how["fails"])
    if seen or not SEEN[option] or (option, runs.name) in TIME_ONLY:
        return None
    if option in base and runs(drop(base, [option]), others)[0] == 2:  # it could not be left out
        return None
    value = ([value for how in SEEN[option] for value in how["values"]] or [None])[0]
    status, out, err, _ = runs([*drop(base, [option]), option, *([] if value is None else [value])], others)
    return None if status != 0 else f"{option} is accepted and ignored: status {status}, {err or out}"


# All options; of ways of several processes, or by the interpreter, some that are drawn.
QUICK = {"threads", "server threads", "simulated", "simulated servers", "shown", "arena", "arena of a server"}


@pytest.mark.parametrize("name", MODES)
def test_no_option_is_ignored(files, tmp_path, name):
    runs = Runs(name, files, tmp_path)
    base, others = MODES[name], name in OTHERS
    status, out, err, _ = runs(base, others)
    assert status == 0, err
    options = sorted(SEEN)
    if name not in QUICK:
        options = random.Random(f"{FIRST} {name}").sample(options, min(len(options), count(14)))
    wrong = [said for option in options if (said := judged(runs, base, option, others))]
    assert not wrong, "\n".join(wrong)
