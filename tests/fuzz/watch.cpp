// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/fuzz/watch.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <malloc.h>
#include <sstream>
#include <unistd.h>

extern "C" void __libc_free(void *pointer);

namespace commsched::fuzz {
namespace {

char *whereTo;
size_t whereSize;

void onSignal(int signal) {
  void *frames[64];
  int count = backtrace(frames, 64);
  size_t used = 0;
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (!dladdr(frames[i], &info) || !info.dli_sname ||
        std::strncmp(info.dli_sname, "_Z", 2) != 0)
      continue;
    size_t length = std::strlen(info.dli_sname);
    if (used + length + 2 > whereSize)
      break;
    std::memcpy(whereTo + used, info.dli_sname, length);
    used += length;
    whereTo[used++] = ' ';
  }
  whereTo[used] = 0;
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// The last that were freed, in a ring: all of most inputs, but not the millions of
// blocks of a long search.
constexpr size_t kBlocks = 1 << 20;
void *freed[kBlocks];
size_t freedCount; // since the beginning
bool quarantine, intact;
constexpr unsigned char kPattern = 0xdb;
constexpr uint64_t kPatterns = kPattern * (~uint64_t(0) / 255);
// Larger blocks are rare, and checking them slow.
constexpr size_t kLargest = 4096;

void checkAndFree(void *pointer) {
  // Usable sizes are multiples of 8.
  auto *words = static_cast<uint64_t *>(pointer);
  size_t size = malloc_usable_size(pointer) / sizeof(uint64_t);
  uint64_t changes = 0;
  for (size_t i = 0; i < size; ++i)
    changes |= words[i] ^ kPatterns;
  intact &= changes == 0;
  __libc_free(pointer);
}

void release(void *pointer) {
  if (!pointer)
    return;
  size_t size = malloc_usable_size(pointer);
  if (!quarantine || size > kLargest) {
    __libc_free(pointer);
    return;
  }
  std::memset(pointer, kPattern, size);
  if (freedCount >= kBlocks)
    checkAndFree(freed[freedCount % kBlocks]);
  freed[freedCount++ % kBlocks] = pointer;
}

struct Known {
  const char *function; // part of a mangled name
  const char *what;
};
constexpr Known kKnown[] = {
    {"6linalg9GenericOp5parse", "linalg.generic: malformed iterator_types"},
    {"6linalg8ReduceOp5parse", "linalg.reduce: malformed dimensions"},
    {"6linalg11BroadcastOp5parse", "linalg.broadcast: malformed dimensions"},
    {"6linalg11TransposeOp5parse", "linalg.transpose: malformed permutation"},
    {"6tensor14FromElementsOp5parse", "tensor.from_elements: more elements than there can be operands"},
};

} // namespace

void watchCrashes(char *where, size_t size) {
  whereTo = where;
  whereSize = size;
  void *frame;
  backtrace(&frame, 1); // loads what it needs while that is still possible
  static char stack[1 << 16];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPROF})
    sigaction(signal, &action, nullptr);
}

void beginQuarantine() { quarantine = intact = true; }

bool endQuarantine() {
  quarantine = false;
  for (size_t i = 0; i < std::min(freedCount, kBlocks); ++i)
    checkAndFree(freed[i]);
  freedCount = 0;
  return intact;
}

const char *knownDefect(const std::string &functions) {
  for (const Known &known : kKnown)
    if (functions.find(known.function) != std::string::npos)
      return known.what;
  return nullptr;
}

std::string readable(const std::string &functions, int lines) {
  std::istringstream in(functions);
  std::string name, out;
  for (int i = 0; i < lines && in >> name; ++i) {
    int status = 0;
    char *text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    std::string function = text ? text : name;
    std::free(text);
    if (size_t end = function.find('('); end != std::string::npos && end > 0)
      function.resize(end);
    out += "    " + function + "\n";
  }
  return out;
}

} // namespace commsched::fuzz

// operator delete comes here too. glibc allows to put a function before its own.
extern "C" void free(void *pointer) { commsched::fuzz::release(pointer); }
