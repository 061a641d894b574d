// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process of bench/transport.py: rank 1 sends messages to rank 0, which
// measures. Both ranks take the same arguments but --rank.
//
//   transport_driver --rank=R --peers=A,B --bytes=N --messages=N
//       [--window=N] [--sink] [--threads=N] [--chunk=N] [--round_trips]
//
// Rank 0 prints {"seconds": S, "messages": N, "bytes": N}: the time from the
// first receive to the completion of the last, after a warm-up of two windows.
// With --round_trips each message is answered, and only one is under way.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "grpc/ranks/grpc_transport.h"
#include "runtime/base/sync.h"

namespace {

using commsched::runtime::Clock;
using commsched::runtime::CondVar;
using commsched::runtime::MessageTag;
using commsched::runtime::Mutex;
using commsched::runtime::MutexLock;
using commsched::runtime::Transport;

[[noreturn]] void Die(const std::string &what) {
  std::cerr << "transport_driver: " << what << std::endl;
  std::exit(1);
}

struct Arguments {
  uint64_t rank = 0, bytes = 0, messages = 0, window = 4, threads = 1;
  uint64_t chunk = 0;
  bool sink = false, round_trips = false;
  std::vector<std::string> peers;
};

Arguments Parse(int argc, char **argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    std::pair<std::string, std::string> part =
        absl::StrSplit(argv[i], absl::MaxSplits('=', 1));
    uint64_t *number = nullptr;
    if (part.first == "--rank") number = &result.rank;
    if (part.first == "--bytes") number = &result.bytes;
    if (part.first == "--messages") number = &result.messages;
    if (part.first == "--window") number = &result.window;
    if (part.first == "--threads") number = &result.threads;
    if (part.first == "--chunk") number = &result.chunk;
    if (number != nullptr) {
      if (!absl::SimpleAtoi(part.second, number)) Die(argv[i]);
    } else if (part.first == "--peers") {
      result.peers = absl::StrSplit(part.second, ',');
    } else if (part.first == "--sink") {
      result.sink = true;
    } else if (part.first == "--round_trips") {
      result.round_trips = true;
    } else {
      Die(absl::StrCat("unknown argument ", argv[i]));
    }
  }
  if (result.peers.size() != 2 || result.rank > 1 || result.window == 0)
    Die("needs two peers, rank 0 or 1, and a window");
  return result;
}

// Keeps `window` operations under way until `count` have completed.
class Pipeline {
 public:
  using Start = std::function<void(uint64_t number, Transport::Done done)>;

  void Run(uint64_t count, uint64_t window, const Start &start) {
    for (uint64_t number = 0; number < count; ++number) {
      {
        MutexLock lock(&mu_);
        while (under_way_ >= window) changed_.Wait(&mu_);
        ++under_way_;
      }
      start(number, [this](absl::Status status) {
        if (!status.ok()) Die(status.ToString());
        MutexLock lock(&mu_);
        --under_way_;
        changed_.Signal();
      });
    }
    MutexLock lock(&mu_);
    while (under_way_ > 0) changed_.Wait(&mu_);
  }

 private:
  Mutex mu_;
  CondVar changed_;
  uint64_t under_way_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace

int main(int argc, char **argv) {
  const Arguments arguments = Parse(argc, argv);
  commsched::runtime::TransportOptions options;
  options.rank = static_cast<int>(arguments.rank);
  options.nodes = 2;
  options.peers = arguments.peers;
  commsched::transport::GrpcOptions grpc;
  grpc.threads = static_cast<int>(arguments.threads);
  grpc.shared_memory = false;  // it is the network that is measured
  if (arguments.chunk > 0) grpc.chunk_bytes = arguments.chunk;
  auto connected = commsched::transport::ConnectGrpc(options, grpc);
  if (!connected.ok()) Die(connected.status().ToString());
  Transport &transport = **connected;

  // Written once, so that all pages are there.
  std::vector<std::vector<std::byte>> buffers(
      arguments.window,
      std::vector<std::byte>(arguments.bytes, std::byte{1}));
  std::vector<uint64_t> sums(arguments.window);
  const int peer = 1 - options.rank;
  auto send = [&](uint64_t step, uint64_t number, Transport::Done done) {
    transport.Send(peer, MessageTag{.step = step}, 0,
                   buffers[number % arguments.window], std::move(done));
  };
  auto receive = [&](uint64_t step, uint64_t number, Transport::Done done) {
    const uint64_t slot = number % arguments.window;
    if (!arguments.sink) {
      transport.Recv(peer, MessageTag{.step = step},
                     absl::MakeSpan(buffers[slot]), std::move(done));
      return;
    }
    transport.RecvStream(
        peer, MessageTag{.step = step}, arguments.bytes, 1,
        [&sums, slot](size_t, absl::Span<const std::byte> piece) {
          uint64_t word = 0, sum = 0;
          for (size_t i = 0; i + 8 <= piece.size(); i += 8) {
            std::memcpy(&word, piece.data() + i, 8);
            sum += word;
          }
          sums[slot] += sum;
        },
        std::move(done));
  };

  const uint64_t warm_up = 2 * arguments.window;
  uint64_t step = 0;
  double seconds = 0;
  for (uint64_t count : {warm_up, arguments.messages}) {
    Pipeline pipeline;
    const Clock::time_point begin = Clock::now();
    if (arguments.round_trips) {
      for (uint64_t number = 0; number < count; ++number, ++step) {
        pipeline.Run(1, 1, [&](uint64_t, Transport::Done done) {
          options.rank == 0 ? receive(step, number, std::move(done))
                            : send(step, number, std::move(done));
        });
        pipeline.Run(1, 1, [&](uint64_t, Transport::Done done) {
          options.rank == 1 ? receive(step, number, std::move(done))
                            : send(step, number, std::move(done));
        });
      }
    } else {
      pipeline.Run(count, arguments.window,
                   [&](uint64_t number, Transport::Done done) {
                     options.rank == 0
                         ? receive(step + number, number, std::move(done))
                         : send(step + number, number, std::move(done));
                   });
      step += count;
    }
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  transport.Close();
  if (options.rank == 0)
    std::printf("{\"seconds\": %.6f, \"messages\": %llu, \"bytes\": %llu}\n",
                seconds, static_cast<unsigned long long>(arguments.messages),
                static_cast<unsigned long long>(arguments.bytes));
  return 0;
}
