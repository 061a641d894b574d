# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether training with sparse gradients gets where dense training gets.

The digits net and the Transformer of examples/, from --seeds different initial values
and with different batches, five ways: all of each gradient travels (dense); 1 % of
it, and what does not is added to the next gradient (with_feedback); 1 %, and the rest
is lost (without_feedback); 1 % with feedback, selected and exchanged by the system of
the paper, MSTopK with N = 30 in HiTopKComm (mstopk); and that, with gradients that a
rank computes at parameters which have its part of what it has not sent yet (unsent).
Everything else is the same. Sparse gradients begin with a warm-up, 25 % for a tenth of the
steps and then 6.25 % for a fifth (Lin et al., ICLR 2018). A loss is the mean over the last
tenth of the steps: of what the steps report, which with `unsent` is at each rank's own view
of the parameters, and, on every fifth of these batches, of the parameters that all ranks
have, which are what is trained. Of the Transformer there is also their loss in the end, on
other pieces of the text (final); of the digits net the accuracy on samples that are not
trained on.

The digits net is trained by 4 workers with the momentum of its optimizer. The Transformer
is trained by 2 workers with Adam, with a smaller batch than in examples/ and so more steps
for the same work: how late a gradient is counts in steps.
Feedback in front of Adam is more than a delay: of n gradients that arrive at once as their
sum, Adam makes less than of one after the other. So Adam's moments are in front of the
selection there (Chen et al., ACM TIST 2021), and its optimizer is gradient descent with the
same learning rate; --behind leaves them behind the exchange, to compare.

Last, the digits net with feedback by cs-run, once as a whole and once from a
checkpoint in the middle: parameters, momentum and residuals must be bitwise equal.
"""
import argparse
import functools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from _examples import Example, unpacked  # noqa: E402
from _tools import tool  # noqa: E402

DENSITY = 0.01
WORKERS = {"digits": 4, "transformer": 2}
# The digits net has two tensors of about 5000 elements, and small ones.
LEAST = {"digits": 1024, "transformer": 16384}
STEPS = 1500
TRANSFORMER_BATCH = 4
WARM_UP = (0.25, 0.0625)
PARTS = (0.1, 0.2)  # of the steps, for each density of the warm-up
# Adam in front of the selection: the decays of examples/transformer.
CORRECTION = {"digits": {}, "transformer": {"momentum": 0.9, "second_moment": 0.999}}
WAYS = ["dense", "with_feedback", "without_feedback", "mstopk", "unsent"]
PAPER = {"method": "hitopk", "select": "mstopk", "mstopk_samples": 30}
FINAL_BATCHES, FINAL_SEED = 60, 999
TIME_LIMIT = 600  # seconds, only ends a hang


def load(name):
    example = Example(name)
    if name == "transformer":
        example.module.GLOBAL_BATCH = TRANSFORMER_BATCH
    return example


def strategy(example, way, steps, behind=False, parts=PARTS, squares="mean"):
    import commsched
    if way == "dense":
        return commsched.AllReduce()
    correction = {} if behind else CORRECTION[example.name]
    if correction:
        correction = {**correction, "squares": squares}
    system = PAPER if way in ("mstopk", "unsent") else {"method": "allgather"}
    if way == "unsent":
        # What a rank's unsent part will change of the mean: the momentum of the optimizer behind it adds up to 1 / (1 - m).
        rate = example.module.LEARNING_RATE / WORKERS[example.name]
        if not correction:
            rate /= 1 - getattr(example.module, "MOMENTUM", 0)
        system = {**system, "unsent_rate": rate}
    warm_up = tuple((density, max(1, round(steps * part))) for density, part in zip(WARM_UP, parts))
    return commsched.AllReduce(sparse=commsched.Sparse(DENSITY, min_elements=LEAST[example.name], warm_up=warm_up,
                                                       feedback=way != "without_feedback", **system, **correction))


def train_on(program, module, batches):
    """The losses that the steps report, and in the last tenth of the steps, before every fifth, the loss on its batch
    of the parameters that all ranks have: without `unsent` that is what the step reports."""
    import jax
    loss, last = jax.jit(module.loss), max(1, len(batches) // 10)
    batches = unpacked(batches)
    reported = [m["loss"] for m in program.run(batches[:-last])]
    shared = []
    for begin in range(len(batches) - last, len(batches), 5):
        own = batches[begin] if isinstance(batches[begin], tuple) else (batches[begin],)
        shared.append(float(loss(program.params, *own)))
        reported += [m["loss"] for m in program.run(batches[begin:begin + 5])]
    return statistics.fmean(reported[-last:]), statistics.fmean(shared)


def final_loss(module, params):
    """Of the Transformer, on pieces that no training has had in this order."""
    import jax
    loss = jax.jit(module.loss)
    return statistics.fmean(float(loss(params, tokens)) for tokens in module.batches(FINAL_BATCHES, FINAL_SEED))


def train(example, way, seed, steps, behind, rate, parts, squares):
    """The loss that steps report, and of the parameters that all ranks have; the accuracy of the digits net; the loss of
    the Transformer's parameters in the end."""
    import optax
    module = example.module
    replaced = {"init": functools.partial(module.init, seed), "LEARNING_RATE": module.LEARNING_RATE * rate}
    if example.name == "transformer":
        in_front = way != "dense" and not behind
        replaced["optimizer"] = (optax.sgd if in_front else optax.adam)(replaced["LEARNING_RATE"])
    with unittest.mock.patch.multiple(module, **replaced):
        program = example.program(WORKERS[example.name], strategy(example, way, steps, behind, parts, squares))
    first = steps * seed if example.name == "transformer" else 22 * seed  # an epoch has 22 batches
    batches = example.batches(first + steps)[first:]
    loss, shared = train_on(program, module, batches)
    accuracy = final = None
    if example.name == "digits":
        *_, x, y = example.module.data()
        accuracy = program.call("eval", [(x, y)])[0]["accuracy"]
    else:
        final = final_loss(module, program.params)
    program.close()
    return loss, shared, accuracy, final


