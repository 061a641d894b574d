# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A whole training step of PyTorch, the stock optimizer included, as one graph of functional ATen operations."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, Callable, Iterator, Mapping, Sequence

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx import traceback as fx_traceback
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from ..errors import CommSchedError, FrontEndError
from . import places
from .beside import Beside
from .decompositions import BY_ORDER, table
from .first_state import Carried, Entry
from .kept import Kept, constants_equal, none_seeded, same
from .optimizers import Copy, Hyper
from .places import Places
from .scaling import Scaling, none_within
from .tracing import plain

_library = torch.library.Library("commsched", "DEF")
_library.define("gradient(Tensor gradient, int parameter) -> Tensor")
_library.impl("gradient", lambda gradient, parameter: gradient.clone(), "CompositeExplicitAutograd")
_library.impl("gradient", lambda gradient, parameter: torch.empty_like(gradient), "Meta")
_library.define("within(Tensor index, int least, int end) -> Tensor")
_library.impl("within", lambda index, least, end: index.clone(), "CompositeExplicitAutograd")
_library.impl("within", lambda index, least, end: torch.empty_like(index), "Meta")


@dataclasses.dataclass
class Step:
    """What is captured. begins: what the optimizer goes on from. before_update: called with the model between the backward pass and the update. accumulate: parts of a
    worker's batch whose gradients are taken one after the other. scaling: of `scaler`, if it does anything."""

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    loss: Callable[..., Any]
    before_update: "Callable[[torch.nn.Module], Any] | None"
    hyper: Hyper
    begins: Carried
    __name__: str = "step"
    accumulate: int = 1
    scaler: "torch.amp.GradScaler | None" = None
    scaling: "Scaling | None" = None

    def __post_init__(self) -> None:
        self.beside = Beside(self.model, self.loss, self.before_update)  # what it reads beside all these


@dataclasses.dataclass
class Graph:
    """graph: its inputs are, in order, parameters, buffers, the optimizer's state, the scaler's (if there is scaling), rates,
    batch; its outputs the metrics, and the new parameters, buffers, state and scaler's state. marked: of each parameter, whether
    its gradient is used."""

    graph: torch.fx.GraphModule
    metrics: list[str]
    marked: list[bool]


class _Swapped:
    """The model with other tensors in place of its parameters and buffers."""

    def __init__(self, model: torch.nn.Module, tensors: Mapping[int, torch.Tensor]):
        self._model, self._tensors = model, tensors
        self._saved: list[tuple[dict, str, Any]] = []

    def __enter__(self):
        # The weights may be in lists beside: those of recurrent layers are.
        for module in self._model.modules():
            for own in (module._parameters, module._buffers):
                for name, tensor in own.items():
                    if tensor is not None:
                        self._saved.append((own, name, tensor))
                        own[name] = self._tensors[id(tensor)]
            flat = module.__dict__.get("_flat_weights")
            if isinstance(flat, list):
                self._saved.append((module.__dict__, "_flat_weights", flat))
                module.__dict__["_flat_weights"] = [self._tensors.get(id(t), t) for t in flat]
        return self

    def buffers(self) -> "list[torch.Tensor]":
        """As they are now, in the order of Names.buffers."""
        return list(named_buffers(self._model).values())

    def __exit__(self, *_):
        for own, name, tensor in reversed(self._saved):
            own[name] = tensor


def named_buffers(model: torch.nn.Module) -> "dict[str, torch.Tensor]":
    return {n: b for n, b in model.named_buffers()}


def metrics_of(value: Any) -> "tuple[list[str], list[torch.Tensor]]":
    """Names and scalars: a loss; or a dictionary or tuple that begins with it."""
    if isinstance(value, torch.Tensor):
        pairs = [("loss", value)]
    elif isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, (tuple, list)) and value:
        pairs = [("loss" if i == 0 else f"metric.{i}", v) for i, v in enumerate(value)]
    else:
        raise FrontEndError(f"loss_fn must return a loss, or a dictionary or tuple that begins with it, got: {type(value).__name__}")
    if not pairs:
        raise FrontEndError("loss_fn must return a loss, got an empty dictionary")
    for name, v in pairs:
        if not isinstance(v, torch.Tensor) or v.dim() != 0:
            got = f"a tensor {list(v.shape)}" if isinstance(v, torch.Tensor) else type(v).__name__
            raise FrontEndError(f"loss_fn must return scalar tensors, got: '{name}' is {got}")
        if not v.is_floating_point():
            raise FrontEndError(f"metric '{name}' must be floating point, as metrics are averaged over the workers, got: {v.dtype}")
    if not pairs[0][1].requires_grad:
        raise FrontEndError(f"'{pairs[0][0]}', which loss_fn returns first, depends on no parameter that requires a gradient")
    return [str(n) for n, _ in pairs], [v for _, v in pairs]


