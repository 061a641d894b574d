// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the kernels of a plan for CUDA devices as code of the host, for the machine of
// tests/cuda/Machine.cpp.
//
//   cuda_kernels_writer MODULE PLAN FOLDER
// MODULE: the level-2 module of the plan. The file's name is that of the plan's PTX.

#include "runtime/loading/plan_loader.h"
#include "tests/cuda/CompileKernels.h"
#include "tests/cuda/KernelFile.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cstdio>

using namespace commsched::cudatest;

static int giveUp(const std::string &why) {
  std::fprintf(stderr, "cuda_kernels_writer: %s\n", why.c_str());
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 4)
    return giveUp("needs MODULE PLAN FOLDER");
  auto module = llvm::MemoryBuffer::getFile(argv[1]);
  if (!module)
    return giveUp("cannot read the module: " + module.getError().message());
  auto image = commsched::runtime::PlanImage::LoadFile(argv[2]);
  if (!image.ok())
    return giveUp(std::string(image.status().message()));
  auto program = (*image)->ForRank(0);
  if (!program.ok())
    return giveUp(std::string(program.status().message()));
  if ((*program)->cuda == nullptr)
    return giveUp("the plan is not for CUDA devices");
  Context context;
  std::string error;
  auto compiler = lowerPlanKernels(context, (*module)->getBuffer().str(), *(*program)->cuda, error);
  if (compiler == nullptr)
    return giveUp(error);
  error = writeKernels(compiler->getModule(), std::string(argv[3]) + "/" + kernelFileName((*program)->cuda->ptx));
  return error.empty() ? 0 : giveUp(error);
}
