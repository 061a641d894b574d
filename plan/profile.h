// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cs-run --profile has measured (docs/costs.md). The compiler and the simulator read it alike.
#ifndef COMMSCHED_PLAN_PROFILE_H
#define COMMSCHED_PLAN_PROFILE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace commsched::plan {

struct ProfiledFragment {
  std::string function, label;
  bool copy = false;  // no fragment
  int64_t device = 0;
  int64_t median_ns = 0, least_ns = 0;
  // While nothing was communicated, if there was enough of that.
  std::optional<int64_t> quiet_ns;
};

// What one process has measured: of each fragment once, copies may have one name.
struct ProfiledProcess {
  std::string role;  // "worker", "trainer" or "server"
  int64_t index = 0;
  std::vector<ProfiledFragment> fragments;

  bool of_server() const { return role == "server"; }
  std::string Name() const;  // "rank 2", "server 0"
};

struct Profile {
  std::string module, plan;
  std::vector<ProfiledProcess> processes;  // each once
};

// Returns the empty string, or one line that says what is wrong with the file.
std::string ReadProfile(std::string_view text, Profile *profile);

// Why it is not of the program of this name: the empty string, or one line.
std::string CheckProfile(const Profile &profile, std::string_view module);

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_PROFILE_H
