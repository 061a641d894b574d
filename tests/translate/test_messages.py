# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random messages of pieces of tensors: whatever lies where, every value is what the program says.

The plan runs here on elements that say what they are, over several steps, in any
order that its dependences allow: a communication takes time, in which its memory
holds neither what was nor what will be. Parts of it may be there before it ends, in
any order, and stay as they are until then."""
import random

import pytest

from plan_reader import read_plan, translate

STEPS = 4
ARENA, CURRENT, NEXT, _, PART = range(5)
CLUSTER = """cs.cluster @pair nodes = 2 devices = 1 device = <kind = cpu, gflops = 1, gb_per_s = 1>
    intra = <mbit_per_s = 1, latency_ns = 0> inter = <mbit_per_s = 1, latency_ns = 0>
"""
EXCHANGE = """
    %r = cs.exchange %x chunks 1 rounds 1 sum
        send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1 - r)>>
        recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (1 - r)>> : {type}
    cs.return %r : {type}
  }}
"""
COST = "cost <flops = 1, bytes = 1, ns = 1>"


def placed(elements):
    return f"!cs.placed<tensor<{elements}xf32>, device 0>"


def make_messages(rng, sizes):
    """Messages of [tensor, begin, end], each element in one; and tensors with another user."""
    order = list(range(len(sizes)))
    rng.shuffle(order)
    row = [[tensor, 0, sizes[tensor]] for tensor in order]
    messages = []
    while row:
        room = rng.choice([1, 2, 5, 9, 30])
        messages.append([])
        while row and room > 0:
            tensor, begin, end = row[0]
            count = min(room, end - begin)
            messages[-1].append([tensor, begin, begin + count])
            room -= count
            row[0][1] += count
            if row[0][1] == end:
                row.pop(0)
    if rng.random() < 0.4:
        # Other neighbours than they can have.
        pieces = [piece for message in messages for piece in message]
        rng.shuffle(pieces)
        messages = []
        while pieces:
            count = rng.randint(1, 3)
            messages.append(pieces[:count])
            del pieces[:count]
    used = [tensor for tensor in order if rng.random() < 0.15]
    return messages, used


def write(rng, sizes, messages, used, by_part):
    """The level-2 module. Update i gets the sum of tensor i."""
    n = len(sizes)
    types = [placed(size) for size in sizes]
    arguments = ", ".join(f'%w{i}: {t} {{cs.param = "w{i}"}}' for i, t in enumerate(types))
    results = ", ".join(f'{t} {{cs.updates = "w{i}"}}' for i, t in enumerate(types))
    text = CLUSTER + f"func.func @step({arguments}) -> ({results}) attributes {{cs.step}} {{\n"
    made = set()
    waiting = list(enumerate(messages))
    for i in rng.sample(range(n), n):
        text += f'  %g{i} = cs.fragment "make.{i}" on 0 (%w{i}) {COST} : ({types[i]}) -> {types[i]}\n'
        made.add(i)
        for m, pieces in list(waiting):
            if not all(tensor in made for tensor, _, _ in pieces):
                continue
            waiting.remove((m, pieces))
            own = placed(sum(end - begin for _, begin, end in pieces))
            parts = f" parts {[end - begin for _, begin, end in pieces]}" if by_part and len(pieces) > 1 else ""
            text += (f"  %m{m} = cs.pack " + ", ".join(f"%g{t}[{b}, {e}]" for t, b, e in pieces) + " : " +
                     ", ".join(types[t] for t, _, _ in pieces) + f" -> {own}\n"
                     f'  %f{m} = cs.start "m{m}"{parts} (%m{m}) : ({own}) -> !cs.future<{own}> {{\n  ^bb0(%x: {own}):' +
                     EXCHANGE.format(type=own))
    for i in used:
        text += f'  cs.fragment "read.{i}" on 0 (%g{i}) {COST} : ({types[i]}) -> ()\n'
    where = {}  # (tensor, begin) -> end, message, begin in it
    for m, pieces in enumerate(messages):
        own = placed(sum(end - begin for _, begin, end in pieces))
        text += f"  %r{m} = cs.await %f{m} : !cs.future<{own}>\n"
        at = 0
        for tensor, begin, end in pieces:
            where[tensor, begin] = end, m, at, own
            at += end - begin
    for i in rng.sample(range(n), n):
        pieces, at = [], 0
        while at < sizes[i]:
            end, m, begin, own = where[i, at]
            pieces.append((f"%r{m}[{begin}, {begin + end - at}]", own))
            at = end
        text += (f"  %u{i} = cs.unpack " + ", ".join(p for p, _ in pieces) + " : " +
                 ", ".join(t for _, t in pieces) + f" -> {types[i]}\n"
                 f'  %n{i} = cs.fragment "update.{i}" on 0 (%w{i}, %u{i}) deferred {COST} : '
                 f"({types[i]}, {types[i]}) -> {types[i]}\n")
    return text + "  return " + ", ".join(f"%n{i}" for i in range(n)) + " : " + ", ".join(types) + "\n}\n"


class Machine:
    """Elements are tuples that say what they are."""

    def __init__(self, function, sizes):
        self.function = function
        self.arena = [None] * (function.arena_bytes // 4)
        self.slots = [[[("w", i, 0, e) for e in range(n)] for i, n in enumerate(sizes)],
                      [[None] * n for n in sizes]]
        self.names = None

    def place(self, buffer, step):
        """The memory of a buffer, and where in it."""
        info = self.function.buffers[buffer]
        at = info.offset
        if info.kind == PART:
            info = self.function.buffers[info.parent]
            at += info.offset
        count = 1
        for dim in self.function.buffers[buffer].type.shape:
            count *= dim
        memory = (self.arena if info.kind == ARENA
                  else self.slots[(step + (info.kind == NEXT)) % 2][self.names[info.slot]])
        assert at % 4 == 0
        return memory, at // 4, at // 4 + count

    def get(self, buffer, step):
        memory, begin, end = self.place(buffer, step)
        assert 0 <= begin <= end <= len(memory)
        return memory[begin:end]

    def set(self, buffer, step, values):
        memory, begin, end = self.place(buffer, step)
        assert end - begin == len(values)
        memory[begin:end] = values

    def begin(self, instruction, step):
        """What is left to do when a part of it is there, and when it ends."""
        if instruction.communicate:
            communicate = instruction.communicate
            source = communicate.input if communicate.has_input else communicate.buffer
            values = self.get(source, step)
            now = [("partial", v) for v in values]
            self.set(communicate.buffer, step, now)

            def change(begin, end):
                assert self.get(communicate.buffer, step) == now, "written while it is communicated"
                now[begin:end] = [("sum", v) for v in values[begin:end]]
                self.set(communicate.buffer, step, now)

            def release(part):
                at = sum(communicate.part_bytes[:part]) // 4
                change(at, at + communicate.part_bytes[part] // 4)
            assert sum(communicate.part_bytes) in (0, 4 * len(values))
            return release, lambda: change(0, len(values))
        if instruction.copy:
            self.set(instruction.copy.target, step, self.get(instruction.copy.source, step))
            return None, lambda: None
        kind, i = instruction.name.split(".")
        i = int(i)
        inputs = [self.get(b, step) for b in instruction.delay.inputs]
        size = len(inputs[0])
        weights = [("w", i, step, e) for e in range(size)]
        made = [("g", i, step, e) for e in range(size)]
        if kind == "read":
            assert inputs == [made]
        elif kind == "make":
            assert inputs == [weights]
            self.set(instruction.delay.outputs[0], step, made)
        else:
            assert inputs == [weights, [("sum", v) for v in made]]
            self.set(instruction.delay.outputs[0], step, [("w", i, step + 1, e) for e in range(size)])
        return None, lambda: None


def run(rng, plan, sizes):
    """STEPS steps in an order that the dependences allow, any of them."""
    function = plan.functions[0]
    machine = Machine(function, sizes)
    machine.names = {k: int(slot.name[1:]) for k, slot in enumerate(plan.slots)}
    instructions = function.instructions
    stream = [(t, i) for t in range(STEPS) for i, x in enumerate(instructions) if not x.deferred and not x.communicate]
    left = {(t, i) for t in range(STEPS) for i in range(len(instructions))}
    done, running, parts = set(), {}, set()
    while left or running:
        def ready(t, i):
            if any((t - d.distance, d.instruction) not in done and (t - d.distance, d.instruction, d.part) not in parts
                   for d in instructions[i].dependences if t >= d.distance):
                return False
            if (t, i) in stream and stream[0] != (t, i):
                return False
            return t < 2 or all((t - 2, j) in done for j in range(len(instructions)))
        first = min((t for t, _ in left), default=0)
        choices = [x for x in sorted(left) if x[0] <= first + 1 and ready(*x)] + sorted(running) + [
            (t, i, part) for t, i in sorted(running) for part in range(len(instructions[i].communicate.part_bytes))
            if (t, i, part) not in parts]
        assert choices, "nothing can go on"
        choice = rng.choice(choices)
        if len(choice) == 3:
            running[choice[:2]][0](choice[2])
            parts.add(choice)
            continue
        if choice in running:
            running.pop(choice)[1]()
            done.add(choice)
            continue
        left.remove(choice)
        end = machine.begin(instructions[choice[1]], choice[0])
        if choice in stream:
            stream.pop(0)
        if instructions[choice[1]].communicate:
            running[choice] = end
        else:
            done.add(choice)
    for i, size in enumerate(sizes):
        assert machine.slots[STEPS % 2][i] == [("w", i, STEPS, e) for e in range(size)]


@pytest.mark.parametrize("by_part", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_random_messages(seed, by_part, tmp_path):
    rng = random.Random(seed)
    sizes = [rng.choice([1, 2, 3, 7, 20]) for _ in range(rng.randint(1, 6))]
    messages, used = make_messages(rng, sizes)
    text = write(rng, sizes, messages, used, by_part)
    plan = read_plan(translate(text, tmp_path))
    # Who reads part of a message waits for that alone; copies do, too.
    waits = [d.part is not None for x in plan.functions[0].instructions for d in x.dependences if d.distance == 0
             and plan.functions[0].instructions[d.instruction].communicate and not x.communicate]
    assert any(waits) == (by_part and any(len(pieces) > 1 for pieces in messages))
    for _ in range(5):
        run(rng, plan, sizes)
    # Intervals of one row of tensors that nobody else needs: a chain.
    row = [piece for message in messages for piece in message]
    chain = not used and all(a[0] != b[0] or a[2] == b[1] for a, b in zip(row, row[1:])) and len(
        {t for t, _, _ in row}) == 1 + sum(a[0] != b[0] for a, b in zip(row, row[1:]))
    if chain:
        assert not any(x.copy for x in plan.functions[0].instructions)
