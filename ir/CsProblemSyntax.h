// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Syntax of scheduling problems, for the declarative formats in CsProblemOps.td.
// Included only where these are compiled.

#ifndef COMMSCHED_IR_CSPROBLEMSYNTAX_H
#define COMMSCHED_IR_CSPROBLEMSYNTAX_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace commsched::cs {

using ProblemOperands =
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand>;

/// ` to (%clip, next %f0)`, or nothing.
inline mlir::ParseResult parseConsumers(mlir::OpAsmParser &parser,
                                        ProblemOperands &consumers,
                                        mlir::DenseBoolArrayAttr &nextStep) {
  llvm::SmallVector<bool> next;
  if (succeeded(parser.parseOptionalKeyword("to")) &&
      failed(parser.parseCommaSeparatedList(
          mlir::OpAsmParser::Delimiter::Paren, [&]() -> mlir::ParseResult {
            next.push_back(succeeded(parser.parseOptionalKeyword("next")));
            return parser.parseOperand(consumers.emplace_back());
          })))
    return mlir::failure();
  nextStep = parser.getBuilder().getDenseBoolArrayAttr(next);
  return mlir::success();
}

inline void printConsumers(mlir::OpAsmPrinter &printer, mlir::Operation *,
                           mlir::OperandRange consumers,
                           mlir::DenseBoolArrayAttr nextStep) {
  if (consumers.empty())
    return;
  printer << " to (";
  llvm::interleaveComma(llvm::seq<size_t>(consumers.size()), printer,
                        [&](size_t i) {
                          if (nextStep[i])
                            printer << "next ";
                          printer << consumers[i];
                        });
  printer << ")";
}

/// `(%up bytes 3072 overhead_ns 5 avoidable 4 latency_ns 20 update_ns 7, %down)`: bytes are the tensor's
/// and times are 0, if not said.
inline mlir::ParseResult parseStages(mlir::OpAsmParser &parser,
                                     mlir::IntegerAttr bytes,
                                     ProblemOperands &links,
                                     mlir::DenseI64ArrayAttr &stageBytes,
                                     mlir::DenseI64ArrayAttr &overheads,
                                     mlir::DenseI64ArrayAttr &latencies,
                                     mlir::DenseI64ArrayAttr &avoidableOverheads,
                                     mlir::DenseI64ArrayAttr &avoidableLatencies,
                                     mlir::DenseI64ArrayAttr &updates) {
  llvm::SmallVector<int64_t> size, overhead, latency, less, earlier, update;
  auto number = [&](llvm::StringRef keyword, int64_t &value) -> mlir::ParseResult {
    if (succeeded(parser.parseOptionalKeyword(keyword)))
      return parser.parseInteger(value);
    return mlir::success();
  };
  if (failed(parser.parseCommaSeparatedList(
          mlir::OpAsmParser::Delimiter::Paren, [&]() -> mlir::ParseResult {
            if (failed(parser.parseOperand(links.emplace_back())) ||
                failed(number("bytes", size.emplace_back(bytes.getInt()))) ||
                failed(number("overhead_ns", overhead.emplace_back(0))) ||
                failed(number("avoidable", less.emplace_back(0))) ||
                failed(number("latency_ns", latency.emplace_back(0))) ||
                failed(number("avoidable", earlier.emplace_back(0))))
              return mlir::failure();
            return number("update_ns", update.emplace_back(0));
          })))
    return mlir::failure();
  stageBytes = parser.getBuilder().getDenseI64ArrayAttr(size);
  overheads = parser.getBuilder().getDenseI64ArrayAttr(overhead);
  latencies = parser.getBuilder().getDenseI64ArrayAttr(latency);
  avoidableOverheads = parser.getBuilder().getDenseI64ArrayAttr(less);
  avoidableLatencies = parser.getBuilder().getDenseI64ArrayAttr(earlier);
  updates = parser.getBuilder().getDenseI64ArrayAttr(update);
  return mlir::success();
}

inline void printStages(mlir::OpAsmPrinter &printer, mlir::Operation *,
                        mlir::IntegerAttr bytes, mlir::OperandRange links,
                        mlir::DenseI64ArrayAttr stageBytes,
                        mlir::DenseI64ArrayAttr overheads,
                        mlir::DenseI64ArrayAttr latencies,
                        mlir::DenseI64ArrayAttr avoidableOverheads,
                        mlir::DenseI64ArrayAttr avoidableLatencies,
                        mlir::DenseI64ArrayAttr updates) {
  printer << "(";
  llvm::interleaveComma(llvm::seq<size_t>(links.size()), printer, [&](size_t i) {
    printer << links[i];
    if (stageBytes[i] != bytes.getInt())
      printer << " bytes " << stageBytes[i];
    if (overheads[i])
      printer << " overhead_ns " << overheads[i];
    if (avoidableOverheads[i])
      printer << " avoidable " << avoidableOverheads[i];
    if (latencies[i])
      printer << " latency_ns " << latencies[i];
    if (avoidableLatencies[i])
      printer << " avoidable " << avoidableLatencies[i];
    if (updates[i])
      printer << " update_ns " << updates[i];
  });
  printer << ")";
}

/// ` period_ns 18 bound_ns 1.75e+01`, each or nothing: whole numbers as such.
inline mlir::ParseResult parseTimes(mlir::OpAsmParser &parser,
                                    mlir::FloatAttr &period, mlir::FloatAttr &bound,
                                    mlir::FloatAttr &anyOrderBound) {
  auto time = [&](llvm::StringRef keyword, mlir::FloatAttr &attr) -> mlir::ParseResult {
    if (failed(parser.parseOptionalKeyword(keyword)))
      return mlir::success();
    int64_t whole = 0;
    double value = 0;
    mlir::OptionalParseResult isWhole = parser.parseOptionalInteger(whole);
    if (isWhole.has_value() ? failed(*isWhole) : failed(parser.parseFloat(value)))
      return mlir::failure();
    attr = parser.getBuilder().getF64FloatAttr(
        isWhole.has_value() ? static_cast<double>(whole) : value);
    return mlir::success();
  };
  if (failed(time("period_ns", period)) || failed(time("bound_ns", bound)))
    return mlir::failure();
  return time("any_order_bound_ns", anyOrderBound);
}

inline void printTimes(mlir::OpAsmPrinter &printer, mlir::Operation *,
                       mlir::FloatAttr period, mlir::FloatAttr bound,
                       mlir::FloatAttr anyOrderBound) {
  auto time = [&](llvm::StringRef keyword, mlir::FloatAttr attr) {
    if (!attr)
      return;
    printer << " " << keyword << " ";
    double value = attr.getValueAsDouble();
    if (value == std::floor(value) && std::abs(value) < 0x1p53) {
      printer << static_cast<int64_t>(value);
      return;
    }
    // As few digits as are read as the same number.
    char text[40];
    for (int digits = 1; digits <= 16; ++digits) {
      std::snprintf(text, sizeof text, "%.*e", digits, value);
      if (std::strtod(text, nullptr) == value)
        break;
    }
    printer << llvm::StringRef(text);
  };
  time("period_ns", period);
  time("bound_ns", bound);
  time("any_order_bound_ns", anyOrderBound);
}

} // namespace commsched::cs

#endif // COMMSCHED_IR_CSPROBLEMSYNTAX_H
