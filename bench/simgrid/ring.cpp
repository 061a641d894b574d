// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A ring all-reduce in SimGrid (S4U), for bench/simulator.py: RANKS actors, each on a
// host with a link of its own in both directions to a switch. In each of the
// 2 (RANKS - 1) rounds every actor sends BYTES / RANKS bytes to the next one and
// receives as many from the one before.
//
//   ring RANKS BYTES MBIT_PER_S LATENCY_NS STEPS
//
// Prints one line of JSON: simulated seconds of all steps, messages, and the wall-clock
// seconds of the simulation without making the platform.
#include <simgrid/s4u.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

void rank(int self, int ranks, double bytes, int steps) {
  sg4::Mailbox *to = sg4::Mailbox::by_name(std::to_string((self + 1) % ranks));
  sg4::Mailbox *from = sg4::Mailbox::by_name(std::to_string(self));
  static int payload;
  for (int step = 0; step < steps; ++step)
    for (int round = 0; round < 2 * (ranks - 1); ++round) {
      int *received = nullptr;
      sg4::CommPtr get = from->get_async<int>(&received);
      sg4::CommPtr put = to->put_async(&payload, static_cast<uint64_t>(bytes / ranks));
      put->wait();
      get->wait();
    }
}

}  // namespace

int main(int argc, char **argv) {
  sg4::Engine engine(&argc, argv);
  if (argc != 6) {
    std::fprintf(stderr, "usage: ring RANKS BYTES MBIT_PER_S LATENCY_NS STEPS\n");
    return 2;
  }
  const int ranks = std::atoi(argv[1]), steps = std::atoi(argv[5]);
  const double bytes = std::atof(argv[2]), rate = std::atof(argv[3]) * 1e6 / 8;
  const double latency = std::atof(argv[4]) / 1e9;
  // The bytes, and nothing else: no TCP window, no share of acknowledgements.
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/crosstraffic:0");
  sg4::Engine::set_config("network/TCP-gamma:0");
  sg4::NetZone *zone = sg4::create_star_zone("star");
  std::vector<sg4::Host *> hosts;
  for (int i = 0; i < ranks; ++i) {
    sg4::Host *host = zone->create_host("host" + std::to_string(i), 1e9);
    sg4::SplitDuplexLink *link =
        zone->create_split_duplex_link("link" + std::to_string(i), rate);
    link->set_latency(latency / 2)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                    {{link, sg4::LinkInRoute::Direction::UP}}, true);
    hosts.push_back(host);
  }
  zone->seal();
  for (int i = 0; i < ranks; ++i)
    sg4::Actor::create("rank" + std::to_string(i), hosts[static_cast<size_t>(i)], rank, i,
                       ranks, bytes, steps);
  const auto begin = std::chrono::steady_clock::now();
  engine.run();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("{\"simulated_s\": %.9f, \"messages\": %lld, \"seconds\": %.6f}\n",
              sg4::Engine::get_clock(), 2LL * (ranks - 1) * ranks * steps, seconds);
  return 0;
}
