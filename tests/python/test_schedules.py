# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies of scheduling from Python: other messages, the same training."""
import os

import pytest

from commsched import AllReduce
from test_end_to_end import batches_of, digits  # noqa: F401 (a fixture)
from test_examples import make

pytestmark = pytest.mark.skipif("COMMSCHED_BIN" not in os.environ, reason="COMMSCHED_BIN is not set")


def test_policies_train_alike(digits):  # noqa: F811
    batches, outcomes = batches_of(digits, 4), []
    for policy in ["fifo", "solver"]:
        program = make("digits").program(2, AllReduce(schedule=policy))
        text = program.mlir(2)
        assert f'policy = "{policy}"' in text
        assert ("cs.pack" in text) == (policy == "solver")
        losses = [metrics["loss"] for metrics in program.run(batches)]
        outcomes.append((losses, {name: value.tobytes() for name, value in program.slots().items()}))
        program.close()
    assert len(set(outcomes[0][0])) == 4
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("options", [dict(reorder=True, memory_limit=1 << 16, effort=1), dict(message_bytes=1), dict(message_bytes=20000)])
def test_how_the_solver_searches_changes_no_value(digits, options):  # noqa: F811
    batches, outcomes = batches_of(digits, 3), []
    for strategy in AllReduce(schedule="fifo"), AllReduce(**options):
        program = make("digits").program(2, strategy)
        outcomes.append(([m["loss"] for m in program.run(batches)], {n: v.tobytes() for n, v in program.slots().items()}))
        program.close()
    assert outcomes[0] == outcomes[1]
    text = program.mlir(2)
    assert ("cs.pack" in text) == (options.get("message_bytes") != 1)  # a bound that no two tensors fit into
    assert options.get("message_bytes") != 1 or text != make("digits").program(2, AllReduce()).mlir(2)
