# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pip is told of the package, and how an installed one finds its tools. The wheel itself is for scripts/wheel.sh."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

from commsched import native, tools
from commsched.errors import ToolError

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SCIKIT = PYPROJECT["tool"]["scikit-build"]


def test_one_place_describes_the_package():
    names = {"pyproject.toml", "setup.py", "setup.cfg"}
    left_out = {"build", "out", ".venv", ".git"}
    found = []
    for folder, folders, files in os.walk(ROOT):
        if folder == str(ROOT):
            folders[:] = set(folders) - left_out
        found += [os.path.join(folder, name) for name in names.intersection(files)]
    assert found == [str(ROOT / "pyproject.toml")]


def test_version_is_that_of_the_tools():
    assert PYPROJECT["project"]["dynamic"] == ["version"] and "version" not in PYPROJECT["project"]
    source = SCIKIT["metadata"]["version"]
    found = re.search(source["regex"], (ROOT / source["input"]).read_text())
    said = subprocess.run([tools.find("cs-opt"), "--version"], capture_output=True, text=True, check=True).stdout
    assert f"cs-opt {found['value']} " in said
    # None of the sources repeats it.
    assert found["value"] not in (ROOT / "pyproject.toml").read_text()


def test_every_tool_is_a_command():
    # Folders of tools/ that make a program: not the library of others, and what no shell calls.
    made = {path.parent.name for path in (ROOT / "tools").glob("*/CMakeLists.txt")
            if re.search(rf"(commsched_mlir_tool|add_executable)\({path.parent.name}\b", path.read_text())}
    scripts = PYPROJECT["project"]["scripts"]
    assert set(scripts) == made and len(made) == 4
    assert set(scripts.values()) == {"commsched_scripts:main"}


def test_types_and_extras():
    assert (ROOT / "python_api/commsched/py.typed").read_bytes() == b""
    assert {"jax", "torch", "tqdm"} <= set(PYPROJECT["project"]["optional-dependencies"])
    assert all((ROOT / path).exists() for path in SCIKIT["wheel"]["packages"])
    assert (ROOT / PYPROJECT["build-system"]["backend-path"][0] / f"{PYPROJECT['build-system']['build-backend']}.py").exists()


def test_a_wheel_is_compiled_as_the_release_preset():
    """Else neither finds in the compiler cache what the other has compiled."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    release = next(preset for preset in presets if preset["name"] == "release")["cacheVariables"]
    defined = SCIKIT["cmake"]["define"]
    assert release == {"CMAKE_BUILD_TYPE": SCIKIT["cmake"]["build-type"], "COMMSCHED_UNITY": defined["COMMSCHED_UNITY"]}
    known = "".join(path.read_text() for path in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")])
    assert [name for name in defined if name.startswith("COMMSCHED_") and not re.search(rf"(option|set)\({name} ", known)] == []


def tool(folder: pathlib.Path, name: str) -> pathlib.Path:
    """A program that says where it is, and its arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text('#!/bin/sh\necho "$0" "$@"\n')
    path.chmod(0o755)
    return path


def test_where_tools_are_found(tmp_path, monkeypatch):
    package = tmp_path / "site" / "commsched"
    monkeypatch.setattr(tools, "__file__", str(package / "tools.py"))
    monkeypatch.delenv("COMMSCHED_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    with pytest.raises(ToolError, match="cs-opt was not found"):
        tools.find("cs-opt")
    expected = []
    for folder in (tmp_path / "path", package / "_bin", tmp_path / "told"):  # the later, the sooner
        expected.append(str(tool(folder, "cs-opt")))
        if folder.name == "told":
            monkeypatch.setenv("COMMSCHED_BIN", str(folder))
        assert tools.find("cs-opt") == expected[-1]


def test_where_the_library_is_found(tmp_path, monkeypatch):
    package = tmp_path / "site" / "commsched"
    monkeypatch.setattr(native, "__file__", str(package / "native.py"))
    monkeypatch.delenv("COMMSCHED_BIN", raising=False)
    with pytest.raises(ToolError, match="libcommsched_c.so was not found"):
        native._find()
    mine = tool(package / "lib", "libcommsched_c.so")
    assert native._find() == str(mine)
    told = tool(tmp_path / "told" / "lib", "libcommsched_c.so")
    monkeypatch.setenv("COMMSCHED_BIN", str(tmp_path / "told" / "bin"))
    assert native._find() == str(told)


def test_what_cmake_has_installed_is_found(tmp_path, monkeypatch):
    monkeypatch.delenv("COMMSCHED_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    tool(tmp_path / "path", "cs-opt")
    for libraries in ("lib", "lib64", "lib/x86_64-linux-gnu"):
        prefix = tmp_path / libraries.replace("/", "-")
        package = prefix / libraries / "commsched" / "python" / "commsched"
        monkeypatch.setattr(tools, "__file__", str(package / "tools.py"))
        monkeypatch.setattr(native, "__file__", str(package / "native.py"))
        assert tools.find("cs-opt") == str(tmp_path / "path" / "cs-opt")
        opt, library = tool(prefix / "bin", "cs-opt"), tool(prefix / libraries, "libcommsched_c.so")
        assert (tools.find("cs-opt"), native._find()) == (str(opt), str(library))


@pytest.fixture
def site(tmp_path):
    """A folder of packages, with an empty commsched whose import fails."""
    (tmp_path / "commsched").mkdir()
    (tmp_path / "commsched" / "__init__.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "commsched_scripts.py").write_bytes((ROOT / "python_api/commsched_scripts.py").read_bytes())
    return tmp_path


def run_command(site: pathlib.Path, *arguments: str, command: "str | pathlib.Path" = "/anywhere/cs-opt") -> subprocess.CompletedProcess:
    """As the script that pip writes: cs-opt with these arguments."""
    code = f"import sys; sys.argv[0] = '{command}'; import commsched_scripts; commsched_scripts.main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], cwd=site, capture_output=True, text=True,
                          env={"PYTHONPATH": str(site)})


def test_a_command_becomes_the_tool(site):
    path = tool(site / "commsched" / "_bin", "cs-opt")
    done = run_command(site, "--help", "a b", "")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{path} --help a b \n", "")


def test_a_link_to_a_command_may_have_any_name(site):
    path = tool(site / "commsched" / "_bin", "cs-opt")
    (site / "cs-opt").touch()
    (site / "mine").symlink_to("cs-opt")
    done = run_command(site, "a", command=site / "mine")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{path} a\n", "")


def test_a_command_without_its_tool_says_so(site):
    done = run_command(site)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"cs-opt: {site}/commsched/_bin/cs-opt cannot be run: No such file or directory\n"
