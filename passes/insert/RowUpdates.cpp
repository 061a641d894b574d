// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/RowUpdates.h"

#include "mlir/IR/Operation.h"
#include "llvm/Support/raw_ostream.h"

#include "passes/insert/Program.h"
#include "passes/support/RowWise.h"

using namespace mlir;
using namespace commsched;

std::optional<NotByRows>
commsched::whyNotByRows(const UpdateAnalysis &analysis,
                        const UpdateUnit &unit) {
  const DataFlowGraph &graph = analysis.getDependences().getGraph();
  const ProgramFunction &function = analysis.getDependences().getFunction();
  auto because = [](Location loc, auto write) {
    NotByRows result{loc, ""};
    llvm::raw_string_ostream os(result.reason);
    write(os);
    return result;
  };
  auto typeOf = [&](unsigned argument) {
    return cast<RankedTensorType>(function.func.getArgumentTypes()[argument]);
  };
  int64_t rows = typeOf(unit.parameters[0]).getDimSize(0);
  for (unsigned argument : unit.owned) {
    RankedTensorType type = typeOf(argument);
    if (type.getRank() == 0 || type.getDimSize(0) != rows)
      return because(function.func.getLoc(), [&](raw_ostream &os) {
        os << "state " << function.arguments[argument].name << " of type "
           << type << " has other rows";
      });
  }
  int number = &unit - analysis.getUnits().data();
  for (int i : unit.ops) {
    Operation *op = graph[i];
    std::optional<SmallVector<bool>> byRows = rowOperands(op);
    bool ok = byRows.has_value();
    for (unsigned j = 0; ok && j < byRows->size(); ++j) {
      Ref ref = graph.refOf(op->getOperand(j));
      ok = (*byRows)[j] || analysis.unitOf(ref) != number;
    }
    // What nested ops capture is needed as a whole.
    for (Region &region : op->getRegions())
      region.walk([&](Operation *nested) {
        for (Value operand : nested->getOperands())
          if (operand.getParentBlock() == op->getBlock())
            ok = ok && analysis.unitOf(graph.refOf(operand)) != number;
      });
    if (!ok)
      return because(op->getLoc(), [&](raw_ostream &os) {
        os << op->getName() << " does not act row by row on its update";
      });
  }
  return std::nullopt;
}
