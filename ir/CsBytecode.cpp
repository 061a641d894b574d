// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/CsBytecode.h"

#include "ir/Cs.h"
#include "mlir/Bytecode/BytecodeImplementation.h"

using namespace mlir;
using namespace commsched::cs;

namespace {

// Bytecode keeps no names of properties and operands: another version's ops would be
// read as others. 2: properties of ops; 3: the threshold of cs.top_k; 4: groups;
// 5: the step of cs.top_k; 6: rounded values of lists; 7: the parts of cs.start, tails.
constexpr uint64_t kBytecodeVersion = 7;

struct CsVersion : DialectVersion {
  explicit CsVersion(uint64_t number) : number(number) {}
  uint64_t number;
};

struct CsBytecode : BytecodeDialectInterface {
  explicit CsBytecode(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const final {
    writer.writeVarInt(kBytecodeVersion);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const final {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number != kBytecodeVersion) {
      reader.emitError() << "bytecode of cs version " << number
                         << ", this build reads version "
                         << kBytecodeVersion;
      return nullptr;
    }
    return std::make_unique<CsVersion>(number);
  }

  // One version is read: nothing to upgrade.
  LogicalResult upgradeFromVersion(Operation *,
                                   const DialectVersion &) const final {
    return success();
  }
};

} // namespace

void commsched::cs::addBytecodeInterface(CsDialect &dialect) {
  dialect.addInterfaces<CsBytecode>();
}
