// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/code_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan_file.h"
#include "runtime/loading/code_object_check.h"
#include "runtime/simulator/simulator.h"
#include "tests/runtime/test_util.h"

namespace commsched::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ReadAll;

// What GNU's linker has made of tests/runtime/fragments.c.
std::string OfGnu() { return ReadAll(COMMSCHED_TEST_FRAGMENTS); }

// What cs-translate made, with LLVM's linker.
std::string OfLlvm() {
  const std::string bytes = ReadAll(COMMSCHED_FROZEN_PLAN);
  plan::Plan plan;
  EXPECT_EQ(plan::Deserialize({bytes.data(), bytes.size()}, &plan), "");
  return plan.objects(0).elf();
}

std::string Hostile(const std::string &name) {
  return ReadAll(std::string(COMMSCHED_HOSTILE_OBJECTS) + "/" + name + ".so");
}

std::string ErrorOf(const std::string &elf) {
  absl::Status status = CheckCodeObject(elf).status();
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status;
  return std::string(status.message());
}

bool IsMapped() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line))
    if (line.find("commsched-fragments") != line.npos) return true;
  return false;
}

// The headers of an object, to be changed.
class Parts {
 public:
  explicit Parts(std::string elf) : elf_(std::move(elf)) {}

  template <typename T>
  T *At(uint64_t offset) {
    return reinterpret_cast<T *>(elf_.data() + offset);
  }
  Elf64_Ehdr *header() { return At<Elf64_Ehdr>(0); }
  Elf64_Phdr *segment(uint32_t type, uint32_t flags = 0) {
    for (int i = 0; i < header()->e_phnum; ++i) {
      auto *s = At<Elf64_Phdr>(header()->e_phoff + i * sizeof(Elf64_Phdr));
      if (s->p_type == type && (s->p_flags & flags) == flags) return s;
    }
    ADD_FAILURE() << "no segment of type " << type;
    std::abort();
  }
  Elf64_Dyn *entry(int64_t tag) {
    for (auto *d = At<Elf64_Dyn>(segment(PT_DYNAMIC)->p_offset);; ++d)
      if (d->d_tag == tag) return d;
  }
  // Tables are in the first segment, where addresses are offsets.
  template <typename T>
  T *table(int64_t tag, int index = 0) {
    return At<T>(entry(tag)->d_un.d_val) + index;
  }
  const std::string &bytes() const { return elf_; }

 private:
  std::string elf_;
};

TEST(CodeObjectTest, TakesWhatCompilersMake) {
  for (const std::string &elf : {OfGnu(), OfLlvm()}) {
    auto functions = CheckCodeObject(elf);
    ASSERT_TRUE(functions.ok()) << functions.status();
    CodeLibrary library;
    ASSERT_TRUE(library.Add("x86_64-unknown-linux-gnu", elf).ok());
    auto fragment = library.Find(0, functions->front());
    ASSERT_TRUE(fragment.ok()) << fragment.status();
    EXPECT_EQ((*fragment)->function, nullptr);
    EXPECT_FALSE(IsMapped());
    ASSERT_TRUE(library.Map().ok()) << library.Map();
    EXPECT_NE((*fragment)->function, nullptr);
    EXPECT_TRUE(IsMapped());
    EXPECT_THAT(library.Find(0, "no such").status().message(),
                HasSubstr("no symbol \"no such\""));
  }
  EXPECT_FALSE(IsMapped());
}

TEST(CodeObjectTest, RefusesWhatWouldRunWhenItIsLoaded) {
  EXPECT_THAT(ErrorOf(Hostile("constructor")), HasSubstr("it has constructors"));
  EXPECT_THAT(ErrorOf(Hostile("destructor")), HasSubstr("it has destructors"));
  EXPECT_THAT(ErrorOf(Hostile("ifunc")), HasSubstr("found by running code"));
  EXPECT_THAT(ErrorOf(Hostile("local_ifunc")), HasSubstr("made by running code"));
  EXPECT_THAT(ErrorOf(Hostile("import")), HasSubstr("it imports \"system\""));
  EXPECT_THAT(ErrorOf(Hostile("thread_local")), HasSubstr("segment of type 7"));
  EXPECT_NE(ErrorOf(Hostile("libraries")), "");
  EXPECT_THAT(ErrorOf(Hostile("writable")), HasSubstr("both code and writable"));
  EXPECT_THAT(ErrorOf(Hostile("stack")), HasSubstr("stack that is code"));
}

