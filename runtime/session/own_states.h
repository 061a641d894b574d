// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a plan and a file have the same state of a rank in different pieces. A job may go on with another
// density, method or synchronisation of gradients, and then what each rank has of its own lies otherwise in its
// node (docs/sparse.md): the names that --lower-sparse-comm gives say how,
//
//   w.residual                       of the node's gradient
//   w.residual, w.residual.device1   of the gradient of each device, of which the node's is the mean
//   w.residual.shard0, .shard1       of the node's gradient, cut along dimension 0
//   w.velocity.mean                  of the mean of all nodes' gradients: the same on all ranks
#ifndef COMMSCHED_RUNTIME_SESSION_OWN_STATES_H
#define COMMSCHED_RUNTIME_SESSION_OWN_STATES_H

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/base/element.h"
#include "runtime/data/tensor_file.h"

namespace commsched::runtime {

// State of a rank that its plan has no place for, by name.
struct UnplacedState {
  TensorInfo type;
  std::vector<std::byte> value;
};
using UnplacedStates = std::map<std::string, UnplacedState>;

class OwnStates {
 public:
  explicit OwnStates(const Program &program);

  // What a rank's file has of a slot, from whatever pieces it has. None if it has no piece of it, which is
  // an error of a slot that it must have if the file is to be `complete`. Integers, and thresholds in other pieces,
  // are zero.
  absl::StatusOr<std::optional<std::vector<double>>> ValueIn(const TensorFile &file, const SlotInfo &slot,
                                                             bool complete) const;
  // Whether the file has it in the same pieces.
  bool IsAsSaved(const TensorFile &file, const SlotInfo &slot) const;
  // Whether a file's state of this name is what a rank has not sent yet of a gradient of which the plan sends everything.
  bool IsUnsentOfOthers(absl::string_view name) const;
  // Whether it must be the same on all ranks, and is not in the file, where each has its own.
  bool IsMeanOfAll(const TensorFile &file, const SlotInfo &slot) const;

 private:
  using Pieces = std::map<std::string, TensorInfo>;  // by the suffix of the name: ".shard0"
  // Of a name without its suffix.
  std::map<std::string, Pieces, std::less<>> pieces_;
};

// Of any type.
std::vector<double> ElementsOf(const StoredTensor &tensor);
// Elements of a type that has fractions.
void StoreElements(ops::Element element, const std::vector<double> &values, std::byte *target);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SESSION_OWN_STATES_H
