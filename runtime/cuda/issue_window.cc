// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/issue_window.h"

#include <utility>

#include "runtime/cuda/load.h"

namespace commsched::runtime::cuda {

IssueWindow::~IssueWindow() {
  for (const Portion &portion : portions_)
    for (Event event : portion.ends) driver_.EventDestroy(event);
  for (Event event : free_) driver_.EventDestroy(event);
}

absl::Status IssueWindow::Look() {
  while (!portions_.empty()) {
    Portion &oldest = portions_.front();
    while (!oldest.ends.empty()) {
      const DriverResult result = driver_.EventQuery(oldest.ends.back());
      if (result == DriverResult::kNotReady) return absl::OkStatus();
      if (absl::Status s = ToStatus(driver_, result, "cuEventQuery"); !s.ok()) return s;
      free_.push_back(oldest.ends.back());
      oldest.ends.pop_back();
    }
    under_way_ -= oldest.commands;
    portions_.pop_front();
  }
  return absl::OkStatus();
}

absl::Status IssueWindow::Enqueued(uint32_t commands, absl::Span<const Stream> streams) {
  Portion portion{commands + uint32_t(streams.size()), {}};
  absl::Status status;
  for (Stream stream : streams) {
    Event event = nullptr;
    if (!free_.empty()) {
      event = free_.back();
      free_.pop_back();
    } else {
      status = ToStatus(driver_, driver_.EventCreate(&event, kEventDisableTiming), "cuEventCreate");
      if (!status.ok()) break;
    }
    portion.ends.push_back(event);
    status = ToStatus(driver_, driver_.EventRecord(event, stream), "cuEventRecord");
    if (!status.ok()) break;
  }
  under_way_ += portion.commands;
  portions_.push_back(std::move(portion));
  return status;
}

}  // namespace commsched::runtime::cuda
