# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What drawn programs of tests of passes share: a step that grows by arguments, lines and results, and calls of tools."""
import pathlib
import subprocess
import sys

from option_modules import cluster


def tensor(shape, element="f32"):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


class DrawnProgram:
    def __init__(self, rng, nodes, **of_cluster):
        self.rng, self.nodes, self.cluster = rng, nodes, cluster(nodes, **of_cluster)
        self.arguments, self.body, self.batches, self.count = [], [], {}, 0
        self.results = []  # (value, its type with attributes, its type)

    def name(self, of):
        self.count += 1
        return f"{of}{self.count}"

    def text(self):
        values, attributes, types = zip(*self.results)
        body = "\n  ".join(self.body)
        return (self.cluster + f"func.func @step({', '.join(self.arguments)}) -> ({', '.join(attributes)}) "
                f"attributes {{cs.step}} {{\n  {body}\n  return {', '.join('%' + v for v in values)} : {', '.join(types)}\n}}\n")


def call(*command):
    """What a tool says beside its output."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stderr}"
    return done.stderr


def main(check):
    """check(cs_opt, folder, seed) as the command line says: CS_OPT FOLDER SEED COUNT."""
    cs_opt, folder, first, count = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(first, first + count):
        check(cs_opt, folder, seed)
