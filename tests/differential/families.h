// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Families of random ops. Each adds to a body what it makes of values that are
// there already, or nothing where none fits.

#ifndef COMMSCHED_TESTS_DIFFERENTIAL_FAMILIES_H
#define COMMSCHED_TESTS_DIFFERENTIAL_FAMILIES_H

#include "tests/differential/body.h"

namespace commsched::differential {

constexpr int64_t kMostElements = 1 << 13;

// elementwise.cpp
Value floatOp(Body &body, const std::vector<Value> &of);
Value integerOp(Body &body, const std::vector<Value> &of);
// A tree of ops over numbers; the result is of the element type.
Value tree(Body &body, std::vector<Value> leaves, const std::string &element, int ops);
void elementwise(Body &body);
void onTensors(Body &body);
void casts(Body &body);
void workerIndex(Body &body);
Value combine(Body &body, const Value &a, const Value &b);

// products.cpp
void product(Body &body);
void layer(Body &body);
void convolution(Body &body);
// A contraction of two values with a result of this type, if there is one.
bool productOfType(Body &body, const std::string &element, const Shape &shape, Value &result);

// reductions.cpp
void reduction(Body &body);
void argmax(Body &body);
void softmax(Body &body);
Value reduceTo(Body &body, const Value &value, const std::vector<int64_t> &kept,
               const std::string &how);
Value broadcastTo(Body &body, const Value &value, const Shape &shape,
                  const std::vector<int64_t> &dims);
Value toScalar(Body &body, const Value &value);

// named.cpp
void namedElementwise(Body &body);
void namedSoftmax(Body &body);
void windows(Body &body);
void fromNumbers(Body &body);

// shapes.cpp
void transpose(Body &body);
void broadcast(Body &body);
void reshape(Body &body);
void slice(Body &body);
void insertSlice(Body &body);
void pad(Body &body);
// With so many elements of `with` before and after it.
Value paddedBy(Body &body, const Value &value, const Shape &low, const Shape &high, double with);
void concat(Body &body);
void gather(Body &body);
void rows(Body &body);

// control.cpp
void forLoop(Body &body);
void insertLoop(Body &body);
void conditional(Body &body);
void whileLoop(Body &body);

// network.cpp
// Gradients of a net of these square matrices, without a name where one is not used;
// `x` is a matrix with as many columns.
std::vector<Value> network(Body &body, const std::vector<Value> &weights, const Value &x);

// generate.cpp
void anyFamily(Body &body);
// What is there, made to this type in one way or another.
Value makeOfType(Body &body, const std::string &element, const Shape &shape);

} // namespace commsched::differential

#endif // COMMSCHED_TESTS_DIFFERENTIAL_FAMILIES_H
