// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/ExchangeAlgorithms.h"

#include "passes/support/LinkCosts.h"
#include "plan/slices.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commsched;
using cs::Combine;
using cs::SideAttr;

StringRef commsched::stringify(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::allReduce:
    return "all_reduce";
  case CollectiveKind::reduce:
    return "reduce";
  case CollectiveKind::broadcast:
    return "broadcast";
  case CollectiveKind::reduceScatter:
    return "reduce_scatter";
  case CollectiveKind::allGather:
    return "all_gather";
  case CollectiveKind::allToAll:
    return "all_to_all";
  }
  llvm_unreachable("unknown collective");
}

StringRef commsched::stringify(ExchangeAlgorithm algorithm) {
  switch (algorithm) {
  case ExchangeAlgorithm::ring:
    return "ring";
  case ExchangeAlgorithm::halvingDoubling:
    return "halving-doubling";
  case ExchangeAlgorithm::recursiveDoubling:
    return "recursive-doubling";
  case ExchangeAlgorithm::tree:
    return "tree";
  case ExchangeAlgorithm::pairwise:
    return "pairwise";
  }
  llvm_unreachable("unknown algorithm");
}

static Combine combineOf(cs::Reduction reduction) {
  switch (reduction) {
  case cs::Reduction::sum:
  case cs::Reduction::mean:
    return Combine::sum;
  case cs::Reduction::max:
    return Combine::max;
  case cs::Reduction::min:
    return Combine::min;
  }
  llvm_unreachable("unknown reduction");
}

namespace {

/// Builds phases for one collective. r and s are the rank and the round.
struct PhaseBuilder {
  PhaseBuilder(MLIRContext *context, const Collective &collective, int64_t ranks)
      : context(context), ranks(ranks),
        combine(combineOf(collective.reduction)),
        mean(collective.reduction == cs::Reduction::mean),
        root(collective.root), r(getAffineDimExpr(0, context)),
        s(getAffineDimExpr(1, context)) {}

  AffineExpr constant(int64_t value) const {
    return getAffineConstantExpr(value, context);
  }

  IntegerSet always() const {
    return IntegerSet::get(2, 0, {constant(0)}, {true});
  }

  SideAttr side(AffineExpr begin, int64_t count, AffineExpr peer,
                IntegerSet when) const {
    return SideAttr::get(context,
                         AffineMap::get(2, 0, {begin, constant(count)}, context),
                         AffineMap::get(2, 0, peer), when);
  }

  /// One round in which all of the tensor goes from the ranks in `senders` to
  /// those in `receivers`.
  void whole(Combine how, bool scaled, AffineExpr to, IntegerSet senders,
             AffineExpr from, IntegerSet receivers) {
    phases.push_back({1, 1, how, scaled, side(constant(0), 1, to, senders),
                      side(constant(0), 1, from, receivers)});
  }

  /// Ring, reducing: rank r ends with part (r + `owned`) mod ranks.
  void ringReduceScatter(int64_t owned) {
    phases.push_back({ranks, ranks - 1, combine, mean,
                      side((r - s + (owned - 1)) % ranks, 1, (r + 1) % ranks,
                           always()),
                      side((r - s + (owned - 2)) % ranks, 1, (r - 1) % ranks,
                           always())});
  }

  /// Ring, copying: rank r begins with part (r + `owned`) mod ranks.
  void ringAllGather(int64_t owned) {
    phases.push_back(
        {ranks, ranks - 1, Combine::replace, false,
         side((r - s + owned) % ranks, 1, (r + 1) % ranks, always()),
         side((r - s + (owned - 1)) % ranks, 1, (r - 1) % ranks, always())});
  }

  /// Largest power of two that is not above the number of ranks.
  int64_t core() const { return int64_t(1) << llvm::Log2_64(ranks); }

  /// Ranks below core(): those that take part in halving and doubling.
  IntegerSet inCore() const {
    if (core() == ranks)
      return always();
    return IntegerSet::get(2, 0, {constant(core() - 1) - r}, {false});
  }

  /// Partner at distance d: r with bit d flipped.
  AffineExpr partner(int64_t d) const {
    return r + d - (r.floorDiv(d) % 2) * (2 * d);
  }

  /// First of the d parts that r, or its partner at distance d, is in.
  AffineExpr ownBlock(int64_t d) const { return r.floorDiv(d) * d; }
  AffineExpr partnerBlock(int64_t d) const {
    return r.floorDiv(d) * d + d - (r.floorDiv(d) % 2) * (2 * d);
  }

