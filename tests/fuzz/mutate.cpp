// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/random.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace commsched::fuzz {
namespace {

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

// What programs of other people have beside what ours have.
constexpr std::string_view kShapes[] = {"", "0x", "?x", "1x", "2x?x", "0x0x", "3x0x4x", "9223372036854775807x", "4294967296x4294967296x",
                                        "1x1x1x1x1x1x1x1x1x", "2x3x1x2x1x2x1x1x2x", "1000000007x", "*x"};
constexpr std::string_view kElements[] = {"f32", "f64", "f16", "bf16", "i1", "i8", "i64", "ui8", "index", "f8E4M3FN", "i7", "i1024",
                                          "complex<f32>", "tuple<>", "vector<2xf32>", "none", "memref<2xf32>"};
constexpr std::string_view kValues[] = {"\"\"", "[]", "{}", "unit", "true", "-1 : i64", "0 : i64", "9223372036854775807 : i64", "1 : i1",
                                        "-9223372036854775808 : i64", "0x7FC00000 : f32", "0xFF800000 : f32", "0x7FF0000000000000 : f64",
                                        "0.0 : f64", "-1.0 : f64", "@nowhere", "@step", "@a::@b", "f32", "\"\\00\"", "\"a b\"",
                                        "dense<0> : tensor<0xi64>", "dense<-1> : tensor<2xi64>", "array<i64>", "array<i64: -1>",
                                        "affine_map<() -> ()>", "[1, \"a\"]", "loc(unknown)"};
constexpr std::string_view kLines[] = {
    "module {\n}\n", "module @inner {\n  func.func @step() {\n    return\n  }\n}\n",
    "func.func private @external(tensor<4xf32>) -> tensor<4xf32>\n", "func.func @again() {\n  call @again() : () -> ()\n  return\n}\n",
    "func.func @steps(%a: tensor<2xf32> {cs.param = \"a\"}) -> (tensor<2xf32> {cs.updates = \"a\"}) attributes {cs.step} {\n  return %a : "
    "tensor<2xf32>\n}\n",
    "func.func private @no_body() attributes {cs.step}\n", "cf.br ^bb90\n^bb90:\n", "cf.br ^bb91\n^bb91:\ncf.br ^bb91\n^bb92:\n",
    "%true = arith.constant true\ncf.cond_br %true, ^bb93, ^bb94\n^bb93:\ncf.br ^bb94\n^bb94:\n", "^bb95(%unused: tensor<2xf32>):\n",
    "\"other.op\"() : () -> ()\n", "%other = \"other.op\"() ({\n^bb0:\n}) : () -> tensor<4xf32>\n", "call @step() : () -> ()\n",
    "%e = tensor.empty() : tensor<0xf32>\n", "%nine = arith.constant dense<0x7FC00000> : tensor<4xf32>\n",
    "scf.execute_region {\n  scf.yield\n}\n"};
constexpr std::string_view kLocations[] = {" loc(unknown)", " loc(\"\")", " loc(\"a.mlir\":0:0)", " loc(fused[\"a.mlir\":1:1, unknown])",
                                           " loc(fused<\"x\">[unknown, \"n\"(\"a.mlir\":2:1)])",
                                           " loc(callsite(\"f\" at \"b.mlir\":2:3))", " loc(callsite(unknown at unknown))"};

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
    switch (random.below(26)) {
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
    case 20:
    case 21: { // another shape or element, of one type or wherever it is
      std::vector<Span> types;
      for (size_t at = 0; (at = text.find("tensor<", at)) != std::string::npos;) {
        at += 7;
        size_t end = text.find_first_of("<>,", at);
        if (end != std::string::npos && text[end] == '>')
          types.push_back({at, end});
      }
      if (types.empty())
        break;
      std::string what = "tensor<" + piece(text, types[random.below(types.size())]) + ">";
      size_t element = what.find_last_of("x<"); // of index, too, which no test has
      std::string with = what;
      if (random.below(2))
        with = "tensor<" + std::string(random.of(kShapes)) + what.substr(element + 1);
      else
        with = what.substr(0, element + 1) + std::string(random.of(kElements)) + ">";
      bool everywhere = random.below(3);
      for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        if (everywhere || random.below(3) == 0)
          text.replace(at, what.size(), with);
      break;
    }
    case 22: { // the value of an attribute
      std::vector<Span> values;
      for (size_t at = 0; (at = text.find(" = ", at)) != std::string::npos;) {
        at += 3;
        if (size_t end = text.find_first_of(",}\n<", at); end != std::string::npos)
          values.push_back({at, end});
      }
      if (!values.empty())
        replace(text, values[random.below(values.size())], random.of(kValues));
      break;
    }
    case 23:
      text.insert(line.begin, random.of(kLines));
      break;
    case 24: // what ends here has another location
      if (line.end > line.begin && text[line.end - 1] == '\n')
        text.insert(line.end - 1, random.of(kLocations));
      break;
    case 25: // all of it in another module, or beside one
      if (random.below(2))
        text = "module {\n" + text + "\n}\n";
      else
        text = "module @first {\n" + text + "\n}\nmodule @second {\n" + other + "\n}\n";
      break;
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
