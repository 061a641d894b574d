# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data for examples/linear.mlir, and a file that is damaged."""
import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file

folder = pathlib.Path(sys.argv[1])
x = np.random.default_rng(0).standard_normal((128, 8)).astype(np.float32)
save_file({"x": x, "y": x @ np.arange(8, dtype=np.float32)}, folder / "train")
save_file({"w": np.zeros(8, np.float32)}, folder / "init")
(folder / "strange").write_bytes((folder / "init").read_bytes().replace(b"[0,32]", b"[0,31]"))
