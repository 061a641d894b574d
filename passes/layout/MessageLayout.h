// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where tensors and messages lie, so that cs.pack and cs.unpack copy nothing.

#ifndef COMMSCHED_PASSES_LAYOUT_MESSAGELAYOUT_H
#define COMMSCHED_PASSES_LAYOUT_MESSAGELAYOUT_H

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <map>
#include <optional>
#include <vector>

namespace commsched::planexport {

/// Every piece says how its tensor lies to its message: the difference of their
/// first elements. Where all of these agree, tensors and messages are views of
/// one area: a tensor is written in its place in the messages, which are combined
/// there, and what is unpacked is there again. Greedy, in the order of the ops: a
/// piece that does not fit in with those before it is copied into its message; if
/// there is no room for it beside them, all pieces of the message are.
///
/// A tensor can be in an area if a fragment or a copy makes it, only packs use it,
/// and no element of it is packed twice: nobody then sees what is done to the
/// message. No two tensors overlap, nor two messages.
class MessageLayout {
public:
  /// Of a function of level 2 whose collectives are expanded, or NCCL's.
  explicit MessageLayout(mlir::func::FuncOp function);

  /// Memory for tensors and messages, side by side.
  struct Area {
    mlir::Type element;
    int64_t elements = 0;
  };
  llvm::ArrayRef<Area> areas() const { return found; }

  struct Place {
    unsigned area;
    int64_t element; // the first one's, in the area
  };
  /// Of a result of a fragment, copy or pack, or of a future; nothing for what has
  /// memory of its own.
  std::optional<Place> placeOf(mlir::Value value) const;

  /// Nothing if `op`, a pack or unpack, copies nothing, else why it does.
  llvm::StringRef reasonToCopy(mlir::Operation *op) const {
    return reasons.lookup(op);
  }
  /// Whether piece `index` of `op`, a pack, is copied.
  bool isCopied(cs::PackOp op, unsigned index) const {
    return copied.contains({op, index});
  }

private:
  // What has memory: nodes that are tied together have an offset to each other.
  struct Node {
    mlir::Value value; // null: a piece that is copied
    int64_t elements;
    unsigned parent; // itself: stands for all that are tied to it
    int64_t offset;  // of its first element to that of the parent
  };
  // Elements [begin, end) to the node that stands for them.
  using Intervals = std::map<int64_t, int64_t>;
  struct Tied {
    Intervals tensors, messages;
    unsigned nodes = 1;
  };

  unsigned addNode(mlir::Value value, int64_t elements, bool asTensor, bool asMessage);
  /// Of memory that is nothing else's, in an area or not.
  unsigned addOwn(mlir::Value value);
  /// The node that stands for `node`, and how far `node` lies behind it.
  std::pair<unsigned, int64_t> find(unsigned node);
  /// Ties `b` to lie `distance` elements behind `a`; false if it cannot.
  bool tie(unsigned a, unsigned b, int64_t distance);
  std::optional<unsigned> tensorNode(mlir::Value value);
  std::optional<unsigned> messageNode(mlir::Value value);
  void addPack(cs::PackOp op);
  void addUnpack(cs::UnpackOp op);
  void makeAreas();

  std::vector<Node> nodes;
  std::vector<Tied> tied; // by node, of those that stand for others
  llvm::DenseMap<mlir::Value, unsigned> nodeOf;
  llvm::DenseMap<mlir::Operation *, llvm::StringRef> reasons;
  llvm::DenseSet<std::pair<mlir::Operation *, unsigned>> copied;
  std::vector<Area> found;
  llvm::DenseMap<mlir::Value, Place> places;
};

/// Whether `start` combines or distributes its input where it lies, if nobody else
/// needs that.
bool worksInPlace(cs::StartOp start);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_LAYOUT_MESSAGELAYOUT_H
