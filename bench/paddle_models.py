# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether models of PaddlePaddle as they come are trained as Paddle's own executor trains them.

One small model of each family of paddle.vision.models, nn.Transformer, recurrent layers and an encoder as paddlenlp has
them, in float64, with weights and batches from --seed, take 2 steps by Momentum with clipping by the global norm, on 2
workers; then all parameters, the optimizer's state and running statistics are compared. --models chooses, --list names them.
Dropout, whose numbers are others than Paddle's, is set to 0.
"""
import argparse
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

BOUND, STEPS, SAMPLES, CLASSES, WORDS, LENGTH, WIDTH = 1e-6, 2, 4, 5, 20, 6, 8


def vision():
    """name -> (makes it, size of images, channels)."""
    import paddle
    v, few = paddle.vision.models, dict(num_classes=CLASSES)
    return {"ResNet-18": (lambda: v.resnet18(**few), 64, 3), "ResNet-50": (lambda: v.resnet50(**few), 64, 3),
            "ResNeXt-50": (lambda: v.resnext50_32x4d(**few), 64, 3), "Wide ResNet-50": (lambda: v.wide_resnet50_2(**few), 64, 3),
            "VGG-11": (lambda: v.vgg11(**few), 32, 3), "VGG-11 with batch norm": (lambda: v.vgg11(batch_norm=True, **few), 64, 3),
            "MobileNetV1": (lambda: v.mobilenet_v1(scale=0.25, **few), 64, 3), "MobileNetV2": (lambda: v.mobilenet_v2(scale=0.25, **few), 64, 3),
            "MobileNetV3 small": (lambda: v.mobilenet_v3_small(scale=0.35, **few), 64, 3),
            "MobileNetV3 large": (lambda: v.mobilenet_v3_large(scale=0.35, **few), 64, 3),
            "ShuffleNetV2": (lambda: v.shufflenet_v2_x0_25(**few), 64, 3), "ShuffleNetV2 swish": (lambda: v.shufflenet_v2_swish(**few), 64, 3),
            "SqueezeNet 1.0": (lambda: v.squeezenet1_0(**few), 64, 3), "SqueezeNet 1.1": (lambda: v.squeezenet1_1(**few), 64, 3),
            "DenseNet-121": (lambda: v.densenet121(**few), 64, 3), "GoogLeNet": (lambda: v.googlenet(**few), 224, 3),
            "Inception v3": (lambda: v.inception_v3(**few), 139, 3), "AlexNet": (lambda: v.alexnet(**few), 224, 3), "LeNet": (lambda: v.LeNet(CLASSES), 28, 1)}


def sequences():
    """name -> makes a layer that takes what an embedding gives, [samples, LENGTH, WIDTH], and gives [samples, LENGTH, features]."""
    import paddle
    from paddle import nn

    class Whole(nn.Layer):
        def __init__(self):
            super().__init__()
            self.net = nn.Transformer(WIDTH, 2, 1, 1, 2 * WIDTH, dropout=0.0)

        def forward(self, x):
            return self.net(x, x, tgt_mask=self.net.generate_square_subsequent_mask(LENGTH))

    class Encoder(nn.Layer):
        """As BertModel of paddlenlp: positions and types, a mask made from ids, an encoder, a pooler beside."""

        def __init__(self):
            super().__init__()
            self.places, self.norm = nn.Embedding(LENGTH, WIDTH), nn.LayerNorm(WIDTH, epsilon=1e-12)
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, dropout=0.0, activation="gelu"), 2)
            self.pooler = nn.Linear(WIDTH, WIDTH)

        def forward(self, x):
            ones = paddle.ones([LENGTH], "int64")
            places = paddle.cumsum(ones, axis=0) - ones
            mask = paddle.cast(paddle.abs(x[..., 0]) > 1e9, x.dtype).unsqueeze([1, 2]) * -1e4
            out = self.encoder(self.norm(x + self.places(places)), mask)
            return out + paddle.tanh(self.pooler(out[:, 0])).unsqueeze(1)

    class Last(nn.Layer):
        def __init__(self, make):
            super().__init__()
            self.net = make()

        def forward(self, x):
            return self.net(x)[0]
    return {"Transformer": Whole, "encoder": Encoder, "LSTM": lambda: Last(lambda: nn.LSTM(WIDTH, WIDTH, num_layers=2)),
            "LSTM both ways": lambda: Last(lambda: nn.LSTM(WIDTH, WIDTH // 2, direction="bidirect")), "GRU": lambda: Last(lambda: nn.GRU(WIDTH, WIDTH)),
            "SimpleRNN": lambda: Last(lambda: nn.SimpleRNN(WIDTH, WIDTH))}


def quiet(net):
    """Without dropout."""
    from paddle import nn
    for layer in net.sublayers(include_self=True):
        if isinstance(layer, (nn.Dropout, nn.Dropout2D)):
            layer.p = 0.0
        for name in ("dropout_prob", "_dropout_p"):
            if isinstance(getattr(layer, name, None), float):
                setattr(layer, name, 0.0)
    return net


def all_models(seed):
    """name -> (makes it, loss_of, inputs, batches)."""
    import paddle_models as models
    from paddle import nn
    from paddle.nn import functional as F

    def loss(net, x, y):
        out = net(x)
        return sum(F.cross_entropy(o, y) for o in out) if isinstance(out, (list, tuple)) else F.cross_entropy(out, y)
    found = {name: (lambda make=make: quiet(make()), loss, models.image_inputs(channels, size, "float64"),
                    models.images(seed, STEPS, SAMPLES, channels, size, "float64")) for name, (make, size, channels) in vision().items()}
    for name, make in sequences().items():
        found[name] = (lambda make=make: nn.Sequential(nn.Embedding(WORDS, WIDTH), make(), nn.Linear(WIDTH, WORDS)), loss, models.TEXT_INPUTS,
                       models.texts(seed, STEPS, SAMPLES, LENGTH, WORDS))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    try:
        import jax  # noqa: F401  (before paddle)
        import paddle  # noqa: F401
    except ImportError:
        print("there is no PaddlePaddle (scripts/setup.sh --bench)", file=sys.stderr)
        sys.exit(77)
    import paddle_models as models
    import paddle_training as training
    known = all_models(arguments.seed)
    if arguments.list:
        print("\n".join(known))
        return
    for name in arguments.models or known:
        if name not in known:
            sys.exit(f"no model '{name}'; there are: {', '.join(known)}")
    rows = []
    print(f"{'model':24} {'apart':>9} {'moved':>9} {'parameters':>10} {'s':>6}")
    for name in arguments.models or known:
        began = time.monotonic()
        make, loss, inputs, batches = known[name]
        apart, moved, program, _ = training.compare(make, loss, inputs, models.optimizer("momentum", "global", rate=0.05), batches, workers=2,
                                                    seed=arguments.seed, dtype="float64")
        row = {"model": name, "apart": max(apart.values()), "moved": moved, "parameters": len(program.params)}
        row["good"] = row["apart"] <= BOUND and moved >= 1e-3 and program.mlir(0).count("= cs.gradient ") == row["parameters"]
        program.close()
        rows.append(row)
        print(f"{name:24} {row['apart']:9.1e} {moved:9.1e} {row['parameters']:10} {time.monotonic() - began:6.1f}"
              f"{'' if row['good'] else '  wrong: ' + max(apart, key=apart.get)}", flush=True)
    wrong = [r["model"] for r in rows if not r["good"]]
    print(json.dumps({"models": len(rows), "worst": max(r["apart"] for r in rows), "least_moved": min(r["moved"] for r in rows), "wrong": wrong,
                      "seed": arguments.seed}))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
