// A Transformer on bytes: made by examples/transformer/make.py with JAX 0.10.2.
#map0 = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map4 = affine_map<(d0, d1, d2) -> (d2)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
#map6 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
#map7 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map11 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>
#map12 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map13 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d2)>
#map14 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map15 = affine_map<() -> ()>
#map16 = affine_map<(d0) -> (d0)>
#map17 = affine_map<(d0, d1) -> ()>
#map18 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map19 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map20 = affine_map<(d0, d1, d2) -> (d1, d0)>
#map21 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
#map22 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d2)>
#map23 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d3)>
#map24 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3)>
#map25 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#map26 = affine_map<(d0) -> ()>

func.func @step(
    %bytes: tensor<256x256xf32> {cs.param = "bytes"},
    %last.bias: tensor<256xf32> {cs.param = "last.bias"},
    %last.scale: tensor<256xf32> {cs.param = "last.scale"},
    %layer0.down: tensor<1024x256xf32> {cs.param = "layer0.down"},
    %layer0.norm1.bias: tensor<256xf32> {cs.param = "layer0.norm1.bias"},
    %layer0.norm1.scale: tensor<256xf32> {cs.param = "layer0.norm1.scale"},
    %layer0.norm2.bias: tensor<256xf32> {cs.param = "layer0.norm2.bias"},
    %layer0.norm2.scale: tensor<256xf32> {cs.param = "layer0.norm2.scale"},
    %layer0.out: tensor<256x256xf32> {cs.param = "layer0.out"},
    %layer0.qkv: tensor<256x768xf32> {cs.param = "layer0.qkv"},
    %layer0.up: tensor<256x1024xf32> {cs.param = "layer0.up"},
    %layer1.down: tensor<1024x256xf32> {cs.param = "layer1.down"},
    %layer1.norm1.bias: tensor<256xf32> {cs.param = "layer1.norm1.bias"},
    %layer1.norm1.scale: tensor<256xf32> {cs.param = "layer1.norm1.scale"},
    %layer1.norm2.bias: tensor<256xf32> {cs.param = "layer1.norm2.bias"},
    %layer1.norm2.scale: tensor<256xf32> {cs.param = "layer1.norm2.scale"},
    %layer1.out: tensor<256x256xf32> {cs.param = "layer1.out"},
    %layer1.qkv: tensor<256x768xf32> {cs.param = "layer1.qkv"},
    %layer1.up: tensor<256x1024xf32> {cs.param = "layer1.up"},
    %layer2.down: tensor<1024x256xf32> {cs.param = "layer2.down"},
    %layer2.norm1.bias: tensor<256xf32> {cs.param = "layer2.norm1.bias"},
    %layer2.norm1.scale: tensor<256xf32> {cs.param = "layer2.norm1.scale"},
    %layer2.norm2.bias: tensor<256xf32> {cs.param = "layer2.norm2.bias"},
    %layer2.norm2.scale: tensor<256xf32> {cs.param = "layer2.norm2.scale"},
    %layer2.out: tensor<256x256xf32> {cs.param = "layer2.out"},
    %layer2.qkv: tensor<256x768xf32> {cs.param = "layer2.qkv"},
    %layer2.up: tensor<256x1024xf32> {cs.param = "layer2.up"},
    %layer3.down: tensor<1024x256xf32> {cs.param = "layer3.down"},
    %layer3.norm1.bias: tensor<256xf32> {cs.param = "layer3.norm1.bias"},
    %layer3.norm1.scale: tensor<256xf32> {cs.param = "layer3.norm1.scale"},
    %layer3.norm2.bias: tensor<256xf32> {cs.param = "layer3.norm2.bias"},
    %layer3.norm2.scale: tensor<256xf32> {cs.param = "layer3.norm2.scale"},
    %layer3.out: tensor<256x256xf32> {cs.param = "layer3.out"},
    %layer3.qkv: tensor<256x768xf32> {cs.param = "layer3.qkv"},
    %layer3.up: tensor<256x1024xf32> {cs.param = "layer3.up"},
    %places: tensor<64x256xf32> {cs.param = "places"},
    %opt.0.count: tensor<i32> {cs.state = "opt.0.count"},
    %opt.0.mu.bytes: tensor<256x256xf32> {cs.state = "opt.0.mu.bytes"},
    %opt.0.mu.last.bias: tensor<256xf32> {cs.state = "opt.0.mu.last.bias"},
    %opt.0.mu.last.scale: tensor<256xf32> {cs.state = "opt.0.mu.last.scale"},
    %opt.0.mu.layer0.down: tensor<1024x256xf32> {cs.state = "opt.0.mu.layer0.down"},
    %opt.0.mu.layer0.norm1.bias: tensor<256xf32> {cs.state = "opt.0.mu.layer0.norm1.bias"},
    %opt.0.mu.layer0.norm1.scale: tensor<256xf32> {cs.state = "opt.0.mu.layer0.norm1.scale"},
    %opt.0.mu.layer0.norm2.bias: tensor<256xf32> {cs.state = "opt.0.mu.layer0.norm2.bias"},
    %opt.0.mu.layer0.norm2.scale: tensor<256xf32> {cs.state = "opt.0.mu.layer0.norm2.scale"},
    %opt.0.mu.layer0.out: tensor<256x256xf32> {cs.state = "opt.0.mu.layer0.out"},
    %opt.0.mu.layer0.qkv: tensor<256x768xf32> {cs.state = "opt.0.mu.layer0.qkv"},
    %opt.0.mu.layer0.up: tensor<256x1024xf32> {cs.state = "opt.0.mu.layer0.up"},
    %opt.0.mu.layer1.down: tensor<1024x256xf32> {cs.state = "opt.0.mu.layer1.down"},
    %opt.0.mu.layer1.norm1.bias: tensor<256xf32> {cs.state = "opt.0.mu.layer1.norm1.bias"},
    %opt.0.mu.layer1.norm1.scale: tensor<256xf32> {cs.state = "opt.0.mu.layer1.norm1.scale"},
    %opt.0.mu.layer1.norm2.bias: tensor<256xf32> {cs.state = "opt.0.mu.layer1.norm2.bias"},
    %opt.0.mu.layer1.norm2.scale: tensor<256xf32> {cs.state = "opt.0.mu.layer1.norm2.scale"},
    %opt.0.mu.layer1.out: tensor<256x256xf32> {cs.state = "opt.0.mu.layer1.out"},
    %opt.0.mu.layer1.qkv: tensor<256x768xf32> {cs.state = "opt.0.mu.layer1.qkv"},
    %opt.0.mu.layer1.up: tensor<256x1024xf32> {cs.state = "opt.0.mu.layer1.up"},
    %opt.0.mu.layer2.down: tensor<1024x256xf32> {cs.state = "opt.0.mu.layer2.down"},
    %opt.0.mu.layer2.norm1.bias: tensor<256xf32> {cs.state = "opt.0.mu.layer2.norm1.bias"},
    %opt.0.mu.layer2.norm1.scale: tensor<256xf32> {cs.state = "opt.0.mu.layer2.norm1.scale"},
    %opt.0.mu.layer2.norm2.bias: tensor<256xf32> {cs.state = "opt.0.mu.layer2.norm2.bias"},
    %opt.0.mu.layer2.norm2.scale: tensor<256xf32> {cs.state = "opt.0.mu.layer2.norm2.scale"},
    %opt.0.mu.layer2.out: tensor<256x256xf32> {cs.state = "opt.0.mu.layer2.out"},
    %opt.0.mu.layer2.qkv: tensor<256x768xf32> {cs.state = "opt.0.mu.layer2.qkv"},
    %opt.0.mu.layer2.up: tensor<256x1024xf32> {cs.state = "opt.0.mu.layer2.up"},
    %opt.0.mu.layer3.down: tensor<1024x256xf32> {cs.state = "opt.0.mu.layer3.down"},
    %opt.0.mu.layer3.norm1.bias: tensor<256xf32> {cs.state = "opt.0.mu.layer3.norm1.bias"},
    %opt.0.mu.layer3.norm1.scale: tensor<256xf32> {cs.state = "opt.0.mu.layer3.norm1.scale"},
    %opt.0.mu.layer3.norm2.bias: tensor<256xf32> {cs.state = "opt.0.mu.layer3.norm2.bias"},
    %opt.0.mu.layer3.norm2.scale: tensor<256xf32> {cs.state = "opt.0.mu.layer3.norm2.scale"},
    %opt.0.mu.layer3.out: tensor<256x256xf32> {cs.state = "opt.0.mu.layer3.out"},
    %opt.0.mu.layer3.qkv: tensor<256x768xf32> {cs.state = "opt.0.mu.layer3.qkv"},
    %opt.0.mu.layer3.up: tensor<256x1024xf32> {cs.state = "opt.0.mu.layer3.up"},
    %opt.0.mu.places: tensor<64x256xf32> {cs.state = "opt.0.mu.places"},
    %opt.0.nu.bytes: tensor<256x256xf32> {cs.state = "opt.0.nu.bytes"},
    %opt.0.nu.last.bias: tensor<256xf32> {cs.state = "opt.0.nu.last.bias"},
    %opt.0.nu.last.scale: tensor<256xf32> {cs.state = "opt.0.nu.last.scale"},
    %opt.0.nu.layer0.down: tensor<1024x256xf32> {cs.state = "opt.0.nu.layer0.down"},
    %opt.0.nu.layer0.norm1.bias: tensor<256xf32> {cs.state = "opt.0.nu.layer0.norm1.bias"},
    %opt.0.nu.layer0.norm1.scale: tensor<256xf32> {cs.state = "opt.0.nu.layer0.norm1.scale"},
    %opt.0.nu.layer0.norm2.bias: tensor<256xf32> {cs.state = "opt.0.nu.layer0.norm2.bias"},
    %opt.0.nu.layer0.norm2.scale: tensor<256xf32> {cs.state = "opt.0.nu.layer0.norm2.scale"},
    %opt.0.nu.layer0.out: tensor<256x256xf32> {cs.state = "opt.0.nu.layer0.out"},
    %opt.0.nu.layer0.qkv: tensor<256x768xf32> {cs.state = "opt.0.nu.layer0.qkv"},
    %opt.0.nu.layer0.up: tensor<256x1024xf32> {cs.state = "opt.0.nu.layer0.up"},
    %opt.0.nu.layer1.down: tensor<1024x256xf32> {cs.state = "opt.0.nu.layer1.down"},
    %opt.0.nu.layer1.norm1.bias: tensor<256xf32> {cs.state = "opt.0.nu.layer1.norm1.bias"},
    %opt.0.nu.layer1.norm1.scale: tensor<256xf32> {cs.state = "opt.0.nu.layer1.norm1.scale"},
    %opt.0.nu.layer1.norm2.bias: tensor<256xf32> {cs.state = "opt.0.nu.layer1.norm2.bias"},
    %opt.0.nu.layer1.norm2.scale: tensor<256xf32> {cs.state = "opt.0.nu.layer1.norm2.scale"},
    %opt.0.nu.layer1.out: tensor<256x256xf32> {cs.state = "opt.0.nu.layer1.out"},
    %opt.0.nu.layer1.qkv: tensor<256x768xf32> {cs.state = "opt.0.nu.layer1.qkv"},
    %opt.0.nu.layer1.up: tensor<256x1024xf32> {cs.state = "opt.0.nu.layer1.up"},
    %opt.0.nu.layer2.down: tensor<1024x256xf32> {cs.state = "opt.0.nu.layer2.down"},
    %opt.0.nu.layer2.norm1.bias: tensor<256xf32> {cs.state = "opt.0.nu.layer2.norm1.bias"},
    %opt.0.nu.layer2.norm1.scale: tensor<256xf32> {cs.state = "opt.0.nu.layer2.norm1.scale"},
    %opt.0.nu.layer2.norm2.bias: tensor<256xf32> {cs.state = "opt.0.nu.layer2.norm2.bias"},
    %opt.0.nu.layer2.norm2.scale: tensor<256xf32> {cs.state = "opt.0.nu.layer2.norm2.scale"},
    %opt.0.nu.layer2.out: tensor<256x256xf32> {cs.state = "opt.0.nu.layer2.out"},
    %opt.0.nu.layer2.qkv: tensor<256x768xf32> {cs.state = "opt.0.nu.layer2.qkv"},
    %opt.0.nu.layer2.up: tensor<256x1024xf32> {cs.state = "opt.0.nu.layer2.up"},
    %opt.0.nu.layer3.down: tensor<1024x256xf32> {cs.state = "opt.0.nu.layer3.down"},
    %opt.0.nu.layer3.norm1.bias: tensor<256xf32> {cs.state = "opt.0.nu.layer3.norm1.bias"},
    %opt.0.nu.layer3.norm1.scale: tensor<256xf32> {cs.state = "opt.0.nu.layer3.norm1.scale"},
    %opt.0.nu.layer3.norm2.bias: tensor<256xf32> {cs.state = "opt.0.nu.layer3.norm2.bias"},
    %opt.0.nu.layer3.norm2.scale: tensor<256xf32> {cs.state = "opt.0.nu.layer3.norm2.scale"},
    %opt.0.nu.layer3.out: tensor<256x256xf32> {cs.state = "opt.0.nu.layer3.out"},
    %opt.0.nu.layer3.qkv: tensor<256x768xf32> {cs.state = "opt.0.nu.layer3.qkv"},
    %opt.0.nu.layer3.up: tensor<256x1024xf32> {cs.state = "opt.0.nu.layer3.up"},
    %opt.0.nu.places: tensor<64x256xf32> {cs.state = "opt.0.nu.places"},
    %tokens: tensor<4x65xi32> {cs.batch = "tokens"}
  ) -> (
    tensor<256x256xf32> {cs.updates = "bytes"},
    tensor<256xf32> {cs.updates = "last.bias"},
    tensor<256xf32> {cs.updates = "last.scale"},
    tensor<1024x256xf32> {cs.updates = "layer0.down"},
    tensor<256xf32> {cs.updates = "layer0.norm1.bias"},
    tensor<256xf32> {cs.updates = "layer0.norm1.scale"},
    tensor<256xf32> {cs.updates = "layer0.norm2.bias"},
    tensor<256xf32> {cs.updates = "layer0.norm2.scale"},
    tensor<256x256xf32> {cs.updates = "layer0.out"},
    tensor<256x768xf32> {cs.updates = "layer0.qkv"},
    tensor<256x1024xf32> {cs.updates = "layer0.up"},
    tensor<1024x256xf32> {cs.updates = "layer1.down"},
    tensor<256xf32> {cs.updates = "layer1.norm1.bias"},
    tensor<256xf32> {cs.updates = "layer1.norm1.scale"},
    tensor<256xf32> {cs.updates = "layer1.norm2.bias"},
    tensor<256xf32> {cs.updates = "layer1.norm2.scale"},
    tensor<256x256xf32> {cs.updates = "layer1.out"},
    tensor<256x768xf32> {cs.updates = "layer1.qkv"},
    tensor<256x1024xf32> {cs.updates = "layer1.up"},
    tensor<1024x256xf32> {cs.updates = "layer2.down"},
    tensor<256xf32> {cs.updates = "layer2.norm1.bias"},
    tensor<256xf32> {cs.updates = "layer2.norm1.scale"},
    tensor<256xf32> {cs.updates = "layer2.norm2.bias"},
    tensor<256xf32> {cs.updates = "layer2.norm2.scale"},
    tensor<256x256xf32> {cs.updates = "layer2.out"},
    tensor<256x768xf32> {cs.updates = "layer2.qkv"},
    tensor<256x1024xf32> {cs.updates = "layer2.up"},
    tensor<1024x256xf32> {cs.updates = "layer3.down"},
    tensor<256xf32> {cs.updates = "layer3.norm1.bias"},
    tensor<256xf32> {cs.updates = "layer3.norm1.scale"},
    tensor<256xf32> {cs.updates = "layer3.norm2.bias"},
    tensor<256xf32> {cs.updates = "layer3.norm2.scale"},
    tensor<256x256xf32> {cs.updates = "layer3.out"},
    tensor<256x768xf32> {cs.updates = "layer3.qkv"},
    tensor<256x1024xf32> {cs.updates = "layer3.up"},
    tensor<64x256xf32> {cs.updates = "places"},
    tensor<i32> {cs.updates = "opt.0.count"},
    tensor<256x256xf32> {cs.updates = "opt.0.mu.bytes"},
    tensor<256xf32> {cs.updates = "opt.0.mu.last.bias"},
    tensor<256xf32> {cs.updates = "opt.0.mu.last.scale"},
    tensor<1024x256xf32> {cs.updates = "opt.0.mu.layer0.down"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer0.norm1.bias"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer0.norm1.scale"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer0.norm2.bias"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer0.norm2.scale"},
    tensor<256x256xf32> {cs.updates = "opt.0.mu.layer0.out"},
    tensor<256x768xf32> {cs.updates = "opt.0.mu.layer0.qkv"},
    tensor<256x1024xf32> {cs.updates = "opt.0.mu.layer0.up"},
    tensor<1024x256xf32> {cs.updates = "opt.0.mu.layer1.down"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer1.norm1.bias"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer1.norm1.scale"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer1.norm2.bias"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer1.norm2.scale"},
    tensor<256x256xf32> {cs.updates = "opt.0.mu.layer1.out"},
    tensor<256x768xf32> {cs.updates = "opt.0.mu.layer1.qkv"},
    tensor<256x1024xf32> {cs.updates = "opt.0.mu.layer1.up"},
    tensor<1024x256xf32> {cs.updates = "opt.0.mu.layer2.down"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer2.norm1.bias"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer2.norm1.scale"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer2.norm2.bias"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer2.norm2.scale"},
    tensor<256x256xf32> {cs.updates = "opt.0.mu.layer2.out"},
    tensor<256x768xf32> {cs.updates = "opt.0.mu.layer2.qkv"},
    tensor<256x1024xf32> {cs.updates = "opt.0.mu.layer2.up"},
    tensor<1024x256xf32> {cs.updates = "opt.0.mu.layer3.down"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer3.norm1.bias"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer3.norm1.scale"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer3.norm2.bias"},
    tensor<256xf32> {cs.updates = "opt.0.mu.layer3.norm2.scale"},
    tensor<256x256xf32> {cs.updates = "opt.0.mu.layer3.out"},
    tensor<256x768xf32> {cs.updates = "opt.0.mu.layer3.qkv"},
    tensor<256x1024xf32> {cs.updates = "opt.0.mu.layer3.up"},
    tensor<64x256xf32> {cs.updates = "opt.0.mu.places"},
    tensor<256x256xf32> {cs.updates = "opt.0.nu.bytes"},
    tensor<256xf32> {cs.updates = "opt.0.nu.last.bias"},
    tensor<256xf32> {cs.updates = "opt.0.nu.last.scale"},
    tensor<1024x256xf32> {cs.updates = "opt.0.nu.layer0.down"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer0.norm1.bias"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer0.norm1.scale"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer0.norm2.bias"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer0.norm2.scale"},
    tensor<256x256xf32> {cs.updates = "opt.0.nu.layer0.out"},
    tensor<256x768xf32> {cs.updates = "opt.0.nu.layer0.qkv"},
    tensor<256x1024xf32> {cs.updates = "opt.0.nu.layer0.up"},
    tensor<1024x256xf32> {cs.updates = "opt.0.nu.layer1.down"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer1.norm1.bias"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer1.norm1.scale"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer1.norm2.bias"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer1.norm2.scale"},
    tensor<256x256xf32> {cs.updates = "opt.0.nu.layer1.out"},
    tensor<256x768xf32> {cs.updates = "opt.0.nu.layer1.qkv"},
    tensor<256x1024xf32> {cs.updates = "opt.0.nu.layer1.up"},
    tensor<1024x256xf32> {cs.updates = "opt.0.nu.layer2.down"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer2.norm1.bias"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer2.norm1.scale"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer2.norm2.bias"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer2.norm2.scale"},
    tensor<256x256xf32> {cs.updates = "opt.0.nu.layer2.out"},
    tensor<256x768xf32> {cs.updates = "opt.0.nu.layer2.qkv"},
    tensor<256x1024xf32> {cs.updates = "opt.0.nu.layer2.up"},
    tensor<1024x256xf32> {cs.updates = "opt.0.nu.layer3.down"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer3.norm1.bias"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer3.norm1.scale"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer3.norm2.bias"},
    tensor<256xf32> {cs.updates = "opt.0.nu.layer3.norm2.scale"},
    tensor<256x256xf32> {cs.updates = "opt.0.nu.layer3.out"},
    tensor<256x768xf32> {cs.updates = "opt.0.nu.layer3.qkv"},
    tensor<256x1024xf32> {cs.updates = "opt.0.nu.layer3.up"},
    tensor<64x256xf32> {cs.updates = "opt.0.nu.places"},
    tensor<f32> {cs.metric = "loss"}
  ) attributes {cs.step, cs.global_batch = 16 : i64} {
  %0 = tensor.extract_slice %tokens[0, 0] [4, 64] [1, 1] : tensor<4x65xi32> to tensor<4x64xi32>
  %1 = tensor.empty() : tensor<4x64xi1>
  %2 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x64xi32>) outs(%1 : tensor<4x64xi1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 0 : i32
    %b1 = arith.cmpi slt, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<4x64xi1> loc(#loc0)
  %3 = tensor.empty() : tensor<4x64xi32>
  %4 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x64xi32>) outs(%3 : tensor<4x64xi32>) {
  ^bb0(%in_0: i32, %out_0: i32):
    %b0 = arith.constant 256 : i32
    %b1 = arith.addi %in_0, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<4x64xi32> loc(#loc0)
  %5 = tensor.empty() : tensor<4x64xi32>
  %6 = linalg.generic {indexing_maps = [#map0, #map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2, %4, %0 : tensor<4x64xi1>, tensor<4x64xi32>, tensor<4x64xi32>) outs(%5 : tensor<4x64xi32>) {
  ^bb0(%in_0: i1, %in_1: i32, %in_2: i32, %out_0: i32):
    %b0 = arith.select %in_0, %in_1, %in_2 : i32
    linalg.yield %b0 : i32
  } -> tensor<4x64xi32> loc(#loc0)
  %7 = tensor.empty() : tensor<4x64x256xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6 : tensor<4x64xi32>) outs(%7 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: i32, %out_0: f32):
    %b0 = arith.index_cast %in_0 : i32 to index
    %b1 = arith.constant 0 : index
    %b2 = arith.maxsi %b0, %b1 : index
    %b3 = arith.constant 255 : index
    %b4 = arith.minsi %b2, %b3 : index
    %b5 = linalg.index 2 : index
    %b6 = tensor.extract %bytes[%b4, %b5] : tensor<256x256xf32>
    linalg.yield %b6 : f32
  } -> tensor<4x64x256xf32> loc(#loc0)
  %9 = tensor.empty() : tensor<4x64x256xf32>
  %10 = linalg.generic {indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8, %places : tensor<4x64x256xf32>, tensor<64x256xf32>) outs(%9 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc0)
  %11 = arith.constant 0.000000e+00 : f32
  %12 = tensor.empty() : tensor<4x64xf32>
  %13 = linalg.fill ins(%11 : f32) outs(%12 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %14 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%10 : tensor<4x64x256xf32>) outs(%13 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc1)
  %15 = tensor.expand_shape %14 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %16 = tensor.empty() : tensor<4x64x1xf32>
  %17 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%15 : tensor<4x64x1xf32>) outs(%16 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %18 = tensor.collapse_shape %17 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %19 = tensor.empty() : tensor<4x64x256xf32>
  %20 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10, %18 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%19 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %21 = tensor.empty() : tensor<4x64x256xf32>
  %22 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20 : tensor<4x64x256xf32>) outs(%21 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %23 = tensor.empty() : tensor<4x64x256xf32>
  %24 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20 : tensor<4x64x256xf32>) outs(%23 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %25 = arith.constant 0.000000e+00 : f32
  %26 = tensor.empty() : tensor<4x64xf32>
  %27 = linalg.fill ins(%25 : f32) outs(%26 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %28 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%22 : tensor<4x64x256xf32>) outs(%27 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc3)
  %29 = tensor.expand_shape %28 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %30 = tensor.empty() : tensor<4x64x1xf32>
  %31 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%29 : tensor<4x64x1xf32>) outs(%30 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %32 = tensor.collapse_shape %17 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %33 = tensor.empty() : tensor<4x64x256xf32>
  %34 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10, %32 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%33 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %35 = tensor.empty() : tensor<4x64x1xf32>
  %36 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%31 : tensor<4x64x1xf32>) outs(%35 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-05 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc5)
  %37 = tensor.empty() : tensor<4x64x1xf32>
  %38 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%36 : tensor<4x64x1xf32>) outs(%37 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.rsqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %39 = tensor.empty() : tensor<4x64x1xf32>
  %40 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%38, %36 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%39 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %41 = tensor.empty() : tensor<4x64x1xf32>
  %42 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%40 : tensor<4x64x1xf32>) outs(%41 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %43 = tensor.collapse_shape %38 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %44 = tensor.empty() : tensor<4x64x256xf32>
  %45 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%34, %43 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%44 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %46 = tensor.empty() : tensor<4x64x256xf32>
  %47 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%45, %layer0.norm1.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%46 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %48 = tensor.empty() : tensor<4x64x256xf32>
  %49 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%47, %layer0.norm1.bias : tensor<4x64x256xf32>, tensor<256xf32>) outs(%48 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %50 = tensor.collapse_shape %49 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %51 = arith.constant 0.000000e+00 : f32
  %52 = tensor.empty() : tensor<256x768xf32>
  %53 = linalg.fill ins(%51 : f32) outs(%52 : tensor<256x768xf32>) -> tensor<256x768xf32>
  %54 = linalg.matmul ins(%50, %layer0.qkv : tensor<256x256xf32>, tensor<256x768xf32>) outs(%53 : tensor<256x768xf32>) -> tensor<256x768xf32> loc(#loc8)
  %55 = tensor.expand_shape %54 [[0, 1], [2, 3]] output_shape [4, 64, 24, 32] : tensor<256x768xf32> into tensor<4x64x24x32xf32>
  %56 = tensor.extract_slice %55[0, 0, 0, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x24x32xf32> to tensor<4x64x8x32xf32>
  %57 = tensor.extract_slice %55[0, 0, 8, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x24x32xf32> to tensor<4x64x8x32xf32>
  %58 = tensor.extract_slice %55[0, 0, 16, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x24x32xf32> to tensor<4x64x8x32xf32>
  %59 = arith.constant 0.000000e+00 : f32
  %60 = tensor.empty() : tensor<4x8x64x64xf32>
  %61 = linalg.fill ins(%59 : f32) outs(%60 : tensor<4x8x64x64xf32>) -> tensor<4x8x64x64xf32>
  %62 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%56, %57 : tensor<4x64x8x32xf32>, tensor<4x64x8x32xf32>) outs(%61 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc9)
  %63 = tensor.empty() : tensor<4x8x64x64xf32>
  %64 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%62 : tensor<4x8x64x64xf32>) outs(%63 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.656854e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc9)
  %65 = tensor.empty() : tensor<64x64xi32>
  %66 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%65 : tensor<64x64xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 0 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<64x64xi32> loc(#loc10)
  %67 = tensor.empty() : tensor<64x64xi32>
  %68 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%66 : tensor<64x64xi32>) outs(%67 : tensor<64x64xi32>) {
  ^bb0(%in_0: i32, %out_0: i32):
    %b0 = arith.constant 0 : i32
    %b1 = arith.addi %in_0, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<64x64xi32> loc(#loc10)
  %69 = tensor.empty() : tensor<64x64xi32>
  %70 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%69 : tensor<64x64xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 1 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<64x64xi32> loc(#loc10)
  %71 = tensor.empty() : tensor<64x64xi1>
  %72 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%68, %70 : tensor<64x64xi32>, tensor<64x64xi32>) outs(%71 : tensor<64x64xi1>) {
  ^bb0(%in_0: i32, %in_1: i32, %out_0: i1):
    %b0 = arith.cmpi sge, %in_0, %in_1 : i32
    linalg.yield %b0 : i1
  } -> tensor<64x64xi1> loc(#loc10)
  %73 = tensor.empty() : tensor<64x64xi1>
  %74 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%72 : tensor<64x64xi1>) outs(%73 : tensor<64x64xi1>) {
  ^bb0(%in_0: i1, %out_0: i1):
    %b0 = arith.constant true
    %b1 = arith.constant false
    %b2 = arith.select %in_0, %b0, %b1 : i1
    linalg.yield %b2 : i1
  } -> tensor<64x64xi1> loc(#loc10)
  %75 = tensor.empty() : tensor<4x8x64x64xf32>
  %76 = linalg.generic {indexing_maps = [#map9, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%74, %64 : tensor<64x64xi1>, tensor<4x8x64x64xf32>) outs(%75 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant -1.000000e+30 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc11)
  %77 = arith.constant 0xFF800000 : f32
  %78 = tensor.empty() : tensor<4x8x64xf32>
  %79 = linalg.fill ins(%77 : f32) outs(%78 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %80 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%76 : tensor<4x8x64x64xf32>) outs(%79 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %81 = tensor.empty() : tensor<4x8x64xf32>
  %82 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%80 : tensor<4x8x64xf32>) outs(%81 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0xFF800000 : f32
    %b1 = arith.maximumf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %83 = tensor.empty() : tensor<4x8x64x64xf32>
  %84 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%76, %82 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%83 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %85 = tensor.empty() : tensor<4x8x64x64xf32>
  %86 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%84 : tensor<4x8x64x64xf32>) outs(%85 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %87 = arith.constant 0.000000e+00 : f32
  %88 = tensor.empty() : tensor<4x8x64xf32>
  %89 = linalg.fill ins(%87 : f32) outs(%88 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %90 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%86 : tensor<4x8x64x64xf32>) outs(%89 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %91 = tensor.expand_shape %90 [[0], [1], [2, 3]] output_shape [4, 8, 64, 1] : tensor<4x8x64xf32> into tensor<4x8x64x1xf32>
  %92 = tensor.empty() : tensor<4x8x64x64xf32>
  %93 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%86, %90 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%92 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %94 = tensor.empty() : tensor<4x8x64x1xf32>
  %95 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%91 : tensor<4x8x64x1xf32>) outs(%94 : tensor<4x8x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x1xf32> loc(#loc12)
  %96 = tensor.empty() : tensor<4x8x64x1xf32>
  %97 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%95 : tensor<4x8x64x1xf32>) outs(%96 : tensor<4x8x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.divf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x1xf32> loc(#loc12)
  %98 = arith.constant 0.000000e+00 : f32
  %99 = tensor.empty() : tensor<4x64x8x32xf32>
  %100 = linalg.fill ins(%98 : f32) outs(%99 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %101 = linalg.generic {indexing_maps = [#map11, #map12, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%58, %93 : tensor<4x64x8x32xf32>, tensor<4x8x64x64xf32>) outs(%100 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc13)
  %102 = tensor.collapse_shape %101 [[0, 1], [2, 3]] : tensor<4x64x8x32xf32> into tensor<256x256xf32>
  %103 = arith.constant 0.000000e+00 : f32
  %104 = tensor.empty() : tensor<256x256xf32>
  %105 = linalg.fill ins(%103 : f32) outs(%104 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %106 = linalg.matmul ins(%102, %layer0.out : tensor<256x256xf32>, tensor<256x256xf32>) outs(%105 : tensor<256x256xf32>) -> tensor<256x256xf32> loc(#loc14)
  %107 = tensor.expand_shape %106 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %108 = tensor.empty() : tensor<4x64x256xf32>
  %109 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10, %107 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%108 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc15)
  %110 = arith.constant 0.000000e+00 : f32
  %111 = tensor.empty() : tensor<4x64xf32>
  %112 = linalg.fill ins(%110 : f32) outs(%111 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %113 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%109 : tensor<4x64x256xf32>) outs(%112 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc1)
  %114 = tensor.expand_shape %113 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %115 = tensor.empty() : tensor<4x64x1xf32>
  %116 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%114 : tensor<4x64x1xf32>) outs(%115 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %117 = tensor.collapse_shape %116 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %118 = tensor.empty() : tensor<4x64x256xf32>
  %119 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%109, %117 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%118 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %120 = tensor.empty() : tensor<4x64x256xf32>
  %121 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%119 : tensor<4x64x256xf32>) outs(%120 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %122 = tensor.empty() : tensor<4x64x256xf32>
  %123 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%119 : tensor<4x64x256xf32>) outs(%122 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %124 = arith.constant 0.000000e+00 : f32
  %125 = tensor.empty() : tensor<4x64xf32>
  %126 = linalg.fill ins(%124 : f32) outs(%125 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %127 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%121 : tensor<4x64x256xf32>) outs(%126 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc3)
  %128 = tensor.expand_shape %127 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %129 = tensor.empty() : tensor<4x64x1xf32>
  %130 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%128 : tensor<4x64x1xf32>) outs(%129 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %131 = tensor.collapse_shape %116 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %132 = tensor.empty() : tensor<4x64x256xf32>
  %133 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%109, %131 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%132 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %134 = tensor.empty() : tensor<4x64x1xf32>
  %135 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%130 : tensor<4x64x1xf32>) outs(%134 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-05 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc5)
  %136 = tensor.empty() : tensor<4x64x1xf32>
  %137 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%135 : tensor<4x64x1xf32>) outs(%136 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.rsqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %138 = tensor.empty() : tensor<4x64x1xf32>
  %139 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%137, %135 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%138 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %140 = tensor.empty() : tensor<4x64x1xf32>
  %141 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%139 : tensor<4x64x1xf32>) outs(%140 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %142 = tensor.collapse_shape %137 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %143 = tensor.empty() : tensor<4x64x256xf32>
  %144 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%133, %142 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%143 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %145 = tensor.empty() : tensor<4x64x256xf32>
  %146 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%144, %layer0.norm2.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%145 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %147 = tensor.empty() : tensor<4x64x256xf32>
  %148 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%146, %layer0.norm2.bias : tensor<4x64x256xf32>, tensor<256xf32>) outs(%147 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %149 = tensor.collapse_shape %148 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %150 = arith.constant 0.000000e+00 : f32
  %151 = tensor.empty() : tensor<256x1024xf32>
  %152 = linalg.fill ins(%150 : f32) outs(%151 : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %153 = linalg.matmul ins(%149, %layer0.up : tensor<256x256xf32>, tensor<256x1024xf32>) outs(%152 : tensor<256x1024xf32>) -> tensor<256x1024xf32> loc(#loc16)
  %154 = tensor.expand_shape %153 [[0, 1], [2]] output_shape [4, 64, 1024] : tensor<256x1024xf32> into tensor<4x64x1024xf32>
  %155 = tensor.empty() : tensor<4x64x1024xf32>
  %156 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%154 : tensor<4x64x1024xf32>) outs(%155 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %157 = tensor.empty() : tensor<4x64x1024xf32>
  %158 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%156, %154 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%157 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %159 = tensor.empty() : tensor<4x64x1024xf32>
  %160 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%154 : tensor<4x64x1024xf32>) outs(%159 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %161 = tensor.empty() : tensor<4x64x1024xf32>
  %162 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%160 : tensor<4x64x1024xf32>) outs(%161 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 3.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %163 = tensor.empty() : tensor<4x64x1024xf32>
  %164 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%158 : tensor<4x64x1024xf32>) outs(%163 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.471500e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %165 = tensor.empty() : tensor<4x64x1024xf32>
  %166 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%154, %164 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%165 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %167 = tensor.empty() : tensor<4x64x1024xf32>
  %168 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%166 : tensor<4x64x1024xf32>) outs(%167 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 7.978846e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %169 = tensor.empty() : tensor<4x64x1024xf32>
  %170 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%168 : tensor<4x64x1024xf32>) outs(%169 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.tanh %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %171 = tensor.empty() : tensor<4x64x1024xf32>
  %172 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%170 : tensor<4x64x1024xf32>) outs(%171 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.subf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %173 = tensor.empty() : tensor<4x64x1024xf32>
  %174 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%170 : tensor<4x64x1024xf32>) outs(%173 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.addf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %175 = tensor.empty() : tensor<4x64x1024xf32>
  %176 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%174 : tensor<4x64x1024xf32>) outs(%175 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %177 = tensor.empty() : tensor<4x64x1024xf32>
  %178 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%154, %176 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%177 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %179 = tensor.collapse_shape %178 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %180 = arith.constant 0.000000e+00 : f32
  %181 = tensor.empty() : tensor<256x256xf32>
  %182 = linalg.fill ins(%180 : f32) outs(%181 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %183 = linalg.matmul ins(%179, %layer0.down : tensor<256x1024xf32>, tensor<1024x256xf32>) outs(%182 : tensor<256x256xf32>) -> tensor<256x256xf32> loc(#loc17)
  %184 = tensor.expand_shape %183 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %185 = tensor.empty() : tensor<4x64x256xf32>
  %186 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%109, %184 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%185 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc18)
  %187 = arith.constant 0.000000e+00 : f32
  %188 = tensor.empty() : tensor<4x64xf32>
  %189 = linalg.fill ins(%187 : f32) outs(%188 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %190 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%186 : tensor<4x64x256xf32>) outs(%189 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc1)
  %191 = tensor.expand_shape %190 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %192 = tensor.empty() : tensor<4x64x1xf32>
  %193 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%191 : tensor<4x64x1xf32>) outs(%192 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %194 = tensor.collapse_shape %193 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %195 = tensor.empty() : tensor<4x64x256xf32>
  %196 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%186, %194 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%195 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %197 = tensor.empty() : tensor<4x64x256xf32>
  %198 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%196 : tensor<4x64x256xf32>) outs(%197 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %199 = tensor.empty() : tensor<4x64x256xf32>
  %200 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%196 : tensor<4x64x256xf32>) outs(%199 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %201 = arith.constant 0.000000e+00 : f32
  %202 = tensor.empty() : tensor<4x64xf32>
  %203 = linalg.fill ins(%201 : f32) outs(%202 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %204 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%198 : tensor<4x64x256xf32>) outs(%203 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc3)
  %205 = tensor.expand_shape %204 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %206 = tensor.empty() : tensor<4x64x1xf32>
  %207 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%205 : tensor<4x64x1xf32>) outs(%206 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %208 = tensor.collapse_shape %193 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %209 = tensor.empty() : tensor<4x64x256xf32>
  %210 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%186, %208 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%209 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %211 = tensor.empty() : tensor<4x64x1xf32>
  %212 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%207 : tensor<4x64x1xf32>) outs(%211 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-05 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc5)
  %213 = tensor.empty() : tensor<4x64x1xf32>
  %214 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%212 : tensor<4x64x1xf32>) outs(%213 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.rsqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %215 = tensor.empty() : tensor<4x64x1xf32>
  %216 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%214, %212 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%215 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %217 = tensor.empty() : tensor<4x64x1xf32>
  %218 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%216 : tensor<4x64x1xf32>) outs(%217 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %219 = tensor.collapse_shape %214 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %220 = tensor.empty() : tensor<4x64x256xf32>
  %221 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%210, %219 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%220 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %222 = tensor.empty() : tensor<4x64x256xf32>
  %223 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%221, %layer1.norm1.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%222 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %224 = tensor.empty() : tensor<4x64x256xf32>
  %225 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%223, %layer1.norm1.bias : tensor<4x64x256xf32>, tensor<256xf32>) outs(%224 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %226 = tensor.collapse_shape %225 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %227 = arith.constant 0.000000e+00 : f32
  %228 = tensor.empty() : tensor<256x768xf32>
  %229 = linalg.fill ins(%227 : f32) outs(%228 : tensor<256x768xf32>) -> tensor<256x768xf32>
  %230 = linalg.matmul ins(%226, %layer1.qkv : tensor<256x256xf32>, tensor<256x768xf32>) outs(%229 : tensor<256x768xf32>) -> tensor<256x768xf32> loc(#loc8)
  %231 = tensor.expand_shape %230 [[0, 1], [2, 3]] output_shape [4, 64, 24, 32] : tensor<256x768xf32> into tensor<4x64x24x32xf32>
  %232 = tensor.extract_slice %231[0, 0, 0, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x24x32xf32> to tensor<4x64x8x32xf32>
  %233 = tensor.extract_slice %231[0, 0, 8, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x24x32xf32> to tensor<4x64x8x32xf32>
  %234 = tensor.extract_slice %231[0, 0, 16, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x24x32xf32> to tensor<4x64x8x32xf32>
  %235 = arith.constant 0.000000e+00 : f32
  %236 = tensor.empty() : tensor<4x8x64x64xf32>
  %237 = linalg.fill ins(%235 : f32) outs(%236 : tensor<4x8x64x64xf32>) -> tensor<4x8x64x64xf32>
  %238 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%232, %233 : tensor<4x64x8x32xf32>, tensor<4x64x8x32xf32>) outs(%237 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc9)
  %239 = tensor.empty() : tensor<4x8x64x64xf32>
  %240 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%238 : tensor<4x8x64x64xf32>) outs(%239 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.656854e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc9)
  %241 = tensor.empty() : tensor<64x64xi32>
  %242 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%241 : tensor<64x64xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 0 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<64x64xi32> loc(#loc10)
  %243 = tensor.empty() : tensor<64x64xi32>
  %244 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%242 : tensor<64x64xi32>) outs(%243 : tensor<64x64xi32>) {
  ^bb0(%in_0: i32, %out_0: i32):
    %b0 = arith.constant 0 : i32
    %b1 = arith.addi %in_0, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<64x64xi32> loc(#loc10)
  %245 = tensor.empty() : tensor<64x64xi32>
  %246 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%245 : tensor<64x64xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 1 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<64x64xi32> loc(#loc10)
  %247 = tensor.empty() : tensor<64x64xi1>
  %248 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%244, %246 : tensor<64x64xi32>, tensor<64x64xi32>) outs(%247 : tensor<64x64xi1>) {
  ^bb0(%in_0: i32, %in_1: i32, %out_0: i1):
    %b0 = arith.cmpi sge, %in_0, %in_1 : i32
    linalg.yield %b0 : i1
  } -> tensor<64x64xi1> loc(#loc10)
  %249 = tensor.empty() : tensor<64x64xi1>
  %250 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%248 : tensor<64x64xi1>) outs(%249 : tensor<64x64xi1>) {
  ^bb0(%in_0: i1, %out_0: i1):
    %b0 = arith.constant true
    %b1 = arith.constant false
    %b2 = arith.select %in_0, %b0, %b1 : i1
    linalg.yield %b2 : i1
  } -> tensor<64x64xi1> loc(#loc10)
  %251 = tensor.empty() : tensor<4x8x64x64xf32>
  %252 = linalg.generic {indexing_maps = [#map9, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%250, %240 : tensor<64x64xi1>, tensor<4x8x64x64xf32>) outs(%251 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant -1.000000e+30 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc11)
  %253 = arith.constant 0xFF800000 : f32
  %254 = tensor.empty() : tensor<4x8x64xf32>
  %255 = linalg.fill ins(%253 : f32) outs(%254 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %256 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%252 : tensor<4x8x64x64xf32>) outs(%255 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %257 = tensor.empty() : tensor<4x8x64xf32>
  %258 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%256 : tensor<4x8x64xf32>) outs(%257 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0xFF800000 : f32
    %b1 = arith.maximumf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %259 = tensor.empty() : tensor<4x8x64x64xf32>
  %260 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%252, %258 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%259 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %261 = tensor.empty() : tensor<4x8x64x64xf32>
  %262 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%260 : tensor<4x8x64x64xf32>) outs(%261 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %263 = arith.constant 0.000000e+00 : f32
  %264 = tensor.empty() : tensor<4x8x64xf32>
  %265 = linalg.fill ins(%263 : f32) outs(%264 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %266 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%262 : tensor<4x8x64x64xf32>) outs(%265 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %267 = tensor.expand_shape %266 [[0], [1], [2, 3]] output_shape [4, 8, 64, 1] : tensor<4x8x64xf32> into tensor<4x8x64x1xf32>
  %268 = tensor.empty() : tensor<4x8x64x64xf32>
  %269 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%262, %266 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%268 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %270 = tensor.empty() : tensor<4x8x64x1xf32>
  %271 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%267 : tensor<4x8x64x1xf32>) outs(%270 : tensor<4x8x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x1xf32> loc(#loc12)
  %272 = tensor.empty() : tensor<4x8x64x1xf32>
  %273 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%271 : tensor<4x8x64x1xf32>) outs(%272 : tensor<4x8x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.divf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x1xf32> loc(#loc12)
  %274 = arith.constant 0.000000e+00 : f32
  %275 = tensor.empty() : tensor<4x64x8x32xf32>
  %276 = linalg.fill ins(%274 : f32) outs(%275 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %277 = linalg.generic {indexing_maps = [#map11, #map12, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%234, %269 : tensor<4x64x8x32xf32>, tensor<4x8x64x64xf32>) outs(%276 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc13)
  %278 = tensor.collapse_shape %277 [[0, 1], [2, 3]] : tensor<4x64x8x32xf32> into tensor<256x256xf32>
  %279 = arith.constant 0.000000e+00 : f32
  %280 = tensor.empty() : tensor<256x256xf32>
  %281 = linalg.fill ins(%279 : f32) outs(%280 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %282 = linalg.matmul ins(%278, %layer1.out : tensor<256x256xf32>, tensor<256x256xf32>) outs(%281 : tensor<256x256xf32>) -> tensor<256x256xf32> loc(#loc14)
  %283 = tensor.expand_shape %282 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %284 = tensor.empty() : tensor<4x64x256xf32>
  %285 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%186, %283 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%284 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc15)
  %286 = arith.constant 0.000000e+00 : f32
  %287 = tensor.empty() : tensor<4x64xf32>
  %288 = linalg.fill ins(%286 : f32) outs(%287 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %289 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%285 : tensor<4x64x256xf32>) outs(%288 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc1)
  %290 = tensor.expand_shape %289 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %291 = tensor.empty() : tensor<4x64x1xf32>
  %292 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%290 : tensor<4x64x1xf32>) outs(%291 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %293 = tensor.collapse_shape %292 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %294 = tensor.empty() : tensor<4x64x256xf32>
  %295 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%285, %293 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%294 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %296 = tensor.empty() : tensor<4x64x256xf32>
  %297 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%295 : tensor<4x64x256xf32>) outs(%296 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %298 = tensor.empty() : tensor<4x64x256xf32>
  %299 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%295 : tensor<4x64x256xf32>) outs(%298 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %300 = arith.constant 0.000000e+00 : f32
  %301 = tensor.empty() : tensor<4x64xf32>
  %302 = linalg.fill ins(%300 : f32) outs(%301 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %303 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%297 : tensor<4x64x256xf32>) outs(%302 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc3)
  %304 = tensor.expand_shape %303 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %305 = tensor.empty() : tensor<4x64x1xf32>
  %306 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%304 : tensor<4x64x1xf32>) outs(%305 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %307 = tensor.collapse_shape %292 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %308 = tensor.empty() : tensor<4x64x256xf32>
  %309 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%285, %307 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%308 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %310 = tensor.empty() : tensor<4x64x1xf32>
  %311 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%306 : tensor<4x64x1xf32>) outs(%310 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-05 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc5)
  %312 = tensor.empty() : tensor<4x64x1xf32>
  %313 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%311 : tensor<4x64x1xf32>) outs(%312 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.rsqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %314 = tensor.empty() : tensor<4x64x1xf32>
  %315 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%313, %311 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%314 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %316 = tensor.empty() : tensor<4x64x1xf32>
  %317 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%315 : tensor<4x64x1xf32>) outs(%316 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %318 = tensor.collapse_shape %313 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %319 = tensor.empty() : tensor<4x64x256xf32>
  %320 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%309, %318 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%319 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %321 = tensor.empty() : tensor<4x64x256xf32>
  %322 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%320, %layer1.norm2.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%321 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %323 = tensor.empty() : tensor<4x64x256xf32>
  %324 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%322, %layer1.norm2.bias : tensor<4x64x256xf32>, tensor<256xf32>) outs(%323 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %325 = tensor.collapse_shape %324 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %326 = arith.constant 0.000000e+00 : f32
  %327 = tensor.empty() : tensor<256x1024xf32>
  %328 = linalg.fill ins(%326 : f32) outs(%327 : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %329 = linalg.matmul ins(%325, %layer1.up : tensor<256x256xf32>, tensor<256x1024xf32>) outs(%328 : tensor<256x1024xf32>) -> tensor<256x1024xf32> loc(#loc16)
  %330 = tensor.expand_shape %329 [[0, 1], [2]] output_shape [4, 64, 1024] : tensor<256x1024xf32> into tensor<4x64x1024xf32>
  %331 = tensor.empty() : tensor<4x64x1024xf32>
  %332 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%330 : tensor<4x64x1024xf32>) outs(%331 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %333 = tensor.empty() : tensor<4x64x1024xf32>
  %334 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%332, %330 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%333 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %335 = tensor.empty() : tensor<4x64x1024xf32>
  %336 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%330 : tensor<4x64x1024xf32>) outs(%335 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %337 = tensor.empty() : tensor<4x64x1024xf32>
  %338 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%336 : tensor<4x64x1024xf32>) outs(%337 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 3.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %339 = tensor.empty() : tensor<4x64x1024xf32>
  %340 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%334 : tensor<4x64x1024xf32>) outs(%339 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.471500e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %341 = tensor.empty() : tensor<4x64x1024xf32>
  %342 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%330, %340 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%341 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %343 = tensor.empty() : tensor<4x64x1024xf32>
  %344 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%342 : tensor<4x64x1024xf32>) outs(%343 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 7.978846e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %345 = tensor.empty() : tensor<4x64x1024xf32>
  %346 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%344 : tensor<4x64x1024xf32>) outs(%345 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.tanh %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %347 = tensor.empty() : tensor<4x64x1024xf32>
  %348 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%346 : tensor<4x64x1024xf32>) outs(%347 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.subf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %349 = tensor.empty() : tensor<4x64x1024xf32>
  %350 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%346 : tensor<4x64x1024xf32>) outs(%349 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.addf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %351 = tensor.empty() : tensor<4x64x1024xf32>
  %352 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%350 : tensor<4x64x1024xf32>) outs(%351 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %353 = tensor.empty() : tensor<4x64x1024xf32>
  %354 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%330, %352 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%353 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %355 = tensor.collapse_shape %354 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %356 = arith.constant 0.000000e+00 : f32
  %357 = tensor.empty() : tensor<256x256xf32>
  %358 = linalg.fill ins(%356 : f32) outs(%357 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %359 = linalg.matmul ins(%355, %layer1.down : tensor<256x1024xf32>, tensor<1024x256xf32>) outs(%358 : tensor<256x256xf32>) -> tensor<256x256xf32> loc(#loc17)
  %360 = tensor.expand_shape %359 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %361 = tensor.empty() : tensor<4x64x256xf32>
  %362 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%285, %360 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%361 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc18)
  %363 = arith.constant 0.000000e+00 : f32
  %364 = tensor.empty() : tensor<4x64xf32>
  %365 = linalg.fill ins(%363 : f32) outs(%364 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %366 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%362 : tensor<4x64x256xf32>) outs(%365 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc1)
  %367 = tensor.expand_shape %366 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %368 = tensor.empty() : tensor<4x64x1xf32>
  %369 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%367 : tensor<4x64x1xf32>) outs(%368 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %370 = tensor.collapse_shape %369 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %371 = tensor.empty() : tensor<4x64x256xf32>
  %372 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%362, %370 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%371 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %373 = tensor.empty() : tensor<4x64x256xf32>
  %374 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%372 : tensor<4x64x256xf32>) outs(%373 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %375 = tensor.empty() : tensor<4x64x256xf32>
  %376 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%372 : tensor<4x64x256xf32>) outs(%375 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %377 = arith.constant 0.000000e+00 : f32
  %378 = tensor.empty() : tensor<4x64xf32>
  %379 = linalg.fill ins(%377 : f32) outs(%378 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %380 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%374 : tensor<4x64x256xf32>) outs(%379 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc3)
  %381 = tensor.expand_shape %380 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %382 = tensor.empty() : tensor<4x64x1xf32>
  %383 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%381 : tensor<4x64x1xf32>) outs(%382 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %384 = tensor.collapse_shape %369 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %385 = tensor.empty() : tensor<4x64x256xf32>
  %386 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%362, %384 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%385 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %387 = tensor.empty() : tensor<4x64x1xf32>
  %388 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%383 : tensor<4x64x1xf32>) outs(%387 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-05 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc5)
  %389 = tensor.empty() : tensor<4x64x1xf32>
  %390 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%388 : tensor<4x64x1xf32>) outs(%389 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.rsqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %391 = tensor.empty() : tensor<4x64x1xf32>
  %392 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%390, %388 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%391 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %393 = tensor.empty() : tensor<4x64x1xf32>
  %394 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%392 : tensor<4x64x1xf32>) outs(%393 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %395 = tensor.collapse_shape %390 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %396 = tensor.empty() : tensor<4x64x256xf32>
  %397 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%386, %395 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%396 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %398 = tensor.empty() : tensor<4x64x256xf32>
  %399 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%397, %layer2.norm1.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%398 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %400 = tensor.empty() : tensor<4x64x256xf32>
  %401 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%399, %layer2.norm1.bias : tensor<4x64x256xf32>, tensor<256xf32>) outs(%400 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %402 = tensor.collapse_shape %401 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %403 = arith.constant 0.000000e+00 : f32
  %404 = tensor.empty() : tensor<256x768xf32>
  %405 = linalg.fill ins(%403 : f32) outs(%404 : tensor<256x768xf32>) -> tensor<256x768xf32>
  %406 = linalg.matmul ins(%402, %layer2.qkv : tensor<256x256xf32>, tensor<256x768xf32>) outs(%405 : tensor<256x768xf32>) -> tensor<256x768xf32> loc(#loc8)
  %407 = tensor.expand_shape %406 [[0, 1], [2, 3]] output_shape [4, 64, 24, 32] : tensor<256x768xf32> into tensor<4x64x24x32xf32>
  %408 = tensor.extract_slice %407[0, 0, 0, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x24x32xf32> to tensor<4x64x8x32xf32>
  %409 = tensor.extract_slice %407[0, 0, 8, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x24x32xf32> to tensor<4x64x8x32xf32>
  %410 = tensor.extract_slice %407[0, 0, 16, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x24x32xf32> to tensor<4x64x8x32xf32>
  %411 = arith.constant 0.000000e+00 : f32
  %412 = tensor.empty() : tensor<4x8x64x64xf32>
  %413 = linalg.fill ins(%411 : f32) outs(%412 : tensor<4x8x64x64xf32>) -> tensor<4x8x64x64xf32>
  %414 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%408, %409 : tensor<4x64x8x32xf32>, tensor<4x64x8x32xf32>) outs(%413 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc9)
  %415 = tensor.empty() : tensor<4x8x64x64xf32>
  %416 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%414 : tensor<4x8x64x64xf32>) outs(%415 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.656854e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc9)
  %417 = tensor.empty() : tensor<64x64xi32>
  %418 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%417 : tensor<64x64xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 0 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<64x64xi32> loc(#loc10)
  %419 = tensor.empty() : tensor<64x64xi32>
  %420 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%418 : tensor<64x64xi32>) outs(%419 : tensor<64x64xi32>) {
  ^bb0(%in_0: i32, %out_0: i32):
    %b0 = arith.constant 0 : i32
    %b1 = arith.addi %in_0, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<64x64xi32> loc(#loc10)
  %421 = tensor.empty() : tensor<64x64xi32>
  %422 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%421 : tensor<64x64xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 1 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<64x64xi32> loc(#loc10)
  %423 = tensor.empty() : tensor<64x64xi1>
  %424 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%420, %422 : tensor<64x64xi32>, tensor<64x64xi32>) outs(%423 : tensor<64x64xi1>) {
  ^bb0(%in_0: i32, %in_1: i32, %out_0: i1):
    %b0 = arith.cmpi sge, %in_0, %in_1 : i32
    linalg.yield %b0 : i1
  } -> tensor<64x64xi1> loc(#loc10)
  %425 = tensor.empty() : tensor<64x64xi1>
  %426 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%424 : tensor<64x64xi1>) outs(%425 : tensor<64x64xi1>) {
  ^bb0(%in_0: i1, %out_0: i1):
    %b0 = arith.constant true
    %b1 = arith.constant false
    %b2 = arith.select %in_0, %b0, %b1 : i1
    linalg.yield %b2 : i1
  } -> tensor<64x64xi1> loc(#loc10)
  %427 = tensor.empty() : tensor<4x8x64x64xf32>
  %428 = linalg.generic {indexing_maps = [#map9, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%426, %416 : tensor<64x64xi1>, tensor<4x8x64x64xf32>) outs(%427 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant -1.000000e+30 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc11)
  %429 = arith.constant 0xFF800000 : f32
  %430 = tensor.empty() : tensor<4x8x64xf32>
  %431 = linalg.fill ins(%429 : f32) outs(%430 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %432 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%428 : tensor<4x8x64x64xf32>) outs(%431 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %433 = tensor.empty() : tensor<4x8x64xf32>
  %434 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%432 : tensor<4x8x64xf32>) outs(%433 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0xFF800000 : f32
    %b1 = arith.maximumf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %435 = tensor.empty() : tensor<4x8x64x64xf32>
  %436 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%428, %434 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%435 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %437 = tensor.empty() : tensor<4x8x64x64xf32>
  %438 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%436 : tensor<4x8x64x64xf32>) outs(%437 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %439 = arith.constant 0.000000e+00 : f32
  %440 = tensor.empty() : tensor<4x8x64xf32>
  %441 = linalg.fill ins(%439 : f32) outs(%440 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %442 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%438 : tensor<4x8x64x64xf32>) outs(%441 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %443 = tensor.expand_shape %442 [[0], [1], [2, 3]] output_shape [4, 8, 64, 1] : tensor<4x8x64xf32> into tensor<4x8x64x1xf32>
  %444 = tensor.empty() : tensor<4x8x64x64xf32>
  %445 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%438, %442 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%444 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %446 = tensor.empty() : tensor<4x8x64x1xf32>
  %447 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%443 : tensor<4x8x64x1xf32>) outs(%446 : tensor<4x8x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x1xf32> loc(#loc12)
  %448 = tensor.empty() : tensor<4x8x64x1xf32>
  %449 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%447 : tensor<4x8x64x1xf32>) outs(%448 : tensor<4x8x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.divf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x1xf32> loc(#loc12)
  %450 = arith.constant 0.000000e+00 : f32
  %451 = tensor.empty() : tensor<4x64x8x32xf32>
  %452 = linalg.fill ins(%450 : f32) outs(%451 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %453 = linalg.generic {indexing_maps = [#map11, #map12, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%410, %445 : tensor<4x64x8x32xf32>, tensor<4x8x64x64xf32>) outs(%452 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc13)
  %454 = tensor.collapse_shape %453 [[0, 1], [2, 3]] : tensor<4x64x8x32xf32> into tensor<256x256xf32>
  %455 = arith.constant 0.000000e+00 : f32
  %456 = tensor.empty() : tensor<256x256xf32>
  %457 = linalg.fill ins(%455 : f32) outs(%456 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %458 = linalg.matmul ins(%454, %layer2.out : tensor<256x256xf32>, tensor<256x256xf32>) outs(%457 : tensor<256x256xf32>) -> tensor<256x256xf32> loc(#loc14)
  %459 = tensor.expand_shape %458 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %460 = tensor.empty() : tensor<4x64x256xf32>
  %461 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%362, %459 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%460 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc15)
  %462 = arith.constant 0.000000e+00 : f32
  %463 = tensor.empty() : tensor<4x64xf32>
  %464 = linalg.fill ins(%462 : f32) outs(%463 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %465 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%461 : tensor<4x64x256xf32>) outs(%464 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc1)
  %466 = tensor.expand_shape %465 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %467 = tensor.empty() : tensor<4x64x1xf32>
  %468 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%466 : tensor<4x64x1xf32>) outs(%467 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %469 = tensor.collapse_shape %468 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %470 = tensor.empty() : tensor<4x64x256xf32>
  %471 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%461, %469 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%470 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %472 = tensor.empty() : tensor<4x64x256xf32>
  %473 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%471 : tensor<4x64x256xf32>) outs(%472 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %474 = tensor.empty() : tensor<4x64x256xf32>
  %475 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%471 : tensor<4x64x256xf32>) outs(%474 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %476 = arith.constant 0.000000e+00 : f32
  %477 = tensor.empty() : tensor<4x64xf32>
  %478 = linalg.fill ins(%476 : f32) outs(%477 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %479 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%473 : tensor<4x64x256xf32>) outs(%478 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc3)
  %480 = tensor.expand_shape %479 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %481 = tensor.empty() : tensor<4x64x1xf32>
  %482 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%480 : tensor<4x64x1xf32>) outs(%481 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %483 = tensor.collapse_shape %468 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %484 = tensor.empty() : tensor<4x64x256xf32>
  %485 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%461, %483 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%484 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %486 = tensor.empty() : tensor<4x64x1xf32>
  %487 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%482 : tensor<4x64x1xf32>) outs(%486 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-05 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc5)
  %488 = tensor.empty() : tensor<4x64x1xf32>
  %489 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%487 : tensor<4x64x1xf32>) outs(%488 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.rsqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %490 = tensor.empty() : tensor<4x64x1xf32>
  %491 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%489, %487 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%490 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %492 = tensor.empty() : tensor<4x64x1xf32>
  %493 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%491 : tensor<4x64x1xf32>) outs(%492 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %494 = tensor.collapse_shape %489 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %495 = tensor.empty() : tensor<4x64x256xf32>
  %496 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%485, %494 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%495 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %497 = tensor.empty() : tensor<4x64x256xf32>
  %498 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%496, %layer2.norm2.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%497 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %499 = tensor.empty() : tensor<4x64x256xf32>
  %500 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%498, %layer2.norm2.bias : tensor<4x64x256xf32>, tensor<256xf32>) outs(%499 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %501 = tensor.collapse_shape %500 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %502 = arith.constant 0.000000e+00 : f32
  %503 = tensor.empty() : tensor<256x1024xf32>
  %504 = linalg.fill ins(%502 : f32) outs(%503 : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %505 = linalg.matmul ins(%501, %layer2.up : tensor<256x256xf32>, tensor<256x1024xf32>) outs(%504 : tensor<256x1024xf32>) -> tensor<256x1024xf32> loc(#loc16)
  %506 = tensor.expand_shape %505 [[0, 1], [2]] output_shape [4, 64, 1024] : tensor<256x1024xf32> into tensor<4x64x1024xf32>
  %507 = tensor.empty() : tensor<4x64x1024xf32>
  %508 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%506 : tensor<4x64x1024xf32>) outs(%507 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %509 = tensor.empty() : tensor<4x64x1024xf32>
  %510 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%508, %506 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%509 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %511 = tensor.empty() : tensor<4x64x1024xf32>
  %512 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%506 : tensor<4x64x1024xf32>) outs(%511 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %513 = tensor.empty() : tensor<4x64x1024xf32>
  %514 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%512 : tensor<4x64x1024xf32>) outs(%513 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 3.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %515 = tensor.empty() : tensor<4x64x1024xf32>
  %516 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%510 : tensor<4x64x1024xf32>) outs(%515 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.471500e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %517 = tensor.empty() : tensor<4x64x1024xf32>
  %518 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%506, %516 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%517 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %519 = tensor.empty() : tensor<4x64x1024xf32>
  %520 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%518 : tensor<4x64x1024xf32>) outs(%519 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 7.978846e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %521 = tensor.empty() : tensor<4x64x1024xf32>
  %522 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%520 : tensor<4x64x1024xf32>) outs(%521 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.tanh %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %523 = tensor.empty() : tensor<4x64x1024xf32>
  %524 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%522 : tensor<4x64x1024xf32>) outs(%523 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.subf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %525 = tensor.empty() : tensor<4x64x1024xf32>
  %526 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%522 : tensor<4x64x1024xf32>) outs(%525 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.addf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %527 = tensor.empty() : tensor<4x64x1024xf32>
  %528 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%526 : tensor<4x64x1024xf32>) outs(%527 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %529 = tensor.empty() : tensor<4x64x1024xf32>
  %530 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%506, %528 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%529 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %531 = tensor.collapse_shape %530 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %532 = arith.constant 0.000000e+00 : f32
  %533 = tensor.empty() : tensor<256x256xf32>
  %534 = linalg.fill ins(%532 : f32) outs(%533 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %535 = linalg.matmul ins(%531, %layer2.down : tensor<256x1024xf32>, tensor<1024x256xf32>) outs(%534 : tensor<256x256xf32>) -> tensor<256x256xf32> loc(#loc17)
  %536 = tensor.expand_shape %535 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %537 = tensor.empty() : tensor<4x64x256xf32>
  %538 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%461, %536 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%537 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc18)
  %539 = arith.constant 0.000000e+00 : f32
  %540 = tensor.empty() : tensor<4x64xf32>
  %541 = linalg.fill ins(%539 : f32) outs(%540 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %542 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%538 : tensor<4x64x256xf32>) outs(%541 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc1)
  %543 = tensor.expand_shape %542 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %544 = tensor.empty() : tensor<4x64x1xf32>
  %545 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%543 : tensor<4x64x1xf32>) outs(%544 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %546 = tensor.collapse_shape %545 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %547 = tensor.empty() : tensor<4x64x256xf32>
  %548 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%538, %546 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%547 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %549 = tensor.empty() : tensor<4x64x256xf32>
  %550 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%548 : tensor<4x64x256xf32>) outs(%549 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %551 = tensor.empty() : tensor<4x64x256xf32>
  %552 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%548 : tensor<4x64x256xf32>) outs(%551 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %553 = arith.constant 0.000000e+00 : f32
  %554 = tensor.empty() : tensor<4x64xf32>
  %555 = linalg.fill ins(%553 : f32) outs(%554 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %556 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%550 : tensor<4x64x256xf32>) outs(%555 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc3)
  %557 = tensor.expand_shape %556 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %558 = tensor.empty() : tensor<4x64x1xf32>
  %559 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%557 : tensor<4x64x1xf32>) outs(%558 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %560 = tensor.collapse_shape %545 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %561 = tensor.empty() : tensor<4x64x256xf32>
  %562 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%538, %560 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%561 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %563 = tensor.empty() : tensor<4x64x1xf32>
  %564 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%559 : tensor<4x64x1xf32>) outs(%563 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-05 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc5)
  %565 = tensor.empty() : tensor<4x64x1xf32>
  %566 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%564 : tensor<4x64x1xf32>) outs(%565 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.rsqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %567 = tensor.empty() : tensor<4x64x1xf32>
  %568 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%566, %564 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%567 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %569 = tensor.empty() : tensor<4x64x1xf32>
  %570 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%568 : tensor<4x64x1xf32>) outs(%569 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %571 = tensor.collapse_shape %566 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %572 = tensor.empty() : tensor<4x64x256xf32>
  %573 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%562, %571 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%572 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %574 = tensor.empty() : tensor<4x64x256xf32>
  %575 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%573, %layer3.norm1.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%574 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %576 = tensor.empty() : tensor<4x64x256xf32>
  %577 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%575, %layer3.norm1.bias : tensor<4x64x256xf32>, tensor<256xf32>) outs(%576 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %578 = tensor.collapse_shape %577 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %579 = arith.constant 0.000000e+00 : f32
  %580 = tensor.empty() : tensor<256x768xf32>
  %581 = linalg.fill ins(%579 : f32) outs(%580 : tensor<256x768xf32>) -> tensor<256x768xf32>
  %582 = linalg.matmul ins(%578, %layer3.qkv : tensor<256x256xf32>, tensor<256x768xf32>) outs(%581 : tensor<256x768xf32>) -> tensor<256x768xf32> loc(#loc8)
  %583 = tensor.expand_shape %582 [[0, 1], [2, 3]] output_shape [4, 64, 24, 32] : tensor<256x768xf32> into tensor<4x64x24x32xf32>
  %584 = tensor.extract_slice %583[0, 0, 0, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x24x32xf32> to tensor<4x64x8x32xf32>
  %585 = tensor.extract_slice %583[0, 0, 8, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x24x32xf32> to tensor<4x64x8x32xf32>
  %586 = tensor.extract_slice %583[0, 0, 16, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x24x32xf32> to tensor<4x64x8x32xf32>
  %587 = arith.constant 0.000000e+00 : f32
  %588 = tensor.empty() : tensor<4x8x64x64xf32>
  %589 = linalg.fill ins(%587 : f32) outs(%588 : tensor<4x8x64x64xf32>) -> tensor<4x8x64x64xf32>
  %590 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%584, %585 : tensor<4x64x8x32xf32>, tensor<4x64x8x32xf32>) outs(%589 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc9)
  %591 = tensor.empty() : tensor<4x8x64x64xf32>
  %592 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%590 : tensor<4x8x64x64xf32>) outs(%591 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.656854e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc9)
  %593 = tensor.empty() : tensor<64x64xi32>
  %594 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%593 : tensor<64x64xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 0 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<64x64xi32> loc(#loc10)
  %595 = tensor.empty() : tensor<64x64xi32>
  %596 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%594 : tensor<64x64xi32>) outs(%595 : tensor<64x64xi32>) {
  ^bb0(%in_0: i32, %out_0: i32):
    %b0 = arith.constant 0 : i32
    %b1 = arith.addi %in_0, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<64x64xi32> loc(#loc10)
  %597 = tensor.empty() : tensor<64x64xi32>
  %598 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%597 : tensor<64x64xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 1 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<64x64xi32> loc(#loc10)
  %599 = tensor.empty() : tensor<64x64xi1>
  %600 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%596, %598 : tensor<64x64xi32>, tensor<64x64xi32>) outs(%599 : tensor<64x64xi1>) {
  ^bb0(%in_0: i32, %in_1: i32, %out_0: i1):
    %b0 = arith.cmpi sge, %in_0, %in_1 : i32
    linalg.yield %b0 : i1
  } -> tensor<64x64xi1> loc(#loc10)
  %601 = tensor.empty() : tensor<64x64xi1>
  %602 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%600 : tensor<64x64xi1>) outs(%601 : tensor<64x64xi1>) {
  ^bb0(%in_0: i1, %out_0: i1):
    %b0 = arith.constant true
    %b1 = arith.constant false
    %b2 = arith.select %in_0, %b0, %b1 : i1
    linalg.yield %b2 : i1
  } -> tensor<64x64xi1> loc(#loc10)
  %603 = tensor.empty() : tensor<4x8x64x64xf32>
  %604 = linalg.generic {indexing_maps = [#map9, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%602, %592 : tensor<64x64xi1>, tensor<4x8x64x64xf32>) outs(%603 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant -1.000000e+30 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc11)
  %605 = arith.constant 0xFF800000 : f32
  %606 = tensor.empty() : tensor<4x8x64xf32>
  %607 = linalg.fill ins(%605 : f32) outs(%606 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %608 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%604 : tensor<4x8x64x64xf32>) outs(%607 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %609 = tensor.empty() : tensor<4x8x64xf32>
  %610 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%608 : tensor<4x8x64xf32>) outs(%609 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0xFF800000 : f32
    %b1 = arith.maximumf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %611 = tensor.empty() : tensor<4x8x64x64xf32>
  %612 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%604, %610 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%611 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %613 = tensor.empty() : tensor<4x8x64x64xf32>
  %614 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%612 : tensor<4x8x64x64xf32>) outs(%613 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %615 = arith.constant 0.000000e+00 : f32
  %616 = tensor.empty() : tensor<4x8x64xf32>
  %617 = linalg.fill ins(%615 : f32) outs(%616 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %618 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%614 : tensor<4x8x64x64xf32>) outs(%617 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %619 = tensor.expand_shape %618 [[0], [1], [2, 3]] output_shape [4, 8, 64, 1] : tensor<4x8x64xf32> into tensor<4x8x64x1xf32>
  %620 = tensor.empty() : tensor<4x8x64x64xf32>
  %621 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%614, %618 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%620 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %622 = tensor.empty() : tensor<4x8x64x1xf32>
  %623 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%619 : tensor<4x8x64x1xf32>) outs(%622 : tensor<4x8x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x1xf32> loc(#loc12)
  %624 = tensor.empty() : tensor<4x8x64x1xf32>
  %625 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%623 : tensor<4x8x64x1xf32>) outs(%624 : tensor<4x8x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.divf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x1xf32> loc(#loc12)
  %626 = arith.constant 0.000000e+00 : f32
  %627 = tensor.empty() : tensor<4x64x8x32xf32>
  %628 = linalg.fill ins(%626 : f32) outs(%627 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %629 = linalg.generic {indexing_maps = [#map11, #map12, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%586, %621 : tensor<4x64x8x32xf32>, tensor<4x8x64x64xf32>) outs(%628 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc13)
  %630 = tensor.collapse_shape %629 [[0, 1], [2, 3]] : tensor<4x64x8x32xf32> into tensor<256x256xf32>
  %631 = arith.constant 0.000000e+00 : f32
  %632 = tensor.empty() : tensor<256x256xf32>
  %633 = linalg.fill ins(%631 : f32) outs(%632 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %634 = linalg.matmul ins(%630, %layer3.out : tensor<256x256xf32>, tensor<256x256xf32>) outs(%633 : tensor<256x256xf32>) -> tensor<256x256xf32> loc(#loc14)
  %635 = tensor.expand_shape %634 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %636 = tensor.empty() : tensor<4x64x256xf32>
  %637 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%538, %635 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%636 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc15)
  %638 = arith.constant 0.000000e+00 : f32
  %639 = tensor.empty() : tensor<4x64xf32>
  %640 = linalg.fill ins(%638 : f32) outs(%639 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %641 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%637 : tensor<4x64x256xf32>) outs(%640 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc1)
  %642 = tensor.expand_shape %641 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %643 = tensor.empty() : tensor<4x64x1xf32>
  %644 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%642 : tensor<4x64x1xf32>) outs(%643 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %645 = tensor.collapse_shape %644 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %646 = tensor.empty() : tensor<4x64x256xf32>
  %647 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%637, %645 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%646 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %648 = tensor.empty() : tensor<4x64x256xf32>
  %649 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%647 : tensor<4x64x256xf32>) outs(%648 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %650 = tensor.empty() : tensor<4x64x256xf32>
  %651 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%647 : tensor<4x64x256xf32>) outs(%650 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %652 = arith.constant 0.000000e+00 : f32
  %653 = tensor.empty() : tensor<4x64xf32>
  %654 = linalg.fill ins(%652 : f32) outs(%653 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %655 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%649 : tensor<4x64x256xf32>) outs(%654 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc3)
  %656 = tensor.expand_shape %655 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %657 = tensor.empty() : tensor<4x64x1xf32>
  %658 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%656 : tensor<4x64x1xf32>) outs(%657 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %659 = tensor.collapse_shape %644 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %660 = tensor.empty() : tensor<4x64x256xf32>
  %661 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%637, %659 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%660 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %662 = tensor.empty() : tensor<4x64x1xf32>
  %663 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%658 : tensor<4x64x1xf32>) outs(%662 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-05 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc5)
  %664 = tensor.empty() : tensor<4x64x1xf32>
  %665 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%663 : tensor<4x64x1xf32>) outs(%664 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.rsqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %666 = tensor.empty() : tensor<4x64x1xf32>
  %667 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%665, %663 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%666 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %668 = tensor.empty() : tensor<4x64x1xf32>
  %669 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%667 : tensor<4x64x1xf32>) outs(%668 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %670 = tensor.collapse_shape %665 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %671 = tensor.empty() : tensor<4x64x256xf32>
  %672 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%661, %670 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%671 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %673 = tensor.empty() : tensor<4x64x256xf32>
  %674 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%672, %layer3.norm2.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%673 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %675 = tensor.empty() : tensor<4x64x256xf32>
  %676 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%674, %layer3.norm2.bias : tensor<4x64x256xf32>, tensor<256xf32>) outs(%675 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %677 = tensor.collapse_shape %676 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %678 = arith.constant 0.000000e+00 : f32
  %679 = tensor.empty() : tensor<256x1024xf32>
  %680 = linalg.fill ins(%678 : f32) outs(%679 : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %681 = linalg.matmul ins(%677, %layer3.up : tensor<256x256xf32>, tensor<256x1024xf32>) outs(%680 : tensor<256x1024xf32>) -> tensor<256x1024xf32> loc(#loc16)
  %682 = tensor.expand_shape %681 [[0, 1], [2]] output_shape [4, 64, 1024] : tensor<256x1024xf32> into tensor<4x64x1024xf32>
  %683 = tensor.empty() : tensor<4x64x1024xf32>
  %684 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%682 : tensor<4x64x1024xf32>) outs(%683 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %685 = tensor.empty() : tensor<4x64x1024xf32>
  %686 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%684, %682 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%685 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %687 = tensor.empty() : tensor<4x64x1024xf32>
  %688 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%682 : tensor<4x64x1024xf32>) outs(%687 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %689 = tensor.empty() : tensor<4x64x1024xf32>
  %690 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%688 : tensor<4x64x1024xf32>) outs(%689 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 3.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %691 = tensor.empty() : tensor<4x64x1024xf32>
  %692 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%686 : tensor<4x64x1024xf32>) outs(%691 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.471500e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %693 = tensor.empty() : tensor<4x64x1024xf32>
  %694 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%682, %692 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%693 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %695 = tensor.empty() : tensor<4x64x1024xf32>
  %696 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%694 : tensor<4x64x1024xf32>) outs(%695 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 7.978846e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %697 = tensor.empty() : tensor<4x64x1024xf32>
  %698 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%696 : tensor<4x64x1024xf32>) outs(%697 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.tanh %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %699 = tensor.empty() : tensor<4x64x1024xf32>
  %700 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%698 : tensor<4x64x1024xf32>) outs(%699 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.subf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %701 = tensor.empty() : tensor<4x64x1024xf32>
  %702 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%698 : tensor<4x64x1024xf32>) outs(%701 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.addf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %703 = tensor.empty() : tensor<4x64x1024xf32>
  %704 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%702 : tensor<4x64x1024xf32>) outs(%703 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %705 = tensor.empty() : tensor<4x64x1024xf32>
  %706 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%682, %704 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%705 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %707 = tensor.collapse_shape %706 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %708 = arith.constant 0.000000e+00 : f32
  %709 = tensor.empty() : tensor<256x256xf32>
  %710 = linalg.fill ins(%708 : f32) outs(%709 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %711 = linalg.matmul ins(%707, %layer3.down : tensor<256x1024xf32>, tensor<1024x256xf32>) outs(%710 : tensor<256x256xf32>) -> tensor<256x256xf32> loc(#loc17)
  %712 = tensor.expand_shape %711 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %713 = tensor.empty() : tensor<4x64x256xf32>
  %714 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%637, %712 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%713 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc18)
  %715 = arith.constant 0.000000e+00 : f32
  %716 = tensor.empty() : tensor<4x64xf32>
  %717 = linalg.fill ins(%715 : f32) outs(%716 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %718 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%714 : tensor<4x64x256xf32>) outs(%717 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc1)
  %719 = tensor.expand_shape %718 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %720 = tensor.empty() : tensor<4x64x1xf32>
  %721 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%719 : tensor<4x64x1xf32>) outs(%720 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %722 = tensor.collapse_shape %721 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %723 = tensor.empty() : tensor<4x64x256xf32>
  %724 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%714, %722 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%723 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %725 = tensor.empty() : tensor<4x64x256xf32>
  %726 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%724 : tensor<4x64x256xf32>) outs(%725 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %727 = tensor.empty() : tensor<4x64x256xf32>
  %728 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%724 : tensor<4x64x256xf32>) outs(%727 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %729 = arith.constant 0.000000e+00 : f32
  %730 = tensor.empty() : tensor<4x64xf32>
  %731 = linalg.fill ins(%729 : f32) outs(%730 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %732 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%726 : tensor<4x64x256xf32>) outs(%731 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc3)
  %733 = tensor.expand_shape %732 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %734 = tensor.empty() : tensor<4x64x1xf32>
  %735 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%733 : tensor<4x64x1xf32>) outs(%734 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %736 = tensor.collapse_shape %721 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %737 = tensor.empty() : tensor<4x64x256xf32>
  %738 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%714, %736 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%737 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %739 = tensor.empty() : tensor<4x64x1xf32>
  %740 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%735 : tensor<4x64x1xf32>) outs(%739 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-05 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc5)
  %741 = tensor.empty() : tensor<4x64x1xf32>
  %742 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%740 : tensor<4x64x1xf32>) outs(%741 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.rsqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %743 = tensor.empty() : tensor<4x64x1xf32>
  %744 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%742, %740 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%743 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %745 = tensor.empty() : tensor<4x64x1xf32>
  %746 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%744 : tensor<4x64x1xf32>) outs(%745 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %747 = tensor.collapse_shape %742 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %748 = tensor.empty() : tensor<4x64x256xf32>
  %749 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%738, %747 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%748 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %750 = tensor.empty() : tensor<4x64x256xf32>
  %751 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%749, %last.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%750 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %752 = tensor.empty() : tensor<4x64x256xf32>
  %753 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%751, %last.bias : tensor<4x64x256xf32>, tensor<256xf32>) outs(%752 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %754 = tensor.collapse_shape %753 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %755 = arith.constant 0.000000e+00 : f32
  %756 = tensor.empty() : tensor<256x256xf32>
  %757 = linalg.fill ins(%755 : f32) outs(%756 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %758 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%754, %bytes : tensor<256x256xf32>, tensor<256x256xf32>) outs(%757 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc19)
  %759 = tensor.expand_shape %758 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %760 = tensor.extract_slice %tokens[0, 1] [4, 64] [1, 1] : tensor<4x65xi32> to tensor<4x64xi32>
  %761 = tensor.expand_shape %760 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xi32> into tensor<4x64x1xi32>
  %762 = tensor.empty() : tensor<4x64x1xi1>
  %763 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%761 : tensor<4x64x1xi32>) outs(%762 : tensor<4x64x1xi1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 0 : i32
    %b1 = arith.cmpi slt, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<4x64x1xi1> loc(#loc20)
  %764 = tensor.empty() : tensor<4x64x1xi32>
  %765 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%761 : tensor<4x64x1xi32>) outs(%764 : tensor<4x64x1xi32>) {
  ^bb0(%in_0: i32, %out_0: i32):
    %b0 = arith.constant 256 : i32
    %b1 = arith.addi %in_0, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<4x64x1xi32> loc(#loc20)
  %766 = tensor.empty() : tensor<4x64x1xi32>
  %767 = linalg.generic {indexing_maps = [#map2, #map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%763, %765, %761 : tensor<4x64x1xi1>, tensor<4x64x1xi32>, tensor<4x64x1xi32>) outs(%766 : tensor<4x64x1xi32>) {
  ^bb0(%in_0: i1, %in_1: i32, %in_2: i32, %out_0: i32):
    %b0 = arith.select %in_0, %in_1, %in_2 : i32
    linalg.yield %b0 : i32
  } -> tensor<4x64x1xi32> loc(#loc20)
  %768 = tensor.expand_shape %767 [[0], [1], [2, 3]] output_shape [4, 64, 1, 1] : tensor<4x64x1xi32> into tensor<4x64x1x1xi32>
  %769 = tensor.empty() : tensor<4x64x1x1xi1>
  %770 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%768 : tensor<4x64x1x1xi32>) outs(%769 : tensor<4x64x1x1xi1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 0 : i32
    %b1 = arith.cmpi sge, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<4x64x1x1xi1> loc(#loc20)
  %771 = tensor.empty() : tensor<4x64x1x1xi1>
  %772 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%768 : tensor<4x64x1x1xi32>) outs(%771 : tensor<4x64x1x1xi1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 255 : i32
    %b1 = arith.cmpi sle, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<4x64x1x1xi1> loc(#loc20)
  %773 = tensor.empty() : tensor<4x64x1x1xi1>
  %774 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%770, %772 : tensor<4x64x1x1xi1>, tensor<4x64x1x1xi1>) outs(%773 : tensor<4x64x1x1xi1>) {
  ^bb0(%in_0: i1, %in_1: i1, %out_0: i1):
    %b0 = arith.andi %in_0, %in_1 : i1
    linalg.yield %b0 : i1
  } -> tensor<4x64x1x1xi1> loc(#loc20)
  %775 = tensor.collapse_shape %774 [[0], [1], [2, 3]] : tensor<4x64x1x1xi1> into tensor<4x64x1xi1>
  %776 = tensor.empty() : tensor<4x64x1xf32>
  %777 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%767 : tensor<4x64x1xi32>) outs(%776 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: i32, %out_0: f32):
    %b0 = linalg.index 0 : index
    %b1 = linalg.index 1 : index
    %b2 = arith.index_cast %in_0 : i32 to index
    %b3 = arith.constant 0 : index
    %b4 = arith.maxsi %b2, %b3 : index
    %b5 = arith.constant 255 : index
    %b6 = arith.minsi %b4, %b5 : index
    %b7 = tensor.extract %759[%b0, %b1, %b6] : tensor<4x64x256xf32>
    linalg.yield %b7 : f32
  } -> tensor<4x64x1xf32> loc(#loc20)
  %778 = tensor.empty() : tensor<4x64x1xf32>
  %779 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%775, %777 : tensor<4x64x1xi1>, tensor<4x64x1xf32>) outs(%778 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0x7FC00000 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc20)
  %780 = tensor.empty() : tensor<i1>
  %781 = linalg.generic {indexing_maps = [#map15], iterator_types = []} outs(%780 : tensor<i1>) {
  ^bb0(%out_0: i1):
    %b0 = arith.constant 0 : i32
    %b1 = arith.cmpi slt, %b0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<i1> loc(#loc20)
  %782 = tensor.empty() : tensor<i32>
  %783 = linalg.generic {indexing_maps = [#map15], iterator_types = []} outs(%782 : tensor<i32>) {
  ^bb0(%out_0: i32):
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.addi %b0, %b1 : i32
    linalg.yield %b2 : i32
  } -> tensor<i32> loc(#loc20)
  %784 = tensor.empty() : tensor<i32>
  %785 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = []} ins(%781, %783 : tensor<i1>, tensor<i32>) outs(%784 : tensor<i32>) {
  ^bb0(%in_0: i1, %in_1: i32, %out_0: i32):
    %b0 = arith.constant 0 : i32
    %b1 = arith.select %in_0, %in_1, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<i32> loc(#loc20)
  %786 = tensor.expand_shape %785 [] output_shape [1] : tensor<i32> into tensor<1xi32>
  %787 = tensor.empty() : tensor<1xi1>
  %788 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%786 : tensor<1xi32>) outs(%787 : tensor<1xi1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 0 : i32
    %b1 = arith.cmpi sge, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<1xi1> loc(#loc20)
  %789 = tensor.empty() : tensor<1xi1>
  %790 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%786 : tensor<1xi32>) outs(%789 : tensor<1xi1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 0 : i32
    %b1 = arith.cmpi sle, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<1xi1> loc(#loc20)
  %791 = tensor.empty() : tensor<1xi1>
  %792 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%788, %790 : tensor<1xi1>, tensor<1xi1>) outs(%791 : tensor<1xi1>) {
  ^bb0(%in_0: i1, %in_1: i1, %out_0: i1):
    %b0 = arith.andi %in_0, %in_1 : i1
    linalg.yield %b0 : i1
  } -> tensor<1xi1> loc(#loc20)
  %793 = tensor.collapse_shape %792 [] : tensor<1xi1> into tensor<i1>
  %794 = tensor.empty() : tensor<4x64xf32>
  %795 = linalg.generic {indexing_maps = [#map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%785 : tensor<i32>) outs(%794 : tensor<4x64xf32>) {
  ^bb0(%in_0: i32, %out_0: f32):
    %b0 = linalg.index 0 : index
    %b1 = linalg.index 1 : index
    %b2 = arith.constant 0 : index
    %b3 = tensor.extract %779[%b0, %b1, %b2] : tensor<4x64x1xf32>
    linalg.yield %b3 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %796 = tensor.empty() : tensor<4x64xf32>
  %797 = linalg.generic {indexing_maps = [#map17, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%793, %795 : tensor<i1>, tensor<4x64xf32>) outs(%796 : tensor<4x64xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0x7FC00000 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %798 = arith.constant 0xFF800000 : f32
  %799 = tensor.empty() : tensor<4x64xf32>
  %800 = linalg.fill ins(%798 : f32) outs(%799 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %801 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%759 : tensor<4x64x256xf32>) outs(%800 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %802 = tensor.empty() : tensor<4x64xf32>
  %803 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%801 : tensor<4x64xf32>) outs(%802 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0xFF800000 : f32
    %b1 = arith.maximumf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %804 = tensor.empty() : tensor<4x64xi1>
  %805 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%803 : tensor<4x64xf32>) outs(%804 : tensor<4x64xi1>) {
  ^bb0(%in_0: f32, %out_0: i1):
    %b0 = math.absf %in_0 : f32
    %b1 = arith.constant 0x7F800000 : f32
    %b2 = arith.cmpf olt, %b0, %b1 : f32
    linalg.yield %b2 : i1
  } -> tensor<4x64xi1> loc(#loc20)
  %806 = tensor.empty() : tensor<4x64xf32>
  %807 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%805, %803 : tensor<4x64xi1>, tensor<4x64xf32>) outs(%806 : tensor<4x64xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %808 = tensor.empty() : tensor<4x64x256xf32>
  %809 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%759, %807 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%808 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc20)
  %810 = tensor.empty() : tensor<4x64x256xf32>
  %811 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%809 : tensor<4x64x256xf32>) outs(%810 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc20)
  %812 = arith.constant 0.000000e+00 : f32
  %813 = tensor.empty() : tensor<4x64xf32>
  %814 = linalg.fill ins(%812 : f32) outs(%813 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %815 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%811 : tensor<4x64x256xf32>) outs(%814 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %816 = tensor.empty() : tensor<4x64xf32>
  %817 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%815 : tensor<4x64xf32>) outs(%816 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.absf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %818 = tensor.empty() : tensor<4x64xi1>
  %819 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%815 : tensor<4x64xf32>) outs(%818 : tensor<4x64xi1>) {
  ^bb0(%in_0: f32, %out_0: i1):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.cmpf oge, %in_0, %b0 : f32
    linalg.yield %b1 : i1
  } -> tensor<4x64xi1> loc(#loc20)
  %820 = tensor.empty() : tensor<4x64xf32>
  %821 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%817 : tensor<4x64xf32>) outs(%820 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.log %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %822 = tensor.empty() : tensor<4x64xf32>
  %823 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%821, %807 : tensor<4x64xf32>, tensor<4x64xf32>) outs(%822 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %824 = tensor.empty() : tensor<4x64xf32>
  %825 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%823, %797 : tensor<4x64xf32>, tensor<4x64xf32>) outs(%824 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %826 = arith.constant 0.000000e+00 : f32
  %827 = tensor.empty() : tensor<f32>
  %828 = linalg.fill ins(%826 : f32) outs(%827 : tensor<f32>) -> tensor<f32>
  %829 = linalg.generic {indexing_maps = [#map0, #map17], iterator_types = ["reduction", "reduction"]} ins(%825 : tensor<4x64xf32>) outs(%828 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc20)
  %830 = tensor.empty() : tensor<f32>
  %831 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%829 : tensor<f32>) outs(%830 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc20)
  %832 = tensor.empty() : tensor<f32>
  %833 = linalg.generic {indexing_maps = [#map15], iterator_types = []} outs(%832 : tensor<f32>) {
  ^bb0(%out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.constant 2.560000e+02 : f32
    %b2 = arith.divf %b0, %b1 : f32
    linalg.yield %b2 : f32
  } -> tensor<f32> loc(#loc20)
  %834 = tensor.empty() : tensor<4x64xf32>
  %835 = linalg.generic {indexing_maps = [#map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%833 : tensor<f32>) outs(%834 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %836 = tensor.empty() : tensor<4x64xf32>
  %837 = linalg.generic {indexing_maps = [#map17, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%833, %817 : tensor<f32>, tensor<4x64xf32>) outs(%836 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %838 = tensor.empty() : tensor<4x64xf32>
  %839 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%819, %837 : tensor<4x64xi1>, tensor<4x64xf32>) outs(%838 : tensor<4x64xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %b0, %in_1 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %840 = tensor.empty() : tensor<4x64xf32>
  %841 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%819, %837 : tensor<4x64xi1>, tensor<4x64xf32>) outs(%840 : tensor<4x64xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %842 = tensor.empty() : tensor<4x64xf32>
  %843 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%839 : tensor<4x64xf32>) outs(%842 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %844 = tensor.empty() : tensor<4x64xf32>
  %845 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%841, %843 : tensor<4x64xf32>, tensor<4x64xf32>) outs(%844 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %846 = tensor.empty() : tensor<4x64x256xf32>
  %847 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%845, %811 : tensor<4x64xf32>, tensor<4x64x256xf32>) outs(%846 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc20)
  %848 = arith.constant dense<0.000000e+00> : tensor<4x64x1xf32>
  %849 = tensor.expand_shape %835 [[0, 1], [2]] output_shape [1, 4, 64] : tensor<4x64xf32> into tensor<1x4x64xf32>
  %850 = tensor.expand_shape %785 [] output_shape [1] : tensor<i32> into tensor<1xi32>
  %851 = arith.constant 0 : index
  %852 = tensor.extract %850[%851] : tensor<1xi32>
  %853 = arith.index_cast %852 : i32 to index
  %854 = arith.constant 0 : index
  %855 = arith.cmpi ule, %853, %854 : index
  %856 = arith.constant 0 : index
  %857 = arith.maxsi %853, %856 : index
  %858 = arith.constant 0 : index
  %859 = arith.minsi %857, %858 : index
  %860 = tensor.extract_slice %848[0, 0, %859] [4, 64, 1] [1, 1, 1] : tensor<4x64x1xf32> to tensor<4x64xf32>
  %861 = tensor.extract_slice %849[%851, 0, 0] [1, 4, 64] [1, 1, 1] : tensor<1x4x64xf32> to tensor<4x64xf32>
  %862 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%861 : tensor<4x64xf32>) outs(%860 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    %b1 = arith.select %855, %b0, %out_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64xf32> loc(#loc20)
  %863 = tensor.insert_slice %862 into %848[0, 0, %859] [4, 64, 1] [1, 1, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %864 = arith.constant dense<0.000000e+00> : tensor<4x64x256xf32>
  %865 = tensor.collapse_shape %863 [[0, 1, 2]] : tensor<4x64x1xf32> into tensor<256xf32>
  %866 = tensor.collapse_shape %767 [[0, 1, 2]] : tensor<4x64x1xi32> into tensor<256xi32>
  %867 = arith.constant 0 : index
  %868 = arith.constant 256 : index
  %869 = arith.constant 1 : index
  %870 = scf.for %r0 = %867 to %868 step %869 iter_args(%r1 = %864) -> (tensor<4x64x256xf32>) {
    %871 = arith.constant 64 : index
    %872 = arith.divui %r0, %871 : index
    %873 = arith.constant 4 : index
    %874 = arith.remui %872, %873 : index
    %875 = arith.constant 1 : index
    %876 = arith.divui %r0, %875 : index
    %877 = arith.constant 64 : index
    %878 = arith.remui %876, %877 : index
    %879 = tensor.extract %866[%r0] : tensor<256xi32>
    %880 = arith.index_cast %879 : i32 to index
    %881 = arith.constant 255 : index
    %882 = arith.cmpi ule, %880, %881 : index
    %883 = arith.constant 0 : index
    %884 = arith.maxsi %880, %883 : index
    %885 = arith.constant 255 : index
    %886 = arith.minsi %884, %885 : index
    %887 = tensor.extract_slice %r1[%874, %878, %886] [1, 1, 1] [1, 1, 1] : tensor<4x64x256xf32> to tensor<f32>
    %888 = tensor.extract_slice %865[%r0] [1] [1] : tensor<256xf32> to tensor<f32>
    %889 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%888 : tensor<f32>) outs(%887 : tensor<f32>) {
    ^bb0(%in_0: f32, %out_0: f32):
      %b0 = arith.addf %out_0, %in_0 : f32
      %b1 = arith.select %882, %b0, %out_0 : f32
      linalg.yield %b1 : f32
    } -> tensor<f32> loc(#loc20)
    %890 = tensor.insert_slice %889 into %r1[%874, %878, %886] [1, 1, 1] [1, 1, 1] : tensor<f32> into tensor<4x64x256xf32>
    scf.yield %890 : tensor<4x64x256xf32>
  } loc(#loc20)
  %891 = tensor.empty() : tensor<4x64x256xf32>
  %892 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%847, %870 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%891 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc20)
  %893 = tensor.collapse_shape %892 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %894 = arith.constant 0.000000e+00 : f32
  %895 = tensor.empty() : tensor<256x256xf32>
  %896 = linalg.fill ins(%894 : f32) outs(%895 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %897 = linalg.matmul ins(%893, %bytes : tensor<256x256xf32>, tensor<256x256xf32>) outs(%896 : tensor<256x256xf32>) -> tensor<256x256xf32> loc(#loc19)
  %898 = tensor.expand_shape %897 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %899 = tensor.collapse_shape %892 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %900 = tensor.collapse_shape %753 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %901 = arith.constant 0.000000e+00 : f32
  %902 = tensor.empty() : tensor<256x256xf32>
  %903 = linalg.fill ins(%901 : f32) outs(%902 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %904 = linalg.generic {indexing_maps = [#map18, #map19, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%899, %900 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%903 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc21)
  %905 = arith.constant 0.000000e+00 : f32
  %906 = tensor.empty() : tensor<256xf32>
  %907 = linalg.fill ins(%905 : f32) outs(%906 : tensor<256xf32>) -> tensor<256xf32>
  %908 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%898 : tensor<4x64x256xf32>) outs(%907 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %909 = tensor.empty() : tensor<4x64x256xf32>
  %910 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%749, %898 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%909 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %911 = arith.constant 0.000000e+00 : f32
  %912 = tensor.empty() : tensor<256xf32>
  %913 = linalg.fill ins(%911 : f32) outs(%912 : tensor<256xf32>) -> tensor<256xf32>
  %914 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%910 : tensor<4x64x256xf32>) outs(%913 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %915 = tensor.empty() : tensor<4x64x256xf32>
  %916 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%898, %last.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%915 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %917 = tensor.empty() : tensor<4x64x256xf32>
  %918 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%738, %916 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%917 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %919 = arith.constant 0.000000e+00 : f32
  %920 = tensor.empty() : tensor<4x64xf32>
  %921 = linalg.fill ins(%919 : f32) outs(%920 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %922 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%918 : tensor<4x64x256xf32>) outs(%921 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc7)
  %923 = tensor.expand_shape %922 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %924 = tensor.collapse_shape %742 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %925 = tensor.empty() : tensor<4x64x256xf32>
  %926 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%916, %924 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%925 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %927 = tensor.empty() : tensor<4x64x1xf32>
  %928 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%923, %746 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%927 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %929 = tensor.empty() : tensor<4x64x256xf32>
  %930 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%926 : tensor<4x64x256xf32>) outs(%929 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %931 = arith.constant 0.000000e+00 : f32
  %932 = tensor.empty() : tensor<4x64xf32>
  %933 = linalg.fill ins(%931 : f32) outs(%932 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %934 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%930 : tensor<4x64x256xf32>) outs(%933 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc4)
  %935 = tensor.expand_shape %934 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %936 = tensor.empty() : tensor<4x64x1xf32>
  %937 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%928 : tensor<4x64x1xf32>) outs(%936 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %938 = tensor.collapse_shape %937 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %939 = tensor.empty() : tensor<4x64x256xf32>
  %940 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%938, %728 : tensor<4x64xf32>, tensor<4x64x256xf32>) outs(%939 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %941 = tensor.empty() : tensor<4x64x256xf32>
  %942 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%940 : tensor<4x64x256xf32>) outs(%941 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %943 = arith.constant 0.000000e+00 : f32
  %944 = tensor.empty() : tensor<4x64xf32>
  %945 = linalg.fill ins(%943 : f32) outs(%944 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %946 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%942 : tensor<4x64x256xf32>) outs(%945 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc2)
  %947 = tensor.expand_shape %946 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %948 = tensor.empty() : tensor<4x64x256xf32>
  %949 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%926, %940 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%948 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %950 = tensor.empty() : tensor<4x64x1xf32>
  %951 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%935, %947 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%950 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc2)
  %952 = tensor.empty() : tensor<4x64x1xf32>
  %953 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%951 : tensor<4x64x1xf32>) outs(%952 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %954 = tensor.collapse_shape %953 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %955 = tensor.empty() : tensor<4x64x256xf32>
  %956 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%949, %954 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%955 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc1)
  %957 = tensor.collapse_shape %956 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %958 = tensor.collapse_shape %706 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %959 = arith.constant 0.000000e+00 : f32
  %960 = tensor.empty() : tensor<1024x256xf32>
  %961 = linalg.fill ins(%959 : f32) outs(%960 : tensor<1024x256xf32>) -> tensor<1024x256xf32>
  %962 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%957, %958 : tensor<256x256xf32>, tensor<256x1024xf32>) outs(%961 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc17)
  %963 = tensor.collapse_shape %956 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %964 = arith.constant 0.000000e+00 : f32
  %965 = tensor.empty() : tensor<256x1024xf32>
  %966 = linalg.fill ins(%964 : f32) outs(%965 : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %967 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%963, %layer3.down : tensor<256x256xf32>, tensor<1024x256xf32>) outs(%966 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc17)
  %968 = tensor.expand_shape %967 [[0, 1], [2]] output_shape [4, 64, 1024] : tensor<256x1024xf32> into tensor<4x64x1024xf32>
  %969 = tensor.empty() : tensor<4x64x1024xf32>
  %970 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%682, %968 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%969 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %971 = tensor.empty() : tensor<4x64x1024xf32>
  %972 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%968, %704 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%971 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %973 = tensor.empty() : tensor<4x64x1024xf32>
  %974 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%970 : tensor<4x64x1024xf32>) outs(%973 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %975 = tensor.empty() : tensor<4x64x1024xf32>
  %976 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%974, %700 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%975 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %977 = tensor.empty() : tensor<4x64x1024xf32>
  %978 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%976, %698 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%977 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %979 = tensor.empty() : tensor<4x64x1024xf32>
  %980 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%976, %978 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%979 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %981 = tensor.empty() : tensor<4x64x1024xf32>
  %982 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%980 : tensor<4x64x1024xf32>) outs(%981 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 7.978846e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %983 = tensor.empty() : tensor<4x64x1024xf32>
  %984 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%972, %982 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%983 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %985 = tensor.empty() : tensor<4x64x1024xf32>
  %986 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%982 : tensor<4x64x1024xf32>) outs(%985 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.471500e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %987 = tensor.empty() : tensor<4x64x1024xf32>
  %988 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%986, %690 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%987 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %989 = tensor.empty() : tensor<4x64x1024xf32>
  %990 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%984, %988 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%989 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %991 = tensor.collapse_shape %990 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %992 = tensor.collapse_shape %676 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %993 = arith.constant 0.000000e+00 : f32
  %994 = tensor.empty() : tensor<256x1024xf32>
  %995 = linalg.fill ins(%993 : f32) outs(%994 : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %996 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%991, %992 : tensor<256x1024xf32>, tensor<256x256xf32>) outs(%995 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc16)
  %997 = tensor.collapse_shape %990 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %998 = arith.constant 0.000000e+00 : f32
  %999 = tensor.empty() : tensor<256x256xf32>
  %1000 = linalg.fill ins(%998 : f32) outs(%999 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1001 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%997, %layer3.up : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%1000 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc16)
  %1002 = tensor.expand_shape %1001 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %1003 = arith.constant 0.000000e+00 : f32
  %1004 = tensor.empty() : tensor<256xf32>
  %1005 = linalg.fill ins(%1003 : f32) outs(%1004 : tensor<256xf32>) -> tensor<256xf32>
  %1006 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1002 : tensor<4x64x256xf32>) outs(%1005 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1007 = tensor.empty() : tensor<4x64x256xf32>
  %1008 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%672, %1002 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1007 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1009 = arith.constant 0.000000e+00 : f32
  %1010 = tensor.empty() : tensor<256xf32>
  %1011 = linalg.fill ins(%1009 : f32) outs(%1010 : tensor<256xf32>) -> tensor<256xf32>
  %1012 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1008 : tensor<4x64x256xf32>) outs(%1011 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1013 = tensor.empty() : tensor<4x64x256xf32>
  %1014 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1002, %layer3.norm2.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%1013 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1015 = tensor.empty() : tensor<4x64x256xf32>
  %1016 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%661, %1014 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1015 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1017 = arith.constant 0.000000e+00 : f32
  %1018 = tensor.empty() : tensor<4x64xf32>
  %1019 = linalg.fill ins(%1017 : f32) outs(%1018 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1020 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1016 : tensor<4x64x256xf32>) outs(%1019 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc7)
  %1021 = tensor.expand_shape %1020 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1022 = tensor.collapse_shape %665 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1023 = tensor.empty() : tensor<4x64x256xf32>
  %1024 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1014, %1022 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1023 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1025 = tensor.empty() : tensor<4x64x1xf32>
  %1026 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1021, %669 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1025 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %1027 = tensor.empty() : tensor<4x64x256xf32>
  %1028 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1024 : tensor<4x64x256xf32>) outs(%1027 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1029 = arith.constant 0.000000e+00 : f32
  %1030 = tensor.empty() : tensor<4x64xf32>
  %1031 = linalg.fill ins(%1029 : f32) outs(%1030 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1032 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1028 : tensor<4x64x256xf32>) outs(%1031 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc4)
  %1033 = tensor.expand_shape %1032 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1034 = tensor.empty() : tensor<4x64x256xf32>
  %1035 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%956, %1024 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1034 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1036 = tensor.empty() : tensor<4x64x1xf32>
  %1037 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1026 : tensor<4x64x1xf32>) outs(%1036 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %1038 = tensor.collapse_shape %1037 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1039 = tensor.empty() : tensor<4x64x256xf32>
  %1040 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1038, %651 : tensor<4x64xf32>, tensor<4x64x256xf32>) outs(%1039 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %1041 = tensor.empty() : tensor<4x64x256xf32>
  %1042 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1040 : tensor<4x64x256xf32>) outs(%1041 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1043 = arith.constant 0.000000e+00 : f32
  %1044 = tensor.empty() : tensor<4x64xf32>
  %1045 = linalg.fill ins(%1043 : f32) outs(%1044 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1046 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1042 : tensor<4x64x256xf32>) outs(%1045 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc2)
  %1047 = tensor.expand_shape %1046 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1048 = tensor.empty() : tensor<4x64x256xf32>
  %1049 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1035, %1040 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1048 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1050 = tensor.empty() : tensor<4x64x1xf32>
  %1051 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1033, %1047 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1050 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc2)
  %1052 = tensor.empty() : tensor<4x64x1xf32>
  %1053 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1051 : tensor<4x64x1xf32>) outs(%1052 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %1054 = tensor.collapse_shape %1053 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1055 = tensor.empty() : tensor<4x64x256xf32>
  %1056 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1049, %1054 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1055 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc1)
  %1057 = tensor.collapse_shape %1056 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1058 = tensor.collapse_shape %629 [[0, 1], [2, 3]] : tensor<4x64x8x32xf32> into tensor<256x256xf32>
  %1059 = arith.constant 0.000000e+00 : f32
  %1060 = tensor.empty() : tensor<256x256xf32>
  %1061 = linalg.fill ins(%1059 : f32) outs(%1060 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1062 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1057, %1058 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%1061 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc14)
  %1063 = tensor.collapse_shape %1056 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1064 = arith.constant 0.000000e+00 : f32
  %1065 = tensor.empty() : tensor<256x256xf32>
  %1066 = linalg.fill ins(%1064 : f32) outs(%1065 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1067 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1063, %layer3.out : tensor<256x256xf32>, tensor<256x256xf32>) outs(%1066 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc14)
  %1068 = tensor.expand_shape %1067 [[0, 1], [2, 3]] output_shape [4, 64, 8, 32] : tensor<256x256xf32> into tensor<4x64x8x32xf32>
  %1069 = arith.constant 0.000000e+00 : f32
  %1070 = tensor.empty() : tensor<4x8x64x64xf32>
  %1071 = linalg.fill ins(%1069 : f32) outs(%1070 : tensor<4x8x64x64xf32>) -> tensor<4x8x64x64xf32>
  %1072 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1068, %586 : tensor<4x64x8x32xf32>, tensor<4x64x8x32xf32>) outs(%1071 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc13)
  %1073 = arith.constant 0.000000e+00 : f32
  %1074 = tensor.empty() : tensor<4x64x8x32xf32>
  %1075 = linalg.fill ins(%1073 : f32) outs(%1074 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %1076 = linalg.generic {indexing_maps = [#map11, #map21, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1068, %621 : tensor<4x64x8x32xf32>, tensor<4x8x64x64xf32>) outs(%1075 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc13)
  %1077 = tensor.collapse_shape %625 [[0], [1], [2, 3]] : tensor<4x8x64x1xf32> into tensor<4x8x64xf32>
  %1078 = tensor.empty() : tensor<4x8x64x64xf32>
  %1079 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1072, %1077 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%1078 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1080 = tensor.empty() : tensor<4x8x64x64xf32>
  %1081 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1079, %614 : tensor<4x8x64x64xf32>, tensor<4x8x64x64xf32>) outs(%1080 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1082 = arith.constant 0.000000e+00 : f32
  %1083 = tensor.empty() : tensor<4x8x64xf32>
  %1084 = linalg.fill ins(%1082 : f32) outs(%1083 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %1085 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%1081 : tensor<4x8x64x64xf32>) outs(%1084 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %1086 = tensor.expand_shape %1085 [[0], [1], [2, 3]] output_shape [4, 8, 64, 1] : tensor<4x8x64xf32> into tensor<4x8x64x1xf32>
  %1087 = tensor.empty() : tensor<4x8x64x1xf32>
  %1088 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1086 : tensor<4x8x64x1xf32>) outs(%1087 : tensor<4x8x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x1xf32> loc(#loc12)
  %1089 = tensor.empty() : tensor<4x8x64x64xf32>
  %1090 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1072, %618 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%1089 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1091 = tensor.collapse_shape %1088 [[0], [1], [2, 3]] : tensor<4x8x64x1xf32> into tensor<4x8x64xf32>
  %1092 = tensor.empty() : tensor<4x8x64x64xf32>
  %1093 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1090, %1091 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%1092 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1094 = tensor.empty() : tensor<4x8x64x64xf32>
  %1095 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1093, %614 : tensor<4x8x64x64xf32>, tensor<4x8x64x64xf32>) outs(%1094 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1096 = tensor.empty() : tensor<4x8x64x64xf32>
  %1097 = linalg.generic {indexing_maps = [#map9, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%602, %1095 : tensor<64x64xi1>, tensor<4x8x64x64xf32>) outs(%1096 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc11)
  %1098 = tensor.empty() : tensor<4x8x64x64xf32>
  %1099 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1097 : tensor<4x8x64x64xf32>) outs(%1098 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.656854e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc9)
  %1100 = arith.constant 0.000000e+00 : f32
  %1101 = tensor.empty() : tensor<4x64x8x32xf32>
  %1102 = linalg.fill ins(%1100 : f32) outs(%1101 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %1103 = linalg.generic {indexing_maps = [#map22, #map23, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1099, %584 : tensor<4x8x64x64xf32>, tensor<4x64x8x32xf32>) outs(%1102 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc9)
  %1104 = arith.constant 0.000000e+00 : f32
  %1105 = tensor.empty() : tensor<4x64x8x32xf32>
  %1106 = linalg.fill ins(%1104 : f32) outs(%1105 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %1107 = linalg.generic {indexing_maps = [#map25, #map23, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1099, %585 : tensor<4x8x64x64xf32>, tensor<4x64x8x32xf32>) outs(%1106 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc9)
  %1108 = tensor.empty() : tensor<4x64x24x32xf32>
  %1109 = tensor.insert_slice %1107 into %1108[0, 0, 0, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x8x32xf32> into tensor<4x64x24x32xf32>
  %1110 = tensor.insert_slice %1103 into %1109[0, 0, 8, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x8x32xf32> into tensor<4x64x24x32xf32>
  %1111 = tensor.insert_slice %1076 into %1110[0, 0, 16, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x8x32xf32> into tensor<4x64x24x32xf32>
  %1112 = tensor.collapse_shape %1111 [[0, 1], [2, 3]] : tensor<4x64x24x32xf32> into tensor<256x768xf32>
  %1113 = tensor.collapse_shape %577 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1114 = arith.constant 0.000000e+00 : f32
  %1115 = tensor.empty() : tensor<256x768xf32>
  %1116 = linalg.fill ins(%1114 : f32) outs(%1115 : tensor<256x768xf32>) -> tensor<256x768xf32>
  %1117 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1112, %1113 : tensor<256x768xf32>, tensor<256x256xf32>) outs(%1116 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc8)
  %1118 = tensor.collapse_shape %1111 [[0, 1], [2, 3]] : tensor<4x64x24x32xf32> into tensor<256x768xf32>
  %1119 = arith.constant 0.000000e+00 : f32
  %1120 = tensor.empty() : tensor<256x256xf32>
  %1121 = linalg.fill ins(%1119 : f32) outs(%1120 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1122 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1118, %layer3.qkv : tensor<256x768xf32>, tensor<256x768xf32>) outs(%1121 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc8)
  %1123 = tensor.expand_shape %1122 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %1124 = arith.constant 0.000000e+00 : f32
  %1125 = tensor.empty() : tensor<256xf32>
  %1126 = linalg.fill ins(%1124 : f32) outs(%1125 : tensor<256xf32>) -> tensor<256xf32>
  %1127 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1123 : tensor<4x64x256xf32>) outs(%1126 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1128 = tensor.empty() : tensor<4x64x256xf32>
  %1129 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%573, %1123 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1128 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1130 = arith.constant 0.000000e+00 : f32
  %1131 = tensor.empty() : tensor<256xf32>
  %1132 = linalg.fill ins(%1130 : f32) outs(%1131 : tensor<256xf32>) -> tensor<256xf32>
  %1133 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1129 : tensor<4x64x256xf32>) outs(%1132 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1134 = tensor.empty() : tensor<4x64x256xf32>
  %1135 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1123, %layer3.norm1.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%1134 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1136 = tensor.empty() : tensor<4x64x256xf32>
  %1137 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%562, %1135 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1136 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1138 = arith.constant 0.000000e+00 : f32
  %1139 = tensor.empty() : tensor<4x64xf32>
  %1140 = linalg.fill ins(%1138 : f32) outs(%1139 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1141 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1137 : tensor<4x64x256xf32>) outs(%1140 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc7)
  %1142 = tensor.expand_shape %1141 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1143 = tensor.collapse_shape %566 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1144 = tensor.empty() : tensor<4x64x256xf32>
  %1145 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1135, %1143 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1144 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1146 = tensor.empty() : tensor<4x64x1xf32>
  %1147 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1142, %570 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1146 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %1148 = tensor.empty() : tensor<4x64x256xf32>
  %1149 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1145 : tensor<4x64x256xf32>) outs(%1148 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1150 = arith.constant 0.000000e+00 : f32
  %1151 = tensor.empty() : tensor<4x64xf32>
  %1152 = linalg.fill ins(%1150 : f32) outs(%1151 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1153 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1149 : tensor<4x64x256xf32>) outs(%1152 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc4)
  %1154 = tensor.expand_shape %1153 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1155 = tensor.empty() : tensor<4x64x256xf32>
  %1156 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1056, %1145 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1155 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1157 = tensor.empty() : tensor<4x64x1xf32>
  %1158 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1147 : tensor<4x64x1xf32>) outs(%1157 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %1159 = tensor.collapse_shape %1158 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1160 = tensor.empty() : tensor<4x64x256xf32>
  %1161 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1159, %552 : tensor<4x64xf32>, tensor<4x64x256xf32>) outs(%1160 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %1162 = tensor.empty() : tensor<4x64x256xf32>
  %1163 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1161 : tensor<4x64x256xf32>) outs(%1162 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1164 = arith.constant 0.000000e+00 : f32
  %1165 = tensor.empty() : tensor<4x64xf32>
  %1166 = linalg.fill ins(%1164 : f32) outs(%1165 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1167 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1163 : tensor<4x64x256xf32>) outs(%1166 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc2)
  %1168 = tensor.expand_shape %1167 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1169 = tensor.empty() : tensor<4x64x256xf32>
  %1170 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1156, %1161 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1169 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1171 = tensor.empty() : tensor<4x64x1xf32>
  %1172 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1154, %1168 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1171 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc2)
  %1173 = tensor.empty() : tensor<4x64x1xf32>
  %1174 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1172 : tensor<4x64x1xf32>) outs(%1173 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %1175 = tensor.collapse_shape %1174 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1176 = tensor.empty() : tensor<4x64x256xf32>
  %1177 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1170, %1175 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1176 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc1)
  %1178 = tensor.collapse_shape %1177 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1179 = tensor.collapse_shape %530 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %1180 = arith.constant 0.000000e+00 : f32
  %1181 = tensor.empty() : tensor<1024x256xf32>
  %1182 = linalg.fill ins(%1180 : f32) outs(%1181 : tensor<1024x256xf32>) -> tensor<1024x256xf32>
  %1183 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1178, %1179 : tensor<256x256xf32>, tensor<256x1024xf32>) outs(%1182 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc17)
  %1184 = tensor.collapse_shape %1177 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1185 = arith.constant 0.000000e+00 : f32
  %1186 = tensor.empty() : tensor<256x1024xf32>
  %1187 = linalg.fill ins(%1185 : f32) outs(%1186 : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %1188 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1184, %layer2.down : tensor<256x256xf32>, tensor<1024x256xf32>) outs(%1187 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc17)
  %1189 = tensor.expand_shape %1188 [[0, 1], [2]] output_shape [4, 64, 1024] : tensor<256x1024xf32> into tensor<4x64x1024xf32>
  %1190 = tensor.empty() : tensor<4x64x1024xf32>
  %1191 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%506, %1189 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1190 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1192 = tensor.empty() : tensor<4x64x1024xf32>
  %1193 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1189, %528 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1192 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1194 = tensor.empty() : tensor<4x64x1024xf32>
  %1195 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1191 : tensor<4x64x1024xf32>) outs(%1194 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1196 = tensor.empty() : tensor<4x64x1024xf32>
  %1197 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1195, %524 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1196 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1198 = tensor.empty() : tensor<4x64x1024xf32>
  %1199 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1197, %522 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1198 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1200 = tensor.empty() : tensor<4x64x1024xf32>
  %1201 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1197, %1199 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1200 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1202 = tensor.empty() : tensor<4x64x1024xf32>
  %1203 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1201 : tensor<4x64x1024xf32>) outs(%1202 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 7.978846e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1204 = tensor.empty() : tensor<4x64x1024xf32>
  %1205 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1193, %1203 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1204 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1206 = tensor.empty() : tensor<4x64x1024xf32>
  %1207 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1203 : tensor<4x64x1024xf32>) outs(%1206 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.471500e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1208 = tensor.empty() : tensor<4x64x1024xf32>
  %1209 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1207, %514 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1208 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1210 = tensor.empty() : tensor<4x64x1024xf32>
  %1211 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1205, %1209 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1210 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1212 = tensor.collapse_shape %1211 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %1213 = tensor.collapse_shape %500 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1214 = arith.constant 0.000000e+00 : f32
  %1215 = tensor.empty() : tensor<256x1024xf32>
  %1216 = linalg.fill ins(%1214 : f32) outs(%1215 : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %1217 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1212, %1213 : tensor<256x1024xf32>, tensor<256x256xf32>) outs(%1216 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc16)
  %1218 = tensor.collapse_shape %1211 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %1219 = arith.constant 0.000000e+00 : f32
  %1220 = tensor.empty() : tensor<256x256xf32>
  %1221 = linalg.fill ins(%1219 : f32) outs(%1220 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1222 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1218, %layer2.up : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%1221 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc16)
  %1223 = tensor.expand_shape %1222 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %1224 = arith.constant 0.000000e+00 : f32
  %1225 = tensor.empty() : tensor<256xf32>
  %1226 = linalg.fill ins(%1224 : f32) outs(%1225 : tensor<256xf32>) -> tensor<256xf32>
  %1227 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1223 : tensor<4x64x256xf32>) outs(%1226 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1228 = tensor.empty() : tensor<4x64x256xf32>
  %1229 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%496, %1223 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1228 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1230 = arith.constant 0.000000e+00 : f32
  %1231 = tensor.empty() : tensor<256xf32>
  %1232 = linalg.fill ins(%1230 : f32) outs(%1231 : tensor<256xf32>) -> tensor<256xf32>
  %1233 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1229 : tensor<4x64x256xf32>) outs(%1232 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1234 = tensor.empty() : tensor<4x64x256xf32>
  %1235 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1223, %layer2.norm2.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%1234 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1236 = tensor.empty() : tensor<4x64x256xf32>
  %1237 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%485, %1235 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1236 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1238 = arith.constant 0.000000e+00 : f32
  %1239 = tensor.empty() : tensor<4x64xf32>
  %1240 = linalg.fill ins(%1238 : f32) outs(%1239 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1241 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1237 : tensor<4x64x256xf32>) outs(%1240 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc7)
  %1242 = tensor.expand_shape %1241 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1243 = tensor.collapse_shape %489 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1244 = tensor.empty() : tensor<4x64x256xf32>
  %1245 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1235, %1243 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1244 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1246 = tensor.empty() : tensor<4x64x1xf32>
  %1247 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1242, %493 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1246 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %1248 = tensor.empty() : tensor<4x64x256xf32>
  %1249 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1245 : tensor<4x64x256xf32>) outs(%1248 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1250 = arith.constant 0.000000e+00 : f32
  %1251 = tensor.empty() : tensor<4x64xf32>
  %1252 = linalg.fill ins(%1250 : f32) outs(%1251 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1253 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1249 : tensor<4x64x256xf32>) outs(%1252 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc4)
  %1254 = tensor.expand_shape %1253 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1255 = tensor.empty() : tensor<4x64x256xf32>
  %1256 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1177, %1245 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1255 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1257 = tensor.empty() : tensor<4x64x1xf32>
  %1258 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1247 : tensor<4x64x1xf32>) outs(%1257 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %1259 = tensor.collapse_shape %1258 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1260 = tensor.empty() : tensor<4x64x256xf32>
  %1261 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1259, %475 : tensor<4x64xf32>, tensor<4x64x256xf32>) outs(%1260 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %1262 = tensor.empty() : tensor<4x64x256xf32>
  %1263 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1261 : tensor<4x64x256xf32>) outs(%1262 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1264 = arith.constant 0.000000e+00 : f32
  %1265 = tensor.empty() : tensor<4x64xf32>
  %1266 = linalg.fill ins(%1264 : f32) outs(%1265 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1267 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1263 : tensor<4x64x256xf32>) outs(%1266 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc2)
  %1268 = tensor.expand_shape %1267 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1269 = tensor.empty() : tensor<4x64x256xf32>
  %1270 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1256, %1261 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1269 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1271 = tensor.empty() : tensor<4x64x1xf32>
  %1272 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1254, %1268 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1271 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc2)
  %1273 = tensor.empty() : tensor<4x64x1xf32>
  %1274 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1272 : tensor<4x64x1xf32>) outs(%1273 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %1275 = tensor.collapse_shape %1274 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1276 = tensor.empty() : tensor<4x64x256xf32>
  %1277 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1270, %1275 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1276 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc1)
  %1278 = tensor.collapse_shape %1277 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1279 = tensor.collapse_shape %453 [[0, 1], [2, 3]] : tensor<4x64x8x32xf32> into tensor<256x256xf32>
  %1280 = arith.constant 0.000000e+00 : f32
  %1281 = tensor.empty() : tensor<256x256xf32>
  %1282 = linalg.fill ins(%1280 : f32) outs(%1281 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1283 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1278, %1279 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%1282 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc14)
  %1284 = tensor.collapse_shape %1277 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1285 = arith.constant 0.000000e+00 : f32
  %1286 = tensor.empty() : tensor<256x256xf32>
  %1287 = linalg.fill ins(%1285 : f32) outs(%1286 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1288 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1284, %layer2.out : tensor<256x256xf32>, tensor<256x256xf32>) outs(%1287 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc14)
  %1289 = tensor.expand_shape %1288 [[0, 1], [2, 3]] output_shape [4, 64, 8, 32] : tensor<256x256xf32> into tensor<4x64x8x32xf32>
  %1290 = arith.constant 0.000000e+00 : f32
  %1291 = tensor.empty() : tensor<4x8x64x64xf32>
  %1292 = linalg.fill ins(%1290 : f32) outs(%1291 : tensor<4x8x64x64xf32>) -> tensor<4x8x64x64xf32>
  %1293 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1289, %410 : tensor<4x64x8x32xf32>, tensor<4x64x8x32xf32>) outs(%1292 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc13)
  %1294 = arith.constant 0.000000e+00 : f32
  %1295 = tensor.empty() : tensor<4x64x8x32xf32>
  %1296 = linalg.fill ins(%1294 : f32) outs(%1295 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %1297 = linalg.generic {indexing_maps = [#map11, #map21, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1289, %445 : tensor<4x64x8x32xf32>, tensor<4x8x64x64xf32>) outs(%1296 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc13)
  %1298 = tensor.collapse_shape %449 [[0], [1], [2, 3]] : tensor<4x8x64x1xf32> into tensor<4x8x64xf32>
  %1299 = tensor.empty() : tensor<4x8x64x64xf32>
  %1300 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1293, %1298 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%1299 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1301 = tensor.empty() : tensor<4x8x64x64xf32>
  %1302 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1300, %438 : tensor<4x8x64x64xf32>, tensor<4x8x64x64xf32>) outs(%1301 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1303 = arith.constant 0.000000e+00 : f32
  %1304 = tensor.empty() : tensor<4x8x64xf32>
  %1305 = linalg.fill ins(%1303 : f32) outs(%1304 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %1306 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%1302 : tensor<4x8x64x64xf32>) outs(%1305 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %1307 = tensor.expand_shape %1306 [[0], [1], [2, 3]] output_shape [4, 8, 64, 1] : tensor<4x8x64xf32> into tensor<4x8x64x1xf32>
  %1308 = tensor.empty() : tensor<4x8x64x1xf32>
  %1309 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1307 : tensor<4x8x64x1xf32>) outs(%1308 : tensor<4x8x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x1xf32> loc(#loc12)
  %1310 = tensor.empty() : tensor<4x8x64x64xf32>
  %1311 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1293, %442 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%1310 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1312 = tensor.collapse_shape %1309 [[0], [1], [2, 3]] : tensor<4x8x64x1xf32> into tensor<4x8x64xf32>
  %1313 = tensor.empty() : tensor<4x8x64x64xf32>
  %1314 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1311, %1312 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%1313 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1315 = tensor.empty() : tensor<4x8x64x64xf32>
  %1316 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1314, %438 : tensor<4x8x64x64xf32>, tensor<4x8x64x64xf32>) outs(%1315 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1317 = tensor.empty() : tensor<4x8x64x64xf32>
  %1318 = linalg.generic {indexing_maps = [#map9, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%426, %1316 : tensor<64x64xi1>, tensor<4x8x64x64xf32>) outs(%1317 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc11)
  %1319 = tensor.empty() : tensor<4x8x64x64xf32>
  %1320 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1318 : tensor<4x8x64x64xf32>) outs(%1319 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.656854e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc9)
  %1321 = arith.constant 0.000000e+00 : f32
  %1322 = tensor.empty() : tensor<4x64x8x32xf32>
  %1323 = linalg.fill ins(%1321 : f32) outs(%1322 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %1324 = linalg.generic {indexing_maps = [#map22, #map23, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1320, %408 : tensor<4x8x64x64xf32>, tensor<4x64x8x32xf32>) outs(%1323 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc9)
  %1325 = arith.constant 0.000000e+00 : f32
  %1326 = tensor.empty() : tensor<4x64x8x32xf32>
  %1327 = linalg.fill ins(%1325 : f32) outs(%1326 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %1328 = linalg.generic {indexing_maps = [#map25, #map23, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1320, %409 : tensor<4x8x64x64xf32>, tensor<4x64x8x32xf32>) outs(%1327 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc9)
  %1329 = tensor.empty() : tensor<4x64x24x32xf32>
  %1330 = tensor.insert_slice %1328 into %1329[0, 0, 0, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x8x32xf32> into tensor<4x64x24x32xf32>
  %1331 = tensor.insert_slice %1324 into %1330[0, 0, 8, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x8x32xf32> into tensor<4x64x24x32xf32>
  %1332 = tensor.insert_slice %1297 into %1331[0, 0, 16, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x8x32xf32> into tensor<4x64x24x32xf32>
  %1333 = tensor.collapse_shape %1332 [[0, 1], [2, 3]] : tensor<4x64x24x32xf32> into tensor<256x768xf32>
  %1334 = tensor.collapse_shape %401 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1335 = arith.constant 0.000000e+00 : f32
  %1336 = tensor.empty() : tensor<256x768xf32>
  %1337 = linalg.fill ins(%1335 : f32) outs(%1336 : tensor<256x768xf32>) -> tensor<256x768xf32>
  %1338 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1333, %1334 : tensor<256x768xf32>, tensor<256x256xf32>) outs(%1337 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc8)
  %1339 = tensor.collapse_shape %1332 [[0, 1], [2, 3]] : tensor<4x64x24x32xf32> into tensor<256x768xf32>
  %1340 = arith.constant 0.000000e+00 : f32
  %1341 = tensor.empty() : tensor<256x256xf32>
  %1342 = linalg.fill ins(%1340 : f32) outs(%1341 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1343 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1339, %layer2.qkv : tensor<256x768xf32>, tensor<256x768xf32>) outs(%1342 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc8)
  %1344 = tensor.expand_shape %1343 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %1345 = arith.constant 0.000000e+00 : f32
  %1346 = tensor.empty() : tensor<256xf32>
  %1347 = linalg.fill ins(%1345 : f32) outs(%1346 : tensor<256xf32>) -> tensor<256xf32>
  %1348 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1344 : tensor<4x64x256xf32>) outs(%1347 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1349 = tensor.empty() : tensor<4x64x256xf32>
  %1350 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%397, %1344 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1349 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1351 = arith.constant 0.000000e+00 : f32
  %1352 = tensor.empty() : tensor<256xf32>
  %1353 = linalg.fill ins(%1351 : f32) outs(%1352 : tensor<256xf32>) -> tensor<256xf32>
  %1354 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1350 : tensor<4x64x256xf32>) outs(%1353 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1355 = tensor.empty() : tensor<4x64x256xf32>
  %1356 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1344, %layer2.norm1.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%1355 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1357 = tensor.empty() : tensor<4x64x256xf32>
  %1358 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%386, %1356 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1357 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1359 = arith.constant 0.000000e+00 : f32
  %1360 = tensor.empty() : tensor<4x64xf32>
  %1361 = linalg.fill ins(%1359 : f32) outs(%1360 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1362 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1358 : tensor<4x64x256xf32>) outs(%1361 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc7)
  %1363 = tensor.expand_shape %1362 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1364 = tensor.collapse_shape %390 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1365 = tensor.empty() : tensor<4x64x256xf32>
  %1366 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1356, %1364 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1365 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1367 = tensor.empty() : tensor<4x64x1xf32>
  %1368 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1363, %394 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1367 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %1369 = tensor.empty() : tensor<4x64x256xf32>
  %1370 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1366 : tensor<4x64x256xf32>) outs(%1369 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1371 = arith.constant 0.000000e+00 : f32
  %1372 = tensor.empty() : tensor<4x64xf32>
  %1373 = linalg.fill ins(%1371 : f32) outs(%1372 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1374 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1370 : tensor<4x64x256xf32>) outs(%1373 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc4)
  %1375 = tensor.expand_shape %1374 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1376 = tensor.empty() : tensor<4x64x256xf32>
  %1377 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1277, %1366 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1376 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1378 = tensor.empty() : tensor<4x64x1xf32>
  %1379 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1368 : tensor<4x64x1xf32>) outs(%1378 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %1380 = tensor.collapse_shape %1379 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1381 = tensor.empty() : tensor<4x64x256xf32>
  %1382 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1380, %376 : tensor<4x64xf32>, tensor<4x64x256xf32>) outs(%1381 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %1383 = tensor.empty() : tensor<4x64x256xf32>
  %1384 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1382 : tensor<4x64x256xf32>) outs(%1383 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1385 = arith.constant 0.000000e+00 : f32
  %1386 = tensor.empty() : tensor<4x64xf32>
  %1387 = linalg.fill ins(%1385 : f32) outs(%1386 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1388 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1384 : tensor<4x64x256xf32>) outs(%1387 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc2)
  %1389 = tensor.expand_shape %1388 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1390 = tensor.empty() : tensor<4x64x256xf32>
  %1391 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1377, %1382 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1390 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1392 = tensor.empty() : tensor<4x64x1xf32>
  %1393 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1375, %1389 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1392 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc2)
  %1394 = tensor.empty() : tensor<4x64x1xf32>
  %1395 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1393 : tensor<4x64x1xf32>) outs(%1394 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %1396 = tensor.collapse_shape %1395 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1397 = tensor.empty() : tensor<4x64x256xf32>
  %1398 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1391, %1396 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1397 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc1)
  %1399 = tensor.collapse_shape %1398 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1400 = tensor.collapse_shape %354 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %1401 = arith.constant 0.000000e+00 : f32
  %1402 = tensor.empty() : tensor<1024x256xf32>
  %1403 = linalg.fill ins(%1401 : f32) outs(%1402 : tensor<1024x256xf32>) -> tensor<1024x256xf32>
  %1404 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1399, %1400 : tensor<256x256xf32>, tensor<256x1024xf32>) outs(%1403 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc17)
  %1405 = tensor.collapse_shape %1398 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1406 = arith.constant 0.000000e+00 : f32
  %1407 = tensor.empty() : tensor<256x1024xf32>
  %1408 = linalg.fill ins(%1406 : f32) outs(%1407 : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %1409 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1405, %layer1.down : tensor<256x256xf32>, tensor<1024x256xf32>) outs(%1408 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc17)
  %1410 = tensor.expand_shape %1409 [[0, 1], [2]] output_shape [4, 64, 1024] : tensor<256x1024xf32> into tensor<4x64x1024xf32>
  %1411 = tensor.empty() : tensor<4x64x1024xf32>
  %1412 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%330, %1410 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1411 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1413 = tensor.empty() : tensor<4x64x1024xf32>
  %1414 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1410, %352 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1413 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1415 = tensor.empty() : tensor<4x64x1024xf32>
  %1416 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1412 : tensor<4x64x1024xf32>) outs(%1415 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1417 = tensor.empty() : tensor<4x64x1024xf32>
  %1418 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1416, %348 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1417 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1419 = tensor.empty() : tensor<4x64x1024xf32>
  %1420 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1418, %346 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1419 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1421 = tensor.empty() : tensor<4x64x1024xf32>
  %1422 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1418, %1420 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1421 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1423 = tensor.empty() : tensor<4x64x1024xf32>
  %1424 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1422 : tensor<4x64x1024xf32>) outs(%1423 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 7.978846e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1425 = tensor.empty() : tensor<4x64x1024xf32>
  %1426 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1414, %1424 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1425 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1427 = tensor.empty() : tensor<4x64x1024xf32>
  %1428 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1424 : tensor<4x64x1024xf32>) outs(%1427 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.471500e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1429 = tensor.empty() : tensor<4x64x1024xf32>
  %1430 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1428, %338 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1429 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1431 = tensor.empty() : tensor<4x64x1024xf32>
  %1432 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1426, %1430 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1431 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1433 = tensor.collapse_shape %1432 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %1434 = tensor.collapse_shape %324 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1435 = arith.constant 0.000000e+00 : f32
  %1436 = tensor.empty() : tensor<256x1024xf32>
  %1437 = linalg.fill ins(%1435 : f32) outs(%1436 : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %1438 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1433, %1434 : tensor<256x1024xf32>, tensor<256x256xf32>) outs(%1437 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc16)
  %1439 = tensor.collapse_shape %1432 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %1440 = arith.constant 0.000000e+00 : f32
  %1441 = tensor.empty() : tensor<256x256xf32>
  %1442 = linalg.fill ins(%1440 : f32) outs(%1441 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1443 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1439, %layer1.up : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%1442 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc16)
  %1444 = tensor.expand_shape %1443 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %1445 = arith.constant 0.000000e+00 : f32
  %1446 = tensor.empty() : tensor<256xf32>
  %1447 = linalg.fill ins(%1445 : f32) outs(%1446 : tensor<256xf32>) -> tensor<256xf32>
  %1448 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1444 : tensor<4x64x256xf32>) outs(%1447 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1449 = tensor.empty() : tensor<4x64x256xf32>
  %1450 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%320, %1444 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1449 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1451 = arith.constant 0.000000e+00 : f32
  %1452 = tensor.empty() : tensor<256xf32>
  %1453 = linalg.fill ins(%1451 : f32) outs(%1452 : tensor<256xf32>) -> tensor<256xf32>
  %1454 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1450 : tensor<4x64x256xf32>) outs(%1453 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1455 = tensor.empty() : tensor<4x64x256xf32>
  %1456 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1444, %layer1.norm2.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%1455 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1457 = tensor.empty() : tensor<4x64x256xf32>
  %1458 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%309, %1456 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1457 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1459 = arith.constant 0.000000e+00 : f32
  %1460 = tensor.empty() : tensor<4x64xf32>
  %1461 = linalg.fill ins(%1459 : f32) outs(%1460 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1462 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1458 : tensor<4x64x256xf32>) outs(%1461 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc7)
  %1463 = tensor.expand_shape %1462 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1464 = tensor.collapse_shape %313 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1465 = tensor.empty() : tensor<4x64x256xf32>
  %1466 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1456, %1464 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1465 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1467 = tensor.empty() : tensor<4x64x1xf32>
  %1468 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1463, %317 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1467 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %1469 = tensor.empty() : tensor<4x64x256xf32>
  %1470 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1466 : tensor<4x64x256xf32>) outs(%1469 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1471 = arith.constant 0.000000e+00 : f32
  %1472 = tensor.empty() : tensor<4x64xf32>
  %1473 = linalg.fill ins(%1471 : f32) outs(%1472 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1474 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1470 : tensor<4x64x256xf32>) outs(%1473 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc4)
  %1475 = tensor.expand_shape %1474 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1476 = tensor.empty() : tensor<4x64x256xf32>
  %1477 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1398, %1466 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1476 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1478 = tensor.empty() : tensor<4x64x1xf32>
  %1479 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1468 : tensor<4x64x1xf32>) outs(%1478 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %1480 = tensor.collapse_shape %1479 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1481 = tensor.empty() : tensor<4x64x256xf32>
  %1482 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1480, %299 : tensor<4x64xf32>, tensor<4x64x256xf32>) outs(%1481 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %1483 = tensor.empty() : tensor<4x64x256xf32>
  %1484 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1482 : tensor<4x64x256xf32>) outs(%1483 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1485 = arith.constant 0.000000e+00 : f32
  %1486 = tensor.empty() : tensor<4x64xf32>
  %1487 = linalg.fill ins(%1485 : f32) outs(%1486 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1488 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1484 : tensor<4x64x256xf32>) outs(%1487 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc2)
  %1489 = tensor.expand_shape %1488 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1490 = tensor.empty() : tensor<4x64x256xf32>
  %1491 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1477, %1482 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1490 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1492 = tensor.empty() : tensor<4x64x1xf32>
  %1493 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1475, %1489 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1492 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc2)
  %1494 = tensor.empty() : tensor<4x64x1xf32>
  %1495 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1493 : tensor<4x64x1xf32>) outs(%1494 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %1496 = tensor.collapse_shape %1495 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1497 = tensor.empty() : tensor<4x64x256xf32>
  %1498 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1491, %1496 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1497 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc1)
  %1499 = tensor.collapse_shape %1498 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1500 = tensor.collapse_shape %277 [[0, 1], [2, 3]] : tensor<4x64x8x32xf32> into tensor<256x256xf32>
  %1501 = arith.constant 0.000000e+00 : f32
  %1502 = tensor.empty() : tensor<256x256xf32>
  %1503 = linalg.fill ins(%1501 : f32) outs(%1502 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1504 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1499, %1500 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%1503 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc14)
  %1505 = tensor.collapse_shape %1498 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1506 = arith.constant 0.000000e+00 : f32
  %1507 = tensor.empty() : tensor<256x256xf32>
  %1508 = linalg.fill ins(%1506 : f32) outs(%1507 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1509 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1505, %layer1.out : tensor<256x256xf32>, tensor<256x256xf32>) outs(%1508 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc14)
  %1510 = tensor.expand_shape %1509 [[0, 1], [2, 3]] output_shape [4, 64, 8, 32] : tensor<256x256xf32> into tensor<4x64x8x32xf32>
  %1511 = arith.constant 0.000000e+00 : f32
  %1512 = tensor.empty() : tensor<4x8x64x64xf32>
  %1513 = linalg.fill ins(%1511 : f32) outs(%1512 : tensor<4x8x64x64xf32>) -> tensor<4x8x64x64xf32>
  %1514 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1510, %234 : tensor<4x64x8x32xf32>, tensor<4x64x8x32xf32>) outs(%1513 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc13)
  %1515 = arith.constant 0.000000e+00 : f32
  %1516 = tensor.empty() : tensor<4x64x8x32xf32>
  %1517 = linalg.fill ins(%1515 : f32) outs(%1516 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %1518 = linalg.generic {indexing_maps = [#map11, #map21, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1510, %269 : tensor<4x64x8x32xf32>, tensor<4x8x64x64xf32>) outs(%1517 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc13)
  %1519 = tensor.collapse_shape %273 [[0], [1], [2, 3]] : tensor<4x8x64x1xf32> into tensor<4x8x64xf32>
  %1520 = tensor.empty() : tensor<4x8x64x64xf32>
  %1521 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1514, %1519 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%1520 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1522 = tensor.empty() : tensor<4x8x64x64xf32>
  %1523 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1521, %262 : tensor<4x8x64x64xf32>, tensor<4x8x64x64xf32>) outs(%1522 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1524 = arith.constant 0.000000e+00 : f32
  %1525 = tensor.empty() : tensor<4x8x64xf32>
  %1526 = linalg.fill ins(%1524 : f32) outs(%1525 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %1527 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%1523 : tensor<4x8x64x64xf32>) outs(%1526 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %1528 = tensor.expand_shape %1527 [[0], [1], [2, 3]] output_shape [4, 8, 64, 1] : tensor<4x8x64xf32> into tensor<4x8x64x1xf32>
  %1529 = tensor.empty() : tensor<4x8x64x1xf32>
  %1530 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1528 : tensor<4x8x64x1xf32>) outs(%1529 : tensor<4x8x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x1xf32> loc(#loc12)
  %1531 = tensor.empty() : tensor<4x8x64x64xf32>
  %1532 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1514, %266 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%1531 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1533 = tensor.collapse_shape %1530 [[0], [1], [2, 3]] : tensor<4x8x64x1xf32> into tensor<4x8x64xf32>
  %1534 = tensor.empty() : tensor<4x8x64x64xf32>
  %1535 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1532, %1533 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%1534 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1536 = tensor.empty() : tensor<4x8x64x64xf32>
  %1537 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1535, %262 : tensor<4x8x64x64xf32>, tensor<4x8x64x64xf32>) outs(%1536 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1538 = tensor.empty() : tensor<4x8x64x64xf32>
  %1539 = linalg.generic {indexing_maps = [#map9, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%250, %1537 : tensor<64x64xi1>, tensor<4x8x64x64xf32>) outs(%1538 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc11)
  %1540 = tensor.empty() : tensor<4x8x64x64xf32>
  %1541 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1539 : tensor<4x8x64x64xf32>) outs(%1540 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.656854e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc9)
  %1542 = arith.constant 0.000000e+00 : f32
  %1543 = tensor.empty() : tensor<4x64x8x32xf32>
  %1544 = linalg.fill ins(%1542 : f32) outs(%1543 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %1545 = linalg.generic {indexing_maps = [#map22, #map23, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1541, %232 : tensor<4x8x64x64xf32>, tensor<4x64x8x32xf32>) outs(%1544 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc9)
  %1546 = arith.constant 0.000000e+00 : f32
  %1547 = tensor.empty() : tensor<4x64x8x32xf32>
  %1548 = linalg.fill ins(%1546 : f32) outs(%1547 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %1549 = linalg.generic {indexing_maps = [#map25, #map23, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1541, %233 : tensor<4x8x64x64xf32>, tensor<4x64x8x32xf32>) outs(%1548 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc9)
  %1550 = tensor.empty() : tensor<4x64x24x32xf32>
  %1551 = tensor.insert_slice %1549 into %1550[0, 0, 0, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x8x32xf32> into tensor<4x64x24x32xf32>
  %1552 = tensor.insert_slice %1545 into %1551[0, 0, 8, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x8x32xf32> into tensor<4x64x24x32xf32>
  %1553 = tensor.insert_slice %1518 into %1552[0, 0, 16, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x8x32xf32> into tensor<4x64x24x32xf32>
  %1554 = tensor.collapse_shape %1553 [[0, 1], [2, 3]] : tensor<4x64x24x32xf32> into tensor<256x768xf32>
  %1555 = tensor.collapse_shape %225 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1556 = arith.constant 0.000000e+00 : f32
  %1557 = tensor.empty() : tensor<256x768xf32>
  %1558 = linalg.fill ins(%1556 : f32) outs(%1557 : tensor<256x768xf32>) -> tensor<256x768xf32>
  %1559 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1554, %1555 : tensor<256x768xf32>, tensor<256x256xf32>) outs(%1558 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc8)
  %1560 = tensor.collapse_shape %1553 [[0, 1], [2, 3]] : tensor<4x64x24x32xf32> into tensor<256x768xf32>
  %1561 = arith.constant 0.000000e+00 : f32
  %1562 = tensor.empty() : tensor<256x256xf32>
  %1563 = linalg.fill ins(%1561 : f32) outs(%1562 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1564 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1560, %layer1.qkv : tensor<256x768xf32>, tensor<256x768xf32>) outs(%1563 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc8)
  %1565 = tensor.expand_shape %1564 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %1566 = arith.constant 0.000000e+00 : f32
  %1567 = tensor.empty() : tensor<256xf32>
  %1568 = linalg.fill ins(%1566 : f32) outs(%1567 : tensor<256xf32>) -> tensor<256xf32>
  %1569 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1565 : tensor<4x64x256xf32>) outs(%1568 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1570 = tensor.empty() : tensor<4x64x256xf32>
  %1571 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%221, %1565 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1570 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1572 = arith.constant 0.000000e+00 : f32
  %1573 = tensor.empty() : tensor<256xf32>
  %1574 = linalg.fill ins(%1572 : f32) outs(%1573 : tensor<256xf32>) -> tensor<256xf32>
  %1575 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1571 : tensor<4x64x256xf32>) outs(%1574 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1576 = tensor.empty() : tensor<4x64x256xf32>
  %1577 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1565, %layer1.norm1.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%1576 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1578 = tensor.empty() : tensor<4x64x256xf32>
  %1579 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%210, %1577 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1578 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1580 = arith.constant 0.000000e+00 : f32
  %1581 = tensor.empty() : tensor<4x64xf32>
  %1582 = linalg.fill ins(%1580 : f32) outs(%1581 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1583 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1579 : tensor<4x64x256xf32>) outs(%1582 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc7)
  %1584 = tensor.expand_shape %1583 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1585 = tensor.collapse_shape %214 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1586 = tensor.empty() : tensor<4x64x256xf32>
  %1587 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1577, %1585 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1586 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1588 = tensor.empty() : tensor<4x64x1xf32>
  %1589 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1584, %218 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1588 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %1590 = tensor.empty() : tensor<4x64x256xf32>
  %1591 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1587 : tensor<4x64x256xf32>) outs(%1590 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1592 = arith.constant 0.000000e+00 : f32
  %1593 = tensor.empty() : tensor<4x64xf32>
  %1594 = linalg.fill ins(%1592 : f32) outs(%1593 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1595 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1591 : tensor<4x64x256xf32>) outs(%1594 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc4)
  %1596 = tensor.expand_shape %1595 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1597 = tensor.empty() : tensor<4x64x256xf32>
  %1598 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1498, %1587 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1597 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1599 = tensor.empty() : tensor<4x64x1xf32>
  %1600 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1589 : tensor<4x64x1xf32>) outs(%1599 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %1601 = tensor.collapse_shape %1600 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1602 = tensor.empty() : tensor<4x64x256xf32>
  %1603 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1601, %200 : tensor<4x64xf32>, tensor<4x64x256xf32>) outs(%1602 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %1604 = tensor.empty() : tensor<4x64x256xf32>
  %1605 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1603 : tensor<4x64x256xf32>) outs(%1604 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1606 = arith.constant 0.000000e+00 : f32
  %1607 = tensor.empty() : tensor<4x64xf32>
  %1608 = linalg.fill ins(%1606 : f32) outs(%1607 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1609 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1605 : tensor<4x64x256xf32>) outs(%1608 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc2)
  %1610 = tensor.expand_shape %1609 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1611 = tensor.empty() : tensor<4x64x256xf32>
  %1612 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1598, %1603 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1611 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1613 = tensor.empty() : tensor<4x64x1xf32>
  %1614 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1596, %1610 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1613 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc2)
  %1615 = tensor.empty() : tensor<4x64x1xf32>
  %1616 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1614 : tensor<4x64x1xf32>) outs(%1615 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %1617 = tensor.collapse_shape %1616 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1618 = tensor.empty() : tensor<4x64x256xf32>
  %1619 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1612, %1617 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1618 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc1)
  %1620 = tensor.collapse_shape %1619 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1621 = tensor.collapse_shape %178 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %1622 = arith.constant 0.000000e+00 : f32
  %1623 = tensor.empty() : tensor<1024x256xf32>
  %1624 = linalg.fill ins(%1622 : f32) outs(%1623 : tensor<1024x256xf32>) -> tensor<1024x256xf32>
  %1625 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1620, %1621 : tensor<256x256xf32>, tensor<256x1024xf32>) outs(%1624 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc17)
  %1626 = tensor.collapse_shape %1619 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1627 = arith.constant 0.000000e+00 : f32
  %1628 = tensor.empty() : tensor<256x1024xf32>
  %1629 = linalg.fill ins(%1627 : f32) outs(%1628 : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %1630 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1626, %layer0.down : tensor<256x256xf32>, tensor<1024x256xf32>) outs(%1629 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc17)
  %1631 = tensor.expand_shape %1630 [[0, 1], [2]] output_shape [4, 64, 1024] : tensor<256x1024xf32> into tensor<4x64x1024xf32>
  %1632 = tensor.empty() : tensor<4x64x1024xf32>
  %1633 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%154, %1631 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1632 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1634 = tensor.empty() : tensor<4x64x1024xf32>
  %1635 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1631, %176 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1634 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1636 = tensor.empty() : tensor<4x64x1024xf32>
  %1637 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1633 : tensor<4x64x1024xf32>) outs(%1636 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1638 = tensor.empty() : tensor<4x64x1024xf32>
  %1639 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1637, %172 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1638 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1640 = tensor.empty() : tensor<4x64x1024xf32>
  %1641 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1639, %170 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1640 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1642 = tensor.empty() : tensor<4x64x1024xf32>
  %1643 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1639, %1641 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1642 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1644 = tensor.empty() : tensor<4x64x1024xf32>
  %1645 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1643 : tensor<4x64x1024xf32>) outs(%1644 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 7.978846e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1646 = tensor.empty() : tensor<4x64x1024xf32>
  %1647 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1635, %1645 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1646 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1648 = tensor.empty() : tensor<4x64x1024xf32>
  %1649 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1645 : tensor<4x64x1024xf32>) outs(%1648 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.471500e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1650 = tensor.empty() : tensor<4x64x1024xf32>
  %1651 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1649, %162 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1650 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1652 = tensor.empty() : tensor<4x64x1024xf32>
  %1653 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1647, %1651 : tensor<4x64x1024xf32>, tensor<4x64x1024xf32>) outs(%1652 : tensor<4x64x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1024xf32> loc(#loc17)
  %1654 = tensor.collapse_shape %1653 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %1655 = tensor.collapse_shape %148 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1656 = arith.constant 0.000000e+00 : f32
  %1657 = tensor.empty() : tensor<256x1024xf32>
  %1658 = linalg.fill ins(%1656 : f32) outs(%1657 : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %1659 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1654, %1655 : tensor<256x1024xf32>, tensor<256x256xf32>) outs(%1658 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc16)
  %1660 = tensor.collapse_shape %1653 [[0, 1], [2]] : tensor<4x64x1024xf32> into tensor<256x1024xf32>
  %1661 = arith.constant 0.000000e+00 : f32
  %1662 = tensor.empty() : tensor<256x256xf32>
  %1663 = linalg.fill ins(%1661 : f32) outs(%1662 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1664 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1660, %layer0.up : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%1663 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc16)
  %1665 = tensor.expand_shape %1664 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %1666 = arith.constant 0.000000e+00 : f32
  %1667 = tensor.empty() : tensor<256xf32>
  %1668 = linalg.fill ins(%1666 : f32) outs(%1667 : tensor<256xf32>) -> tensor<256xf32>
  %1669 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1665 : tensor<4x64x256xf32>) outs(%1668 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1670 = tensor.empty() : tensor<4x64x256xf32>
  %1671 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%144, %1665 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1670 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1672 = arith.constant 0.000000e+00 : f32
  %1673 = tensor.empty() : tensor<256xf32>
  %1674 = linalg.fill ins(%1672 : f32) outs(%1673 : tensor<256xf32>) -> tensor<256xf32>
  %1675 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1671 : tensor<4x64x256xf32>) outs(%1674 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1676 = tensor.empty() : tensor<4x64x256xf32>
  %1677 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1665, %layer0.norm2.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%1676 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1678 = tensor.empty() : tensor<4x64x256xf32>
  %1679 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%133, %1677 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1678 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1680 = arith.constant 0.000000e+00 : f32
  %1681 = tensor.empty() : tensor<4x64xf32>
  %1682 = linalg.fill ins(%1680 : f32) outs(%1681 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1683 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1679 : tensor<4x64x256xf32>) outs(%1682 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc7)
  %1684 = tensor.expand_shape %1683 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1685 = tensor.collapse_shape %137 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1686 = tensor.empty() : tensor<4x64x256xf32>
  %1687 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1677, %1685 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1686 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1688 = tensor.empty() : tensor<4x64x1xf32>
  %1689 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1684, %141 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1688 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %1690 = tensor.empty() : tensor<4x64x256xf32>
  %1691 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1687 : tensor<4x64x256xf32>) outs(%1690 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1692 = arith.constant 0.000000e+00 : f32
  %1693 = tensor.empty() : tensor<4x64xf32>
  %1694 = linalg.fill ins(%1692 : f32) outs(%1693 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1695 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1691 : tensor<4x64x256xf32>) outs(%1694 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc4)
  %1696 = tensor.expand_shape %1695 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1697 = tensor.empty() : tensor<4x64x256xf32>
  %1698 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1619, %1687 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1697 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1699 = tensor.empty() : tensor<4x64x1xf32>
  %1700 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1689 : tensor<4x64x1xf32>) outs(%1699 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %1701 = tensor.collapse_shape %1700 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1702 = tensor.empty() : tensor<4x64x256xf32>
  %1703 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1701, %123 : tensor<4x64xf32>, tensor<4x64x256xf32>) outs(%1702 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %1704 = tensor.empty() : tensor<4x64x256xf32>
  %1705 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1703 : tensor<4x64x256xf32>) outs(%1704 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1706 = arith.constant 0.000000e+00 : f32
  %1707 = tensor.empty() : tensor<4x64xf32>
  %1708 = linalg.fill ins(%1706 : f32) outs(%1707 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1709 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1705 : tensor<4x64x256xf32>) outs(%1708 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc2)
  %1710 = tensor.expand_shape %1709 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1711 = tensor.empty() : tensor<4x64x256xf32>
  %1712 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1698, %1703 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1711 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1713 = tensor.empty() : tensor<4x64x1xf32>
  %1714 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1696, %1710 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1713 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc2)
  %1715 = tensor.empty() : tensor<4x64x1xf32>
  %1716 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1714 : tensor<4x64x1xf32>) outs(%1715 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %1717 = tensor.collapse_shape %1716 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1718 = tensor.empty() : tensor<4x64x256xf32>
  %1719 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1712, %1717 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1718 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc1)
  %1720 = tensor.collapse_shape %1719 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1721 = tensor.collapse_shape %101 [[0, 1], [2, 3]] : tensor<4x64x8x32xf32> into tensor<256x256xf32>
  %1722 = arith.constant 0.000000e+00 : f32
  %1723 = tensor.empty() : tensor<256x256xf32>
  %1724 = linalg.fill ins(%1722 : f32) outs(%1723 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1725 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1720, %1721 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%1724 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc14)
  %1726 = tensor.collapse_shape %1719 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1727 = arith.constant 0.000000e+00 : f32
  %1728 = tensor.empty() : tensor<256x256xf32>
  %1729 = linalg.fill ins(%1727 : f32) outs(%1728 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1730 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1726, %layer0.out : tensor<256x256xf32>, tensor<256x256xf32>) outs(%1729 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc14)
  %1731 = tensor.expand_shape %1730 [[0, 1], [2, 3]] output_shape [4, 64, 8, 32] : tensor<256x256xf32> into tensor<4x64x8x32xf32>
  %1732 = arith.constant 0.000000e+00 : f32
  %1733 = tensor.empty() : tensor<4x8x64x64xf32>
  %1734 = linalg.fill ins(%1732 : f32) outs(%1733 : tensor<4x8x64x64xf32>) -> tensor<4x8x64x64xf32>
  %1735 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1731, %58 : tensor<4x64x8x32xf32>, tensor<4x64x8x32xf32>) outs(%1734 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc13)
  %1736 = arith.constant 0.000000e+00 : f32
  %1737 = tensor.empty() : tensor<4x64x8x32xf32>
  %1738 = linalg.fill ins(%1736 : f32) outs(%1737 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %1739 = linalg.generic {indexing_maps = [#map11, #map21, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1731, %93 : tensor<4x64x8x32xf32>, tensor<4x8x64x64xf32>) outs(%1738 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc13)
  %1740 = tensor.collapse_shape %97 [[0], [1], [2, 3]] : tensor<4x8x64x1xf32> into tensor<4x8x64xf32>
  %1741 = tensor.empty() : tensor<4x8x64x64xf32>
  %1742 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1735, %1740 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%1741 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1743 = tensor.empty() : tensor<4x8x64x64xf32>
  %1744 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1742, %86 : tensor<4x8x64x64xf32>, tensor<4x8x64x64xf32>) outs(%1743 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1745 = arith.constant 0.000000e+00 : f32
  %1746 = tensor.empty() : tensor<4x8x64xf32>
  %1747 = linalg.fill ins(%1745 : f32) outs(%1746 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
  %1748 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%1744 : tensor<4x8x64x64xf32>) outs(%1747 : tensor<4x8x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64xf32> loc(#loc12)
  %1749 = tensor.expand_shape %1748 [[0], [1], [2, 3]] output_shape [4, 8, 64, 1] : tensor<4x8x64xf32> into tensor<4x8x64x1xf32>
  %1750 = tensor.empty() : tensor<4x8x64x1xf32>
  %1751 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1749 : tensor<4x8x64x1xf32>) outs(%1750 : tensor<4x8x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x1xf32> loc(#loc12)
  %1752 = tensor.empty() : tensor<4x8x64x64xf32>
  %1753 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1735, %90 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%1752 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1754 = tensor.collapse_shape %1751 [[0], [1], [2, 3]] : tensor<4x8x64x1xf32> into tensor<4x8x64xf32>
  %1755 = tensor.empty() : tensor<4x8x64x64xf32>
  %1756 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1753, %1754 : tensor<4x8x64x64xf32>, tensor<4x8x64xf32>) outs(%1755 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1757 = tensor.empty() : tensor<4x8x64x64xf32>
  %1758 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1756, %86 : tensor<4x8x64x64xf32>, tensor<4x8x64x64xf32>) outs(%1757 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc12)
  %1759 = tensor.empty() : tensor<4x8x64x64xf32>
  %1760 = linalg.generic {indexing_maps = [#map9, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%74, %1758 : tensor<64x64xi1>, tensor<4x8x64x64xf32>) outs(%1759 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc11)
  %1761 = tensor.empty() : tensor<4x8x64x64xf32>
  %1762 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1760 : tensor<4x8x64x64xf32>) outs(%1761 : tensor<4x8x64x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.656854e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x8x64x64xf32> loc(#loc9)
  %1763 = arith.constant 0.000000e+00 : f32
  %1764 = tensor.empty() : tensor<4x64x8x32xf32>
  %1765 = linalg.fill ins(%1763 : f32) outs(%1764 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %1766 = linalg.generic {indexing_maps = [#map22, #map23, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1762, %56 : tensor<4x8x64x64xf32>, tensor<4x64x8x32xf32>) outs(%1765 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc9)
  %1767 = arith.constant 0.000000e+00 : f32
  %1768 = tensor.empty() : tensor<4x64x8x32xf32>
  %1769 = linalg.fill ins(%1767 : f32) outs(%1768 : tensor<4x64x8x32xf32>) -> tensor<4x64x8x32xf32>
  %1770 = linalg.generic {indexing_maps = [#map25, #map23, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%1762, %57 : tensor<4x8x64x64xf32>, tensor<4x64x8x32xf32>) outs(%1769 : tensor<4x64x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x8x32xf32> loc(#loc9)
  %1771 = tensor.empty() : tensor<4x64x24x32xf32>
  %1772 = tensor.insert_slice %1770 into %1771[0, 0, 0, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x8x32xf32> into tensor<4x64x24x32xf32>
  %1773 = tensor.insert_slice %1766 into %1772[0, 0, 8, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x8x32xf32> into tensor<4x64x24x32xf32>
  %1774 = tensor.insert_slice %1739 into %1773[0, 0, 16, 0] [4, 64, 8, 32] [1, 1, 1, 1] : tensor<4x64x8x32xf32> into tensor<4x64x24x32xf32>
  %1775 = tensor.collapse_shape %1774 [[0, 1], [2, 3]] : tensor<4x64x24x32xf32> into tensor<256x768xf32>
  %1776 = tensor.collapse_shape %49 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1777 = arith.constant 0.000000e+00 : f32
  %1778 = tensor.empty() : tensor<256x768xf32>
  %1779 = linalg.fill ins(%1777 : f32) outs(%1778 : tensor<256x768xf32>) -> tensor<256x768xf32>
  %1780 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1775, %1776 : tensor<256x768xf32>, tensor<256x256xf32>) outs(%1779 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc8)
  %1781 = tensor.collapse_shape %1774 [[0, 1], [2, 3]] : tensor<4x64x24x32xf32> into tensor<256x768xf32>
  %1782 = arith.constant 0.000000e+00 : f32
  %1783 = tensor.empty() : tensor<256x256xf32>
  %1784 = linalg.fill ins(%1782 : f32) outs(%1783 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1785 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1781, %layer0.qkv : tensor<256x768xf32>, tensor<256x768xf32>) outs(%1784 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc8)
  %1786 = tensor.expand_shape %1785 [[0, 1], [2]] output_shape [4, 64, 256] : tensor<256x256xf32> into tensor<4x64x256xf32>
  %1787 = arith.constant 0.000000e+00 : f32
  %1788 = tensor.empty() : tensor<256xf32>
  %1789 = linalg.fill ins(%1787 : f32) outs(%1788 : tensor<256xf32>) -> tensor<256xf32>
  %1790 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1786 : tensor<4x64x256xf32>) outs(%1789 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1791 = tensor.empty() : tensor<4x64x256xf32>
  %1792 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%45, %1786 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1791 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1793 = arith.constant 0.000000e+00 : f32
  %1794 = tensor.empty() : tensor<256xf32>
  %1795 = linalg.fill ins(%1793 : f32) outs(%1794 : tensor<256xf32>) -> tensor<256xf32>
  %1796 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%1792 : tensor<4x64x256xf32>) outs(%1795 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc7)
  %1797 = tensor.empty() : tensor<4x64x256xf32>
  %1798 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1786, %layer0.norm1.scale : tensor<4x64x256xf32>, tensor<256xf32>) outs(%1797 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1799 = tensor.empty() : tensor<4x64x256xf32>
  %1800 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%34, %1798 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1799 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1801 = arith.constant 0.000000e+00 : f32
  %1802 = tensor.empty() : tensor<4x64xf32>
  %1803 = linalg.fill ins(%1801 : f32) outs(%1802 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1804 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1800 : tensor<4x64x256xf32>) outs(%1803 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc7)
  %1805 = tensor.expand_shape %1804 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1806 = tensor.collapse_shape %38 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1807 = tensor.empty() : tensor<4x64x256xf32>
  %1808 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1798, %1806 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1807 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc7)
  %1809 = tensor.empty() : tensor<4x64x1xf32>
  %1810 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1805, %42 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1809 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc6)
  %1811 = tensor.empty() : tensor<4x64x256xf32>
  %1812 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1808 : tensor<4x64x256xf32>) outs(%1811 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1813 = arith.constant 0.000000e+00 : f32
  %1814 = tensor.empty() : tensor<4x64xf32>
  %1815 = linalg.fill ins(%1813 : f32) outs(%1814 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1816 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1812 : tensor<4x64x256xf32>) outs(%1815 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc4)
  %1817 = tensor.expand_shape %1816 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1818 = tensor.empty() : tensor<4x64x256xf32>
  %1819 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1719, %1808 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1818 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc4)
  %1820 = tensor.empty() : tensor<4x64x1xf32>
  %1821 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1810 : tensor<4x64x1xf32>) outs(%1820 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc3)
  %1822 = tensor.collapse_shape %1821 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1823 = tensor.empty() : tensor<4x64x256xf32>
  %1824 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1822, %24 : tensor<4x64xf32>, tensor<4x64x256xf32>) outs(%1823 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc3)
  %1825 = tensor.empty() : tensor<4x64x256xf32>
  %1826 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1824 : tensor<4x64x256xf32>) outs(%1825 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1827 = arith.constant 0.000000e+00 : f32
  %1828 = tensor.empty() : tensor<4x64xf32>
  %1829 = linalg.fill ins(%1827 : f32) outs(%1828 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1830 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1826 : tensor<4x64x256xf32>) outs(%1829 : tensor<4x64xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64xf32> loc(#loc2)
  %1831 = tensor.expand_shape %1830 [[0], [1, 2]] output_shape [4, 64, 1] : tensor<4x64xf32> into tensor<4x64x1xf32>
  %1832 = tensor.empty() : tensor<4x64x256xf32>
  %1833 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1819, %1824 : tensor<4x64x256xf32>, tensor<4x64x256xf32>) outs(%1832 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc2)
  %1834 = tensor.empty() : tensor<4x64x1xf32>
  %1835 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1817, %1831 : tensor<4x64x1xf32>, tensor<4x64x1xf32>) outs(%1834 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x1xf32> loc(#loc2)
  %1836 = tensor.empty() : tensor<4x64x1xf32>
  %1837 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1835 : tensor<4x64x1xf32>) outs(%1836 : tensor<4x64x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.560000e+02 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<4x64x1xf32> loc(#loc1)
  %1838 = tensor.collapse_shape %1837 [[0], [1, 2]] : tensor<4x64x1xf32> into tensor<4x64xf32>
  %1839 = tensor.empty() : tensor<4x64x256xf32>
  %1840 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1833, %1838 : tensor<4x64x256xf32>, tensor<4x64xf32>) outs(%1839 : tensor<4x64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<4x64x256xf32> loc(#loc1)
  %1841 = arith.constant 0.000000e+00 : f32
  %1842 = tensor.empty() : tensor<64x256xf32>
  %1843 = linalg.fill ins(%1841 : f32) outs(%1842 : tensor<64x256xf32>) -> tensor<64x256xf32>
  %1844 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["reduction", "parallel", "parallel"]} ins(%1840 : tensor<4x64x256xf32>) outs(%1843 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<64x256xf32> loc(#loc0)
  %1845 = arith.constant dense<0.000000e+00> : tensor<256x256xf32>
  %1846 = tensor.collapse_shape %1840 [[0, 1], [2]] : tensor<4x64x256xf32> into tensor<256x256xf32>
  %1847 = tensor.collapse_shape %6 [[0, 1]] : tensor<4x64xi32> into tensor<256xi32>
  %1848 = arith.constant 0 : index
  %1849 = arith.constant 256 : index
  %1850 = arith.constant 1 : index
  %1851 = scf.for %r2 = %1848 to %1849 step %1850 iter_args(%r3 = %1845) -> (tensor<256x256xf32>) {
    %1852 = tensor.extract %1847[%r2] : tensor<256xi32>
    %1853 = arith.index_cast %1852 : i32 to index
    %1854 = arith.constant 255 : index
    %1855 = arith.cmpi ule, %1853, %1854 : index
    %1856 = arith.constant 0 : index
    %1857 = arith.maxsi %1853, %1856 : index
    %1858 = arith.constant 255 : index
    %1859 = arith.minsi %1857, %1858 : index
    %1860 = tensor.extract_slice %r3[%1859, 0] [1, 256] [1, 1] : tensor<256x256xf32> to tensor<256xf32>
    %1861 = tensor.extract_slice %1846[%r2, 0] [1, 256] [1, 1] : tensor<256x256xf32> to tensor<256xf32>
    %1862 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1861 : tensor<256xf32>) outs(%1860 : tensor<256xf32>) {
    ^bb0(%in_0: f32, %out_0: f32):
      %b0 = arith.addf %out_0, %in_0 : f32
      %b1 = arith.select %1855, %b0, %out_0 : f32
      linalg.yield %b1 : f32
    } -> tensor<256xf32> loc(#loc0)
    %1863 = tensor.insert_slice %1862 into %r3[%1859, 0] [1, 256] [1, 1] : tensor<256xf32> into tensor<256x256xf32>
    scf.yield %1863 : tensor<256x256xf32>
  } loc(#loc0)
  %1864 = tensor.empty() : tensor<256x256xf32>
  %1865 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%904, %1851 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%1864 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc0)
  %1866 = cs.gradient %1865 of "bytes" : tensor<256x256xf32> loc(#loc22)
  %1867 = cs.gradient %908 of "last.bias" : tensor<256xf32> loc(#loc22)
  %1868 = cs.gradient %914 of "last.scale" : tensor<256xf32> loc(#loc22)
  %1869 = cs.gradient %1625 of "layer0.down" : tensor<1024x256xf32> loc(#loc22)
  %1870 = cs.gradient %1790 of "layer0.norm1.bias" : tensor<256xf32> loc(#loc22)
  %1871 = cs.gradient %1796 of "layer0.norm1.scale" : tensor<256xf32> loc(#loc22)
  %1872 = cs.gradient %1669 of "layer0.norm2.bias" : tensor<256xf32> loc(#loc22)
  %1873 = cs.gradient %1675 of "layer0.norm2.scale" : tensor<256xf32> loc(#loc22)
  %1874 = cs.gradient %1725 of "layer0.out" : tensor<256x256xf32> loc(#loc22)
  %1875 = cs.gradient %1780 of "layer0.qkv" : tensor<256x768xf32> loc(#loc22)
  %1876 = cs.gradient %1659 of "layer0.up" : tensor<256x1024xf32> loc(#loc22)
  %1877 = cs.gradient %1404 of "layer1.down" : tensor<1024x256xf32> loc(#loc22)
  %1878 = cs.gradient %1569 of "layer1.norm1.bias" : tensor<256xf32> loc(#loc22)
  %1879 = cs.gradient %1575 of "layer1.norm1.scale" : tensor<256xf32> loc(#loc22)
  %1880 = cs.gradient %1448 of "layer1.norm2.bias" : tensor<256xf32> loc(#loc22)
  %1881 = cs.gradient %1454 of "layer1.norm2.scale" : tensor<256xf32> loc(#loc22)
  %1882 = cs.gradient %1504 of "layer1.out" : tensor<256x256xf32> loc(#loc22)
  %1883 = cs.gradient %1559 of "layer1.qkv" : tensor<256x768xf32> loc(#loc22)
  %1884 = cs.gradient %1438 of "layer1.up" : tensor<256x1024xf32> loc(#loc22)
  %1885 = cs.gradient %1183 of "layer2.down" : tensor<1024x256xf32> loc(#loc22)
  %1886 = cs.gradient %1348 of "layer2.norm1.bias" : tensor<256xf32> loc(#loc22)
  %1887 = cs.gradient %1354 of "layer2.norm1.scale" : tensor<256xf32> loc(#loc22)
  %1888 = cs.gradient %1227 of "layer2.norm2.bias" : tensor<256xf32> loc(#loc22)
  %1889 = cs.gradient %1233 of "layer2.norm2.scale" : tensor<256xf32> loc(#loc22)
  %1890 = cs.gradient %1283 of "layer2.out" : tensor<256x256xf32> loc(#loc22)
  %1891 = cs.gradient %1338 of "layer2.qkv" : tensor<256x768xf32> loc(#loc22)
  %1892 = cs.gradient %1217 of "layer2.up" : tensor<256x1024xf32> loc(#loc22)
  %1893 = cs.gradient %962 of "layer3.down" : tensor<1024x256xf32> loc(#loc22)
  %1894 = cs.gradient %1127 of "layer3.norm1.bias" : tensor<256xf32> loc(#loc22)
  %1895 = cs.gradient %1133 of "layer3.norm1.scale" : tensor<256xf32> loc(#loc22)
  %1896 = cs.gradient %1006 of "layer3.norm2.bias" : tensor<256xf32> loc(#loc22)
  %1897 = cs.gradient %1012 of "layer3.norm2.scale" : tensor<256xf32> loc(#loc22)
  %1898 = cs.gradient %1062 of "layer3.out" : tensor<256x256xf32> loc(#loc22)
  %1899 = cs.gradient %1117 of "layer3.qkv" : tensor<256x768xf32> loc(#loc22)
  %1900 = cs.gradient %996 of "layer3.up" : tensor<256x1024xf32> loc(#loc22)
  %1901 = cs.gradient %1844 of "places" : tensor<64x256xf32> loc(#loc22)
  %1902 = tensor.empty() : tensor<256x256xf32>
  %1903 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1866 : tensor<256x256xf32>) outs(%1902 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %1904 = tensor.empty() : tensor<256x256xf32>
  %1905 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.bytes : tensor<256x256xf32>) outs(%1904 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %1906 = tensor.empty() : tensor<256x256xf32>
  %1907 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1903, %1905 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%1906 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %1908 = tensor.empty() : tensor<256xf32>
  %1909 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1867 : tensor<256xf32>) outs(%1908 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1910 = tensor.empty() : tensor<256xf32>
  %1911 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.last.bias : tensor<256xf32>) outs(%1910 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1912 = tensor.empty() : tensor<256xf32>
  %1913 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%1909, %1911 : tensor<256xf32>, tensor<256xf32>) outs(%1912 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1914 = tensor.empty() : tensor<256xf32>
  %1915 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1868 : tensor<256xf32>) outs(%1914 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1916 = tensor.empty() : tensor<256xf32>
  %1917 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.last.scale : tensor<256xf32>) outs(%1916 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1918 = tensor.empty() : tensor<256xf32>
  %1919 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%1915, %1917 : tensor<256xf32>, tensor<256xf32>) outs(%1918 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1920 = tensor.empty() : tensor<1024x256xf32>
  %1921 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1869 : tensor<1024x256xf32>) outs(%1920 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %1922 = tensor.empty() : tensor<1024x256xf32>
  %1923 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer0.down : tensor<1024x256xf32>) outs(%1922 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %1924 = tensor.empty() : tensor<1024x256xf32>
  %1925 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1921, %1923 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%1924 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %1926 = tensor.empty() : tensor<256xf32>
  %1927 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1870 : tensor<256xf32>) outs(%1926 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1928 = tensor.empty() : tensor<256xf32>
  %1929 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer0.norm1.bias : tensor<256xf32>) outs(%1928 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1930 = tensor.empty() : tensor<256xf32>
  %1931 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%1927, %1929 : tensor<256xf32>, tensor<256xf32>) outs(%1930 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1932 = tensor.empty() : tensor<256xf32>
  %1933 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1871 : tensor<256xf32>) outs(%1932 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1934 = tensor.empty() : tensor<256xf32>
  %1935 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer0.norm1.scale : tensor<256xf32>) outs(%1934 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1936 = tensor.empty() : tensor<256xf32>
  %1937 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%1933, %1935 : tensor<256xf32>, tensor<256xf32>) outs(%1936 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1938 = tensor.empty() : tensor<256xf32>
  %1939 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1872 : tensor<256xf32>) outs(%1938 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1940 = tensor.empty() : tensor<256xf32>
  %1941 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer0.norm2.bias : tensor<256xf32>) outs(%1940 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1942 = tensor.empty() : tensor<256xf32>
  %1943 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%1939, %1941 : tensor<256xf32>, tensor<256xf32>) outs(%1942 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1944 = tensor.empty() : tensor<256xf32>
  %1945 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1873 : tensor<256xf32>) outs(%1944 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1946 = tensor.empty() : tensor<256xf32>
  %1947 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer0.norm2.scale : tensor<256xf32>) outs(%1946 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1948 = tensor.empty() : tensor<256xf32>
  %1949 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%1945, %1947 : tensor<256xf32>, tensor<256xf32>) outs(%1948 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1950 = tensor.empty() : tensor<256x256xf32>
  %1951 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1874 : tensor<256x256xf32>) outs(%1950 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %1952 = tensor.empty() : tensor<256x256xf32>
  %1953 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer0.out : tensor<256x256xf32>) outs(%1952 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %1954 = tensor.empty() : tensor<256x256xf32>
  %1955 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1951, %1953 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%1954 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %1956 = tensor.empty() : tensor<256x768xf32>
  %1957 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1875 : tensor<256x768xf32>) outs(%1956 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %1958 = tensor.empty() : tensor<256x768xf32>
  %1959 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer0.qkv : tensor<256x768xf32>) outs(%1958 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %1960 = tensor.empty() : tensor<256x768xf32>
  %1961 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1957, %1959 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%1960 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %1962 = tensor.empty() : tensor<256x1024xf32>
  %1963 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1876 : tensor<256x1024xf32>) outs(%1962 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %1964 = tensor.empty() : tensor<256x1024xf32>
  %1965 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer0.up : tensor<256x1024xf32>) outs(%1964 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %1966 = tensor.empty() : tensor<256x1024xf32>
  %1967 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1963, %1965 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%1966 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %1968 = tensor.empty() : tensor<1024x256xf32>
  %1969 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1877 : tensor<1024x256xf32>) outs(%1968 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %1970 = tensor.empty() : tensor<1024x256xf32>
  %1971 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer1.down : tensor<1024x256xf32>) outs(%1970 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %1972 = tensor.empty() : tensor<1024x256xf32>
  %1973 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1969, %1971 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%1972 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %1974 = tensor.empty() : tensor<256xf32>
  %1975 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1878 : tensor<256xf32>) outs(%1974 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1976 = tensor.empty() : tensor<256xf32>
  %1977 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer1.norm1.bias : tensor<256xf32>) outs(%1976 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1978 = tensor.empty() : tensor<256xf32>
  %1979 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%1975, %1977 : tensor<256xf32>, tensor<256xf32>) outs(%1978 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1980 = tensor.empty() : tensor<256xf32>
  %1981 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1879 : tensor<256xf32>) outs(%1980 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1982 = tensor.empty() : tensor<256xf32>
  %1983 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer1.norm1.scale : tensor<256xf32>) outs(%1982 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1984 = tensor.empty() : tensor<256xf32>
  %1985 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%1981, %1983 : tensor<256xf32>, tensor<256xf32>) outs(%1984 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1986 = tensor.empty() : tensor<256xf32>
  %1987 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1880 : tensor<256xf32>) outs(%1986 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1988 = tensor.empty() : tensor<256xf32>
  %1989 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer1.norm2.bias : tensor<256xf32>) outs(%1988 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1990 = tensor.empty() : tensor<256xf32>
  %1991 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%1987, %1989 : tensor<256xf32>, tensor<256xf32>) outs(%1990 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1992 = tensor.empty() : tensor<256xf32>
  %1993 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1881 : tensor<256xf32>) outs(%1992 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1994 = tensor.empty() : tensor<256xf32>
  %1995 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer1.norm2.scale : tensor<256xf32>) outs(%1994 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1996 = tensor.empty() : tensor<256xf32>
  %1997 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%1993, %1995 : tensor<256xf32>, tensor<256xf32>) outs(%1996 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %1998 = tensor.empty() : tensor<256x256xf32>
  %1999 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1882 : tensor<256x256xf32>) outs(%1998 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2000 = tensor.empty() : tensor<256x256xf32>
  %2001 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer1.out : tensor<256x256xf32>) outs(%2000 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2002 = tensor.empty() : tensor<256x256xf32>
  %2003 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1999, %2001 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2002 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2004 = tensor.empty() : tensor<256x768xf32>
  %2005 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1883 : tensor<256x768xf32>) outs(%2004 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2006 = tensor.empty() : tensor<256x768xf32>
  %2007 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer1.qkv : tensor<256x768xf32>) outs(%2006 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2008 = tensor.empty() : tensor<256x768xf32>
  %2009 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2005, %2007 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2008 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2010 = tensor.empty() : tensor<256x1024xf32>
  %2011 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1884 : tensor<256x1024xf32>) outs(%2010 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2012 = tensor.empty() : tensor<256x1024xf32>
  %2013 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer1.up : tensor<256x1024xf32>) outs(%2012 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2014 = tensor.empty() : tensor<256x1024xf32>
  %2015 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2011, %2013 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2014 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2016 = tensor.empty() : tensor<1024x256xf32>
  %2017 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1885 : tensor<1024x256xf32>) outs(%2016 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2018 = tensor.empty() : tensor<1024x256xf32>
  %2019 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer2.down : tensor<1024x256xf32>) outs(%2018 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2020 = tensor.empty() : tensor<1024x256xf32>
  %2021 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2017, %2019 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2020 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2022 = tensor.empty() : tensor<256xf32>
  %2023 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1886 : tensor<256xf32>) outs(%2022 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2024 = tensor.empty() : tensor<256xf32>
  %2025 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer2.norm1.bias : tensor<256xf32>) outs(%2024 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2026 = tensor.empty() : tensor<256xf32>
  %2027 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2023, %2025 : tensor<256xf32>, tensor<256xf32>) outs(%2026 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2028 = tensor.empty() : tensor<256xf32>
  %2029 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1887 : tensor<256xf32>) outs(%2028 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2030 = tensor.empty() : tensor<256xf32>
  %2031 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer2.norm1.scale : tensor<256xf32>) outs(%2030 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2032 = tensor.empty() : tensor<256xf32>
  %2033 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2029, %2031 : tensor<256xf32>, tensor<256xf32>) outs(%2032 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2034 = tensor.empty() : tensor<256xf32>
  %2035 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1888 : tensor<256xf32>) outs(%2034 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2036 = tensor.empty() : tensor<256xf32>
  %2037 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer2.norm2.bias : tensor<256xf32>) outs(%2036 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2038 = tensor.empty() : tensor<256xf32>
  %2039 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2035, %2037 : tensor<256xf32>, tensor<256xf32>) outs(%2038 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2040 = tensor.empty() : tensor<256xf32>
  %2041 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1889 : tensor<256xf32>) outs(%2040 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2042 = tensor.empty() : tensor<256xf32>
  %2043 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer2.norm2.scale : tensor<256xf32>) outs(%2042 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2044 = tensor.empty() : tensor<256xf32>
  %2045 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2041, %2043 : tensor<256xf32>, tensor<256xf32>) outs(%2044 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2046 = tensor.empty() : tensor<256x256xf32>
  %2047 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1890 : tensor<256x256xf32>) outs(%2046 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2048 = tensor.empty() : tensor<256x256xf32>
  %2049 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer2.out : tensor<256x256xf32>) outs(%2048 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2050 = tensor.empty() : tensor<256x256xf32>
  %2051 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2047, %2049 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2050 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2052 = tensor.empty() : tensor<256x768xf32>
  %2053 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1891 : tensor<256x768xf32>) outs(%2052 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2054 = tensor.empty() : tensor<256x768xf32>
  %2055 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer2.qkv : tensor<256x768xf32>) outs(%2054 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2056 = tensor.empty() : tensor<256x768xf32>
  %2057 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2053, %2055 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2056 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2058 = tensor.empty() : tensor<256x1024xf32>
  %2059 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1892 : tensor<256x1024xf32>) outs(%2058 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2060 = tensor.empty() : tensor<256x1024xf32>
  %2061 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer2.up : tensor<256x1024xf32>) outs(%2060 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2062 = tensor.empty() : tensor<256x1024xf32>
  %2063 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2059, %2061 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2062 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2064 = tensor.empty() : tensor<1024x256xf32>
  %2065 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1893 : tensor<1024x256xf32>) outs(%2064 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2066 = tensor.empty() : tensor<1024x256xf32>
  %2067 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer3.down : tensor<1024x256xf32>) outs(%2066 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2068 = tensor.empty() : tensor<1024x256xf32>
  %2069 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2065, %2067 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2068 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2070 = tensor.empty() : tensor<256xf32>
  %2071 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1894 : tensor<256xf32>) outs(%2070 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2072 = tensor.empty() : tensor<256xf32>
  %2073 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer3.norm1.bias : tensor<256xf32>) outs(%2072 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2074 = tensor.empty() : tensor<256xf32>
  %2075 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2071, %2073 : tensor<256xf32>, tensor<256xf32>) outs(%2074 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2076 = tensor.empty() : tensor<256xf32>
  %2077 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1895 : tensor<256xf32>) outs(%2076 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2078 = tensor.empty() : tensor<256xf32>
  %2079 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer3.norm1.scale : tensor<256xf32>) outs(%2078 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2080 = tensor.empty() : tensor<256xf32>
  %2081 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2077, %2079 : tensor<256xf32>, tensor<256xf32>) outs(%2080 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2082 = tensor.empty() : tensor<256xf32>
  %2083 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1896 : tensor<256xf32>) outs(%2082 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2084 = tensor.empty() : tensor<256xf32>
  %2085 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer3.norm2.bias : tensor<256xf32>) outs(%2084 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2086 = tensor.empty() : tensor<256xf32>
  %2087 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2083, %2085 : tensor<256xf32>, tensor<256xf32>) outs(%2086 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2088 = tensor.empty() : tensor<256xf32>
  %2089 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1897 : tensor<256xf32>) outs(%2088 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2090 = tensor.empty() : tensor<256xf32>
  %2091 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer3.norm2.scale : tensor<256xf32>) outs(%2090 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2092 = tensor.empty() : tensor<256xf32>
  %2093 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2089, %2091 : tensor<256xf32>, tensor<256xf32>) outs(%2092 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2094 = tensor.empty() : tensor<256x256xf32>
  %2095 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1898 : tensor<256x256xf32>) outs(%2094 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2096 = tensor.empty() : tensor<256x256xf32>
  %2097 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer3.out : tensor<256x256xf32>) outs(%2096 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2098 = tensor.empty() : tensor<256x256xf32>
  %2099 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2095, %2097 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2098 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2100 = tensor.empty() : tensor<256x768xf32>
  %2101 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1899 : tensor<256x768xf32>) outs(%2100 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2102 = tensor.empty() : tensor<256x768xf32>
  %2103 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer3.qkv : tensor<256x768xf32>) outs(%2102 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2104 = tensor.empty() : tensor<256x768xf32>
  %2105 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2101, %2103 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2104 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2106 = tensor.empty() : tensor<256x1024xf32>
  %2107 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1900 : tensor<256x1024xf32>) outs(%2106 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2108 = tensor.empty() : tensor<256x1024xf32>
  %2109 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer3.up : tensor<256x1024xf32>) outs(%2108 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2110 = tensor.empty() : tensor<256x1024xf32>
  %2111 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2107, %2109 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2110 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2112 = tensor.empty() : tensor<64x256xf32>
  %2113 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1901 : tensor<64x256xf32>) outs(%2112 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2114 = tensor.empty() : tensor<64x256xf32>
  %2115 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.places : tensor<64x256xf32>) outs(%2114 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2116 = tensor.empty() : tensor<64x256xf32>
  %2117 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2113, %2115 : tensor<64x256xf32>, tensor<64x256xf32>) outs(%2116 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2118 = tensor.empty() : tensor<256x256xf32>
  %2119 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1866 : tensor<256x256xf32>) outs(%2118 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2120 = tensor.empty() : tensor<256x256xf32>
  %2121 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2119 : tensor<256x256xf32>) outs(%2120 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2122 = tensor.empty() : tensor<256x256xf32>
  %2123 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.bytes : tensor<256x256xf32>) outs(%2122 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2124 = tensor.empty() : tensor<256x256xf32>
  %2125 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2121, %2123 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2124 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2126 = tensor.empty() : tensor<256xf32>
  %2127 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1867 : tensor<256xf32>) outs(%2126 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2128 = tensor.empty() : tensor<256xf32>
  %2129 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2127 : tensor<256xf32>) outs(%2128 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2130 = tensor.empty() : tensor<256xf32>
  %2131 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.last.bias : tensor<256xf32>) outs(%2130 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2132 = tensor.empty() : tensor<256xf32>
  %2133 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2129, %2131 : tensor<256xf32>, tensor<256xf32>) outs(%2132 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2134 = tensor.empty() : tensor<256xf32>
  %2135 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1868 : tensor<256xf32>) outs(%2134 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2136 = tensor.empty() : tensor<256xf32>
  %2137 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2135 : tensor<256xf32>) outs(%2136 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2138 = tensor.empty() : tensor<256xf32>
  %2139 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.last.scale : tensor<256xf32>) outs(%2138 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2140 = tensor.empty() : tensor<256xf32>
  %2141 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2137, %2139 : tensor<256xf32>, tensor<256xf32>) outs(%2140 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2142 = tensor.empty() : tensor<1024x256xf32>
  %2143 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1869 : tensor<1024x256xf32>) outs(%2142 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2144 = tensor.empty() : tensor<1024x256xf32>
  %2145 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2143 : tensor<1024x256xf32>) outs(%2144 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2146 = tensor.empty() : tensor<1024x256xf32>
  %2147 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer0.down : tensor<1024x256xf32>) outs(%2146 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2148 = tensor.empty() : tensor<1024x256xf32>
  %2149 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2145, %2147 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2148 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2150 = tensor.empty() : tensor<256xf32>
  %2151 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1870 : tensor<256xf32>) outs(%2150 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2152 = tensor.empty() : tensor<256xf32>
  %2153 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2151 : tensor<256xf32>) outs(%2152 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2154 = tensor.empty() : tensor<256xf32>
  %2155 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer0.norm1.bias : tensor<256xf32>) outs(%2154 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2156 = tensor.empty() : tensor<256xf32>
  %2157 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2153, %2155 : tensor<256xf32>, tensor<256xf32>) outs(%2156 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2158 = tensor.empty() : tensor<256xf32>
  %2159 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1871 : tensor<256xf32>) outs(%2158 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2160 = tensor.empty() : tensor<256xf32>
  %2161 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2159 : tensor<256xf32>) outs(%2160 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2162 = tensor.empty() : tensor<256xf32>
  %2163 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer0.norm1.scale : tensor<256xf32>) outs(%2162 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2164 = tensor.empty() : tensor<256xf32>
  %2165 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2161, %2163 : tensor<256xf32>, tensor<256xf32>) outs(%2164 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2166 = tensor.empty() : tensor<256xf32>
  %2167 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1872 : tensor<256xf32>) outs(%2166 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2168 = tensor.empty() : tensor<256xf32>
  %2169 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2167 : tensor<256xf32>) outs(%2168 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2170 = tensor.empty() : tensor<256xf32>
  %2171 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer0.norm2.bias : tensor<256xf32>) outs(%2170 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2172 = tensor.empty() : tensor<256xf32>
  %2173 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2169, %2171 : tensor<256xf32>, tensor<256xf32>) outs(%2172 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2174 = tensor.empty() : tensor<256xf32>
  %2175 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1873 : tensor<256xf32>) outs(%2174 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2176 = tensor.empty() : tensor<256xf32>
  %2177 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2175 : tensor<256xf32>) outs(%2176 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2178 = tensor.empty() : tensor<256xf32>
  %2179 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer0.norm2.scale : tensor<256xf32>) outs(%2178 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2180 = tensor.empty() : tensor<256xf32>
  %2181 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2177, %2179 : tensor<256xf32>, tensor<256xf32>) outs(%2180 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2182 = tensor.empty() : tensor<256x256xf32>
  %2183 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1874 : tensor<256x256xf32>) outs(%2182 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2184 = tensor.empty() : tensor<256x256xf32>
  %2185 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2183 : tensor<256x256xf32>) outs(%2184 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2186 = tensor.empty() : tensor<256x256xf32>
  %2187 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer0.out : tensor<256x256xf32>) outs(%2186 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2188 = tensor.empty() : tensor<256x256xf32>
  %2189 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2185, %2187 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2188 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2190 = tensor.empty() : tensor<256x768xf32>
  %2191 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1875 : tensor<256x768xf32>) outs(%2190 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2192 = tensor.empty() : tensor<256x768xf32>
  %2193 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2191 : tensor<256x768xf32>) outs(%2192 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2194 = tensor.empty() : tensor<256x768xf32>
  %2195 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer0.qkv : tensor<256x768xf32>) outs(%2194 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2196 = tensor.empty() : tensor<256x768xf32>
  %2197 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2193, %2195 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2196 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2198 = tensor.empty() : tensor<256x1024xf32>
  %2199 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1876 : tensor<256x1024xf32>) outs(%2198 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2200 = tensor.empty() : tensor<256x1024xf32>
  %2201 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2199 : tensor<256x1024xf32>) outs(%2200 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2202 = tensor.empty() : tensor<256x1024xf32>
  %2203 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer0.up : tensor<256x1024xf32>) outs(%2202 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2204 = tensor.empty() : tensor<256x1024xf32>
  %2205 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2201, %2203 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2204 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2206 = tensor.empty() : tensor<1024x256xf32>
  %2207 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1877 : tensor<1024x256xf32>) outs(%2206 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2208 = tensor.empty() : tensor<1024x256xf32>
  %2209 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2207 : tensor<1024x256xf32>) outs(%2208 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2210 = tensor.empty() : tensor<1024x256xf32>
  %2211 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer1.down : tensor<1024x256xf32>) outs(%2210 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2212 = tensor.empty() : tensor<1024x256xf32>
  %2213 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2209, %2211 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2212 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2214 = tensor.empty() : tensor<256xf32>
  %2215 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1878 : tensor<256xf32>) outs(%2214 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2216 = tensor.empty() : tensor<256xf32>
  %2217 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2215 : tensor<256xf32>) outs(%2216 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2218 = tensor.empty() : tensor<256xf32>
  %2219 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer1.norm1.bias : tensor<256xf32>) outs(%2218 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2220 = tensor.empty() : tensor<256xf32>
  %2221 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2217, %2219 : tensor<256xf32>, tensor<256xf32>) outs(%2220 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2222 = tensor.empty() : tensor<256xf32>
  %2223 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1879 : tensor<256xf32>) outs(%2222 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2224 = tensor.empty() : tensor<256xf32>
  %2225 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2223 : tensor<256xf32>) outs(%2224 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2226 = tensor.empty() : tensor<256xf32>
  %2227 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer1.norm1.scale : tensor<256xf32>) outs(%2226 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2228 = tensor.empty() : tensor<256xf32>
  %2229 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2225, %2227 : tensor<256xf32>, tensor<256xf32>) outs(%2228 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2230 = tensor.empty() : tensor<256xf32>
  %2231 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1880 : tensor<256xf32>) outs(%2230 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2232 = tensor.empty() : tensor<256xf32>
  %2233 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2231 : tensor<256xf32>) outs(%2232 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2234 = tensor.empty() : tensor<256xf32>
  %2235 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer1.norm2.bias : tensor<256xf32>) outs(%2234 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2236 = tensor.empty() : tensor<256xf32>
  %2237 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2233, %2235 : tensor<256xf32>, tensor<256xf32>) outs(%2236 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2238 = tensor.empty() : tensor<256xf32>
  %2239 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1881 : tensor<256xf32>) outs(%2238 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2240 = tensor.empty() : tensor<256xf32>
  %2241 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2239 : tensor<256xf32>) outs(%2240 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2242 = tensor.empty() : tensor<256xf32>
  %2243 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer1.norm2.scale : tensor<256xf32>) outs(%2242 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2244 = tensor.empty() : tensor<256xf32>
  %2245 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2241, %2243 : tensor<256xf32>, tensor<256xf32>) outs(%2244 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2246 = tensor.empty() : tensor<256x256xf32>
  %2247 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1882 : tensor<256x256xf32>) outs(%2246 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2248 = tensor.empty() : tensor<256x256xf32>
  %2249 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2247 : tensor<256x256xf32>) outs(%2248 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2250 = tensor.empty() : tensor<256x256xf32>
  %2251 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer1.out : tensor<256x256xf32>) outs(%2250 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2252 = tensor.empty() : tensor<256x256xf32>
  %2253 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2249, %2251 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2252 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2254 = tensor.empty() : tensor<256x768xf32>
  %2255 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1883 : tensor<256x768xf32>) outs(%2254 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2256 = tensor.empty() : tensor<256x768xf32>
  %2257 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2255 : tensor<256x768xf32>) outs(%2256 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2258 = tensor.empty() : tensor<256x768xf32>
  %2259 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer1.qkv : tensor<256x768xf32>) outs(%2258 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2260 = tensor.empty() : tensor<256x768xf32>
  %2261 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2257, %2259 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2260 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2262 = tensor.empty() : tensor<256x1024xf32>
  %2263 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1884 : tensor<256x1024xf32>) outs(%2262 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2264 = tensor.empty() : tensor<256x1024xf32>
  %2265 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2263 : tensor<256x1024xf32>) outs(%2264 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2266 = tensor.empty() : tensor<256x1024xf32>
  %2267 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer1.up : tensor<256x1024xf32>) outs(%2266 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2268 = tensor.empty() : tensor<256x1024xf32>
  %2269 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2265, %2267 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2268 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2270 = tensor.empty() : tensor<1024x256xf32>
  %2271 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1885 : tensor<1024x256xf32>) outs(%2270 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2272 = tensor.empty() : tensor<1024x256xf32>
  %2273 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2271 : tensor<1024x256xf32>) outs(%2272 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2274 = tensor.empty() : tensor<1024x256xf32>
  %2275 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer2.down : tensor<1024x256xf32>) outs(%2274 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2276 = tensor.empty() : tensor<1024x256xf32>
  %2277 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2273, %2275 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2276 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2278 = tensor.empty() : tensor<256xf32>
  %2279 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1886 : tensor<256xf32>) outs(%2278 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2280 = tensor.empty() : tensor<256xf32>
  %2281 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2279 : tensor<256xf32>) outs(%2280 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2282 = tensor.empty() : tensor<256xf32>
  %2283 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer2.norm1.bias : tensor<256xf32>) outs(%2282 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2284 = tensor.empty() : tensor<256xf32>
  %2285 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2281, %2283 : tensor<256xf32>, tensor<256xf32>) outs(%2284 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2286 = tensor.empty() : tensor<256xf32>
  %2287 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1887 : tensor<256xf32>) outs(%2286 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2288 = tensor.empty() : tensor<256xf32>
  %2289 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2287 : tensor<256xf32>) outs(%2288 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2290 = tensor.empty() : tensor<256xf32>
  %2291 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer2.norm1.scale : tensor<256xf32>) outs(%2290 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2292 = tensor.empty() : tensor<256xf32>
  %2293 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2289, %2291 : tensor<256xf32>, tensor<256xf32>) outs(%2292 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2294 = tensor.empty() : tensor<256xf32>
  %2295 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1888 : tensor<256xf32>) outs(%2294 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2296 = tensor.empty() : tensor<256xf32>
  %2297 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2295 : tensor<256xf32>) outs(%2296 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2298 = tensor.empty() : tensor<256xf32>
  %2299 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer2.norm2.bias : tensor<256xf32>) outs(%2298 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2300 = tensor.empty() : tensor<256xf32>
  %2301 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2297, %2299 : tensor<256xf32>, tensor<256xf32>) outs(%2300 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2302 = tensor.empty() : tensor<256xf32>
  %2303 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1889 : tensor<256xf32>) outs(%2302 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2304 = tensor.empty() : tensor<256xf32>
  %2305 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2303 : tensor<256xf32>) outs(%2304 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2306 = tensor.empty() : tensor<256xf32>
  %2307 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer2.norm2.scale : tensor<256xf32>) outs(%2306 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2308 = tensor.empty() : tensor<256xf32>
  %2309 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2305, %2307 : tensor<256xf32>, tensor<256xf32>) outs(%2308 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2310 = tensor.empty() : tensor<256x256xf32>
  %2311 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1890 : tensor<256x256xf32>) outs(%2310 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2312 = tensor.empty() : tensor<256x256xf32>
  %2313 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2311 : tensor<256x256xf32>) outs(%2312 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2314 = tensor.empty() : tensor<256x256xf32>
  %2315 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer2.out : tensor<256x256xf32>) outs(%2314 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2316 = tensor.empty() : tensor<256x256xf32>
  %2317 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2313, %2315 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2316 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2318 = tensor.empty() : tensor<256x768xf32>
  %2319 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1891 : tensor<256x768xf32>) outs(%2318 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2320 = tensor.empty() : tensor<256x768xf32>
  %2321 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2319 : tensor<256x768xf32>) outs(%2320 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2322 = tensor.empty() : tensor<256x768xf32>
  %2323 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer2.qkv : tensor<256x768xf32>) outs(%2322 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2324 = tensor.empty() : tensor<256x768xf32>
  %2325 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2321, %2323 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2324 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2326 = tensor.empty() : tensor<256x1024xf32>
  %2327 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1892 : tensor<256x1024xf32>) outs(%2326 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2328 = tensor.empty() : tensor<256x1024xf32>
  %2329 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2327 : tensor<256x1024xf32>) outs(%2328 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2330 = tensor.empty() : tensor<256x1024xf32>
  %2331 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer2.up : tensor<256x1024xf32>) outs(%2330 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2332 = tensor.empty() : tensor<256x1024xf32>
  %2333 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2329, %2331 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2332 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2334 = tensor.empty() : tensor<1024x256xf32>
  %2335 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1893 : tensor<1024x256xf32>) outs(%2334 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2336 = tensor.empty() : tensor<1024x256xf32>
  %2337 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2335 : tensor<1024x256xf32>) outs(%2336 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2338 = tensor.empty() : tensor<1024x256xf32>
  %2339 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer3.down : tensor<1024x256xf32>) outs(%2338 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2340 = tensor.empty() : tensor<1024x256xf32>
  %2341 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2337, %2339 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2340 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2342 = tensor.empty() : tensor<256xf32>
  %2343 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1894 : tensor<256xf32>) outs(%2342 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2344 = tensor.empty() : tensor<256xf32>
  %2345 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2343 : tensor<256xf32>) outs(%2344 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2346 = tensor.empty() : tensor<256xf32>
  %2347 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer3.norm1.bias : tensor<256xf32>) outs(%2346 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2348 = tensor.empty() : tensor<256xf32>
  %2349 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2345, %2347 : tensor<256xf32>, tensor<256xf32>) outs(%2348 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2350 = tensor.empty() : tensor<256xf32>
  %2351 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1895 : tensor<256xf32>) outs(%2350 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2352 = tensor.empty() : tensor<256xf32>
  %2353 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2351 : tensor<256xf32>) outs(%2352 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2354 = tensor.empty() : tensor<256xf32>
  %2355 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer3.norm1.scale : tensor<256xf32>) outs(%2354 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2356 = tensor.empty() : tensor<256xf32>
  %2357 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2353, %2355 : tensor<256xf32>, tensor<256xf32>) outs(%2356 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2358 = tensor.empty() : tensor<256xf32>
  %2359 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1896 : tensor<256xf32>) outs(%2358 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2360 = tensor.empty() : tensor<256xf32>
  %2361 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2359 : tensor<256xf32>) outs(%2360 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2362 = tensor.empty() : tensor<256xf32>
  %2363 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer3.norm2.bias : tensor<256xf32>) outs(%2362 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2364 = tensor.empty() : tensor<256xf32>
  %2365 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2361, %2363 : tensor<256xf32>, tensor<256xf32>) outs(%2364 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2366 = tensor.empty() : tensor<256xf32>
  %2367 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%1897 : tensor<256xf32>) outs(%2366 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2368 = tensor.empty() : tensor<256xf32>
  %2369 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2367 : tensor<256xf32>) outs(%2368 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2370 = tensor.empty() : tensor<256xf32>
  %2371 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer3.norm2.scale : tensor<256xf32>) outs(%2370 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2372 = tensor.empty() : tensor<256xf32>
  %2373 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2369, %2371 : tensor<256xf32>, tensor<256xf32>) outs(%2372 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2374 = tensor.empty() : tensor<256x256xf32>
  %2375 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1898 : tensor<256x256xf32>) outs(%2374 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2376 = tensor.empty() : tensor<256x256xf32>
  %2377 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2375 : tensor<256x256xf32>) outs(%2376 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2378 = tensor.empty() : tensor<256x256xf32>
  %2379 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer3.out : tensor<256x256xf32>) outs(%2378 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2380 = tensor.empty() : tensor<256x256xf32>
  %2381 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2377, %2379 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2380 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2382 = tensor.empty() : tensor<256x768xf32>
  %2383 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1899 : tensor<256x768xf32>) outs(%2382 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2384 = tensor.empty() : tensor<256x768xf32>
  %2385 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2383 : tensor<256x768xf32>) outs(%2384 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2386 = tensor.empty() : tensor<256x768xf32>
  %2387 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer3.qkv : tensor<256x768xf32>) outs(%2386 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2388 = tensor.empty() : tensor<256x768xf32>
  %2389 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2385, %2387 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2388 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2390 = tensor.empty() : tensor<256x1024xf32>
  %2391 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1900 : tensor<256x1024xf32>) outs(%2390 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2392 = tensor.empty() : tensor<256x1024xf32>
  %2393 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2391 : tensor<256x1024xf32>) outs(%2392 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2394 = tensor.empty() : tensor<256x1024xf32>
  %2395 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer3.up : tensor<256x1024xf32>) outs(%2394 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2396 = tensor.empty() : tensor<256x1024xf32>
  %2397 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2393, %2395 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2396 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2398 = tensor.empty() : tensor<64x256xf32>
  %2399 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1901 : tensor<64x256xf32>) outs(%2398 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2400 = tensor.empty() : tensor<64x256xf32>
  %2401 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2399 : tensor<64x256xf32>) outs(%2400 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2402 = tensor.empty() : tensor<64x256xf32>
  %2403 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.places : tensor<64x256xf32>) outs(%2402 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2404 = tensor.empty() : tensor<64x256xf32>
  %2405 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2401, %2403 : tensor<64x256xf32>, tensor<64x256xf32>) outs(%2404 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2406 = tensor.empty() : tensor<i1>
  %2407 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%opt.0.count : tensor<i32>) outs(%2406 : tensor<i1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 2147483647 : i32
    %b1 = arith.cmpi slt, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<i1> loc(#loc23)
  %2408 = tensor.empty() : tensor<i32>
  %2409 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%opt.0.count : tensor<i32>) outs(%2408 : tensor<i32>) {
  ^bb0(%in_0: i32, %out_0: i32):
    %b0 = arith.constant 1 : i32
    %b1 = arith.addi %in_0, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<i32> loc(#loc23)
  %2410 = tensor.empty() : tensor<i32>
  %2411 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = []} ins(%2407, %2409 : tensor<i1>, tensor<i32>) outs(%2410 : tensor<i32>) {
  ^bb0(%in_0: i1, %in_1: i32, %out_0: i32):
    %b0 = arith.constant 2147483647 : i32
    %b1 = arith.select %in_0, %in_1, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<i32> loc(#loc23)
  %2412 = tensor.empty() : tensor<f32>
  %2413 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%2411 : tensor<i32>) outs(%2412 : tensor<f32>) {
  ^bb0(%in_0: i32, %out_0: f32):
    %b0 = arith.sitofp %in_0 : i32 to f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc23)
  %2414 = tensor.empty() : tensor<f32>
  %2415 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%2413 : tensor<f32>) outs(%2414 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = math.powf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc23)
  %2416 = tensor.empty() : tensor<f32>
  %2417 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%2415 : tensor<f32>) outs(%2416 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.subf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc23)
  %2418 = tensor.empty() : tensor<256x256xf32>
  %2419 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%1907, %2417 : tensor<256x256xf32>, tensor<f32>) outs(%2418 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2420 = tensor.empty() : tensor<256xf32>
  %2421 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%1913, %2417 : tensor<256xf32>, tensor<f32>) outs(%2420 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2422 = tensor.empty() : tensor<256xf32>
  %2423 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%1919, %2417 : tensor<256xf32>, tensor<f32>) outs(%2422 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2424 = tensor.empty() : tensor<1024x256xf32>
  %2425 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%1925, %2417 : tensor<1024x256xf32>, tensor<f32>) outs(%2424 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2426 = tensor.empty() : tensor<256xf32>
  %2427 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%1931, %2417 : tensor<256xf32>, tensor<f32>) outs(%2426 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2428 = tensor.empty() : tensor<256xf32>
  %2429 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%1937, %2417 : tensor<256xf32>, tensor<f32>) outs(%2428 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2430 = tensor.empty() : tensor<256xf32>
  %2431 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%1943, %2417 : tensor<256xf32>, tensor<f32>) outs(%2430 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2432 = tensor.empty() : tensor<256xf32>
  %2433 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%1949, %2417 : tensor<256xf32>, tensor<f32>) outs(%2432 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2434 = tensor.empty() : tensor<256x256xf32>
  %2435 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%1955, %2417 : tensor<256x256xf32>, tensor<f32>) outs(%2434 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2436 = tensor.empty() : tensor<256x768xf32>
  %2437 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%1961, %2417 : tensor<256x768xf32>, tensor<f32>) outs(%2436 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2438 = tensor.empty() : tensor<256x1024xf32>
  %2439 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%1967, %2417 : tensor<256x1024xf32>, tensor<f32>) outs(%2438 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2440 = tensor.empty() : tensor<1024x256xf32>
  %2441 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%1973, %2417 : tensor<1024x256xf32>, tensor<f32>) outs(%2440 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2442 = tensor.empty() : tensor<256xf32>
  %2443 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%1979, %2417 : tensor<256xf32>, tensor<f32>) outs(%2442 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2444 = tensor.empty() : tensor<256xf32>
  %2445 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%1985, %2417 : tensor<256xf32>, tensor<f32>) outs(%2444 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2446 = tensor.empty() : tensor<256xf32>
  %2447 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%1991, %2417 : tensor<256xf32>, tensor<f32>) outs(%2446 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2448 = tensor.empty() : tensor<256xf32>
  %2449 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%1997, %2417 : tensor<256xf32>, tensor<f32>) outs(%2448 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2450 = tensor.empty() : tensor<256x256xf32>
  %2451 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2003, %2417 : tensor<256x256xf32>, tensor<f32>) outs(%2450 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2452 = tensor.empty() : tensor<256x768xf32>
  %2453 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2009, %2417 : tensor<256x768xf32>, tensor<f32>) outs(%2452 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2454 = tensor.empty() : tensor<256x1024xf32>
  %2455 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2015, %2417 : tensor<256x1024xf32>, tensor<f32>) outs(%2454 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2456 = tensor.empty() : tensor<1024x256xf32>
  %2457 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2021, %2417 : tensor<1024x256xf32>, tensor<f32>) outs(%2456 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2458 = tensor.empty() : tensor<256xf32>
  %2459 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2027, %2417 : tensor<256xf32>, tensor<f32>) outs(%2458 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2460 = tensor.empty() : tensor<256xf32>
  %2461 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2033, %2417 : tensor<256xf32>, tensor<f32>) outs(%2460 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2462 = tensor.empty() : tensor<256xf32>
  %2463 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2039, %2417 : tensor<256xf32>, tensor<f32>) outs(%2462 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2464 = tensor.empty() : tensor<256xf32>
  %2465 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2045, %2417 : tensor<256xf32>, tensor<f32>) outs(%2464 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2466 = tensor.empty() : tensor<256x256xf32>
  %2467 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2051, %2417 : tensor<256x256xf32>, tensor<f32>) outs(%2466 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2468 = tensor.empty() : tensor<256x768xf32>
  %2469 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2057, %2417 : tensor<256x768xf32>, tensor<f32>) outs(%2468 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2470 = tensor.empty() : tensor<256x1024xf32>
  %2471 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2063, %2417 : tensor<256x1024xf32>, tensor<f32>) outs(%2470 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2472 = tensor.empty() : tensor<1024x256xf32>
  %2473 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2069, %2417 : tensor<1024x256xf32>, tensor<f32>) outs(%2472 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2474 = tensor.empty() : tensor<256xf32>
  %2475 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2075, %2417 : tensor<256xf32>, tensor<f32>) outs(%2474 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2476 = tensor.empty() : tensor<256xf32>
  %2477 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2081, %2417 : tensor<256xf32>, tensor<f32>) outs(%2476 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2478 = tensor.empty() : tensor<256xf32>
  %2479 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2087, %2417 : tensor<256xf32>, tensor<f32>) outs(%2478 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2480 = tensor.empty() : tensor<256xf32>
  %2481 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2093, %2417 : tensor<256xf32>, tensor<f32>) outs(%2480 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2482 = tensor.empty() : tensor<256x256xf32>
  %2483 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2099, %2417 : tensor<256x256xf32>, tensor<f32>) outs(%2482 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2484 = tensor.empty() : tensor<256x768xf32>
  %2485 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2105, %2417 : tensor<256x768xf32>, tensor<f32>) outs(%2484 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2486 = tensor.empty() : tensor<256x1024xf32>
  %2487 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2111, %2417 : tensor<256x1024xf32>, tensor<f32>) outs(%2486 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2488 = tensor.empty() : tensor<64x256xf32>
  %2489 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2117, %2417 : tensor<64x256xf32>, tensor<f32>) outs(%2488 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2490 = tensor.empty() : tensor<f32>
  %2491 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%2411 : tensor<i32>) outs(%2490 : tensor<f32>) {
  ^bb0(%in_0: i32, %out_0: f32):
    %b0 = arith.sitofp %in_0 : i32 to f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc23)
  %2492 = tensor.empty() : tensor<f32>
  %2493 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%2491 : tensor<f32>) outs(%2492 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = math.powf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc23)
  %2494 = tensor.empty() : tensor<f32>
  %2495 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%2493 : tensor<f32>) outs(%2494 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.subf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc23)
  %2496 = tensor.empty() : tensor<256x256xf32>
  %2497 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2125, %2495 : tensor<256x256xf32>, tensor<f32>) outs(%2496 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2498 = tensor.empty() : tensor<256xf32>
  %2499 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2133, %2495 : tensor<256xf32>, tensor<f32>) outs(%2498 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2500 = tensor.empty() : tensor<256xf32>
  %2501 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2141, %2495 : tensor<256xf32>, tensor<f32>) outs(%2500 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2502 = tensor.empty() : tensor<1024x256xf32>
  %2503 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2149, %2495 : tensor<1024x256xf32>, tensor<f32>) outs(%2502 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2504 = tensor.empty() : tensor<256xf32>
  %2505 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2157, %2495 : tensor<256xf32>, tensor<f32>) outs(%2504 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2506 = tensor.empty() : tensor<256xf32>
  %2507 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2165, %2495 : tensor<256xf32>, tensor<f32>) outs(%2506 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2508 = tensor.empty() : tensor<256xf32>
  %2509 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2173, %2495 : tensor<256xf32>, tensor<f32>) outs(%2508 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2510 = tensor.empty() : tensor<256xf32>
  %2511 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2181, %2495 : tensor<256xf32>, tensor<f32>) outs(%2510 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2512 = tensor.empty() : tensor<256x256xf32>
  %2513 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2189, %2495 : tensor<256x256xf32>, tensor<f32>) outs(%2512 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2514 = tensor.empty() : tensor<256x768xf32>
  %2515 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2197, %2495 : tensor<256x768xf32>, tensor<f32>) outs(%2514 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2516 = tensor.empty() : tensor<256x1024xf32>
  %2517 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2205, %2495 : tensor<256x1024xf32>, tensor<f32>) outs(%2516 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2518 = tensor.empty() : tensor<1024x256xf32>
  %2519 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2213, %2495 : tensor<1024x256xf32>, tensor<f32>) outs(%2518 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2520 = tensor.empty() : tensor<256xf32>
  %2521 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2221, %2495 : tensor<256xf32>, tensor<f32>) outs(%2520 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2522 = tensor.empty() : tensor<256xf32>
  %2523 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2229, %2495 : tensor<256xf32>, tensor<f32>) outs(%2522 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2524 = tensor.empty() : tensor<256xf32>
  %2525 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2237, %2495 : tensor<256xf32>, tensor<f32>) outs(%2524 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2526 = tensor.empty() : tensor<256xf32>
  %2527 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2245, %2495 : tensor<256xf32>, tensor<f32>) outs(%2526 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2528 = tensor.empty() : tensor<256x256xf32>
  %2529 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2253, %2495 : tensor<256x256xf32>, tensor<f32>) outs(%2528 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2530 = tensor.empty() : tensor<256x768xf32>
  %2531 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2261, %2495 : tensor<256x768xf32>, tensor<f32>) outs(%2530 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2532 = tensor.empty() : tensor<256x1024xf32>
  %2533 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2269, %2495 : tensor<256x1024xf32>, tensor<f32>) outs(%2532 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2534 = tensor.empty() : tensor<1024x256xf32>
  %2535 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2277, %2495 : tensor<1024x256xf32>, tensor<f32>) outs(%2534 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2536 = tensor.empty() : tensor<256xf32>
  %2537 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2285, %2495 : tensor<256xf32>, tensor<f32>) outs(%2536 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2538 = tensor.empty() : tensor<256xf32>
  %2539 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2293, %2495 : tensor<256xf32>, tensor<f32>) outs(%2538 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2540 = tensor.empty() : tensor<256xf32>
  %2541 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2301, %2495 : tensor<256xf32>, tensor<f32>) outs(%2540 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2542 = tensor.empty() : tensor<256xf32>
  %2543 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2309, %2495 : tensor<256xf32>, tensor<f32>) outs(%2542 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2544 = tensor.empty() : tensor<256x256xf32>
  %2545 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2317, %2495 : tensor<256x256xf32>, tensor<f32>) outs(%2544 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2546 = tensor.empty() : tensor<256x768xf32>
  %2547 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2325, %2495 : tensor<256x768xf32>, tensor<f32>) outs(%2546 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2548 = tensor.empty() : tensor<256x1024xf32>
  %2549 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2333, %2495 : tensor<256x1024xf32>, tensor<f32>) outs(%2548 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2550 = tensor.empty() : tensor<1024x256xf32>
  %2551 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2341, %2495 : tensor<1024x256xf32>, tensor<f32>) outs(%2550 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2552 = tensor.empty() : tensor<256xf32>
  %2553 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2349, %2495 : tensor<256xf32>, tensor<f32>) outs(%2552 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2554 = tensor.empty() : tensor<256xf32>
  %2555 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2357, %2495 : tensor<256xf32>, tensor<f32>) outs(%2554 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2556 = tensor.empty() : tensor<256xf32>
  %2557 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2365, %2495 : tensor<256xf32>, tensor<f32>) outs(%2556 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2558 = tensor.empty() : tensor<256xf32>
  %2559 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%2373, %2495 : tensor<256xf32>, tensor<f32>) outs(%2558 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2560 = tensor.empty() : tensor<256x256xf32>
  %2561 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2381, %2495 : tensor<256x256xf32>, tensor<f32>) outs(%2560 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2562 = tensor.empty() : tensor<256x768xf32>
  %2563 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2389, %2495 : tensor<256x768xf32>, tensor<f32>) outs(%2562 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2564 = tensor.empty() : tensor<256x1024xf32>
  %2565 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2397, %2495 : tensor<256x1024xf32>, tensor<f32>) outs(%2564 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2566 = tensor.empty() : tensor<64x256xf32>
  %2567 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%2405, %2495 : tensor<64x256xf32>, tensor<f32>) outs(%2566 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2568 = tensor.empty() : tensor<256x256xf32>
  %2569 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2497 : tensor<256x256xf32>) outs(%2568 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2570 = tensor.empty() : tensor<256x256xf32>
  %2571 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2569 : tensor<256x256xf32>) outs(%2570 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2572 = tensor.empty() : tensor<256x256xf32>
  %2573 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2571 : tensor<256x256xf32>) outs(%2572 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2574 = tensor.empty() : tensor<256x256xf32>
  %2575 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2419, %2573 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2574 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2576 = tensor.empty() : tensor<256xf32>
  %2577 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2499 : tensor<256xf32>) outs(%2576 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2578 = tensor.empty() : tensor<256xf32>
  %2579 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2577 : tensor<256xf32>) outs(%2578 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2580 = tensor.empty() : tensor<256xf32>
  %2581 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2579 : tensor<256xf32>) outs(%2580 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2582 = tensor.empty() : tensor<256xf32>
  %2583 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2421, %2581 : tensor<256xf32>, tensor<256xf32>) outs(%2582 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2584 = tensor.empty() : tensor<256xf32>
  %2585 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2501 : tensor<256xf32>) outs(%2584 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2586 = tensor.empty() : tensor<256xf32>
  %2587 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2585 : tensor<256xf32>) outs(%2586 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2588 = tensor.empty() : tensor<256xf32>
  %2589 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2587 : tensor<256xf32>) outs(%2588 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2590 = tensor.empty() : tensor<256xf32>
  %2591 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2423, %2589 : tensor<256xf32>, tensor<256xf32>) outs(%2590 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2592 = tensor.empty() : tensor<1024x256xf32>
  %2593 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2503 : tensor<1024x256xf32>) outs(%2592 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2594 = tensor.empty() : tensor<1024x256xf32>
  %2595 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2593 : tensor<1024x256xf32>) outs(%2594 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2596 = tensor.empty() : tensor<1024x256xf32>
  %2597 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2595 : tensor<1024x256xf32>) outs(%2596 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2598 = tensor.empty() : tensor<1024x256xf32>
  %2599 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2425, %2597 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2598 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2600 = tensor.empty() : tensor<256xf32>
  %2601 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2505 : tensor<256xf32>) outs(%2600 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2602 = tensor.empty() : tensor<256xf32>
  %2603 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2601 : tensor<256xf32>) outs(%2602 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2604 = tensor.empty() : tensor<256xf32>
  %2605 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2603 : tensor<256xf32>) outs(%2604 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2606 = tensor.empty() : tensor<256xf32>
  %2607 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2427, %2605 : tensor<256xf32>, tensor<256xf32>) outs(%2606 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2608 = tensor.empty() : tensor<256xf32>
  %2609 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2507 : tensor<256xf32>) outs(%2608 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2610 = tensor.empty() : tensor<256xf32>
  %2611 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2609 : tensor<256xf32>) outs(%2610 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2612 = tensor.empty() : tensor<256xf32>
  %2613 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2611 : tensor<256xf32>) outs(%2612 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2614 = tensor.empty() : tensor<256xf32>
  %2615 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2429, %2613 : tensor<256xf32>, tensor<256xf32>) outs(%2614 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2616 = tensor.empty() : tensor<256xf32>
  %2617 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2509 : tensor<256xf32>) outs(%2616 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2618 = tensor.empty() : tensor<256xf32>
  %2619 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2617 : tensor<256xf32>) outs(%2618 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2620 = tensor.empty() : tensor<256xf32>
  %2621 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2619 : tensor<256xf32>) outs(%2620 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2622 = tensor.empty() : tensor<256xf32>
  %2623 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2431, %2621 : tensor<256xf32>, tensor<256xf32>) outs(%2622 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2624 = tensor.empty() : tensor<256xf32>
  %2625 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2511 : tensor<256xf32>) outs(%2624 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2626 = tensor.empty() : tensor<256xf32>
  %2627 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2625 : tensor<256xf32>) outs(%2626 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2628 = tensor.empty() : tensor<256xf32>
  %2629 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2627 : tensor<256xf32>) outs(%2628 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2630 = tensor.empty() : tensor<256xf32>
  %2631 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2433, %2629 : tensor<256xf32>, tensor<256xf32>) outs(%2630 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2632 = tensor.empty() : tensor<256x256xf32>
  %2633 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2513 : tensor<256x256xf32>) outs(%2632 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2634 = tensor.empty() : tensor<256x256xf32>
  %2635 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2633 : tensor<256x256xf32>) outs(%2634 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2636 = tensor.empty() : tensor<256x256xf32>
  %2637 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2635 : tensor<256x256xf32>) outs(%2636 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2638 = tensor.empty() : tensor<256x256xf32>
  %2639 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2435, %2637 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2638 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2640 = tensor.empty() : tensor<256x768xf32>
  %2641 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2515 : tensor<256x768xf32>) outs(%2640 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2642 = tensor.empty() : tensor<256x768xf32>
  %2643 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2641 : tensor<256x768xf32>) outs(%2642 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2644 = tensor.empty() : tensor<256x768xf32>
  %2645 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2643 : tensor<256x768xf32>) outs(%2644 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2646 = tensor.empty() : tensor<256x768xf32>
  %2647 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2437, %2645 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2646 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2648 = tensor.empty() : tensor<256x1024xf32>
  %2649 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2517 : tensor<256x1024xf32>) outs(%2648 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2650 = tensor.empty() : tensor<256x1024xf32>
  %2651 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2649 : tensor<256x1024xf32>) outs(%2650 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2652 = tensor.empty() : tensor<256x1024xf32>
  %2653 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2651 : tensor<256x1024xf32>) outs(%2652 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2654 = tensor.empty() : tensor<256x1024xf32>
  %2655 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2439, %2653 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2654 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2656 = tensor.empty() : tensor<1024x256xf32>
  %2657 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2519 : tensor<1024x256xf32>) outs(%2656 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2658 = tensor.empty() : tensor<1024x256xf32>
  %2659 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2657 : tensor<1024x256xf32>) outs(%2658 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2660 = tensor.empty() : tensor<1024x256xf32>
  %2661 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2659 : tensor<1024x256xf32>) outs(%2660 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2662 = tensor.empty() : tensor<1024x256xf32>
  %2663 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2441, %2661 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2662 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2664 = tensor.empty() : tensor<256xf32>
  %2665 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2521 : tensor<256xf32>) outs(%2664 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2666 = tensor.empty() : tensor<256xf32>
  %2667 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2665 : tensor<256xf32>) outs(%2666 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2668 = tensor.empty() : tensor<256xf32>
  %2669 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2667 : tensor<256xf32>) outs(%2668 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2670 = tensor.empty() : tensor<256xf32>
  %2671 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2443, %2669 : tensor<256xf32>, tensor<256xf32>) outs(%2670 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2672 = tensor.empty() : tensor<256xf32>
  %2673 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2523 : tensor<256xf32>) outs(%2672 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2674 = tensor.empty() : tensor<256xf32>
  %2675 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2673 : tensor<256xf32>) outs(%2674 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2676 = tensor.empty() : tensor<256xf32>
  %2677 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2675 : tensor<256xf32>) outs(%2676 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2678 = tensor.empty() : tensor<256xf32>
  %2679 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2445, %2677 : tensor<256xf32>, tensor<256xf32>) outs(%2678 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2680 = tensor.empty() : tensor<256xf32>
  %2681 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2525 : tensor<256xf32>) outs(%2680 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2682 = tensor.empty() : tensor<256xf32>
  %2683 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2681 : tensor<256xf32>) outs(%2682 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2684 = tensor.empty() : tensor<256xf32>
  %2685 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2683 : tensor<256xf32>) outs(%2684 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2686 = tensor.empty() : tensor<256xf32>
  %2687 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2447, %2685 : tensor<256xf32>, tensor<256xf32>) outs(%2686 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2688 = tensor.empty() : tensor<256xf32>
  %2689 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2527 : tensor<256xf32>) outs(%2688 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2690 = tensor.empty() : tensor<256xf32>
  %2691 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2689 : tensor<256xf32>) outs(%2690 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2692 = tensor.empty() : tensor<256xf32>
  %2693 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2691 : tensor<256xf32>) outs(%2692 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2694 = tensor.empty() : tensor<256xf32>
  %2695 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2449, %2693 : tensor<256xf32>, tensor<256xf32>) outs(%2694 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2696 = tensor.empty() : tensor<256x256xf32>
  %2697 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2529 : tensor<256x256xf32>) outs(%2696 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2698 = tensor.empty() : tensor<256x256xf32>
  %2699 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2697 : tensor<256x256xf32>) outs(%2698 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2700 = tensor.empty() : tensor<256x256xf32>
  %2701 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2699 : tensor<256x256xf32>) outs(%2700 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2702 = tensor.empty() : tensor<256x256xf32>
  %2703 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2451, %2701 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2702 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2704 = tensor.empty() : tensor<256x768xf32>
  %2705 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2531 : tensor<256x768xf32>) outs(%2704 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2706 = tensor.empty() : tensor<256x768xf32>
  %2707 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2705 : tensor<256x768xf32>) outs(%2706 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2708 = tensor.empty() : tensor<256x768xf32>
  %2709 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2707 : tensor<256x768xf32>) outs(%2708 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2710 = tensor.empty() : tensor<256x768xf32>
  %2711 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2453, %2709 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2710 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2712 = tensor.empty() : tensor<256x1024xf32>
  %2713 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2533 : tensor<256x1024xf32>) outs(%2712 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2714 = tensor.empty() : tensor<256x1024xf32>
  %2715 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2713 : tensor<256x1024xf32>) outs(%2714 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2716 = tensor.empty() : tensor<256x1024xf32>
  %2717 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2715 : tensor<256x1024xf32>) outs(%2716 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2718 = tensor.empty() : tensor<256x1024xf32>
  %2719 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2455, %2717 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2718 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2720 = tensor.empty() : tensor<1024x256xf32>
  %2721 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2535 : tensor<1024x256xf32>) outs(%2720 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2722 = tensor.empty() : tensor<1024x256xf32>
  %2723 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2721 : tensor<1024x256xf32>) outs(%2722 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2724 = tensor.empty() : tensor<1024x256xf32>
  %2725 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2723 : tensor<1024x256xf32>) outs(%2724 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2726 = tensor.empty() : tensor<1024x256xf32>
  %2727 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2457, %2725 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2726 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2728 = tensor.empty() : tensor<256xf32>
  %2729 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2537 : tensor<256xf32>) outs(%2728 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2730 = tensor.empty() : tensor<256xf32>
  %2731 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2729 : tensor<256xf32>) outs(%2730 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2732 = tensor.empty() : tensor<256xf32>
  %2733 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2731 : tensor<256xf32>) outs(%2732 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2734 = tensor.empty() : tensor<256xf32>
  %2735 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2459, %2733 : tensor<256xf32>, tensor<256xf32>) outs(%2734 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2736 = tensor.empty() : tensor<256xf32>
  %2737 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2539 : tensor<256xf32>) outs(%2736 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2738 = tensor.empty() : tensor<256xf32>
  %2739 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2737 : tensor<256xf32>) outs(%2738 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2740 = tensor.empty() : tensor<256xf32>
  %2741 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2739 : tensor<256xf32>) outs(%2740 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2742 = tensor.empty() : tensor<256xf32>
  %2743 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2461, %2741 : tensor<256xf32>, tensor<256xf32>) outs(%2742 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2744 = tensor.empty() : tensor<256xf32>
  %2745 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2541 : tensor<256xf32>) outs(%2744 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2746 = tensor.empty() : tensor<256xf32>
  %2747 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2745 : tensor<256xf32>) outs(%2746 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2748 = tensor.empty() : tensor<256xf32>
  %2749 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2747 : tensor<256xf32>) outs(%2748 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2750 = tensor.empty() : tensor<256xf32>
  %2751 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2463, %2749 : tensor<256xf32>, tensor<256xf32>) outs(%2750 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2752 = tensor.empty() : tensor<256xf32>
  %2753 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2543 : tensor<256xf32>) outs(%2752 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2754 = tensor.empty() : tensor<256xf32>
  %2755 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2753 : tensor<256xf32>) outs(%2754 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2756 = tensor.empty() : tensor<256xf32>
  %2757 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2755 : tensor<256xf32>) outs(%2756 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2758 = tensor.empty() : tensor<256xf32>
  %2759 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2465, %2757 : tensor<256xf32>, tensor<256xf32>) outs(%2758 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2760 = tensor.empty() : tensor<256x256xf32>
  %2761 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2545 : tensor<256x256xf32>) outs(%2760 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2762 = tensor.empty() : tensor<256x256xf32>
  %2763 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2761 : tensor<256x256xf32>) outs(%2762 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2764 = tensor.empty() : tensor<256x256xf32>
  %2765 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2763 : tensor<256x256xf32>) outs(%2764 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2766 = tensor.empty() : tensor<256x256xf32>
  %2767 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2467, %2765 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2766 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2768 = tensor.empty() : tensor<256x768xf32>
  %2769 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2547 : tensor<256x768xf32>) outs(%2768 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2770 = tensor.empty() : tensor<256x768xf32>
  %2771 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2769 : tensor<256x768xf32>) outs(%2770 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2772 = tensor.empty() : tensor<256x768xf32>
  %2773 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2771 : tensor<256x768xf32>) outs(%2772 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2774 = tensor.empty() : tensor<256x768xf32>
  %2775 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2469, %2773 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2774 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2776 = tensor.empty() : tensor<256x1024xf32>
  %2777 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2549 : tensor<256x1024xf32>) outs(%2776 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2778 = tensor.empty() : tensor<256x1024xf32>
  %2779 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2777 : tensor<256x1024xf32>) outs(%2778 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2780 = tensor.empty() : tensor<256x1024xf32>
  %2781 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2779 : tensor<256x1024xf32>) outs(%2780 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2782 = tensor.empty() : tensor<256x1024xf32>
  %2783 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2471, %2781 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2782 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2784 = tensor.empty() : tensor<1024x256xf32>
  %2785 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2551 : tensor<1024x256xf32>) outs(%2784 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2786 = tensor.empty() : tensor<1024x256xf32>
  %2787 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2785 : tensor<1024x256xf32>) outs(%2786 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2788 = tensor.empty() : tensor<1024x256xf32>
  %2789 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2787 : tensor<1024x256xf32>) outs(%2788 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2790 = tensor.empty() : tensor<1024x256xf32>
  %2791 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2473, %2789 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2790 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2792 = tensor.empty() : tensor<256xf32>
  %2793 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2553 : tensor<256xf32>) outs(%2792 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2794 = tensor.empty() : tensor<256xf32>
  %2795 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2793 : tensor<256xf32>) outs(%2794 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2796 = tensor.empty() : tensor<256xf32>
  %2797 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2795 : tensor<256xf32>) outs(%2796 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2798 = tensor.empty() : tensor<256xf32>
  %2799 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2475, %2797 : tensor<256xf32>, tensor<256xf32>) outs(%2798 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2800 = tensor.empty() : tensor<256xf32>
  %2801 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2555 : tensor<256xf32>) outs(%2800 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2802 = tensor.empty() : tensor<256xf32>
  %2803 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2801 : tensor<256xf32>) outs(%2802 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2804 = tensor.empty() : tensor<256xf32>
  %2805 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2803 : tensor<256xf32>) outs(%2804 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2806 = tensor.empty() : tensor<256xf32>
  %2807 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2477, %2805 : tensor<256xf32>, tensor<256xf32>) outs(%2806 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2808 = tensor.empty() : tensor<256xf32>
  %2809 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2557 : tensor<256xf32>) outs(%2808 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2810 = tensor.empty() : tensor<256xf32>
  %2811 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2809 : tensor<256xf32>) outs(%2810 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2812 = tensor.empty() : tensor<256xf32>
  %2813 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2811 : tensor<256xf32>) outs(%2812 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2814 = tensor.empty() : tensor<256xf32>
  %2815 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2479, %2813 : tensor<256xf32>, tensor<256xf32>) outs(%2814 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2816 = tensor.empty() : tensor<256xf32>
  %2817 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2559 : tensor<256xf32>) outs(%2816 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2818 = tensor.empty() : tensor<256xf32>
  %2819 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2817 : tensor<256xf32>) outs(%2818 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2820 = tensor.empty() : tensor<256xf32>
  %2821 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2819 : tensor<256xf32>) outs(%2820 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2822 = tensor.empty() : tensor<256xf32>
  %2823 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%2481, %2821 : tensor<256xf32>, tensor<256xf32>) outs(%2822 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2824 = tensor.empty() : tensor<256x256xf32>
  %2825 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2561 : tensor<256x256xf32>) outs(%2824 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2826 = tensor.empty() : tensor<256x256xf32>
  %2827 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2825 : tensor<256x256xf32>) outs(%2826 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2828 = tensor.empty() : tensor<256x256xf32>
  %2829 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2827 : tensor<256x256xf32>) outs(%2828 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2830 = tensor.empty() : tensor<256x256xf32>
  %2831 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2483, %2829 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2830 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2832 = tensor.empty() : tensor<256x768xf32>
  %2833 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2563 : tensor<256x768xf32>) outs(%2832 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2834 = tensor.empty() : tensor<256x768xf32>
  %2835 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2833 : tensor<256x768xf32>) outs(%2834 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2836 = tensor.empty() : tensor<256x768xf32>
  %2837 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2835 : tensor<256x768xf32>) outs(%2836 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2838 = tensor.empty() : tensor<256x768xf32>
  %2839 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2485, %2837 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2838 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2840 = tensor.empty() : tensor<256x1024xf32>
  %2841 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2565 : tensor<256x1024xf32>) outs(%2840 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2842 = tensor.empty() : tensor<256x1024xf32>
  %2843 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2841 : tensor<256x1024xf32>) outs(%2842 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2844 = tensor.empty() : tensor<256x1024xf32>
  %2845 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2843 : tensor<256x1024xf32>) outs(%2844 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2846 = tensor.empty() : tensor<256x1024xf32>
  %2847 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2487, %2845 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2846 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2848 = tensor.empty() : tensor<64x256xf32>
  %2849 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2567 : tensor<64x256xf32>) outs(%2848 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2850 = tensor.empty() : tensor<64x256xf32>
  %2851 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2849 : tensor<64x256xf32>) outs(%2850 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2852 = tensor.empty() : tensor<64x256xf32>
  %2853 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2851 : tensor<64x256xf32>) outs(%2852 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2854 = tensor.empty() : tensor<64x256xf32>
  %2855 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2489, %2853 : tensor<64x256xf32>, tensor<64x256xf32>) outs(%2854 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2856 = tensor.empty() : tensor<256x256xf32>
  %2857 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2575 : tensor<256x256xf32>) outs(%2856 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2858 = tensor.empty() : tensor<256xf32>
  %2859 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2583 : tensor<256xf32>) outs(%2858 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2860 = tensor.empty() : tensor<256xf32>
  %2861 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2591 : tensor<256xf32>) outs(%2860 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2862 = tensor.empty() : tensor<1024x256xf32>
  %2863 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2599 : tensor<1024x256xf32>) outs(%2862 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2864 = tensor.empty() : tensor<256xf32>
  %2865 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2607 : tensor<256xf32>) outs(%2864 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2866 = tensor.empty() : tensor<256xf32>
  %2867 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2615 : tensor<256xf32>) outs(%2866 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2868 = tensor.empty() : tensor<256xf32>
  %2869 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2623 : tensor<256xf32>) outs(%2868 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2870 = tensor.empty() : tensor<256xf32>
  %2871 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2631 : tensor<256xf32>) outs(%2870 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2872 = tensor.empty() : tensor<256x256xf32>
  %2873 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2639 : tensor<256x256xf32>) outs(%2872 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2874 = tensor.empty() : tensor<256x768xf32>
  %2875 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2647 : tensor<256x768xf32>) outs(%2874 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2876 = tensor.empty() : tensor<256x1024xf32>
  %2877 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2655 : tensor<256x1024xf32>) outs(%2876 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2878 = tensor.empty() : tensor<1024x256xf32>
  %2879 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2663 : tensor<1024x256xf32>) outs(%2878 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2880 = tensor.empty() : tensor<256xf32>
  %2881 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2671 : tensor<256xf32>) outs(%2880 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2882 = tensor.empty() : tensor<256xf32>
  %2883 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2679 : tensor<256xf32>) outs(%2882 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2884 = tensor.empty() : tensor<256xf32>
  %2885 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2687 : tensor<256xf32>) outs(%2884 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2886 = tensor.empty() : tensor<256xf32>
  %2887 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2695 : tensor<256xf32>) outs(%2886 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2888 = tensor.empty() : tensor<256x256xf32>
  %2889 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2703 : tensor<256x256xf32>) outs(%2888 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2890 = tensor.empty() : tensor<256x768xf32>
  %2891 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2711 : tensor<256x768xf32>) outs(%2890 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2892 = tensor.empty() : tensor<256x1024xf32>
  %2893 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2719 : tensor<256x1024xf32>) outs(%2892 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2894 = tensor.empty() : tensor<1024x256xf32>
  %2895 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2727 : tensor<1024x256xf32>) outs(%2894 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2896 = tensor.empty() : tensor<256xf32>
  %2897 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2735 : tensor<256xf32>) outs(%2896 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2898 = tensor.empty() : tensor<256xf32>
  %2899 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2743 : tensor<256xf32>) outs(%2898 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2900 = tensor.empty() : tensor<256xf32>
  %2901 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2751 : tensor<256xf32>) outs(%2900 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2902 = tensor.empty() : tensor<256xf32>
  %2903 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2759 : tensor<256xf32>) outs(%2902 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2904 = tensor.empty() : tensor<256x256xf32>
  %2905 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2767 : tensor<256x256xf32>) outs(%2904 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2906 = tensor.empty() : tensor<256x768xf32>
  %2907 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2775 : tensor<256x768xf32>) outs(%2906 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2908 = tensor.empty() : tensor<256x1024xf32>
  %2909 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2783 : tensor<256x1024xf32>) outs(%2908 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2910 = tensor.empty() : tensor<1024x256xf32>
  %2911 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2791 : tensor<1024x256xf32>) outs(%2910 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<1024x256xf32> loc(#loc23)
  %2912 = tensor.empty() : tensor<256xf32>
  %2913 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2799 : tensor<256xf32>) outs(%2912 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2914 = tensor.empty() : tensor<256xf32>
  %2915 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2807 : tensor<256xf32>) outs(%2914 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2916 = tensor.empty() : tensor<256xf32>
  %2917 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2815 : tensor<256xf32>) outs(%2916 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2918 = tensor.empty() : tensor<256xf32>
  %2919 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%2823 : tensor<256xf32>) outs(%2918 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256xf32> loc(#loc23)
  %2920 = tensor.empty() : tensor<256x256xf32>
  %2921 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2831 : tensor<256x256xf32>) outs(%2920 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x256xf32> loc(#loc23)
  %2922 = tensor.empty() : tensor<256x768xf32>
  %2923 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2839 : tensor<256x768xf32>) outs(%2922 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x768xf32> loc(#loc23)
  %2924 = tensor.empty() : tensor<256x1024xf32>
  %2925 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2847 : tensor<256x1024xf32>) outs(%2924 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<256x1024xf32> loc(#loc23)
  %2926 = tensor.empty() : tensor<64x256xf32>
  %2927 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2855 : tensor<64x256xf32>) outs(%2926 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<64x256xf32> loc(#loc23)
  %2928 = tensor.empty() : tensor<256x256xf32>
  %2929 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%bytes, %2857 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2928 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc24)
  %2930 = tensor.empty() : tensor<256xf32>
  %2931 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%last.bias, %2859 : tensor<256xf32>, tensor<256xf32>) outs(%2930 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2932 = tensor.empty() : tensor<256xf32>
  %2933 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%last.scale, %2861 : tensor<256xf32>, tensor<256xf32>) outs(%2932 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2934 = tensor.empty() : tensor<1024x256xf32>
  %2935 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer0.down, %2863 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2934 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc24)
  %2936 = tensor.empty() : tensor<256xf32>
  %2937 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer0.norm1.bias, %2865 : tensor<256xf32>, tensor<256xf32>) outs(%2936 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2938 = tensor.empty() : tensor<256xf32>
  %2939 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer0.norm1.scale, %2867 : tensor<256xf32>, tensor<256xf32>) outs(%2938 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2940 = tensor.empty() : tensor<256xf32>
  %2941 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer0.norm2.bias, %2869 : tensor<256xf32>, tensor<256xf32>) outs(%2940 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2942 = tensor.empty() : tensor<256xf32>
  %2943 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer0.norm2.scale, %2871 : tensor<256xf32>, tensor<256xf32>) outs(%2942 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2944 = tensor.empty() : tensor<256x256xf32>
  %2945 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer0.out, %2873 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2944 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc24)
  %2946 = tensor.empty() : tensor<256x768xf32>
  %2947 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer0.qkv, %2875 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2946 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc24)
  %2948 = tensor.empty() : tensor<256x1024xf32>
  %2949 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer0.up, %2877 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2948 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc24)
  %2950 = tensor.empty() : tensor<1024x256xf32>
  %2951 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer1.down, %2879 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2950 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc24)
  %2952 = tensor.empty() : tensor<256xf32>
  %2953 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer1.norm1.bias, %2881 : tensor<256xf32>, tensor<256xf32>) outs(%2952 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2954 = tensor.empty() : tensor<256xf32>
  %2955 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer1.norm1.scale, %2883 : tensor<256xf32>, tensor<256xf32>) outs(%2954 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2956 = tensor.empty() : tensor<256xf32>
  %2957 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer1.norm2.bias, %2885 : tensor<256xf32>, tensor<256xf32>) outs(%2956 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2958 = tensor.empty() : tensor<256xf32>
  %2959 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer1.norm2.scale, %2887 : tensor<256xf32>, tensor<256xf32>) outs(%2958 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2960 = tensor.empty() : tensor<256x256xf32>
  %2961 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer1.out, %2889 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2960 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc24)
  %2962 = tensor.empty() : tensor<256x768xf32>
  %2963 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer1.qkv, %2891 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2962 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc24)
  %2964 = tensor.empty() : tensor<256x1024xf32>
  %2965 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer1.up, %2893 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2964 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc24)
  %2966 = tensor.empty() : tensor<1024x256xf32>
  %2967 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer2.down, %2895 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2966 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc24)
  %2968 = tensor.empty() : tensor<256xf32>
  %2969 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer2.norm1.bias, %2897 : tensor<256xf32>, tensor<256xf32>) outs(%2968 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2970 = tensor.empty() : tensor<256xf32>
  %2971 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer2.norm1.scale, %2899 : tensor<256xf32>, tensor<256xf32>) outs(%2970 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2972 = tensor.empty() : tensor<256xf32>
  %2973 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer2.norm2.bias, %2901 : tensor<256xf32>, tensor<256xf32>) outs(%2972 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2974 = tensor.empty() : tensor<256xf32>
  %2975 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer2.norm2.scale, %2903 : tensor<256xf32>, tensor<256xf32>) outs(%2974 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2976 = tensor.empty() : tensor<256x256xf32>
  %2977 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer2.out, %2905 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2976 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc24)
  %2978 = tensor.empty() : tensor<256x768xf32>
  %2979 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer2.qkv, %2907 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2978 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc24)
  %2980 = tensor.empty() : tensor<256x1024xf32>
  %2981 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer2.up, %2909 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2980 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc24)
  %2982 = tensor.empty() : tensor<1024x256xf32>
  %2983 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer3.down, %2911 : tensor<1024x256xf32>, tensor<1024x256xf32>) outs(%2982 : tensor<1024x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<1024x256xf32> loc(#loc24)
  %2984 = tensor.empty() : tensor<256xf32>
  %2985 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer3.norm1.bias, %2913 : tensor<256xf32>, tensor<256xf32>) outs(%2984 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2986 = tensor.empty() : tensor<256xf32>
  %2987 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer3.norm1.scale, %2915 : tensor<256xf32>, tensor<256xf32>) outs(%2986 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2988 = tensor.empty() : tensor<256xf32>
  %2989 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer3.norm2.bias, %2917 : tensor<256xf32>, tensor<256xf32>) outs(%2988 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2990 = tensor.empty() : tensor<256xf32>
  %2991 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer3.norm2.scale, %2919 : tensor<256xf32>, tensor<256xf32>) outs(%2990 : tensor<256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256xf32> loc(#loc24)
  %2992 = tensor.empty() : tensor<256x256xf32>
  %2993 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer3.out, %2921 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%2992 : tensor<256x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x256xf32> loc(#loc24)
  %2994 = tensor.empty() : tensor<256x768xf32>
  %2995 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer3.qkv, %2923 : tensor<256x768xf32>, tensor<256x768xf32>) outs(%2994 : tensor<256x768xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x768xf32> loc(#loc24)
  %2996 = tensor.empty() : tensor<256x1024xf32>
  %2997 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer3.up, %2925 : tensor<256x1024xf32>, tensor<256x1024xf32>) outs(%2996 : tensor<256x1024xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<256x1024xf32> loc(#loc24)
  %2998 = tensor.empty() : tensor<64x256xf32>
  %2999 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%places, %2927 : tensor<64x256xf32>, tensor<64x256xf32>) outs(%2998 : tensor<64x256xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<64x256xf32> loc(#loc24)
  return %2929, %2931, %2933, %2935, %2937, %2939, %2941, %2943, %2945, %2947, %2949, %2951, %2953, %2955, %2957, %2959, %2961, %2963, %2965, %2967, %2969, %2971, %2973, %2975, %2977, %2979, %2981, %2983, %2985, %2987, %2989, %2991, %2993, %2995, %2997, %2999, %2411, %1907, %1913, %1919, %1925, %1931, %1937, %1943, %1949, %1955, %1961, %1967, %1973, %1979, %1985, %1991, %1997, %2003, %2009, %2015, %2021, %2027, %2033, %2039, %2045, %2051, %2057, %2063, %2069, %2075, %2081, %2087, %2093, %2099, %2105, %2111, %2117, %2125, %2133, %2141, %2149, %2157, %2165, %2173, %2181, %2189, %2197, %2205, %2213, %2221, %2229, %2237, %2245, %2253, %2261, %2269, %2277, %2285, %2293, %2301, %2309, %2317, %2325, %2333, %2341, %2349, %2357, %2365, %2373, %2381, %2389, %2397, %2405, %831 : tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>, tensor<64x256xf32>, tensor<i32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>, tensor<64x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x256xf32>, tensor<256x768xf32>, tensor<256x1024xf32>, tensor<64x256xf32>, tensor<f32>
}
#loc0 = loc("examples/transformer/transformer.py":57:8)
#loc1 = loc("examples/transformer/transformer.py":41:11)
#loc2 = loc("examples/transformer/transformer.py":42:26)
#loc3 = loc("examples/transformer/transformer.py":42:15)
#loc4 = loc("examples/transformer/transformer.py":43:12)
#loc5 = loc("examples/transformer/transformer.py":43:38)
#loc6 = loc("examples/transformer/transformer.py":43:24)
#loc7 = loc("examples/transformer/transformer.py":43:11)
#loc8 = loc("examples/transformer/transformer.py":48:25)
#loc9 = loc("examples/transformer/transformer.py":49:13)
#loc10 = loc("examples/transformer/transformer.py":50:23)
#loc11 = loc("examples/transformer/transformer.py":50:13)
#loc12 = loc("examples/transformer/transformer.py":51:42)
#loc13 = loc("examples/transformer/transformer.py":51:12)
#loc14 = loc("examples/transformer/transformer.py":52:11)
#loc15 = loc("examples/transformer/transformer.py":60:12)
#loc16 = loc("examples/transformer/transformer.py":61:28)
#loc17 = loc("examples/transformer/transformer.py":61:16)
#loc18 = loc("examples/transformer/transformer.py":61:12)
#loc19 = loc("examples/transformer/transformer.py":62:13)
#loc20 = loc("examples/transformer/transformer.py":63:11)
#loc21 = loc("examples/transformer/transformer.py":62:44)
#loc22 = loc("examples/transformer/transformer.py":67:19)
#loc23 = loc("examples/transformer/transformer.py":68:19)
#loc24 = loc("examples/transformer/transformer.py":69:11)
