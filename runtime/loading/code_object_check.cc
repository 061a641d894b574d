// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/code_object_check.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "plan/fragment_imports.h"

namespace commsched::runtime {
namespace {

constexpr uint64_t kPage = 4096, kMaxAlign = 2 << 20, kMaxAddress = uint64_t{1} << 32;
constexpr int kMaxSegments = 64;
constexpr size_t kMaxName = 4096;

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("code object is not a usable ELF shared object: ", what));
}

uint64_t PageDown(uint64_t at) { return at & ~(kPage - 1); }
uint64_t PageUp(uint64_t at) { return PageDown(at + kPage - 1); }

// Reads of what has been checked to lie inside.
template <typename T>
T At(absl::string_view bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// Why an entry of the dynamic section is not let in.
std::string Unwanted(int64_t tag) {
  switch (tag) {
    case DT_INIT:
    case DT_INIT_ARRAY:
    case DT_PREINIT_ARRAY:
      return "it has constructors, which would run when it is loaded";
    case DT_FINI:
    case DT_FINI_ARRAY:
      return "it has destructors, which would run when it is unloaded";
    case DT_NEEDED:
    case DT_AUXILIARY:
    case DT_FILTER:
      return "it needs other libraries";
    case DT_RPATH:
    case DT_RUNPATH:
      return "it says where to look for libraries";
    case DT_TEXTREL:
      return "its code would be changed when it is loaded";
    default:
      return absl::StrCat("its dynamic section has an entry of type ", tag);
  }
}

class Checker {
 public:
  explicit Checker(absl::string_view elf) : elf_(elf) {}

  absl::StatusOr<std::vector<std::string>> Check() {
    for (auto step : {&Checker::ReadHeader, &Checker::ReadSegments,
                      &Checker::ReadDynamic, &Checker::ReadNames,
                      &Checker::ReadSymbols, &Checker::ReadRelocations})
      if (absl::Status s = (this->*step)(); !s.ok()) return s;
    return functions_;
  }

 private:
  absl::Status ReadHeader();
  absl::Status ReadSegments();
  absl::Status AddLoaded(const Elf64_Phdr &segment);
  absl::Status CheckDynamicSegment() const;
  absl::Status CheckProgramHeaders() const;
  absl::Status CheckRelro(const Elf64_Phdr &segment) const;
  absl::Status ReadDynamic();
  absl::Status ReadNames();
  // Counts symbols by the hash table, which is what the linker goes by.
  absl::Status ReadHashTable();
  absl::Status ReadSymbols();
  absl::Status ReadSymbol(uint64_t index);
  absl::Status ReadRelocations();
  absl::Status ReadRelocation(const Elf64_Rela &relocation);

  // The segment of which the file has all of these addresses.
  const Elf64_Phdr *InFile(uint64_t address, uint64_t bytes) const {
    return Within(address, bytes, &Elf64_Phdr::p_filesz);
  }
  const Elf64_Phdr *InMemory(uint64_t address, uint64_t bytes) const {
    return Within(address, bytes, &Elf64_Phdr::p_memsz);
  }
  const Elf64_Phdr *Within(uint64_t address, uint64_t bytes,
                           Elf64_Xword Elf64_Phdr::*size) const;
  // Where in the file a table is that the linker only reads.
  absl::StatusOr<uint64_t> Table(const char *what, uint64_t address,
                                 uint64_t bytes) const;
  bool has(int64_t tag) const { return dynamic_.count(tag) != 0; }
  uint64_t value(int64_t tag) const {
    auto at = dynamic_.find(tag);
    return at == dynamic_.end() ? 0 : at->second;
  }

  const absl::string_view elf_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> loaded_;
  std::vector<Elf64_Phdr> relro_;
  Elf64_Phdr dynamic_segment_ = {}, own_ = {}, frames_ = {};
  std::map<int64_t, uint64_t> dynamic_;
  absl::string_view names_;
  uint64_t symbols_at_ = 0, symbols_ = 0;
  std::vector<std::string> functions_;
};

absl::Status Checker::ReadHeader() {
  if (elf_.size() < sizeof(header_)) return Bad("its header is incomplete");
  header_ = At<Elf64_Ehdr>(elf_, 0);
  if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return Bad("no ELF magic");
  if (header_.e_ident[EI_CLASS] != ELFCLASS64 ||
      header_.e_ident[EI_DATA] != ELFDATA2LSB ||
      header_.e_ident[EI_VERSION] != EV_CURRENT || header_.e_version != EV_CURRENT ||
      (header_.e_ident[EI_OSABI] != ELFOSABI_SYSV &&
       header_.e_ident[EI_OSABI] != ELFOSABI_GNU) ||
      header_.e_ident[EI_ABIVERSION] != 0 || header_.e_machine != EM_X86_64 ||
      header_.e_type != ET_DYN)
    return Bad("must match a 64-bit x86-64 shared object");
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 ||
      header_.e_phnum > kMaxSegments || header_.e_phoff % alignof(Elf64_Phdr) != 0 ||
      header_.e_phoff > elf_.size() ||
      (elf_.size() - header_.e_phoff) / sizeof(Elf64_Phdr) < header_.e_phnum)
    return Bad("its program headers lie outside of it");
  return absl::OkStatus();
}

