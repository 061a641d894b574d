#!/usr/bin/env python3
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hosts as network namespaces, with links of a chosen speed.

    hosts.py --hosts 4 --rate 1gbit -- COMMAND...   runs COMMAND in every host
    hosts.py --check                                measures the links with iperf3

Every host is a namespace with one interface, a veth pair to a bridge in a
namespace of its own, so that nothing of the machine's own network is touched (but for
a moment the congestion controls that it allows, if that of the hosts is not among them).
A token bucket (tc tbf) shapes both ends of each pair: `rate` is what a host
sends at most, and what it receives at most, Ethernet headers included; they may
differ (`1gbit/250mbit`), and so may hosts. Delay and loss are not emulated. In COMMAND, {host} is the number of the host, {hosts}
how many there are, {address} its address and {addresses} all of them, with
commas. It ends when all commands have, or with the first that fails, whose exit
status it returns; the others are ended then.

Needs root and iproute2: ends with status 77 and a message otherwise. Everything
is removed in the end, also after an error, Ctrl-C or SIGTERM; what a killed run
has left behind is removed by the next one.
"""
import argparse
import contextlib
import ctypes
import fcntl
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

SKIPPED = 77  # the exit status that test drivers take for 'skipped'
BURST_BYTES = 128 * 1024  # enough for one offloaded packet; what a link stores in a pause
BURST_MS = 2  # that the shaper may be late, when others have the processors
NOTSENT_BYTES = 128 * 1024  # that TCP takes beyond what is on the way, so that what is urgent need not wait
QUEUE_MS = 20  # longest time in the queue of a link
UNITS = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
NAME = re.compile(r"commsched-(\d+)-\d+-(host\d+|switch)")
GRACE_SECONDS = 3  # between asking a process to end and killing it
_numbers = itertools.count()


class NetworkError(Exception):
    """A command of iproute2 failed, or an argument is wrong."""


def bits_per_second(text):
    """'1gbit', '250mbit' or '2.5gbit' as a whole number of bits per second."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(kbit|mbit|gbit)", text)
    rate = round(float(match[1]) * UNITS[match[2]]) if match else 0
    if not 10**4 <= rate <= 10**12:
        raise NetworkError(f"rate must be such as 1gbit or 250mbit, of 10kbit to 1000gbit, got: {text!r}")
    return rate


def burst_bytes(rate):
    """That a link of so many bits per second sends at once after a pause."""
    return max(BURST_BYTES, rate // 8 * BURST_MS // 1000)


def both_ways(rate):
    """(up, down) of a rate, or of one for each direction."""
    up, down = rate if isinstance(rate, (tuple, list)) else (rate, rate)
    return up, down


def link_rate(text):
    """'1gbit', or '1gbit/250mbit' for what a host sends and what it receives."""
    rates = tuple(map(bits_per_second, text.split("/")))
    if len(rates) > 2:
        raise NetworkError(f"a link must have one rate or two, got: {text!r}")
    return both_ways(rates if len(rates) == 2 else rates[0])


def why_unavailable():
    """What is missing for namespaces and shaped links; empty if nothing is."""
    missing = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    if missing:
        return f"needs iproute2 ({' and '.join(missing)})"
    if os.geteuid() != 0:
        return "needs root"
    name = f"commsched-{os.getpid()}-{next(_numbers)}-switch"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if tried.returncode != 0:
        return f"needs the right to make network namespaces: {tried.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", name], check=False)
    return ""


def _run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise NetworkError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def _set_tcp(host, name, value):
    _run("ip", "netns", "exec", host, "sh", "-c", f"echo {value} > /proc/sys/net/ipv4/tcp_{name}")


