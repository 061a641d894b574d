// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The door of a process: streams pass it when the other side has proved that it
// has the job's token (admission.proto), and not before anything else of it is
// looked at. docs/security.md says what that is good for.
#ifndef COMMSCHED_GRPC_BASE_ADMISSION_H
#define COMMSCHED_GRPC_BASE_ADMISSION_H

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "grpc/base/shared_stream.h"
#include "grpc/base/stream.h"
#include "runtime/base/sync.h"

namespace commsched::transport {

inline constexpr uint32_t kAdmissionVersion = 1;
inline constexpr size_t kNonceBytes = 32;
// Why somebody is refused who has come in without a token, whom the reason would help.
inline constexpr char kReasonInLog[] = "its log says why";

// 32 bytes that nobody can foresee.
std::string NewNonce();

// What proves that `token` is known, for a stream with these nonces, on the line `line`
// of admission.proto ("dials", "accepts", "first").
std::string Proof(absl::string_view token, absl::string_view line,
                  absl::string_view dial_nonce, absl::string_view accept_nonce,
                  absl::string_view first = "");
// Of proofs; takes as long for all that have the right size.
bool ProofsEqual(absl::string_view a, absl::string_view b);

// Calls `method` as Dial does and proves the token, with `first` as the first
// packet. With `sharing`, which outlives the stream, packets go through shared memory where
// both sides are on one host and want that. `handler` hears OnOpen when the other side has proved it too; nothing is
// under way on the stream then. Else it hears OnClosed only, with
// kUnauthenticated if the other side refuses this one, and kPermissionDenied if that
// one has not the token.
std::shared_ptr<Stream> DialWithProof(std::shared_ptr<grpc::Channel> channel,
                                      grpc::CompletionQueue *queue,
                                      StreamHandler *handler,
                                      const std::string &token,
                                      const grpc::ByteBuffer &first,
                                      const char *method, bool patient,
                                      Sharing *sharing = nullptr);

// Of a process that accepts. Outlives its streams: until Close.
// Threading: all methods may be called from any thread.
class Gate {
 public:
  // Who has proved the token: the stream, on which nothing is under way, and the
  // first packet. Called by a completion-queue thread.
  using Admitted = std::function<void(std::shared_ptr<Stream>, grpc::ByteBuffer)>;

  // `sharing`: as in DialWithProof. `log` gets a line for some of those who are refused, from any thread; may be
  // null. Who takes longer than `patience` is dropped.
  Gate(std::string token, std::chrono::nanoseconds patience,
       std::function<void(const std::string &)> log, Sharing *sharing = nullptr);

  void Take(std::shared_ptr<Stream> stream, Admitted admitted);

  // Drops who takes too long.
  void CheckTimes();
  // From now on everybody is refused, and those who wait here are dropped.
  void Shut();
  // The same, and waits until they are gone.
  void Close();

  // A refusal that was found out behind the door. Thread-safe.
  void Log(absl::string_view peer, absl::string_view why);

  // "; 3 connections were refused, the last of ipv4:127.0.0.1:4000: ..."; empty if
  // there was none.
  std::string RefusedText() const;

 private:
  class Visitor;
  // The visitor's stream is about to be another's; false if nobody is let in now.
  bool LetIn(Visitor *visitor);
  void Gone(Visitor *visitor);
  std::vector<std::shared_ptr<Stream>> Waiting(runtime::Clock::time_point since) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::string_view token() const { return token_; }
  // Null: none.
  Sharing *sharing() const { return sharing_; }

  const std::string token_;
  const std::chrono::nanoseconds patience_;
  const std::function<void(const std::string &)> log_;
  Sharing *const sharing_;

  mutable runtime::Mutex mu_;
  runtime::CondVar changed_;
  // Whether they still wait.
  std::map<Visitor *, bool> visitors_ ABSL_GUARDED_BY(mu_);
  bool shut_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t refused_ ABSL_GUARDED_BY(mu_) = 0;
  std::string last_ ABSL_GUARDED_BY(mu_);
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_ADMISSION_H