absl::Status Checker::ReadSegments() {
  bool has_stack = false;
  for (int i = 0; i < header_.e_phnum; ++i) {
    const auto segment =
        At<Elf64_Phdr>(elf_, header_.e_phoff + size_t(i) * sizeof(Elf64_Phdr));
    if (segment.p_offset > elf_.size() ||
        segment.p_filesz > elf_.size() - segment.p_offset)
      return Bad("a segment lies outside of it");
    if (segment.p_memsz > kMaxAddress || segment.p_vaddr > kMaxAddress)
      return Bad("a segment is too large");
    switch (segment.p_type) {
      case PT_LOAD:
        if (absl::Status s = AddLoaded(segment); !s.ok()) return s;
        break;
      case PT_DYNAMIC:
        if (dynamic_segment_.p_type != 0) return Bad("it has two dynamic sections");
        dynamic_segment_ = segment;
        break;
      case PT_GNU_STACK:
        // Without it, or with this, stacks of the process would become code.
        if ((segment.p_flags & PF_X) != 0) return Bad("it needs a stack that is code");
        has_stack = true;
        break;
      case PT_GNU_RELRO:
        relro_.push_back(segment);
        break;
      case PT_PHDR:
        own_ = segment;
        break;
      case PT_GNU_EH_FRAME:
        frames_ = segment;
        break;
      default:
        return Bad(absl::StrCat("it has a segment of type ", segment.p_type));
    }
  }
  if (loaded_.empty()) return Bad("it has nothing to load");
  if (!has_stack) return Bad("it needs a stack that is code");
  for (const Elf64_Phdr &segment : relro_)
    if (absl::Status s = CheckRelro(segment); !s.ok()) return s;
  if (absl::Status s = CheckProgramHeaders(); !s.ok()) return s;
  return CheckDynamicSegment();
}

// The process keeps using them, and what unwinds its stacks the frames.
absl::Status Checker::CheckProgramHeaders() const {
  const uint64_t bytes = header_.e_phnum * sizeof(Elf64_Phdr);
  bool found = false;
  for (const Elf64_Phdr &load : loaded_) {
    const uint64_t at = header_.e_phoff - load.p_offset;
    if (header_.e_phoff < load.p_offset || at + bytes > load.p_filesz) continue;
    if (found || (load.p_flags & PF_W) != 0 ||
        (own_.p_type == PT_PHDR && own_.p_vaddr != load.p_vaddr + at))
      return Bad("its program headers are not in one segment that is only read");
    found = true;
  }
  if (!found) return Bad("its program headers are not loaded");
  if (frames_.p_type != 0 &&
      (frames_.p_memsz != frames_.p_filesz ||
       !Table("table of frames", frames_.p_vaddr, frames_.p_memsz).ok()))
    return Bad("its table of frames lies outside of what is only read");
  return absl::OkStatus();
}

