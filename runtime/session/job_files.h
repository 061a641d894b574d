// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints of jobs whose parameter servers are processes. Each process writes
// files of its own into one folder:
//
//   server.<k>.checkpoint          the newest of server k, for a server that comes
//                                  back into a job that goes on
//   server.<k>.step<n>.checkpoint  the same at a cut: exactly the n first steps
//   rank.<r>.step<n>.checkpoint    what only trainer r has, after n steps
//
// The job can begin again at the steps of which there is a file of every process.
// The newest of them, and everything later, is kept.
#ifndef COMMSCHED_RUNTIME_SESSION_JOB_FILES_H
#define COMMSCHED_RUNTIME_SESSION_JOB_FILES_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/session/session.h"

namespace commsched::runtime {

class JobFiles {
 public:
  // The folder need not be there. `servers`: those that hold something; `ranks` is 0 if
  // trainers have nothing of their own.
  JobFiles(std::string folder, std::vector<int> servers, int ranks)
      : folder_(std::move(folder)), servers_(std::move(servers)), ranks_(ranks) {}
  // As many processes as the plan has.
  static absl::StatusOr<JobFiles> Of(const PlanImage &image, std::string folder);

  const std::string &folder() const { return folder_; }
  bool has_rank_files() const { return ranks_ != 0; }
  std::string ServerPath(int server) const;
  std::string ServerPath(int server, uint64_t step) const;
  std::string RankPath(int rank, uint64_t step) const;

  // Whether a process of any job has written here.
  bool any() const;
  bool any_of_server(int server) const;
  // Whether all files that are there are of this plan, as far as they can be read: of another one, they
  // are no half-finished checkpoints of this.
  absl::Status CheckPlan(const PlanImage &image) const;
  // The newest step of which all files are there.
  std::optional<uint64_t> NewestWhole() const;
  // What a server goes on from that comes back alone: its newest file; if it has none
  // since the job has begun again, the one of that step, of which only what was before
  // the cut counts (`whole_job`).
  struct Newest {
    std::string path;
    bool whole_job = false;
  };
  Newest NewestOfServer(int server) const;

  // A second name for what server has saved at a cut; the file at ServerPath may
  // be replaced then.
  absl::Status KeepCut(int server, uint64_t step) const;
  // Removes files of the process that are older than the newest whole checkpoint;
  // where the others' files are not to be seen, all but the last four.
  void RemoveOldOfServer(int server) const;
  void RemoveOldOfRank(int rank) const;
  // Before the job begins again at `step`, or at the beginning: what is of other
  // steps must not be taken for this job's later. Of all processes, of one server, or of one trainer.
  void Begin(std::optional<uint64_t> step) const;
  void BeginOfServer(int server, std::optional<uint64_t> step) const;
  void BeginOfRank(int rank, uint64_t step) const;

 private:
  struct File {
    bool of_server = false;
    int index = 0;
    std::optional<uint64_t> step;  // not of the newest of a server
    std::string name;
  };
  std::vector<File> List() const;
  void RemoveUnlessOf(std::optional<uint64_t> step, const File &file) const;
  void RemoveOld(bool of_server, int index) const;

  std::string folder_;
  std::vector<int> servers_;
  int ranks_;
};

// Values of which the servers do not have all: state that trainers update, and what
// nothing updates.
std::vector<uint32_t> OwnValues(const PlanImage &image, const Program &trainer);
// Of the one trainer that the session is of. Nothing without such values. Loading
// sets all; the file must be of this step and rank.
absl::Status SaveOwnValues(Session *session, const JobFiles &files, uint64_t step);
absl::Status LoadOwnValues(Session *session, const JobFiles &files, uint64_t step);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SESSION_JOB_FILES_H
