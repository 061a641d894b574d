// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_context.h>

#include <string>
#include <utility>

#include "grpc/base/handover.h"
#include "runtime/base/sync.h"

namespace commsched::transport {
namespace {

using runtime::Mutex;
using runtime::MutexLock;

absl::Status FromGrpc(const grpc::Status &status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

// What both sides share: which operations are under way, and when all is over.
class StreamBase : public Stream,
                   public std::enable_shared_from_this<StreamBase> {
 public:
  void set_handler(StreamHandler *handler) override { handler_ = handler; }

 protected:
  struct Operation final : Event {
    Operation(StreamBase *stream, void (StreamBase::*end)(bool))
        : stream(stream), end(end) {}
    void Happened(bool ok) override { (stream->*end)(ok); }
    StreamBase *stream;
    void (StreamBase::*end)(bool);
  };

  explicit StreamBase(StreamHandler *handler) : handler_(handler) {}

  virtual void OnStart(bool ok) = 0;
  virtual void OnRead(bool ok) = 0;
  virtual void OnWrite(bool ok) = 0;
  virtual void OnEnd(bool ok) = 0;
  virtual void OnFinish(bool ok) = 0;

  virtual absl::Status final_status() = 0;

  // The last thing done for an operation that has ended, without the lock.
  void Ended() {
    {
      MutexLock lock(&mu_);
      if (--under_way_ > 0 || !finished_) return;
    }
    handler_->OnClosed(final_status());
    std::shared_ptr<StreamBase> last = std::move(self_);
  }

  StreamHandler *handler_;
  std::shared_ptr<StreamBase> self_;  // from the start until it is closed
  grpc::ByteBuffer incoming_;
  Operation start_{this, &StreamBase::OnStart};
  Operation read_{this, &StreamBase::OnRead};
  Operation write_{this, &StreamBase::OnWrite};
  Operation end_{this, &StreamBase::OnEnd};
  Operation finish_{this, &StreamBase::OnFinish};

  Mutex mu_;
  int under_way_ ABSL_GUARDED_BY(mu_) = 1;  // operations; the start is one
  bool finishing_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

class DialledStream final : public StreamBase {
 public:
  DialledStream(std::shared_ptr<grpc::Channel> channel, StreamHandler *handler)
      : StreamBase(handler), stub_(std::move(channel)) {}

  void Start(grpc::CompletionQueue *queue, const char *method, bool patient) {
    self_ = shared_from_this();
    context_.set_wait_for_ready(patient);
    call_ = stub_.PrepareCall(&context_, method, queue);
    MutexLock lock(&mu_);  // it may fail before this returns
    HandOver();
    call_->StartCall(&start_);
    HandOver();
  }

  void Read() override {
    MutexLock lock(&mu_);
    if (finishing_) return;
    ++under_way_;
    HandOver();
    call_->Read(&incoming_, &read_);
    HandOver();
  }

  bool Write(grpc::ByteBuffer &&packet) override {
    {
      MutexLock lock(&mu_);
      if (finishing_ || ended_) return false;
      ++under_way_;
    }
    HandOver();
    call_->Write(packet, &write_);
    HandOver();
    return true;
  }

  void End(absl::Status) override {
    MutexLock lock(&mu_);
    if (finishing_ || ended_) return;
    ended_ = true;
    ++under_way_;
    HandOver();
    call_->WritesDone(&end_);
    HandOver();
  }

  void Cancel() override { context_.TryCancel(); }
  std::string peer() override { return context_.peer(); }

 private:
  void OnStart(bool ok) override {
    {
      MutexLock lock(&mu_);  // Start has returned
    }
    if (ok) {
      handler_->OnOpen(shared_from_this());
    } else {
      Finish();
    }
    Ended();
  }

  void OnRead(bool ok) override {
    if (ok) {
      grpc::ByteBuffer packet;
      packet.Swap(&incoming_);
      handler_->OnRead(std::move(packet));
    } else {
      Finish();
    }
    Ended();
  }

  void OnWrite(bool ok) override {
    handler_->OnWritten(ok);
    Ended();
  }

  void OnEnd(bool) override { Ended(); }

  void Finish() {
    MutexLock lock(&mu_);
    if (finishing_) return;
    finishing_ = true;
    ++under_way_;
    HandOver();
    call_->Finish(&status_, &finish_);
    HandOver();
  }

  void OnFinish(bool) override {
    {
      MutexLock lock(&mu_);
      finished_ = true;
    }
    Ended();
  }

  absl::Status final_status() override { return FromGrpc(status_); }

  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::Status status_;
};

class AcceptedStream final : public StreamBase {
 public:
  AcceptedStream(std::function<void(std::shared_ptr<Stream>)> accepted)
      : StreamBase(nullptr), accepted_(std::move(accepted)), call_(&context_) {}

  void Start(const RequestCall &request) {
    self_ = shared_from_this();
    HandOver();
    request(&context_, &call_, static_cast<Event *>(&start_));
    HandOver();
  }

  void Read() override {
    MutexLock lock(&mu_);
    if (finishing_) return;
    ++under_way_;
    HandOver();
    call_.Read(&incoming_, &read_);
    HandOver();
  }

  bool Write(grpc::ByteBuffer &&packet) override {
    {
      MutexLock lock(&mu_);
      if (finishing_ || finish_wanted_) return false;
      writing_ = true;
      ++under_way_;
    }
    HandOver();
    call_.Write(packet, &write_);
    HandOver();
    return true;
  }

  void End(absl::Status status) override {
    MutexLock lock(&mu_);
    Finish(grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                        std::string(status.message())));
  }

  void Cancel() override {
    context_.TryCancel();
    // The call ends when it is finished, not before.
    End(absl::CancelledError("dropped"));
  }
  std::string peer() override { return context_.peer(); }

 private:
  void OnStart(bool ok) override {
    std::shared_ptr<StreamBase> self = self_;
    if (!ok) {
      self_.reset();
      return accepted_(nullptr);
    }
    accepted_(std::move(self));
    Ended();
  }

  void OnRead(bool ok) override {
    if (ok) {
      grpc::ByteBuffer packet;
      packet.Swap(&incoming_);
      handler_->OnRead(std::move(packet));
    } else {
      MutexLock lock(&mu_);
      Finish(grpc::Status::OK);
    }
    Ended();
  }

  void OnWrite(bool ok) override {
    {
      MutexLock lock(&mu_);
      writing_ = false;
      if (finish_wanted_) Finish(finish_status_);
    }
    handler_->OnWritten(ok);
    Ended();
  }

  // The call may be finished once, and not while a write is under way.
  void Finish(grpc::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (finishing_) return;
    if (writing_) {
      if (!finish_wanted_) finish_status_ = std::move(status);
      finish_wanted_ = true;
      return;
    }
    finishing_ = true;
    ++under_way_;
    HandOver();
    call_.Finish(status, &finish_);
    HandOver();
  }

  void OnEnd(bool) override {}
  void OnFinish(bool) override {
    {
      MutexLock lock(&mu_);
      finished_ = true;
    }
    Ended();
  }

  absl::Status final_status() override { return absl::OkStatus(); }

  std::function<void(std::shared_ptr<Stream>)> accepted_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> call_;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool finish_wanted_ ABSL_GUARDED_BY(mu_) = false;
  grpc::Status finish_status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

std::shared_ptr<Stream> Dial(std::shared_ptr<grpc::Channel> channel,
                             grpc::CompletionQueue *queue,
                             StreamHandler *handler, const char *method,
                             bool patient) {
  auto stream = std::make_shared<DialledStream>(std::move(channel), handler);
  stream->Start(queue, method, patient);
  return stream;
}

void Accept(const RequestCall &request,
            std::function<void(std::shared_ptr<Stream>)> accepted) {
  std::make_shared<AcceptedStream>(std::move(accepted))->Start(request);
}

void Accept(RawService *service, grpc::ServerCompletionQueue *queue,
            std::function<void(std::shared_ptr<Stream>)> accepted) {
  Accept(
      [=](auto *context, auto *call, void *tag) {
        service->RequestConnect(context, call, queue, queue, tag);
      },
      std::move(accepted));
}

}  // namespace commsched::transport
