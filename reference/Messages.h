// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What has been sent in a step and not yet been received.

#ifndef COMMSCHED_REFERENCE_MESSAGES_H
#define COMMSCHED_REFERENCE_MESSAGES_H

#include "reference/Array.h"

#include "mlir/IR/Operation.h"
#include <map>
#include <tuple>

namespace commsched::reference {

struct Message {
  /// A tensor; or rows of a table: their numbers, i64, and the rows.
  llvm::SmallVector<ArrayPtr, 2> parts;
  mlir::Operation *sender = nullptr;
};

/// To whom, and under which key. `role` is the name of the function that receives;
/// empty: the trainers' own.
struct Address {
  std::string role;
  int64_t rank = 0;
  std::string key;
  bool operator<(const Address &other) const {
    return std::tie(role, rank, key) < std::tie(other.role, other.rank, other.key);
  }
};

/// By address and the rank that has sent it.
using Messages = std::map<Address, std::map<int64_t, Message>>;

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_MESSAGES_H
