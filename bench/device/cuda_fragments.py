# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A whole training step on one CUDA device, ours against jax.jit and torch.compile of the same step, in float32 without TF32: the
Transformer of examples/ with batches of 16 and 256, and BERT-base with 32 sequences of 128. Usage: PACK, the folder that
cuda_fragments_pack.py has filled, with cs-run in PACK/bin and, where it needs them, libraries in PACK/lib.

Same initial values and batches everywhere. Ours copies each batch from the host, in advance; those of the peers are on the
device already, and nobody waits for a loss. The peers compile side by side, each in a process of its own; those that are not ready after
--prepare seconds are left out, and end. Then everybody is timed alone, in turn, of one case after the other, --rounds times or as
often as --limit allows, PyTorch from the second time on by its fastest variant only: peers by synchronizing around blocks of
steps, ours by the moments at which cs-run says that a step is done, without its first block. Medians over all blocks. The first
five losses are compared.

The last line is JSON: over_best: by case, the fastest peer's time over ours; worst_over_best; losses_equal: the largest relative
difference of a loss from jax.jit's; cases, with what has failed and why. Status 77 without a device; --cpu goes on without one."""
import argparse
import json
import pathlib
import signal
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from cuda_fragments_contest import Contest  # noqa: E402
from cuda_fragments_device import has_device  # noqa: E402


class TimeIsUp(Exception):
    pass


def time_is_up(*_):
    raise TimeIsUp


def relative(a, b):
    return abs(a - b) / abs(b) if a == a and b == b else float("inf")


def result(contest):
    """What is printed of a case."""
    ms = {name: statistics.median(times) for name, times in contest.times.items() if times}
    peers = {name: value for name, value in ms.items() if name != "ours"}
    wanted = contest.losses.get("jax.jit") or next(iter(contest.losses.values()), [])
    apart = {name: max(map(relative, losses, wanted)) for name, losses in contest.losses.items()}
    best = min(peers, key=peers.get, default=None)
    return {"ms": {name: round(value, 4) for name, value in ms.items()}, "best_peer": best,
            "over_best": round(peers[best] / ms["ours"], 4) if best and "ours" in ms else None,
            "blocks": {name: [round(min(times), 4), round(max(times), 4), len(times)] for name, times in contest.times.items() if times},
            "losses": contest.losses, "losses_apart": apart, "summary_ms": contest.summary_ms, "seconds_to_ready": contest.ready_after,
            "failed": contest.failed, "device": contest.device}


def show(name, found):
    print(f"{name}: ms per step, median of blocks")
    for who, ms in sorted(found["ms"].items(), key=lambda item: item[1]):
        least, most, count = found["blocks"][who]
        print(f"  {who:32} {ms:10.4f}   {count} blocks, {least:.4f} to {most:.4f}")
    for who, losses in found["losses"].items():
        print(f"  losses {who:25} {' '.join(f'{loss:.6f}' for loss in losses)}   apart {found['losses_apart'][who]:.1e}")
    for who, why in found["failed"].items():
        print(f"  {who} has failed: {why}")
    print(f"  fastest peer over ours: {found['over_best']}", flush=True)


def hold(contests, begin, arguments):
    """Everybody prepares, those that take longest first; then all cases are timed, a round of each after the other."""
    for contest in contests:
        contest.start()
    for contest in contests:
        contest.write()
    for contest in contests:
        contest.begin_ours()
        contest.ready()  # and says so
    while not all([contest.ready() for contest in contests]) and time.monotonic() - begin < arguments.prepare:
        time.sleep(0.1)
    for contest in contests:
        contest.give_up("was not ready in time")
    for contest in contests:
        contest.gather()
    print(f"timed from {time.monotonic() - begin:.1f} s on", flush=True)
    for i in range(arguments.rounds):
        for contest in contests:
            if i == 0 or time.monotonic() - begin < arguments.limit:
                contest.time()
    for contest in contests:
        show(contest.case["name"], result(contest))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", type=pathlib.Path)
    parser.add_argument("--cases", nargs="*", help="names (default: all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=3, help="in a round")
    parser.add_argument("--seconds", type=float, default=0.25, help="of a block")
    parser.add_argument("--end", type=float, default=140, help="seconds after which what is known is printed; so does SIGTERM")
    parser.add_argument("--prepare", type=float, help="seconds after which peers that are not ready are given up (50 before the end)")
    parser.add_argument("--limit", type=float, help="seconds after which no further round of a case begins (12 before the end)")
    parser.add_argument("--torch-modes", nargs="*", default=["default", "eager"], help='of torch.compile, or "eager"')
    parser.add_argument("--cpu", action="store_true", help="go on without a device, to try this program")
    arguments = parser.parse_args()
    if arguments.prepare is None:
        arguments.prepare = max(arguments.end - 50, arguments.end / 2)
    if arguments.limit is None:
        arguments.limit = max(arguments.end - 12, arguments.end / 2)
    if not arguments.cpu and not has_device():
        print("cuda_fragments: needs a CUDA device")
        sys.exit(77)
    begin = time.monotonic()
    described = [json.loads(path.read_text()) for path in sorted((arguments.pack / "cuda_fragments").glob("*.json"))]
    for number in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, time_is_up)
    signal.setitimer(signal.ITIMER_REAL, arguments.end)
    with tempfile.TemporaryDirectory() as folder:
        # Those that take longest to compile begin first.
        contests = [Contest(arguments.pack.resolve(), case, pathlib.Path(folder), arguments, begin)
                    for case in sorted(described, key=lambda case: -len(case["slots"]))
                    if not arguments.cases or case["name"] in arguments.cases]
        try:
            hold(contests, begin, arguments)
        except TimeIsUp:
            for contest in contests:
                contest.failed["time"] = f"was up after {time.monotonic() - begin:.0f} s, {contest.rounds} rounds"
                show(contest.case["name"], result(contest))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for contest in contests:
                contest.close()
        cases = {contest.case["name"]: result(contest) for contest in contests}
    ratios = {name: found["over_best"] for name, found in cases.items()}
    known = [value for value in ratios.values() if value is not None]
    print(json.dumps({"over_best": ratios, "worst_over_best": min(known) if len(known) == len(ratios) and known else None,
                      "losses_equal": max((v for found in cases.values() for v in found["losses_apart"].values()), default=None),
                      "seconds": round(time.monotonic() - begin, 1),
                      "cases": cases}))


if __name__ == "__main__":
    main()
