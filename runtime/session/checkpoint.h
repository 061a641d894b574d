// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters and state in and out of a session, as safetensors files. A
// checkpoint has every value of the plan and, in its metadata, the number of
// steps done; training goes on from it bitwise as if it had not stopped.
#ifndef COMMSCHED_RUNTIME_SESSION_CHECKPOINT_H
#define COMMSCHED_RUNTIME_SESSION_CHECKPOINT_H

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/tensor_file.h"
#include "runtime/session/session.h"

namespace commsched::runtime {

// Waits for earlier calls. Replaces `path` as a whole or not at all.
//
// Where each rank has state of its own (rank_state.h), every process writes that of its
// ranks by itself, and one of them the checkpoint: it may be there before the last of
// their files is. `before`: the steps of the checkpoint of this job that `path` was until
// now, which all have written. It stays beside it, as `path`.step<before>.
absl::Status SaveCheckpoint(Session *session, const std::string &path, uint64_t steps_done,
                            std::optional<uint64_t> before = std::nullopt);
// Of a process whose rank is not the one that writes the checkpoint: what that rank
// alone has, nothing without such state.
absl::Status SaveOwnState(Session *session, const std::string &path, uint64_t steps_done,
                          std::optional<uint64_t> before = std::nullopt);

// What the checkpoint in `file` was saved as, by which the files of its ranks are named: NAME, of one that has become
// NAME.step<n> since.
std::string SavedName(const std::string &file);

// The file to go on from: `path`; or, if the ranks have not written all that belongs to it,
// the one before, if they have of that.
std::string WholeCheckpoint(const std::string &path);

// The job that has written the file, where ranks have state of their own.
std::optional<uint64_t> JobOfCheckpoint(const std::string &file);

// Sets what is in WholeCheckpoint(`path`) and returns the number of steps done. The file
// must have exactly the slots of the plan: a missing or strange tensor is named.
absl::StatusOr<uint64_t> LoadCheckpoint(Session *session, const std::string &path);

// Only the parameters.
absl::Status SaveParameters(Session *session, const std::string &path);

// Sets the slots that `file` has; others in it are an error. If `complete`,
// every slot of the plan must be there.
absl::Status SetSlots(Session *session, const TensorFile &file, bool complete);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SESSION_CHECKPOINT_H
