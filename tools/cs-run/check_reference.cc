// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/check_reference.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/data/dataset.h"
#include "runtime/data/tensor_file.h"
#include "runtime/session/session.h"
#include "tools/cs-run/differences.h"
#include "tools/cs-run/interpret_steps.h"
#include "tools/cs-run/train.h"

namespace commsched::run {
namespace {

using Bytes = std::vector<std::byte>;

// Keeps what all ranks get, in the order of the global batch.
class Recorder : public runtime::BatchSource {
 public:
  struct Batch {
    runtime::TensorInfo type;  // of one worker
    Bytes data;
  };

  explicit Recorder(runtime::BatchSource *source) : source_(source) {}

  absl::StatusOr<runtime::BatchRows> Rows(const runtime::FunctionProgram &function,
                                          int rank, int nodes) override {
    auto rows = source_->Rows(function, rank, nodes);
    if (!rows.ok()) return rows;
    // A batch that some of them do not use has their parts all the same.
    const size_t devices = function.batch_devices, workers = devices * size_t(nodes);
    for (size_t b = 0; b < function.batches.size(); ++b) {
      const runtime::BatchArgument &argument = function.batches[b];
      Batch &batch = batches_[argument.name];
      batch.type = argument.type;
      const size_t bytes = argument.type.bytes;
      const size_t at =
          step_ * workers + size_t(rank) * devices + size_t(argument.device);
      const size_t needed = (step_ + 1) * workers * bytes;
      if (batch.data.size() < needed) batch.data.resize(needed);
      std::memcpy(batch.data.data() + at * bytes, rows->data[b], bytes);
    }
    return rows;
  }
  void SetStep(uint64_t step) { step_ = step; }
  const std::map<std::string, Batch> &batches() const { return batches_; }

 private:
  runtime::BatchSource *const source_;
  std::map<std::string, Batch> batches_;
  uint64_t step_ = 0;
};

// What the job had before the first step, and after each one that was asked for.
struct Made {
  std::vector<std::vector<Bytes>> values;  // by step and value
  std::vector<std::vector<double>> metrics;
  std::vector<std::string> metric_names;
};

class Check {
 public:
  Check(const Options &options, std::shared_ptr<const runtime::PlanImage> image)
      : options_(options), image_(std::move(image)), steps_(*options.steps) {}

  absl::Status Run();

 private:
  absl::Status CheckPlan() const;
  // The steps of a new session: one at a time, or all in one go.
  absl::StatusOr<Made> Steps(bool each);
  absl::StatusOr<std::vector<Bytes>> Values(runtime::Session *session) const;
  absl::Status WriteInputs(const Made &made);
  absl::StatusOr<runtime::TensorFile> Interpret(bool each);
  absl::Status CompareValues(const runtime::TensorFile &reference, uint64_t step,
                             const std::vector<Bytes> &before,
                             const std::vector<Bytes> &after);
  absl::Status CompareMetrics(const runtime::TensorFile &reference, const Made &made);

