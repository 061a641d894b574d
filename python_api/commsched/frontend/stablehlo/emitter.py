# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds level-0 operations: the building blocks that the op families share."""

from __future__ import annotations

import contextlib
from typing import Callable, Optional, Sequence

import numpy as np

from .ir import Block, DType, Op, Value, tensor_type
from .scalar import INDEX, Body

# An operand of a generic operation: the tensor and its indexing map's results.
Mapped = tuple[Value, Sequence[str]]


def dims(count: int) -> list[str]:
    return [f"d{i}" for i in range(count)]


class Emitter:
    def __init__(self):
        self.block = Block()
        self.depth = 0
        self.location: Optional[str] = None

    # ---- blocks and plain operations ------------------------------------------------
    @contextlib.contextmanager
    def inside(self, block: Block):
        """Emits into `block`, a region of an operation to come."""
        outer, self.block = self.block, block
        self.depth += 1
        try:
            yield block
        finally:
            self.block = outer
            self.depth -= 1

    def emit(self, text: str, *results: Value, located: bool = False, **more) -> Op:
        op = Op(text, results, location=self.location if located else None, **more)
        self.block.ops.append(op)
        return op

    def tensor(self, text: str, shape: Sequence[int], dtype: DType, located: bool = False) -> Value:
        value = Value(shape, dtype)
        self.emit(text, value, located=located)
        return value

    def scalar(self, text: str, dtype: DType) -> Value:
        value = Value(None, dtype)
        self.emit(text, value)
        return value

    # ---- constants -------------------------------------------------------------------
    def number(self, value, dtype: DType) -> Value:
        literal = dtype.number(value)
        return self.scalar(f"arith.constant {literal}" + ("" if dtype.is_bool else f" : {dtype.mlir}"), dtype)

    def index(self, value: int) -> Value:
        return self.number(value, INDEX)

    def splat(self, value, shape: Sequence[int], dtype: DType) -> Value:
        value = dtype.rounded(value)
        type_ = tensor_type(shape, dtype)
        result = self.tensor(f"arith.constant dense<{dtype.number(value)}> : {type_}", shape, dtype)
        result.splat = value
        return result

    def constant(self, array: np.ndarray, dtype: DType) -> Value:
        def text(a):
            if a.ndim == 0:
                return dtype.number(a.item())
            return "[" + ", ".join(text(x) for x in a) + "]"
        type_ = tensor_type(array.shape, dtype)
        return self.tensor(f"arith.constant dense<{text(array)}> : {type_}", array.shape, dtype)

    def empty(self, shape: Sequence[int], dtype: DType) -> Value:
        return self.tensor(f"tensor.empty() : {tensor_type(shape, dtype)}", shape, dtype)

    def filled(self, scalar: Value, shape: Sequence[int]) -> Value:
        init = self.empty(shape, scalar.dtype)
        return self.tensor(f"linalg.fill ins({scalar.ref} : {scalar.type}) outs({init.ref} : {init.type}) "
                           f"-> {init.type}", shape, scalar.dtype)

    def scalar_of(self, tensor: Value) -> Value:
        """The number in a tensor of rank 0."""
        if tensor.splat is not None:
            return self.number(tensor.splat, tensor.dtype)
        return self.scalar(f"tensor.extract {tensor.ref}[] : {tensor.type}", tensor.dtype)

    # ---- linalg.generic ----------------------------------------------------------------
    def generic(self, inputs: Sequence[Mapped], outputs: Sequence[Mapped], iterators: Sequence[str],
                write: Callable[[Body, list[str], list[str]], Sequence[str]]) -> list[Value]:
        """One linalg.generic. `write(body, inputs, outputs)` returns the yielded names.

        iterators holds "p" or "r" for each loop.
        """
        body = Body()
        ins = [f"%in_{i}" for i in range(len(inputs))]
        outs = [f"%out_{i}" for i in range(len(outputs))]
        yielded = write(body, ins, outs)
        loops = ", ".join(dims(len(iterators)))
        maps = ", ".join(f"affine_map<({loops}) -> ({', '.join(m)})>" for _, m in [*inputs, *outputs])
        kinds = ", ".join('"parallel"' if k == "p" else '"reduction"' for k in iterators)
        arguments = ", ".join(f"{n}: {v.dtype.mlir}" for n, (v, _) in zip(ins + outs, [*inputs, *outputs]))
        types = [v.dtype.mlir for v, _ in outputs]

        def clause(name, operands):
            if not operands:
                return ""
            refs = ", ".join(v.ref for v, _ in operands)
            return f" {name}({refs} : {', '.join(v.type for v, _ in operands)})"

        results = [Value(v.shape, v.dtype) for v, _ in outputs]
        result_types = ", ".join(r.type for r in results)
        text = [f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}"
                f"{clause('ins', inputs)}{clause('outs', outputs)} {{", f"^bb0({arguments}):"]
        text += ["  " + line for line in body.lines]
        text += [f"  linalg.yield {', '.join(yielded)} : {', '.join(types)}",
                 f"}} -> {result_types if len(results) == 1 else '(' + result_types + ')'}"]
        self.emit("\n".join(text), *results, located=True)
        return results

    def parallel(self, inputs: Sequence[Mapped], shape: Sequence[int], dtype: DType,
                 write: Callable[[Body, list[str]], str]) -> Value:
        """A tensor computed element by element."""
        out = (self.empty(shape, dtype), dims(len(shape)))
        return self.generic(inputs, [out], "p" * len(shape), lambda b, i, o: [write(b, i)])[0]

    # ---- views and shapes ----------------------------------------------------------------
    @staticmethod
    def mapped(value: Value, permutation_only: bool = False) -> Mapped:
        """The operand and map by which a consumer that loops over value's indices can read it."""
        if value.view is not None:
            source, index = value.view
            if not permutation_only or source.rank == value.rank:
                return source, [f"d{i}" for i in index]
        return value, dims(value.rank)

    def transpose(self, value: Value, permutation: Sequence[int]) -> Value:
        """result[i...] with result dimension k = value dimension permutation[k]."""
        permutation = list(permutation)
        shape = [value.shape[p] for p in permutation]
        if permutation == list(range(value.rank)):
            return value
        if value.splat is not None:
            return self.splat(value.splat, shape, value.dtype)
        init = self.empty(shape, value.dtype)
        result = self.tensor(f"linalg.transpose ins({value.ref} : {value.type}) outs({init.ref} : {init.type}) "
                             f"permutation = [{', '.join(map(str, permutation))}]", shape, value.dtype)
        source, index = value.view or (value, list(range(value.rank)))
        result.view = (source, [permutation.index(i) for i in index])
        return result

    def broadcast(self, value: Value, shape: Sequence[int], where: Sequence[int]) -> Value:
        """Dimension i of value becomes dimension where[i]; size-1 dimensions are repeated."""
        shape = tuple(shape)
        if value.splat is not None:
            return self.splat(value.splat, shape, value.dtype)
        if value.shape == shape and list(where) == list(range(len(shape))):
            return value
        kept = [i for i in range(value.rank) if value.shape[i] == shape[where[i]]]
        target = [where[i] for i in kept]
        if len(kept) != value.rank:
            value = self.reshape(value, [value.shape[i] for i in kept])
        extra = [i for i in range(len(shape)) if i not in target]
        if all(shape[i] == 1 for i in extra) and target == sorted(target):
            return self.reshape(value, shape)
        source, index = value.view or (value, list(range(value.rank)))
        view = (source, [target[i] for i in index])
        result = self.parallel([(source, [f"d{i}" for i in view[1]])], shape, value.dtype, lambda b, i: i[0])
        result.view = view
        return result

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        shape = tuple(shape)
        if shape == value.shape:
            return value
        if value.splat is not None:
            return self.splat(value.splat, shape, value.dtype)
        if value.reshaped is not None:
            value = value.reshaped
            if value.shape == shape:
                return value
        if 0 in shape:
            return self.empty(shape, value.dtype)
        original = value
        groups = _groups(value.shape, shape)
        middle = [int(np.prod([value.shape[i] for i in g[0]], dtype=np.int64)) for g in groups]

        def text(which):
            return "[" + ", ".join(str(list(g[which])) for g in groups) + "]"
        if tuple(middle) != value.shape:
            to = tensor_type(middle, value.dtype)
            value = self.tensor(f"tensor.collapse_shape {value.ref} {text(0)} : {value.type} into {to}",
                                middle, value.dtype)
        if tuple(middle) != shape:
            to = tensor_type(shape, value.dtype)
            value = self.tensor(f"tensor.expand_shape {value.ref} {text(1)} output_shape {list(shape)} : "
                                f"{value.type} into {to}", shape, value.dtype)
        value.reshaped = original
        return value

    def extract_slice(self, value: Value, offsets, sizes, strides, shape=None) -> Value:
        """offsets: numbers or index values. shape: with size-1 dimensions dropped."""
        shape = sizes if shape is None else shape
        if 0 in shape:
            return self.empty(shape, value.dtype)
        text = self._slice(value, offsets, sizes, strides)
        return self.tensor(f"tensor.extract_slice {text} : {value.type} to {tensor_type(shape, value.dtype)}",
                           shape, value.dtype)

    def insert_slice(self, value: Value, into: Value, offsets, sizes, strides) -> Value:
        if 0 in value.shape:
            return into
        text = self._slice(into, offsets, sizes, strides)
        return self.tensor(f"tensor.insert_slice {value.ref} into {text} : {value.type} into {into.type}",
                           into.shape, into.dtype)

    @staticmethod
    def _slice(value: Value, offsets, sizes, strides) -> str:
        begin = ", ".join(o.ref if isinstance(o, Value) else str(o) for o in offsets)
        return f"{value.ref}[{begin}] {list(sizes)} {list(strides)}"

    def pad(self, value: Value, low: Sequence[int], high: Sequence[int], filler: Value) -> Value:
        """Negative amounts cut."""
        if any(x < 0 for x in [*low, *high]):
            begin = [max(-x, 0) for x in low]
            sizes = [n - max(-a, 0) - max(-b, 0) for n, a, b in zip(value.shape, low, high)]
            value = self.extract_slice(value, begin, sizes, [1] * value.rank)
            low, high = [max(x, 0) for x in low], [max(x, 0) for x in high]
        if not any([*low, *high]):
            return value
        shape = [n + a + b for n, a, b in zip(value.shape, low, high)]
        arguments = ", ".join(f"%pad_{i}: index" for i in range(value.rank))
        text = (f"tensor.pad {value.ref} low{list(low)} high{list(high)} {{\n^bb0({arguments}):\n"
                f"  tensor.yield {filler.ref} : {filler.type}\n}} : {value.type} to {tensor_type(shape, value.dtype)}")
        return self.tensor(text, shape, value.dtype)

    # ---- index arithmetic ------------------------------------------------------------------
    def index_of(self, tensor: Value) -> Value:
        """A tensor of rank 0 as an index."""
        scalar = self.scalar_of(tensor)
        kind = "index_castui" if tensor.dtype.unsigned else "index_cast"
        return self.scalar(f"arith.{kind} {scalar.ref} : {scalar.type} to index", INDEX)

    def clamped(self, value: Value, limit: int) -> Value:
        """min(max(value, 0), limit) of an index."""
        low = self.scalar(f"arith.maxsi {value.ref}, {self.index(0).ref} : index", INDEX)
        return self.scalar(f"arith.minsi {low.ref}, {self.index(limit).ref} : index", INDEX)