@contextlib.contextmanager
def _allowed(congestion):
    """While it is entered, a namespace may make this control its own: only what the
    system allows to everyone may be set there, and that need not be all it has."""
    with open("/proc/sys/net/ipv4/tcp_allowed_congestion_control", "r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        allowed = file.read().strip()
        if congestion in allowed.split():
            yield
            return
        try:
            pathlib.Path(file.name).write_text(f"{allowed} {congestion}\n", encoding="ascii")
        except OSError as error:
            raise NetworkError(f"congestion control {congestion!r} is not there: {error.strerror}") from None
        try:
            yield
        finally:
            pathlib.Path(file.name).write_text(f"{allowed}\n", encoding="ascii")


def _die_with_parent():
    """In a child: no command outlives a run that was killed."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def session_priority(process="self"):
    """Text: the priority that a process's session has among other sessions (autogroups of Linux). None where
    the kernel does not say: without autogroups there is no file, and of a process that is in none, as in a
    container that began without a session of its own, it is empty."""
    with contextlib.suppress(OSError):
        if words := pathlib.Path(f"/proc/{process}/autogroup").read_text().split():
            return words[-1]
    return None


def set_session_priority(nice):
    """Gives this process's session that priority. Does nothing where there are no sessions with priorities,
    or where it may not."""
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/autogroup").write_text(nice)


def _keep_priority():
    """In a child that has begun a session: it has the priority that its parent's session has, which would
    else end with it."""
    if nice := session_priority(os.getppid()):
        set_session_priority(nice)


def _delete(namespace):
    """Ends what runs in the namespace, and removes it with its interfaces."""
    listed = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True)
    for pid in listed.stdout.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)


def remove_leftovers():
    """Removes the namespaces of runs that are no more."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True)
    for line in listed.stdout.splitlines():
        match = NAME.fullmatch(line.split()[0]) if line else None
        if match and not os.path.exists(f"/proc/{match[1]}"):
            _delete(line.split()[0])


class Network:
    """Hosts that exist while the context is entered.

    `rates`: bits per second of each host's link, or two, (what it sends, what
    it receives); 0 for what is not shaped. `congestion`: of TCP in the hosts. `loopback`:
    addresses of loopback's block. All hosts are one machine, so that what may leave a
    machine only with TLS may go between these without; MPI does not take them.
    `own_processors`: what is started in a host runs on its share of the processors, if there
    are as many as hosts, and nothing of another host does, but the kernel's network."""

    def __init__(self, rates, congestion="cubic", loopback=False, own_processors=False):
        if not 1 <= len(rates) <= 250:
            raise NetworkError(f"must have 1 to 250 hosts, got: {len(rates)}")
        self.rates = [both_ways(rate) for rate in rates]  # (up, down)
        self.congestion, self.loopback, self.own_processors = congestion, loopback, own_processors
        prefix = f"commsched-{os.getpid()}-{next(_numbers)}"
        self._switch = f"{prefix}-switch"
        self._hosts = [f"{prefix}-host{i}" for i in range(len(rates))]
        self._made = []
        self._shaped = set()
        self._processes = []

    @property
    def addresses(self):
        return [f"{'127.77' if self.loopback else '10.0'}.0.{i + 1}" for i in range(len(self._hosts))]

    def __enter__(self):
        remove_leftovers()
        try:
            self._make(self._switch)
            _run("ip", "-n", self._switch, "link", "add", "bridge0", "type", "bridge")
            _run("ip", "-n", self._switch, "link", "set", "bridge0", "up")
            for number in range(len(self._hosts)):
                self._make_host(number)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def _make(self, namespace):
        self._made.append(namespace)  # first: an interrupt may come in between
        _run("ip", "netns", "add", namespace)

    def _make_host(self, number):
        host, port = self._hosts[number], f"port{number}"
        self._make(host)
        _run("ip", "link", "add", "eth0", "netns", host, "type", "veth",
             "peer", "name", port, "netns", self._switch)
        _run("ip", "-n", self._switch, "link", "set", port, "master", "bridge0", "up")
        _run("ip", "-n", host, "address", "add", f"{self.addresses[number]}/24", "dev", "eth0")
        _run("ip", "-n", host, "link", "set", "lo", "up")
        if self.loopback:
            # The rest of the block is not the host itself, and may come over a link.
            _run("ip", "-n", host, "address", "delete", "127.0.0.1/8", "dev", "lo")
            _run("ip", "-n", host, "address", "add", "127.0.0.1/32", "dev", "lo")
            _run("ip", "netns", "exec", host, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet")
        _run("ip", "-n", host, "link", "set", "eth0", "up")
        with _allowed(self.congestion):
            _set_tcp(host, "congestion_control", self.congestion)
        _set_tcp(host, "notsent_lowat", NOTSENT_BYTES)
        self.set_rate(number, self.rates[number])

    def set_rate(self, number, rate):
        """Changes the speed of a host's link, in bits per second: one, or (up, down)."""
        old, new = self.rates[number], both_ways(rate)
        ends = (self._hosts[number], "eth0"), (self._switch, f"port{number}")
        for (namespace, device), before, after in zip(ends, old, new):
            if after:
                _run("tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", "tbf", "rate", f"{after}bit",
                     "burst", str(burst_bytes(after)), "latency", f"{QUEUE_MS}ms")
            elif before and (namespace, device) in self._shaped:
                _run("tc", "-n", namespace, "qdisc", "delete", "dev", device, "root")
            (self._shaped.add if after else self._shaped.discard)((namespace, device))
        self.rates[number] = new

    def cut(self, number):
        """Unplugs a host: what it sends and what it is sent is lost."""
        _run("ip", "-n", self._switch, "link", "set", f"port{number}", "down")

    def mend(self, number):
        """Plugs it in again."""
        _run("ip", "-n", self._switch, "link", "set", f"port{number}", "up")

    def processors(self, number):
        """Of a host: those on which its processes may run."""
        allowed = sorted(os.sched_getaffinity(0))
        share = len(allowed) // len(self._hosts)
        return allowed[number * share:(number + 1) * share] if self.own_processors and share else allowed

    def inside(self, number):
        """The words to put before a command to run it in a host."""
        return ["ip", "netns", "exec", self._hosts[number]]

    def start(self, number, command, **options):
        """Starts a command in a host, as subprocess.Popen does. It is ended, with
        its children, when the network is closed."""
        processors = self.processors(number)

        def begin():
            _die_with_parent()
            _keep_priority()
            os.sched_setaffinity(0, processors)
        process = subprocess.Popen([*self.inside(number), *map(str, command)], start_new_session=True,
                                   preexec_fn=begin, **options)
        self._processes.append(process)
        return process

    def stop(self, processes=None):
        """Ends processes, all by default: first asks, then kills."""
        chosen = self._processes if processes is None else processes
        for ask in (signal.SIGTERM, signal.SIGKILL):
            for process in chosen:
                if process.poll() is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, ask)
            end = time.monotonic() + GRACE_SECONDS
            for process in chosen:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(0, end - time.monotonic()))

    def close(self):
        """Ends everything and removes the namespaces. Not to be interrupted."""
        kept = {}
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError):  # not in the main thread
                kept[number] = signal.signal(number, signal.SIG_IGN)
        try:
            self.stop()
            while self._made:
                _delete(self._made.pop())
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)

    def run_all(self, command):
        """Runs the command in every host, with the words in braces replaced.
        Returns 0, or the status of the first that fails; the others end then."""
        addresses = self.addresses
        running = []
        for number, address in enumerate(addresses):
            words = {"{host}": str(number), "{hosts}": str(len(addresses)), "{address}": address,
                     "{addresses}": ",".join(addresses)}
            running.append(self.start(number, [_replace(word, words) for word in command]))
        while running:
            for process in list(running):
                status = process.poll()
                if status is None:
                    continue
                running.remove(process)
                if status != 0:
                    self.stop(running)
                    return status if status > 0 else 128 - status
            time.sleep(0.02)
        return 0


