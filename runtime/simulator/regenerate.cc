// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The collectives of passes/lower/ExchangeAlgorithms.cpp, as phases of a plan. A
// plan does not say which of them its phases are: they are made again for the
// plan's own number of ranks, and compared.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "plan/slices.h"
#include "runtime/simulator/exchange_shape.h"

namespace commsched::runtime::simulator {
namespace {

using plan::AffineExpr;

// A value type for building expressions.
struct Expr {
  AffineExpr proto;
};

Expr Constant(int64_t value) {
  Expr e;
  e.proto.set_op(AffineExpr::CONSTANT);
  e.proto.set_constant(value);
  return e;
}

Expr Leaf(AffineExpr::Op op) {
  Expr e;
  e.proto.set_op(op);
  return e;
}

Expr Binary(AffineExpr::Op op, const Expr &a, const Expr &b) {
  Expr e;
  e.proto.set_op(op);
  *e.proto.mutable_lhs() = a.proto;
  *e.proto.mutable_rhs() = b.proto;
  return e;
}

Expr operator+(const Expr &a, const Expr &b) {
  return Binary(AffineExpr::ADD, a, b);
}
Expr operator+(const Expr &a, int64_t b) { return a + Constant(b); }
Expr operator*(const Expr &a, int64_t b) {
  return Binary(AffineExpr::MUL, a, Constant(b));
}
Expr operator-(const Expr &a, const Expr &b) { return a + b * -1; }
Expr operator-(const Expr &a, int64_t b) { return a + Constant(-b); }
Expr operator%(const Expr &a, int64_t b) {
  return Binary(AffineExpr::MOD, a, Constant(b));
}
Expr operator/(const Expr &a, int64_t b) {
  return Binary(AffineExpr::FLOORDIV, a, Constant(b));
}

struct Condition {
  Expr expr;
  bool equality = false;
};
using Conditions = std::vector<Condition>;

class Builder {
 public:
  explicit Builder(int ranks)
      : n_(ranks), r_(Leaf(AffineExpr::RANK)), s_(Leaf(AffineExpr::ROUND)) {
    while (core_ * 2 <= n_) core_ *= 2;
  }

  void RingReduceScatter(int64_t owned) {
    Add(n_, n_ - 1, true, (r_ - s_ + (owned - 1)) % n_, 1, (r_ + 1) % n_, {},
        (r_ - s_ + (owned - 2)) % n_, 1, (r_ - 1) % n_, {});
  }
  void RingAllGather(int64_t owned) {
    Add(n_, n_ - 1, false, (r_ - s_ + owned) % n_, 1, (r_ + 1) % n_, {},
        (r_ - s_ + (owned - 1)) % n_, 1, (r_ - 1) % n_, {});
  }
  // Parts of the first half go to the second halves of all others.
  void AllToAll() {
    const Expr to = (r_ + s_ + 1) % n_, from = (r_ - s_ - 1) % n_;
    Add(2 * n_, n_ - 1, false, to, 1, to, {}, from + n_, 1, from, {});
  }
  void Halving() {
    for (int64_t d = core_ / 2; d >= 1; d /= 2)
      Add(core_, 1, true, PartnerBlock(d), d, Partner(d), InCore(), OwnBlock(d),
          d, Partner(d), InCore());
  }
  void Doubling() {
    for (int64_t d = 1; d < core_; d *= 2)
      Add(core_, 1, false, OwnBlock(d), d, Partner(d), InCore(), PartnerBlock(d),
          d, Partner(d), InCore());
  }
  void RecursiveDoubling() {
    for (int64_t d = core_ / 2; d >= 1; d /= 2)
      Whole(true, Partner(d), InCore(), Partner(d), InCore());
  }
  void Fold() {
    if (core_ != n_) Whole(true, r_ - core_, Beyond(), r_ + core_, StandIns());
  }
  void Unfold() {
    if (core_ != n_) Whole(false, r_ + core_, StandIns(), r_ - core_, Beyond());
  }
  void TreeReduce(int64_t root) {
    for (int64_t d = 1; d < n_; d *= 2)
      Whole(true, (r_ - d) % n_, Children(root, d), (r_ + d) % n_,
            Parents(root, d));
  }
  void TreeBroadcast(int64_t root) {
    int64_t d = 1;
    while (d < n_) d *= 2;
    for (d /= 2; d >= 1; d /= 2)
      Whole(false, (r_ + d) % n_, Parents(root, d), (r_ - d) % n_,
            Children(root, d));
  }

