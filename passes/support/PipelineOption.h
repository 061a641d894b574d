// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of pipelines whose text says their default, as CsOption's in Options.td.

#ifndef COMMSCHED_PASSES_SUPPORT_PIPELINEOPTION_H
#define COMMSCHED_PASSES_SUPPORT_PIPELINEOPTION_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <type_traits>

namespace commsched {

/// Text that stays for good: options do not copy theirs.
llvm::StringRef keepText(const std::string &text);

/// A modifier of an option, in the place of llvm::cl::desc and llvm::cl::init.
template <typename T>
struct Described {
  llvm::StringRef text;
  T value;

  template <typename Option>
  void apply(Option &option) const {
    std::string all;
    llvm::raw_string_ostream os(all);
    os << text << " (default ";
    if constexpr (std::is_same_v<T, bool>)
      os << (value ? "true" : "false");
    else if constexpr (std::is_same_v<T, const char *>)
      os << (*value ? value : "none");
    else if constexpr (std::is_same_v<T, double>)
      os << llvm::format("%g", value);
    else
      os << value;
    os << ")";
    option.setDescription(keepText(all));
    option.setInitialValue(value);
  }
};

template <typename T>
Described<T> described(llvm::StringRef text, T value) {
  return {text, value};
}

} // namespace commsched

#endif // COMMSCHED_PASSES_SUPPORT_PIPELINEOPTION_H
