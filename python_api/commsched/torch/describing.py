# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch: traces a training step and hands over its level 0."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from typing import Any, Callable, Mapping, Optional, Sequence

import jax
import numpy as np
import torch
from torch.utils import _pytree as pytree

from ..errors import FrontEndError
from ..frontend import jax_worker
from ..frontend.base import BatchArgument, Description, Slot, check_part, free_name
from ..frontend.means import check_mean
from ..frontend.jax_frontend import _lower
from ..frontend.jax_leaves import path_name
from ..frontend.jax_gradient import marking
from ..frontend.located import Located
from ..frontend.stablehlo import level0_function, level0_module
from ..frontend.stablehlo.function import FunctionSpec
from ..frontend.stablehlo.ir import Printer
from . import interpret, labels, optimizers, scaling, values
from .capture import Graph, Step, capture, named_buffers, refuse_hooks, where
from .first_state import Entry
from .indices import Indices


def is_criterion(loss: Any) -> bool:
    """One of PyTorch's own: of outputs and targets."""
    while isinstance(loss, functools.partial):
        loss = loss.func
    return isinstance(loss, torch.nn.Module) or (getattr(loss, "__module__", None) or "").split(".")[0] == "torch"


def call(step: Step, batch: Any) -> Any:
    """What loss_fn says of the model and a batch."""
    if is_criterion(step.loss):
        *inputs, target = batch
        return step.loss(step.model(*inputs), target)
    return step.loss(step.model, *batch) if isinstance(batch, (tuple, list)) else step.loss(step.model, batch)


def _ordered(value: Any) -> Any:
    """With the keys of dictionaries in order: that in which they were entered says nothing."""
    if type(value) is dict:
        return {k: _ordered(value[k]) for k in sorted(value, key=lambda k: (str(type(k)), k))}
    return _mapped(value, _ordered)


def _of_tuples(value: Any) -> Any:
    """With tuples in place of lists: a DataLoader makes lists of both."""
    if type(value) is dict:
        return {k: _of_tuples(v) for k, v in value.items()}
    return _mapped(tuple(value) if type(value) is list else value, _of_tuples)


def _mapped(value: Any, of: "Callable[[Any], Any]") -> Any:
    if pytree.is_namedtuple_instance(value):
        return type(value)(*map(of, value))
    return type(value)(map(of, value)) if type(value) in (tuple, list) else value


