// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/CsBytecode.h"

#include "ir/Cs.h"
#include "mlir/Bytecode/BytecodeImplementation.h"

using namespace mlir;
using namespace commsched::cs;

namespace {

struct CsVersion : DialectVersion {
  explicit CsVersion(uint64_t number) : number(number) {}
  uint64_t number;
};

struct CsBytecode : BytecodeDialectInterface {
  explicit CsBytecode(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const final {
    writer.writeVarInt(CsDialect::kBytecodeVersion);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const final {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number > CsDialect::kBytecodeVersion) {
      reader.emitError() << "bytecode of cs version " << number
                         << ", this build reads up to "
                         << CsDialect::kBytecodeVersion;
      return nullptr;
    }
    return std::make_unique<CsVersion>(number);
  }

  // Version 1 is the first one: nothing to upgrade yet. Changes to ops of older
  // versions go here.
  LogicalResult upgradeFromVersion(Operation *,
                                   const DialectVersion &) const final {
    return success();
  }
};

} // namespace

void commsched::cs::addBytecodeInterface(CsDialect &dialect) {
  dialect.addInterfaces<CsBytecode>();
}
