# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lit tests. Substitutions: %examples, %root (the repository), %python,
%plugin (the plugin for mlir-opt), and %cs-opt, which is cs-opt with
--verify-roundtrip: printing and parsing again, as text and as bytecode, must
give the same module. Features for REQUIRES: compiler, runtime."""
import os

import lit.formats

config.name = "CommSched"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.join(config.commsched_source, "tests")
config.test_exec_root = os.path.join(config.commsched_build, "tests")
# Inputs of other tests, and suites that ctest runs by themselves.
config.excludes = ["Inputs", "corpus", "differential", "fuzz", "frozen", "python", "install", "CMakeFiles"]

if config.has_compiler:
    config.available_features.add("compiler")
else:
    config.excludes += ["ir", "reference", "passes", "translate", "plugin", "docs", "tools"]
if config.has_runtime:
    config.available_features.add("runtime")

config.substitutions += [
    ("%examples", os.path.join(config.commsched_source, "examples")),
    ("%root", config.commsched_source),
    ("%python", config.python),
    ("%plugin", config.commsched_plugin),
    ("%cs-opt", "cs-opt --verify-roundtrip"),
]
config.environment["PATH"] = os.pathsep.join(
    [config.commsched_tools, config.llvm_tools, config.environment["PATH"]])
# FileCheck's own settings must come from the test, not from the caller.
config.environment.pop("FILECHECK_OPTS", None)
for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
