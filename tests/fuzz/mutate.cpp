// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace commsched::fuzz {
namespace {

// splitmix64: small, and the same everywhere, unlike std distributions.
class Random {
public:
  explicit Random(uint64_t state) : state(state) {}
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return n ? next() % n : 0; }

private:
  uint64_t state;
};

struct Span {
  size_t begin, end;
};

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
         c == '%' || c == '@' || c == '#' || c == '!' || c == '$';
}

// Words, numbers, quoted strings and single punctuation marks.
std::vector<Span> tokenSpans(std::string_view text) {
  std::vector<Span> spans;
  for (size_t i = 0; i < text.size();) {
    size_t j = i + 1;
    if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    if (text[i] == '"') {
      while (j < text.size() && text[j] != '"' && text[j] != '\n')
        ++j;
      j = std::min(j + 1, text.size());
    } else if (isWord(text[i])) {
      while (j < text.size() && isWord(text[j]))
        ++j;
    }
    spans.push_back({i, j});
    i = j;
  }
  return spans;
}

std::vector<Span> lineSpans(std::string_view text) {
  std::vector<Span> spans;
  for (size_t i = 0; i < text.size();) {
    size_t j = text.find('\n', i);
    j = j == std::string_view::npos ? text.size() : j + 1;
    spans.push_back({i, j});
    i = j;
  }
  return spans;
}

// A bracketed piece: from a random opening bracket to the one that closes it.
Span blockSpan(std::string_view text, Random &random) {
  std::vector<size_t> opening;
  for (size_t i = 0; i < text.size(); ++i)
    if (std::string_view("({[<").find(text[i]) != std::string_view::npos)
      opening.push_back(i);
  if (opening.empty())
    return {0, 0};
  size_t begin = opening[random.below(opening.size())];
  char open = text[begin];
  char close = open == '(' ? ')' : open == '{' ? '}'
                               : open == '['   ? ']'
                                               : '>';
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    depth += text[i] == open ? 1 : text[i] == close ? -1
                                                    : 0;
    if (depth == 0)
      return {begin, i + 1};
  }
  return {begin, text.size()};
}

constexpr std::string_view kNumbers[] = {
    "0", "1", "-1", "2", "3", "7",
    "127", "64", "255", "65536", "2.5e0", "4294967296",
    "?", "*", "0.0", "-0.5", "1e300", "9223372036854775807",
    "nan", "x", "0x7F800000", "-9223372036854775808",
    "18446744073709551616"};

std::string piece(std::string_view text, Span span) {
  return std::string(text.substr(span.begin, span.end - span.begin));
}

// Tokens of one kind can often stand for each other: values, symbols, strings,
// op names, keywords and numbers.
int kindOf(std::string_view token) {
  if (std::isdigit(static_cast<unsigned char>(token[0])))
    return '0';
  if (std::string_view("%@#!\"").find(token[0]) != std::string_view::npos)
    return token[0];
  if (!isWord(token[0]))
    return 1;
  return token.find('.') == std::string_view::npos ? 2 : 3;
}

void replaceAll(std::string &text, std::string_view what,
                std::string_view with) {
  std::vector<Span> spans = tokenSpans(text);
  for (size_t i = spans.size(); i-- > 0;) {
    Span span = spans[i];
    if (std::string_view(text).substr(span.begin, span.end - span.begin) ==
        what)
      text.replace(span.begin, span.end - span.begin, with);
  }
}

void replace(std::string &text, Span span, std::string_view with) {
  text.replace(span.begin, span.end - span.begin, with);
}

} // namespace

Mutator::Mutator(std::vector<std::string> allTexts, uint64_t seed)
    : texts(std::move(allTexts)), seed(seed) {
  for (const std::string &text : texts)
    for (Span span : tokenSpans(text))
      tokens.push_back(piece(text, span));
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
}

