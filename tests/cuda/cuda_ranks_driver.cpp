// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks of a plan that each are a session of their own, connected as if they were in processes of
// their own, in one process: for libraries that know nothing of other processes. One line for each
// rank: a digest of its parameters and state, or its error.
//
//   cuda_ranks_driver PLAN INIT BATCH STEPS

#include "runtime/data/dataset.h"
#include "runtime/data/tensor_file.h"
#include "runtime/session/checkpoint.h"
#include "runtime/session/session.h"
#include "runtime/transport/in_process_transport.h"

#include <cstdio>
#include <thread>

using namespace commsched::runtime;

static absl::StatusOr<uint64_t> train(std::shared_ptr<const PlanImage> image, std::shared_ptr<InProcessHub> hub,
                                      int rank, char **arguments) {
  SessionOptions options;
  options.cuda_device = rank;
  auto session = Session::OneRank(
      image, rank, [&](TransportOptions connection) { return ConnectInProcess(hub, std::move(connection)); }, options);
  if (!session.ok())
    return session.status();
  auto initial = ReadTensorFile(arguments[2]);
  if (!initial.ok())
    return initial.status();
  if (absl::Status set = SetSlots(session->get(), *initial, true); !set.ok())
    return set;
  auto step = FindFunction((*session)->program(), nullptr);
  if (!step.ok())
    return step.status();
  auto data = Dataset::Open(arguments[3], (*session)->program().functions[size_t(*step)], image->nodes(), {});
  if (!data.ok())
    return data.status();
  for (uint64_t i = 0, steps = std::strtoull(arguments[4], nullptr, 10); i < steps; ++i) {
    (*data)->Seek(i);
    if (auto call = (*session)->Call(*step, data->get()); !call.ok())
      return call.status();
  }
  uint64_t digest = 0xcbf29ce484222325;
  for (uint32_t v = 0; v < (*session)->values().size(); ++v) {
    std::vector<std::byte> value((*session)->values()[v].type.bytes);
    if (absl::Status got = (*session)->GetValue(v, absl::MakeSpan(value)); !got.ok())
      return got;
    for (std::byte byte : value)
      digest = (digest ^ uint64_t(byte)) * 0x100000001b3;
  }
  return digest;
}

int main(int argc, char **argv) {
  if (argc != 5) {
    std::fprintf(stderr, "cuda_ranks_driver: needs PLAN INIT BATCH STEPS\n");
    return 1;
  }
  auto image = PlanImage::LoadFile(argv[1]);
  if (!image.ok()) {
    std::fprintf(stderr, "cuda_ranks_driver: %s\n", std::string(image.status().message()).c_str());
    return 1;
  }
  auto hub = MakeInProcessHub((*image)->nodes());
  std::vector<std::string> lines(size_t((*image)->nodes()));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < (*image)->nodes(); ++rank)
    ranks.emplace_back([&, rank] {
      auto digest = train(*image, hub, rank, argv);
      lines[size_t(rank)] = digest.ok() ? std::to_string(*digest) : std::string(digest.status().message());
    });
  for (std::thread &rank : ranks)
    rank.join();
  for (const std::string &line : lines)
    std::printf("%s\n", line.c_str());
}
