// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/machine_check.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace commsched::runtime::cuda {

int ComputeCapabilityOf(const std::string &architecture) {
  int number = 0;
  absl::string_view text = architecture;
  if (text.substr(0, 3) != "sm_" || !absl::SimpleAtoi(text.substr(3), &number) || number < 0)
    return 0;
  return number;
}

absl::Status CheckArchitecture(const DriverApi &driver, int ordinal,
                               const std::string &architecture) {
  Device device = {};
  if (absl::Status s = ToStatus(driver, driver.DeviceGet(&device, ordinal), "cuDeviceGet"); !s.ok())
    return s;
  int major = 0, minor = 0;
  for (auto [attribute, value] : {std::pair(kComputeCapabilityMajor, &major),
                                  std::pair(kComputeCapabilityMinor, &minor)})
    if (absl::Status s = ToStatus(driver, driver.DeviceGetAttribute(value, attribute, device),
                                  "cuDeviceGetAttribute");
        !s.ok())
      return s;
  if (10 * major + minor >= ComputeCapabilityOf(architecture)) return absl::OkStatus();
  char name[100] = "";
  if (driver.DeviceGetName(name, sizeof(name) - 1, device) != DriverResult::kSuccess) name[0] = 0;
  return absl::FailedPreconditionError(
      absl::StrCat("CUDA device ", ordinal, name[0] ? absl::StrCat(" (", name, ")") : "",
                   " must be of ", architecture, " or later, got: sm_", major, minor));
}

absl::Status CheckMachine(const MachineNeeds &needs, const Libraries &libraries) {
  absl::StatusOr<DriverApi> driver = LoadDriver(libraries);
  if (!driver.ok()) return driver.status();
  int count = 0;
  if (absl::Status s = ToStatus(*driver, driver->DeviceGetCount(&count), "cuDeviceGetCount");
      !s.ok())
    return s;
  if (count < needs.first_device + needs.devices)
    return absl::NotFoundError(absl::StrCat("needs CUDA device ",
                                            needs.first_device + needs.devices - 1,
                                            ", the machine has ", count));
  if (!needs.architecture.empty())
    for (int i = 0; i < needs.devices; ++i)
      if (absl::Status s = CheckArchitecture(*driver, needs.first_device + i, needs.architecture);
          !s.ok())
        return s;
  if (needs.nccl)
    if (absl::Status s = LoadNccl(libraries).status(); !s.ok()) return s;
  if (needs.cublas_lt)
    if (absl::Status s = LoadCublasLt(libraries).status(); !s.ok()) return s;
  if (needs.cudnn)
    if (absl::Status s = LoadCudnn(libraries).status(); !s.ok()) return s;
  return absl::OkStatus();
}

}  // namespace commsched::runtime::cuda