  /// Halving: rank r < core() ends with part r of core() parts.
  void halving() {
    for (int64_t d = core() / 2; d >= 1; d /= 2)
      phases.push_back({core(), 1, combine, mean && d == 1,
                        side(partnerBlock(d), d, partner(d), inCore()),
                        side(ownBlock(d), d, partner(d), inCore())});
  }

  /// Doubling: rank r < core() begins with part r of core() parts.
  void doubling() {
    for (int64_t d = 1; d < core(); d *= 2)
      phases.push_back({core(), 1, Combine::replace, false,
                        side(ownBlock(d), d, partner(d), inCore()),
                        side(partnerBlock(d), d, partner(d), inCore())});
  }

  /// All of the tensor, with partners in the order of halving(), so that sums
  /// have the same bits.
  void recursiveDoubling() {
    for (int64_t d = core() / 2; d >= 1; d /= 2)
      whole(combine, mean && d == 1, partner(d), inCore(), partner(d), inCore());
  }

  /// The ranks from core() on, and the ranks that stand in for them.
  IntegerSet beyondCore() const {
    return IntegerSet::get(2, 0, {r - core()}, {false});
  }
  IntegerSet standIns() const {
    return IntegerSet::get(2, 0, {constant(ranks - core() - 1) - r}, {false});
  }

  void fold() {
    if (core() != ranks)
      whole(combine, false, r - core(), beyondCore(), r + core(), standIns());
  }
  void unfold() {
    if (core() != ranks)
      whole(Combine::replace, false, r + core(), standIns(), r - core(),
            beyondCore());
  }

  /// Rank counted from the root on.
  AffineExpr fromRoot() const { return (r - root) % ranks; }
  /// In the tree's level of distance d: those with a parent, and the parents.
  IntegerSet children(int64_t d) const {
    return IntegerSet::get(2, 0, {fromRoot() % (2 * d) - d}, {true});
  }
  IntegerSet parents(int64_t d) const {
    return IntegerSet::get(
        2, 0, {fromRoot() % (2 * d), constant(ranks - 1 - d) - fromRoot()},
        {true, false});
  }
  AffineExpr parent(int64_t d) const { return (r - d) % ranks; }
  AffineExpr child(int64_t d) const { return (r + d) % ranks; }

  void treeReduce() {
    for (int64_t d = 1; d < ranks; d *= 2)
      whole(combine, mean && 2 * d >= ranks, parent(d), children(d), child(d),
            parents(d));
  }
  void treeBroadcast() {
    for (int64_t d = int64_t(llvm::PowerOf2Ceil(ranks)) / 2; d >= 1; d /= 2)
      whole(Combine::replace, false, child(d), parents(d), parent(d),
            children(d));
  }

  /// In round s to the rank s + 1 behind, from the one s + 1 in front.
  void pairwise() {
    AffineExpr to = (r + s + 1) % ranks, from = (r - s - 1) % ranks;
    phases.push_back({2 * ranks, ranks - 1, Combine::replace, false,
                      side(to, 1, to, always()),
                      side(from + ranks, 1, from, always())});
  }

  MLIRContext *context;
  int64_t ranks;
  Combine combine;
  bool mean;
  int64_t root;
  AffineExpr r, s;
  SmallVector<ExchangePhase> phases;
};

} // namespace

bool commsched::isApplicable(ExchangeAlgorithm algorithm, CollectiveKind kind,
                             int64_t ranks) {
  switch (kind) {
  case CollectiveKind::reduce:
  case CollectiveKind::broadcast:
    return algorithm == ExchangeAlgorithm::tree;
  case CollectiveKind::allReduce:
    return algorithm != ExchangeAlgorithm::tree &&
           algorithm != ExchangeAlgorithm::pairwise;
  case CollectiveKind::reduceScatter:
  case CollectiveKind::allGather:
    return algorithm == ExchangeAlgorithm::ring ||
           (algorithm == ExchangeAlgorithm::halvingDoubling &&
            llvm::isPowerOf2_64(ranks));
  case CollectiveKind::allToAll:
    return algorithm == ExchangeAlgorithm::pairwise;
  }
  llvm_unreachable("unknown collective");
}

