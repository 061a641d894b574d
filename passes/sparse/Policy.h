// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which gradients travel sparsely, and how: what they say themselves, else the
// options of --lower-sparse-comm.

#ifndef COMMSCHED_PASSES_SPARSE_POLICY_H
#define COMMSCHED_PASSES_SPARSE_POLICY_H

#include <string>
#include <vector>

#include "ir/Cs.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

namespace commsched::sparse {

enum class Method {
  automatic,
  dense,
  allGather,
  hiTopK,
  gTopK,
  okTopK
};

std::optional<Method> symbolizeMethod(llvm::StringRef name);
llvm::StringRef stringify(Method method);

/// What values of lists may travel as.
llvm::ArrayRef<llvm::StringRef> valueTypes();
/// That of a gradient of `element`, by its name; `element` if it is not narrower.
mlir::Type valueTypeOf(llvm::StringRef name, mlir::Type element);

struct Wish {
  double density = 1;
  Method method = Method::dense;
  /// Why it is dense, if it is not because nobody asked for more.
  std::string why;
};

struct PolicyOptions {
  double density;
  std::string method;
  int64_t minElements;
  std::vector<std::string> rules;
};

class Policy {
public:
  /// An error says what option is wrong.
  static llvm::FailureOr<Policy>
  read(const PolicyOptions &options,
       llvm::function_ref<mlir::InFlightDiagnostic(const llvm::Twine &)> refuse);

  /// For the gradient of `param` that `op`, which may say so itself, begins to exchange.
  Wish wishFor(mlir::Operation *op, llvm::StringRef param, mlir::RankedTensorType type,
               cs::Reduction reduction) const;

  /// Whether a density below 1 is asked for, if only by a rule.
  bool asks() const;

  /// A rule that counts for no parameter of these names, as it was given, and why if it matches some.
  std::optional<std::string> unusedRule(const llvm::StringSet<> &params) const;

private:
  struct Rule {
    std::string text;
    llvm::Regex pattern;
    double density;
    Method method;
  };
  double density = 1;
  Method method = Method::automatic;
  int64_t minElements = 0;
  std::vector<Rule> rules;
};

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_POLICY_H
