# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which models of PyTorch are trained, and which are refused, by which operation and line.

Architectures of transformers and families of torchvision's and timm's models (left out with a message where one is not
there; `pip install --no-deps --target FOLDER torchvision timm` and PYTHONPATH=FOLDER do, next to any PyTorch), with tiny
configurations, weights and batches from --seed, dropout 0. Of each, --steps steps by SGD with momentum and by AdamW on 1 and
2 workers, beside eager PyTorch that does them part by part; in double precision, where eager PyTorch can do the model in
that. Parameters, buffers and the optimizer's state may differ by 1e-6 (SGD) and 5e-5 (AdamW) of how far they went (or of a
thousandth of how far the one went that went furthest). --one: of each model one optimizer and number of workers, drawn by
--seed. --only REGEX chooses, --list names, --trace does not compile or run, --limit SECONDS is for each. Without --only and
--one it takes some hours on one core.
"""
import argparse
import collections
import copy
import json
import os
import random
import re
import signal
import sys
import traceback
import warnings

BOUND = {("float64", "sgd"): 1e-6, ("float64", "adamw"): 5e-5, ("float32", "sgd"): 1e-2, ("float32", "adamw"): 5e-2}


class TooLong(BaseException):
    """No Exception, which would be taken for one of the model."""


def _too_long(*_):
    raise TooLong


def all_models():
    """name -> (makes it, loss of the model and a batch, batch of a generator)."""
    found = {}
    for package in ("transformers", "torchvision", "timm"):
        try:
            found.update(__import__(f"_torch_zoo_{package}").models())
        except Exception as error:  # an ImportError, or what a build of another PyTorch raises
            print(f"left out: models of {package} ({str(error).splitlines()[0]})")
    return found


def without_dropout(model):
    """Every probability that modules read when they are called is 0."""
    for module in model.modules():
        for name, value in vars(module).items():
            if isinstance(value, float) and "drop" in name:
                setattr(module, name, 0.0)
        if "drop" in type(module).__name__.lower() or type(module).__name__ == "StochasticDepth":
            module.p = 0.0


def doubled(value):
    import torch
    if isinstance(value, dict):
        return {k: doubled(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(map(doubled, value))
    return value.double() if torch.is_tensor(value) and value.is_floating_point() else value


def optimizer_of(name, model, rate):
    import torch
    if name == "sgd":
        return torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    return torch.optim.AdamW(model.parameters(), lr=rate / 100, eps=1e-6)


def eager(model, by, loss_fn, batches, rate, workers):
    """(losses, optimizer) of training in place."""
    import torch_training
    optimizer = optimizer_of(by, model, rate)
    return torch_training.eager(model, optimizer, loss_fn, batches, workers), optimizer


class Missing:
    """Within it, the operations without a rule of what is transpiled."""

    def __enter__(self):
        import torch
        from commsched.torch import interpret
        self.names, self._run = set(), interpret.run

        def run(graph, *arguments):
            self.names = {str(n.target).removesuffix(".default") for n in graph.graph.nodes
                          if n.op == "call_function" and isinstance(n.target, torch._ops.OpOverload) and interpret.rule_of(n.target) is None}
            return self._run(graph, *arguments)
        interpret.run = run
        return self

    def __exit__(self, *_):
        from commsched.torch import interpret
        interpret.run = self._run


def within(error):
    """The line of the library's model, as the user's is one here."""
    frames = [f for f in traceback.extract_tb((error.__cause__ or error).__traceback__) if f"{os.sep}models{os.sep}" in f.filename]
    return f" [{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}]" if frames else ""


def not_made(row, error):
    return {**row, "result": "not made", "why": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}


def tried(name, make, loss_of, batch_of, arguments, combinations):
    """A row: what became of a model, by optimizers and numbers of workers."""
    import torch
    torch.manual_seed(arguments.seed)
    row = {"model": name}
    try:
        generator = torch.Generator().manual_seed(arguments.seed)
        model, batches = make(), [batch_of(generator) for _ in range(arguments.steps)]
    except TooLong:
        raise
    except Exception as error:
        return not_made(row, error)
    without_dropout(model.train())

    def loss_fn(model, *parts):
        return loss_of(model, *parts)
    try:
        eager(copy.deepcopy(model).double(), "sgd", loss_fn, [doubled(batches[0])], arguments.rate, 2)
        model, batches, row["type"] = model.double(), list(map(doubled, batches)), "float64"
    except TooLong:
        raise
    except Exception:
        row["type"] = "float32"
        try:
            eager(copy.deepcopy(model), "sgd", loss_fn, batches[:1], arguments.rate, 2)
        except Exception as error:
            return not_made(row, error)
    for by, workers in combinations:
        found = trained(row, model, by, workers, loss_fn, batches, arguments)
        if row.get("difference", -1) > found.get("difference", -1):
            found.update({k: row[k] for k in ("difference", "where")})
        row.update(found)
        if row["result"] != "trained":
            return {**row, "by": f"{by} on {workers}"}
    return row


def trained(row, model, by, workers, loss_fn, batches, arguments):
    """What a row gets of one optimizer and number of workers."""
    import torch_training

    import commsched
    import commsched.torch
    found = copy.deepcopy(model)
    optimizer = optimizer_of(by, found, arguments.rate)
    with Missing() as missing:
        try:
            program = commsched.torch.transpile(found, optimizer, loss_fn, batches[0], cluster=workers)
        except commsched.FrontEndError as error:
            return {"result": "refused", "why": str(error) + within(error), "missing": sorted(missing.names)}
    with program:
        if arguments.trace:
            return {"result": "captured"}
        metrics = program.run(batches)
        program.load_into(found, optimizer)
    wanted = copy.deepcopy(model)
    losses, wanted_optimizer = eager(wanted, by, loss_fn, batches, arguments.rate, workers)
    distance = torch_training.distance
    rows = [(n, distance(a, b), distance(b, c)) for (n, a), b, c in zip(found.named_parameters(), wanted.parameters(), model.parameters())]
    furthest = max(w for _, _, w in rows)
    for (n, p), q in zip(found.named_parameters(), wanted.parameters()):
        state = wanted_optimizer.state.get(q, {})
        rows += [(f"{k} of {n}", distance(optimizer.state[p][k], v), float(v.abs().max())) for k, v in state.items() if v is not None and v.numel()]
    # At least what rounds off: a parameter's own size.
    rows += [(n, distance(a, b), max(distance(b, c), 1.0)) for (n, a), b, c in zip(found.named_buffers(), wanted.buffers(), model.buffers())
             if a.is_floating_point()]
    worst, where = max((apart / max(w, 1e-3 * furthest), n) for n, apart, w in rows)
    loss = max(abs(next(iter(m.values())) - l) / max(1, abs(l)) for m, l in zip(metrics, losses))
    good = worst <= BOUND[row["type"], by] and loss <= 1e-3 and 1e-4 <= furthest < float("inf")
    return {"result": "trained" if good else "wrong", "difference": worst, "where": where, "moved": furthest, "loss": loss}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="four of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="REGEX")
    parser.add_argument("--rate", type=float, default=0.1, help="of SGD; a hundredth of it of AdamW")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--optimizers", nargs="+", choices=["sgd", "adamw"], default=["sgd", "adamw"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--one", action="store_true", help="one optimizer and number of workers for each model, drawn by --seed")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--limit", type=int, default=300, metavar="SECONDS")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("there is no PyTorch (scripts/setup.sh --bench)", file=sys.stderr)
        sys.exit(77)
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "python"))
    import commsched
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    models = all_models()
    if arguments.quick:
        models = {n: m for n, m in models.items() if n in ("transformers/bert", "transformers/fnet", "transformers/t5", "torchvision/vgg")}
    if arguments.only:
        models = {n: m for n, m in models.items() if re.search(arguments.only, n)}
    if arguments.list:
        print("\n".join(models))
        return
    if not models:
        sys.exit("no model is left to be tried")
    signal.signal(signal.SIGALRM, _too_long)
    rows = []
    every = [(by, n) for by in arguments.optimizers for n in arguments.workers]
    for name, (make, loss_of, batch_of) in models.items():
        signal.alarm(arguments.limit)
        one = arguments.one or arguments.trace
        try:
            row = tried(name, make, loss_of, batch_of, arguments, [random.Random(f"{name} {arguments.seed}").choice(every)] if one else every)
        except TooLong:
            row = {"model": name, "result": "too long", "why": f"more than {arguments.limit} s"}
        except (commsched.CommSchedError, AssertionError) as error:
            row = {**not_made({"model": name}, error), "result": "wrong"}
        finally:
            signal.alarm(0)
        rows.append(row)
        said = row.get("why") or (f"{row['type']}, {row['difference']:.1e} of {row['moved']:.1e}" if "moved" in row else "")
        said += f" ({row['where']}, {row['by']})" if row["result"] == "wrong" and "where" in row else ""
        print(f"{name:45} {row['result']:9} {said}", flush=True)
        if len(row.get("missing", ())) > 1:
            print(f"{'':45} {'':9} without a rule: {', '.join(row['missing'])}", flush=True)
    counts = collections.Counter(r["result"] for r in rows)
    missing = collections.Counter(op for r in rows for op in r.get("missing", ()))
    print(json.dumps({"models": len(rows), "trained": counts["trained"], "captured": counts["captured"], "refused": {r["model"]: r["why"] for r in rows if r["result"] == "refused"},
                      "wrong": [r["model"] for r in rows if r["result"] == "wrong"], "not_made": [r["model"] for r in rows if r["result"] == "not made"],
                      "too_long": [r["model"] for r in rows if r["result"] == "too long"],
                      "worst": max((r["difference"] for r in rows if r["result"] == "trained"), default=None), "missing": dict(missing.most_common()),
                      "seed": arguments.seed}))
    sys.exit(1 if counts["wrong"] else 0)


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
