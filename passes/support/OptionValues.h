// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of options of passes that are read back as they were from the pipelines that MLIR prints (--dump-pass-pipeline,
// reproducers): it has numbers with six digits, and of an empty text nothing.

#ifndef COMMSCHED_PASSES_SUPPORT_OPTIONVALUES_H
#define COMMSCHED_PASSES_SUPPORT_OPTIONVALUES_H

#include <string>
#include <utility>

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace commsched {

/// A text that is empty by default, which is written `""` (checkOptionText knows those that may be).
struct OptionText : std::string {
  using std::string::string;
  using std::string::operator=;
  OptionText() = default;
  OptionText(std::string text) : std::string(std::move(text)) {}
};

class OptionNumber {
public:
  OptionNumber(double value = 0) : value(value) {}
  operator double() const { return value; }

private:
  double value;
};

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const OptionText &text) {
  if (text.empty())
    return os << "\"\"";
  bool isQuoted = text.find_first_of(" \t\n") < text.find_first_of("{'\"");
  return os << (isQuoted ? "{" : "") << static_cast<const std::string &>(text) << (isQuoted ? "}" : "");
}

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const OptionNumber &number) {
  return os << llvm::format("%.17g", static_cast<double>(number));
}

} // namespace commsched

namespace llvm::cl {

template <>
class parser<commsched::OptionText> : public basic_parser<commsched::OptionText> {
public:
  using basic_parser::basic_parser;
  bool parse(Option &, StringRef, StringRef text, commsched::OptionText &value) {
    value = text.str();
    return false;
  }
  StringRef getValueName() const override { return "string"; }
  void printOptionDiff(const Option &option, const commsched::OptionText &, OptVal, size_t width) const {
    printOptionName(option, width);
  }
};

template <>
class parser<commsched::OptionNumber> : public basic_parser<commsched::OptionNumber> {
public:
  using basic_parser::basic_parser;
  bool parse(Option &option, StringRef, StringRef text, commsched::OptionNumber &value) {
    double number;
    if (text.getAsDouble(number))
      return option.error("'" + text + "' value invalid for floating point argument!");
    value = number;
    return false;
  }
  StringRef getValueName() const override { return "number"; }
  void printOptionDiff(const Option &option, const commsched::OptionNumber &, OptVal, size_t width) const {
    printOptionName(option, width);
  }
};

} // namespace llvm::cl

#endif // COMMSCHED_PASSES_SUPPORT_OPTIONVALUES_H
