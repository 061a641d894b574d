# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks in Python on several hosts, which are network namespaces with shaped links: TLS, and a token."""
import subprocess
import sys

import pytest

from rank_job import ROOT, TIME_LIMIT, environment, script, token_file
from test_rank import RANKS, THREADS, threads

sys.path.insert(0, str(ROOT / "bench"))
from _processes import Authority  # noqa: E402
from net import hosts  # noqa: E402

unavailable = hosts.why_unavailable()
pytestmark = pytest.mark.skipif(bool(unavailable), reason=unavailable)


def ended(processes):
    results = []
    for process in processes:
        out, errors = process.communicate(timeout=TIME_LIMIT)
        results.append((process.returncode, out.splitlines(), errors.splitlines()))
    return results


def tls_of(folder, network):
    """Variables of a certificate for all hosts."""
    words = [str(word) for word in Authority(folder / "tls").certificate("rank", ",".join(f"IP:{address}" for address in network.addresses))]
    return {f"COMMSCHED_{name[2:].upper().replace('-', '_')}": file for name, file in zip(words[::2], words[1::2])}


def start_all(network, path, security):
    return [network.start(host, [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment(host, len(network.addresses), 29400, MASTER_ADDR=network.addresses[0], **security))
            for host in range(len(network.addresses))]


def test_over_shaped_links(tmp_path):
    rates = [50 * 10**6] * 3
    path = script(tmp_path, RANKS)
    with hosts.Network(rates) as network:
        tls = tls_of(tmp_path, network)
        expected = threads(tmp_path, 3)
        token = {"COMMSCHED_TOKEN_FILE": token_file(tmp_path)}
        for status, out, errors in ended(start_all(network, path, {**token, **tls})):
            assert (status, out) == (0, expected), errors
        # Between machines a token alone is not enough.
        for rank, (status, _, errors) in enumerate(ended(start_all(network, path, token))):
            assert status == 1 and len(errors) == 1, errors
            assert errors[0] == (f"commsched: rank {rank}: 10.0.0.1 is not a loopback address: connections between machines need tls_ca, "
                                 "tls_cert, tls_key and token_file")


@pytest.mark.parametrize("more", ["", ", listen_any=True"])
def test_parameter_servers_over_shaped_links(tmp_path, more):
    strategy = "strategy=commsched.ParameterServers(servers=3, min_block_elements=1)"
    path = script(tmp_path, RANKS.replace("make(", f"make({strategy}"), init=f"commsched.init(deadline=30{more})")
    with hosts.Network([50 * 10**6] * 2) as network:
        tls = tls_of(tmp_path, network)
        expected = threads(tmp_path, 2, THREADS.replace("make(", f"make({strategy}, "))
        for status, out, errors in ended(start_all(network, path, {"COMMSCHED_TOKEN_FILE": token_file(tmp_path), **tls})):
            assert (status, out) == (0, expected), errors
