# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations on lists of tensors, which clipping and some optimizers use: those of each."""

from __future__ import annotations

from typing import Any

from .table import RULES, Operation, rule


def _each(name: str):
    def of(op: Operation, first, *others, **keywords):
        results = []
        for i in range(len(first)):
            def pick(value: Any) -> Any:
                return value[i] if isinstance(value, (tuple, list)) and len(value) == len(first) else value
            own = [first[i], *map(pick, others)]
            inputs = [x[i] if isinstance(x, (tuple, list)) and len(x) == len(first) else x for x in op.inputs]
            one = Operation(op.name, op.out[i], inputs)
            results.append(RULES[name](one, *own, **{k: pick(v) for k, v in keywords.items()}))
        return tuple(results)
    return of


_NAMES = {"norm": "aten.linalg_vector_norm", "zero": "aten.zeros_like"}
for _name in ("add", "sub", "mul", "div", "pow", "neg", "abs", "sqrt", "rsqrt", "exp", "log", "reciprocal", "sign", "lerp", "addcmul",
              "addcdiv", "maximum", "minimum", "clamp_min", "clamp_max", "norm", "copy", "sigmoid", "zero"):
    rule(f"aten._foreach_{_name}")(_each(_NAMES.get(_name, f"aten.{_name}")))
