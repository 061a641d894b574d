# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cs-run is given does not fit: one clear error, in every process."""
import struct

import numpy as np
import pytest
from conftest import addresses, expect_error, finish, run, secret
from safetensors import safe_open
from safetensors.numpy import save_file


def crc32c(data):
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def plan_file(payload):
    return b"CSPLAN\0\1" + struct.pack("<QQ", len(payload), crc32c(payload)) + payload


@pytest.fixture
def plan_bytes(linear):
    data = linear[2].read_bytes()
    assert data == plan_file(data[24:]), "the layout of plan files has changed: see plan.proto"
    return data


WAYS = pytest.mark.parametrize("how", [[], ["--spawn", "2"]], ids=["threads", "spawned"])


@WAYS
@pytest.mark.parametrize("size", [0, 4, 20, 24, 1000, -1])
def test_truncated_plan(plan_bytes, tmp_path, how, size):
    (tmp_path / "plan").write_bytes(plan_bytes[:size])
    expect_error(run(tmp_path / "plan", *how), str(tmp_path / "plan"))


@WAYS
def test_damaged_plan(plan_bytes, tmp_path, how):
    data = bytearray(plan_bytes)
    data[len(data) // 2] ^= 1
    (tmp_path / "plan").write_bytes(data)
    expect_error(run(tmp_path / "plan", *how), "checksum")


@WAYS
def test_not_a_plan(tmp_path, how):
    (tmp_path / "plan").write_bytes(b"something else, but long enough to be one" * 10)
    expect_error(run(tmp_path / "plan", *how), str(tmp_path / "plan"))


def test_no_such_plan(tmp_path):
    expect_error(run(tmp_path / "plan"), str(tmp_path / "plan"))


@WAYS
def test_plan_of_a_later_version(plan_bytes, tmp_path, how):
    payload = plan_bytes[24:]
    assert payload[:2] == b"\x08\x01"  # schema_version = 1
    (tmp_path / "plan").write_bytes(plan_file(b"\x08\x63" + payload[2:]))
    expect_error(run(tmp_path / "plan", *how), "version", "99")


def test_plan_with_an_unknown_feature(plan_bytes, tmp_path):
    # A later value of the field overrides the one before.
    (tmp_path / "plan").write_bytes(plan_file(plan_bytes[24:] + b"\x11" + struct.pack("<Q", 1 << 40)))
    expect_error(run(tmp_path / "plan"), "feature")


def test_plan_for_another_cluster(linear, linear_data):
    expect_error(run(linear[3], *linear_data, "--spawn", 2), "3 nodes", "got: 2")
    expect_error(run(linear[3], *linear_data, "--rank", 0, "--peers", ",".join(addresses(2)), *secret()),
                 "3 nodes", "got: 2")


def test_ranks_with_different_plans(linear, linear_data, folder, cluster):
    from conftest import CLUSTER, EXAMPLES, compile_plan
    source = CLUSTER.format(nodes=2) + (EXAMPLES / "linear.mlir").read_text().replace("0.00625", "0.00626")
    other = compile_plan(source, folder / "other.plan")
    peers = ",".join(addresses(2))
    ranks = [cluster.start(plan, "--rank", rank, "--peers", peers, *secret(), *linear_data)
             for rank, plan in enumerate([linear[2], other])]
    for rank, process in enumerate(ranks):
        expect_error(finish(process), "digest must match", f"peer {1 - rank} (127.0.0.1:")


def test_addresses_in_another_order(linear, linear_data, cluster):
    peers = addresses(2)
    ranks = [cluster.start(linear[2], "--rank", rank, "--peers", ",".join(order), "--deadline", 5, *secret(), *linear_data)
             for rank, order in enumerate([peers, peers[::-1]])]
    for process in ranks:
        expect_error(finish(process))


def test_networks_must_be_allowed(linear, linear_data):
    peers = ["--peers", "192.0.2.1:5000,192.0.2.2:5000"]
    for security in (secret(), ["--insecure"]):
        expect_error(run(linear[2], "--rank", 0, *peers, *security, *linear_data), "TLS certificates", "192.0.2.1:5000")
    # Nor does a rank here send anything there.
    expect_error(run(linear[2], "--rank", 1, "--peers", f"192.0.2.1:5000,{addresses(1)[0]}", *secret(), *linear_data),
                 "TLS certificates", "192.0.2.1:5000")
    expect_error(run(linear[2], "--rank", 0, *peers, *linear_data), "share a secret", "--token-file")


@WAYS
def test_missing_parameter(linear, linear_data, tmp_path, how):
    np.savez(tmp_path / "init.npz")
    expect_error(run(linear[2], "--init", tmp_path / "init.npz", *linear_data[2:], *how), '"w"')


@WAYS
def test_unknown_parameter(linear, linear_data, tmp_path, how):
    np.savez(tmp_path / "init.npz", w=np.zeros(8, np.float32), other=np.zeros(8, np.float32))
    expect_error(run(linear[2], "--init", tmp_path / "init.npz", *linear_data[2:], *how), '"other"')


@WAYS
def test_parameter_of_another_shape(linear, linear_data, tmp_path, how):
    np.savez(tmp_path / "init.npz", w=np.zeros(9, np.float32))
    expect_error(run(linear[2], "--init", tmp_path / "init.npz", *linear_data[2:], *how), '"w"', "9")


@WAYS
def test_missing_batch(linear, linear_data, tmp_path, how):
    np.savez(tmp_path / "train.npz", x=np.zeros((64, 8), np.float32))
    expect_error(run(linear[2], *linear_data[:2], "--batch", tmp_path / "train.npz", *how), '"y"')


@pytest.mark.parametrize("how", [[], ["--spawn", "4"]], ids=["threads", "spawned"])
def test_missing_checkpoint_tensor(digits, tmp_path, how):
    checkpoint = tmp_path / "checkpoint"
    _, err, status = run(*digits, "--steps", 3, "--checkpoint", checkpoint)
    assert status == 0, err
    with safe_open(checkpoint, "np") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    lost = sorted(tensors)[len(tensors) // 2]
    del tensors[lost]
    save_file(tensors, checkpoint, metadata)
    batch = digits[digits.index("--batch"):]
    expect_error(run(digits[0], "--resume", checkpoint, *batch, *how), "is damaged: checksum does not match")
    # Of older ones, which have no checksum.
    save_file(tensors, checkpoint, {"format": "commsched-checkpoint-1", "step": metadata["step"]})
    expect_error(run(digits[0], "--resume", checkpoint, *batch, *how), f'"{lost}"')


@WAYS
def test_truncated_checkpoint(linear, linear_data, tmp_path, how):
    checkpoint = tmp_path / "checkpoint"
    _, err, status = run(linear[2], *linear_data, "--steps", 3, "--checkpoint", checkpoint)
    assert status == 0, err
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
    expect_error(run(linear[2], "--resume", checkpoint, *linear_data[2:], *how), str(checkpoint))
