// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "report/Json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace commsched::report {

std::string jsonQuote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || c == '<' || byte == 0x7f) {
      char buffer[8];
      std::snprintf(buffer, sizeof(buffer), "\\u%04x", byte);
      out += buffer;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string jsonNumber(double value) {
  if (!std::isfinite(value))
    return "null";
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end);
}

const Json *Json::find(std::string_view key) const {
  for (const auto &[name, value] : members)
    if (name == key)
      return &value;
  return nullptr;
}

double Json::numberOr(std::string_view key, double otherwise) const {
  const Json *found = find(key);
  return found && found->kind == number ? found->value : otherwise;
}

std::string Json::textOr(std::string_view key, std::string_view otherwise) const {
  const Json *found = find(key);
  return found && found->kind == string ? found->text : std::string(otherwise);
}

bool JsonReader::fail(std::string_view what) {
  if (message.empty())
    message = "is no JSON at byte " + std::to_string(at) + ": " + std::string(what);
  return false;
}

void JsonReader::space() {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n' ||
                              text[at] == '\r' || text[at] == '\t'))
    ++at;
}

bool JsonReader::begin(char bracket) {
  space();
  if (at >= text.size() || text[at] != bracket)
    return fail(std::string("expected ") + bracket);
  ++at;
  first = true;
  return true;
}

bool JsonReader::atEnd() {
  space();
  return at == text.size();
}

bool JsonReader::nextItem() {
  space();
  if (at < text.size() && text[at] == ']') {
    ++at;
    first = false;
    return false;
  }
  if (!first) {
    if (at >= text.size() || text[at] != ',')
      return fail("expected , or ]");
    ++at;
  }
  first = false;
  return true;
}

bool JsonReader::nextKey(std::string &key) {
  space();
  if (at < text.size() && text[at] == '}') {
    ++at;
    first = false;
    return false;
  }
  if (!first) {
    if (at >= text.size() || text[at] != ',')
      return fail("expected , or }");
    ++at;
    space();
  }
  first = false;
  if (!readString(key))
    return false;
  space();
  if (at >= text.size() || text[at] != ':')
    return fail("expected :");
  ++at;
  return true;
}

bool JsonReader::readString(std::string &out) {
  out.clear();
  if (at >= text.size() || text[at] != '"')
    return fail("expected a string");
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] != '\\') {
      out += text[at];
      continue;
    }
    if (++at >= text.size())
      break;
    switch (text[at]) {
    case 'n':
      out += '\n';
      break;
    case 't':
      out += '\t';
      break;
    case 'r':
      out += '\r';
      break;
    case 'b':
      out += '\b';
      break;
    case 'f':
      out += '\f';
      break;
    case 'u': {
      unsigned code = 0;
      if (at + 4 >= text.size() ||
          std::from_chars(text.data() + at + 1, text.data() + at + 5, code, 16).ptr !=
              text.data() + at + 5)
        return fail("expected four hexadecimal digits");
      at += 4;
      if (code < 0x80) {
        out += static_cast<char>(code);
      } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | code >> 6);
        out += static_cast<char>(0x80 | (code & 0x3f));
      } else {
        out += static_cast<char>(0xe0 | code >> 12);
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
      }
      break;
    }
    default:
      out += text[at];
    }
  }
  if (at >= text.size())
    return fail("a string does not end");
  ++at;
  return true;
}

bool JsonReader::readNumber(Json &value) {
  value.kind = Json::number;
  auto [end, error] =
      std::from_chars(text.data() + at, text.data() + text.size(), value.value);
  if (error != std::errc() || end == text.data() + at)
    return fail("expected a value");
  at = static_cast<size_t>(end - text.data());
  return true;
}

bool JsonReader::readValue(Json &value, int depth) {
  value = Json();
  space();
  if (depth > 64)
    return fail("is nested too deeply");
  if (at >= text.size())
    return fail("ends too early");
  auto word = [&](std::string_view name, Json::Kind kind, double number) {
    if (text.substr(at, name.size()) != name)
      return fail("expected a value");
    at += name.size();
    value.kind = kind;
    value.value = number;
    return true;
  };
  switch (text[at]) {
  case '"':
    value.kind = Json::string;
    return readString(value.text);
  case '{': {
    value.kind = Json::object;
    begin('{');
    std::string key;
    while (nextKey(key)) {
      value.members.emplace_back(key, Json());
      if (!readValue(value.members.back().second, depth + 1))
        return false;
    }
    return message.empty();
  }
  case '[':
    value.kind = Json::array;
    begin('[');
    while (nextItem()) {
      value.items.emplace_back();
      if (!readValue(value.items.back(), depth + 1))
        return false;
    }
    return message.empty();
  case 't':
    return word("true", Json::boolean, 1);
  case 'f':
    return word("false", Json::boolean, 0);
  case 'n':
    return word("null", Json::null, 0);
  default:
    return readNumber(value);
  }
}

bool JsonReader::read(Json &value) { return message.empty() && readValue(value, 0); }

} // namespace commsched::report