def _backward(step: Step, call: Callable[..., Any], batch: Sequence[torch.Tensor], fresh: Sequence[torch.Tensor],
              scale: "torch.Tensor | None") -> "tuple[list[str], list[torch.Tensor], list[torch.Tensor | None]]":
    """Names of metrics, metrics, and gradients of the parameters (None: it has none), times the scale: means over the parts of
    the batch, in which they are taken in order."""
    parts, rows = step.accumulate, len(batch[0]) // step.accumulate
    wanted = [p for p in fresh if p.requires_grad]
    ids = {id(p) for p in wanted}
    names: list[str] = []
    means: list[torch.Tensor] = []
    sums: "list[torch.Tensor | None]" = [None] * len(wanted)
    for i in range(parts):
        part = batch if parts == 1 else [t[i * rows:(i + 1) * rows] for t in batch]
        returned = call(part)
        for name, p in step.model.named_parameters():
            if p.grad is not None:
                raise FrontEndError(f"loss_fn must leave the backward pass to the step, which is that of the loss it returns, got: a gradient of '{name}' that it has made; "
                                    "return the sum of all losses")
            refuse_hooks(name, p)
            if p.requires_grad != (id(p) in ids):
                raise FrontEndError(f"parameter '{name}' must require a gradient at the end of a step as it did before it; freeze it before transpile()")
        found, values = metrics_of(returned)
        loss = values[0] if parts == 1 else values[0] / parts
        gradients = torch.autograd.grad(loss if scale is None else loss * scale, wanted, allow_unused=True)
        sums = [g if s is None else s if g is None else s + g for s, g in zip(sums, gradients)]
        values = [v.detach() if parts == 1 else v.detach() / parts for v in values]
        if i and found != names:
            raise FrontEndError(f"loss_fn must return the metrics {names} of every part of the batch, got: {found}")
        names, means = found, values if i == 0 else [m + v for m, v in zip(means, values)]
    own = iter(sums)
    return names, means, [next(own) if p.requires_grad else None for p in fresh]


def refuse_hooks(name: str, parameter: torch.Tensor) -> None:
    """Of the model, or what the step itself has registered, which in PyTorch would add to those of the steps before."""
    if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
        raise FrontEndError(f"parameter '{name}' has hooks on its gradient, which would not run; change gradients in before_update")


