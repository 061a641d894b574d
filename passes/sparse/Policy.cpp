// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/Policy.h"

#include "ir/CsSparseOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;

std::optional<Method> sparse::symbolizeMethod(StringRef name) {
  // In the order of the enumeration.
  ArrayRef<StringRef> names = cs::exchangeMethods();
  const auto *found = llvm::find(names, name);
  if (found == names.end())
    return std::nullopt;
  return static_cast<Method>(found - names.begin());
}

StringRef sparse::stringify(Method method) {
  return cs::exchangeMethods()[static_cast<size_t>(method)];
}

ArrayRef<StringRef> sparse::valueTypes() {
  static const StringRef names[] = {"same", "f16", "bf16", "int8"};
  return names;
}

Type sparse::valueTypeOf(StringRef name, Type element) {
  Builder builder(element.getContext());
  Type type = llvm::StringSwitch<Type>(name)
                  .Case("f16", builder.getF16Type())
                  .Case("bf16", builder.getBF16Type())
                  .Case("int8", builder.getI8Type())
                  .Default(element);
  return type.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth() ? type : element;
}

static bool isDensity(double value) { return value > 0 && value <= 1; }

FailureOr<Policy>
Policy::read(const PolicyOptions &options,
             llvm::function_ref<InFlightDiagnostic(const Twine &)> refuse) {
  Policy policy;
  if (!isDensity(options.density))
    return refuse("density must be above 0 and at most 1, got: " +
                  Twine(std::to_string(options.density)));
  std::optional<Method> method = symbolizeMethod(options.method);
  if (!method)
    return refuse("method must be " + cs::listOf(cs::exchangeMethods()) +
                  ", got: " + options.method);
  if (options.minElements < 0)
    return refuse("min-elements must not be negative, got: " +
                  Twine(options.minElements));
  policy.density = options.density;
  policy.method = *method;
  policy.minElements = options.minElements;
  for (const std::string &text : options.rules) {
    auto [pattern, rest] = StringRef(text).rsplit('=');
    auto [number, name] = rest.split(':');
    double density;
    if (pattern.empty() || number.getAsDouble(density) || !isDensity(density))
      return refuse("rules must be PATTERN=DENSITY[:METHOD] with a density above 0 "
                    "and at most 1, got: " +
                    text);
    std::optional<Method> own = name.empty() ? *method : symbolizeMethod(name);
    if (!own)
      return refuse("rules must name a method, " + cs::listOf(cs::exchangeMethods()) +
                    ", got: " + text);
    llvm::Regex regex("^(" + pattern.str() + ")$");
    std::string error;
    if (!regex.isValid(error))
      return refuse("rules must have a regular expression, got: " + text + ": " + error);
    policy.rules.push_back({text, std::move(regex), density, *own});
  }
  return policy;
}

bool Policy::asks() const {
  return density < 1 || llvm::any_of(rules, [](const Rule &rule) { return rule.density < 1; });
}

std::optional<std::string> Policy::unusedRule(const llvm::StringSet<> &params) const {
  // Of each parameter the first one that matches counts.
  llvm::StringSet<> left = params;
  for (const Rule &rule : rules) {
    auto matches = [&](const auto &param) { return rule.pattern.match(param.getKey()); };
    if (llvm::none_of(left, matches))
      return rule.text + (llvm::any_of(params, matches) ? ", of whose parameters rules before it take all" : "");
    for (const auto &param : params)
      if (matches(param))
        left.erase(param.getKey());
  }
  return std::nullopt;
}

Wish Policy::wishFor(Operation *op, StringRef param, RankedTensorType type,
                     cs::Reduction reduction) const {
  Wish wish{density, method, ""};
  for (const Rule &rule : rules)
    if (rule.pattern.match(param)) {
      wish = {rule.density, rule.method, ""};
      break;
    }
  bool asked = false;
  if (auto own = op->getAttrOfType<FloatAttr>(cs::kDensityAttr)) {
    wish.density = own.getValueAsDouble();
    asked = true;
  }
  if (auto own = op->getAttrOfType<StringAttr>(cs::kSparseMethodAttr))
    wish.method = *symbolizeMethod(own.getValue());
  if (wish.density == 1)
    wish.method = Method::dense;
  if (wish.method == Method::dense)
    return wish;
  Type element = type.getElementType();
  if (!asked && type.getNumElements() < minElements)
    wish.why = "it has fewer than " + std::to_string(minElements) + " elements";
  else if (type.getNumElements() == 0)
    wish.why = "it has no elements";
  else if (!element.isF32() && !element.isF16() && !element.isBF16())
    wish.why = "elements of its type cannot be selected from";
  else if (reduction != cs::Reduction::mean && reduction != cs::Reduction::sum)
    wish.why = "its reduction is neither mean nor sum";
  else if (type.getNumElements() > int64_t(1) << 31)
    wish.why = "it has more elements than indices of 32 bits can name";
  if (!wish.why.empty())
    wish.method = Method::dense;
  return wish;
}