def over_dense(by_seed):
    """In %, by example and way: of the means over seeds, and the worst seed beside the dense run of the same seed. Of dense:
    how far its worst seed is above its mean."""
    result = {}
    for name, ways in by_seed.items():
        dense = ways.get("dense")
        if not dense:
            continue
        mean = statistics.fmean(dense)
        result[name] = {way: {"mean": round(100 * (statistics.fmean(own) / mean - 1), 2),
                              "worst": round(100 * max(a / b - 1 for a, b in zip(own, [mean] * len(own) if way == "dense" else dense)), 2)}
                        for way, own in ways.items()}
    return result


def cs_run(folder, *arguments):
    done = subprocess.run([tool("cs-run"), folder / "plan", "--batch", folder / "batch.npz", *map(str, arguments)],
                          capture_output=True, text=True, timeout=TIME_LIMIT)
    if done.returncode:
        sys.exit(f"cs-run failed ({done.returncode}): {done.stderr}")


def resumes_bitwise(steps):
    """Of the digits net, in the middle of `steps` steps."""
    import numpy as np
    from safetensors.numpy import load_file, save_file
    example = load("digits")
    program = example.program(WORKERS["digits"], strategy(example, "with_feedback", steps, parts=()))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "plan").write_bytes(program.plan)
        save_file(program.slots(), folder / "init.safetensors")
        program.close()
        batches = example.batches(steps)
        np.savez(folder / "batch.npz", **{n: np.concatenate([b[i] for b in batches])
                                          for i, n in enumerate(example.batch_names)})
        initial = ["--init", folder / "init.safetensors"]
        cs_run(folder, *initial, "--steps", steps, "--checkpoint", folder / "whole")
        cs_run(folder, *initial, "--steps", steps // 2, "--checkpoint", folder / "half")
        cs_run(folder, "--resume", folder / "half", "--steps", steps - steps // 2, "--checkpoint", folder / "rest")
        names = [""] + [f".step{steps}.rank{rank}" for rank in range(WORKERS["digits"])]
        for suffix in names:
            whole, rest = load_file(f"{folder}/whole{suffix}"), load_file(f"{folder}/rest{suffix}")
            if whole.keys() != rest.keys() or any(v.tobytes() != rest[n].tobytes() for n, v in whole.items()):
                return False
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few steps, one seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="of each training (default: those of the example)")
    parser.add_argument("--behind", action="store_true", help="Adam behind the exchange, not in front of the selection")
    parser.add_argument("--examples", nargs="*", default=["digits", "transformer"])
    parser.add_argument("--rate", type=float, default=1.0, help="learning rates, times this, in all ways")
    parser.add_argument("--warm-up", type=float, nargs=2, default=PARTS, metavar="PART",
                        help="parts of the steps at densities of 0.25 and 0.0625")
    parser.add_argument("--squares", default="mean", choices=["mean", "own"],
                        help="of Adam in front of the selection: of the mean of all ranks, or of each rank's own gradients")
    parser.add_argument("--ways", nargs="*", default=WAYS, choices=WAYS, help="some of the five")
    arguments = parser.parse_args()
    seeds, ways = 1 if arguments.quick else arguments.seeds, arguments.ways
    losses, by_seed, shared_by_seed, accuracies = {way: {} for way in ways}, {}, {}, {way: [] for way in ways}
    finals = {way: [] for way in ways}
    steps = {name: arguments.steps or (STEPS // 20 if arguments.quick else STEPS) for name in arguments.examples}
    for name in arguments.examples:
        example = load(name)
        by_seed[name] = {way: [] for way in ways}
        shared_by_seed[name] = {way: [] for way in ways}
        for seed in range(seeds):
            for way in ways:
                start = time.perf_counter()
                loss, shared, accuracy, final = train(example, way, seed, steps[name], arguments.behind, arguments.rate,
                                                      arguments.warm_up, arguments.squares)
                by_seed[name][way].append(round(loss, 5))
                shared_by_seed[name][way].append(round(shared, 5))
                if accuracy is not None:
                    accuracies[way].append(accuracy)
                if final is not None:
                    finals[way].append(round(final, 5))
                print(f"{name:12} {way:17} seed {seed}: loss {loss:.5f}, of shared parameters {shared:.5f}"
                      f"{'' if accuracy is None else f', accuracy {accuracy:.4f}'}"
                      f"{'' if final is None else f', final {final:.5f}'} "
                      f"({time.perf_counter() - start:.1f} s, {steps[name]} steps)", flush=True)
        for way in ways:
            losses[way][name] = round(statistics.fmean(by_seed[name][way]), 5)
    bitwise = resumes_bitwise(6 if arguments.quick else 44)
    print(f"resuming from a checkpoint in the middle is bitwise the same: {'yes' if bitwise else 'NO'}")
    digits_accuracy = {way: round(statistics.fmean(a), 4) for way, a in accuracies.items() if a}
    print(json.dumps({**losses, "digits_accuracy": digits_accuracy or None, "by_seed": by_seed,
                      "shared_by_seed": shared_by_seed, "over_dense": over_dense(shared_by_seed),
                      "over_dense_as_reported": over_dense(by_seed), "transformer_final": finals,
                      "rate": arguments.rate, "squares": arguments.squares, "warm_up": arguments.warm_up, "density": DENSITY, "workers": WORKERS,
                      "steps": steps, "seeds": seeds, "resume_bitwise": bitwise}))
    sys.exit(0 if bitwise else 1)


if __name__ == "__main__":
    main()
