// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/Options.h"

#include <cmath>

#include "ir/CsSparseOps.h"
#include "passes/sparse/Policy.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;

/// Whether `value` is 0 or more and, where it is more, neither 0 nor infinite in what is computed with it.
static bool isSingle(double value) {
  auto single = static_cast<float>(value);
  return value >= 0 && std::isfinite(single) && (value == 0 || single > 0);
}

std::string sparse::textOf(double value) {
  SmallString<24> digits;
  APFloat(value).toString(digits);
  return digits.str().str();
}

std::string sparse::checkOptions(const LowerSparseCommOptions &options) {
  auto refuse = [](const Twine &what) { return what.str(); };
  if (!llvm::is_contained(cs::selectionMethods(), StringRef(options.select)))
    return refuse("select must be " + cs::listOf(cs::selectionMethods()) +
                  ", got: " + options.select);
  if (!(options.momentum >= 0 && options.momentum < 1))
    return refuse("momentum must be at least 0 and below 1, got: " +
                  Twine(std::to_string(options.momentum)));
  if (!(options.secondMoment >= 0 && options.secondMoment < 1))
    return refuse("second-moment must be at least 0 and below 1, got: " +
                  Twine(std::to_string(options.secondMoment)));
  if (options.squares != "mean" && options.squares != "own")
    return refuse("squares must be mean or own, got: " + options.squares);
  if (!isSingle(options.epsilon) || options.epsilon == 0)
    return refuse("epsilon must be above 0 and a number of f32, got: " + textOf(options.epsilon));
  if (!options.mask && (options.momentum == 0 || options.secondMoment != 0))
    return refuse("mask=false must go with momentum, and without second-moment");
  if (options.epsilon != 1e-8 && options.secondMoment == 0)
    return refuse("epsilon must go with second-moment");
  if (options.squares != "mean" && (options.momentum == 0 || options.secondMoment == 0))
    return refuse("squares must go with momentum and second-moment, got: " + options.squares);
  if (options.momentum > 0 && options.secondMoment == 0 && !options.feedback)
    return refuse("momentum must go with feedback");
  if (!isSingle(options.clip))
    return refuse("clip must not be negative, and a number of f32, got: " + textOf(options.clip));
  if (options.exactEvery < 1 || options.exactEvery > cs::kMaxThresholdSteps)
    return refuse("exact-every must be 1 to " + Twine(cs::kMaxThresholdSteps) +
                  ", got: " + Twine(options.exactEvery));
  if (options.exactEvery > 1 && !options.feedback)
    return refuse("exact-every above 1 must go with feedback");
  if (!llvm::is_contained(valueTypes(), StringRef(options.values)))
    return refuse("values must be " + cs::listOf(valueTypes()) + ", got: " + options.values);
  if (!isSingle(options.unsentRate))
    return refuse("unsent-rate must not be negative, and a number of f32, got: " + textOf(options.unsentRate));
  if (options.unsentRate > 0 && !options.feedback)
    return refuse("unsent-rate must go with feedback");
  if (options.samples < 1 || options.samples > cs::kMaxMsTopKSamples)
    return refuse("mstopk-samples must be 1 to " + Twine(cs::kMaxMsTopKSamples) +
                  ", got: " + Twine(options.samples));
  if (options.select != "mstopk" && (options.samples != cs::kMsTopKSamples || !options.earlyStop || options.seed != 0))
    return refuse("mstopk-samples, mstopk-early-stop and mstopk-seed must go with "
                  "select=mstopk, got: " +
                  options.select);
  if (options.fuseBytes < -1)
    return refuse("fuse-bytes must be at least 0, or -1 for what the link carries, got: " +
                  Twine(options.fuseBytes));
  return "";
}

StringRef sparse::optionOfSelections(const LowerSparseCommOptions &options) {
  const LowerSparseCommOptions none;
  const std::pair<StringRef, bool> given[] = {
      {"feedback", options.feedback != none.feedback},
      {"mask", options.mask != none.mask},
      {"min-elements", options.minElements != none.minElements},
      {"exact-every", options.exactEvery != none.exactEvery},
      {"fuse-bytes", options.fuseBytes != none.fuseBytes},
      {"select", options.select != none.select},
      {"values", options.values != none.values},
      {"squares", options.squares != none.squares},
      {"method", options.method != none.method && options.method != "dense"},
      {"clip", options.clip != none.clip},
      {"unsent-rate", options.unsentRate != none.unsentRate}};
  for (auto [option, isGiven] : given)
    if (isGiven)
      return option;
  return "";
}

SelectionRules sparse::rulesOfSelection(const LowerSparseCommOptions &options) {
  SelectionRules made;
  made.select = options.select;
  made.samples = options.samples;
  made.earlyStop = options.earlyStop;
  made.seed = options.seed;
  made.feedback = options.feedback;
  made.correction = {options.momentum, options.secondMoment, options.epsilon, options.squares == "mean"};
  made.mask = options.mask;
  made.clip = options.clip;
  made.values = options.values;
  made.unsentRate = options.unsentRate;
  made.exactEvery = options.exactEvery;
  return made;
}

std::string sparse::textOfCorrection(const LowerSparseCommOptions &options) {
  if (!rulesOfSelection(options).correction.any())
    return "";
  std::string made = "momentum=" + textOf(options.momentum);
  if (options.secondMoment > 0)
    made += " second-moment=" + textOf(options.secondMoment) + " epsilon=" + textOf(options.epsilon) +
            " squares=" + options.squares;
  return made;
}
