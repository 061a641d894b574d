// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One reader for each format. All report the first thing that is wrong, with
// its line and field.

#ifndef COMMSCHED_PASSES_PROFILE_READERS_H
#define COMMSCHED_PASSES_PROFILE_READERS_H

#include "passes/profile/Profile.h"
#include "passes/profile/ProfileText.h"

namespace commsched::profile {

/// A profiled graph of PipeDream: a line for each node, times in ms, then one
/// for each edge, indented. Nodes run in an order that the edges allow, the one
/// with the lowest number first. `__getitem__(k)` uses value k of its list.
llvm::FailureOr<Profile> readPipedream(const ProfileText &text);

/// The sizes of a model's gradients in f32 elements, as KungFu's benchmarks have
/// them: {"elements": [...]} in the order of the backward pass, or of the
/// forward pass with `forwardOrder`. One layer without times for each.
llvm::FailureOr<Profile> readKungfu(const ProfileText &text, bool forwardOrder);

/// A workload of AICB. Either the layers with times in ns, tab-separated: each
/// with a gradient that is combined over the data-parallel workers has a
/// parameter of its size. Collectives inside one replica of the model have no
/// place in a program for one device; a warning says what they were. Or the
/// list of collectives, comma-separated: the broadcasts of its stage 'init' are
/// the parameters, in the order of the forward pass, and there are no times.
llvm::FailureOr<Profile> readAicb(const ProfileText &text);

} // namespace commsched::profile

#endif // COMMSCHED_PASSES_PROFILE_READERS_H
