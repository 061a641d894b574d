# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MPI jobs on the hosts of a network of net.hosts: Open MPI's mpirun with one process in
each namespace, which it takes for machines."""
import os
import pathlib
import shutil

# As root and with more processes than cores, which the benchmarks are.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
AGENT = """#!/bin/sh
# Starts a command on the host $1, as ssh would: in its namespace, with its name.
host=$1
shift
exec ip netns exec {prefix}"${{host#node}}" unshare --uts sh -c 'hostname "$0"; eval "exec $1"' "$host" "$*"
"""


def why_unavailable():
    return "" if shutil.which("mpirun") else "needs Open MPI (openmpi-bin)"


class Hosts:
    """How to start `mpirun` jobs on a network. `folder` is for the files it takes."""

    def __init__(self, network, folder):
        self._network = network
        first = network.inside(0)[-1]  # "...-host0"
        folder = pathlib.Path(folder)
        self._agent = folder / "agent.sh"
        self._agent.write_text(AGENT.format(prefix=first[:-1]))
        self._agent.chmod(0o755)
        self._hosts = folder / "hosts"
        self._hosts.write_text("".join(f"node{i} slots=1\n" for i in range(len(network.addresses))))

    def mpirun(self, *options):
        """The words before a program, to be started in host 0."""
        return ["unshare", "--uts", "sh", "-c", 'hostname node0; exec "$@"', "sh", "env",
                *(f"{name}={value}" for name, value in ENVIRONMENT.items()),
                "mpirun", "--hostfile", str(self._hosts), "--map-by", "node",
                "-n", str(len(self._network.addresses)),
                "--mca", "plm_rsh_agent", str(self._agent), "--mca", "plm_rsh_no_tree_spawn", "1",
                "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth0",
                "--mca", "oob_tcp_if_include", "eth0", *map(str, options)]


def environment():
    return {**os.environ, **ENVIRONMENT}
