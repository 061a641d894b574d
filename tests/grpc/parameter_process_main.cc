// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trainer or a parameter server in a process of its own, for
// parameter_faults_test. Ends with status 0, or prints its error and ends
// with 1.
//   grpc_test_parameter_process ROLE INDEX NAME=VALUE...
//     servers=ADDRESS,...   trainers=N   ends=STEPS,... (of each trainer)
//     tls=FOLDER identity=NAME    ca.pem, NAME.pem and NAME.key in it
//     checkpoint=FILE every=STEPS
//     die=STEP              server: kill -9 between sum and update of block 1
//     pause=STEP            trainer: says "paused" before that step and waits
//     deadline=SECONDS grace=SECONDS keepalive=SECONDS
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/grpc/parameter_test_util.h"

namespace commsched::transport {
namespace {

class Arguments {
 public:
  Arguments(int argc, char **argv) {
    for (int i = 3; i < argc; ++i) {
      std::pair<std::string, std::string> pair =
          absl::StrSplit(argv[i], absl::MaxSplits('=', 1));
      values_.insert(pair);
    }
  }
  bool has(const std::string &name) const { return values_.contains(name); }
  std::string text(const std::string &name) const {
    auto at = values_.find(name);
    return at == values_.end() ? "" : at->second;
  }
  uint64_t number(const std::string &name, uint64_t otherwise) const {
    uint64_t value = 0;
    return absl::SimpleAtoi(text(name), &value) ? value : otherwise;
  }
  absl::Duration seconds(const std::string &name, double otherwise) const {
    double value = 0;
    return absl::Seconds(absl::SimpleAtod(text(name), &value) ? value
                                                              : otherwise);
  }

 private:
  std::map<std::string, std::string> values_;
};

void Secure(const Arguments &arguments, SecurityOptions &security) {
  if (!arguments.has("tls")) return;
  const std::string folder = arguments.text("tls") + "/";
  const std::string identity = arguments.text("identity");
  security.ca_file = folder + "ca.pem";
  security.certificate_file = folder + identity + ".pem";
  security.key_file = folder + identity + ".key";
}

void Say(const char *what) {
  std::puts(what);
  std::fflush(stdout);
}

absl::Status Serve(const std::vector<std::string> &servers, int index,
                   int trainers, const Arguments &arguments) {
  FakeParameterServer server(trainers, TestBlocks(), TestRows());
  auto options = ServiceOptions(servers, index, trainers);
  Secure(arguments, options.security);
  options.checkpoint = arguments.text("checkpoint");
  options.checkpoint_steps = arguments.number("every", 0);
  server.cut_every = arguments.number("every", 3);
  options.grace = arguments.seconds("grace", 20);
  options.keepalive = arguments.seconds("keepalive", 10);
  if (arguments.has("die"))
    server.before_update = [&](uint32_t block, uint64_t step) {
      if (block == 1 && step == arguments.number("die", 0)) raise(SIGKILL);
    };
  if (access(options.checkpoint.c_str(), F_OK) == 0) {
    if (absl::Status status = server.Restore(options.checkpoint); !status.ok())
      return status;
    Say("restored");
  }
  auto service = ParameterService::Start(&server, options);
  if (!service.ok()) return service.status();
  Say("listens");
  absl::Status status = (*service)->Wait();
  if (server.repeated() > 0) Say("dropped what came again");
  return status;
}

absl::Status TrainProcess(const std::vector<std::string> &servers, int index,
                          const std::vector<uint64_t> &ends,
                          const Arguments &arguments) {
  auto options = ClientOptions(servers, index, static_cast<int>(ends.size()));
  Secure(arguments, options.security);
  options.deadline = arguments.seconds("deadline", 60);
  options.keepalive = arguments.seconds("keepalive", 10);
  auto client = ConnectParameterServers(options);
  if (!client.ok()) return client.status();
  absl::Status status = Train(
      **client, static_cast<int>(servers.size()), index, ends,
      [&](uint64_t step) {
        if (!arguments.has("pause") || step != arguments.number("pause", 0))
          return;
        Say("paused");
        getchar();
      });
  if (!status.ok()) (*client)->Abort(status);
  (*client)->Close();
  return status;
}

int Main(int argc, char **argv) {
  const std::string role = argv[1];
  const int index = std::stoi(argv[2]);
  const Arguments arguments(argc, argv);
  const std::vector<std::string> servers =
      absl::StrSplit(arguments.text("servers"), ',');
  std::vector<uint64_t> ends;
  for (absl::string_view end :
       absl::StrSplit(arguments.text("ends"), ',', absl::SkipEmpty()))
    (void)absl::SimpleAtoi(end, &ends.emplace_back());
  const absl::Status status =
      role == "server"
          ? Serve(servers, index,
                  static_cast<int>(arguments.number("trainers", ends.size())),
                  arguments)
          : TrainProcess(servers, index, ends, arguments);
  if (status.ok()) return 0;
  std::printf("%s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace commsched::transport

int main(int argc, char **argv) {
  return commsched::transport::Main(argc, argv);
}
