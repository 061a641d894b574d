// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What registers LLVM's targets of other processors, doing nothing: lld calls all of
// them, and would bring their code generators, which are two thirds of LLVM.

#define ABSENT(TARGET)                                    \
  extern "C" void LLVMInitialize##TARGET##TargetInfo() {} \
  extern "C" void LLVMInitialize##TARGET##Target() {}     \
  extern "C" void LLVMInitialize##TARGET##TargetMC() {}   \
  extern "C" void LLVMInitialize##TARGET##AsmPrinter() {} \
  extern "C" void LLVMInitialize##TARGET##AsmParser() {}
#include "tools/bundle/AbsentTargets.def"
