// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State of which each rank has a value of its own (residuals of sparse gradients)
// in checkpoints: beside the checkpoint `path`, one file for each rank and step,
// `path`.step<step>.rank<rank>. The file of the step before stays, so that the
// checkpoint that it belongs to remains complete until another one is: processes
// write their files by themselves (checkpoint.h).
#ifndef COMMSCHED_RUNTIME_SESSION_RANK_STATE_H
#define COMMSCHED_RUNTIME_SESSION_RANK_STATE_H

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "runtime/data/tensor_file.h"
#include "runtime/session/session.h"

namespace commsched::runtime {

// Whether a file may be one of a job, whose name there (Session::job) is `job`: files of older versions have none, nor
// has an empty one.
bool IsOfJob(const TensorFile &file, const std::string &job);

// Whether the plan has such state.
bool HasRankState(const Session &session);

std::string RankStatePath(const std::string &path, uint64_t step, int rank);

// Writes the files of the ranks here; nothing if there is no such state. Waits for
// earlier calls.
absl::Status SaveRankState(Session *session, const std::string &path, uint64_t step);

// Removes the files of the ranks here but those of `step` and of the checkpoint `before`.
// Without one: those that are older than the last before `step`.
void RemoveOldRankState(Session *session, const std::string &path, uint64_t step,
                        std::optional<uint64_t> before = std::nullopt);

// Removes the files of the ranks here of later steps than that at which the job goes on:
// of one that went further, but not all ranks of which have written them.
void RemoveLaterRankState(Session *session, const std::string &path, uint64_t step);

// Sets the state of the ranks here to what `saved_ranks` ranks have saved. If there
// were as many as there are now, each gets its own. Else all get the mean over the
// saved ones: what all ranks together have not applied yet is the same then, if
// gradients combine by mean; integers (regions of ranks) begin at zero again. Files that are
// missing, or of another step, are an error; so is state that they do not have, if it is to be
// `complete`: it stays, else. Of a plan that had no such state there are no files, which is fine if
// it need not be complete. What is not sent yet of gradients of which this plan sends everything stays for later files
// (Session::unplaced_states). Files must be of `job`.
absl::Status LoadRankState(Session *session, const std::string &path, uint64_t step,
                           int saved_ranks, bool complete = true, const std::string &job = "");

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SESSION_RANK_STATE_H
