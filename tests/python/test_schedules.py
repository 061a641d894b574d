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
