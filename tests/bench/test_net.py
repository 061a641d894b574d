# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hosts as network namespaces: bench/net/hosts.py."""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from net import hosts  # noqa: E402

TOOL = [sys.executable, str(ROOT / "bench/net/hosts.py")]
TIME_LIMIT = 120  # seconds, only ends a hang
unavailable = hosts.why_unavailable()
needs_namespaces = pytest.mark.skipif(bool(unavailable), reason=unavailable)


def run(*arguments, **options):
    return subprocess.run([*TOOL, *arguments], capture_output=True, text=True, timeout=TIME_LIMIT, **options)


def namespaces(pid):
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return re.findall(rf"commsched-{pid}-\S+", listed)


def wait_until(holds):
    end = time.monotonic() + TIME_LIMIT
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("text, bits", [("1gbit", 10**9), ("250mbit", 25 * 10**7), ("2.5gbit", 25 * 10**8)])
def test_rates(text, bits):
    assert hosts.bits_per_second(text) == bits


@pytest.mark.parametrize("text", ["", "1", "1 gbit", "-1gbit", "0mbit", "1Gbit", "9999999gbit", "1.gbit"])
def test_bad_rates(text):
    with pytest.raises(hosts.NetworkError, match="rate must be such as 1gbit"):
        hosts.bits_per_second(text)


@pytest.mark.parametrize("arguments, error", [
    ([], "give a command, or --check"),
    (["--check", "true"], "give a command, or --check"),
    (["--hosts", "0", "true"], "--hosts must be 1 to 250"),
    (["--hosts", "3", "--rate", "1gbit,1gbit", "true"], "as many, got: 3 and 2"),
    (["--rate", "fast", "true"], "rate must be such as 1gbit"),
])
def test_bad_arguments(arguments, error):
    result = run(*arguments)
    assert result.returncode == 2 and error in result.stderr


def test_without_iproute2_it_skips():
    result = run("true", env={**os.environ, "PATH": "/nowhere"})
    assert result.returncode == hosts.SKIPPED
    assert result.stdout == "net: needs iproute2 (ip and tc): skipped\n"


@pytest.mark.parametrize("seed", range(50))
def test_hosts_have_equal_shares_of_the_processors_and_none_in_common(monkeypatch, seed):
    draw = random.Random(seed)
    allowed = set(draw.sample(range(100), draw.randrange(1, 40)))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: allowed)
    count = draw.randrange(1, 12)
    shares = [hosts.Network([0] * count, own_processors=True).processors(host) for host in range(count)]
    if len(allowed) < count:
        assert all(set(share) == allowed for share in shares)
    else:
        together = [processor for share in shares for processor in share]
        assert len(set(together)) == len(together) and set(together) <= allowed
        assert {len(share) for share in shares} == {len(allowed) // count}
    assert set(hosts.Network([0] * count).processors(0)) == allowed


@needs_namespaces
def test_what_is_started_in_a_host_runs_on_its_processors():
    show = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]
    for own in (False, True):
        with hosts.Network([0] * 2, own_processors=own) as network:
            said = [network.start(host, show, stdout=subprocess.PIPE, text=True).communicate()[0] for host in range(2)]
            assert said == [f"{network.processors(host)}\n" for host in range(2)]
            assert (said[0] != said[1]) == (own and len(os.sched_getaffinity(0)) > 1)


@needs_namespaces
def test_every_host_runs_the_command_and_knows_the_others():
    result = run("--hosts", "3", "--", "sh", "-c", "echo {host} {hosts} {address} {addresses}")
    everyone = "10.0.0.1,10.0.0.2,10.0.0.3"
    assert sorted(result.stdout.splitlines()) == [f"{i} 3 10.0.0.{i + 1} {everyone}" for i in range(3)]
    assert result.returncode == 0


@needs_namespaces
def test_the_first_failure_ends_the_others():
    result = run("--hosts", "3", "--", "sh", "-c", "if [ {host} = 1 ]; then exit 7; fi; sleep 1000")
    assert result.returncode == 7


@needs_namespaces
def test_a_congestion_control_that_is_not_allowed_to_everyone():
    path = pathlib.Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
    allowed = path.read_text()
    try:
        path.write_text("reno\n")
    except OSError as error:
        pytest.skip(f"needs the right to write {path}: {error.strerror}")
    try:
        with hosts.Network([0]) as network:
            process = network.start(0, ["cat", "/proc/sys/net/ipv4/tcp_congestion_control"], stdout=subprocess.PIPE, text=True)
            assert process.communicate(timeout=TIME_LIMIT)[0].strip() == "cubic"
        assert path.read_text().split() == ["reno"]
        with pytest.raises(hosts.NetworkError, match="congestion control 'nonsense' is not there"):
            hosts.Network([0], "nonsense").__enter__()
        assert path.read_text().split() == ["reno"]
    finally:
        path.write_text(allowed)


