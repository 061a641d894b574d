# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chakra traces that others have written: read as they are meant, or refused in one line."""
import gzip
import re
import struct
import subprocess

import pytest
from built import tool

COMPUTE, COLLECTIVE = 4, 7  # NodeType
ALL_REDUCE, ALL_GATHER = 0, 2


def varint(number):
    number &= 2**64 - 1
    done = b""
    while number > 127:
        done, number = done + bytes([number & 127 | 128]), number >> 7
    return done + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


# How et_def.proto writes one number, by the kind of the attribute's value.
KINDS = {
    "int32": lambda n: number(7, n), "int64": lambda n: number(9, n), "uint32": lambda n: number(11, n), "uint64": lambda n: number(13, n),
    "sint32": lambda n: number(15, n << 1 ^ n >> 63), "sint64": lambda n: number(17, n << 1 ^ n >> 63),
    "fixed32": lambda n: varint(19 << 3 | 5) + struct.pack("<I", n), "fixed64": lambda n: varint(21 << 3 | 1) + struct.pack("<Q", n),
    "sfixed32": lambda n: varint(23 << 3 | 5) + struct.pack("<i", n), "sfixed64": lambda n: varint(25 << 3 | 1) + struct.pack("<q", n),
    "double": lambda n: varint(3 << 3 | 1) + struct.pack("<d", n), "float": lambda n: varint(5 << 3 | 5) + struct.pack("<f", n),
    "string": lambda s: text(29, s)}


def attribute(name, value, kind="int64"):
    return text(10, text(1, name) + KINDS[kind](value))


def node(number_, name, kind, after=(), microseconds=0, *attributes):
    return (number(1, number_) + text(2, name) + number(3, kind) + b"".join(number(5, n) for n in after)
            + (number(7, microseconds) if microseconds else b"") + b"".join(attributes))


def sum_of(number_, name, after, *attributes, kind=ALL_REDUCE, size=4096):
    own = ([attribute("comm_type", kind)] if kind is not None else []) + ([attribute("comm_size", size)] if size is not None else [])
    return node(number_, name, COLLECTIVE, after, 0, *own, *attributes)


FORWARD, BACKWARD, UPDATE = node(1, "f", COMPUTE, [], 10), node(2, "b", COMPUTE, [1], 20), node(4, "u", COMPUTE, [3], 3)


def read(folder, *nodes):
    """What becomes of a trace: the program or None, and lines of errors and warnings."""
    data = b"".join(varint(len(one)) + one for one in (text(1, "0.0.4"), *nodes))
    return read_file(folder, data)


def read_file(folder, data):
    path = folder / "step.et"
    path.write_bytes(data)
    done = subprocess.run([tool("cs-translate"), "--chakra-to-mlir", path], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    lines = [line.removeprefix(f"{path}:0:0: ") for line in done.stderr.splitlines()]
    return (done.stdout if done.returncode == 0 else None), lines


FIRST = 'warning: does not say what the next step waits for: its first node that computes, "f", is taken to need all parameters'


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "string"])
def test_numbers_of_all_kinds(tmp_path, kind):
    program, lines = read(tmp_path, node(1, "f", COMPUTE, [], 0, attribute("num_ops", 70, kind), attribute("tensor_size", 90, kind)), BACKWARD,
                          node(3, "w", COLLECTIVE, [2], 0, attribute("comm_type", ALL_REDUCE, kind), attribute("comm_size", 4096, kind)),
                          node(5, "g", COLLECTIVE, [2], 0, attribute("comm_type", ALL_GATHER, kind), attribute("comm_size", 4096, kind)), UPDATE)
    assert 'tensor<1024xf32> {cs.param = "w"}' in program and '"g"' not in program
    assert "flops = 70, bytes = 90, ns = 0" in program
    assert lines == ["warning: 1 nodes that communicate other than by an all-reduce are left out: they take no time", FIRST]


def test_each_takes_what_it_says(tmp_path):
    program, lines = read(tmp_path, FORWARD, BACKWARD, sum_of(3, "w", [2]), UPDATE)
    assert re.findall(r'cs.profiled "(\w)".* ns = (\d+)>', program) == [("f", "10000"), ("b", "20000"), ("u", "3000")]
    assert lines == [FIRST]


def test_a_sum_may_have_any_name(tmp_path):
    """That of the argument that every step has, too."""
    program, _ = read(tmp_path, FORWARD, BACKWARD, sum_of(3, "batch", [2]), UPDATE)
    assert '{cs.param = "batch.1"}' in program and '{cs.batch = "batch"}' in program
    (tmp_path / "step.mlir").write_text(program)
    subprocess.run([tool("cs-opt"), tmp_path / "step.mlir", "-o", "/dev/null"], check=True)