SmallVector<ExchangePhase>
commsched::buildExchanges(MLIRContext *context, const Collective &collective,
                          ExchangeAlgorithm algorithm, int64_t ranks) {
  PhaseBuilder builder(context, collective, ranks);
  if (ranks == 1)
    return {};
  bool ring = algorithm == ExchangeAlgorithm::ring;
  switch (collective.kind) {
  case CollectiveKind::allReduce:
    if (ring) {
      builder.ringReduceScatter(/*owned=*/1);
      builder.ringAllGather(/*owned=*/1);
    } else if (algorithm == ExchangeAlgorithm::recursiveDoubling) {
      builder.fold();
      builder.recursiveDoubling();
      builder.unfold();
    } else {
      builder.fold();
      builder.halving();
      builder.doubling();
      builder.unfold();
    }
    break;
  case CollectiveKind::reduceScatter:
    if (ring)
      builder.ringReduceScatter(/*owned=*/0);
    else
      builder.halving();
    break;
  case CollectiveKind::allGather:
    if (ring)
      builder.ringAllGather(/*owned=*/0);
    else
      builder.doubling();
    break;
  case CollectiveKind::reduce:
    builder.treeReduce();
    break;
  case CollectiveKind::broadcast:
    builder.treeBroadcast();
    break;
  case CollectiveKind::allToAll:
    builder.pairwise();
    break;
  }
  return builder.phases;
}

/// Of a kernel that adds what was received, from memory.
static constexpr double kCombinedBytesPerNs = 4;

double commsched::predictNanoseconds(CollectiveKind kind,
                                     ExchangeAlgorithm algorithm,
                                     int64_t ranks, int64_t bytes,
                                     cs::LinkAttr link) {
  if (ranks == 1)
    return 0;
  // Of each round, apart from its bytes.
  double latency =
      static_cast<double>(link.getLatencyNs() + link.getOverheadNs());
  double all = 8000.0 * static_cast<double>(bytes) /
               static_cast<double>(link.getMbitPerS());
  double p = static_cast<double>(ranks);
  if (algorithm == ExchangeAlgorithm::tree)
    return llvm::Log2_64_Ceil(ranks) * (latency + all);
  double halves = kind == CollectiveKind::allReduce ? 2 : 1;
  if (algorithm == ExchangeAlgorithm::ring)
    return plan::RoundsNanoseconds(
        static_cast<uint64_t>(halves) * static_cast<uint64_t>(ranks - 1),
        static_cast<double>(bytes) / p, 8000.0 / static_cast<double>(link.getMbitPerS()),
        static_cast<double>(link.getLatencyNs()), static_cast<double>(link.getOverheadNs()));
  if (algorithm == ExchangeAlgorithm::pairwise)
    return (p - 1) * latency + (p - 1) / p * all;
  unsigned rounds = llvm::Log2_64(ranks);
  double folds = llvm::isPowerOf2_64(ranks) ? 0 : 2;
  if (algorithm == ExchangeAlgorithm::recursiveDoubling)
    // What is received is combined when all of it is there and all has been sent.
    return rounds * (latency + all +
                     static_cast<double>(bytes) / kCombinedBytesPerNs) +
           folds * (latency + all);
  double q = static_cast<double>(int64_t(1) << rounds);
  double time = halves * (rounds * latency + (q - 1) / q * all);
  return time + folds * (latency + all);
}

ExchangeChoice commsched::chooseExchanges(llvm::StringRef algorithm,
                                          const Collective &collective, int64_t ranks,
                                          int64_t bytes, cs::LinkAttr link) {
  // As schedules count it.
  const auto counted = cs::LinkAttr::get(link.getContext(), link.getMbitPerS(), link.getLatencyNs(), overheadOf(link));
  auto time = [&](ExchangeAlgorithm one) {
    return predictNanoseconds(collective.kind, one, ranks, bytes, counted);
  };
  ExchangeChoice choice;
  choice.ring = time(ExchangeAlgorithm::ring);
  if (!isApplicable(ExchangeAlgorithm::halvingDoubling, collective.kind, ranks))
    return choice;
  choice.halving = time(ExchangeAlgorithm::halvingDoubling);
  if (algorithm != "ring" && (algorithm != "auto" || choice.ring > choice.halving))
    choice.chosen = ExchangeAlgorithm::halvingDoubling;
  // Sums have the same bits on both sides of an exchange; a maximum of zeros of
  // both signs need not.
  bool sums = collective.reduction == cs::Reduction::sum ||
              collective.reduction == cs::Reduction::mean;
  if (!sums || !isApplicable(ExchangeAlgorithm::recursiveDoubling, collective.kind, ranks))
    return choice;
  choice.doubling = time(ExchangeAlgorithm::recursiveDoubling);
  if (algorithm == "recursive-doubling" ||
      (algorithm == "auto" && choice.doubling < std::min(choice.ring, choice.halving)))
    choice.chosen = ExchangeAlgorithm::recursiveDoubling;
  return choice;
}
