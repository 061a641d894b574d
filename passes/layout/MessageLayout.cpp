// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/layout/MessageLayout.h"

#include "passes/layout/StagingRing.h"

using namespace mlir;

namespace commsched::planexport {
namespace {

int64_t elementsOf(Value value) {
  Type type = value.getType();
  if (auto future = dyn_cast<cs::FutureType>(type))
    type = future.getValue();
  return cast<cs::PlacedType>(type).getTensor().getNumElements();
}

bool overlaps(const std::map<int64_t, int64_t> &intervals, int64_t begin, int64_t end) {
  auto next = intervals.lower_bound(begin);
  if (next != intervals.end() && next->first < end)
    return true;
  return next != intervals.begin() && std::prev(next)->second > begin;
}

} // namespace

bool worksInPlace(cs::StartOp start) {
  auto body = start.getBody().front().without_terminator();
  return start.getInputs().size() == 1 && !body.empty() &&
         llvm::all_of(body, llvm::IsaPred<cs::ExchangeOp, cs::AllReduceOp>);
}

MessageLayout::MessageLayout(func::FuncOp function) {
  Block &body = function.getBody().front();
  for (auto pack : body.getOps<cs::PackOp>())
    addPack(pack);
  for (auto unpack : body.getOps<cs::UnpackOp>())
    addUnpack(unpack);
  makeAreas();
}

std::optional<MessageLayout::Place> MessageLayout::placeOf(Value value) const {
  auto it = places.find(value);
  return it == places.end() ? std::nullopt : std::optional(it->second);
}

unsigned MessageLayout::addNode(Value value, int64_t elements, bool asTensor,
                                bool asMessage) {
  unsigned node = nodes.size();
  nodes.push_back({value, elements, node, 0});
  Tied &own = tied.emplace_back();
  if (asTensor)
    own.tensors[0] = elements;
  if (asMessage)
    own.messages[0] = elements;
  if (value)
    nodeOf[value] = node;
  return node;
}

unsigned MessageLayout::addOwn(Value value) {
  return addNode(value, elementsOf(value), /*asTensor=*/true, /*asMessage=*/true);
}

std::pair<unsigned, int64_t> MessageLayout::find(unsigned node) {
  unsigned root = node;
  int64_t offset = 0;
  while (nodes[root].parent != root) {
    offset += nodes[root].offset;
    root = nodes[root].parent;
  }
  // Shorter for the next time.
  for (int64_t rest = offset; nodes[node].parent != node;) {
    Node &passed = nodes[node];
    int64_t step = passed.offset;
    node = passed.parent;
    passed.parent = root;
    passed.offset = rest;
    rest -= step;
  }
  return {root, offset};
}

bool MessageLayout::tie(unsigned a, unsigned b, int64_t distance) {
  auto [rootA, offsetA] = find(a);
  auto [rootB, offsetB] = find(b);
  int64_t shift = offsetA + distance - offsetB; // of rootB behind rootA
  if (rootA == rootB)
    return shift == 0;
  if (tied[rootA].nodes < tied[rootB].nodes) {
    std::swap(rootA, rootB);
    shift = -shift;
  }
  Tied &into = tied[rootA], &from = tied[rootB];
  for (auto [begin, end] : from.tensors)
    if (overlaps(into.tensors, begin + shift, end + shift))
      return false;
  for (auto [begin, end] : from.messages)
    if (overlaps(into.messages, begin + shift, end + shift))
      return false;
  for (auto [begin, end] : from.tensors)
    into.tensors[begin + shift] = end + shift;
  for (auto [begin, end] : from.messages)
    into.messages[begin + shift] = end + shift;
  into.nodes += from.nodes;
  from = {};
  nodes[rootB].parent = rootA;
  nodes[rootB].offset = shift;
  return true;
}

std::optional<unsigned> MessageLayout::tensorNode(Value value) {
  auto [it, fresh] = nodeOf.try_emplace(value, 0);
  if (!fresh)
    return it->second == UINT_MAX ? std::nullopt : std::optional(it->second);
  it->second = UINT_MAX;
  if (!isa_and_nonnull<cs::FragmentOp, cs::CopyOp>(value.getDefiningOp()))
    return std::nullopt;
  std::map<int64_t, int64_t> packed;
  for (OpOperand &use : value.getUses()) {
    auto pack = dyn_cast<cs::PackOp>(use.getOwner());
    if (!pack)
      return std::nullopt;
    int64_t begin = pack.getBounds()[2 * use.getOperandNumber()];
    int64_t end = pack.getBounds()[2 * use.getOperandNumber() + 1];
    if (overlaps(packed, begin, end))
      return std::nullopt;
    packed[begin] = end;
  }
  return addNode(value, elementsOf(value), /*asTensor=*/true, /*asMessage=*/false);
}

void MessageLayout::addPack(cs::PackOp op) {
  unsigned message = addNode(op.getResult(), elementsOf(op.getResult()), false, false);
  int64_t at = 0;
  bool fits = true;
  for (auto [i, piece] : llvm::enumerate(op.getPieces())) {
    int64_t begin = op.getBounds()[2 * i], end = op.getBounds()[2 * i + 1];
    std::optional<unsigned> node = tensorNode(piece);
    if (!node || !tie(message, *node, at - begin)) {
      reasons[op] = node ? "its tensors cannot lie side by side"
                         : "a tensor is used elsewhere, or is no result of a fragment";
      copied.insert({op, i});
      // No tensor of the area may have its place.
      fits = fits && tie(message, addNode(Value(), end - begin, true, false), at);
    }
    at += end - begin;
  }
  auto [root, offset] = find(message);
  if (fits && !overlaps(tied[root].messages, offset, offset + at)) {
    tied[root].messages[offset] = offset + at;
    return;
  }
  reasons[op] = "its tensors cannot lie side by side";
  for (unsigned i = 0; i < op.getPieces().size(); ++i)
    copied.insert({op, i});
  addOwn(op.getResult());
}

std::optional<unsigned> MessageLayout::messageNode(Value value) {
  if (value.getDefiningOp<cs::PackOp>())
    return nodeOf.lookup(value);
  if (value.getDefiningOp<cs::CopyOp>()) {
    auto it = nodeOf.find(value);
    return it != nodeOf.end() && it->second != UINT_MAX ? it->second
                                                        : addOwn(value);
  }
  auto await = value.getDefiningOp<cs::AwaitOp>();
  auto start = await ? await.getFuture().getDefiningOp<cs::StartOp>() : cs::StartOp();
  if (!start)
    return std::nullopt;
  if (worksInPlace(start)) {
    Value input = start.getInputs()[0];
    if (input.getDefiningOp<cs::PackOp>() && input.hasOneUse())
      return nodeOf.lookup(input);
    return std::nullopt;
  }
  if (!isa<cs::RecvOp, cs::CopyOp>(start.getBody().front().front()) ||
      start->hasAttr(place::kStagingAttr) ||
      llvm::any_of(value.getUsers(), llvm::IsaPred<cs::ConcatOp>))
    return std::nullopt;
  auto it = nodeOf.find(start.getFuture());
  return it != nodeOf.end() ? it->second : addOwn(start.getFuture());
}

void MessageLayout::addUnpack(cs::UnpackOp op) {
  // One piece is always a part of what it is cut from.
  if (op.getPieces().size() == 1)
    return;
  unsigned first = 0;
  int64_t at = 0, firstBegin = op.getBounds()[0];
  for (auto [i, piece] : llvm::enumerate(op.getPieces())) {
    int64_t begin = op.getBounds()[2 * i], end = op.getBounds()[2 * i + 1];
    std::optional<unsigned> node = messageNode(piece);
    if (!node) {
      reasons[op] = "a message is not combined or received in its place";
      return;
    }
    if (i == 0)
      first = *node;
    else if (!tie(first, *node, firstBegin + at - begin)) {
      reasons[op] = "its messages cannot lie side by side";
      return;
    }
    at += end - begin;
  }
}

void MessageLayout::makeAreas() {
  std::vector<int> areaOf(nodes.size(), -1);
  std::vector<int64_t> least(nodes.size(), INT64_MAX), most(nodes.size(), INT64_MIN);
  auto isCurrent = [&](unsigned node) {
    return nodes[node].value && nodeOf.lookup(nodes[node].value) == node;
  };
  std::vector<unsigned> members(nodes.size());
  for (unsigned node = 0; node < nodes.size(); ++node) {
    // A message that is copied after all has another node.
    if (!isCurrent(node))
      continue;
    auto [root, offset] = find(node);
    ++members[root];
    least[root] = std::min(least[root], offset);
    most[root] = std::max(most[root], offset + nodes[node].elements);
  }
  for (unsigned node = 0; node < nodes.size(); ++node) {
    auto [root, offset] = find(node);
    if (!isCurrent(node) || members[root] < 2)
      continue;
    Value value = nodes[node].value;
    if (areaOf[root] < 0) {
      Type type = value.getType();
      if (auto future = dyn_cast<cs::FutureType>(type))
        type = future.getValue();
      areaOf[root] = found.size();
      found.push_back({cast<cs::PlacedType>(type).getTensor().getElementType(),
                       most[root] - least[root]});
    }
    places[value] = {unsigned(areaOf[root]), offset - least[root]};
  }
}

} // namespace commsched::planexport
