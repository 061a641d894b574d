// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/plan_cuda.h"

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "runtime/loading/plan_values.h"

namespace commsched::runtime {
namespace {

// Of compute capability 9.0; the dynamic shared memory is what needs no opting in.
constexpr std::array<uint32_t, 3> kMaxGrid = {0x7fffffff, 65535, 65535};
constexpr std::array<uint32_t, 3> kMaxBlock = {1024, 1024, 64};
constexpr uint32_t kMaxThreads = 1024, kMaxSharedBytes = 48 * 1024, kMaxArguments = 4096 / 8;

// Names behind ".entry".
std::set<std::string, std::less<>> EntriesOf(absl::string_view ptx) {
  std::set<std::string, std::less<>> entries;
  constexpr absl::string_view kEntry = ".entry";
  for (size_t at = ptx.find(kEntry); at != ptx.npos; at = ptx.find(kEntry, at)) {
    at += kEntry.size();
    absl::string_view rest = absl::StripLeadingAsciiWhitespace(ptx.substr(at));
    size_t end = 0;
    while (end < rest.size() && (absl::ascii_isalnum(rest[end]) || rest[end] == '_' || rest[end] == '$'))
      ++end;
    if (end > 0) entries.emplace(rest.substr(0, end));
  }
  return entries;
}

class Converter {
 public:
  Converter(const plan::Plan &plan, const plan::Cuda &in)
      : plan_(plan), in_(in), entries_(EntriesOf(in.ptx())) {}

  absl::StatusOr<plan::CudaModule> Convert() {
    int version = 0;
    absl::string_view architecture = in_.architecture();
    if (architecture.substr(0, 3) != "sm_" ||
        !absl::SimpleAtoi(architecture.substr(3), &version) || version <= 0)
      return absl::InvalidArgumentError(absl::StrCat(
          "architecture of code for CUDA devices must match sm_<number>, got: \"", architecture, "\""));
    out_.ptx = in_.ptx();
    out_.architecture = in_.architecture();
    out_.libdevice_functions.assign(in_.libdevice_functions().begin(), in_.libdevice_functions().end());
    for (int f = 0; f < in_.fragments_size(); ++f)
      if (absl::Status s = AddFragment(f); !s.ok()) return s;
    return std::move(out_);
  }

