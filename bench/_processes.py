# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processes of a job with parameter servers, and what they need: certificates,
addresses, connections that can be spoilt."""
import pathlib
import secrets
import socket
import subprocess
import threading
import time

HOSTS = ["DNS:localhost", "IP:127.0.0.1"] + [f"IP:10.0.0.{i}" for i in range(1, 9)]
PORT = 7000


def new_token(path):
    """Options of cs-run that name a new token file."""
    path.touch(mode=0o600)
    path.write_text(secrets.token_hex(32) + "\n")
    return ["--token-file", path]


class Authority:
    """A certificate authority, and certificates that it signs."""

    def __init__(self, folder):
        self._folder = folder
        folder.mkdir()
        self._openssl("req", "-x509", *self._key, "-days", "2", "-subj", "/CN=bench", "-keyout", "ca.key", "-out",
                      "ca.pem")
        self.options = self.certificate("certificate")

    _key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self._folder, check=True, capture_output=True)

    def certificate(self, name, hosts=",".join(HOSTS), days=2):
        """Options of cs-run that show a new certificate; with days = -1, one that has expired."""
        (self._folder / f"{name}.extensions").write_text(f"subjectAltName={hosts}\n")
        self._openssl("req", *self._key, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                      "-days", str(days), "-extfile", f"{name}.extensions", "-out", f"{name}.pem")
        return ["--tls-ca", self._folder / "ca.pem", "--tls-cert", self._folder / f"{name}.pem", "--tls-key",
                self._folder / f"{name}.key"]


class Proxy:
    """Hands TCP connections on to `target`, and spoils them when told to."""

    def __init__(self, target):
        self.target, self._fault, self._spoilt = target, None, threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                host, port = self.target.split(":")
                server = socket.create_connection((host, int(port)), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for pair in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source, target, to_server):
        try:
            while data := source.recv(1 << 16):
                # Only data: the heads of frames and TLS records are shorter.
                if self._fault and self._fault[1] == to_server and len(data) > 10000:
                    (kind, _), self._fault = self._fault, None
                    self._spoilt.set()
                    if kind == "cut":
                        target.sendall(data[:7777])
                        break
                    data = data[:7777] + data[7877:]
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def spoil(self, kind, to_server):
        """In the middle of the next message that way, the connection ends ("cut"),
        or 100 bytes are missing ("loss"). False if none comes."""
        self._spoilt.clear()
        self._fault = (kind, to_server)
        return self._spoilt.wait(20)

    def close(self):
        self._listener.close()


def free_addresses(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    return found


class Processes:
    """Processes of cs-run over a plan. results: by name, (output, errors, exit status) of
    those that have ended; ended: when, on the monotonic clock. `network`: of net.hosts,
    with a host for each process; else everything is on loopback."""

    def __init__(self, tool, plan, deadline, network):
        self.tool, self.plan, self.deadline, self.network = tool, plan, deadline, network
        self.processes, self.ended, self.results, self.proxies = {}, {}, {}, []

    def _start(self, name, arguments, deadline=None, host=None):
        command = [self.tool("cs-run"), self.plan, *arguments, "--deadline", deadline or self.deadline]
        pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.network:
            process = self.network.start(host, command, **pipes)
        else:
            process = subprocess.Popen([*map(str, command)], **pipes)
        self.processes[name] = process

        def wait():
            out, errors = process.communicate()
            self.ended[name], self.results[name] = time.monotonic(), (out, errors, process.returncode)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        process.waiter = thread

    def _runnable_time(self, name):
        """Nanoseconds that its threads have run or waited for a processor; 0 if it is gone."""
        total = 0
        for path in pathlib.Path(f"/proc/{self.processes[name].pid}/task").glob("*/schedstat"):
            try:
                total += sum(map(int, path.read_text().split()[:2]))
            except OSError:
                pass
        return total

    def wait_until_computing(self, busy, idle, limit=30):
        """Until for 80 ms `busy` computes, or would if a processor were free, and those in
        `idle` do not, so that no message is on its way. The shares of the time, by name;
        None if that does not come."""
        end = time.monotonic() + limit
        names = [busy, *idle]
        while time.monotonic() < end and not self.ended:
            start, before = time.monotonic_ns(), [self._runnable_time(name) for name in names]
            time.sleep(0.08)
            passed = time.monotonic_ns() - start
            share = [(self._runnable_time(name) - b) / passed for name, b in zip(names, before)]
            if share[0] > 0.8 and all(s < 0.05 for s in share[1:]):
                return dict(zip(names, share))
        return None

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


class Job(Processes):
    """Trainers and servers of a plan. `counts`: how many of each; security(role,
    index): options of that process; of_servers, of_trainers: options of all.
    `network`: of net.hosts, with a host for each process, trainers first; else
    everything is on loopback. `proxied`: trainer 1 reaches the servers through
    proxies."""

    def __init__(self, tool, plan, folder, security, counts, of_servers=(), of_trainers=(), deadline=30, proxied=False,
                 network=None):
        super().__init__(tool, plan, deadline, network)
        self.folder, self.security = folder, security
        self.trainers, self.servers = counts
        self.of_servers, self.of_trainers = of_servers, of_trainers
        if network:
            self.listen = [f"{address}:{PORT}" for address in network.addresses[self.trainers:]]
        else:
            self.listen = free_addresses(self.servers)
        self.proxies = [Proxy(address) for address in self.listen] if proxied else []

    def start_server(self, index, *arguments):
        self._start(f"server {index}", [
            "--role", "server", "--index", index, "--listen", self.listen[index], *self.of_servers, *arguments,
            *self.security("server", index)], host=self.trainers + index)

    def start_trainer(self, rank, *arguments, name=None, security=None, deadline=None):
        """`name`, security, deadline: of one that is not the job's own."""
        servers = [proxy.address for proxy in self.proxies] if self.proxies and rank == 1 else self.listen
        self._start(name or f"trainer {rank}", [
            "--role", "trainer", "--rank", rank, "--servers", ",".join(servers),
            *self.of_trainers, *arguments, *(self.security("trainer", rank) if security is None else security)],
            deadline, host=rank)

    def restart_server(self, index, *arguments):
        name = f"server {index}"
        del self.processes[name], self.results[name], self.ended[name]
        self.start_server(index, *arguments)
