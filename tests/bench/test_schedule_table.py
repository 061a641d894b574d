# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which profiles bench/schedule_table.py has, whatever lies in COMMSCHED_DATA."""
import argparse
import pathlib
import shutil
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROFILES = ROOT / "examples/profiles"
sys.path.insert(0, str(ROOT / "bench"))
import schedule_table  # noqa: E402


def names(*paths, quick):
    return set(schedule_table.profiles_of(argparse.Namespace(paths=list(paths), quick=quick)))


@pytest.fixture(params=["nothing", "another model", "a model of the same name", "all of them again"])
def data(request, tmp_path, monkeypatch):
    """What a user may have in COMMSCHED_DATA; the names of its files."""
    copies = {"nothing": {}, "another model": {"vgg16": "mine"}, "a model of the same name": {"resnet50": "resnet50"},
              "all of them again": {path.stem: path.stem for path in PROFILES.glob("*.txt")}}[request.param]
    for name, copy in copies.items():
        shutil.copy(PROFILES / f"{name}.txt", tmp_path / f"{copy}.txt")
    monkeypatch.setenv("COMMSCHED_DATA", str(tmp_path))
    return set(copies.values())


def test_quick_has_the_same_two_models(data):
    assert names(quick=True) == set(schedule_table.QUICK)


def test_all_have_those_of_the_data_too(data):
    own = {path.stem for path in PROFILES.glob("*.txt")}
    assert {name.split(".")[0] for name in names(quick=False)} == own | data


def test_what_is_given_is_taken_alone(data):
    assert names(PROFILES / "vgg16.txt", quick=True) == {"vgg16"}
