// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "llvm/ADT/StringExtras.h"

#include "passes/profile/Readers.h"

using namespace mlir;
using namespace commsched::profile;

namespace {

/// Columns of a layer, in ns and bytes.
enum Column {
  kName,
  kDependence,
  kForwardTime,
  kForwardKind,
  kForwardBytes,
  kInputTime,
  kInputKind,
  kInputBytes,
  kWeightTime,
  kWeightKind,
  kWeightBytes,
  kUpdateTime,
  kColumns
};
constexpr StringRef kColumnNames[] = {
    "name", "dependency", "forward_compute_time", "forward_comm",
    "forward_comm_size", "input_gradient_compute_time", "input_gradient_comm",
    "input_gradient_comm_size", "weight_gradient_compute_time",
    "weight_gradient_comm", "weight_gradient_comm_size", "update_time"};

void addTo(Profile &profile, Layer layer) {
  if (!profile.empty())
    layer.uses = {{static_cast<unsigned>(profile.size() - 1), std::nullopt}};
  profile.push_back(std::move(layer));
}

class WorkloadReader {
public:
  explicit WorkloadReader(const ProfileText &text) : text(text) {}

  FailureOr<Profile> run(ArrayRef<StringRef> lines) {
    uint64_t count;
    if (lines.size() < 2 || lines[1].trim().getAsInteger(10, count))
      return text.error(lines.size() < 2 ? lines.back() : lines[1])
             << "line 2 must be the number of layers";
    lines = lines.drop_front(2);
    if (count != lines.size() || lines.empty())
      return emitError(text.atFile()) << "number of layers must match line 2, "
                                      << count << ", got: " << lines.size();
    for (StringRef line : lines)
      if (failed(readLayer(line)))
        return failure();
    if (!gather.empty() && !scatters)
      return text.error(gather) << "field " << kColumnNames[kWeightKind]
                                << " must be NONE, ALLREDUCE or REDUCESCATTER where no gradient goes by REDUCESCATTER, got: '" << gather << "'";
    if (gathers > 0)
      emitWarning(text.atFile())
          << "leaving out " << gathers << " all-gathers of new values: gradients are all-reduced, after which every rank has them";
    if (left > 0)
      emitWarning(text.atFile())
          << "leaving out " << left << " collectives within one replica of the "
          << "model, of " << leftBytes
          << " bytes together: the program is for one device";
    return std::move(profile);
  }

private:
  LogicalResult readLayer(StringRef line);

  const ProfileText &text;
  Profile profile;
  int64_t left = 0, leftBytes = 0;
  bool scatters = false; ///< gradients, of which each rank then updates its part
  int64_t gathers = 0;   ///< of new values behind that
  StringRef gather;      ///< the first
};

LogicalResult WorkloadReader::readLayer(StringRef line) {
  SmallVector<StringRef> fields;
  line.split(fields, '\t');
  if (fields.size() != kColumns)
    return text.error(line) << "layer must have " << int(kColumns)
                            << " fields with tabs between them, got: "
                            << fields.size();
  if (fields[kDependence] != "-1")
    return text.error(fields[kDependence])
           << "field dependency must be -1, the layer before, got: '"
           << fields[kDependence] << "'";
  int64_t times[kColumns] = {};
  for (Column column : {kForwardTime, kInputTime, kWeightTime, kUpdateTime}) {
    FailureOr<int64_t> ns = text.readTime(kColumnNames[column], fields[column], 1);
    if (failed(ns))
      return failure();
    times[column] = *ns;
  }
  for (Column column : {kForwardBytes, kInputBytes, kWeightBytes}) {
    FailureOr<int64_t> size = text.readBytes(kColumnNames[column], fields[column]);
    if (failed(size))
      return failure();
    bool none = fields[column - 1] == "NONE";
    if (none && *size != 0)
      return text.error(fields[column])
             << "field " << kColumnNames[column]
             << " must be 0 without a collective, got: " << *size;
    if (!none && column != kWeightBytes) {
      ++left;
      leftBytes += *size;
    }
  }
  std::string name =
      (fields[kName] + "." + Twine(static_cast<unsigned>(profile.size()))).str();
  Layer layer(name, text.at(line));
  layer.forwardNs = times[kForwardTime];
  layer.backwardNs = times[kInputTime] + times[kWeightTime];
  StringRef kind = fields[kWeightKind];
  if (kind == "ALLGATHER") {
    if (gathers++ == 0)
      gather = kind;
  } else if (kind == "ALLREDUCE" || kind == "REDUCESCATTER") {
    scatters |= kind == "REDUCESCATTER";
    FailureOr<int64_t> size = text.readFloatBytes(kColumnNames[kWeightBytes],
                                                  fields[kWeightBytes]);
    if (failed(size))
      return failure();
    if (*size > 0)
      layer.parameters = {{name + ".parameters", {*size / 4}}};
    layer.updateNs = times[kUpdateTime];
  } else if (kind != "NONE") {
    return text.error(kind)
           << "field " << kColumnNames[kWeightKind]
           << " must be NONE, ALLREDUCE or REDUCESCATTER, got: '" << kind << "'";
  }
  addTo(profile, std::move(layer));
  return success();
}

/// The list of collectives; columns are known by their names.
FailureOr<Profile> readCollectives(const ProfileText &text,
                                   ArrayRef<StringRef> lines) {
  auto split = [](StringRef line) {
    SmallVector<StringRef> fields;
    line.split(fields, ',');
    return fields;
  };
  SmallVector<StringRef> names = split(lines.front());
  auto find = [&](StringRef name) {
    return llvm::find(names, name) - names.begin();
  };
  size_t kind = find("comm_type"), size = find("msg_size"), stage = find("stage");
  for (StringRef name : {"comm_type", "msg_size", "stage"})
    if (!llvm::is_contained(names, name))
      return text.error(lines.front()) << "column " << name << " is missing";
  Profile profile;
  for (StringRef line : lines.drop_front()) {
    SmallVector<StringRef> fields = split(line);
    if (fields.size() != names.size())
      return text.error(line) << "line must have " << names.size()
                              << " fields, got: " << fields.size();
    if (fields[kind] != "CommType.broadcast" || fields[stage] != "init")
      continue;
    FailureOr<int64_t> bytes = text.readFloatBytes("msg_size", fields[size]);
    if (failed(bytes))
      return failure();
    if (*bytes == 0)
      return text.error(fields[size]) << "field msg_size must not be 0";
    std::string number = std::to_string(profile.size());
    Layer layer("tensor" + number, text.at(line));
    layer.parameters = {{"parameter" + number, {*bytes / 4}}};
    addTo(profile, std::move(layer));
  }
  if (profile.empty())
    return emitError(text.atFile())
           << "must have broadcasts of stage 'init', which list the parameters";
  return profile;
}

} // namespace

FailureOr<Profile> commsched::profile::readAicb(const ProfileText &text) {
  std::vector<StringRef> lines = text.getLines();
  if (lines.empty())
    return emitError(text.atFile(), "profile is empty");
  ArrayRef<StringRef> rest = lines;
  if (rest.size() > 1 && rest[0].starts_with("[rank"))
    rest = rest.drop_front();
  if (rest[0].starts_with("comm_type,"))
    return readCollectives(text, rest);
  return WorkloadReader(text).run(rest);
}
