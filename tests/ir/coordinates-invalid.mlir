// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{lists must be of a tensor of static shape without an encoding, got: 'tensor<?xf32>'}}
func.func private @dynamic(tensor<1x6xi32, #cs.coordinates<tensor<?xf32>>>)

// -----

// expected-error@+1 {{lists must be of a tensor of static shape without an encoding, got: 'tensor<8xf32, "a">'}}
func.func private @encoded(tensor<1x6xi32, #cs.coordinates<tensor<8xf32, "a">>>)

// -----

// expected-error@+1 {{lists must be of elements of f32, f16 or bf16, got: 'tensor<8xf64>'}}
func.func private @element(tensor<1x6xi32, #cs.coordinates<tensor<8xf64>>>)

// -----

// expected-error@+1 {{lists must be of a tensor of 1 to 2147483648 elements, got: 'tensor<0xf32>'}}
func.func private @empty(tensor<1x6xi32, #cs.coordinates<tensor<0xf32>>>)

// -----

// expected-error@+1 {{lists must be of a tensor of 1 to 2147483648 elements, got: 'tensor<2147483649xf32>'}}
func.func private @huge(tensor<1x6xi32, #cs.coordinates<tensor<2147483649xf32>>>)

// -----

// expected-error@+1 {{expected 'counted'}}
func.func private @keyword(tensor<1x6xi32, #cs.coordinates<tensor<8xf32>, sorted>>)

// -----

// expected-error@+1 {{values must be of 'f32', f16, bf16 or i8, got: 'i16'}}
func.func private @values(tensor<1x6xi32, #cs.coordinates<tensor<8xf32>, i16>>)

// -----

// expected-error@+1 {{values must be of 'bf16' or i8, got: 'f16'}}
func.func private @values_of_halves(tensor<1x6xi32, #cs.coordinates<tensor<8xbf16>, f16>>)

// -----

// expected-error@+1 {{a row must have the values and indices of some elements of 'tensor<8xf32>', got: 2 numbers}}
func.func private @no_scale(tensor<1x2xi32, #cs.coordinates<tensor<8xf32>, i8>>)

// -----

func.func @no_error(%v: tensor<3xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op has no error to return: values of 'tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>' travel as they are}}
  %m, %e = cs.pack_lists %v, %i : (tensor<3xf32>, tensor<3xi32>) -> (tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, tensor<3xf32>)
  return
}

// -----

func.func @error_type(%v: tensor<3xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op error must match 'tensor<3xf32>', got: 'tensor<3xf16>'}}
  %m, %e = cs.pack_lists %v, %i : (tensor<3xf32>, tensor<3xi32>) -> (tensor<1x5xi32, #cs.coordinates<tensor<8xf32>, f16>>, tensor<3xf16>)
  return
}

// -----

// expected-error@+1 {{coordinate lists must be of i32, got: 'f32'}}
func.func private @words(tensor<1x6xf32, #cs.coordinates<tensor<8xf32>>>)

// -----

// expected-error@+1 {{coordinate lists must have two dimensions, got: 1}}
func.func private @rank(tensor<6xi32, #cs.coordinates<tensor<8xf32>>>)

// -----

// expected-error@+1 {{coordinate lists must have a static shape}}
func.func private @lists(tensor<?x6xi32, #cs.coordinates<tensor<8xf32>>>)

// -----

// expected-error@+1 {{there must be at least one coordinate list, got: 0}}
func.func private @none(tensor<0x6xi32, #cs.coordinates<tensor<8xf32>>>)

// -----

// expected-error@+1 {{a row must have the values and indices of some elements of 'tensor<8xf32>', got: 7 numbers}}
func.func private @row(tensor<1x7xi32, #cs.coordinates<tensor<8xf32>>>)

// -----

// expected-error@+1 {{a row must have the values and indices of some elements of 'tensor<8xf32>', got: 0 numbers}}
func.func private @row_of_none(tensor<1x0xi32, #cs.coordinates<tensor<8xf32>>>)

// -----

// expected-error@+1 {{a row must have the values and indices of some elements of 'tensor<8xf16>', got: 4 numbers}}
func.func private @row_of_halves(tensor<1x4xi32, #cs.coordinates<tensor<8xf16>>>)

// -----

// expected-error@+1 {{a row must have the values and indices of some elements of 'tensor<8xf32>', and a count, got: 6 numbers}}
func.func private @row_counted(tensor<1x6xi32, #cs.coordinates<tensor<8xf32>, counted>>)

// -----

// expected-error@+1 {{a row must have the values and indices of some elements of 'tensor<8xf32>', and a count, got: 1 numbers}}
func.func private @count_alone(tensor<1x1xi32, #cs.coordinates<tensor<8xf32>, counted>>)

// -----

// expected-error@+1 {{a row must have 8 elements of 'tensor<8xf32>' at most, got: 9}}
func.func private @too_many(tensor<1x18xi32, #cs.coordinates<tensor<8xf32>>>)

// -----

func.func @pack_plain(%v: tensor<3xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{result #0 must be tensor of coordinate lists, but got 'tensor<1x6xi32>'}}
  %m = cs.pack_lists %v, %i : (tensor<3xf32>, tensor<3xi32>) -> tensor<1x6xi32>
  return
}

// -----

func.func @pack_static(%v: tensor<?xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op must have static shapes, got: 'tensor<?xf32>'}}
  %m = cs.pack_lists %v, %i : (tensor<?xf32>, tensor<3xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>
  return
}

// -----

func.func @pack_rank(%v: tensor<3x1xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op values must have one dimension, got: 'tensor<3x1xf32>'}}
  %m = cs.pack_lists %v, %i : (tensor<3x1xf32>, tensor<3xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>
  return
}

// -----

func.func @pack_element(%v: tensor<3xf16>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op values must match the element type of 'tensor<8xf32>', got: 'tensor<3xf16>'}}
  %m = cs.pack_lists %v, %i : (tensor<3xf16>, tensor<3xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>
  return
}

// -----

func.func @pack_indices(%v: tensor<3xf32>, %i: tensor<2xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op must have as many indices as values, 3, got: 2}}
  %m = cs.pack_lists %v, %i : (tensor<3xf32>, tensor<2xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>
  return
}

// -----

func.func @pack_wide(%v: tensor<3xf32>, %i: tensor<3xi64>) {
  // expected-error@+1 {{operand #1 must be 1D tensor of 32-bit signless integer values, but got 'tensor<3xi64>'}}
  %m = cs.pack_lists %v, %i : (tensor<3xf32>, tensor<3xi64>) -> tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>
  return
}

// -----

func.func @pack_values(%v: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op must have 3 values for each list of 'tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>', got: 4}}
  %m = cs.pack_lists %v, %i : (tensor<4xf32>, tensor<4xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>
  return
}

// -----

func.func @pack_lists(%v: tensor<3xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op must have 3 values for each list of 'tensor<2x6xi32, #cs.coordinates<tensor<8xf32>>>', got: 3}}
  %m = cs.pack_lists %v, %i : (tensor<3xf32>, tensor<3xi32>) -> tensor<2x6xi32, #cs.coordinates<tensor<8xf32>>>
  return
}

// -----

func.func @pack_never(%v: tensor<3xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op times must be 1 or more, got: 0}}
  %m = cs.pack_lists %v, %i times 0 : (tensor<3xf32>, tensor<3xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>
  return
}

// -----

func.func @pack_times(%v: tensor<3xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op must have rows of lists 2 times, got: 'tensor<3x6xi32, #cs.coordinates<tensor<8xf32>>>'}}
  %m = cs.pack_lists %v, %i times 2 : (tensor<3xf32>, tensor<3xi32>) -> tensor<3x6xi32, #cs.coordinates<tensor<8xf32>>>
  return
}

// -----

func.func @pack_uncounted(%v: tensor<6xf32>, %i: tensor<6xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op must have the counts of 'tensor<2x7xi32, #cs.coordinates<tensor<8xf32>, counted>>'}}
  %m = cs.pack_lists %v, %i : (tensor<6xf32>, tensor<6xi32>) -> tensor<2x7xi32, #cs.coordinates<tensor<8xf32>, counted>>
  return
}

// -----

func.func @pack_counted(%v: tensor<3xf32>, %i: tensor<3xi32>, %n: tensor<1xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op must not have counts of 'tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>'}}
  %m = cs.pack_lists %v, %i, %n : (tensor<3xf32>, tensor<3xi32>, tensor<1xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>
  return
}

// -----

func.func @pack_counts(%v: tensor<6xf32>, %i: tensor<6xi32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{'cs.pack_lists' op must have a count for each of 2 lists, got: 3}}
  %m = cs.pack_lists %v, %i, %n : (tensor<6xf32>, tensor<6xi32>, tensor<3xi32>) -> tensor<2x7xi32, #cs.coordinates<tensor<8xf32>, counted>>
  return
}

// -----

func.func @unpack_plain(%m: tensor<1x6xi32>) {
  // expected-error@+1 {{operand #0 must be tensor of coordinate lists, but got 'tensor<1x6xi32>'}}
  %v, %i = cs.unpack_lists %m : (tensor<1x6xi32>) -> (tensor<3xf32>, tensor<3xi32>)
  return
}

// -----

func.func @unpack_element(%m: tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>) {
  // expected-error@+1 {{'cs.unpack_lists' op values must match the element type of 'tensor<8xf32>', got: 'tensor<3xbf16>'}}
  %v, %i = cs.unpack_lists %m : (tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>) -> (tensor<3xbf16>, tensor<3xi32>)
  return
}

// -----

func.func @unpack_values(%m: tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>) {
  // expected-error@+1 {{'cs.unpack_lists' op must have 3 values for each list of 'tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>', got: 4}}
  %v, %i = cs.unpack_lists %m : (tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>) -> (tensor<4xf32>, tensor<4xi32>)
  return
}

// -----

func.func @unpack_rows(%m: tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>) {
  // expected-error@+1 {{'cs.unpack_lists' op must take at least one of 1 rows, got: 2 from 0 on}}
  %v, %i = cs.unpack_lists %m : (tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>) -> (tensor<6xf32>, tensor<6xi32>)
  return
}

// -----

func.func @unpack_from(%m: tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>) {
  // expected-error@+1 {{'cs.unpack_lists' op must take at least one of 1 rows, got: 1 from 1 on}}
  %v, %i = cs.unpack_lists %m from 1 : (tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>) -> (tensor<3xf32>, tensor<3xi32>)
  return
}

// -----

func.func @unpack_before(%m: tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>) {
  // expected-error@+1 {{'cs.unpack_lists' op must take at least one of 1 rows, got: 1 from -1 on}}
  %v, %i = cs.unpack_lists %m from -1 : (tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>) -> (tensor<3xf32>, tensor<3xi32>)
  return
}

// -----

func.func @unpack_none(%m: tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>) {
  // expected-error@+1 {{'cs.unpack_lists' op must take at least one of 1 rows, got: 0 from 0 on}}
  %v, %i = cs.unpack_lists %m : (tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>) -> (tensor<0xf32>, tensor<0xi32>)
  return
}

// -----

func.func @unpack_counts(%m: tensor<2x7xi32, #cs.coordinates<tensor<8xf32>, counted>>) {
  // expected-error@+1 {{'cs.unpack_lists' op must have the counts of 'tensor<2x7xi32, #cs.coordinates<tensor<8xf32>, counted>>'}}
  %v, %i = cs.unpack_lists %m : (tensor<2x7xi32, #cs.coordinates<tensor<8xf32>, counted>>) -> (tensor<6xf32>, tensor<6xi32>)
  return
}

// -----

func.func @scatter_elsewhere(%m: tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>) {
  %v, %i = cs.unpack_lists %m : (tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>) -> (tensor<6xf32>, tensor<6xi32>)
  // expected-error@+1 {{'cs.scatter_add' op result must match 'tensor<4x8xf32>', which its lists are of, got: 'tensor<8x4xf32>'}}
  %d = cs.scatter_add %v, %i : (tensor<6xf32>, tensor<6xi32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @scatter_merged(%m: tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>) {
  %v, %i = cs.unpack_lists %m : (tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>) -> (tensor<6xf32>, tensor<6xi32>)
  %a, %b = cs.merge_top_k %v, %i : (tensor<6xf32>, tensor<6xi32>) -> (tensor<3xf32>, tensor<3xi32>)
  // expected-error@+1 {{'cs.scatter_add' op result must match 'tensor<4x8xf32>', which its lists are of, got: 'tensor<32xf32>'}}
  %d = cs.scatter_add %a, %b : (tensor<3xf32>, tensor<3xi32>) -> tensor<32xf32>
  return
}

// -----

func.func @scatter_others(%m: tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>, %w: tensor<3xf32>, %j: tensor<3xi32>, %r: tensor<8x4xf32>) {
  %v, %i = cs.unpack_lists %m : (tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>) -> (tensor<6xf32>, tensor<6xi32>)
  %a, %b = cs.merge_top_k %v, %i : (tensor<6xf32>, tensor<6xi32>) -> (tensor<3xf32>, tensor<3xi32>)
  // expected-error@+1 {{'cs.scatter_add' op result must match 'tensor<4x8xf32>', which its lists are of, got: 'tensor<8x4xf32>'}}
  %d = cs.scatter_add %w, %j except %b into %r : (tensor<3xf32>, tensor<3xi32>, tensor<3xi32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @clear_elsewhere(%m: tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>, %r: tensor<8x4xf32>) {
  %v, %i = cs.unpack_lists %m : (tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>) -> (tensor<6xf32>, tensor<6xi32>)
  // expected-error@+1 {{'cs.scatter_clear' op result must match 'tensor<4x8xf32>', which its lists are of, got: 'tensor<8x4xf32>'}}
  %d = cs.scatter_clear %r, %i : tensor<8x4xf32>, tensor<6xi32>
  return
}

// -----

func.func @merge_elsewhere(%m: tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>) {
  %v, %i = cs.unpack_lists %m : (tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>) -> (tensor<6xf32>, tensor<6xi32>)
  %a, %b = cs.merge_top_k %v, %i : (tensor<6xf32>, tensor<6xi32>) -> (tensor<3xf32>, tensor<3xi32>)
  // expected-error@+1 {{'cs.pack_lists' op encoding must match 'tensor<4x8xf32>', which its lists are of, got: 'tensor<8xf32>'}}
  %n = cs.pack_lists %a, %b : (tensor<3xf32>, tensor<3xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>
  return
}

// -----

func.func @select_elsewhere(%g: tensor<4x8xf32>) {
  %v, %i, %r = cs.top_k "exact" %g : (tensor<4x8xf32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<4x8xf32>)
  // expected-error@+1 {{'cs.pack_lists' op encoding must match 'tensor<4x8xf32>', which its lists are of, got: 'tensor<8xf32>'}}
  %n = cs.pack_lists %v, %i : (tensor<3xf32>, tensor<3xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>
  return
}

// -----

func.func @sum(%m: !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>) {
  // expected-error@+1 {{'cs.all_reduce' op cannot combine lists, got: 'tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>'}}
  %r = cs.all_reduce "w" sum %m : !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>
  return
}

// -----

func.func @gather_other(%m: !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<4xf32>>>, device 0>) {
  // expected-error@+1 {{'cs.all_gather' op part must match the whole but for dimension 0, got: 'tensor<1x6xi32, #cs.coordinates<tensor<4xf32>>>' of 'tensor<2x6xi32, #cs.coordinates<tensor<8xf32>>>'}}
  %r = cs.all_gather "w" %m : !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<4xf32>>>, device 0> -> !cs.placed<tensor<2x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>
  return
}

// -----

func.func @gather_plain(%m: !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>) {
  // expected-error@+1 {{'cs.all_gather' op part must match the whole but for dimension 0, got: 'tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>' of 'tensor<2x6xi32>'}}
  %r = cs.all_gather "w" %m : !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0> -> !cs.placed<tensor<2x6xi32>, device 0>
  return
}

// -----

func.func @concat_other(%m: !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>, %n: !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<4xf32>>>, device 0>) {
  // expected-error@+1 {{'cs.concat' op block 1 must match '!cs.placed<tensor<2x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>' but for dimension 0, got: '!cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<4xf32>>>, device 0>'}}
  %r = cs.concat %m, %n : !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>, !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<4xf32>>>, device 0>
  return
}

// -----

func.func @copy_other(%m: !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>) {
  // expected-error@+1 {{'cs.copy' op result must match 'tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>', got: 'tensor<1x6xi32, #cs.coordinates<tensor<4xf32>>>'}}
  %r = cs.copy %m : !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0> -> !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<4xf32>>>, device 1>
  return
}

// -----

func.func @fragment(%m: !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>) {
  // expected-error@+1 {{'cs.fragment' op type of body arguments 0 must match 'tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>', got: 'tensor<1x6xi32>'}}
  %r = cs.fragment "f" on 0 (%m) : (!cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>) -> !cs.placed<tensor<1x6xi32>, device 0> {
  ^bb0(%a: tensor<1x6xi32>):
    cs.return %a : tensor<1x6xi32>
  }
  return
}

// -----

func.func @exchange(%m: !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>) {
  %f = cs.start "w" (%m) : (!cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>) -> !cs.future<!cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>):
    // expected-error@+1 {{'cs.exchange' op cannot combine lists, got: 'tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>'}}
    %r = cs.exchange %x chunks 1 rounds 1 sum send <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> recv <parts affine_map<(r, s) -> (0, 1)> to affine_map<(r, s) -> (r + 1)>> : !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>
    cs.return %r : !cs.placed<tensor<1x6xi32, #cs.coordinates<tensor<8xf32>>>, device 0>
  }
  return
}
