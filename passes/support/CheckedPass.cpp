// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/support/CheckedPass.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using llvm::StringRef;

/// Options of which nothing is the default (OptionText).
static constexpr StringRef kMayBeEmpty[] = {"cluster", "cut-as", "file", "nccl-tests"};

/// The first of the options, up to a space that is in no quotes and braces; `text` is what follows.
static StringRef takeFirst(StringRef &text) {
  text = text.ltrim();
  unsigned depth = 0;
  char quote = 0;
  size_t end = 0;
  for (; end < text.size() && (depth > 0 || quote || !llvm::isSpace(text[end])); ++end) {
    char next = text[end];
    if (quote)
      quote = next == quote ? 0 : quote;
    else if (next == '"' || next == '\'')
      quote = next;
    else if (next == '{')
      ++depth;
    else if (next == '}' && depth > 0)
      --depth;
  }
  StringRef first = text.take_front(end);
  text = text.drop_front(end);
  return first;
}

std::string commsched::checkOptionText(StringRef text) {
  llvm::StringSet<> names;
  for (StringRef option = takeFirst(text); !option.empty(); option = takeFirst(text)) {
    auto [name, value] = option.split('=');
    if (!names.insert(name).second)
      return (name + " must be there once").str();
    if (value == "\"\"" && llvm::is_contained(kMayBeEmpty, name))
      continue;
    if (name != option && value.trim("\"'{} ").empty())
      return (name + " must have a value").str();
  }
  return "";
}

llvm::LogicalResult
commsched::failWith(StringRef why, llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)> errorHandler) {
  why = why.trim();
  why.consume_front("<Pass-Options-Parser>: ");
  return why.empty() ? llvm::failure() : errorHandler(why);
}
