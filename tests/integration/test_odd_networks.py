# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that meet across hosts whose names are not one address each, the same everywhere: hosts are network namespaces,
each with a file of names of its own."""
import os
import subprocess
import sys

import pytest
from conftest import ROOT, TIME_LIMIT, expect_error, expect_success, tool, write_token

sys.path.insert(0, str(ROOT / "bench"))
from _processes import Authority  # noqa: E402
from net import hosts  # noqa: E402

unavailable = hosts.why_unavailable()
pytestmark = pytest.mark.skipif(bool(unavailable), reason=unavailable)

V4, V6 = [f"10.0.0.{host + 1}" for host in range(3)], [f"fd00::{host + 1}" for host in range(3)]
SILENT = "fd00::98"  # packets to it get lost, so that nothing is refused
NAMED = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"']


class Hosts:
    def __init__(self, network, plan, data, folder):
        self.network, self.plan, self.data, self.folder = network, plan, data, folder
        names = ",".join([*(f"IP:{address}" for address in V4 + V6), "DNS:boss"])
        self.security = ["--token-file", write_token(folder / "token", "of three hosts, and a job"), *Authority(folder / "tls").certificate("rank", names)]
        for host in range(3):
            self.run(host, "ip", "address", "add", f"{V6[host]}/64", "dev", "eth0", "nodad")
            self.run(host, "ip", "neighbour", "replace", SILENT, "lladdr", "02:00:00:00:00:01", "dev", "eth0", "nud", "permanent")

    def run(self, host, *command):
        subprocess.run([*self.network.inside(host), *command], check=True, timeout=TIME_LIMIT)

    def start(self, host, command, names=None, **keywords):
        file = self.folder / f"hosts.{host}"
        file.write_text("".join(f"{address} boss\n" for address in names or []))
        return self.network.start(host, [*NAMED, file, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)

    def train(self, names, *options, master="boss", port=29400):
        """Of each rank, its output, errors and status. `names`: of each host, the addresses of boss."""
        ranks = [self.start(host, [tool("cs-run"), self.plan, *self.data, "--steps", 3, *self.security, *options], names[host],
                            env=os.environ | {"RANK": str(host), "WORLD_SIZE": "3", "MASTER_ADDR": master, "MASTER_PORT": str(port)})
                 for host in range(3)]
        results = [rank.communicate(timeout=TIME_LIMIT) for rank in ranks]
        return [(*result, rank.returncode) for result, rank in zip(results, ranks)]


@pytest.fixture(scope="module")
def lab(linear, linear_data, tmp_path_factory):
    with hosts.Network([10**9] * 3) as network:
        if subprocess.run([*network.inside(0), "ip", "address", "add", "fd01::1/128", "dev", "lo"], capture_output=True).returncode != 0:
            pytest.skip("needs IPv6")
        yield Hosts(network, linear[3], linear_data, tmp_path_factory.mktemp("lab"))


@pytest.mark.parametrize("names", [
    [[SILENT, V4[0]]] * 3,                        # tried for longer than ranks wait, if the system is left to it
    [[V6[0], V4[0]], [V4[0]], [V6[0]]],           # each has a way of its own
    [["127.0.1.1", V4[0]], [V4[0]], [V4[0]]],     # as Debian names the host itself
    [[V6[0], V4[0]], [SILENT, V4[0]], [V4[0], V6[0]]],
], ids=["silent-first", "a-way-each", "itself-first", "mixed"])
def test_names_of_several_addresses(lab, names):
    for result in lab.train(names, "--deadline", 60):
        expect_success(result)


@pytest.mark.parametrize("options", [[], ["--listen-any"]], ids=["own-address", "all-networks"])
@pytest.mark.parametrize("master", [V4[0], V6[0]])
def test_each_protocol(lab, master, options):
    for result in lab.train([None] * 3, *options, master=master):
        expect_success(result)


def test_link_local_addresses(lab, tmp_path):
    """Of one network, by the interface's name."""
    shown = [subprocess.run([*lab.network.inside(host), "ip", "-6", "-o", "address", "show", "dev", "eth0", "scope", "link"],
                            capture_output=True, text=True, check=True).stdout.split()[3].split("/")[0] for host in range(3)]
    security, lab.security = lab.security, [*lab.security[:2], *Authority(tmp_path / "tls").certificate("rank", ",".join(f"IP:{a}" for a in shown))]
    for result in lab.train([None] * 3, master=f"{shown[0]}%eth0"):
        expect_success(result)
    lab.security = security


def test_another_listens_at_the_first_address(lab):
    """And says nothing to who comes."""
    mute = lab.start(0, [sys.executable, "-c", "import socket, time\nlistener = socket.socket(socket.AF_INET6)\n"
                         f"listener.bind(('{V6[0]}', 29500))\nlistener.listen()\nprint('listens', flush=True)\ntime.sleep(3600)"])
    assert mute.stdout.readline() == "listens\n", mute.stderr.read()
    for result in lab.train([[V6[0], V4[0]]] * 3, "--deadline", 60, port=29500):
        expect_success(result)
    mute.kill()


def test_errors_say_what_a_name_stands_for(lab):
    first, *others = lab.train([["127.0.1.1"], [V4[0]], [V4[0]]], "--deadline", 3)
    expect_error(first, "ranks 1, 2 did not come to boss:29400 (127.0.1.1)")
    for result in others:
        expect_error(result, "rank 0 was not met at boss:29400", f"{V4[0]}: Connection refused")


def test_a_name_that_one_does_not_know(lab):
    first, second, third = lab.train([[V4[0]], None, [V4[0]]], "--deadline", 3)
    expect_error(first, "rank 1 did not come to boss:29400")
    expect_error(second, "rank 0 was not met at boss:29400", "boss: ")
    expect_error(third, "rank 1 did not come to boss:29400")


def test_a_silent_host_is_given_up_in_time(lab):
    """An error is nothing that waits for the system's own patience with an address."""
    for rank, result in enumerate(lab.train([[V4[0]], [SILENT], [SILENT]], "--deadline", 5)):
        expect_error(result, "did not come" if rank == 0 else f"was not met at boss:29400 within 5s; last error: {SILENT}: Connection timed out")
