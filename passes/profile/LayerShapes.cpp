// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/profile/LayerShapes.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace commsched::profile;
using llvm::StringRef;

namespace {

/// What stands between the parentheses of a module: "64, 128, kernel_size=(3, 3)".
class Arguments {
public:
  explicit Arguments(StringRef text) {
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
      if (i < text.size() && text[i] == '(')
        ++depth;
      else if (i < text.size() && text[i] == ')')
        --depth;
      else if (i == text.size() || (text[i] == ',' && depth == 0)) {
        parts.push_back(text.slice(begin, i).trim());
        begin = i + 1;
      }
    }
  }

  StringRef named(StringRef name, StringRef otherwise = "") const {
    for (StringRef part : parts) {
      auto [key, value] = part.split('=');
      if (key == name)
        return value;
    }
    return otherwise;
  }
  bool isTrue(StringRef name, StringRef otherwise = "True") const {
    return named(name, otherwise) == "True";
  }
  /// By name, else by place; 0 if it is not a positive number.
  int64_t number(size_t place, StringRef name, StringRef otherwise = "") const {
    StringRef text = named(name, otherwise);
    if (place < parts.size() && !parts[place].contains('='))
      text = parts[place];
    int64_t value;
    return text.getAsInteger(10, value) || value < 0 ? 0 : value;
  }
  /// (3, 3); empty if it is not all positive numbers.
  static std::vector<int64_t> tuple(StringRef text) {
    std::vector<int64_t> result;
    llvm::SmallVector<StringRef> items;
    text.trim("()").split(items, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef item : items) {
      int64_t value;
      if (item.trim().getAsInteger(10, value) || value <= 0)
        return {};
      result.push_back(value);
    }
    return result;
  }
  StringRef first() const { return parts.empty() ? StringRef() : parts[0]; }

private:
  llvm::SmallVector<StringRef> parts;
};

class Reader {
public:
  Reader(StringRef text, int64_t bytes, StringRef prefix)
      : prefix(prefix.str()), left(bytes / 4) {
    // Longer ones are no modules, and would only take time.
    if (text.size() < 65536)
      scan(text);
    if (left > 0)
      result.push_back(
          {this->prefix + (result.empty() ? ".parameters" : ".rest"), {left}});
  }

  std::vector<Parameter> result;

private:
  void scan(StringRef text);
  void addModule(StringRef kind, const Arguments &arguments);
  void addRecurrent(int64_t gates, const Arguments &arguments);

  void add(const std::string &name, std::vector<int64_t> shape) {
    int64_t n = 1;
    for (int64_t dim : shape)
      if (dim <= 0 || llvm::MulOverflow(n, dim, n))
        n = left + 1;
    full = full || n > left || shape.empty();
    if (full)
      return;
    left -= n;
    std::string path = prefix + "." + (label.empty() ? "" : label + ".") + name;
    // Two modules of one name, or none.
    std::string unique = path;
    auto isTaken = [&](const Parameter &known) { return known.name == unique; };
    for (int i = 1; llvm::any_of(result, isTaken); ++i)
      unique = path + "." + std::to_string(i);
    result.push_back({unique, std::move(shape)});
  }
  void addBias(const Arguments &arguments, int64_t n) {
    if (arguments.isTrue("bias"))
      add("bias", {n});
  }

  std::string prefix, label;
  int64_t left; ///< elements
  bool full = false;
};

