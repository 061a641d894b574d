# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Usage: random_combine.py CS_OPT FOLDER SEED COUNT

Random programs of level 1 with gathers, sums of all-reduced tensors and parts of them: the reference interpreter must
find the same values of all slots before and behind --combine-collectives, which must have changed something.
Gathers and integers have the same bits; sums of floating-point numbers are within the bounds of both.
"""
import pathlib
import random
import sys

import numpy
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from drawn_program import DrawnProgram, call, main, tensor  # noqa: E402

RANK = "!cs.placed<tensor<i32>, device 0>"


def placed(shape, element):
    return f"!cs.placed<{tensor(shape, element)}, device 0>"


class Program(DrawnProgram):
    def __init__(self, rng):
        super().__init__(rng, rng.randint(1, 5))
        self.exact, self.wanted = set(), []
        for _ in range(rng.randint(2, 5)):
            rng.choice([self.gather, self.gather, self.sum, self.part, self.rows])()

    def batch(self, shape, element):
        name = self.name("b")
        self.arguments.append(f'%{name}: {placed(shape, element)} {{cs.batch = "{name}"}}')
        whole = (shape[0] * self.nodes, *shape[1:])
        numbers = numpy.random.default_rng(self.rng.getrandbits(32))
        self.batches[name] = (numbers.standard_normal(whole).astype("f4") if element == "f32"
                              else numbers.integers(-1000, 1000, whole).astype("i4"))
        return name

    def keep(self, value, shape, element, exact):
        slot = self.name("s")
        self.results.append((value, f'{placed(shape, element)} {{cs.updates = "{slot}"}}', placed(shape, element)))
        if exact or element == "i32":
            self.exact.add(slot)

    def gather(self):
        shape = tuple(self.rng.randint(1, 4) for _ in range(self.rng.randint(1, 4)))
        element = self.rng.choice(["f32", "f32", "i32"])
        value, whole = self.batch(shape, element), (shape[0] * self.nodes, *shape[1:])
        made = self.name("g")
        self.body.append(f'%{made} = cs.all_gather "{made}" %{value} : {placed(shape, element)} -> {placed(whole, element)}')
        self.keep(made, whole, element, True)

    def sum(self):
        shape = tuple(self.rng.randint(1, 5) for _ in range(self.rng.randint(1, 3)))
        element = self.rng.choice(["f32", "i32"])
        letter = element[0]
        reduction = self.rng.choice(["sum", "mean"]) if element == "f32" else "sum"
        values = []
        for _ in range(self.rng.randint(2, 5)):
            value, made = self.batch(shape, element), self.name("r")
            self.body.append(f'%{made} = cs.all_reduce "{made}" {reduction} %{value} : {placed(shape, element)}')
            values.append(made)
        made, inside = self.name("f"), [f"x{i}" for i in range(len(values))]
        kind, here = placed(shape, element), tensor(shape, element)
        self.body.append(f'%{made} = cs.fragment "{made}" on 0 ({", ".join("%" + v for v in values)}) : '
                         f'({", ".join([kind] * len(values))}) -> {kind} {{\n'
                         f'  ^bb0({", ".join(f"%{x}: {here}" for x in inside)}):')
        terms = list(inside)
        while len(terms) > 1:
            a, b = (terms.pop(self.rng.randrange(len(terms))) for _ in range(2))
            to = self.name("t")
            self.body.append(f'    %{to} = arith.{self.rng.choice(["add", "sub"])}{letter} %{a}, %{b} : {here}')
            terms.append(to)
        self.body.append(f"    cs.return %{terms[0]} : {here}\n  }}")
        self.keep(made, shape, element, False)
        self.wanted.append("one all-reduce")

    def part(self):
        size = self.rng.randint(1, 3)
        rest = tuple(self.rng.randint(1, 4) for _ in range(self.rng.randint(0, 2)))
        own, whole = (size, *rest), (size * self.nodes, *rest)
        value, made, rank = self.batch(whole, "f32"), self.name("r"), self.name("n")
        self.arguments.append(f"%{rank}: {RANK} {{cs.worker_index}}")
        zeros, sizes, ones = (", ".join(map(str, list(n))) for n in ([0] * len(rest), own, [1] * len(own)))
        offsets = f"%at{', ' if rest else ''}{zeros}"
        fragment, gathered = self.name("f"), self.name("g")
        self.body.append(
            f'%{made} = cs.all_reduce "{made}" sum %{value} : {placed(whole, "f32")}\n'
            f'  %{fragment} = cs.fragment "{fragment}" on 0 (%{made}, %{rank}) : ({placed(whole, "f32")}, {RANK}) -> {placed(own, "f32")} {{\n'
            f'  ^bb0(%w: {tensor(whole, "f32")}, %n: tensor<i32>):\n'
            f'    %own = tensor.extract %n[] : tensor<i32>\n    %i = arith.index_cast %own : i32 to index\n'
            f'    %size = arith.constant {size} : index\n    %at = arith.muli %i, %size : index\n'
            f'    %part = tensor.extract_slice %w[{offsets}] [{sizes}] [{ones}] : {tensor(whole, "f32")} to {tensor(own, "f32")}\n'
            f'    %two = arith.addf %part, %part : {tensor(own, "f32")}\n'
            f'    cs.return %two : {tensor(own, "f32")}\n  }}\n'
            f'  %{gathered} = cs.all_gather "{gathered}" %{fragment} : {placed(own, "f32")} -> {placed(whole, "f32")}')
        self.keep(gathered, whole, "f32", False)
        self.wanted.append("a reduce-scatter")

    def rows(self):
        """Rows of a table, some with ids that it has not, as a sum of lists."""
        count, table = self.rng.randint(1, 4), (self.rng.randint(100, 200), self.rng.randint(1, 3))
        arguments, kinds, inside, body = [], [], [], []
        for i in range(self.rng.randint(1, 3)):
            ids, rows = self.batch((count,), "i32"), self.batch((count, table[1]), "f32")
            self.batches[ids] %= table[0] + 20
            arguments += [ids, rows]
            kinds += [((count,), "i32"), ((count, table[1]), "f32")]
            inside.append(f"    %s{i} = cs.segment_sum %i{i}, %v{i} : ({tensor((count,), 'i32')}, {tensor((count, table[1]), 'f32')}) -> {tensor(table, 'f32')}")
            if i:
                inside.append(f"    %t{i} = arith.addf %{'t' if i > 1 else 's'}{i - 1}, %s{i} : {tensor(table, 'f32')}")
        lists, last = len(arguments) // 2, "t" if len(arguments) > 2 else "s"
        here = ", ".join(f"%{'v' if i % 2 else 'i'}{i // 2}: {tensor(*kind)}" for i, kind in enumerate(kinds))
        made, reduced, whole = self.name("f"), self.name("r"), placed(table, "f32")
        self.body.append(
            f'%{made} = cs.fragment "{made}" on 0 ({", ".join("%" + a for a in arguments)}) : '
            f'({", ".join(placed(*kind) for kind in kinds)}) -> {whole} {{\n  ^bb0({here}):\n' + "\n".join(inside) +
            f'\n    cs.return %{last}{lists - 1} : {tensor(table, "f32")}\n  }}\n'
            f'  %{reduced} = cs.all_reduce "{reduced}" {self.rng.choice(["sum", "mean"])} %{made} : {whole}')
        self.keep(reduced, table, "f32", False)
        if self.nodes > 1:
            self.wanted.append("are gathered")


def check(cs_opt, folder, seed):
    program = Program(random.Random(seed))
    module, batches = folder / f"{seed}.mlir", folder / f"{seed}.batches"
    module.write_text(program.text())
    save_file(program.batches, batches)
    found = {}
    for name, passes in (("before", []), ("behind", ["--combine-collectives=gather-bytes=1000000"])):
        output = folder / f"{seed}.{name}"
        call(cs_opt, module, *passes, "--interpret=1", f"--interpret-batches={batches}", f"--interpret-output={output}")
        found[name] = load_file(output)
    said = call(cs_opt, module, "--combine-collectives=gather-bytes=1000000", "--remarks-filter=combine-collectives",
                "-o", folder / f"{seed}.combined.mlir")
    for wanted in program.wanted:
        assert wanted in said, f"seed {seed}: {wanted}: {said}"
    assert found["before"].keys() == found["behind"].keys() and found["before"]
    for name, value in found["before"].items():
        if name.endswith(".bound"):
            continue
        other = found["behind"][name]
        if name[2:] in program.exact:
            assert value.tobytes() == other.tobytes(), f"seed {seed}: {name}"
        else:
            bound = found["before"][name + ".bound"] + found["behind"][name + ".bound"]
            assert (numpy.abs(value.astype("f8") - other) <= bound).all(), f"seed {seed}: {name}"
    # What comes out can be scheduled and is a correct protocol.
    call(cs_opt, folder / f"{seed}.combined.mlir", "--schedule-comm=policy=fifo", "--expand-collectives", "--verify-distributed",
         "-o", folder / f"{seed}.level2.mlir")
    if seed % 8 == 0:
        call("cs-translate", "--mlir-to-plan", folder / f"{seed}.level2.mlir", "-o", folder / f"{seed}.plan")


if __name__ == "__main__":
    main(check)
