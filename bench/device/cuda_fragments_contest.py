# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ours and the peers of one case of cuda_fragments.py: started, waited for, and timed in turn."""
import json
import os
import pathlib
import queue
import statistics
import subprocess
import sys
import threading
import time

import cuda_fragments_values as values
from cuda_fragments_ours import Ours
from cuda_fragments_peer import MARK

HERE = pathlib.Path(__file__).resolve().parent
ANSWER_LIMIT = 60  # seconds; only ends a hang
OURS_LIMIT = 90
COMPILE_THREADS = max(2, (os.cpu_count() or 2) // 2)  # of each PyTorch process


class Peer:
    """A process of cuda_fragments_peer.py. label: what its variants are called with; name: of the process."""

    def __init__(self, label, name, command, log, environment):
        self.label, self.name, self.log = label, name, log
        with open(log, "w") as errors:
            self.process = subprocess.Popen([sys.executable, *map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=errors, text=True, env={**os.environ, **environment}, cwd=HERE)
        self.answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.hello, self.why = None, None

    def _read(self):
        for line in self.process.stdout:
            if line.startswith(MARK):
                self.answers.put(json.loads(line[len(MARK):]))
        self.answers.put(None)

    def ready(self):
        """Whether it can be timed, or never will be."""
        if self.hello is None and self.why is None:
            try:
                self.hello = self.answers.get_nowait()
            except queue.Empty:
                return False
            if self.hello is None:
                self.fail("has ended")
        return True

    def fail(self, why):
        lines = self.log.read_text(errors="replace").strip().splitlines()
        self.why = f"{why}: {' | '.join(lines[-4:])}"[-700:]
        self.close()

    def time(self, variant, seconds, blocks):
        try:
            self.process.stdin.write(json.dumps({"variant": variant, "seconds": seconds, "blocks": blocks}) + "\n")
            self.process.stdin.flush()
            answer = self.answers.get(timeout=ANSWER_LIMIT)
        except (OSError, queue.Empty):
            answer = None
        if answer is None:
            self.fail("has ended, or did not answer, when it was timed")
            return []
        return answer["ms"]

    def close(self):
        self.process.kill()
        self.process.wait()


class Contest:
    """times, losses: by who; failed: who, and why; rounds: in which everybody has been timed. Nobody keeps the others off the device
    before that: what a peer tries on it to choose its kernels is disturbed a little."""

    def __init__(self, pack, case, folder, arguments, begin):
        self.pack, self.case, self.folder, self.arguments, self.begin = pack, case, folder, arguments, begin
        self.times, self.losses, self.failed, self.ready_after = {}, {}, {}, {}
        self.summary_ms, self.device, self.peers, self.ours = [], None, [], None
        self.rounds, self.contenders = 0, []

    def start(self):
        """Peers begin to import what they need, and wait for the values that write() makes."""
        own, name = self.pack / "cuda_fragments", self.case["name"]
        init, data = values.paths(self.case, self.folder)
        described = own / f"{name}.json"
        self.ours = Ours(self.pack, self.case, init, data, OURS_LIMIT)
        jax = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        self._add("jax", "jax.jit", [HERE / "cuda_fragments_jax.py", described, own / "models", init, data], jax)
        for mode in self.arguments.torch_modes:
            torch = {"TORCHINDUCTOR_CACHE_DIR": str(self.folder / f"inductor-{name}-{mode}"),
                     "TORCHINDUCTOR_COMPILE_THREADS": str(COMPILE_THREADS),
                     "TORCHINDUCTOR_MAX_AUTOTUNE": "0"}
            self._add("torch", f"torch.{mode}", [HERE / "cuda_fragments_torch.py", described, init, data, mode], torch)

    def _add(self, label, name, command, environment):
        self.peers.append(Peer(label, name, command, self.folder / f"{self.case['name']}-{len(self.peers)}.log", environment))

    def write(self):
        values.write(self.case, self.folder)

    def begin_ours(self):
        try:
            self.losses["ours"] = self.ours.losses()
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            self.failed["ours"] = str(error)[:700]

    def ready(self):
        for peer in self.peers:
            if peer.ready() and peer.hello and peer.name not in self.ready_after:
                self.ready_after[peer.name] = round(time.monotonic() - self.begin, 1)
                print(f"{self.case['name']}: {peer.name} is ready after {self.ready_after[peer.name]} s", flush=True)
        return all(peer.ready() for peer in self.peers)

    def give_up(self, why):
        for peer in self.peers:
            if not peer.ready():
                peer.fail(why)

    def gather(self):
        """Who is to be timed: no more are waited for."""
        self.contenders = ["ours"] if "ours" in self.losses else []
        for peer in self.peers:
            if peer.hello:
                self.device = self.device or peer.hello["device"]
                self.failed.update({f"{peer.label}.{name}": why for name, why in peer.hello["failed"].items()})
                self.losses.update({f"{peer.label}.{name}": losses for name, losses in peer.hello["losses"].items()})
                self.contenders += [(peer, variant) for variant in peer.hello["losses"]]
            if peer.why:
                self.failed[peer.name] = peer.why

    def time(self):
        """A round, of everybody in turn. Peers that fail are left out from then on; of PyTorch's variants all but the one that was
        fastest in the first round."""
        # Nobody is always behind the same one.
        first = self.rounds % max(len(self.contenders), 1)
        for contender in self.contenders[first:] + self.contenders[:first]:
            self._time(contender)
        if self.rounds == 0:
            self.contenders = self._without_slower_torch(self.contenders)
        self.rounds += 1

    def _without_slower_torch(self, contenders):
        medians = {name: statistics.median(ms) for name, ms in self.times.items() if ms and name.startswith("torch.")}
        best = min(medians, key=medians.get, default=None)
        return [c for c in contenders if c == "ours" or c[0].label != "torch" or f"torch.{c[1]}" == best]

    def _time(self, contender):
        seconds, blocks = self.arguments.seconds, self.arguments.blocks
        if contender == "ours":
            try:
                ms, summary = self.ours.time(seconds, blocks)
                self.times.setdefault("ours", []).extend(ms)
                self.summary_ms.append(summary)
            except (RuntimeError, OSError, KeyError, ValueError) as error:
                self.failed["ours"] = str(error)[:700]
            return
        peer, variant = contender
        if not peer.why:
            self.times.setdefault(f"{peer.label}.{variant}", []).extend(peer.time(variant, seconds, blocks))
            if peer.why:
                self.failed[peer.name] = peer.why

    def close(self):
        for peer in self.peers:
            peer.close()
