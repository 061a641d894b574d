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

from cuda_fragments_ours import Ours
from cuda_fragments_peer import MARK, device_alone

HERE = pathlib.Path(__file__).resolve().parent
ANSWER_LIMIT = 60  # seconds; only ends a hang
OURS_LIMIT = 90
COMPILE_THREADS = max(2, (os.cpu_count() or 2) // 3)  # of each PyTorch process


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
    """times, losses: by who; failed: who, and why; done: everybody has been timed."""

    def __init__(self, pack, case, folder, arguments, begin):
        self.pack, self.case, self.folder, self.arguments, self.begin = pack, case, folder, arguments, begin
        self.times, self.losses, self.failed, self.ready_after = {}, {}, {}, {}
        self.summary_ms, self.device, self.peers, self.ours = [], None, [], None
        self.lock, self.done = folder / "lock", False

    def start(self, init, data):
        own, name = self.pack / "cuda_fragments", self.case["name"]
        described = own / f"{name}.json"
        self.ours = Ours(self.pack, self.case, init, data, OURS_LIMIT)
        jax = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        self._add("jax", "jax.jit", [HERE / "cuda_fragments_jax.py", described, own / "models", init, data, self.lock], jax)
        for mode in self.arguments.torch_modes:
            torch = {"TORCHINDUCTOR_CACHE_DIR": str(self.folder / f"inductor-{name}-{mode}"),
                     "TORCHINDUCTOR_COMPILE_THREADS": str(COMPILE_THREADS)}
            self._add("torch", f"torch.{mode}", [HERE / "cuda_fragments_torch.py", described, init, data, self.lock, mode], torch)

    def _add(self, label, name, command, environment):
        self.peers.append(Peer(label, name, command, self.folder / f"{self.case['name']}-{len(self.peers)}.log", environment))

    def begin_ours(self):
        try:
            with device_alone(self.lock):
                self.losses["ours"] = self.ours.losses()
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            self.failed["ours"] = str(error)[:700]

    def ready(self):
        for peer in self.peers:
            if peer.ready() and peer.hello and peer.name not in self.ready_after:
                self.ready_after[peer.name] = round(time.monotonic() - self.begin, 1)
        return all(peer.ready() for peer in self.peers)

    def give_up(self, why):
        for peer in self.peers:
            if not peer.ready():
                peer.fail(why)

    def time(self):
        """In turn. Peers that fail are left out from then on; of PyTorch's variants all but the one that was fastest in the first round."""
        contenders = ["ours"] if "ours" in self.losses else []
        for peer in self.peers:
            if peer.hello:
                self.device = self.device or peer.hello["device"]
                self.failed.update({f"{peer.label}.{name}": why for name, why in peer.hello["failed"].items()})
                self.losses.update({f"{peer.label}.{name}": losses for name, losses in peer.hello["losses"].items()})
                contenders += [(peer, variant) for variant in peer.hello["losses"]]
        with device_alone(self.lock):
            for i in range(self.arguments.rounds):
                if i > 0 and time.monotonic() - self.begin > self.arguments.limit:
                    break
                # Nobody is always behind the same one.
                for contender in contenders[i % len(contenders):] + contenders[:i % len(contenders)] if contenders else []:
                    self._time(contender)
                if i == 0:
                    contenders = self._without_slower_torch(contenders)
        for peer in self.peers:
            if peer.why:
                self.failed[peer.name] = peer.why
        self.done = True

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

    def close(self):
        for peer in self.peers:
            peer.close()
