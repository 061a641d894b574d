# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the trainers and parameter servers of a plan in this process, by the
rules of docs/parameter-server.md for sync mode, on plan_reader.Machine."""
import numpy as np

from plan_reader import Machine


class Server(Machine):
    """One server: slots by the names of the plan, which begin as the parts of
    `initial` that they say."""

    def __init__(self, path, index, initial, trainers):
        super().__init__(path)
        self.description = self.plan.parameter_servers.servers[index]
        self.trainers = trainers
        role = self.plan.roles[self.description.role]
        for slot in (self.plan.slots[i] for i in role.slots):
            if slot.internal:
                assert not slot.part_of
                continue
            whole = initial[slot.part_of]
            shape = tuple(slot.type.shape)
            self.slots[slot.name] = (whole[slot.row_begin:slot.row_begin + shape[0]] if shape else whole).copy()
            assert self.slots[slot.name].shape == shape
        self.scheduled = 0  # steps
        self.waiting = [{} for _ in self.description.blocks]  # trainer -> value
        self.applied = [0] * len(self.description.blocks)

    def push(self, block, trainer, value):
        assert trainer not in self.waiting[block], "pushed twice"
        self.waiting[block][trainer] = value
        if len(self.waiting[block]) < self.trainers:
            return
        if self.scheduled == self.applied[block]:
            assert min(self.applied) == self.scheduled, "a block is a step behind"
            if self.description.has_schedule:
                self.run(self.plan.functions[self.description.schedule].name)
            self.scheduled += 1
        combined = sum(self.waiting[block][r] for r in range(self.trainers))
        if self.plan.parameter_servers.mean:
            combined = combined / np.float32(self.trainers)
        which = self.description.blocks[block]
        self.run(self.plan.functions[which.function].name, {which.key: combined})
        self.waiting[block] = {}
        self.applied[block] += 1

    def pull(self, block, version):
        """The value after `version` steps, None before."""
        if self.applied[block] < version:
            return None
        assert self.applied[block] == version
        which = self.description.blocks[block]
        values = [self.slots[self.plan.slots[slot].name] for slot in (which.slot, *which.more_slots)]
        return values[0] if len(values) == 1 else np.concatenate([value.ravel() for value in values])


def train_step(trainers, servers, batches, step):
    """One step of all trainers; returns the metrics of each."""
    running = [trainer.execute("step", batch) for trainer, batch in zip(trainers, batches)]
    request, metrics = [None] * len(running), [None] * len(running)

    def advance(rank, value):
        try:
            request[rank] = running[rank].send(value)
        except StopIteration as end:
            request[rank], metrics[rank] = None, end.value

    for rank in range(len(running)):
        advance(rank, None)
    while any(request):
        progress = False
        for rank in range(len(running)):
            while request[rank]:
                message = request[rank][1]
                server, value = servers[message.server], None
                if request[rank][0] == "push":
                    assert server.description.blocks[message.block].key == message.key
                    server.push(message.block, rank, request[rank][2])
                else:
                    assert server.description.blocks[message.block].pull_key == message.key
                    value = server.pull(message.block, step + 1)
                    if value is None:
                        break
                advance(rank, value)
                progress = True
        assert progress, "trainers wait for each other"
    return metrics
