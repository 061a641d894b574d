// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/c_api/c_api.h"
#include "runtime/c_api/c_api_job.h"
#include "runtime/c_api/c_api_session.h"
#include "runtime/posts/posts.h"
#include "runtime/transport/peer_failure_relay.h"

namespace rt = commsched::runtime;
namespace ops = commsched::ops;
using commsched::Finished;

struct cs_posts {
  const pid_t process = getpid();
  std::unique_ptr<rt::Posts> posts;
};

namespace {

// Of connections of groups, instead of a plan's: the version of what they say.
constexpr uint64_t kDigest = 0x706f73747301u;

absl::Status Check(const cs_posts *posts) {
  if (posts == nullptr) return absl::FailedPreconditionError("there is no group: it has been left");
  if (posts->process == getpid()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "a group cannot be used in a forked process, which does not have its threads");
}

absl::StatusOr<std::unique_ptr<cs_posts>> Create(cs_job *given, double seconds) {
  if (!(seconds >= 0 && seconds <= 1e7))
    return absl::InvalidArgumentError(
        absl::StrCat("deadline must be a positive number of seconds, got: ", seconds));
  auto *job = given->job.get();
  auto connect = job->NextConnection(kDigest);
  if (!connect.ok()) return connect.status();
  const rt::Place place{job->rank(), job->size()};
  const absl::Duration deadline = seconds > 0 ? absl::Seconds(seconds) : given->deadline;
  auto relay = std::make_shared<rt::PeerFailureRelay>();
  std::unique_ptr<rt::Transport> transport;
  if (place.size > 1) {
    rt::TransportOptions options;
    options.rank = place.rank;
    options.nodes = place.size;
    options.plan_digest = kDigest;
    options.connect_deadline = given->deadline;
    options.on_peer_failure = [relay](int peer, const absl::Status &why) { relay->Report(peer, why); };
    auto connected = (*connect)(std::move(options));
    if (!connected.ok()) return connected.status();
    transport = *std::move(connected);
  }
  auto posts = std::make_unique<cs_posts>();
  posts->posts = std::make_unique<rt::Posts>(place, std::move(transport), std::move(relay), deadline);
  return posts;
}

absl::StatusOr<rt::Post> PostOf(const cs_post_options &given, int size) {
  rt::Post post;
  post.key = given.key != nullptr ? given.key : "";
  if (given.kind < CS_ALL_REDUCE || given.kind > CS_BARRIER)
    return absl::InvalidArgumentError(absl::StrCat("kind must be 0 to ", int(CS_BARRIER), ", got: ", given.kind));
  post.kind = rt::Post::Kind(given.kind);
  if (post.kind != rt::Post::kBarrier) {
    if (given.element < CS_F64 || given.element > CS_I8)
      return absl::InvalidArgumentError(
          absl::StrCat("element must be 1 to ", int(CS_I8), ", got: ", given.element));
    post.element = ops::Element(given.element);
  }
  if (post.kind == rt::Post::kAllReduce || post.kind == rt::Post::kReduceScatter) {
    if (given.combine < CS_SUM || given.combine > CS_MEAN)
      return absl::InvalidArgumentError(
          absl::StrCat("combine must be 1 to ", int(CS_MEAN), ", got: ", given.combine));
    post.mean = given.combine == CS_MEAN;
    post.combine = post.mean ? ops::Combine::kSum : ops::Combine(given.combine);
  }
  post.priority = given.priority;
  post.peer = given.peer;
  post.input = static_cast<const std::byte *>(given.input);
  post.output = static_cast<std::byte *>(given.output);
  post.count = given.count;
  if (post.kind == rt::Post::kAllToAll && given.send_counts != nullptr && given.receive_counts != nullptr) {
    post.send_counts.assign(given.send_counts, given.send_counts + size);
    post.receive_counts.assign(given.receive_counts, given.receive_counts + size);
  }
  return post;
}

}  // namespace

extern "C" {

cs_posts *cs_posts_create(cs_job *job, double deadline_seconds) {
  absl::Status status = commsched::CheckProcess();
  if (status.ok()) status = commsched::CheckJob(job);
  if (!status.ok()) return Finished(status), nullptr;
  commsched::Counted counted;
  auto posts = Create(job, deadline_seconds);
  if (Finished(posts.status()) != 0) return nullptr;
  counted.Keep();
  return posts->release();
}

int cs_posts_post(cs_posts *posts, const cs_post_options *given, uint64_t *number) {
  if (absl::Status s = Check(posts); !s.ok()) return Finished(s);
  auto options = commsched::Copied(given, "cs_post_options");
  if (!options.ok()) return Finished(options.status());
  auto post = PostOf(*options, posts->posts->place().size);
  if (!post.ok()) return Finished(post.status());
  auto begun = posts->posts->Begin(*post);
  if (begun.ok()) *number = *begun;
  return Finished(begun.status());
}

int cs_posts_wait(cs_posts *posts, uint64_t number, double seconds) {
  if (absl::Status s = Check(posts); !s.ok()) return Finished(s);
  auto done = posts->posts->Wait(number, absl::Seconds(seconds));
  if (!done.ok()) return Finished(done.status());
  Finished(absl::OkStatus());
  return *done ? 0 : 2;
}

int cs_posts_wait_any(cs_posts *posts, const uint64_t *numbers, size_t count, double seconds,
                      size_t *which) {
  if (absl::Status s = Check(posts); !s.ok()) return Finished(s);
  auto done = posts->posts->WaitAny(absl::MakeConstSpan(numbers, count), absl::Seconds(seconds));
  if (!done.ok()) return Finished(done.status());
  Finished(absl::OkStatus());
  if (!done->has_value()) return 2;
  *which = **done;
  return 0;
}

int cs_posts_cancel(cs_posts *posts, const char *why) {
  if (absl::Status s = Check(posts); !s.ok()) return Finished(s);
  posts->posts->Cancel(absl::AbortedError(why != nullptr ? why : ""));
  return Finished(absl::OkStatus());
}

uint64_t cs_posts_bytes_sent(const cs_posts *posts) {
  return Check(posts).ok() ? posts->posts->bytes_sent() : 0;
}

void cs_posts_destroy(cs_posts *posts) {
  if (posts == nullptr || posts->process != getpid()) return;
  delete posts;
  commsched::Counted::Gone();
}

}  // extern "C"
