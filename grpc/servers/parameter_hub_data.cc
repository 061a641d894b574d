// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pushes and pulls on their way between connections and the server.
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc/servers/parameter_connection.h"
#include "grpc/servers/parameter_hub.h"

namespace commsched::transport {

using runtime::MutexLock;

void ParameterHub::Push(int trainer, uint32_t block, uint64_t step,
                        runtime::SharedBytes payload) {
  bytes_received_ += payload.bytes.size();
  {
    MutexLock lock(&mu_);
    machine_.PushBegins(trainer);
  }
  server_->Push(trainer, block, step, std::move(payload),
                [weak = weak_from_this(), trainer, block,
                 step](absl::Status status) {
                  if (auto hub = weak.lock())
                    hub->Taken(trainer, block, step, status);
                });
}

void ParameterHub::Taken(int rank, uint32_t block, uint64_t step,
                         const absl::Status &status) {
  Spoken spoken;
  bool refused = false;
  {
    MutexLock lock(&mu_);
    Machine::Sayings sayings;
    if (machine_.Taken(rank, block, step, status.ok(), &sayings)) changed_.SignalAll();
    spoken = Say(sayings);
    // If an error has ended the server, Ended tells everybody.
    refused = !status.ok() && failure_.ok();
  }
  if (refused) return Refused(rank, status);
  Send(std::move(spoken));
}

void ParameterHub::Refused(int trainer, const absl::Status &why) {
  if (why.code() != absl::StatusCode::kInvalidArgument &&
      why.code() != absl::StatusCode::kOutOfRange)
    return;
  // Of no effect if the server has ended already, of what is an error of its own.
  server_->Lost(trainer, absl::Status(why.code(),
                                      absl::StrCat("broke the protocol: ",
                                                   why.message())));
}

void ParameterHub::PullRows(int trainer,
                            std::weak_ptr<ParameterConnection> connection,
                            parameter::Data asked, std::vector<int64_t> ids) {
  server_->PullRows(
      trainer, asked.block(), asked.step(), std::move(ids),
      [weak = weak_from_this(), connection = std::move(connection), trainer,
       asked](absl::StatusOr<runtime::SharedBytes> value) {
        auto hub = weak.lock();
        auto to = connection.lock();
        if (hub == nullptr || to == nullptr) return;
        if (!value.ok()) {
          bool refused = false;
          {
            // One that came over a connection that broke has been repeated.
            MutexLock lock(&hub->mu_);
            refused = hub->failure_.ok() &&
                      hub->Find(hub->machine_.connection(trainer)) == to;
          }
          if (refused) hub->Refused(trainer, value.status());
          return;
        }
        hub->bytes_sent_ += value->bytes.size();
        parameter::Header header;
        *header.mutable_rows() = asked;
        to->PutData(std::move(header), *std::move(value),
                    asked.priority());
        to->Flush();
      });
}

void ParameterHub::Pull(int trainer,
                        std::weak_ptr<ParameterConnection> connection,
                        const parameter::Pull &asked) {
  server_->Pull(
      trainer, asked.block(), asked.version(),
      [weak = weak_from_this(), connection = std::move(connection),
       asked](absl::StatusOr<runtime::SharedBytes> value) {
        auto hub = weak.lock();
        auto to = connection.lock();
        if (hub == nullptr || to == nullptr || !value.ok()) return;
        hub->bytes_sent_ += value->bytes.size();
        parameter::Header header;
        header.mutable_value()->set_block(asked.block());
        header.mutable_value()->set_step(asked.version());
        to->PutData(std::move(header), *std::move(value), asked.priority());
        to->Flush();
      });
}

}  // namespace commsched::transport
