// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/combine/Combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/combine/Passes.h"
#include "passes/place/Devices.h"
#include "passes/sparse/FuseExchanges.h"
#include "passes/support/Module.h"
#include "passes/support/OptionError.h"

namespace commsched {
#define GEN_PASS_DEF_COMBINECOLLECTIVES
#include "passes/combine/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;

namespace {

struct CombineCollectives : commsched::impl::CombineCollectivesBase<CombineCollectives> {
  using CombineCollectivesBase::CombineCollectivesBase;

  void runOnOperation() override {
    if (gatherBytes < -1) {
      emitOptionError(*this, &getContext())
          << "gather-bytes must be at least 0, or -1 for what the link carries, got: "
          << gatherBytes.getValue();
      return signalPassFailure();
    }
    FailureOr<SmallVector<func::FuncOp>> functions =
        place::trainerFunctions(getOperation(), getArgument());
    if (failed(functions))
      return signalPassFailure();
    if (functions->empty())
      return;
    FailureOr<cs::ClusterOp> cluster = findCluster(getOperation());
    if (failed(cluster))
      return signalPassFailure();
    for (func::FuncOp func : *functions)
      combine(func, *cluster);
  }

private:
  void combine(func::FuncOp func, cs::ClusterOp cluster) {
    auto tell = [&](Operation *made, const Twine &what) {
      place::remarkAt(made->getLoc(), getArgument(), func.getName(), "combine",
                      [&](raw_ostream &os) { os << what; });
    };
    commsched::combine::combineSums(func, tell);
    // Of several devices of a node, each is a worker.
    if (cluster.getDevices() == 1) {
      commsched::combine::scatterParts(func, static_cast<int64_t>(cluster.getNodes()), tell);
      commsched::combine::gatherRows(func, static_cast<int64_t>(cluster.getNodes()), tell);
    }
    SmallVector<Operation *> gathers;
    for (auto gather : func.front().getOps<cs::AllGatherOp>())
      if (sparse::isFusable(gather))
        gathers.push_back(gather);
    int64_t bytes = gatherBytes < 0 ? sparse::fusionBytes(cluster.getInter())
                                    : int64_t{gatherBytes};
    sparse::fuseExchanges(gathers, bytes, [&](Operation *made, ArrayRef<StringRef> keys) {
      tell(made, "one all-gather of " +
                     Twine(place::bytesOf(place::placedType(made->getOperand(0)))) +
                     " bytes for \"" + llvm::join(keys, "\", \"") + "\"");
    });
  }
};

} // namespace
