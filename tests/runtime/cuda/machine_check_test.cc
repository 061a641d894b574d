// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/machine_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/cases.h"
#include "tests/runtime/cuda/fake_system.h"

// Names that load_test.cc has as well.
namespace commsched::runtime::cuda::machine_check_test {
namespace {

int driver_version = 0, nccl_version = 0;
size_t library_version = 0;
std::vector<int> capabilities;  // of the devices

DriverResult DriverVersion(int *version) {
  *version = driver_version;
  return DriverResult::kSuccess;
}
DriverResult Count(int *count) {
  *count = int(capabilities.size());
  return DriverResult::kSuccess;
}
DriverResult Get(Device *device, int ordinal) {
  *device = ordinal;
  return DriverResult::kSuccess;
}
DriverResult Attribute(int *value, int attribute, Device device) {
  const int capability = capabilities[size_t(device)];
  *value = attribute == kComputeCapabilityMajor ? capability / 10 : capability % 10;
  return DriverResult::kSuccess;
}
DriverResult Name(char *name, int, Device) {
  std::strcpy(name, "NVIDIA Fake");
  return DriverResult::kSuccess;
}
NcclResult NcclVersion(int *version) {
  *version = nccl_version;
  return NcclResult::kSuccess;
}
size_t LibraryVersion() { return library_version; }

// Everything that may be missing is, at random, and what is said is what is missing first, in the
// order of the table here.
TEST(MachineCheckTest, SaysWhatIsMissingFirst) {
  size_t fine = 0;
  std::map<std::string, size_t> said;
  for (uint32_t seed = casesOf(2000).first; seed < casesOf(2000).end; ++seed) {
    std::mt19937 random(seed);
    const auto rarely = [&] { return random() % 6 == 0; };
    System system;
    system.symbols = {{"cuDriverGetVersion", reinterpret_cast<void *>(&DriverVersion)},
                      {"cuDeviceGetCount", reinterpret_cast<void *>(&Count)},
                      {"cuDeviceGet", reinterpret_cast<void *>(&Get)},
                      {"cuDeviceGetAttribute", reinterpret_cast<void *>(&Attribute)},
                      {"cuDeviceGetName", reinterpret_cast<void *>(&Name)},
                      {"ncclGetVersion", reinterpret_cast<void *>(&NcclVersion)},
                      {"cublasLtGetVersion", reinterpret_cast<void *>(&LibraryVersion)},
                      {"cudnnGetVersion", reinterpret_cast<void *>(&LibraryVersion)}};
    MachineNeeds needs;
    needs.architecture = random() % 4 == 0 ? "" : "sm_90";
    needs.first_device = int(random() % 3);
    needs.devices = 1 + int(random() % 3);
    needs.nccl = random() % 2 == 0;
    needs.cublas_lt = random() % 2 == 0;
    needs.cudnn = random() % 2 == 0;
    driver_version = rarely() ? 11040 : 12040;
    nccl_version = rarely() ? 22105 : 22809;
    library_version = 130000;
    const int last = needs.first_device + needs.devices - 1;
    capabilities.assign(size_t(last) + 1 + random() % 2, 90);
    std::string expected;
    const auto missing = [&](const std::string &text) {
      if (expected.empty()) expected = text;
    };
    if (rarely()) {
      system.files.erase("libcuda.so.1");
      missing("no CUDA driver: libcuda.so.1: cannot open shared object file");
    }
    if (driver_version < 12000)
      missing("CUDA driver must have version 12.0 or later, got: 11.4");
    if (rarely()) {
      capabilities.clear();
      missing("no CUDA device: the driver, version 12.4, has none");
    } else if (rarely() && last > 0) {
      capabilities.resize(size_t(last));
      missing("needs CUDA device " + std::to_string(last) + ", the machine has " +
              std::to_string(last));
    } else if (rarely()) {
      const int old = needs.first_device + int(random() % uint32_t(needs.devices));
      capabilities[size_t(old)] = 86;
      if (!needs.architecture.empty())
        missing("CUDA device " + std::to_string(old) +
                " (NVIDIA Fake) must be of sm_90 or later, got: sm_86");
    }
    if (needs.nccl && rarely()) {
      system.files.erase("libnccl.so.2");
      missing("no NCCL: libnccl.so.2: cannot open shared object file");
    }
    if (needs.nccl && nccl_version < 22700)
      missing("NCCL must have version 2.27.0 or later, got: 2.21.5");
    if (needs.cublas_lt && rarely()) {
      system.files.erase("libcublasLt.so.13");
      missing("no cuBLASLt: libcublasLt.so.13: cannot open shared object file");
    }
    if (needs.cudnn && rarely()) {
      system.files.erase("libcudnn.so.9");
      missing("no cuDNN: libcudnn.so.9: cannot open shared object file");
    }
    const absl::Status status = CheckMachine(needs, system.libraries());
    EXPECT_EQ(status.message(), expected) << "seed " << seed;
    EXPECT_EQ(status.ok(), expected.empty());
    ++(status.ok() ? fine : said[expected.substr(0, expected.find(' ', 6))]);
  }
  EXPECT_GT(fine, 0u);
  EXPECT_GE(said.size(), 6u);  // of which some begin alike
}

TEST(MachineCheckTest, ArchitecturesAreNumbers) {
  EXPECT_EQ(ComputeCapabilityOf("sm_90"), 90);
  EXPECT_EQ(ComputeCapabilityOf("sm_100"), 100);
  for (const char *other : {"", "sm_", "sm_x", "90", "compute_90", "sm_-1"})
    EXPECT_EQ(ComputeCapabilityOf(other), 0) << other;
}

}  // namespace
}  // namespace commsched::runtime::cuda::machine_check_test