absl::Status Checker::AddLoaded(const Elf64_Phdr &segment) {
  if (segment.p_memsz == 0 || segment.p_filesz > segment.p_memsz)
    return Bad("a segment is larger in the file than in memory");
  if ((segment.p_flags & ~uint32_t{PF_R | PF_W | PF_X}) != 0 ||
      (segment.p_flags & PF_R) == 0)
    return Bad("a segment cannot be read");
  if ((segment.p_flags & PF_W) != 0 && (segment.p_flags & PF_X) != 0)
    return Bad("a segment is both code and writable");
  // The rest of a page is cleared, which would write to what cannot be written.
  if ((segment.p_flags & PF_W) == 0 && segment.p_filesz != segment.p_memsz)
    return Bad("a segment that is not writable is not all in the file");
  const uint64_t align = segment.p_align;
  if (align < kPage || align > kMaxAlign || (align & (align - 1)) != 0 ||
      (segment.p_vaddr - segment.p_offset) % align != 0)
    return Bad("a segment is not aligned to pages");
  if (!loaded_.empty() && PageUp(loaded_.back().p_vaddr + loaded_.back().p_memsz) >
                              PageDown(segment.p_vaddr))
    return Bad("segments are not in order, or share a page");
  loaded_.push_back(segment);
  return absl::OkStatus();
}

absl::Status Checker::CheckRelro(const Elf64_Phdr &segment) const {
  for (const Elf64_Phdr &load : loaded_)
    if ((load.p_flags & PF_W) != 0 &&
        PageDown(segment.p_vaddr) >= PageDown(load.p_vaddr) &&
        segment.p_vaddr + segment.p_memsz <= PageUp(load.p_vaddr + load.p_memsz))
      return absl::OkStatus();
  return Bad("what is to be protected is not in a writable segment");
}

absl::Status Checker::CheckDynamicSegment() const {
  const Elf64_Phdr &segment = dynamic_segment_;
  if (segment.p_type != PT_DYNAMIC) return Bad("it has no dynamic section");
  const Elf64_Phdr *load = InFile(segment.p_vaddr, segment.p_filesz);
  // The linker changes addresses in it if it is said to be writable.
  if (load == nullptr || (load->p_flags & PF_W) == 0 ||
      (segment.p_flags & PF_W) == 0 || segment.p_memsz != segment.p_filesz ||
      segment.p_offset != load->p_offset + (segment.p_vaddr - load->p_vaddr) ||
      segment.p_vaddr % alignof(Elf64_Dyn) != 0)
    return Bad("its dynamic section is not in a writable segment");
  return absl::OkStatus();
}

const Elf64_Phdr *Checker::Within(uint64_t address, uint64_t bytes,
                                  Elf64_Xword Elf64_Phdr::*size) const {
  for (const Elf64_Phdr &load : loaded_)
    if (address >= load.p_vaddr && address - load.p_vaddr <= load.*size &&
        bytes <= load.*size - (address - load.p_vaddr))
      return &load;
  return nullptr;
}

absl::StatusOr<uint64_t> Checker::Table(const char *what, uint64_t address,
                                        uint64_t bytes) const {
  const Elf64_Phdr *load = InFile(address, bytes);
  if (load == nullptr || (load->p_flags & PF_W) != 0)
    return Bad(absl::StrCat("its ", what, " lies outside of what is only read"));
  return load->p_offset + (address - load->p_vaddr);
}

absl::Status Checker::ReadDynamic() {
  static constexpr int64_t kKnown[] = {
      DT_SYMTAB, DT_SYMENT, DT_STRTAB, DT_STRSZ, DT_GNU_HASH, DT_RELA,
      DT_RELASZ, DT_RELAENT, DT_RELACOUNT, DT_JMPREL, DT_PLTRELSZ, DT_PLTREL,
      DT_PLTGOT, DT_FLAGS, DT_FLAGS_1};
  const uint64_t entries = dynamic_segment_.p_filesz / sizeof(Elf64_Dyn);
  bool ends = false;
  for (uint64_t i = 0; i < entries; ++i) {
    const auto entry =
        At<Elf64_Dyn>(elf_, dynamic_segment_.p_offset + i * sizeof(Elf64_Dyn));
    ends = entry.d_tag == DT_NULL;
    if (ends) break;
    if (std::find(std::begin(kKnown), std::end(kKnown), entry.d_tag) ==
        std::end(kKnown))
      return Bad(Unwanted(entry.d_tag));
    if (!dynamic_.emplace(entry.d_tag, entry.d_un.d_val).second)
      return Bad("its dynamic section says a thing twice");
  }
  if (!ends) return Bad("its dynamic section has no end");
  for (int64_t tag : {DT_SYMTAB, DT_SYMENT, DT_STRTAB, DT_STRSZ, DT_GNU_HASH})
    if (!has(tag)) return Bad("its dynamic section lacks symbols, names or their hashes");
  if (value(DT_SYMENT) != sizeof(Elf64_Sym) ||
      (has(DT_RELAENT) && value(DT_RELAENT) != sizeof(Elf64_Rela)) ||
      (has(DT_PLTREL) && value(DT_PLTREL) != DT_RELA))
    return Bad("its tables have entries of another size");
  if (has(DT_RELA) != has(DT_RELASZ) || has(DT_RELA) != has(DT_RELAENT) ||
      has(DT_JMPREL) != has(DT_PLTRELSZ) || has(DT_JMPREL) != has(DT_PLTREL))
    return Bad("its relocations are incomplete");
  if ((value(DT_FLAGS) & DF_TEXTREL) != 0) return Bad(Unwanted(DT_TEXTREL));
  if ((value(DT_FLAGS) & ~uint64_t{DF_BIND_NOW}) != 0 ||
      (value(DT_FLAGS_1) & ~uint64_t{DF_1_NOW}) != 0)
    return Bad("it asks for special treatment");
  if (has(DT_PLTGOT) && InMemory(value(DT_PLTGOT), 3 * sizeof(uint64_t)) == nullptr)
    return Bad("its table of addresses lies outside of it");
  return absl::OkStatus();
}

