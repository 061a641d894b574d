// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whose a collective is: which ranks, and how its phases number them.
#ifndef COMMSCHED_RUNTIME_LOADING_RANK_GROUP_H
#define COMMSCHED_RUNTIME_LOADING_RANK_GROUP_H

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "plan/plan.pb.h"

namespace commsched::runtime {

// Immutable; copies share what they hold.
class RankGroup {
 public:
  // All of `nodes` ranks, numbered as they are.
  explicit RankGroup(int nodes = 0) : size_(nodes) {}
  // Some of `nodes` ranks. Refuses one that is not among them, one that is there
  // twice, and a group without any.
  static absl::StatusOr<RankGroup> Parse(const plan::Group &group, int nodes);
  // That of an instruction of `plan`: all ranks, if it names none.
  static absl::StatusOr<RankGroup> Of(const plan::Communicate &communicate,
                                      const plan::Plan &plan);
  // Whose its peers are: the same, if it does not say otherwise.
  static absl::StatusOr<RankGroup> PeersOf(const plan::Communicate &communicate,
                                           const plan::Plan &plan);

  // The same ranks in the same order.
  friend bool operator==(const RankGroup &a, const RankGroup &b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (a.RankAt(i) != b.RankAt(i)) return false;
    return true;
  }
  int size() const { return size_; }
  bool all() const { return table_ == nullptr; }
  // The number of a rank; -1 if it is no member.
  int IndexOf(int rank) const {
    if (table_ == nullptr) return rank >= 0 && rank < size_ ? rank : -1;
    return rank >= 0 && size_t(rank) < table_->index.size() ? table_->index[size_t(rank)] : -1;
  }
  // `index` is one of 0 .. size() - 1.
  int RankAt(int index) const {
    return table_ == nullptr ? index : table_->rank[size_t(index)];
  }

 private:
  struct Table {
    std::vector<int> rank;   // by index
    std::vector<int> index;  // by rank
  };
  int size_;
  std::shared_ptr<const Table> table_;  // null: all
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_RANK_GROUP_H