  std::vector<plan::Phase> phases;

 private:
  void Add(int64_t chunks, int64_t rounds, bool combines, const Expr &send_begin,
           int64_t send_count, const Expr &to, const Conditions &sends,
           const Expr &recv_begin, int64_t recv_count, const Expr &from,
           const Conditions &receives) {
    plan::Phase phase;
    phase.set_chunks(uint32_t(chunks));
    phase.set_rounds(uint32_t(rounds));
    phase.set_combine(combines ? plan::SUM : plan::REPLACE);
    const auto set = [](plan::Side *side, const Expr &begin, int64_t count,
                        const Expr &peer, const Conditions &conditions) {
      *side->mutable_begin() = begin.proto;
      *side->mutable_count() = Constant(count).proto;
      *side->mutable_peer() = peer.proto;
      for (const Condition &c : conditions) {
        plan::Constraint *constraint = side->add_condition();
        *constraint->mutable_expr() = c.expr.proto;
        constraint->set_equality(c.equality);
      }
    };
    set(phase.mutable_send(), send_begin, send_count, to, sends);
    set(phase.mutable_recv(), recv_begin, recv_count, from, receives);
    phases.push_back(std::move(phase));
  }
  void Whole(bool combines, const Expr &to, const Conditions &sends,
             const Expr &from, const Conditions &receives) {
    Add(1, 1, combines, Constant(0), 1, to, sends, Constant(0), 1, from, receives);
  }

  Expr Partner(int64_t d) const { return r_ + d - ((r_ / d) % 2) * (2 * d); }
  Expr OwnBlock(int64_t d) const { return (r_ / d) * d; }
  Expr PartnerBlock(int64_t d) const {
    return (r_ / d) * d + d - ((r_ / d) % 2) * (2 * d);
  }
  Conditions InCore() const {
    if (core_ == n_) return {};
    return {{Constant(core_ - 1) - r_}};
  }
  Conditions Beyond() const { return {{r_ - core_}}; }
  Conditions StandIns() const { return {{Constant(n_ - core_ - 1) - r_}}; }
  Expr FromRoot(int64_t root) const { return (r_ - root) % n_; }
  Conditions Children(int64_t root, int64_t d) const {
    return {{FromRoot(root) % (2 * d) - d, true}};
  }
  Conditions Parents(int64_t root, int64_t d) const {
    return {{FromRoot(root) % (2 * d), true},
            {Constant(n_ - 1 - d) - FromRoot(root)}};
  }