absl::Status Checker::ReadNames() {
  auto at = Table("table of names", value(DT_STRTAB), value(DT_STRSZ));
  if (!at.ok()) return at.status();
  names_ = elf_.substr(*at, value(DT_STRSZ));
  if (names_.empty() || names_.back() != 0) return Bad("its table of names has no end");
  return absl::OkStatus();
}

absl::Status Checker::ReadHashTable() {
  constexpr uint64_t kWord = sizeof(uint32_t);
  const uint64_t address = value(DT_GNU_HASH);
  auto at = Table("hash table", address, 4 * kWord);
  if (!at.ok()) return at.status();
  if (address % sizeof(uint64_t) != 0) return Bad("its hash table is not aligned");
  const uint64_t buckets = At<uint32_t>(elf_, *at);
  const uint64_t first = At<uint32_t>(elf_, *at + kWord);
  const uint64_t bloom = At<uint32_t>(elf_, *at + 2 * kWord);
  const uint64_t shift = At<uint32_t>(elf_, *at + 3 * kWord);
  if (buckets == 0 || bloom == 0 || (bloom & (bloom - 1)) != 0 || shift >= 32)
    return Bad("its hash table is malformed");
  const uint64_t head = 4 * kWord + bloom * sizeof(uint64_t);
  if (auto all = Table("hash table", address, head + buckets * kWord); !all.ok())
    return all.status();
  uint64_t last = 0;
  for (uint64_t b = 0; b < buckets; ++b) {
    const uint64_t bucket = At<uint32_t>(elf_, *at + head + b * kWord);
    if (bucket != 0 && bucket < first) return Bad("its hash table is malformed");
    last = std::max(last, bucket);
  }
  symbols_ = first;
  if (last == 0) return absl::OkStatus();
  // A chain ends with an odd hash; all others end there too, or before.
  const uint64_t chains = head + buckets * kWord;
  for (uint64_t i = last;; ++i) {
    const uint64_t offset = chains + (i - first) * kWord;
    if (auto one = Table("hash table", address, offset + kWord); !one.ok())
      return one.status();
    symbols_ = i + 1;
    if ((At<uint32_t>(elf_, *at + offset) & 1) != 0) return absl::OkStatus();
  }
}

absl::Status Checker::ReadSymbols() {
  if (absl::Status s = ReadHashTable(); !s.ok()) return s;
  auto at = Table("table of symbols", value(DT_SYMTAB), symbols_ * sizeof(Elf64_Sym));
  if (!at.ok()) return at.status();
  if (value(DT_SYMTAB) % alignof(Elf64_Sym) != 0)
    return Bad("its table of symbols is not aligned");
  symbols_at_ = *at;
  if (symbols_ == 0 ||
      elf_.substr(*at, sizeof(Elf64_Sym)).find_first_not_of('\0') != elf_.npos)
    return Bad("its first symbol is not empty");
  for (uint64_t i = 1; i < symbols_; ++i)
    if (absl::Status s = ReadSymbol(i); !s.ok()) return s;
  return absl::OkStatus();
}

