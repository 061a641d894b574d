# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Usage: embedding_data.py INIT BATCH: initial values of embedding.mlir, and 64 samples, some with ids that no row has."""
import sys

import numpy

numbers = numpy.random.default_rng(7)
table, w = (numbers.standard_normal(shape).astype("f4") for shape in ((1000, 16), 16))
numpy.savez(sys.argv[1], **{"table": table, "w": w, "table.m": 0 * table, "table.v": 0 * table, "w.m": 0 * w, "w.v": 0 * w,
                            "count": numpy.float32(0)})
words = numbers.integers(0, 1000, (64, 4)).astype("i4")
words[::5, 0] = words[0, 1]
words[3, 2], words[17, 1] = -1, 1000
numpy.savez(sys.argv[2], words=words, y=numbers.standard_normal(64).astype("f4"))
