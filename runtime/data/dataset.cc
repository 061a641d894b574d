// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/data/dataset.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/memory.h"
#include "runtime/base/sync.h"
#include "runtime/data/nan_check.h"

namespace commsched::runtime {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers everywhere, which
// the distributions of the standard library do not promise.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 <= result < bound
  uint64_t Below(uint64_t bound) {
    return uint64_t((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace

// Memory that gathered rows are copied to; comes back when a call has
// completed, on whatever thread that happens.
class Dataset::Pool : public std::enable_shared_from_this<Dataset::Pool> {
 public:
  absl::StatusOr<std::shared_ptr<Memory>> Get(size_t bytes) {
    Memory memory;
    {
      MutexLock lock(&mu_);
      for (size_t i = 0; i < free_.size(); ++i)
        if (free_[i].size() == bytes) {
          memory = std::move(free_[i]);
          free_.erase(free_.begin() + long(i));
          break;
        }
    }
    if (memory.data() == nullptr) {
      absl::StatusOr<Memory> made = Memory::Allocate(bytes);
      if (!made.ok()) return made.status();
      memory = *std::move(made);
    }
    return std::shared_ptr<Memory>(
        new Memory(std::move(memory)), [pool = shared_from_this()](Memory *m) {
          MutexLock lock(&pool->mu_);
          pool->free_.push_back(std::move(*m));
          delete m;
        });
  }

 private:
  Mutex mu_;
  std::vector<Memory> free_ ABSL_GUARDED_BY(mu_);
};

absl::StatusOr<std::unique_ptr<Dataset>> Dataset::Open(const std::string &path,
                                                       absl::Span<const User> users,
                                                       Options options) {
  absl::StatusOr<TensorFile> file = ReadTensorFile(path);
  if (!file.ok()) return file.status();
  std::unique_ptr<Dataset> dataset(new Dataset);
  dataset->options_ = options;
  dataset->pool_ = std::make_shared<Pool>();
  for (const User &user : users)
    for (const BatchArgument &argument : user.function->batches)
      if (absl::Status s =
              dataset->Add(path, *file, argument, *user.function,
                           uint64_t(user.ranks) * user.function->batch_devices);
          !s.ok())
        return s;
  if (dataset->arrays_.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": function @", users[0].function->name, " has no batch argument"));
  return dataset;
}

absl::Status Dataset::Add(const std::string &path, const TensorFile &file,
                          const BatchArgument &argument, const FunctionProgram &function,
                          uint64_t workers) {
  auto it = file.tensors.find(argument.name);
  if (it == file.tensors.end())
    return absl::NotFoundError(
        absl::StrCat(path, ": batch \"", argument.name, "\" is missing"));
  const StoredTensor &tensor = it->second;
  TensorInfo row = argument.type, have = tensor.type;
  uint64_t local = uint64_t(argument.type.shape[0]);
  if (local == 0)
    return absl::InvalidArgumentError(
        absl::StrCat("batch \"", argument.name, "\" of @", function.name,
                     " must have at least 1 sample, got: 0"));
  uint64_t samples = have.shape.empty() ? 0 : uint64_t(have.shape[0]);
  row.shape[0] = have.shape.empty() ? 0 : have.shape[0];
  if (!(row == have))
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": batch \"", argument.name, "\" must match ", ToString(row),
        ", got: ", ToString(have)));
  if (arrays_.empty()) {
    samples_ = samples;
    global_batch_ = local * workers;
  }
  if (samples != samples_)
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": batch \"", argument.name, "\" must have ", samples_,
        " samples, got: ", samples));
  if (local * workers != global_batch_)
    return absl::InvalidArgumentError(absl::StrCat(
        "batch \"", argument.name, "\" of @", function.name, " must have ",
        global_batch_, " samples in all, got: ", local * workers));
  if (samples < global_batch_ || samples > std::numeric_limits<uint32_t>::max())
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": batch \"", argument.name, "\" needs at least one global batch of ",
        global_batch_, " samples, got: ", samples));
  for (const Array &known : arrays_)
    if (known.name == argument.name) return absl::OkStatus();  // of another device
  Array array;
  array.name = argument.name;
  array.element = argument.type.element;
  array.row_bytes = argument.type.bytes / local;
  array.data = tensor.data.data();
  array.owner = tensor.owner;
  // Rows that are used in place must be aligned.
  if (reinterpret_cast<uintptr_t>(array.data) % kAlignment != 0) {
    absl::StatusOr<Memory> copy = Memory::Allocate(tensor.data.size());
    if (!copy.ok()) return copy.status();
    if (!tensor.data.empty())
      std::memcpy(copy->data(), tensor.data.data(), tensor.data.size());
    array.data = copy->data();
    array.owner = std::make_shared<Memory>(*std::move(copy));
  }
  arrays_.push_back(std::move(array));
  return absl::OkStatus();
}

void Dataset::Seek(uint64_t index) {
  index_ = index;
  int64_t epoch = int64_t(index / batches_per_epoch());
  if (!options_.shuffle || epoch == order_epoch_) return;
  order_epoch_ = epoch;
  order_.resize(samples_);
  std::iota(order_.begin(), order_.end(), 0u);
  Random random(options_.seed * 0x9e3779b97f4a7c15u + uint64_t(epoch) + 1);
  for (size_t i = order_.size(); i > 1; --i)  // Fisher and Yates
    std::swap(order_[i - 1], order_[random.Below(i)]);
}

std::string Dataset::NanIn(uint64_t index) {
  Seek(index);
  const uint64_t first = index_ % batches_per_epoch() * global_batch_;
  for (const Array &array : arrays_)
    for (uint64_t i = first; i < first + global_batch_; ++i) {
      const uint64_t sample = options_.shuffle ? order_[i] : i;
      if (FirstNan(array.element,
                   {array.data + sample * array.row_bytes, array.row_bytes}))
        return absl::StrCat("batch \"", array.name, "\" has a nan in sample ", sample);
    }
  return "";
}

absl::StatusOr<BatchRows> Dataset::Rows(const FunctionProgram &function,
                                        int rank, int nodes) {
  BatchRows rows;
  auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  uint64_t first = index_ % batches_per_epoch() * global_batch_;
  for (const BatchArgument &argument : function.batches) {
    // Few: Open has found it.
    const Array &array = *std::find_if(arrays_.begin(), arrays_.end(), [&](const Array &a) {
      return a.name == argument.name;
    });
    uint64_t local = uint64_t(argument.type.shape[0]);
    uint64_t worker = uint64_t(rank) * function.batch_devices + argument.device;
    uint64_t begin = first + local * worker;
    const std::byte *in_place = array.data + begin * array.row_bytes;
    if (!options_.shuffle &&
        reinterpret_cast<uintptr_t>(in_place) % kAlignment == 0) {
      rows.data.push_back(in_place);
      owners->push_back(array.owner);
      continue;
    }
    absl::StatusOr<std::shared_ptr<Memory>> memory =
        pool_->Get(std::max<size_t>(1, local * array.row_bytes));
    if (!memory.ok()) return memory.status();
    for (uint64_t r = 0; r < local && array.row_bytes != 0; ++r) {
      uint64_t sample = options_.shuffle ? order_[begin + r] : begin + r;
      std::memcpy((*memory)->data() + r * array.row_bytes,
                  array.data + sample * array.row_bytes, array.row_bytes);
    }
    rows.data.push_back((*memory)->data());
    owners->push_back(*std::move(memory));
  }
  rows.owner = std::move(owners);
  return rows;
}

}  // namespace commsched::runtime
