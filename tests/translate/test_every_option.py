# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every option of cs-translate in every translation has an effect, or is refused in one line that names it.

Options and translations are those of --help."""
import re
import subprocess

import pytest
from built import ROOT, tool

HELP = subprocess.run([tool("cs-translate"), "--help"], capture_output=True, text=True, check=True).stdout
HIDDEN = subprocess.run([tool("cs-translate"), "--help-hidden"], capture_output=True, text=True, check=True).stdout
TRANSLATIONS = re.findall(r"^      --([a-z-]+) ", HELP[HELP.index("Translations, of which one is needed"):].split("\n  --")[0], re.M)
# Of the categories that are CommSched's; of the general ones, what Translate.cpp has.
OWN = re.findall(r"^  --([a-z-]+)", "".join(re.findall(r"^(?:CUDA|plans|profiles of models):\n\n((?:  .*\n)*)", HIDDEN, re.M)), re.M)
GENERAL = ["allow-unregistered-dialect", "o", "split-input-file", "verify-diagnostics"]
NOWHERE = "/nonexistent/file"

STEP = """cs.cluster @test nodes = 2 devices = 1 device = <kind = KIND, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: tensor<64xf32> {cs.param = "w"}, %x: tensor<64xf32> {cs.batch = "x"}) -> (tensor<64xf32> {cs.updates = "w"})
    attributes {cs.step, cs.global_batch = 128 : i64} {
  %0 = arith.mulf %w, %x : tensor<64xf32>
  %1 = cs.gradient %0 of "w" : tensor<64xf32>
  %2 = arith.subf %w, %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}
