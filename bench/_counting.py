# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A job whose parameter counts its updates, and its processes: 2 trainers and 2
servers over TLS with a token. Every gradient is 1 and is subtracted, so a
parameter is minus the number of updates: of steps in sync mode, of pushes in
async mode."""
import pathlib
import socket
import subprocess
import threading
import time

import numpy as np

TRAINERS, SERVERS, ROWS = 2, 2, 1000

MODULE = f"""#in = affine_map<(i, j) -> (0)>
#out = affine_map<(i, j) -> (i, j)>
!t = tensor<{ROWS}x1000xf32>
cs.cluster @bench nodes = {TRAINERS} devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 10000, latency_ns = 50000>
func.func @init() -> (!t {{cs.updates = "w"}}) {{
  %w = arith.constant dense<0.0> : !t
  return %w : !t
}}
func.func @step(%w: !t {{cs.param = "w"}}, %x: tensor<1xf32> {{cs.batch = "x"}}) -> (!t {{cs.updates = "w"}})
    attributes {{cs.step}} {{
  %e = tensor.empty() : !t
  %r = linalg.generic {{indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]}}
      ins(%x : tensor<1xf32>) outs(%e : !t) {{
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
  }} -> !t
  %g = cs.gradient %r of "w" : !t
  %n = arith.subf %w, %g : !t
  return %n : !t
}}
"""


def make_plan(tool, path, sync_mode):
    options = f"--cs-parameter-server-pipeline=servers={SERVERS} sync-mode={sync_mode}"
    scheduled = subprocess.run([tool("cs-opt"), options], input=MODULE, text=True, capture_output=True, check=True)
    subprocess.run([tool("cs-translate"), "--mlir-to-plan", "-o", path], input=scheduled.stdout, text=True, check=True)


class Authority:
    """A certificate authority, and one certificate for this machine."""

    def __init__(self, folder):
        folder.mkdir()

        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        (folder / "extensions").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl("req", "-x509", *key, "-days", "2", "-subj", "/CN=bench", "-keyout", "ca.key", "-out", "ca.pem")
        openssl("req", *key, "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "request.pem")
        openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                "2", "-extfile", "extensions", "-out", "certificate.pem")
        self.options = ["--tls-ca", folder / "ca.pem", "--tls-cert", folder / "certificate.pem", "--tls-key",
                        folder / "key.pem"]


class Proxy:
    """Hands TCP connections on to `target`. `open`: bytes pass; else they wait.
    truncate(): ends all connections after the next few bytes."""

    def __init__(self, target):
        self.target, self.open, self._cut = target, threading.Event(), threading.Event()
        self.open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.open.wait()
            try:
                host, port = self.target.split(":")
                server = socket.create_connection((host, int(port)), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source, target):
        try:
            while data := source.recv(1 << 16):
                self.open.wait()
                if self._cut.is_set() and len(data) > 1000:
                    target.sendall(data[:777])
                    self._cut.clear()
                    break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def truncate(self):
        self._cut.set()

    def close(self):
        self._listener.close()
        self.open.set()


class Job:
    """options(role, index): further options of that process."""

    def __init__(self, tool, plan, folder, security, deadline=30, proxied=False):
        self.tool, self.plan, self.folder, self.security, self.deadline = tool, plan, folder, security, deadline
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(TRAINERS + SERVERS)]
        found = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
        for s in sockets:
            s.close()
        self.peers, self.listen = found[:TRAINERS], found[TRAINERS:]
        self.proxies = [Proxy(address) for address in self.listen] if proxied else []
        self.processes, self.ended, self.results = {}, {}, {}
        np.savez(folder / "batch.npz", x=np.ones(TRAINERS, np.float32))

    def _start(self, name, arguments):
        process = subprocess.Popen([self.tool("cs-run"), self.plan, *map(str, arguments), "--deadline",
                                    str(self.deadline)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.processes[name] = process

        def wait():
            out, errors = process.communicate()
            self.ended[name], self.results[name] = time.monotonic(), (out, errors, process.returncode)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        process.waiter = thread

    def start_server(self, index, resume=False):
        self._start(f"server {index}", [
            "--role", "server", "--index", index, "--listen", self.listen[index], "--checkpoint",
            self.folder / "saved", "--checkpoint-every", 10, *(["--resume", self.folder / "saved"] if resume else []),
            *self.security("server", index)])

    def start_trainer(self, rank, steps):
        servers = [proxy.address for proxy in self.proxies] if self.proxies and rank == 1 else self.listen
        self._start(f"trainer {rank}", [
            "--role", "trainer", "--rank", rank, "--peers", ",".join(self.peers), "--servers", ",".join(servers),
            "--batch", self.folder / "batch.npz", "--steps", steps, "--save-params", self.folder / "params",
            *self.security("trainer", rank)])

    def start(self, steps):
        for index in range(SERVERS):
            self.start_server(index)
        for rank, count in enumerate(steps):
            self.start_trainer(rank, count)

    def checkpoint(self, index):
        return pathlib.Path(self.folder) / "saved" / f"server.{index}.checkpoint"

    def wait_for_steps(self, limit):
        """Until all servers have saved something; False if that does not come."""
        end = time.monotonic() + limit
        while not all(self.checkpoint(k).exists() for k in range(SERVERS)):
            if time.monotonic() > end or self.ended:
                return False
            time.sleep(0.02)
        return True

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].waiter.join()

    def finish(self, limit):
        """Names of the processes that had to be ended."""
        end, hanging = time.monotonic() + limit, []
        for name, process in self.processes.items():
            process.waiter.join(max(0, end - time.monotonic()))
            if process.waiter.is_alive():
                hanging.append(name)
                self.kill(name)
        for proxy in self.proxies:
            proxy.close()
        return hanging
