// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the ELF shared object of a plan's fragments without mapping it: what
// the dynamic linker would believe is checked before it sees it. docs/security.md
// says what an object may be.
#ifndef COMMSCHED_RUNTIME_LOADING_CODE_OBJECT_CHECK_H
#define COMMSCHED_RUNTIME_LOADING_CODE_OBJECT_CHECK_H

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace commsched::runtime {

// The names of the functions that it exports. kInvalidArgument, in one line, for
// what is not such an object of x86-64, what runs code when it is loaded
// (constructors, destructors, IFUNCs), needs other libraries or imports anything but
// plan::FragmentMayImport, has code that can be written, or refers to anything
// outside of itself. Of what it accepts, every table that the dynamic linker
// reads is complete and cannot be written: loading it runs nothing of it.
absl::StatusOr<std::vector<std::string>> CheckCodeObject(absl::string_view elf);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_CODE_OBJECT_CHECK_H