"""
KUNGFU = '{"model": "m", "elements": [10, 200, 30]}'
UNKNOWN = '"other.op"() : () -> ()\n'
# By option: value, and where it is of use, with the input; the effect is seen in what is written, or a failure names the value.
SEEN = {
    "target-cpu": ("x86-64-v4", {"mlir-to-plan": "cpu"}),
    "plan-summary": ("true", {"mlir-to-plan": "cpu"}),
    "linker": (NOWHERE, {"mlir-to-plan": "cpu"}),
    "print-stage": ("fuse", {"mlir-to-plan": "cpu", "mlir-to-cuda": "cuda"}),
    "libdevice": (NOWHERE, {"mlir-to-plan": "cuda", "mlir-to-cuda": "cuda"}),
    "profile-batch": ("4", {"import-pipedream": "pipedream", "import-kungfu": "kungfu", "import-aicb": "aicb"}),
    "profile-activations": ("false", {"import-pipedream": "pipedream"}),
    "profile-gradient-order": ("forward", {"import-kungfu": "kungfu"}),
    "allow-unregistered-dialect": ("true", {"mlir-to-plan": "unknown", "mlir-to-cuda": "unknown", "mlir-to-chakra": "unknown costs"}),
}
INPUTS = {"mlir-to-plan": "cpu", "mlir-to-cuda": "cuda", "mlir-to-chakra": "costs", "chakra-to-mlir": "chakra", "plan-to-text": "plan",
          "plan-to-object": "plan", "import-pipedream": "pipedream", "import-kungfu": "kungfu", "import-aicb": "aicb"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    profiles = ROOT / "tests/passes/profile/Inputs"
    found = {"kungfu": folder / "kungfu.json", "pipedream": profiles / "net.graph.txt", "aicb": profiles / "workload.txt"}
    found["kungfu"].write_text(KUNGFU)
    for kind in ("cpu", "cuda"):
        (folder / f"{kind}.0.mlir").write_text(STEP.replace("KIND", kind))
        found[kind] = folder / f"{kind}.mlir"
        subprocess.run([tool("cs-opt"), "--cs-all-reduce-pipeline", folder / f"{kind}.0.mlir", "-o", found[kind]], check=True)
    found["unknown"] = folder / "unknown.mlir"
    found["unknown"].write_text(found["cpu"].read_text() + UNKNOWN)
    found["costs"] = folder / "costs.mlir"
    subprocess.run([tool("cs-opt"), "--insert-dist-comm", ROOT / "tests/translate/Inputs/profiled.mlir", "-o", found["costs"]], check=True)
    (folder / "unknown costs.mlir").write_text(found["costs"].read_text() + UNKNOWN)
    found["unknown costs"] = folder / "unknown costs.mlir"
    for name, option, source in (("plan", "--mlir-to-plan", "cpu"), ("chakra", "--mlir-to-chakra", "costs")):
        found[name] = folder / name
        subprocess.run([tool("cs-translate"), option, found[source], "-o", found[name]], check=True)
    return found


def translate(*words):
    done = subprocess.run([tool("cs-translate"), *map(str, words)], capture_output=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, re.sub(r"[0-9.]+ ms", "N ms", done.stderr.decode())


def not_refused(result, name):
    """None, or what is wrong with a refusal."""
    status, _, err = result
    if status == 0:
        return "is accepted"
    lines = [line for line in err.splitlines() if re.search(r"error:|for the --|Unknown|must be specified|may only", line)]
    if status < 0 or len(lines) != 1 or name not in err:
        return f"ends with {status}, {err or 'no message'}"
    return None


def test_the_table_has_all_options_and_translations():
    assert sorted(SEEN) == sorted({*OWN, "allow-unregistered-dialect"}) and len(OWN) > 6
    assert sorted(INPUTS) == sorted(TRANSLATIONS) and len(TRANSLATIONS) > 7
    for name in GENERAL:
        assert re.search(rf"^  (--|-){name}\b", HELP, re.M), name


def judged(inputs, translation, run=translate):
    wrong = []
    for option, (value, uses) in SEEN.items():
        source = inputs[uses.get(translation, INPUTS[translation])]
        plain, result = run(f"--{translation}", source), run(f"--{translation}", f"--{option}={value}", source)
        if translation not in uses or value == NOWHERE:
            if why := not_refused(result, option if translation not in uses else ""):
                wrong.append(f"--{option}={value} {why}")
        elif result == plain:
            wrong.append(f"--{option}={value} is accepted and ignored: {result[2]}")
    return wrong


@pytest.mark.parametrize("translation", sorted(INPUTS))
def test_no_option_is_ignored(inputs, translation):
    wrong = judged(inputs, translation)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("translation, option", [("mlir-to-plan", "plan-summary"), ("plan-to-text", "target-cpu"), ("import-kungfu", "profile-batch")])
def test_an_ignored_option_is_found(inputs, translation, option):
    """A tool that does not look at it."""
    wrong = judged(inputs, translation, lambda *words: translate(*(w for w in words if f"--{option}=" not in str(w))))
    assert len(wrong) == 1 and wrong[0].startswith(f"--{option}="), wrong


@pytest.mark.parametrize("option, values", [
    ("target-cpu", ["", "pentium", "x86-64-v2"]), ("plan-summary", ["2", "maybe"]), ("linker", [NOWHERE, "/"]),
    ("print-stage", ["", "nothing", "LLVM"]), ("libdevice", ["", NOWHERE, "/", "/dev/null"]),
    ("profile-batch", ["", "0", "-1", "1.5", "x", "nan", "16777217", "9223372036854775808"]), ("profile-activations", ["2", "maybe"]),
    ("profile-gradient-order", ["", "sideways"]), ("allow-unregistered-dialect", ["2", "maybe"])])
def test_nonsense_is_refused(inputs, option, values):
    wrong = []
    for translation, source in SEEN[option][1].items():
        for value in values:
            if why := not_refused(translate(f"--{translation}", f"--{option}={value}", inputs[source]), ""):
                wrong.append(f"--{translation} --{option}={value} {why}")
        if option != "allow-unregistered-dialect":
            good = f"--{option}={SEEN[option][0]}"
            if why := not_refused(translate(f"--{translation}", good, good, inputs[source]), option):
                wrong.append(f"--{translation} {good} twice {why}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("words, said", [
    ([], "one translation"), (["--import-kungfu", "--import-aicb"], "one translation"), (["--mlir-to-plan", "--libdevice=/dev/null"], "--libdevice"),
    (["--mlir-to-plan", "--no-such-option"], "no-such-option"), (["--mlir-to-plan", "-o", "/nonexistent/plan"], "/nonexistent/plan"),
    (["--mlir-to-plan", "-o", ""], "")])
def test_lines_that_cannot_be(inputs, words, said):
    """--libdevice, too, with a plan whose devices are not of kind cuda."""
    assert not_refused(translate(*words, inputs["cpu"]), said) is None, translate(*words, inputs["cpu"])
