# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Labels that a loss ignores.

nll_loss divides by how many labels are not ignored, also where none ever is: -100 if nothing is said. Whether that is the number of samples only the
data says: the example batch is asked, as for PyTorch.
"""

from __future__ import annotations

import dataclasses
from typing import Mapping, Optional

import numpy as np

from .capture import Captured, Op

_LOSSES = ("pd_op.nll_loss", "pd_op.nll_loss_grad")
MOVED = tuple(f"pd_op.{name}{place}" for name in ("reshape", "squeeze", "unsqueeze", "flatten", "transpose", "cast", "assign") for place in ("", "_"))
_TAKEN = (*MOVED, "pd_op.slice", "pd_op.slice_")


def none_ignored(captured: Captured, example: "Mapping[str, np.ndarray]") -> Captured:
    """The program whose losses ignore no labels (ignore_index None), of labels of the batch that has none of these."""
    labels: "dict[Optional[int], np.ndarray]" = {s.id: example[s.name] for s in captured.batches if s.dtype.kind in "iu"}

    def changed(op: Op) -> Op:
        of, to = op.inputs.get("x", op.inputs.get("input")), op.outputs[0] if op.outputs else None
        if op.name in _TAKEN and of in labels and to is not None:  # some or all of them, and no others
            labels[to.id] = labels[of]
        if op.name not in _LOSSES or op.inputs["label"] not in labels or (labels[op.input("label")] == op.attributes["ignore_index"]).any():
            return op
        return dataclasses.replace(op, attributes={**op.attributes, "ignore_index": None})
    return dataclasses.replace(captured, ops=[changed(op) for op in captured.ops])