class Scalars(Body):
    """Scalar operations written where the emitter is, not into a linalg.generic. One instance a block: constants
    are kept."""

    def __init__(self, emitter: "Emitter"):
        super().__init__()
        self.e = emitter

    def op(self, text: str) -> str:
        return self.value(text, INDEX).ref

    def value(self, text: str, dtype: DType) -> Value:
        return self.e.scalar(text, dtype)

    def index(self, name: str, a: str, b: str) -> Value:
        return self.value(f"{name} {a}, {b} : index", INDEX)

    def insert(self, element: str, into: Value, indices: Sequence[str]) -> Value:
        return self.e.tensor(f"tensor.insert {element} into {into.ref}[{', '.join(indices)}] : {into.type}", into.shape,
                             into.dtype)

    @staticmethod
    def at(reference: str) -> Value:
        """The index that `op` named so."""
        return Value.of(reference, INDEX)


def _groups(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Splits both shapes into the shortest runs of dimensions of equal products."""
    groups, i, j = [], 0, 0
    while i < len(source) and j < len(target):
        left, right = [i], [j]
        a, b = source[i], target[j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                left.append(i)
                a *= source[i]
                i += 1
            else:
                right.append(j)
                b *= target[j]
                j += 1
        groups.append((left, right))
    if groups:  # what is left has size 1
        groups[-1][0].extend(range(i, len(source)))
        groups[-1][1].extend(range(j, len(target)))
    return groups
