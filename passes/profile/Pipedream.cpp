// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <queue>

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include "passes/profile/LayerShapes.h"
#include "passes/profile/Readers.h"

using namespace mlir;
using namespace commsched::profile;

namespace {

constexpr StringRef kSeparator = " -- ";
constexpr StringRef kFields[] = {"forward_compute_time", "backward_compute_time",
                                 "activation_size", "parameter_size"};

struct Node {
  uint64_t number;
  StringRef op;
  Layer layer;
  std::vector<unsigned> from; ///< nodes, in the order of the edges
};

class PipedreamReader {
public:
  explicit PipedreamReader(const ProfileText &text) : text(text) {}

  FailureOr<Profile> run() {
    for (StringRef line : text.getLines()) {
      bool isEdge = line.front() == ' ' || line.front() == '\t';
      if (failed(isEdge ? readEdge(line.trim()) : readNode(line)))
        return failure();
    }
    if (nodes.empty())
      return text.error(text.getText()) << "profile has no nodes";
    return sort();
  }

private:
  LogicalResult readNode(StringRef line);
  LogicalResult readFields(StringRef fields, Node &node, int64_t &parameterBytes);
  LogicalResult readEdge(StringRef line);
  FailureOr<Profile> sort();

  const ProfileText &text;
  std::vector<Node> nodes;
  llvm::StringMap<unsigned> numbers; ///< by name
  llvm::DenseSet<std::pair<unsigned, unsigned>> edges;
};

LogicalResult PipedreamReader::readNode(StringRef line) {
  auto [name, rest] = line.split(kSeparator);
  size_t stage = rest.rfind(" -- stage_id=");
  if (stage != StringRef::npos)
    rest = rest.take_front(stage);
  auto [op, fields] = rest.rsplit(kSeparator);
  if (fields.empty())
    return text.error(line)
           << "line must be 'nodeN -- op -- fields', or, indented, 'nodeN -- "
              "nodeN', got: '"
           << line.take_front(80) << "'";
  Node node{0, op, Layer(name.str(), text.at(line)), {}};
  StringRef digits = name;
  if (!digits.consume_front("node") || digits.getAsInteger(10, node.number))
    return text.error(line) << "node must be named 'node' and a number, got: '"
                            << name << "'";
  if (!numbers.try_emplace(name, nodes.size()).second)
    return text.error(line) << "node " << name << " is there twice";
  int64_t parameterBytes = 0;
  if (failed(readFields(fields, node, parameterBytes)))
    return failure();
  // "Input0"; a module may have a name that begins so.
  StringRef number = op;
  node.layer.isInput = number.consume_front("Input") && llvm::all_of(number, llvm::isDigit);
  if (node.layer.isInput && parameterBytes != 0)
    return text.error(line) << "field parameter_size of an input must be 0, got: "
                            << parameterBytes;
  node.layer.parameters = readParameters(op, parameterBytes, name);
  nodes.push_back(std::move(node));
  return success();
}

LogicalResult PipedreamReader::readFields(StringRef fields, Node &node,
                                          int64_t &parameterBytes) {
  constexpr double kMillisecond = 1e6;
  llvm::StringMap<StringRef> values;
  SmallVector<StringRef> parts;
  fields.split(parts, ", ");
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    if (!values.try_emplace(key.trim(), value.trim()).second)
      return text.error(part) << "field " << key.trim() << " is there twice";
    if (!llvm::is_contained(kFields, key.trim()))
      return text.error(part) << "field must be one of "
                              << llvm::join(ArrayRef(kFields), ", ") << ", got: '"
                              << key.trim() << "'";
  }
  auto time = [&](StringRef key, int64_t &out) -> LogicalResult {
    auto value = values.find(key);
    if (value == values.end())
      return text.error(fields) << "field " << key << " is missing";
    FailureOr<int64_t> ns = text.readTime(key, value->second, kMillisecond);
    return failed(ns) ? failure() : (out = *ns, success());
  };
  if (failed(time("forward_compute_time", node.layer.forwardNs)) ||
      failed(time("backward_compute_time", node.layer.backwardNs)))
    return failure();
  for (StringRef key : {"activation_size", "parameter_size"})
    if (!values.count(key))
      return text.error(fields) << "field " << key << " is missing";
  StringRef sizes = values["activation_size"];
  if (sizes.consume_front("[") && !sizes.consume_back("]"))
    return text.error(sizes) << "field activation_size must end in ']', got: '"
                             << sizes << "'";
  SmallVector<StringRef> items;
  sizes.split(items, ';');
  for (StringRef item : items) {
    FailureOr<int64_t> bytes = text.readBytes("activation_size", item.trim());
    if (failed(bytes))
      return failure();
    node.layer.activationBytes.push_back(*bytes);
  }
  FailureOr<int64_t> bytes =
      text.readFloatBytes("parameter_size", values["parameter_size"]);
  if (failed(bytes))
    return failure();
  parameterBytes = *bytes;
  return success();
}

LogicalResult PipedreamReader::readEdge(StringRef line) {
  auto [from, to] = line.split(kSeparator);
  for (StringRef name : {from, to})
    if (!numbers.count(name))
      return text.error(line) << "edge must be between nodes of lines before, "
                                 "got: '"
                              << name << "'";
  std::pair<unsigned, unsigned> edge(numbers[from], numbers[to]);
  if (!edges.insert(edge).second)
    return text.error(line) << "edge " << from << " -- " << to << " is there twice";
  if (nodes[edge.second].layer.isInput)
    return text.error(line) << "edge must not lead to an input, got: " << to;
  nodes[edge.second].from.push_back(edge.first);
  return success();
}

/// Topologically; the lowest number of those that could run comes first.
FailureOr<Profile> PipedreamReader::sort() {
  std::vector<std::vector<unsigned>> users(nodes.size());
  std::vector<unsigned> missing(nodes.size()), place(nodes.size());
  using Ready = std::pair<uint64_t, unsigned>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (auto [i, node] : llvm::enumerate(nodes)) {
    missing[i] = node.from.size();
    for (unsigned from : node.from)
      users[from].push_back(i);
    if (missing[i] == 0)
      ready.emplace(node.number, i);
  }
  Profile profile;
  while (!ready.empty()) {
    Node &node = nodes[ready.top().second];
    unsigned index = ready.top().second;
    ready.pop();
    place[index] = profile.size();
    StringRef item = node.op;
    unsigned value;
    bool isItem = item.consume_front("__getitem__(") &&
                  item.consume_back(")") && !item.getAsInteger(10, value);
    for (unsigned from : node.from) {
      size_t made = nodes[from].layer.isInput
                        ? 1
                        : nodes[from].layer.activationBytes.size();
      node.layer.uses.push_back({place[from], isItem && value < made
                                                  ? std::optional(value)
                                                  : std::nullopt});
    }
    for (unsigned user : users[index])
      if (--missing[user] == 0)
        ready.emplace(nodes[user].number, user);
    profile.push_back(node.layer);
  }
  if (profile.size() == nodes.size())
    return profile;
  unsigned first = 0;
  while (missing[first] == 0)
    ++first;
  return emitError(nodes[first].layer.loc)
         << "edges must not form a circle, got one before or at "
         << nodes[first].layer.name;
}

} // namespace

FailureOr<Profile> commsched::profile::readPipedream(const ProfileText &text) {
  return PipedreamReader(text).run();
}
