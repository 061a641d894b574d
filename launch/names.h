// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How those who join a job call its options: errors say what to do in their words.
#ifndef COMMSCHED_LAUNCH_NAMES_H
#define COMMSCHED_LAUNCH_NAMES_H

#include <string>

namespace commsched::launch {

// Those of cs-run.
struct OptionNames {
  std::string token = "--token-file FILE";
  std::string insecure = "--insecure";
  std::string tls = "--tls-ca, --tls-cert, --tls-key and --token-file";
  std::string peers = "--rank and --peers";
};

}  // namespace commsched::launch

#endif  // COMMSCHED_LAUNCH_NAMES_H
