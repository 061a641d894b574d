// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What profiles of models say, whatever their format, and the level-0 program
// that it makes.

#ifndef COMMSCHED_PASSES_PROFILE_PROFILE_H
#define COMMSCHED_PASSES_PROFILE_PROFILE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace commsched::profile {

/// A trained parameter, of f32.
struct Parameter {
  std::string name; ///< unique in the profile
  std::vector<int64_t> shape;
};

/// A layer uses what an earlier one makes: all its values, or one.
struct Use {
  unsigned layer;
  std::optional<unsigned> value;
};

struct Layer {
  Layer(std::string name, mlir::Location loc)
      : name(std::move(name)), loc(loc) {}

  std::string name; ///< unique in the profile
  mlir::Location loc;
  /// Data comes in here: the layer becomes a batch argument, its times do not
  /// count, being those of loading.
  bool isInput = false;
  int64_t forwardNs = 0, backwardNs = 0;
  int64_t updateNs = 0; ///< 0: estimated
  /// Of the values that it makes, of the whole batch; none is one without size.
  std::vector<int64_t> activationBytes;
  std::vector<Parameter> parameters;
  std::vector<Use> uses;
};

/// Layers in the order of the forward pass: each uses earlier ones only.
using Profile = std::vector<Layer>;

struct ProgramOptions {
  /// Samples that the profile was taken with: dimension 0 of the batch
  /// arguments. Times and bytes are as profiled, whatever it is.
  int64_t batch = 1;
  /// Give activations their size. Else they have one byte: they order the ops,
  /// and an emulation needs no memory for them.
  bool activations = true;
};

/// A module with @step, the training step for one device. Every layer is a
/// cs.profiled op in the forward pass, and one in the backward pass, in the
/// reverse order; a layer without parameters in it or before it has no backward
/// op, and leaves its time to the op before. A layer whose value is used more
/// than once gets as many gradients. Behind the backward op of a layer there is a
/// cs.gradient of each of its parameters, and at the end an elementwise update of
/// each (SGD). Null after a diagnostic if the profile makes no program.
mlir::OwningOpRef<mlir::ModuleOp> buildProgram(mlir::MLIRContext *context,
                                               mlir::Location loc,
                                               const Profile &profile,
                                               const ProgramOptions &options);

} // namespace commsched::profile

#endif // COMMSCHED_PASSES_PROFILE_PROFILE_H