  const Options &options_;
  const std::shared_ptr<const runtime::PlanImage> image_;
  const uint64_t steps_;
  bool sums_gradients_ = false;  // of the workers
  size_t workers_ = 1;
  std::unique_ptr<Folder> folder_;
  std::optional<Recorder> recorder_;
  InterpretationFiles files_;
  std::vector<Difference> differences_;  // values, then metrics
};

absl::Status Check::CheckPlan() const {
  using runtime::ServersProgram;
  if (image_->servers().mode != ServersProgram::kSync && image_->nodes() > 1)
    return absl::InvalidArgumentError(
        "--check-against needs a plan that says which values each step takes: with "
        "asynchronous parameter servers that depends on time");
  for (const runtime::ValueInfo &value : image_->values())
    if (value.per_rank)
      return absl::InvalidArgumentError(absl::StrCat(
          "--check-against needs a plan that computes what the step says: \"", value.name,
          "\" is each rank's own, as of sparse gradients"));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Bytes>> Check::Values(runtime::Session *session) const {
  std::vector<Bytes> values;
  for (size_t v = 0; v < image_->values().size(); ++v) {
    values.emplace_back(image_->values()[v].type.bytes);
    if (absl::Status s = session->GetValue(uint32_t(v), absl::MakeSpan(values.back()));
        !s.ok())
      return s;
  }
  return values;
}

absl::StatusOr<Made> Check::Steps(bool each) {
  runtime::SessionOptions session_options;
  session_options.deadline = options_.deadline;
  auto session = runtime::Session::InProcess(image_, session_options);
  if (!session.ok()) return session.status();
  if (absl::Status s = InitialValues(options_, session->get()); !s.ok()) return s;
  absl::StatusOr<int> step = FindFunction((*session)->program(), nullptr);
  if (!step.ok()) return step.status();
  const runtime::FunctionProgram &function =
      (*session)->program().functions[size_t(*step)];
  sums_gradients_ = function.sums_gradients;
  // Without samples, what is added up is counted for each device all the same.
  const bool has_parts = !function.batches.empty() || function.reads_index;
  workers_ = size_t(image_->nodes()) *
             (has_parts ? function.batch_devices : std::max(1u, image_->plan().cluster().devices()));
  std::unique_ptr<runtime::Dataset> data;
  if (!function.batches.empty()) {
    if (options_.batch.empty())
      return absl::InvalidArgumentError(absl::StrCat("function @", function.name,
                                                     " needs batch \"",
                                                     function.batches[0].name,
                                                     "\": give --batch"));
    auto opened = runtime::Dataset::Open(options_.batch, function, image_->nodes(),
                                         {options_.shuffle, options_.seed});
    if (!opened.ok()) return opened.status();
    data = *std::move(opened);
    if (each) recorder_.emplace(data.get());
  }
  Made made;
  for (const auto &output : function.outputs) made.metric_names.push_back(output.metric);
  auto keep = [&]() -> absl::Status {
    auto values = Values(session->get());
    if (values.ok()) made.values.push_back(*std::move(values));
    return values.status();
  };
  if (each)
    if (absl::Status s = keep(); !s.ok()) return s;
  std::vector<uint64_t> calls;
  for (uint64_t s = 0; s < steps_; ++s) {
    runtime::BatchSource *source = data.get();
    if (data != nullptr) data->Seek(s);
    if (each && recorder_) {
      recorder_->SetStep(s);
      source = &*recorder_;
    }
    auto call = (*session)->Call(*step, source);
    if (!call.ok()) return call.status();
    calls.push_back(*call);
    if (!each) continue;
    if (absl::Status drained = (*session)->Drain(); !drained.ok()) return drained;
    if (absl::Status kept = keep(); !kept.ok()) return kept;
  }
  for (uint64_t call : calls) {
    auto metrics = (*session)->Metrics(call);
    if (!metrics.ok()) return metrics.status();
    made.metrics.push_back(*std::move(metrics));
  }
  if (!each)
    if (absl::Status s = keep(); !s.ok()) return s;
  return made;
}

// "s:NAME" before step s, and for a run of all steps "NAME"; the samples of all.
absl::Status Check::WriteInputs(const Made &made) {
  std::vector<runtime::TensorToWrite> tensors;
  for (uint64_t s = 0; s <= steps_; ++s)
    for (size_t v = 0; v < image_->values().size(); ++v) {
      const runtime::ValueInfo &value = image_->values()[v];
      tensors.push_back({absl::StrCat(s, ":", value.name), value.type, made.values[s][v]});
      if (s == 0) tensors.push_back({value.name, value.type, made.values[s][v]});
    }
  if (absl::Status s = runtime::WriteSafetensors(files_.values, tensors, {}); !s.ok()) return s;
  tensors.clear();
  if (recorder_)
    for (const auto &[name, batch] : recorder_->batches()) {
      runtime::TensorInfo type = batch.type;
      const int64_t count = int64_t(steps_ * workers_);
      type.shape[0] *= count;
      type.elements *= count;
      type.bytes = batch.data.size();
      tensors.push_back({name, type, batch.data});
    }
  return runtime::WriteSafetensors(files_.batches, tensors, {});
}

absl::StatusOr<runtime::TensorFile> Check::Interpret(bool each) {
  return InterpretSteps(options_.check_against, steps_, workers_, sums_gradients_, each, files_);
}

absl::Status Check::CompareValues(const runtime::TensorFile &reference, uint64_t step,
                                  const std::vector<Bytes> &before,
                                  const std::vector<Bytes> &after) {
  for (size_t v = 0; v < after.size(); ++v) {
    const runtime::ValueInfo &value = image_->values()[v];
    const std::string name = absl::StrCat(step, ":", value.name);
    auto wanted = reference.tensors.find(name);
    auto bounds = reference.tensors.find(name + ".bound");
    if (wanted == reference.tensors.end() || bounds == reference.tensors.end()) {
      // Not of the step, which leaves it as it is.
      const Bytes exact(size_t(value.type.elements) * sizeof(double));
      Compare(value.type.element, after[v], before[v], exact, step, &differences_[v]);
      continue;
    }
    if (!(wanted->second.type == value.type))
      return absl::InvalidArgumentError(
          absl::StrCat("\"", value.name, "\" must match ", ToString(wanted->second.type),
                       " of ", options_.check_against, ", got: ", ToString(value.type)));
    Compare(value.type.element, after[v], wanted->second.data, bounds->second.data, step,
            &differences_[v]);
  }
  return absl::OkStatus();
}

absl::Status Check::CompareMetrics(const runtime::TensorFile &reference, const Made &made) {
  for (size_t i = 0; i < made.metric_names.size(); ++i) {
    Difference &difference = differences_[image_->values().size() + i];
    for (uint64_t s = 1; s <= steps_; ++s) {
      const std::string name = absl::StrCat(s, ":metric:", made.metric_names[i]);
      auto wanted = reference.tensors.find(name);
      auto bounds = reference.tensors.find(name + ".bound");
      if (wanted == reference.tensors.end() || bounds == reference.tensors.end())
        return absl::InvalidArgumentError(absl::StrCat(
            options_.check_against, " has no metric \"", made.metric_names[i], "\""));
      // Metrics are the first element, as a double.
      const double value =
          ops::ReadElement(wanted->second.type.element, wanted->second.data.data());
      const double found = made.metrics[s - 1][i];
      auto bytes = [](const double &number) {
        return absl::MakeConstSpan(reinterpret_cast<const std::byte *>(&number),
                                   sizeof(number));
      };
      Compare(ops::Element::kF64, bytes(found), bytes(value),
              bounds->second.data.first(sizeof(double)), s, &difference);
    }
  }
  return absl::OkStatus();
}

absl::Status Check::Run() {
  if (absl::Status s = CheckPlan(); !s.ok()) return s;
  auto folder = Folder::Make();
  if (!folder.ok()) return folder.status();
  folder_ = *std::move(folder);
  files_ = {folder_->File("values.safetensors"), folder_->File("batches.safetensors"),
            folder_->File("reference.safetensors"), folder_->File("errors")};

  auto made = Steps(/*each=*/true);
  if (!made.ok()) return made.status();
  if (absl::Status s = WriteInputs(*made); !s.ok()) return s;
  auto reference = Interpret(/*each=*/true);
  if (!reference.ok()) return reference.status();
  for (const runtime::ValueInfo &value : image_->values())
    differences_.emplace_back().name = value.name;
  for (const std::string &name : made->metric_names)
    differences_.emplace_back().name = "metric " + name;
  for (uint64_t s = 1; s <= steps_; ++s)
    if (absl::Status status =
            CompareValues(*reference, s, made->values[s - 1], made->values[s]);
        !status.ok())
      return status;
  if (absl::Status s = CompareMetrics(*reference, *made); !s.ok()) return s;

  // As the job runs, steps overlap. The bits are the same, as a rule: then that is
  // checked, too. If not, the values are those of all steps together.
  if (steps_ > 1) {
    auto together = Steps(/*each=*/false);
    if (!together.ok()) return together.status();
    if (together->values[0] != made->values[steps_]) {
      auto all = Interpret(/*each=*/false);
      if (!all.ok()) return all.status();
      if (absl::Status s = CompareValues(*all, steps_, made->values[steps_ - 1],
                                         together->values[0]);
          !s.ok())
        return s;
    }
  }
  std::fputs(Table(differences_).c_str(), stdout);
  if (!options_.check_json.empty()) {
    std::ofstream file(options_.check_json);
    file << ToJson(differences_);
    if (!file.flush())
      return absl::UnavailableError(absl::StrCat("cannot write ", options_.check_json));
  }
  if (absl::Status s = Verdict(differences_, steps_, options_.check_against); !s.ok())
    return s;
  std::printf("%s\n", Summary(differences_, steps_, options_.check_against).c_str());
  return absl::OkStatus();
}

}  // namespace

std::map<std::string, std::function<absl::Status(const std::string &)>>
CheckReferenceSetters(Options *options) {
  return {{"--check-against",
           [options](const std::string &value) {
             options->check_against = value;
             return absl::OkStatus();
           }},
          {"--check-json", [options](const std::string &value) {
             options->check_json = value;
             return absl::OkStatus();
           }}};
}

absl::Status CheckCheckReference(const Options &o) {
  auto bad = [](absl::string_view text) { return absl::InvalidArgumentError(text); };
  if (o.check_against.empty()) return absl::OkStatus();
  if (!o.steps || *o.steps == 0) return bad("--check-against needs --steps");
  if (o.spawn != 0 || o.rank >= 0 || !o.role.empty() || o.has_servers() ||
      (!o.transport.empty() && o.transport != "in-process"))
    return bad(
        "--check-against runs all ranks in this process: it goes without --spawn, "
        "--rank, --role, --servers and --transport");
  return absl::OkStatus();
}

absl::Status CheckAgainst(const Options &options,
                          std::shared_ptr<const runtime::PlanImage> image) {
  return Check(options, std::move(image)).Run();
}

}  // namespace commsched::run