def capture(step: Step, params: Sequence[torch.Tensor], buffers: Sequence[torch.Tensor], state: Mapping[Entry, torch.Tensor],
            scaler: Sequence[torch.Tensor], call: Callable[..., Any], batch: Sequence[torch.Tensor], again: bool = True) -> Graph:
    """scaler: a scale and growth tracker, if there is scaling. call(tensors of the batch) -> what loss_fn returns. again: whether it is made sure that the
    next step is the same. Raises FrontEndError."""
    keys, scaling = list(state), step.scaling
    names: list[str] = []
    updated = {id(p) for g in step.optimizer.param_groups for p in g["params"]}

    def whole(params_, buffers_, state_, scaler_, rates, batch_):
        fresh = [p.clone().detach().requires_grad_(q.requires_grad) for p, q in zip(params_, params)]
        own, batch_ = [b.clone() for b in buffers_], [b.clone() for b in batch_]  # the step may write into both
        tensors = {id(old): new for old, new in zip([*params, *buffers], [*fresh, *own])}
        with _Swapped(step.model, tensors) as swapped:
            with Places(whole.__code__), fx_traceback.preserve_node_meta():
                names[:], values, of = _backward(step, call, batch_, fresh, scaler_[0] if scaling else None)
                fx_traceback.current_meta.pop("stack_trace", None)
                for i, (p, g) in enumerate(zip(fresh, of)):
                    if g is not None:
                        p.grad = torch.ops.commsched.gradient(g, i)
                changing = [p for p, old in zip(fresh, params) if p.grad is not None and id(old) in updated]
                infinite = scaling.unscale(changing, scaler_[0]) if scaling else None
                if step.before_update is not None:
                    step.before_update(step.model)
            with torch.no_grad():
                before = [p.clone() for p in changing] if scaling else []
                new_state = Copy(step.optimizer, step.hyper, rates, step.begins, keys, params, fresh, state_).step()
                if scaling:
                    for p, old in zip(changing, before):
                        p.copy_(torch.where(infinite, old, p))
                    new_state = [torch.where(infinite, old, new) for old, new in zip(state_, new_state)]
                new_scaler = scaling.updated(scaler_[0], scaler_[1], infinite) if scaling else []
            new_buffers = swapped.buffers()
        if len(new_buffers) != len(buffers):
            raise FrontEndError("the step must not register or remove buffers; do that before transpile()")
        for name, a, b in zip(named_buffers(step.model), buffers, new_buffers):
            if (a.shape, a.dtype) != (b.shape, b.dtype):
                raise FrontEndError(f"buffer '{name}' must stay {a.dtype}{list(a.shape)}, got: {b.dtype}{list(b.shape)}")
        return values, [p.detach() for p in fresh], [b.detach() for b in new_buffers], new_state, new_scaler

    inputs = ([p.detach() for p in params], [b.detach() for b in buffers], [s.detach() for s in state.values()],
              list(scaler), [torch.tensor(0.5, dtype=torch.float64) for _ in step.hyper.rates], list(batch))
    gradients, rates = [p.grad for p in params], step.hyper.values(step.optimizer)
    # What reads a gradient through another reference than before_update's model finds these, and is noticed.
    for p in params:
        p.grad = torch.zeros_like(p, requires_grad=False) if p.requires_grad else None
    try:
        beside = [step.loss] if isinstance(step.loss, torch.nn.Module) and step.loss is not step.model else []
        with none_within(), none_seeded(), Kept([step.model, *beside]) as kept:
            second = _fixed(whole, inputs, kept, lambda graph: _refuse_baked(graph, step, params), again)
        step.beside.sets.update(kept.sets)
        step.hyper.check_unchanged(step.optimizer, rates)
    except CommSchedError:
        raise
    except Exception as error:
        raise _explained(error) from error
    finally:
        for p, g in zip(params, gradients):
            p.grad = g
    used = {n.args[1] for n in second.graph.nodes if str(n.target).startswith("commsched.gradient")}
    return Graph(second, names, [i in used for i in range(len(params))])


def _fixed(whole: Callable, inputs: Sequence[Any], kept: Kept, check: Callable[[torch.fx.GraphModule], None], once_more: bool) -> torch.fx.GraphModule:
    """The graph, which must be that of every step. check: of it as it was written. once_more: whether it is written again, where modules have changed nothing."""
    firsts: "list[torch.fx.GraphModule]" = []

    def noted(first: torch.fx.GraphModule) -> None:
        check(first)
        firsts.append(first)
    graph = graph_of(whole, inputs, noted)
    kept.refuse_random()
    changed = kept.changed()
    if changed:
        def both(first: torch.fx.GraphModule) -> None:
            check(first)
            kept.refuse_read(first)
        again = graph_of(whole, inputs, both)
        kept.refuse_counted()
        if not same(graph, again):
            raise FrontEndError(f"the step does something else after it has set {', '.join(map(repr, changed[:3]))}: make one before transpile(), or have "
                                "a buffer in place of it")
    elif once_more:
        _refuse_another(firsts[0], whole, inputs)
    return graph


def _refuse_another(first: torch.fx.GraphModule, whole: Callable, inputs: Sequence[Any]) -> None:
    """What is left behind elsewhere than in modules nobody knows of: it shows where the step is written a second time."""
    why = "it goes on from what it has left in Python (such as a count, a tensor, an iterator) or from the time, which its program would not; " \
          "keep that in a buffer, or, if only the first step is another one, make one before transpile()"
    try:
        with _traced():
            second = _written(whole, inputs)
    except CommSchedError:
        raise
    except Exception as error:
        raise FrontEndError(f"{places.of_error(error)}the step cannot be traced a second time ({type(error).__name__}): {why}") from error
    for a, b in zip(first.graph.nodes, second.graph.nodes):
        constants = [getattr(graph, node.target, None) for graph, node in ((first, a), (second, b)) if node.op == "get_attr"]
        if a.format_node() != b.format_node() or len(constants) == 2 and not constants_equal(*constants):
            raise FrontEndError(f"{where(b)}the step is another one the second time: {why}")
    if len(first.graph.nodes) != len(second.graph.nodes):
        raise FrontEndError(f"the step is another one the second time: {why}")