// Each a fault that the dynamic linker would believe.
TEST(CodeObjectTest, RefusesEveryPlantedFault) {
  using Change = std::function<void(Parts &)>;
  const std::vector<std::pair<const char *, Change>> faults = {
      {"64-bit x86-64", [](Parts &p) { p.header()->e_machine = EM_AARCH64; }},
      {"64-bit x86-64", [](Parts &p) { p.header()->e_type = ET_EXEC; }},
      {"program headers", [](Parts &p) { p.header()->e_phnum = 4000; }},
      {"program headers", [](Parts &p) { p.header()->e_phoff = ~0ull - 7; }},
      {"program headers", [](Parts &p) { p.segment(PT_PHDR)->p_vaddr += 8; }},
      {"outside", [](Parts &p) { p.segment(PT_LOAD)->p_filesz = ~0ull; }},
      {"too large", [](Parts &p) { p.segment(PT_LOAD)->p_vaddr = 1ull << 63; }},
      {"both code and writable",
       [](Parts &p) { p.segment(PT_LOAD, PF_X)->p_flags |= PF_W; }},
      {"cannot be read", [](Parts &p) { p.segment(PT_LOAD, PF_X)->p_flags = PF_X; }},
      {"not aligned", [](Parts &p) { p.segment(PT_LOAD, PF_X)->p_align = 3; }},
      {"not all in the file",
       [](Parts &p) { p.segment(PT_LOAD, PF_X)->p_memsz += 1 << 20; }},
      {"share a page",
       [](Parts &p) { p.segment(PT_LOAD, PF_W)->p_vaddr = p.segment(PT_LOAD, PF_W)->p_offset; }},
      {"to be protected",
       [](Parts &p) { p.segment(PT_GNU_RELRO)->p_vaddr = p.segment(PT_LOAD, PF_X)->p_vaddr; }},
      {"segment of type 3", [](Parts &p) { p.segment(PT_PHDR)->p_type = PT_INTERP; }},
      {"stack that is code", [](Parts &p) { p.segment(PT_GNU_STACK)->p_type = PT_GNU_RELRO; }},
      {"no dynamic section", [](Parts &p) { p.segment(PT_DYNAMIC)->p_type = PT_GNU_RELRO; }},
      {"dynamic section", [](Parts &p) { p.segment(PT_DYNAMIC)->p_vaddr = 0; }},
      {"no end", [](Parts &p) { p.segment(PT_DYNAMIC)->p_filesz -= 16,
                                    p.segment(PT_DYNAMIC)->p_memsz -= 16; }},
      {"constructors", [](Parts &p) { p.entry(DT_FLAGS)->d_tag = DT_INIT; }},
      {"constructors", [](Parts &p) { p.entry(DT_FLAGS)->d_tag = DT_PREINIT_ARRAY; }},
      {"destructors", [](Parts &p) { p.entry(DT_FLAGS)->d_tag = DT_FINI; }},
      {"other libraries", [](Parts &p) { p.entry(DT_FLAGS)->d_tag = DT_NEEDED; }},
      {"other libraries", [](Parts &p) { p.entry(DT_FLAGS)->d_tag = DT_FILTER; }},
      {"where to look", [](Parts &p) { p.entry(DT_FLAGS)->d_tag = DT_RUNPATH; }},
      {"code would be changed", [](Parts &p) { p.entry(DT_FLAGS)->d_tag = DT_TEXTREL; }},
      {"code would be changed", [](Parts &p) { p.entry(DT_FLAGS)->d_un.d_val |= DF_TEXTREL; }},
      {"special treatment", [](Parts &p) { p.entry(DT_FLAGS_1)->d_un.d_val |= DF_1_NODELETE; }},
      {"entry of type 6ffffff0 ",
       [](Parts &p) { p.entry(DT_FLAGS)->d_tag = DT_VERSYM; }},
      {"twice", [](Parts &p) { p.entry(DT_FLAGS)->d_tag = DT_SYMTAB; }},
      {"lacks symbols", [](Parts &p) { p.entry(DT_GNU_HASH)->d_tag = DT_PLTGOT,
                                       p.entry(DT_PLTGOT)->d_tag = DT_RELACOUNT; }},
      {"another size", [](Parts &p) { p.entry(DT_SYMENT)->d_un.d_val = 16; }},
      {"table of names", [](Parts &p) { p.entry(DT_STRTAB)->d_un.d_val = 1ull << 40; }},
      {"table of names", [](Parts &p) { p.entry(DT_STRSZ)->d_un.d_val -= 1; }},
      {"table of symbols", [](Parts &p) { p.entry(DT_SYMTAB)->d_un.d_val =
                                              p.segment(PT_DYNAMIC)->p_vaddr; }},
      {"hash table", [](Parts &p) { *p.table<uint32_t>(DT_GNU_HASH) = 0; }},
      {"hash table", [](Parts &p) { *p.table<uint32_t>(DT_GNU_HASH) = 1u << 31; }},
      {"hash table", [](Parts &p) { *p.table<uint32_t>(DT_GNU_HASH, 2) = 3; }},
      {"hash table", [](Parts &p) { auto *hash = p.table<uint32_t>(DT_GNU_HASH);
                                 hash[4 + 2 * hash[2]] = 1u << 30; }},
      {"first symbol", [](Parts &p) { p.table<Elf64_Sym>(DT_SYMTAB)->st_name = 1 << 30; }},
      {"has no name", [](Parts &p) { p.table<Elf64_Sym>(DT_SYMTAB, 3)->st_name = 1 << 30; }},
      {"outside", [](Parts &p) { p.table<Elf64_Sym>(DT_SYMTAB, 3)->st_value = 1 << 30; }},
      {"not in its code", [](Parts &p) { p.table<Elf64_Sym>(DT_SYMTAB, 3)->st_value = 64; }},
      {"it imports \"frag_", [](Parts &p) { p.table<Elf64_Sym>(DT_SYMTAB, 3)->st_shndx = 0; }},
      {"running code",
       [](Parts &p) { p.table<Elf64_Sym>(DT_SYMTAB, 3)->st_info = 1 << 4 | STT_GNU_IFUNC; }},
      {"whole process",
       [](Parts &p) { p.table<Elf64_Sym>(DT_SYMTAB, 3)->st_info = 10 << 4 | STT_FUNC; }},
      {"running code",
       [](Parts &p) { p.table<Elf64_Rela>(DT_JMPREL)->r_info = R_X86_64_IRELATIVE; }},
      {"relocation of type 5",
       [](Parts &p) { p.table<Elf64_Rela>(DT_JMPREL)->r_info = R_X86_64_COPY; }},
      {"has no symbol",
       [](Parts &p) { p.table<Elf64_Rela>(DT_JMPREL)->r_info = ELF64_R_INFO(5000, 7); }},
      {"cannot be written", [](Parts &p) { p.table<Elf64_Rela>(DT_JMPREL)->r_offset = 64; }},
      {"changes the dynamic",
       [](Parts &p) { p.table<Elf64_Rela>(DT_JMPREL)->r_offset =
                          p.segment(PT_DYNAMIC)->p_vaddr + 8; }},
      {"incomplete", [](Parts &p) { p.entry(DT_PLTRELSZ)->d_un.d_val -= 1; }},
      {"relocations", [](Parts &p) { p.entry(DT_PLTRELSZ)->d_un.d_val = 24 << 20; }},
      {"incomplete", [](Parts &p) { p.entry(DT_PLTREL)->d_tag = DT_RELACOUNT; }},
  };
  for (size_t i = 0; i < faults.size(); ++i) {
    Parts parts(OfLlvm());
    faults[i].second(parts);
    std::string expected = faults[i].first;
    if (expected == "entry of type 6ffffff0 ")
      expected = absl::StrCat("entry of type ", DT_VERSYM);
    EXPECT_THAT(ErrorOf(parts.bytes()), AllOf(HasSubstr("not a usable ELF"), HasSubstr(expected)))
        << "fault " << i;
  }
}

