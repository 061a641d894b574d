// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the fuzzer watches while an input is checked: crashes, and writes to
// memory that was freed.

#ifndef COMMSCHED_TESTS_FUZZ_WATCH_H
#define COMMSCHED_TESTS_FUZZ_WATCH_H

#include <cstddef>
#include <string>

namespace commsched::fuzz {

// After this, a fatal signal writes the functions on the stack, innermost
// first, separated by spaces and mangled, to `where` before the process ends.
void watchCrashes(char *where, size_t size);

// From begin() on, what free() gets is filled with a pattern and kept until a million
// more blocks are freed, or end(), which returns false if a pattern was changed
// meanwhile: then something wrote to memory that it had freed. One thread only.
void beginQuarantine();
bool endQuarantine();

// A defect of MLIR itself that a crash in these functions is, or null.
const char *knownDefect(const std::string &functions);

// Names as in the source, one a line, at most `lines`.
std::string readable(const std::string &functions, int lines);

} // namespace commsched::fuzz

#endif // COMMSCHED_TESTS_FUZZ_WATCH_H
