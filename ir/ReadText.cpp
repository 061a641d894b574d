// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/ReadText.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace commsched;

std::optional<size_t> commsched::findDeepNesting(StringRef text) {
  if (isBytecode(llvm::MemoryBufferRef(text, "")))
    return std::nullopt;
  // Angle brackets apart: they are arrows and comparisons, too.
  unsigned open = 0, angles = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char before = i > 0 ? text[i - 1] : ' ';
    char after = i + 1 < text.size() ? text[i + 1] : ' ';
    switch (text[i]) {
    case '"':
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        if (text[i] == '\\')
          ++i;
      break;
    case '/':
      if (after == '/')
        i = std::min(text.find('\n', i), text.size());
      break;
    case '(':
    case '[':
    case '{':
      ++open;
      break;
    case ')':
    case ']':
    case '}':
      open -= open > 0;
      break;
    case '<':
      angles += after != '=';
      break;
    case '>':
      angles -= angles > 0 && before != '-';
      break;
    default:
      break;
    }
    if (open > kMostNesting || angles > kMostNesting)
      return i;
  }
  return std::nullopt;
}

bool commsched::isGzip(StringRef text) { return text.starts_with("\x1f\x8b"); }

static std::string describeLimit() {
  return "is nested too deeply: at most " + std::to_string(kMostNesting) +
         " brackets may be open at once";
}

llvm::Expected<llvm::json::Value> commsched::parseJson(StringRef text) {
  if (findDeepNesting(text))
    return llvm::createStringError(describeLimit());
  return llvm::json::parse(text);
}

std::string commsched::whyTooDeep(const llvm::MemoryBuffer &buffer) {
  std::optional<size_t> deep = findDeepNesting(buffer.getBuffer());
  if (!deep)
    return "";
  StringRef before = buffer.getBuffer().take_front(*deep);
  size_t line = before.rfind('\n') + 1; // 0 if there is none
  return (buffer.getBufferIdentifier() + ":" + Twine(before.count('\n') + 1) + ":" +
          Twine(*deep - line + 1) + ": " + describeLimit())
      .str();
}

bool commsched::checkNesting(const llvm::SourceMgr &sources, MLIRContext *context) {
  std::string why = whyTooDeep(*sources.getMemoryBuffer(sources.getMainFileID()));
  if (why.empty())
    return true;
  // Without a location, of which the line is printed: it may be as long as the file.
  emitError(UnknownLoc::get(context)) << why;
  return false;
}

OwningOpRef<ModuleOp>
commsched::readModule(const std::shared_ptr<llvm::SourceMgr> &sources,
                      MLIRContext *context) {
  const llvm::MemoryBuffer *buffer = sources->getMemoryBuffer(sources->getMainFileID());
  // What the program before this one in a pipe writes when it fails.
  if (buffer->getBuffer().trim(StringRef(" \t\r\n\0", 5)).empty()) {
    emitError(UnknownLoc::get(context))
        << buffer->getBufferIdentifier() << ": must be a module, got nothing: what was "
        << "to write it may have failed";
    return nullptr;
  }
  if (!checkNesting(*sources, context))
    return nullptr;
  return parseSourceFile<ModuleOp>(sources, context);
}
