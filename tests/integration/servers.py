# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs with parameter servers as processes, and what they need: certificates,
tokens, addresses."""
import pathlib
import shutil
import subprocess

import pytest
from conftest import CLUSTER, EXAMPLES, TIME_LIMIT, addresses, compile_plan, finish, secret


def compile_servers(source, plan, trainers, servers=2, options=""):
    """Level-0 text to a plan with parameter servers."""
    return compile_plan(CLUSTER.format(nodes=trainers) + source, plan,
                        f"--cs-parameter-server-pipeline=servers={servers} {options}")


def digits_source(workers):
    """The digits net with 16 samples a worker and step, and 90 in an evaluation."""
    source = (EXAMPLES / "digits.mlir").read_text()
    for local in (16, 90):
        assert f"cs.global_batch = {4 * local} " in source
        source = source.replace(f"cs.global_batch = {4 * local} ", f"cs.global_batch = {workers * local} ")
    return source


def digits_plan(folder, trainers=2, servers=2, options="min-block-elements=1024"):
    name = f"digits-{trainers}-{servers}-{options.replace(' ', '-')}.plan"
    return compile_servers(digits_source(trainers), folder / name, trainers, servers, options)


DIGITS_DATA = ["--init", EXAMPLES / "digits.init.safetensors", "--batch", EXAMPLES / "digits.train.npz", "--shuffle"]


class Authority:
    """A certificate authority, and certificates for this machine that it signs."""

    def __init__(self, folder):
        if shutil.which("openssl") is None:
            pytest.skip("openssl is not installed")
        folder.mkdir()
        self.folder, self.ca = folder, folder / "ca.pem"
        self._run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                  "-subj", "/CN=test authority", "-keyout", "ca.key", "-out", "ca.pem")

    def _run(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True, timeout=TIME_LIMIT)

    def certificate(self, name, hosts="DNS:localhost,IP:127.0.0.1"):
        """Options of cs-run that show this certificate."""
        key, request, certificate = (self.folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        if not certificate.exists():
            self._run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                      "-keyout", key, "-out", request)
            extensions = self.folder / f"{name}.ext"
            extensions.write_text(f"subjectAltName={hosts}\n")
            self._run("x509", "-req", "-in", request, "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                      "-days", "2", "-extfile", extensions, "-out", certificate)
        return ["--tls-ca", self.ca, "--tls-cert", certificate, "--tls-key", key]


def connections(address):
    """How many there are with who listens there."""
    port = f":{int(address.rsplit(':', 1)[1]):04X}"
    lines = [line.split() for table in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
    return sum(words[1].endswith(port) and words[3] == "01" for words in lines)


class Job:
    """The processes of one plan, started by hand. security(role, index): options
    of that process, beside a token unless they name one."""

    def __init__(self, cluster, plan, trainers=2, servers=2, security=lambda role, index: []):
        self.cluster, self.plan, self._security = cluster, plan, security
        self.count, self.listen = trainers, addresses(servers)
        self.trainers, self.servers = {}, {}

    def security(self, role, index):
        options = self._security(role, index)
        return options if "--token-file" in options else [*options, *secret()]

    def start_server(self, index, *arguments):
        self.servers[index] = self.cluster.start(
            self.plan, "--role", "server", "--index", index, "--listen", self.listen[index],
            *self.security("server", index), *arguments)
        return self.servers[index]

    def start_trainer(self, rank, *arguments):
        self.trainers[rank] = self.cluster.start(
            self.plan, "--role", "trainer", "--rank", rank, "--servers", ",".join(self.listen), *self.security("trainer", rank), *arguments)
        return self.trainers[rank]

    def start(self, of_all=(), of_trainers=(), of_servers=()):
        for index in range(len(self.listen)):
            self.start_server(index, *of_all, *of_servers)
        for rank in range(self.count):
            self.start_trainer(rank, *of_all, *of_trainers)
        return self

    def finish(self):
        """{(role, index): (output, errors, exit status)}, servers last."""
        return {(role, index): finish(process)
                for role, processes in (("trainer", self.trainers), ("server", self.servers))
                for index, process in processes.items()}