def _replace(text, words):
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def measure(network, source, target, seconds):
    """Bits per second of one TCP stream, as received: payload only."""
    port = "5201"
    server = network.start(target, ["iperf3", "-s", "-1", "-p", port, "--forceflush"], stdout=subprocess.PIPE,
                           text=True)
    try:
        while "listening" not in (line := server.stdout.readline()):
            if not line:
                raise NetworkError("iperf3: the server ended before it listened")
        client = network.start(source, ["iperf3", "-c", network.addresses[target], "-p", port, "-t", str(seconds),
                                        "-J"], stdout=subprocess.PIPE, text=True)
        result = json.loads(client.communicate(timeout=seconds + 30)[0])
        if "error" in result:
            raise NetworkError(f"iperf3: {result['error']}")
        return result["end"]["sum_received"]["bits_per_second"]
    finally:
        network.stop([server])
        server.stdout.close()


def check(rates, congestion, seconds):
    """Measures the links from host to host, in both directions."""
    if shutil.which("iperf3") is None:
        print("net: needs iperf3 to measure links: skipped")
        return SKIPPED
    worst, slowest = None, float("inf")
    with Network(rates, congestion) as network:
        for source, target in ((0, 1), (1, 0)):
            want = min(rates[source][0], rates[target][1])
            slowest = min(slowest, want)
            share = measure(network, source, target, seconds) / want
            print(f"host {source} to host {target}: {share * want / 1e6:.1f} Mbit/s of payload, "
                  f"{share:.3f} of {want / 1e6:g} Mbit/s", flush=True)
            if worst is None or abs(share - 0.956) > abs(worst - 0.956):
                worst = share
    print(json.dumps({"mbit_per_s": slowest / 1e6, "payload_share": round(worst, 4)}))
    # 1448 bytes of payload in frames of 1514 are 0.956.
    return 0 if 0.9 <= worst <= 0.98 else 1


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, help="how many (default 2, or as many as rates)")
    parser.add_argument("--rate", default="1gbit", help="of every link, or of each, with commas; up/down where they differ (default 1gbit)")
    parser.add_argument("--congestion", default="cubic", help="control of TCP in the hosts (default cubic)")
    parser.add_argument("--check", action="store_true", help="measure the links instead of running a command")
    parser.add_argument("--seconds", type=int, default=3, help="length of a measurement (default 3)")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if options.command[:1] == ["--"]:
        options.command = options.command[1:]
    if bool(options.command) == options.check:
        parser.error("give a command, or --check")
    try:
        rates = [link_rate(text) for text in options.rate.split(",")]
    except NetworkError as error:
        parser.error(str(error))
    count = options.hosts if options.hosts is not None else max(2, len(rates))
    if not 1 <= count <= 250 or len(rates) not in (1, count):
        parser.error(f"--hosts must be 1 to 250, and --rate one rate or as many, got: {count} and {len(rates)}")
    options.rates = rates * count if len(rates) == 1 else rates
    if options.check and (count < 2 or options.seconds < 1):
        parser.error("--check needs 2 hosts and at least 1 second")
    return options


def main(arguments=None):
    options = parse(arguments)
    why = why_unavailable()
    if why:
        print(f"net: {why}: skipped")
        return SKIPPED

    def end(number, _):
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    try:
        if options.check:
            return check(options.rates, options.congestion, options.seconds)
        with Network(options.rates, options.congestion) as network:
            return network.run_all(options.command)
    except NetworkError as error:
        print(f"net: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