// Whatever is cut off or changed in the headers and tables is refused, or can be
// loaded: nothing crashes, and nothing runs.
TEST(CodeObjectTest, SurvivesWhateverIsChanged) {
  std::mt19937 random(7);
  int taken = 0, refused = 0;
  for (const std::string &good : {OfLlvm(), OfGnu()}) {
    Parts parts(good);
    const Elf64_Phdr tables = *parts.segment(PT_LOAD), dynamic = *parts.segment(PT_DYNAMIC);
    const Elf64_Phdr *last = parts.segment(PT_LOAD, PF_W);
    for (size_t size = 0; size < last->p_offset + last->p_filesz; size += 1 + size / 64)
      EXPECT_NE(ErrorOf(good.substr(0, size)), "") << size;
    for (int run = 0; run < 15000; ++run) {
      std::string elf = good;
      for (int changes = 1 + int(random() % 3); changes > 0; --changes) {
        const Elf64_Phdr &where = random() % 2 ? tables : dynamic;
        const size_t at = where.p_offset + random() % (where.p_filesz - 8);
        const uint64_t values[] = {0, 1, ~0ull, random(), random() % good.size(),
                                   uint64_t(elf[at]) + 1, tables.p_vaddr, dynamic.p_vaddr};
        const uint64_t value = values[random() % 8];
        const size_t bytes = size_t{1} << random() % 4;
        const size_t aligned = random() % 2 ? at / bytes * bytes : at;
        std::memcpy(elf.data() + aligned, &value, bytes);
      }
      CodeLibrary library;
      if (!library.Add("x86_64", elf).ok()) {
        ++refused;
        continue;
      }
      ++taken;
      // Names that the changed hash table does not find are an error.
      (void)library.Map();
    }
  }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(CodeObjectTest, WhatNeedsNoCodeMapsNone) {
  auto image = PlanImage::Load(testing::Trainer(2).Bytes());
  ASSERT_TRUE(image.ok()) << image.status();
  ASSERT_TRUE((*image)->ForRank(1).ok());
  (void)Simulate(**image, SimulationOptions());
  EXPECT_FALSE(IsMapped());
  auto session = Session::InProcess(*image, {});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE(IsMapped());
}

}  // namespace
}  // namespace commsched::runtime
