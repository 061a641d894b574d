// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ld.lld of a bundle: what links the fragments of plans where no linker is installed.

#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

extern "C" int commsched_ld_lld(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::SmallVector<const char *> arguments(argv, argv + argc);
  return !lld::elf::link(arguments, llvm::outs(), llvm::errs(), /*exitEarly=*/true,
                         /*disableOutput=*/false);
}