def test_a_trace_without_times_is_warned_of(tmp_path):
    program, lines = read(tmp_path, node(1, "f", COMPUTE), node(2, "b", COMPUTE, [1]), sum_of(3, "w", [2]), node(4, "u", COMPUTE, [3]))
    assert program and "warning: does not say what its nodes take: they compute in no time" in lines


def test_sums_over_some_of_the_ranks_are_warned_of(tmp_path):
    group = [attribute("pg_name", name, "string") for name in ("0", "1")]
    nodes = (FORWARD, BACKWARD, sum_of(3, "w", [2], group[0]), UPDATE)
    assert read(tmp_path, *nodes)[1] == [FIRST]
    for other in (sum_of(5, "activations", [1], group[1]), sum_of(5, "activations", [1])):
        assert "warning: has all-reduces of 2 groups of ranks: all are taken for sums of gradients over all ranks" in read(tmp_path, *nodes, other)[1]


HOUR = 3600 * 10**9


@pytest.mark.parametrize("bad, line", [
    (sum_of(3, "w", [2], kind=None), 'node 3 ("w") must have comm_type, which says what its collective is'),
    (sum_of(3, "w", [2], attribute("comm_type", "ALL_GATHER", "string"), kind=None), 'node 3 ("w") must have a whole number as comm_type'),
    (sum_of(3, "w", [2], kind=-1), 'node 3 ("w") must have comm_type of 0 to 2147483647, got: -1'),
    (sum_of(3, "w", [2], size=None), 'node 3 ("w") must have comm_size, the bytes of its tensor, at least 1'),
    (sum_of(3, "w", [2], size=0), 'node 3 ("w") must have comm_size, the bytes of its tensor, at least 1'),
    (sum_of(3, "w", [2], size=-4), f'node 3 ("w") must have comm_size of 0 to {2**46}, got: -4'),
    (sum_of(3, "w", [2], attribute("comm_size", 2**63 + 8, "uint64"), size=None), f'node 3 ("w") must have comm_size of 0 to {2**46}, got: {2**63 - 1}'),
    (sum_of(3, "w", [2], attribute("comm_size", 4096.5, "double"), size=None), 'node 3 ("w") must have a whole number as comm_size'),
    (sum_of(3, "w", [2], attribute("comm_size", float("nan"), "double"), size=None), 'node 3 ("w") must have a whole number as comm_size'),
    (node(3, "c", COMPUTE, [2], 2**64 - 1), f'node 3 ("c") must take an hour at most, got: {2**64 - 1} microseconds'),
    (node(3, "c", COMPUTE, [2], 2**63 // 500), f'node 3 ("c") must take an hour at most, got: {2**63 // 500} microseconds'),
    (node(3, "c", COMPUTE, [2], 1, attribute("duration_ns", -5)), f'node 3 ("c") must have duration_ns of 0 to {HOUR}, got: -5'),
    (node(3, "c", COMPUTE, [2], 1, attribute("num_ops", -1)), f'node 3 ("c") must have num_ops of 0 to {2**60}, got: -1'),
    (node(3, "c", COMPUTE, [2], 1, attribute("tensor_size", 2**64 - 1, "uint64")), f'node 3 ("c") must have tensor_size of 0 to {2**60}, got: {2**63 - 1}'),
    (node(3, "c", COMPUTE, [3], 1), "has nodes that wait for themselves"),
    (node(3, "c", COMPUTE, [77], 1), 'node 3 ("c") waits for a node that is not there, 77'),
    (node(2, "c", COMPUTE, [1], 1), "has two nodes with id 2"),
    (node(3, b"\xff\xfe", COMPUTE, [1], 1), "is no Chakra trace: node 3 is not of Chakra's schema"),
])
def test_what_makes_no_sense_is_refused(tmp_path, bad, line):
    program, lines = read(tmp_path, FORWARD, BACKWARD, sum_of(9, "v", [2]), bad)
    assert program is None and [one for one in lines if not one.startswith("warning")] == [f"error: {line}"]


@pytest.mark.parametrize("data, line", [
    (b"", "is empty"), (b"a text, and not a trace\n" * 9, "the metadata is not of Chakra's schema"),
    (gzip.compress(b"a trace"), "is compressed by gzip"), (b"\xff" * 20, "the metadata has no length")])
def test_what_is_no_trace_is_refused(tmp_path, data, line):
    assert read_file(tmp_path, data) == (None, [f"error: is no Chakra trace: {line}"])