class Batch:
    """An example batch taken apart: names, tensors, structure."""

    def __init__(self, value: Any, names: Sequence[str] = ()):
        if isinstance(value, Mapping) and not isinstance(value, dict) or hasattr(value, "data") and isinstance(value.data, dict):
            value = dict(value)  # such as the batches of tokenizers
        value = _ordered(dict(value) if isinstance(value, dict) else value)
        if type(value) is list:  # of which there is no telling whether a DataLoader has made it of tuples
            value = tuple(value)
        pairs, self.tree = pytree.tree_flatten_with_path(value)
        self.structure = pytree.tree_structure(_of_tuples(value))
        self.names, self.tensors = [], []
        for path, leaf in pairs:
            head, rest = path[:1], path[1:]
            name = path_name(path)
            place = getattr(head[0], "idx", len(names)) if head else len(names)  # a named tuple has names of its own
            if place < len(names):
                name = ".".join([names[place], *([path_name(rest)] if rest else [])])
            name = name or (names[0] if names else "batch")
            self.names.append(name if not name[0].isdigit() else f"batch.{name}")
            what = f"batch '{self.names[-1]}'"
            self.tensors.append(values.check(values.of_array(leaf, what) if isinstance(leaf, np.ndarray) else leaf, what).detach())
        if not self.tensors:
            raise FrontEndError("the example batch must have tensors, got none")
        for name, t in zip(self.names, self.tensors):
            if t.dim() == 0:
                raise FrontEndError(f"batch '{name}' must have a dimension of samples, got: a scalar")
        samples = sorted({t.shape[0] for t in self.tensors})
        if len(samples) > 1:
            raise FrontEndError(f"the tensors of a batch must have one number of samples, got: {samples}")
        self.samples = samples[0]

    def part(self, parts: int) -> list[torch.Tensor]:
        """The first worker's."""
        if self.samples % parts:
            raise FrontEndError(f"{self.samples} samples of the batch are not divisible by {parts} workers: the example is a global batch")
        return [t[: self.samples // parts] for t in self.tensors]


def argument_names(step: Step) -> list[str]:
    """Of what loss_fn takes beside the model."""
    if is_criterion(step.loss):
        return []
    try:
        parameters = inspect.signature(step.loss).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:]


@dataclasses.dataclass
class Layout:
    """What a program carries: names of slots beside the tensors they begin with."""

    params: dict[str, torch.Tensor]
    buffers: dict[str, torch.Tensor]
    state: dict[Entry, torch.Tensor]
    scaler: list[torch.Tensor]
    rates: list[str]
    taken: set[str] = dataclasses.field(default_factory=set)

    def free(self, name: str) -> str:
        return free_name(name, self.taken)


def layout(step: Step) -> Layout:
    """Checked."""
    model = step.model
    params = dict(model.named_parameters())
    for name, p in params.items():
        values.check(p, f"parameter '{name}'")
        refuse_hooks(name, p)
    buffers = named_buffers(model)
    for name, b in buffers.items():
        values.check(b, f"buffer '{name}'")
    if not any(p.requires_grad for p in params.values()):
        raise FrontEndError("the model must have parameters that require a gradient, got none")
    optimizers.check(step.optimizer, list(params.values()))
    state = dict(step.begins.entries)
    rates = ["lr" if len(step.hyper.rates) == 1 else f"lr.{i}" for i in step.hyper.rates]
    found = Layout(params, buffers, state, scaling.initial(step.scaler) if step.scaling else [], rates)
    found.taken.update([*params, *buffers])
    return found


def _root(node: Any) -> Any:
    """What a node is a copy of."""
    copies = ("aten.clone", "aten.detach", "aten.alias", "aten.lift_fresh", "aten.view_of")
    while isinstance(node, torch.fx.Node) and node.op == "call_function" and str(node.target).startswith(copies):
        node = node.args[0]
    return node


def _captured(step: Step, own: Layout, batch: Batch, parts: int, again: bool = True) -> Graph:
    """Traces; state of parameters that turn out to have no gradient is left out. again: see capture()."""
    def attempt(again: bool = False):
        return capture(step, list(own.params.values()), list(own.buffers.values()), own.state, own.scaler,
                       lambda tensors: call(step, pytree.tree_unflatten(tensors, batch.tree)), batch.part(parts), again)
    graph = attempt(again)
    used = {e: (dataclasses.replace(e, of=tuple(i for i in e.of if graph.marked[i])), t) for e, t in own.state.items()}
    if any(e != new for e, (new, _) in used.items()):
        own.state = {new: t for e, (new, t) in used.items() if new.of or e.group is not None}
        graph = attempt()
    return graph


def _captured_times(step: Step, own: Layout, batch: Batch, parts: int, times: int) -> Graph:
    """Of so many times the samples of a worker's part, one of `parts`. Raises what a step does that takes its number of samples only."""
    of, count = (1, times // parts) if times % parts == 0 else (parts, times)
    many = [torch.cat([t] * count) for t in batch.tensors]
    return _captured(step, own, Batch(pytree.tree_unflatten(many, batch.tree), argument_names(step)), of, again=False)


def _cuts_more(graph: Graph) -> bool:
    """Whether a slice, such as x[:100], is of more rows than there are: of the whole batch it may take others."""
    for node in graph.graph.graph.nodes:
        if node.op != "call_function" or not str(node.target).startswith(("aten.slice.", "aten.slice_copy.")):
            continue
        of, dim, begin, end = (*node.args, *(0, None, None)[len(node.args) - 1:])[:4]
        size = of.meta["val"].shape[dim]
        if any(isinstance(i, int) and size < abs(i) < sys.maxsize for i in (begin, end)):
            return True
    return False


def _check_mean(step: Step, own: Layout, graph: Graph, flat: Callable, specs: list, first: int, batch: Batch, parts: int,
                results: "list[tuple[str, str]]", located: Located) -> None:
    """See means.check_mean. Labels that the example batch has none of are taken to be in no batch (labels.py)."""
    count, rows = len(batch.tensors), batch.samples // parts
    same = labels.constant(graph.graph, count, batch.tensors, parts)
    # Twice and four times one sample: with one alone many a step is another.
    known = {2, *((4,) if rows == 1 else ()), *((parts, 2 * parts) if _cuts_more(graph) else ())}

    @functools.cache
    def of_times(times: int) -> Optional[Graph]:
        if times == 1:
            return graph
        return _captured_times(step, own, batch, parts, times) if times in known else None

    def flat_of(times: int) -> Optional[Callable]:
        found = of_times(times)
        return None if found is None else functools.partial(flat, of=found, assumed=labels.assumed(found.graph, count, batch.tensors, same))

    check_mean(flat_of, specs, [i >= first for i in range(len(specs))], parts, False, lambda: results, located.line_of)


def describe(step: Step, arguments: tuple, *, workers: int, devices: int = 1, seed: int = 0,
             location_root: Optional[str] = None) -> Description:
    """See base.FrontEnd. arguments: the example batch."""
    own, batch = layout(step), Batch(arguments[0], argument_names(step))
    if batch.samples // (workers * devices) % step.accumulate and batch.samples % (workers * devices) == 0:
        raise FrontEndError(f"the {batch.samples // (workers * devices)} samples of a worker must be divisible by accumulate, got: {step.accumulate}")
    graph = _captured(step, own, batch, workers * devices)
    names: dict[tuple[str, Any], str] = {**{("param", n): n for n in own.params}, **{("buffer", n): n for n in own.buffers}}
    listed = list(own.params)
    for entry in own.state:
        of = f"groups.{entry.group}" if entry.group is not None else listed[entry.of[0]] if entry.number is None else "all"
        names["state", entry] = own.free(f"optimizer.{of}.{entry.key}")
    scaler = [own.free(name) for name in scaling.NAMES[:len(own.scaler)]]
    rates = [own.free(name) for name in own.rates]
    seeds = [own.free("seed")] if interpret.draws(graph.graph) else []
    batch_names = [own.free(name) for name in batch.names]

    initial = [*own.params.values(), *own.buffers.values(), *own.state.values(), *own.scaler]
    slot_names = [*(names["param", n] for n in own.params), *(names["buffer", n] for n in own.buffers),
                  *(names["state", k] for k in own.state), *scaler]
    carried = [np.asarray(a) for a in [*map(values.to_numpy, initial), *[np.float64(v) for v in step.hyper.values(step.optimizer)]]]
    with jax.enable_x64(True):
        if seeds:
            carried.append(np.asarray(jax.random.key_data(jax.random.key(seed))))
        specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in carried]
        parts = batch.part(workers * devices)
        local = [np.dtype(values.to_numpy(t[:1]).dtype) for t in parts]
        specs += [jax.ShapeDtypeStruct(tuple(t.shape), d) for t, d in zip(parts, local)]
        located = Located(location_root)
        kept, results = _kept(graph, slot_names, len(own.params))
        _check_apart(own, {n for _, n in results})
        step.beside.writes.update(n for _, n in results)
        metrics = [own.free(n) for n in graph.metrics]
        results += [("updates", n) for n in seeds] + [("metric", n) for n in metrics]

        def flat(*arrays, of=graph, assumed={}):
            inputs, seed_, random = list(arrays), None, None
            if seeds:
                key = jax.random.wrap_key_data(inputs.pop(len(carried) - 1))
                seed_, drawn = jax.random.split(key)
                random = jax.random.fold_in(drawn, jax_worker.worker_index())
            outputs = interpret.run(of.graph, inputs, located, inputs[: len(own.params)], random, assumed)
            updates = [inputs[i] if o is None else outputs[o] for i, o in kept]
            return updates + ([jax.random.key_data(seed_)] if seeds else []) + outputs[: len(graph.metrics)]
        with marking(False):
            module = _lower(flat, specs)
        if workers * devices > 1:
            _check_mean(step, own, graph, flat, specs, len(carried), batch, workers * devices, results, located)
    kinds = [("param" if i < len(own.params) and graph.marked[i] else "state", n)
             for i, n in enumerate([*slot_names, *rates, *seeds])] + [("batch", n) for n in batch_names]
    printer = Printer()
    spec = FunctionSpec("step", kinds, results, True, batch.samples)
    lines = level0_function(module, spec, located, printer)
    slots = [Slot(n, k, a) for (k, n), a in zip(kinds, carried)]

    def restore(found: Mapping[str, np.ndarray]) -> dict[int, Any]:
        state: dict[str, dict] = {}
        groups: dict[int, dict] = {}
        for entry in own.state:
            value = entry.value(values.to_torch(found[names["state", entry]]))
            for i in entry.of:
                state.setdefault(listed[i], {})[entry.key] = value
            if entry.group is not None:
                groups.setdefault(entry.group, {})[entry.key] = value
        for i in {i for entry in own.state for i in entry.of}:
            state[listed[i]].update({k: v for k, v in step.begins.state[i].items() if k not in state[listed[i]]})
        return {0: {n: values.to_torch(found[n]) for n in own.params}, 1: {n: values.to_torch(found[n]) for n in own.buffers},
                2: state, 3: [float(found[n]) for n in rates],
                **({4: {known.split(".")[1]: values.to_torch(found[n]) for known, n in zip(scaling.NAMES, scaler)}} if scaler else {}),
                **({5: values.to_torch(found[seeds[0]])} if seeds else {}), **({6: groups} if groups else {})}
    arguments_ = [BatchArgument(n, tuple(t.shape), d) for n, t, d in zip(batch_names, parts, local)]
    example, rows = batch, batch.samples // (workers * devices)
    indices = Indices(graph.graph, len(batch.tensors), where)

    def flatten(function: str, value: Any, parts: int = 1) -> dict[str, np.ndarray]:
        given = Batch(value, argument_names(step))
        if given.structure != example.structure:
            raise FrontEndError(f"a batch must have the structure of its example, got: {given.names}")
        result = {}
        for name, new, old in zip(batch_names, given.tensors, example.tensors):
            of_old, of_new = ((str(t.dtype).removeprefix("torch."), t.shape) for t in (old, new))
            check_part(name, of_old, of_new, parts)
            result[name] = values.to_numpy(new)
        indices.check(batch_names, given.tensors, rows)
        return result
    return Description(lambda header: level0_module([lines], printer, header), slots, {"step": arguments_}, {"step": metrics},
                            flatten, restore, 0, rates)


def _check_apart(own: Layout, changing: "set[str]") -> None:
    """A tensor that changes must share its memory with no other: in PyTorch both would change."""
    spans = []
    for name, t in [*own.params.items(), *own.buffers.items()]:
        if t.numel():
            last = sum((n - 1) * abs(s) for n, s in zip(t.shape, t.stride()))
            spans.append((t.data_ptr(), t.data_ptr() + (last + 1) * t.element_size(), name))
    reached, one = 0, ""
    for begin, end, other in sorted(spans):
        if begin < reached and (one in changing or other in changing):
            raise FrontEndError(f"'{one}' and '{other}' must not share their memory, as they would be two tensors; have them be one (b.weight = a.weight)")
        if end > reached:
            reached, one = end, other


def _kept(graph: Graph, slot_names: Sequence[str], params: int) -> tuple[list, list]:
    """Which inputs get new values, as (input, output; None: itself), and what that makes of the results."""
    nodes = list(graph.graph.graph.nodes)
    inputs, outputs = [n for n in nodes if n.op == "placeholder"], nodes[-1].args[0]
    pairs, results = [], []
    for i, name in enumerate(slot_names):
        o = len(graph.metrics) + i
        changed = _root(outputs[o]) is not inputs[i]
        if changed or (i < params and graph.marked[i]):
            pairs.append((i, o if changed else None))
            results.append(("updates", name))
    return pairs, results
