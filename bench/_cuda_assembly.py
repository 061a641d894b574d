# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fragments of plans for CUDA devices, assembled by NVIDIA's ptxas."""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _tools import tool  # noqa: E402
from commsched.tools import libdevice  # noqa: E402

CUDA_WHEELS = sorted(pathlib.Path(sys.prefix).glob("lib/*/site-packages/nvidia/*"))
TIME_LIMIT = 900  # seconds; only ends a hang
RANKS = 4
MODELS = ("digits", "transformer", "ResNet-50", "BERT-base")


def assembler():
    """Where ptxas is: on PATH, or where scripts/setup.sh puts a CUDA compiler; None if it is not here."""
    return shutil.which("ptxas", path=os.pathsep.join([os.environ["PATH"], *(str(f / "bin") for f in CUDA_WHEELS)]))


def level2(name, quick):
    """The module of one of MODELS on RANKS devices, gradients summed by NCCL: ResNet-50 and BERT-base at full size, or, `quick`, the
    same graphs for small images and short sequences."""
    import commsched
    cluster, strategy = commsched.Cluster(RANKS, kind="cuda", gflops=30_000, gb_per_s=2_000), commsched.AllReduce(nccl=True)
    if name in ("digits", "transformer"):
        from _examples import Example
        return Example(name).program(cluster, strategy).mlir(2)
    from _cuda_models import bert, resnet50
    made = {"ResNet-50": lambda: resnet50(8, 32) if quick else resnet50(128, 224),
            "BERT-base": lambda: bert(8, 16) if quick else bert(32, 128)}
    step, params, state, batch = made[name]()
    return commsched.transpile(step, params, state, *batch, batch=tuple(range(2, 2 + len(batch))), cluster=cluster,
                               strategy=strategy).mlir(2)


@dataclasses.dataclass
class Translated:
    """What cs-translate makes of a level-2 module: its launches as text, their PTX, and the plan, which has this PTX."""
    launches: str
    ptx: str
    plan: bytes

    @property
    def kernels(self):
        return re.findall(r"\.entry (\w+)\(", self.ptx)

    @property
    def fragments(self):
        return len(re.findall(r"^fragment ", self.launches, re.M))

    @property
    def library_kernels(self):
        return re.findall(r'^library kernel \d+ \{kind: "(\w+)"', self.launches, re.M)

    @property
    def calls(self):
        """Functions of libdevice, or of anything else, that are left to be called."""
        return sorted(set(re.findall(r"__nv_\w+", self.ptx)) | set(re.findall(r"\.extern \.func.*", self.ptx)))


def translate(module, folder):
    """A Translated. Raises LookupError where it needs libdevice, and it is not here, and RuntimeError for what cannot be translated."""
    path = pathlib.Path(folder) / "module.mlir"
    path.write_text(module)

    def run(*arguments):
        return subprocess.run([tool("cs-translate"), *arguments, str(path)], capture_output=True, timeout=TIME_LIMIT)
    more = []
    text = run("--mlir-to-cuda")
    if b"it needs libdevice" in text.stderr:
        if libdevice() is None:
            raise LookupError("libdevice.10.bc")
        more = [f"--libdevice={libdevice()}"]
        text = run("--mlir-to-cuda", *more)
    plan = run("--mlir-to-plan", *more)
    for made in (text, plan):
        if made.returncode:
            raise RuntimeError(made.stderr.decode())
    launches, ptx = text.stdout.decode().split("\nptx\n")
    if ptx.encode() not in plan.stdout:
        raise RuntimeError("the plan has other PTX than --mlir-to-cuda prints")
    return Translated(launches + "\n", ptx, plan.stdout)


@dataclasses.dataclass
class Assembled:
    """Of all kernels: bytes of stack and of spills, the most registers, bytes of machine code."""
    kernels: int
    stack: int
    spills: int
    registers: int
    bytes: int


def assemble(ptx, folder):
    """An Assembled for sm_90. Raises LookupError where ptxas is not here, RuntimeError for what it refuses."""
    if assembler() is None:
        raise LookupError("ptxas, to assemble PTX")
    folder = pathlib.Path(folder)
    (folder / "fragments.ptx").write_text(ptx)
    done = subprocess.run([assembler(), "-arch=sm_90", "-v", "fragments.ptx", "-o", "fragments.cubin"], cwd=folder, text=True,
                          capture_output=True, timeout=TIME_LIMIT)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr)
    registers = [int(count) for count in re.findall(r"Used (\d+) registers", done.stderr)]
    return Assembled(len(registers), sum(int(stack) for stack, _, _ in found),
                     sum(int(stores) + int(loads) for _, stores, loads in found), max(registers, default=0),
                     (folder / "fragments.cubin").stat().st_size)
