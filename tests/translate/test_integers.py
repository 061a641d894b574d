# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of the smallest, the largest and other integers, of values and of constants, against Python's integers.
What MLIR leaves undefined (a division by zero, a shift by the width, the smallest number by -1) is what fragments make of
it, docs/fragments.md; a division by zero that is rounded down or up is left out."""
import numpy as np
import pytest

from harness import run
from test_fragments import generic

TYPES = {"i8": np.int8, "i32": np.int32, "i64": np.int64}


def bits_of(element):
    return int(element[1:])


def unsigned(x, bits):
    return x % 2**bits


def power(x, n, bits):
    if n >= 0:
        return pow(x, n, 2**bits)
    return {1: 1, -1: -1 if n % 2 else 1}.get(x, 0)


def divides(x, y, bits):
    return y != 0 and not (y == -1 and x == -2**(bits - 1))


def toward_zero(x, y):
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def quotient(x, y):
    return toward_zero(x, y) if y else -1


def shifted_left(x, y, bits):
    return x << y if 0 <= y < bits else 0


def shifted_right(x, y, bits):
    """Behind the last bit is the sign."""
    return x >> (y if 0 <= y < bits else bits)


ANY = lambda x, y, bits: True  # noqa: E731
# What it is, and where it is defined.
BINARY = {
    "arith.addi": (lambda x, y, b: x + y, ANY), "arith.subi": (lambda x, y, b: x - y, ANY),
    "arith.muli": (lambda x, y, b: x * y, ANY), "arith.andi": (lambda x, y, b: x & y, ANY),
    "arith.ori": (lambda x, y, b: x | y, ANY), "arith.xori": (lambda x, y, b: x ^ y, ANY),
    "arith.maxsi": (lambda x, y, b: max(x, y), ANY), "arith.minsi": (lambda x, y, b: min(x, y), ANY),
    "arith.maxui": (lambda x, y, b: max(x, y, key=lambda v: unsigned(v, b)), ANY),
    "arith.minui": (lambda x, y, b: min(x, y, key=lambda v: unsigned(v, b)), ANY),
    "arith.divsi": (lambda x, y, b: quotient(x, y), ANY), "arith.remsi": (lambda x, y, b: x - quotient(x, y) * y, ANY),
    "arith.floordivsi": (lambda x, y, b: x // y, divides), "arith.ceildivsi": (lambda x, y, b: -(-x // y), divides),
    "arith.divui": (lambda x, y, b: quotient(unsigned(x, b), unsigned(y, b)), ANY),
    "arith.remui": (lambda x, y, b: unsigned(x, b) % unsigned(y, b) if y else x, ANY),
    "arith.ceildivui": (lambda x, y, b: -(-unsigned(x, b) // unsigned(y, b)), lambda x, y, b: y != 0),
    "arith.shli": (shifted_left, ANY), "arith.shrsi": (shifted_right, ANY),
    "arith.shrui": (lambda x, y, b: shifted_right(unsigned(x, b), y, b), ANY),
    "math.ipowi": (power, lambda x, y, b: not (x == 0 and y < 0))}
UNARY = {
    "math.absi": lambda x, b: abs(x), "math.ctpop": lambda x, b: bin(unsigned(x, b)).count("1"),
    "math.ctlz": lambda x, b: b - unsigned(x, b).bit_length(),
    "math.cttz": lambda x, b: b if x == 0 else (unsigned(x, b) & -unsigned(x, b)).bit_length() - 1}


def numbers(bits):
    least, most = -2**(bits - 1), 2**(bits - 1) - 1
    return [0, 1, 2, 3, 5, bits - 1, 100, most - 1, most, -1, -2, -3, -7, -100, least + 1, least]


def wrap(x, element):
    bits = bits_of(element)
    return TYPES[element]((x + 2**(bits - 1)) % 2**bits - 2**(bits - 1))


def wrong(op, got, arguments, function, element):
    want = [wrap(function(*(int(v) for v in combination), bits_of(element)), element) for combination in zip(*arguments)]
    return [(op, *combination, g, w) for *combination, g, w in zip(*arguments, got, want) if g != w]


def pairs(op, element, keep=lambda x, y: True):
    _, defined = BINARY[op]
    bits = bits_of(element)
    every = [(x, y) for x in numbers(bits) for y in numbers(bits) if defined(x, y, bits) and keep(x, y)]
    return [np.array(v, TYPES[element]) for v in zip(*every)]


def in_step(op, name, arguments, element, inputs):
    """The op on tensors of values; how it is written, for a result `%r<name>`."""
    tensor = f"tensor<{len(arguments[0])}x{element}>"
    operands = ", ".join(f"%x{i}" for i in range(len(arguments)))
    return tensor, f"\n    %e{name} = tensor.empty() : {tensor}" + generic(
        f"%r{name}", ["(i) -> (i)"] * (len(arguments) + 1), "p", inputs, [tensor] * len(arguments), f"%e{name}", tensor,
        f"%m = {op} {operands} : {element}\nlinalg.yield %m : {element}", element)


@pytest.mark.parametrize("element", TYPES)
def test_operations_of_values(tmp_path, element):
    body, tensors, results, given, checks = "", [], [], [], []
    for k, op in enumerate([*BINARY, *UNARY]):
        arguments = pairs(op, element) if op in BINARY else [np.array(numbers(bits_of(element)), TYPES[element])]
        tensor, text = in_step(op, k, arguments, element, [f"%a{len(tensors) + i}" for i in range(len(arguments))])
        body, tensors, results = body + text, tensors + [tensor] * len(arguments), [*results, tensor]
        given += arguments
        checks.append((op, arguments, BINARY[op][0] if op in BINARY else UNARY[op]))
    body += f"\n    cs.return {', '.join(f'%r{k}' for k in range(len(results)))} : {', '.join(results)}"
    _, found, _ = run(tmp_path, tensors, results, body, values=given)
    bad = [w for (op, arguments, function), got in zip(checks, found) for w in wrong(op, got, arguments, function, element)]
    assert not bad, bad[:20]


@pytest.mark.parametrize("element", TYPES)
def test_operations_of_constants(tmp_path, element):
    body, results, checks = "", [], []
    for x in numbers(bits_of(element)):
        body += f"\n    %c{unsigned(x, 64)} = arith.constant {x} : {element}"
    for k, op in enumerate([*BINARY, *UNARY]):
        arguments = pairs(op, element) if op in BINARY else [np.array(numbers(bits_of(element)), TYPES[element])]
        tensor = f"tensor<{len(arguments[0])}x{element}>"
        names = []
        for i, combination in enumerate(zip(*arguments)):
            names.append(f"%v{k}_{i}")
            operands = ", ".join(f"%c{unsigned(int(v), 64)}" for v in combination)
            body += f"\n    {names[-1]} = {op} {operands} : {element}"
        body += f"\n    %r{k} = tensor.from_elements {', '.join(names)} : {tensor}"
        results.append(tensor)
        checks.append((op, arguments, BINARY[op][0] if op in BINARY else UNARY[op]))
    body += f"\n    cs.return {', '.join(f'%r{k}' for k in range(len(results)))} : {', '.join(results)}"
    _, found, _ = run(tmp_path, [f"tensor<1x{element}>"], results, body)
    bad = [w for (op, arguments, function), got in zip(checks, found) for w in wrong(op, got, arguments, function, element)]
    assert not bad, bad[:20]


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("op", BINARY)
def test_operations_of_a_value_and_a_constant(tmp_path, element, op):
    body, tensors, results, given, checks = "", [], [], [], []
    least, most = -2**(bits_of(element) - 1), 2**(bits_of(element) - 1) - 1
    for number in (0, 1, -1, 2, -2, 5, bits_of(element) - 1, least, most):
        for left in (True, False):
            arguments = pairs(op, element, lambda x, y: (x if left else y) == number)
            if not arguments:
                continue
            k = len(results)
            tensor, text = in_step(op, k, arguments[:1], element, [f"%a{k}"])
            operands = f"%c{k}, %x0" if left else f"%x0, %c{k}"
            body += f"\n    %c{k} = arith.constant {number} : {element}" + text.replace(f"{op} %x0 :", f"{op} {operands} :")
            tensors, results = [*tensors, tensor], [*results, tensor]
            given.append(arguments[1] if left else arguments[0])
            checks.append(arguments)
    body += f"\n    cs.return {', '.join(f'%r{k}' for k in range(len(results)))} : {', '.join(results)}"
    _, found, _ = run(tmp_path, tensors, results, body, values=given)
    bad = [w for arguments, got in zip(checks, found) for w in wrong(op, got, arguments, BINARY[op][0], element)]
    assert not bad, bad[:20]
