// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_REPORT_JSON_H
#define COMMSCHED_REPORT_JSON_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace commsched::report {

/// `text` as a JSON string, with its quotes, that may stand in a script of a page.
std::string jsonQuote(std::string_view text);
/// `value` as a JSON number that reads back as the same double; "null" for what JSON
/// lacks.
std::string jsonNumber(double value);

/// A value that was read.
struct Json {
  enum Kind {
    null,
    boolean,
    number,
    string,
    array,
    object
  };
  Kind kind = null;
  double value = 0; ///< of a number; 1 of true
  std::string text;
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  /// Of an object, or null.
  const Json *find(std::string_view key) const;
  double numberOr(std::string_view key, double otherwise) const;
  std::string textOr(std::string_view key, std::string_view otherwise) const;
};

/// Reads values one after the other, so that a file of a million events is never in
/// memory as a tree.
class JsonReader {
public:
  explicit JsonReader(std::string_view text) : text(text) {}

  /// One value. Returns false, and error() says why, if there is none.
  bool read(Json &value);
  /// After '{': the next key, which read() or skip() follows; false at '}'.
  bool nextKey(std::string &key);
  /// After '[': whether there is another item; false at ']'.
  bool nextItem();
  bool begin(char bracket); ///< '{' or '['
  bool atEnd();             ///< nothing but space is left
  const std::string &error() const { return message; }

private:
  bool fail(std::string_view what);
  void space();
  bool readString(std::string &out);
  bool readNumber(Json &value);
  bool readValue(Json &value, int depth);

  std::string_view text;
  size_t at = 0;
  bool first = false; ///< directly after a bracket
  std::string message;
};

} // namespace commsched::report

#endif // COMMSCHED_REPORT_JSON_H
