// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the passes of this folder share: which values differ between the devices
// of a node, and how values get from one device to another.

#ifndef COMMSCHED_PASSES_PLACE_DEVICES_H
#define COMMSCHED_PASSES_PLACE_DEVICES_H

#include <string>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include "ir/Cs.h"

namespace commsched::place {

/// Functions of trainers over placed values, with a body of one block. Those of
/// servers, and what is not of level 1, are left out; a scheduled function is
/// refused, and so is a step of level 0. `pass` is for the diagnostics.
mlir::FailureOr<llvm::SmallVector<mlir::func::FuncOp>>
trainerFunctions(mlir::ModuleOp module, llvm::StringRef pass);

inline cs::PlacedType placedType(mlir::Value value) {
  return mlir::cast<cs::PlacedType>(value.getType());
}
inline unsigned deviceOf(mlir::Value value) {
  return placedType(value).getDevice();
}
cs::PlacedType onDevice(cs::PlacedType type, unsigned device);

/// Bytes of a dense tensor as it is stored (i1 takes one byte per element).
int64_t bytesOf(cs::PlacedType type);

/// Name of a carried argument (cs.param or cs.state), null for others.
mlir::StringAttr carriedName(mlir::func::FuncOp func, unsigned argument);
/// Name of a result that updates a carried tensor, null for others.
mlir::StringAttr updatedName(mlir::func::FuncOp func, unsigned result);

/// True for a copy from device memory to device memory.
bool isDeviceCopy(mlir::Operation *op);
/// What `value` is a copy of, on whatever device that is.
mlir::Value sourceOf(mlir::Value value);

/// How the values of a function come about. Linear in its ops; fragments are
/// looked into, so that outputs of one fragment may differ.
class Origins {
public:
  explicit Origins(mlir::func::FuncOp func);
  /// Depends on the batch or the worker's index other than through a
  /// communication.
  bool isLocal(mlir::Value value) const { return bits(value) & kLocal; }
  /// Depends on the result of a communication.
  bool isCommunicated(mlir::Value value) const {
    return bits(value) & kCommunicated;
  }
  /// Differs between the nodes, and not between the devices of one: depends on a part of a
  /// collective, or on a message of another node.
  bool isOfNode(mlir::Value value) const { return bits(value) & kOfNode; }

private:
  static constexpr unsigned kLocal = 1, kCommunicated = 2, kOfNode = 4;
  unsigned bits(mlir::Value value) const { return known.lookup(value); }
  void visitFragment(cs::FragmentOp op);
  llvm::DenseMap<mlir::Value, unsigned> known;
};

/// Makes copies of values on other devices, one for each value and device,
/// directly behind the value in the order of the calls.
class CopyMaker {
public:
  mlir::Value get(mlir::Value value, unsigned device);

private:
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> made;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> last; // behind an op
  llvm::DenseMap<mlir::Block *, mlir::Operation *> lastAtBegin;
};

/// `write(raw_ostream &)` gives the text; called only if remarks are on.
template <typename Write>
void remarkAt(mlir::Location loc, llvm::StringRef category,
              llvm::StringRef function, llvm::StringRef name, Write write) {
  if (!loc.getContext()->getRemarkEngine())
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  write(os);
  mlir::remark::passed(loc, mlir::remark::RemarkOpts::name(name)
                                .category(category)
                                .function(function))
      << mlir::remark::detail::Remark::Arg("Remark", text);
}

} // namespace commsched::place

#endif // COMMSCHED_PASSES_PLACE_DEVICES_H
