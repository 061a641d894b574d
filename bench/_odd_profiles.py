# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles of models as nobody builds them, in PipeDream's format."""
import pathlib


def layers(name, texts, folder):
    """One after the other; of each its text, forward and backward ms, and bytes of parameters."""
    lines = [f"node{i} -- {text} -- forward_compute_time={forward:.3f}, backward_compute_time={backward:.3f}, "
             f"activation_size=4096.000, parameter_size={size}.000"
             for i, (text, forward, backward, size) in enumerate(texts)]
    lines += [f"\tnode{i} -- node{i + 1}" for i in range(len(texts) - 1)]
    path = pathlib.Path(folder, f"{name}.graph.txt")
    path.write_text("\n".join(lines) + "\n")
    return path


def linear(rows, columns, forward, backward):
    """Without a bias."""
    return (f"Linear(in_features={columns}, out_features={rows}, bias=False)", forward, backward, 4 * rows * columns)


def write(folder):
    """{name: file} of all of them."""
    small = linear(256, 256, 0.05, 0.1)
    odd = {
        "giant": [small, linear(16384, 8192, 2, 4), small],
        "giant_first": [linear(16384, 8192, 2, 4)] + [small] * 20,
        "few_rows": [linear(12, 2_000_000, 3, 6), linear(3, 500_000, 1, 2)],
        "one_layer": [linear(4096, 4096, 5, 10)],
        "one_row": [linear(1, 4_000_000, 5, 10)],
        "tiny": [linear(16, 16, 0.002, 0.004)] * 2000,
        "growing": [linear(64 << i, 64 << i, 0.1 * 3**i, 0.2 * 3**i) for i in range(8)],
        "no_compute": [linear(1024, 1024, 0.001, 0.001)] * 12,
    }
    return {name: layers(name, texts, folder) for name, texts in odd.items()}