std::string Mutator::mutant(uint64_t index) const {
  Random random(seed * 0x2545f4914f6cdd1d + index);
  std::string text = texts[random.below(texts.size())];
  // Mostly one: every further change makes it less likely to get past the
  // parser.
  size_t changes = 1;
  while (changes < 5 && random.below(3) == 0)
    ++changes;
  for (size_t change = 0; change < changes; ++change) {
    std::vector<Span> words = tokenSpans(text);
    std::vector<Span> lines = lineSpans(text);
    if (words.empty())
      return text;
    Span word = words[random.below(words.size())];
    Span line = lines[random.below(lines.size())];
    const std::string &other = texts[random.below(texts.size())];
    switch (random.below(20)) {
    case 0: // another token
      replace(text, word, tokens[random.below(tokens.size())]);
      break;
    case 1: // another token of the same text
      replace(text, word, piece(text, words[random.below(words.size())]));
      break;
    case 2:
      replace(text, word, "");
      break;
    case 3: { // a number, or the number inside a word such as 4x8xf32
      std::vector<Span> numbers;
      for (size_t i = 0; i < text.size(); ++i) {
        size_t j = i;
        while (j < text.size() &&
               std::isdigit(static_cast<unsigned char>(text[j])))
          ++j;
        if (j > i) {
          numbers.push_back({i, j});
          i = j;
        }
      }
      if (!numbers.empty())
        replace(text, numbers[random.below(numbers.size())],
                kNumbers[random.below(std::size(kNumbers))]);
      break;
    }
    case 4:
      replace(text, line, "");
      break;
    case 5:
      text.insert(line.begin, piece(text, line));
      break;
    case 6: { // two lines change places
      std::string first = piece(text, line);
      replace(text, line, "");
      lines = lineSpans(text);
      size_t at = lines.empty() ? 0 : lines[random.below(lines.size())].begin;
      text.insert(at, first);
      break;
    }
    case 7: { // lines of another text
      std::vector<Span> from = lineSpans(other);
      if (from.empty())
        break;
      size_t first = random.below(from.size());
      size_t last = std::min(from.size() - 1, first + random.below(12));
      text.insert(line.begin,
                  piece(other, {from[first].begin, from[last].end}));
      break;
    }
    case 8: { // a block in place of another
      Span from = blockSpan(other, random);
      replace(text, blockSpan(text, random), piece(other, from));
      break;
    }
    case 9:
      replace(text, blockSpan(text, random), "");
      break;
    case 10: { // a block twice
      Span block = blockSpan(text, random);
      text.insert(block.end, piece(text, block));
      break;
    }
    case 11:
      text[random.below(text.size())] ^= char(1 << random.below(8));
      break;
    case 12:
      text.insert(random.below(text.size()), 1, char(random.below(256)));
      break;
    case 14:
    case 15: { // a token of the same kind, of the same text
      std::vector<Span> same;
      int kind = kindOf(piece(text, word));
      for (Span other : words)
        if (kindOf(piece(text, other)) == kind)
          same.push_back(other);
      std::string with = piece(text, same[random.below(same.size())]);
      replace(text, word, with);
      break;
    }
    case 16:
    case 17: { // one of the same kind, of any text; now and then everywhere
      std::string what = piece(text, word);
      int kind = kindOf(what);
      std::string with = tokens[random.below(tokens.size())];
      for (int i = 0; i < 50 && kindOf(with) != kind; ++i)
        with = tokens[random.below(tokens.size())];
      if (random.below(2))
        replaceAll(text, what, with);
      else
        replace(text, word, with);
      break;
    }
    case 18:
    case 19: { // a number everywhere, inside of words too
      std::string what = std::to_string(random.below(17));
      std::string with(kNumbers[random.below(std::size(kNumbers))]);
      for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;
           at += with.size())
        text.replace(at, what.size(), with);
      break;
    }
    case 13: // cut off, now and then
      if (random.below(4) == 0)
        text.resize(random.below(text.size()));
      else
        std::swap(text[random.below(text.size())],
                  text[random.below(text.size())]);
      break;
    }
    if (text.size() > 200000)
      text.resize(200000);
    if (text.empty())
      return text;
  }
  return text;
}

} // namespace commsched::fuzz
