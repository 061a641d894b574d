# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which models of PyTorch are trained, and which are refused, by which operation and line.

Architectures of transformers and families of torchvision's models (left out with a message where one is not there), with
tiny configurations, weights and batches from --seed, dropout 0. Of each, one step of SGD on 2 workers, beside eager
PyTorch that does it part by part; in double precision, where eager PyTorch can do the model in that. A parameter may differ by
1e-4 of how far it went (or of a thousandth of how far the one went that went furthest). --only REGEX chooses, --list names,
--trace does not compile or run, --limit SECONDS is for each. Without --only it takes about half an hour on one core.
"""
import argparse
import collections
import copy
import json
import os
import re
import signal
import sys
import traceback
import warnings

BOUND = {"float64": 1e-4, "float32": 1e-2}


class TooLong(BaseException):
    """No Exception, which would be taken for one of the model."""


def _too_long(*_):
    raise TooLong


def all_models():
    """name -> (makes it, loss of the model and a batch, batch of a generator)."""
    found = {}
    for package in ("transformers", "torchvision"):
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


def eager_step(model, loss_fn, batch, rate):
    import torch
    import torch_training
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    return torch_training.eager(model, optimizer, loss_fn, [batch], 2)[0]


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


def tried(name, make, loss_of, batch_of, seed, rate, trace):
    """A row: what became of a model."""
    import torch
    import torch_training

    import commsched
    import commsched.torch
    torch.manual_seed(seed)
    row = {"model": name}
    try:
        model, batch = make(), batch_of(torch.Generator().manual_seed(seed))
    except TooLong:
        raise
    except Exception as error:
        return {**row, "result": "not made", "why": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
    without_dropout(model.train())

    def loss_fn(model, *parts):
        return loss_of(model, *parts)
    wanted = copy.deepcopy(model).double()
    try:
        loss, row["type"] = eager_step(wanted, loss_fn, doubled(batch), rate), "float64"
        model, batch = model.double(), doubled(batch)
    except TooLong:
        raise
    except Exception:
        wanted, row["type"] = copy.deepcopy(model), "float32"
        try:
            loss = eager_step(wanted, loss_fn, batch, rate)
        except Exception as error:
            return {**row, "result": "not made", "why": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
    with Missing() as missing:
        try:
            program = commsched.torch.transpile(model, torch.optim.SGD(model.parameters(), lr=rate), loss_fn, batch, cluster=2)
        except commsched.FrontEndError as error:
            return {**row, "result": "refused", "why": str(error) + within(error), "missing": sorted(missing.names)}
    if trace:
        program.close()
        return {**row, "result": "captured"}
    found = copy.deepcopy(model)
    metrics = program.run([batch])
    program.load_into(found)
    program.close()
    went = [torch_training.distance(a, b) for a, b in zip(wanted.parameters(), model.parameters())]
    apart = [torch_training.distance(a, b) for a, b in zip(found.parameters(), wanted.parameters())]
    apart += [torch_training.distance(a, b) for a, b in zip(found.buffers(), wanted.buffers()) if a.is_floating_point()]
    went += [max(torch_training.distance(a, b), 1.0) for a, b in zip(wanted.buffers(), model.buffers()) if a.is_floating_point()]
    furthest = max(went[: len(list(model.parameters()))])
    # At least what rounds off: a parameter's own size.
    row.update(difference=max(a / max(w, 1e-3 * furthest) for a, w in zip(apart, went)), moved=furthest,
               loss=abs(next(iter(metrics[0].values())) - loss))
    good = row["difference"] <= BOUND[row["type"]] and row["loss"] <= 1e-3 and 1e-3 <= furthest < float("inf")
    return {**row, "result": "trained" if good else "wrong"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="four of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="REGEX")
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--limit", type=int, default=120, metavar="SECONDS")
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
    for name, (make, loss_of, batch_of) in models.items():
        signal.alarm(arguments.limit)
        try:
            row = tried(name, make, loss_of, batch_of, arguments.seed, arguments.rate, arguments.trace)
        except TooLong:
            row = {"model": name, "result": "too long", "why": f"more than {arguments.limit} s"}
        except (commsched.CommSchedError, AssertionError) as error:
            row = {"model": name, "result": "wrong", "why": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
        finally:
            signal.alarm(0)
        rows.append(row)
        said = row.get("why") or (f"{row['type']}, {row['difference']:.1e} of {row['moved']:.1e}" if "moved" in row else "")
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