/// Finds "Kind(...)" and "(label): Kind(...)", also inside other modules.
void Reader::scan(StringRef text) {
  size_t i = 0;
  while (i < text.size()) {
    if (text[i] == '(') {
      size_t end = text.find("): ", i);
      StringRef inside = text.slice(i + 1, end);
      if (end != StringRef::npos && !inside.empty() &&
          llvm::all_of(inside, [](char c) { return llvm::isAlnum(c) || c == '_'; })) {
        label = inside.str();
        i = end + 3;
        continue;
      }
    }
    if (!llvm::isAlpha(text[i])) {
      ++i;
      continue;
    }
    size_t begin = i;
    while (i < text.size() && (llvm::isAlnum(text[i]) || text[i] == '_'))
      ++i;
    if (i == text.size() || text[i] != '(')
      continue;
    int depth = 1;
    size_t end = i + 1;
    for (; end < text.size() && depth > 0; ++end)
      depth += text[end] == '(' ? 1 : text[end] == ')' ? -1
                                                       : 0;
    addModule(text.slice(begin, i),
              Arguments(text.slice(i + 1, depth == 0 ? end - 1 : end)));
    // Modules inside this one come next.
    if (text.slice(i + 1, end).contains("): "))
      ++i;
    else
      i = end;
    while (i < text.size() && text[i] == ' ')
      ++i;
  }
}

void Reader::addModule(StringRef kind, const Arguments &arguments) {
  auto at = [&](size_t place, StringRef name, StringRef otherwise = "") {
    return arguments.number(place, name, otherwise);
  };
  if (kind.consume_front("Conv")) {
    bool transposed = kind.consume_front("Transpose");
    std::vector<int64_t> kernel = Arguments::tuple(arguments.named("kernel_size"));
    int64_t in = at(0, "in_channels"), out = at(1, "out_channels"),
            groups = at(~size_t(0), "groups", "1");
    if (!kind.ends_with("d") || kernel.empty() || groups == 0)
      return;
    std::vector<int64_t> shape = transposed
                                     ? std::vector<int64_t>{in, out / groups}
                                     : std::vector<int64_t>{out, in / groups};
    llvm::append_range(shape, kernel);
    add("weight", shape);
    addBias(arguments, out);
  } else if (kind == "Linear") {
    add("weight", {at(1, "out_features"), at(0, "in_features")});
    addBias(arguments, at(1, "out_features"));
  } else if (kind.starts_with("BatchNorm") || kind == "GroupNorm") {
    int64_t n = kind == "GroupNorm" ? at(1, "num_channels") : at(0, "num_features");
    if (!arguments.isTrue("affine"))
      return;
    add("weight", {n});
    add("bias", {n});
  } else if (kind == "LayerNorm") {
    std::vector<int64_t> shape = Arguments::tuple(arguments.first());
    if (!arguments.isTrue("elementwise_affine"))
      return;
    add("weight", shape);
    add("bias", shape);
  } else if (kind == "Embedding") {
    add("weight", {at(0, "num_embeddings"), at(1, "embedding_dim")});
  } else if (kind == "LSTM" || kind == "GRU" || kind == "RNN") {
    addRecurrent(kind == "LSTM" ? 4 : kind == "GRU" ? 3
                                                    : 1,
                 arguments);
  }
}

void Reader::addRecurrent(int64_t gates, const Arguments &arguments) {
  int64_t in = arguments.number(0, "input_size"),
          hidden = arguments.number(1, "hidden_size"),
          layers = arguments.number(~size_t(0), "num_layers", "1");
  int64_t rows;
  if (llvm::MulOverflow(gates, hidden, rows) || rows == 0)
    return;
  bool both = arguments.isTrue("bidirectional", "False");
  for (int64_t layer = 0; layer < layers && !full; ++layer)
    for (bool reverse : {false, true}) {
      if (reverse && !both)
        continue;
      std::string suffix = "_l" + std::to_string(layer) + (reverse ? "_reverse" : "");
      add("weight_ih" + suffix,
          {rows, layer == 0 ? in : both ? 2 * hidden
                                        : hidden});
      add("weight_hh" + suffix, {rows, hidden});
      if (!arguments.isTrue("bias"))
        continue;
      add("bias_ih" + suffix, {rows});
      add("bias_hh" + suffix, {rows});
    }
}

} // namespace

std::vector<Parameter>
commsched::profile::readParameters(StringRef text, int64_t bytes,
                                   StringRef prefix) {
  return Reader(text, bytes, prefix).result;
}
