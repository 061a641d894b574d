// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/cuda/ExportCuda.h"

#include "ir/Cs.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "passes/plan/ExportPlan.h"

#include "llvm/Support/CommandLine.h"

#include <google/protobuf/text_format.h>

using namespace mlir;

namespace commsched::cudaexport {

LogicalResult exportCuda(ModuleOp module, const CudaOptions &options, CompiledCuda &result,
                         std::vector<std::vector<std::string>> &labels) {
  CudaCompiler compiler(module.getContext(), options);
  module.walk([&](cs::FragmentOp op) {
    if (!op.hasBody())
      return;
    unsigned index = compiler.add(op.getBody().front(), op.getLoc());
    labels.resize(std::max<size_t>(labels.size(), index + 1));
    labels[index].push_back(op.getLabel().str());
  });
  if (compiler.size() == 0)
    return module.emitError("has no cs.fragment with a body");
  return compiler.compile(result);
}

static void print(raw_ostream &os, const std::vector<plan::CudaAddress> &addresses) {
  static constexpr StringRef kBases[] = {"input", "output", "scratch"};
  os << "(";
  llvm::interleaveComma(addresses, os, [&](const plan::CudaAddress &address) {
    os << kBases[static_cast<unsigned>(address.base)];
    if (address.base != plan::CudaAddress::Base::kScratch)
      os << " " << address.index;
    os << " + " << address.offset;
  });
  os << ")\n";
}

std::string printCuda(const CompiledCuda &compiled, const std::vector<std::vector<std::string>> &labels) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [i, kernel] : llvm::enumerate(compiled.kernels)) {
    google::protobuf::TextFormat::Printer printer;
    printer.SetSingleLineMode(true);
    std::string fields;
    printer.PrintToString(kernel, &fields);
    os << "library kernel " << i << " {" << StringRef(fields).rtrim() << "}\n";
  }
  for (const auto &[symbol, shape] : compiled.shapes) {
    os << "kernel " << symbol << " ";
    if (shape.form == NestShape::Form::Serial)
      os << "of one thread\n";
    else if (shape.form == NestShape::Form::Elementwise)
      os << "elements " << shape.outputs << "\n";
    else if (shape.form == NestShape::Form::Rows)
      os << "rows " << shape.outputs << " columns " << shape.terms << "\n";
    else if (shape.form == NestShape::Form::Scatter || shape.form == NestShape::Form::ScatterColumns)
      os << "updates " << shape.outputs << " of " << shape.terms << " windows"
         << (shape.form == NestShape::Form::Scatter ? "\n" : ", one behind the other\n");
    else
      os << "outputs " << shape.outputs << " terms " << shape.terms << " lanes " << shape.lanes
         << (shape.lanesFirst ? " of a row" : " of a column") << " chunks " << shape.chunks << " of "
         << shape.chunk << "\n";
  }
  for (auto [i, fragment] : llvm::enumerate(compiled.module.fragments)) {
    os << "fragment " << fragment.symbol << " ";
    llvm::interleaveComma(labels[i], os, [&](const std::string &label) { os << '"' << label << '"'; });
    os << " inputs " << fragment.inputs << " outputs " << fragment.outputs << " scratch "
       << fragment.scratch_bytes << "\n";
    for (const auto &step : fragment.steps) {
      if (const auto *launch = std::get_if<plan::CudaLaunch>(&step)) {
        os << "  launch " << launch->kernel << " grid " << launch->grid[0] << " block " << launch->block[0]
           << " shared " << launch->shared_bytes << " ";
        print(os, launch->arguments);
      } else {
        const auto &call = std::get<plan::CudaLibraryCall>(step);
        os << "  library " << call.kernel << " ";
        print(os, call.operands);
      }
    }
  }
  for (const std::string &function : compiled.module.libdevice_functions)
    os << "libdevice " << function << "\n";
  os << "ptx\n"
     << compiled.module.ptx;
  return text;
}

namespace {
struct CudaFlags {
  llvm::cl::OptionCategory category{"CUDA"};
  llvm::cl::opt<std::string> libdevice{
      "libdevice", llvm::cl::cat(category),
      llvm::cl::desc("path of NVIDIA's libdevice.10.bc, for functions on CUDA devices that have no "
                     "polynomial (default: none, which are refused)")};
};
} // namespace

static CudaFlags &cudaFlags() {
  static CudaFlags flags;
  return flags;
}

} // namespace commsched::cudaexport

using namespace commsched::cudaexport;

void commsched::registerCudaTranslations() {
  (void)cudaFlags();
  planexport::setDeviceCompiler([](MLIRContext *context, std::string printStage) { return makePlanCompiler(context, {cudaFlags().libdevice, std::move(printStage)}); }, [] { return std::string(cudaFlags().libdevice.getNumOccurrences() > 0 ? "--libdevice" : ""); });
  static TranslateRegistration toCuda(
      "mlir-to-cuda", "print the fragments of a level-2 module as launches on a CUDA device, and their PTX",
      [](const std::shared_ptr<llvm::SourceMgr> &sources, raw_ostream &os,
         MLIRContext *context) -> LogicalResult {
        OwningOpRef<ModuleOp> module = planexport::readToLower(sources, context);
        if (!module)
          return failure();
        CudaOptions options;
        options.libdevice = cudaFlags().libdevice;
        options.printStage = planexport::stageToPrint();
        CompiledCuda compiled;
        std::vector<std::vector<std::string>> labels;
        if (failed(exportCuda(*module, options, compiled, labels)))
          return failure();
        os << printCuda(compiled, labels);
        return success();
      });
}
