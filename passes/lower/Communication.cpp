// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/Communication.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

namespace {
/// What ranks must agree on.
struct Signature {
  StringRef name;
  bool expanded;
  Attribute reduction, root, group, parts, nccl;
  Type from, to;

  explicit Signature(const Communication &communication) {
    Operation *inner = communication.inner;
    expanded = !inner;
    nccl = communication.nccl();
    if (auto start = dyn_cast<StartOp>(communication.op))
      parts = start.getPartsAttr();
    if (inner) {
      name = inner->getName().stripDialect();
      reduction = inner->getAttr("reduction");
      root = inner->getAttr("root");
      if (!root)
        root = inner->getAttr("distance");
      group = getGroupName(inner);
      from = inner->getOperand(0).getType();
      to = inner->getResult(0).getType();
      return;
    }
    auto start = cast<StartOp>(communication.op);
    auto collective = start->getAttrOfType<StringAttr>(kCollectiveAttr);
    name = collective ? collective.getValue() : "exchange";
    reduction = start->getAttr(kReductionAttr);
    root = start->getAttr(kRootAttr);
    group = getGroupName(&start.getBody().front().front());
    to = start.getFuture().getType().getValue();
    from = start.getInputs().empty() ? to : start.getInputs()[0].getType();
  }
};
} // namespace

bool Communication::agrees(const Communication &other) const {
  Signature a(*this), b(other);
  return a.name == b.name && a.expanded == b.expanded &&
         a.reduction == b.reduction && a.root == b.root && a.group == b.group &&
         a.parts == b.parts && a.nccl == b.nccl && a.from == b.from && a.to == b.to;
}

std::string Communication::describe() const {
  Signature signature(*this);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (signature.expanded ? "expanded " : "") << signature.name;
  if (auto reduction = dyn_cast_or_null<ReductionAttr>(signature.reduction))
    os << " " << stringifyReduction(reduction.getValue());
  if (auto reduction = dyn_cast_or_null<StringAttr>(signature.reduction))
    os << " " << reduction.getValue();
  if (auto root = dyn_cast_or_null<IntegerAttr>(signature.root))
    os << " with root " << root.getInt();
  if (signature.group)
    os << " in " << signature.group;
  if (auto parts = dyn_cast_or_null<DenseI64ArrayAttr>(signature.parts)) {
    os << " in parts of ";
    llvm::interleaveComma(parts.asArrayRef(), os);
  }
  if (auto nccl = dyn_cast_or_null<NcclAttr>(signature.nccl))
    os << " as number " << nccl.getNumber() << " of NCCL's lane " << nccl.getLane();
  os << " of " << signature.from;
  if (signature.to != signature.from)
    os << " to " << signature.to;
  return text;
}

llvm::StringRef commsched::reasonAgainstNccl(cs::AllReduceOp reduce) {
  Type element = reduce.getValue().getType().getTensor().getElementType();
  if (element.isInteger(1) || element.isInteger(8))
    return "its elements have one byte";
  return "";
}
