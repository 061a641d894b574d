# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Metrics in files, and progress."""
import json
import math
import os
import struct
import sys
import types

import pytest

import commsched
import session_model
from commsched import following

needs_tools = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


def test_checksum():
    # RFC 3720, B.4
    assert following.crc32c(b"123456789") == 0xe3069283
    assert following.crc32c(bytes(32)) == 0x8a9136aa
    assert following.crc32c(bytes(range(32))) == 0x46dd794e


def masked(content):
    crc = following.crc32c(content)
    return (((crc >> 15) | (crc << 17)) + 0xa282ead8) & 0xffffffff


def fields(message):
    """[(number, value)] of a protocol buffer message."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(message):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value, at = message[at:at + size], at + size
        found.append((key >> 3, value))
    return found


def events(path):
    content, found = path.read_bytes(), []
    while content:
        (size,) = struct.unpack("<Q", content[:8])
        assert struct.unpack("<I", content[8:12])[0] == masked(content[:8])
        event = content[12:12 + size]
        assert struct.unpack("<I", content[12 + size:16 + size])[0] == masked(event)
        found.append(dict(fields(event)))
        content = content[16 + size:]
    return found


def test_tensorboard(tmp_path):
    writer = commsched.TensorBoard(tmp_path / "runs")
    writer.write(1, {"loss": 0.5, "accuracy": 0.25})
    writer.write(300, {"loss": -2.0})
    writer.close()
    (path,) = (tmp_path / "runs").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    first, second, third = events(path)
    assert first[3] == b"brain.Event:2" and struct.unpack("<d", first[1])[0] > 1.7e9
    assert second[2] == 1 and third[2] == 300
    values = [dict(fields(value)) for _, value in fields(second[5])]
    assert [(v[1], struct.unpack("<f", v[2])[0]) for v in values] == [(b"loss", 0.5), (b"accuracy", 0.25)]
    ((_, value),) = fields(third[5])
    assert struct.unpack("<f", dict(fields(value))[2])[0] == -2.0


def test_files_of_tensorboard_come_one_after_the_other(tmp_path, monkeypatch):
    """It reads them by their names, wherever the clock is set meanwhile; others' files are of no importance."""
    for name in ("events.out.tfevents.", "events.out.tfevents.x.y", f"events.out.tfevents.{'9' * 20}.host", "events"):
        (tmp_path / name).touch()
    others, made = set(os.listdir(tmp_path)), []
    for now in (1.8e9, 1.7e9, 1.7e9, 1.9e9, 1e9):
        monkeypatch.setattr("time.time", lambda: now)
        commsched.TensorBoard(tmp_path).close()
        made += set(os.listdir(tmp_path)) - others - set(made)
    assert len(made) == 5 and made == sorted(made)


def test_json_lines(tmp_path):
    for step in (1, 2):  # added to
        writer = commsched.JsonLines(tmp_path / "metrics.jsonl")
        writer.write(step, {"loss": math.nan if step == 2 else 0.1})
        writer.close()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [(line["step"], line["loss"]) for line in lines] == [(1, 0.1), (2, None)] and lines[0]["time"] > 1.7e9


class Kept:
    def __init__(self):
        self.steps = []

    def write(self, step, metrics):
        self.steps.append((step, metrics["loss"]))


@needs_tools
def test_of_a_run(tmp_path, capsys, monkeypatch):
    made, kept, file = session_model.program(), Kept(), commsched.JsonLines(tmp_path / "metrics.jsonl")
    batches = [session_model.batch(i) for i in range(5)]
    first = made.run(batches[:3], log=[kept, file])
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    second = made.run(batches[3:], log=kept, progress=True)
    assert kept.steps == [(i + 1, m["loss"]) for i, m in enumerate(first + second)]
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 3
    assert "2/2 steps" in capsys.readouterr().err

    class Bar:
        def __init__(self, total, unit):
            self.total, self.done, self.closed = total, 0, False
            bars.append(self)

        def set_postfix(self, values, refresh):
            self.values = values

        def update(self):
            self.done += 1

        def close(self):
            self.closed = True
    bars = []
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    made.run(iter(batches[:2]), progress=True)
    (bar,) = bars
    assert (bar.total, bar.done, bar.closed) == (None, 2, True) and set(bar.values) == {"loss"}

    class Broken:
        def write(self, step, metrics):
            raise OSError("no room")
    with pytest.raises(OSError, match="no room"):
        made.run(batches, log=Broken())
    assert made.steps >= 8  # those that were called are done
    for wrong, match in ((dict(log=3), "log must be"), (dict(progress=3), "progress must be True or False, got: 3")):
        with pytest.raises(ValueError, match=match):
            made.run(batches, **wrong)
    made.close()