@needs_namespaces
def test_a_shaped_link_is_set_up_on_both_ends():
    with hosts.Network([10**9, 25 * 10**7]) as network:
        for number, rate in ((0, "1Gbit"), (1, "250Mbit")):
            for command in ([*network.inside(number), "tc", "qdisc", "show", "dev", "eth0"],
                            ["tc", "-n", network._switch, "qdisc", "show", "dev", f"port{number}"]):
                shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                assert re.search(rf"qdisc tbf .* rate {rate} ", shown)


@needs_namespaces
def test_directions_of_a_link_may_differ():
    with hosts.Network([(10**9, 25 * 10**7), (0, 5 * 10**8), 0]) as network:
        def rates(number):
            shown = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for command in (
                [*network.inside(number), "tc", "qdisc", "show", "dev", "eth0"],
                ["tc", "-n", network._switch, "qdisc", "show", "dev", f"port{number}"])]
            found = [re.search(r"qdisc tbf .* rate (\S+) ", text) for text in shown]
            return [match and match[1] for match in found]

        assert [rates(number) for number in range(3)] == [["1Gbit", "250Mbit"], [None, "500Mbit"], [None, None]]
        network.set_rate(0, (0, 10**8))
        network.set_rate(1, 10**9)
        assert [rates(number) for number in range(3)] == [[None, "100Mbit"], ["1Gbit", "1Gbit"], [None, None]]


def test_rates_of_directions():
    assert hosts.link_rate("1gbit") == (10**9, 10**9)
    assert hosts.link_rate("1gbit/250mbit") == (10**9, 25 * 10**7)
    for text in ("1gbit/", "/", "1gbit/1gbit/1gbit"):
        with pytest.raises(hosts.NetworkError):
            hosts.link_rate(text)


SEND = """import socket, sys
s = socket.create_connection((sys.argv[1], 5000)); s.sendall(b'x'); s.close()"""
RECEIVE = """import socket
s = socket.create_server(('0.0.0.0', 5000)); print('ready', flush=True); c, _ = s.accept()
print(c.recv(1), flush=True)"""


@needs_namespaces
def test_a_cut_link_carries_nothing_until_it_is_mended():
    with hosts.Network([10**9, 10**9]) as network:
        receiver = network.start(0, [sys.executable, "-c", RECEIVE], stdout=subprocess.PIPE, text=True)
        assert receiver.stdout.readline() == "ready\n"
        network.cut(1)
        sender = network.start(1, [sys.executable, "-c", SEND, network.addresses[0]])
        with pytest.raises(subprocess.TimeoutExpired):
            sender.wait(1)
        network.mend(1)
        assert receiver.communicate(timeout=TIME_LIMIT)[0] == "b'x'\n"
        assert sender.wait(TIME_LIMIT) == 0


@needs_namespaces
def test_nothing_remains_after_an_error():
    with pytest.raises(RuntimeError):
        with hosts.Network([10**9]) as network:
            child = network.start(0, ["sleep", "1000"])
            assert len(namespaces(os.getpid())) == 2
            raise RuntimeError
    assert child.poll() is not None
    assert namespaces(os.getpid()) == []


@needs_namespaces
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_remains_after_a_signal(number):
    process = subprocess.Popen([*TOOL, "sh", "-c", "echo started; sleep 1000"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "started\n"
    process.send_signal(number)
    assert process.wait(TIME_LIMIT) == 128 + number
    assert namespaces(process.pid) == []


@needs_namespaces
def test_the_next_run_removes_what_a_killed_one_left():
    process = subprocess.Popen([*TOOL, "sh", "-c", "echo started; sleep 1000"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "started\n"
    process.kill()
    process.wait()
    assert len(namespaces(process.pid)) == 3
    assert run("true").returncode == 0
    assert namespaces(process.pid) == []


@needs_namespaces
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="needs iperf3")
def test_check_measures_both_directions():
    result = run("--check", "--rate", "50mbit/20mbit,50mbit", "--seconds", "1")
    lines = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["host 0 to host 1", "host 1 to host 0"]
    # The link is the bound; a busy machine may be slower.
    assert json.loads(lines[2])["mbit_per_s"] == 20
    assert 0 < json.loads(lines[2])["payload_share"] < 1.3


@needs_namespaces
def test_session_without_priority(tmp_path):
    """A process in none of the sessions among which Linux shares processors, as in some containers, is told
    no priority: hosts start commands all the same."""
    empty, script = tmp_path / "autogroup", tmp_path / "start.py"
    empty.write_text("")
    script.write_text(f"import sys; sys.path.insert(0, {str(ROOT / 'bench')!r})\n"
                      "from net import hosts\n"
                      "with hosts.Network([0] * 2) as network:\n"
                      "    code = network.start(0, ['true']).wait()\n"
                      "print(code, hosts.session_priority())\n")
    command = f"mount --bind {empty} /proc/$$/autogroup && exec {sys.executable} {script}"
    done = subprocess.run(["unshare", "--mount", "bash", "-c", command], capture_output=True, text=True, timeout=TIME_LIMIT)
    if "mount" in done.stderr:
        pytest.skip(f"there are no autogroups here: {done.stderr.strip()}")
    assert (done.returncode, done.stdout) == (0, "0 None\n"), done.stderr
