# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bound of communication schedules, and the solver, against exhaustive search.

The bound must be the period of the best preemptive schedule on tiny random
problems of one stream and one link; the solver is compared with all schedules of
tiny problems with costs per message. The program behind it does the work.
"""
import argparse
import os
import pathlib
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="a tenth of the problems")
arguments = parser.parse_args()
instances, gaps = (300, 100) if arguments.quick else (3000, 1000)
driver = pathlib.Path(os.environ["COMMSCHED_BIN"]) / "bound_check_driver"
sys.exit(subprocess.run([driver, str(instances), str(gaps)], check=False).returncode)
