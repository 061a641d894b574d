// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/cuda/fake_system.h"

namespace commsched::runtime::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

int driver_version = 0, devices = 0;
DriverResult init_result = DriverResult::kSuccess;
DriverResult FakeDriverVersion(int *version) {
  *version = driver_version;
  return DriverResult::kSuccess;
}
DriverResult FakeInit(unsigned) { return init_result; }
DriverResult FakeCount(int *count) {
  *count = devices;
  return DriverResult::kSuccess;
}
DriverResult FakeErrorName(DriverResult, const char **name) {
  *name = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
  return DriverResult::kSuccess;
}
DriverResult FakeErrorString(DriverResult, const char **text) {
  *text = "system has unsupported display driver / cuda driver combination";
  return DriverResult::kSuccess;
}
int nccl_version = 0;
NcclResult FakeNcclVersion(int *version) {
  *version = nccl_version;
  return NcclResult::kSuccess;
}
size_t library_version = 0;
size_t FakeLibraryVersion() { return library_version; }

class CudaLoadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    driver_version = 13000;
    devices = 1;
    init_result = DriverResult::kSuccess;
    nccl_version = 22809;
    system_.symbols = {{"cuDriverGetVersion", reinterpret_cast<void *>(&FakeDriverVersion)},
                       {"cuInit", reinterpret_cast<void *>(&FakeInit)},
                       {"cuDeviceGetCount", reinterpret_cast<void *>(&FakeCount)},
                       {"cuGetErrorName", reinterpret_cast<void *>(&FakeErrorName)},
                       {"cuGetErrorString", reinterpret_cast<void *>(&FakeErrorString)},
                       {"ncclGetVersion", reinterpret_cast<void *>(&FakeNcclVersion)},
                       {"cublasLtGetVersion", reinterpret_cast<void *>(&FakeLibraryVersion)},
                       {"cudnnGetVersion", reinterpret_cast<void *>(&FakeLibraryVersion)}};
  }
  absl::Status Driver() { return LoadDriver(system_.libraries()).status(); }
  absl::Status Nccl() { return LoadNccl(system_.libraries()).status(); }
  System system_;
};

TEST_F(CudaLoadTest, FillsAllTables) {
  const absl::StatusOr<DriverApi> driver = LoadDriver(system_.libraries());
  ASSERT_TRUE(driver.ok()) << driver.status();
#define COMMSCHED_TEST_FILLED(name, symbol, parameters) EXPECT_NE(driver->name, nullptr);
  COMMSCHED_CUDA_DRIVER_FUNCTIONS(COMMSCHED_TEST_FILLED)
#undef COMMSCHED_TEST_FILLED
  const absl::StatusOr<NcclApi> nccl = LoadNccl(system_.libraries());
  ASSERT_TRUE(nccl.ok()) << nccl.status();
#define COMMSCHED_TEST_FILLED(result, name, symbol, parameters) EXPECT_NE(nccl->name, nullptr);
  COMMSCHED_CUDA_NCCL_FUNCTIONS(COMMSCHED_TEST_FILLED)
#undef COMMSCHED_TEST_FILLED
  library_version = 130101;
  EXPECT_TRUE(LoadCublasLt(system_.libraries()).ok());
  library_version = 91900;
  EXPECT_TRUE(LoadCudnn(system_.libraries()).ok());
}

TEST_F(CudaLoadTest, SaysThatThereIsNoLibrary) {
  system_.files.clear();
  EXPECT_EQ(Driver().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Driver().message(), "no CUDA driver: libcuda.so.1: cannot open shared object file");
  EXPECT_EQ(Nccl().message(), "no NCCL: libnccl.so.2: cannot open shared object file");
  EXPECT_THAT(std::string(LoadCublasLt(system_.libraries()).status().message()),
              StartsWith("no cuBLASLt: libcublasLt.so.13: "));
  EXPECT_THAT(std::string(LoadCudnn(system_.libraries()).status().message()),
              StartsWith("no cuDNN: libcudnn.so.9: "));
}

TEST_F(CudaLoadTest, TakesAnOlderNameOfALibrary) {
  system_.files = {"libcublasLt.so.12"};
  library_version = 120000;
  EXPECT_TRUE(LoadCublasLt(system_.libraries()).ok());
  EXPECT_EQ(system_.opened, "libcublasLt.so.12");
}

TEST_F(CudaLoadTest, SaysThatThereIsNoDevice) {
  devices = 0;
  EXPECT_EQ(Driver().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Driver().message(), "no CUDA device: the driver, version 13.0, has none");
  init_result = DriverResult::kNoDevice;
  EXPECT_EQ(Driver().message(), "no CUDA device: the driver, version 13.0, has none");
}

TEST_F(CudaLoadTest, NamesBothVersionsOfWhatIsTooOld) {
  driver_version = 11080;
  // Its version is what is wrong with it, not that symbols are missing.
  system_.missing = {"cuStreamWaitValue32_v2"};
  EXPECT_EQ(Driver().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Driver().message(), "CUDA driver must have version 12.0 or later, got: 11.8");
  nccl_version = 21903;
  EXPECT_EQ(Nccl().message(), "NCCL must have version 2.27.0 or later, got: 2.19.3");
  library_version = 110500;
  EXPECT_EQ(LoadCublasLt(system_.libraries()).status().message(),
            "cuBLASLt must have version 12.0.0 or later, got: 11.5.0");
  library_version = 8907;
  EXPECT_THAT(std::string(LoadCudnn(system_.libraries()).status().message()),
              StartsWith("cuDNN must have version 9.0.0 or later"));
}

TEST_F(CudaLoadTest, NamesEachSymbolThatIsMissing) {
#define COMMSCHED_TEST_MISSING(name, symbol, parameters)             \
  system_.missing = {#symbol};                                       \
  EXPECT_EQ(Driver().code(), absl::StatusCode::kFailedPrecondition); \
  EXPECT_EQ(Driver().message(), "CUDA driver has no function " #symbol);
  COMMSCHED_CUDA_DRIVER_FUNCTIONS(COMMSCHED_TEST_MISSING)
#undef COMMSCHED_TEST_MISSING
#define COMMSCHED_TEST_MISSING(result, name, symbol, parameters) \
  system_.missing = {#symbol};                                   \
  EXPECT_EQ(Nccl().message(), "NCCL has no function " #symbol);
  COMMSCHED_CUDA_NCCL_FUNCTIONS(COMMSCHED_TEST_MISSING)
#undef COMMSCHED_TEST_MISSING
}

TEST_F(CudaLoadTest, SaysWhatTheDriverSays) {
  init_result = DriverResult(803);
  EXPECT_EQ(Driver().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(Driver().message(),
            "CUDA driver cannot begin: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "
            "system has unsupported display driver / cuda driver combination");
}

// Whatever this machine has: tables, or one line.
TEST(CudaLoadHereTest, EndsInATableOrOneLine) {
  for (const absl::Status &status : {LoadDriver().status(), LoadNccl().status(),
                                     LoadCublasLt().status(), LoadCudnn().status()}) {
    if (status.ok()) continue;
    EXPECT_THAT(std::string(status.message()), ::testing::Not(HasSubstr("\n")));
    EXPECT_THAT(std::string(status.message()), ::testing::Not(::testing::IsEmpty()));
  }
}

}  // namespace
}  // namespace commsched::runtime::cuda
