# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing of CUDA is needed to start: no binary asks for a library of it, and cs-run trains where there is nothing but the
libraries that it names, looking for no other, and for none where it happens to be run."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import EXAMPLES, compile_plan, tool

BIN = pathlib.Path(tool("cs-run")).parent
CUDA = re.compile(r"\blib(cuda|cudart|nccl|cublas|cublasLt|cudnn\w*|nvrtc|nvJitLink|nvidia-ml|cupti)\b[-.\w]*")


CLUSTER = """cs.cluster @gpus nodes = 4 devices = 1 device = <kind = cuda, gflops = 40000, gb_per_s = 2000>
    intra = <mbit_per_s = 2000000, latency_ns = 1000> inter = <mbit_per_s = 100000, latency_ns = 2000>
"""


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def built():
    """What is linked: programs and shared libraries."""
    files = [path for folder in (BIN, BIN.parent / "lib") for path in sorted(folder.rglob("*"))
             if path.is_file() and not path.is_symlink() and (os.access(path, os.X_OK) or ".so" in path.suffixes)]
    return [path for path in files if is_elf(path)]


def needed(path):
    """Names of the libraries that it asks the loader for."""
    text = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def test_nothing_asks_for_libraries_of_cuda():
    files = built()
    assert {"cs-opt", "cs-translate", "cs-run"} <= {path.name for path in files}
    found = {path.name: libraries for path in files if (libraries := [name for name in needed(path) if CUDA.match(name)])}
    assert not found  # what nvcc compiles has CUDA's runtime in it


def test_one_that_asks_is_found(tmp_path):
    for name, words in (("libcuda.so.1", ["-Wl,-soname,libcuda.so.1"]),
                        ("libplanted.so", ["-Wl,--no-as-needed", str(tmp_path / "libcuda.so.1")])):
        subprocess.run(["cc", "-shared", "-o", tmp_path / name, "-xc", os.devnull, "-xnone", *words], check=True)
    assert [name for name in needed(tmp_path / "libplanted.so") if CUDA.match(name)] == ["libcuda.so.1"]


def places(path):
    """Where it looks for libraries, beside where the system does. An empty one is the present folder."""
    text = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True).stdout
    return [place for paths in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text) for place in paths.split(":")]


def test_no_library_is_looked_for_in_the_present_folder(tmp_path):
    """Whoever has left one there would have it loaded."""
    bad = lambda path: [place for place in places(path) if not place.startswith(("/", "$ORIGIN"))]
    assert not {path.name: found for path in built() if (found := bad(path))}
    for name, words in (("empty", "/usr/lib:"), ("relative", "lib")):
        subprocess.run(["cc", "-shared", "-o", tmp_path / name, "-xc", os.devnull, f"-Wl,-rpath,{words}"], check=True)
        assert bad(tmp_path / name)


def libraries_of(path):
    text = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    assert not CUDA.search(text), text
    assert "not found" not in text, text
    return re.findall(r"(/\S+) \(0x", text)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A root with cs-run and the libraries that the loader wants for it; no other program."""
    root = tmp_path_factory.mktemp("root")
    for path in (str(BIN / "cs-run"), *libraries_of(BIN / "cs-run")):
        target = root / ("cs-run" if path == str(BIN / "cs-run") else path.lstrip("/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for name in ("tmp", "dev", "proc"):
        (root / name).mkdir()
    return root


def run(root, *arguments, **environment):
    script = 'mount --rbind /proc "$1/proc" && exec chroot "$1" /cs-run "${@:2}"'
    command = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() != 0 else []), "bash", "-c", script, "bash", root, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={"PATH": os.environ["PATH"], **environment})


def skip_without_chroot(done):
    if re.search(r"unshare failed|Operation not permitted|permission denied|cannot change root", done.stderr):
        pytest.skip(f"needs the right to change the root: {done.stderr.strip()}")


def test_trains_in_a_bare_root(root, tmp_path):
    plan = compile_plan((EXAMPLES / "digits.mlir").read_text(), tmp_path / "digits.plan")
    for path in (plan, EXAMPLES / "digits.init.safetensors", EXAMPLES / "digits.train.npz"):
        shutil.copy(path, root)
    done = run(root, "/digits.plan", "--init", "/digits.init.safetensors", "--batch", "/digits.train.npz", "--steps", "3",
               LD_DEBUG="libs")
    skip_without_chroot(done)
    # The loader says what is looked for, by dlopen too.
    looked_for = set(re.findall(r"find library=(\S+)", done.stderr))
    assert done.returncode == 0, done.stderr[-2000:]
    assert looked_for and not [name for name in looked_for if CUDA.match(name)], looked_for


def test_says_what_is_missing_in_a_bare_root(root, tmp_path):
    (tmp_path / "cluster.mlir").write_text(CLUSTER)
    shutil.copy(compile_plan((EXAMPLES / "digits.mlir").read_text(), tmp_path / "cuda.plan",
                             f"--cs-all-reduce-pipeline=cluster={tmp_path / 'cluster.mlir'}"), root)
    for name in ("/digits.init.safetensors", "/digits.train.npz"):
        shutil.copy(EXAMPLES / name.lstrip("/"), root)
    done = run(root, "/cuda.plan", "--init", "/digits.init.safetensors", "--batch", "/digits.train.npz", "--steps", "1")
    skip_without_chroot(done)
    assert done.returncode == 1
    assert re.fullmatch(r"cs-run: .*(plan is for CUDA devices: no CUDA driver: libcuda\.so\.1: .*|must be of kind cpu to run it, got: cuda.*)\n",
                        done.stderr), done.stderr