 private:
  absl::Status AddFragment(int index) {
    const plan::Cuda::Fragment &in = in_.fragments(index);
    plan::CudaFragment &out = out_.fragments.emplace_back();
    const std::string fragment = absl::StrCat("CUDA fragment ", index, " \"", in.symbol(), "\"");
    if (in.scratch_bytes() > kMaxPlanBytes) return BadPlan(fragment, "its scratch is too large");
    out.symbol = in.symbol();
    out.inputs = in.inputs();
    out.outputs = in.outputs();
    out.scratch_bytes = in.scratch_bytes();
    for (int s = 0; s < in.steps_size(); ++s) {
      where_ = absl::StrCat(fragment, ": step ", s);
      absl::Status status = in.steps(s).has_launch()    ? AddLaunch(in.steps(s).launch(), &out)
                            : in.steps(s).has_library() ? AddLibraryCall(in.steps(s).library(), &out)
                                                        : BadPlan(where_, "does nothing that this build knows");
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status AddLaunch(const plan::Cuda::Launch &in, plan::CudaFragment *fragment) {
    plan::CudaLaunch out;
    if (entries_.find(in.kernel()) == entries_.end())
      return BadPlan(where_, absl::StrCat("the PTX has no kernel \"", in.kernel(), "\""));
    out.kernel = in.kernel();
    for (const auto &[sizes, limits, made, what] :
         {std::tuple(&in.grid(), &kMaxGrid, &out.grid, "grid"),
          std::tuple(&in.block(), &kMaxBlock, &out.block, "block")}) {
      bool fits = sizes->size() == 3;
      for (int i = 0; i < sizes->size() && fits; ++i) {
        fits = sizes->Get(i) >= 1 && sizes->Get(i) <= (*limits)[size_t(i)];
        (*made)[size_t(i)] = sizes->Get(i);
      }
      if (!fits)
        return BadPlan(where_, absl::StrCat(what, " must be 1 to ", absl::StrJoin(*limits, " x "),
                                            ", got: ", absl::StrJoin(*sizes, " x ")));
    }
    const uint64_t threads = uint64_t{out.block[0]} * out.block[1] * out.block[2];
    if (threads > kMaxThreads)
      return BadPlan(where_, absl::StrCat("threads of a block must be at most ", kMaxThreads, ", got: ", threads));
    if (in.shared_bytes() > kMaxSharedBytes)
      return BadPlan(where_, absl::StrCat("shared memory must be at most ", kMaxSharedBytes,
                                          " bytes, got: ", in.shared_bytes()));
    out.shared_bytes = in.shared_bytes();
    if (in.arguments_size() > int(kMaxArguments))
      return BadPlan(where_, absl::StrCat("arguments must be at most ", kMaxArguments, ", got: ", in.arguments_size()));
    if (absl::Status s = AddAddresses(in.arguments(), *fragment, &out.arguments); !s.ok()) return s;
    fragment->steps.push_back(std::move(out));
    return absl::OkStatus();
  }

  absl::Status AddLibraryCall(const plan::Cuda::LibraryCall &in, plan::CudaFragment *fragment) {
    plan::CudaLibraryCall out;
    if (in.kernel() >= uint32_t(plan_.kernels_size()))
      return BadPlan(where_, absl::StrCat("there is no kernel ", in.kernel()));
    out.kernel = in.kernel();
    if (int operands = plan_.kernels(int(in.kernel())).operands_size(); operands != in.operands_size())
      return BadPlan(where_, absl::StrCat("operands of kernel ", in.kernel(), " must be ", operands,
                                          ", got: ", in.operands_size()));
    if (absl::Status s = AddAddresses(in.operands(), *fragment, &out.operands); !s.ok()) return s;
    fragment->steps.push_back(std::move(out));
    return absl::OkStatus();
  }

  template <typename Addresses>
  absl::Status AddAddresses(const Addresses &in, const plan::CudaFragment &fragment,
                            std::vector<plan::CudaAddress> *out) {
    for (const plan::Cuda::Address &address : in) {
      plan::CudaAddress made;
      made.index = address.index();
      made.offset = address.offset();
      uint32_t count = 0;
      switch (address.base()) {
        case plan::Cuda::Address::INPUT:
          made.base = plan::CudaAddress::Base::kInput;
          count = fragment.inputs;
          break;
        case plan::Cuda::Address::OUTPUT:
          made.base = plan::CudaAddress::Base::kOutput;
          count = fragment.outputs;
          break;
        case plan::Cuda::Address::SCRATCH:
          made.base = plan::CudaAddress::Base::kScratch;
          count = 1;
          if (address.offset() >= fragment.scratch_bytes)
            return BadPlan(where_, absl::StrCat("an address lies outside of the ", fragment.scratch_bytes,
                                                " bytes of scratch: ", address.offset()));
          break;
        default:
          return BadPlan(where_, "unknown base of an address");
      }
      if (address.index() >= count)
        return BadPlan(where_, absl::StrCat("an address is of ", plan::Cuda::Address::Base_Name(address.base()), " ",
                                            address.index(), " of ", count));
      out->push_back(made);
    }
    return absl::OkStatus();
  }

  const plan::Plan &plan_;
  const plan::Cuda &in_;
  const std::set<std::string, std::less<>> entries_;
  plan::CudaModule out_;
  std::string where_;
};

}  // namespace

absl::StatusOr<plan::CudaModule> ConvertCuda(const plan::Plan &plan) {
  // Without code: a plan of costs, whose memories are told apart.
  if (!plan.has_cuda()) return plan::CudaModule();
  return Converter(plan, plan.cuda()).Convert();
}

}  // namespace commsched::runtime