@contextlib.contextmanager
def _traced() -> Iterator[None]:
    with plain(), enable_python_dispatcher(), fx_traceback.preserve_node_meta():
        yield


def _written(function: Callable, inputs: Sequence[Any]) -> torch.fx.GraphModule:
    """As it is written: with its mutations and views."""
    return make_fx(function, decomposition_table=BY_ORDER, tracing_mode="fake", _allow_non_fake_inputs=True)(*inputs)


def graph_of(function: Callable, inputs: Sequence[Any], check: Callable[[torch.fx.GraphModule], None] = lambda graph: None) -> torch.fx.GraphModule:
    """What a function does with these tensors (in lists), as operations that mutate nothing and have rules where there are
    any. check: of the graph as it was written."""
    with _traced():
        first = _written(function, inputs)
        check(first)
        first.graph.set_codegen(torch.fx.graph.CodeGen())
        first.recompile()
        interpreter, leaves = torch.fx.Interpreter(first), pytree.tree_leaves
        pure = torch.func.functionalize(lambda *args: leaves(interpreter.run(*args, enable_io_processing=False)),
                                        remove="mutations_and_views")
        second = make_fx(pure, decomposition_table=table(), tracing_mode="fake", _allow_non_fake_inputs=True)(*leaves(list(inputs)))
    second.graph.eliminate_dead_code()
    second.recompile()
    return second


def _refuse_baked(graph: torch.fx.GraphModule, step: Step, params: Sequence[torch.Tensor]) -> None:
    """Weights that the step reaches in another way than through the model, and tensors beside it that it changes, would be
    constants."""
    model = step.model
    names = {id(p): n for n, p in model.named_parameters()}
    named = [(f"'{n}'", t) for n, t in [*model.named_parameters(), *model.named_buffers()]]
    named += [(f"the gradient of '{names[id(p)]}'", p.grad) for p in params if p.grad is not None]
    own = {t.untyped_storage().data_ptr(): name for name, t in named if t.numel()}
    constants = {}
    for node in graph.graph.nodes:
        if node.op == "get_attr":
            value = getattr(graph, node.target, None)
            constants[node] = value
            name = own.get(value.untyped_storage().data_ptr()) if isinstance(value, torch.Tensor) and value.numel() else None
            if name is not None:
                raise FrontEndError(f"{where(node)}the step reads {name} otherwise than through the model that it is given, where it "
                                    "would be a constant")
            if isinstance(value, torch.Generator):
                raise FrontEndError(f"{where(next(iter(node.users), node))}the step draws numbers by a generator of its own, whose state has no part in "
                                    "a program; leave out generator=")
            if isinstance(value, torch.Tensor) and value.requires_grad:
                raise FrontEndError(f"{where(node)}the step reads a tensor {list(value.shape)} that requires a gradient and is no "
                                    "parameter of the model; it would be a constant")
            step.beside.reads(where(node), value)
        elif node.op == "call_function" and hasattr(node.target, "_schema"):
            schema = node.target._schema
            for argument, value in zip(schema.arguments, node.args):
                if argument.alias_info is not None and argument.alias_info.is_write and value in constants:
                    raise FrontEndError(f"{where(node)}the step changes a tensor that is no parameter or buffer of the model, by "
                                        f"{schema.name}; register it as a buffer")


def where(node: torch.fx.Node) -> str:
    """"file:line: " of the user, or nothing."""
    place = node.meta.get("stack_trace")
    return f"{places.shown(place)}: " if place else ""


def _explained(error: Exception) -> FrontEndError:
    """What PyTorch says while it is traced, in one line."""
    name, text = type(error).__name__, (str(error).strip().splitlines() or [""])[0]
    where = places.of_error(error)
    if ".numpy() is not supported" in text or "got FakeTensor" in text or name in ("DataDependentOutputException", "GuardOnDataDependentSymNode", "DynamicOutputShapeException"):
        what = f" ({getattr(error, 'func', '') or text})" if name not in ("GuardOnDataDependentSymNode", "TypeError") else ""
        return FrontEndError(f"{where}the step reads the value of a tensor, and what it does would depend on the data{what}; every "
                             "worker runs one fixed graph")
    return FrontEndError(f"{where}the step cannot be traced: {name}: {text}")