  const int64_t n_;
  int64_t core_ = 1;
  const Expr r_, s_;
};

constexpr char kRing[] = "ring", kHalving[] = "halving-doubling",
               kRecursive[] = "recursive-doubling", kTree[] = "tree";

// Empty if there is no such algorithm for the collective.
std::vector<plan::Phase> Make(const std::string &kind, absl::string_view algorithm,
                              int64_t root, int ranks) {
  Builder b(ranks);
  const bool power = (ranks & (ranks - 1)) == 0;
  if (kind == "all_reduce" && algorithm == kRing) {
    b.RingReduceScatter(1);
    b.RingAllGather(1);
  } else if (kind == "all_reduce" && algorithm == kHalving) {
    b.Fold();
    b.Halving();
    b.Doubling();
    b.Unfold();
  } else if (kind == "all_reduce" && algorithm == kRecursive) {
    b.Fold();
    b.RecursiveDoubling();
    b.Unfold();
  } else if (kind == "reduce_scatter" && algorithm == kRing) {
    b.RingReduceScatter(0);
  } else if (kind == "reduce_scatter" && algorithm == kHalving && power) {
    b.Halving();
  } else if (kind == "all_gather" && algorithm == kRing) {
    b.RingAllGather(0);
  } else if (kind == "all_gather" && algorithm == kHalving && power) {
    b.Doubling();
  } else if (kind == "all_to_all" && algorithm != kTree) {
    b.AllToAll();
  } else if (kind == "reduce" && algorithm == kTree) {
    b.TreeReduce(root);
  } else if (kind == "broadcast" && algorithm == kTree) {
    b.TreeBroadcast(root);
  }
  return std::move(b.phases);
}

constexpr int kCompared = 64;  // ranks, rounds: as many as tell them apart

bool Same(const plan::Phase &a, const plan::Phase &b, int nodes) {
  if (a.chunks() != b.chunks() || a.rounds() != b.rounds() ||
      (a.combine() == plan::REPLACE) != (b.combine() == plan::REPLACE))
    return false;
  const RankGroup all(nodes);
  auto x = ExchangeShape::Parse(a, all), y = ExchangeShape::Parse(b, all);
  if (!x.ok() || !y.ok()) return false;
  const int stride = std::max(1, nodes / kCompared);
  for (int r = 0; r < nodes; r += stride)
    for (int64_t s = 0; s < std::min<int64_t>(a.rounds(), kCompared); ++s) {
      auto xs = x->Send(r, s), ys = y->Send(r, s);
      auto xr = x->Receive(r, s), yr = y->Receive(r, s);
      if (!xs.ok() || !ys.ok() || !xr.ok() || !yr.ok() || !(*xs == *ys) ||
          !(*xr == *yr))
        return false;
    }
  return true;
}

bool Same(const plan::Communicate &a, const std::vector<plan::Phase> &b,
          int nodes) {
  if (b.empty() || size_t(a.phases_size()) != b.size()) return false;
  for (size_t i = 0; i < b.size(); ++i)
    if (!Same(a.phases(int(i)), b[i], nodes)) return false;
  return true;
}

// As predictNanoseconds() of the compiler.
double Predict(absl::string_view algorithm, const std::string &kind, int ranks,
               double bytes, double latency_ns, double overhead_ns,
               double ns_per_byte) {
  constexpr double kCombinedBytesPerNs = 4;
  const double halves = kind == "all_reduce" ? 2 : 1, p = ranks;
  const double all = bytes * ns_per_byte, message_ns = latency_ns + overhead_ns;
  if (algorithm == kRing)
    return plan::RoundsNanoseconds(uint64_t(halves) * uint64_t(ranks - 1), bytes / p,
                                   ns_per_byte, latency_ns, overhead_ns);
  const double rounds = std::floor(std::log2(p)), q = std::exp2(rounds);
  const double folds = q == p ? 0 : 2 * (message_ns + all);
  if (algorithm == kRecursive)
    return rounds * (message_ns + all + bytes / kCombinedBytesPerNs) + folds;
  return halves * (rounds * message_ns + (q - 1) / q * all) + folds;
}

}  // namespace

absl::StatusOr<std::vector<plan::Phase>> Regenerate(
    const plan::Communicate &communicate, int nodes, int workers,
    const std::string &algorithm, double bytes, double latency_ns,
    double overhead_ns, double ns_per_byte) {
  const std::string &kind = communicate.source_op();
  std::string found;
  int64_t root = 0;
  for (absl::string_view candidate : {kRing, kHalving, kRecursive})
    if (Same(communicate, Make(kind, candidate, 0, nodes), nodes))
      found = std::string(candidate);
  if (found.empty())
    for (root = 0; root < nodes; ++root)
      if (Same(communicate, Make(kind, kTree, root, nodes), nodes)) {
        found = kTree;
        break;
      }
  if (found.empty() || root >= workers)
    return absl::UnimplementedError(absl::StrCat(
        kind.empty() ? "exchange" : kind, " \"", communicate.key(), "\" of ", nodes,
        " ranks cannot be made one of ", workers,
        ": its phases are not those of a known algorithm"));
  if (workers == 1) return std::vector<plan::Phase>();
  if (found != kTree && !algorithm.empty()) {
    found = algorithm;
    if (algorithm == "auto") {
      const auto time = [&](absl::string_view of) {
        return Predict(of, kind, workers, bytes, latency_ns, overhead_ns, ns_per_byte);
      };
      found = time(kRing) <= time(kHalving) ? kRing : kHalving;
      if (kind == "all_reduce" && time(kRecursive) < time(found)) found = kRecursive;
    }
  }
  std::vector<plan::Phase> made = Make(kind, found, root, workers);
  if (made.empty() && found != kTree) made = Make(kind, kRing, root, workers);
  // How urgent its halves are, as in the plan.
  const int old = communicate.phases_size();
  for (plan::Phase &phase : made) {
    for (int i = 0; i < old; ++i) {
      const plan::Phase &of = communicate.phases(i);
      if ((of.combine() == plan::REPLACE) != (phase.combine() == plan::REPLACE))
        continue;
      if (of.has_priority())
        phase.set_priority(of.priority());
      break;
    }
  }
  return made;
}

}  // namespace commsched::runtime::simulator
