# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cuts and fuses the all-reduces of a printed level-2 module, however one likes.

All gradients, in the order in which they are made, are one long row of elements.
Messages are pieces of that row: what is summed is the same as without them.
"""
import math
import re

TYPE = r"!cs\.placed<tensor<([0-9x]*)f32>, device 0>"
START = re.compile(
    r' *%(\w+) = cs\.start "([^"]+)"(?: priority (\d+))? \((%[\w#]+)\) : \((' + TYPE + r")\) -> .*\{\n"
    r".*\^bb0.*\n +%\w+ = cs\.all_reduce \"[^\"]+\" (\w+) .*\n.*cs\.return.*\n +\}\n")
AWAIT = r" *%(\w+) = cs\.await %{} : .*\n"


def placed(elements):
    return f"!cs.placed<tensor<{elements}xf32>, device 0>"


class Tensor:
    def __init__(self, match):
        self.match = match
        self.future, self.key, priority, self.value, self.type, shape, self.reduction = match.groups()
        self.priority = int(priority or 0)
        self.elements = math.prod(int(dim) for dim in shape.split("x") if dim)
        self.pieces = []  # (message, begin in it, end in it)


class Message:
    def __init__(self, index):
        self.name = f"segment{index}"
        self.pieces = []  # (tensor, begin, end)
        self.elements = 0

    def start(self, gather_priority):
        pieces = ", ".join(f"{t.value}[{begin}, {end}]" for t, begin, end in self.pieces)
        types = ", ".join(t.type for t, _, _ in self.pieces)
        own = placed(self.elements)
        priority = min(t.priority for t, _, _ in self.pieces)
        gather = "" if gather_priority is None else f" gather_priority {gather_priority}"
        return (f"    %{self.name} = cs.pack {pieces} : {types} -> {own}\n"
                f'    %{self.name}.f = cs.start "{self.name}" priority {priority}{gather} (%{self.name}) : '
                f"({own}) -> !cs.future<{own}> {{\n    ^bb0(%x: {own}):\n"
                f'      %r = cs.all_reduce "{self.name}" {self.pieces[0][0].reduction} %x : {own}\n'
                f"      cs.return %r : {own}\n    }}\n")


def segment(text, sizes, gather_priority=lambda index: None):
    """`text` with messages of sizes() elements, an iterator; the last is what is left."""
    tensors = [Tensor(match) for match in START.finditer(text)]
    messages = []
    room = 0
    for tensor in tensors:
        at = 0
        while at < tensor.elements:
            if room == 0:
                messages.append(Message(len(messages)))
                room = next(sizes)
            message = messages[-1]
            count = min(room, tensor.elements - at)
            message.pieces.append((tensor, at, at + count))
            tensor.pieces.append((message, message.elements, message.elements + count))
            message.elements += count
            at += count
            room -= count
    for tensor in tensors:
        own = [(i, m) for i, m in enumerate(messages) if m.pieces[-1][0] is tensor]
        text = text.replace(tensor.match.group(0), "".join(m.start(gather_priority(i)) for i, m in own))
    awaited = set()
    for match in [re.search(AWAIT.format(t.future), text) for t in tensors]:
        assert match, "every start has its await"
    # In the order of the text: a message is awaited before it is first used.
    found = sorted(((re.search(AWAIT.format(t.future), text), t) for t in tensors), key=lambda f: f[0].start())
    for match, tensor in found:
        new = ""
        for message, _, _ in tensor.pieces:
            if message.name not in awaited:
                awaited.add(message.name)
                new += (f"    %{message.name}.r = cs.await %{message.name}.f : "
                        f"!cs.future<{placed(message.elements)}>\n")
        pieces = ", ".join(f"%{m.name}.r[{begin}, {end}]" for m, begin, end in tensor.pieces)
        types = ", ".join(placed(m.elements) for m, _, _ in tensor.pieces)
        new += f"    %{match.group(1)} = cs.unpack {pieces} : {types} -> {tensor.type}\n"
        text = text.replace(match.group(0), new)
    return text, messages