absl::Status Checker::ReadSymbol(uint64_t index) {
  const auto symbol = At<Elf64_Sym>(elf_, symbols_at_ + index * sizeof(Elf64_Sym));
  if (symbol.st_name >= names_.size()) return Bad("a symbol has no name");
  const absl::string_view rest = names_.substr(symbol.st_name, kMaxName + 1);
  const size_t length = rest.find('\0');
  if (length == rest.npos) return Bad("a symbol has too long a name");
  const std::string name(rest.substr(0, length));
  const int type = ELF64_ST_TYPE(symbol.st_info);
  if (ELF64_ST_BIND(symbol.st_info) > STB_WEAK)
    return Bad("it has a symbol of the whole process");
  if (type == STT_GNU_IFUNC)
    return Bad("it has a symbol that is found by running code");
  if (type != STT_NOTYPE && type != STT_OBJECT && type != STT_FUNC)
    return Bad(absl::StrCat("it has a symbol of type ", type));
  if (symbol.st_shndx == SHN_UNDEF) {
    if (!plan::FragmentMayImport(name))
      return Bad(absl::StrCat("it imports \"", absl::CHexEscape(name),
                              "\", must be of libm, memcpy, memmove or memset"));
    if (symbol.st_value != 0) return Bad("an import has an address");
    return absl::OkStatus();
  }
  const Elf64_Phdr *load = InMemory(symbol.st_value, 1);
  if (load == nullptr || symbol.st_shndx >= SHN_LORESERVE)
    return Bad("a symbol lies outside of it");
  if (type != STT_FUNC) return absl::OkStatus();
  if ((load->p_flags & PF_X) == 0) return Bad("a function is not in its code");
  if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL) functions_.push_back(name);
  return absl::OkStatus();
}

absl::Status Checker::ReadRelocations() {
  const uint64_t begin[] = {value(DT_RELA), value(DT_JMPREL)};
  const uint64_t bytes[] = {value(DT_RELASZ), value(DT_PLTRELSZ)};
  // The linker takes them for one where they meet.
  if (has(DT_RELA) && has(DT_JMPREL) && begin[0] < begin[1] + bytes[1] &&
      begin[1] < begin[0] + bytes[0])
    return Bad("its relocations overlap");
  for (int i = 0; i < 2; ++i) {
    if (!has(i == 0 ? DT_RELA : DT_JMPREL)) continue;
    auto at = Table("relocations", begin[i], bytes[i]);
    if (!at.ok()) return at.status();
    if (begin[i] % alignof(Elf64_Rela) != 0 || bytes[i] % sizeof(Elf64_Rela) != 0)
      return Bad("its relocations are incomplete");
    for (uint64_t offset = 0; offset < bytes[i]; offset += sizeof(Elf64_Rela))
      if (absl::Status s = ReadRelocation(At<Elf64_Rela>(elf_, *at + offset)); !s.ok())
        return s;
  }
  // So many are applied without a look at their type.
  if (value(DT_RELACOUNT) > value(DT_RELASZ) / sizeof(Elf64_Rela))
    return Bad("its relocations are incomplete");
  return absl::OkStatus();
}

absl::Status Checker::ReadRelocation(const Elf64_Rela &relocation) {
  const uint64_t type = ELF64_R_TYPE(relocation.r_info);
  if (type == R_X86_64_IRELATIVE)
    return Bad("it has a relocation that is made by running code");
  if (type != R_X86_64_RELATIVE && type != R_X86_64_GLOB_DAT &&
      type != R_X86_64_JUMP_SLOT && type != R_X86_64_64)
    return Bad(absl::StrCat("it has a relocation of type ", type));
  if (ELF64_R_SYM(relocation.r_info) >= symbols_)
    return Bad("a relocation has no symbol");
  const uint64_t at = relocation.r_offset;
  const Elf64_Phdr *load = InMemory(at, sizeof(uint64_t));
  if (load == nullptr || (load->p_flags & PF_W) == 0)
    return Bad("a relocation changes what cannot be written");
  const uint64_t begin = dynamic_segment_.p_vaddr;
  if (at < begin + dynamic_segment_.p_memsz && begin < at + sizeof(uint64_t))
    return Bad("a relocation changes the dynamic section");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckCodeObject(absl::string_view elf) {
  return Checker(elf).Check();
}

}  // namespace commsched::runtime
