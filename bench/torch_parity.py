# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a process that has only the plan trains models of PyTorch as eager PyTorch does.

Weights and batches come from --seed. A CNN with batch norm, an LSTM, ViT, MLP-Mixer, ConvNeXt, and ResNet, BERT and GPT-2 of
transformers (left out with a message where that is not there) take 5 steps by SGD with momentum and by AdamW on 1, 2 and 4
workers: eager PyTorch here, part by part of each global batch; the plan in a process in which torch and jax cannot be
imported. Then parameters, the optimizer's state and running statistics are compared, element by element; of models that
moved less than 1e-3 that shows nothing, and they count as wrong. The CNN and the LSTM once more with a rate that drops tenfold
after the second step. --models, --workers and --optimizers choose; --quick: two models on 1 and 2 workers.

AdamW has eps=1e-6: it divides by the root of what a gradient squared is on average, and where that gradient is zero but for
rounding (biases of keys in attention), the default of 1e-8 lets rounding decide where a parameter goes, in any two programs.
"""
import argparse
import copy
import json
import os
import pathlib
import sys

from _parity import by_plan, reduced_bytes

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

STEPS = 5
BOUNDS = {"sgd": 1e-6, "adamw": 5e-5}


def missing(name):
    try:
        __import__(name)
    except ImportError:
        return True
    return False


def transformers_models(seed):
    """Of transformers, small, without dropout."""
    import torch_models as models
    import transformers as t
    t.logging.set_verbosity_error()
    same = dict(vocab_size=20, attn_implementation="sdpa")

    def loss(model, x, labels):
        return model(x, labels=labels).loss
    no_dropout = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return {
        "HF ResNet": (lambda: t.ResNetForImageClassification(t.ResNetConfig(
            num_channels=3, embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=5)), loss,
            models.images(seed, STEPS, 16, size=32)),
        "BERT": (lambda: t.BertForMaskedLM(t.BertConfig(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=16, **same, **no_dropout)),
            loss, models.texts(seed, STEPS)),
        "GPT-2": (lambda: t.GPT2LMHeadModel(t.GPT2Config(
            n_positions=16, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0, **same)),
            loss, models.texts(seed, STEPS)),
    }


def all_models(seed):
    """name -> (makes it, loss_fn, batches)."""
    import torch_models as models
    from torch import nn
    criterion = nn.CrossEntropyLoss()
    found = {"CNN": (models.cnn, criterion, models.images(seed, STEPS, 16)), "LSTM": (models.Recurrent, criterion, models.texts(seed, STEPS)),
             "ViT": (models.vit, criterion, models.images(seed, STEPS, 16)), "MLP-Mixer": (models.mixer, criterion, models.images(seed, STEPS, 16)),
             "ConvNeXt": (models.convnext, criterion, models.images(seed, STEPS, 16))}
    if missing("transformers"):
        print("left out: HF ResNet, BERT, GPT-2, as there are no transformers (scripts/setup.sh --bench)")
        return found
    return {**found, **transformers_models(seed)}


def compare(make, loss_fn, batches, optimizer_of, workers, seed, drop):
    """A row of numbers."""
    import torch
    import torch_training

    import commsched.torch
    torch.manual_seed(seed)
    model = make()
    start = copy.deepcopy(model)
    optimizer = optimizer_of(model)
    program = commsched.torch.transpile(model, optimizer, loss_fn, batches[0], cluster=workers)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2], 0.1) if drop else None
    rates = []

    def after():
        rates.append([g["lr"] for g in optimizer.param_groups])
        if scheduler:
            scheduler.step()
    first = [[g["lr"] for g in optimizer.param_groups]]
    torch_training.eager(model, optimizer, loss_fn, batches, workers, after_step=after)
    found = by_plan(program, first + rates[1:], batches)
    wanted = {n: t for n, t in [*model.named_parameters(), *model.named_buffers()]}
    trainable = {n: p for n, p in model.named_parameters() if p.requires_grad}
    state = {f"optimizer.{n}.{k}": v for n, p in model.named_parameters() for k, v in optimizer.state[p].items() if v is not None}

    def worst(names):
        pairs = [(torch.from_numpy(found[n]), {**wanted, **state}[n]) for n in names]
        return max((torch_training.distance(a, b) for a, b in pairs), default=0.0)
    text = program.mlir(0)
    row = {"params": worst([n for n, _ in model.named_parameters()]), "state": worst(state),
           "statistics": worst([n for n, _ in model.named_buffers()]),
           "moved": max(torch_training.distance(a, b) for a, b in zip(model.parameters(), start.parameters())),
           "gradients": text.count("= cs.gradient ") == len(trainable),
           "bytes": workers == 1 or reduced_bytes(program, trainable) == sum(4 * p.numel() for p in trainable.values())}
    program.close()
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--optimizers", nargs="+", choices=list(BOUNDS), default=list(BOUNDS))
    arguments = parser.parse_args()
    if missing("torch"):
        print("there is no PyTorch (scripts/setup.sh --bench)", file=sys.stderr)
        sys.exit(77)
    import torch
    torch.set_num_threads(1)
    models = all_models(arguments.seed)
    chosen = arguments.models or (["CNN", "LSTM"] if arguments.quick else list(models))
    for name in chosen:
        if name not in models:
            sys.exit(f"no model '{name}'; there are: {', '.join(models)}")
    workers = [1, 2] if arguments.quick else arguments.workers
    optimizers = {"sgd": lambda m: torch.optim.SGD(m.parameters(), lr=0.02, momentum=0.9),
                  "adamw": lambda m: torch.optim.AdamW(m.parameters(), lr=1e-3, eps=1e-6)}
    rows, wrong = [], []
    print(f"{'model':10} {'optimizer':9} {'workers':>7} {'rate':>6} {'params':>9} {'state':>9} {'statistics':>10} {'moved':>9}")
    for name in chosen:
        for by in arguments.optimizers:
            for count, drop in [(w, False) for w in workers] + ([(workers[-1], True)] if name in ("CNN", "LSTM") else []):
                make, loss_fn, batches = models[name]
                row = {"model": name, "optimizer": by, "workers": count, "drop": drop,
                       **compare(make, loss_fn, batches, optimizers[by], count, arguments.seed, drop)}
                rows.append(row)
                good = max(row["params"], row["state"], row["statistics"]) <= BOUNDS[by] and row["moved"] >= 1e-3
                if not (good and row["gradients"] and row["bytes"]):
                    wrong.append(row)
                print(f"{name:10} {by:9} {count:7} {'drops' if drop else 'same':>6} {row['params']:9.1e} {row['state']:9.1e} "
                      f"{row['statistics']:10.1e} {row['moved']:9.1e}{'' if good else '  wrong'}", flush=True)

    def worst(by, *keys):
        return max((r[k] for r in rows for k in keys if by in (None, r["optimizer"])), default=None)
    print(json.dumps({"worst_sgd": worst("sgd", "params", "state"), "worst_adamw": worst("adamw", "params", "state"),
                      "worst_statistics": worst(None, "statistics"), "least_moved": min(r["moved"] for r in rows), "cases": len(rows),
                      "models": len(chosen), "gradients_equal": all(r["gradients"] for r in rows), "bytes_equal": all(r["bytes"] for r in rows),
                      "wrong": wrong, "seed": arguments.seed}))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
