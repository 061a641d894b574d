# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles of well-known models from the shapes of their layers and a device's rates.

    python examples/profiles/generate.py [--check] [FOLDER]

writes a file for each model to FOLDER (default: the one of this script), in the
format that `cs-translate --import-aicb` reads: per line a layer with the times of
its forward pass, its input gradient, its weight gradient and its update in ns, and
the bytes of its gradient. --check compares with the files that are there instead.
README.md says where shapes and rates are from.
"""
import argparse
import dataclasses
import pathlib
import sys


@dataclasses.dataclass
class Device:
    """Rates that a device reaches: operations and bytes per second."""

    operations: float
    bandwidth: float
    bytes_per_value: int  # of activations and of weights as they are computed with

    def ns(self, operations, values):
        """Time of so many operations and values read and written: the slower one."""
        seconds = max(operations / self.operations,
                      values * self.bytes_per_value / self.bandwidth)
        return round(seconds * 1e9)

    def update_ns(self, parameters):
        """SGD in f32 reads a parameter and its gradient, and writes it back."""
        return round(parameters * 12 / self.bandwidth * 1e9)


# Half of the peak rate of matrix products, 80 % of that of memory.
V100_F32 = Device(0.5 * 15.7e12, 0.8 * 900e9, 4)
A100_BF16 = Device(0.5 * 312e12, 0.8 * 2039e9, 2)


class Model:
    """Rows of a profile in the order of the forward pass."""

    def __init__(self, device):
        self.device = device
        self.rows = []
        self.parameters = 0
        self.first = True

    def layer(self, name, tensors, forward, input_gradient, weight_gradient):
        """A layer with its tensors (name, elements): a row each. The last one has the
        times, so that all are needed before the forward pass and made by the end of
        the backward one."""
        if self.first:
            input_gradient = 0  # of data
            self.first = False
        tensors = tensors or [("", 0)]
        for index, (suffix, elements) in enumerate(tensors):
            times = [0, 0, 0]
            if index + 1 == len(tensors):
                times = [forward, input_gradient, weight_gradient]
            self.rows.append((name + suffix, *times, 4 * elements,
                              self.device.update_ns(elements)))
            self.parameters += elements

    def product(self, name, rows, inputs, outputs, bias=True, weight=True, groups=1):
        """A matrix product of rows x inputs with inputs x outputs, `groups` times."""
        values = groups * (rows * inputs + inputs * outputs + rows * outputs)
        time = self.device.ns(2 * groups * rows * inputs * outputs, values)
        tensors = [(".weight", inputs * outputs)] if weight else []
        if bias:
            tensors.append((".bias", outputs))
        self.layer(name, tensors, time, time, time)

    def convolution(self, name, batch, inputs, outputs, kernel, size, stride=1, bias=False):
        """A square convolution; `size` is that of its output. Returns `size`."""
        weights = inputs * outputs * kernel * kernel
        operations = 2 * batch * size * size * weights
        values = batch * (inputs * (size * stride) ** 2 + outputs * size * size) + weights
        time = self.device.ns(operations, values)
        tensors = [(".weight", weights)] + ([(".bias", outputs)] if bias else [])
        self.layer(name, tensors, time, time, time)
        return size

    def elementwise(self, name, values, reads=1, tensors=()):
        """Reads `reads` times `values` values and writes them once; backwards it reads
        the gradient in addition. Gradients of its tensors read both once more."""
        self.layer(name, list(tensors), self.device.ns(0, (reads + 1) * values),
                   self.device.ns(0, (reads + 2) * values),
                   self.device.ns(0, 2 * values) if tensors else 0)

    def norm(self, name, values, channels, bias=True, relu=False):
        tensors = [(".weight", channels)] + ([(".bias", channels)] if bias else [])
        self.elementwise(name, values, reads=2 + relu, tensors=tensors)

    def text(self, title):
        lines = [f"{title}\tparameters: {self.parameters}", str(len(self.rows))]
        for name, forward, inputs, weights, size, update in self.rows:
            kind = "ALLREDUCE" if size else "NONE"
            lines.append(f"{name}\t-1\t{forward}\tNONE\t0\t{inputs}\tNONE\t0"
                         f"\t{weights}\t{kind}\t{size}\t{update}")
        return "\n".join(lines) + "\n"


def resnet50(batch=64):
    model = Model(V100_F32)

    def block(name, inputs, outputs, kernel, size, stride=1, relu=True):
        model.convolution(name + ".conv", batch, inputs, outputs, kernel, size, stride)
        model.norm(name + ".bn", batch * outputs * size * size, outputs, relu=relu)

    block("stem", 3, 64, 7, 112, 2)
    model.elementwise("maxpool", batch * 64 * 112 * 112)
    inputs = 64
    for stage, (count, width, size) in enumerate(
            [(3, 64, 56), (4, 128, 28), (6, 256, 14), (3, 512, 7)], 1):
        for index in range(count):
            name = f"layer{stage}.{index}"
            stride = 2 if index == 0 and stage > 1 else 1
            before = size * stride  # the stride is that of the 3x3 convolution
            block(name + ".1", inputs, width, 1, before)
            block(name + ".2", width, width, 3, size, stride)
            block(name + ".3", width, 4 * width, 1, size, relu=False)
            if index == 0:
                block(name + ".downsample", inputs, 4 * width, 1, size, stride, relu=False)
            inputs = 4 * width
            model.elementwise(name + ".add", batch * inputs * size * size, reads=2)
    model.elementwise("avgpool", batch * 2048 * 7 * 7)
    model.product("fc", batch, 2048, 1000)
    return model, f"ResNet-50, batch {batch}, V100 f32"


def vgg16(batch=64):
    model = Model(V100_F32)
    inputs, size, index = 3, 224, 0
    for width, count in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(count):
            model.convolution(f"features.{index}", batch, inputs, width, 3, size, bias=True)
            model.elementwise(f"relu.{index}", batch * width * size * size)
            inputs, index = width, index + 1
        model.elementwise(f"maxpool.{index}", batch * width * size * size)
        size //= 2
    for index, (inputs, outputs) in enumerate([(512 * 7 * 7, 4096), (4096, 4096), (4096, 1000)]):
        model.product(f"classifier.{index}", batch, inputs, outputs)
        model.elementwise(f"classifier.relu.{index}", batch * outputs)
    return model, f"VGG-16, batch {batch}, V100 f32"


def attention(model, name, batch, length, heads, head):
    """Scores, softmax and the weighted sum of values."""
    groups = batch * heads
    model.product(name + ".scores", length, head, length, False, False, groups)
    model.elementwise(name + ".softmax", groups * length * length)
    model.product(name + ".context", length, length, head, False, False, groups)


def bert_large(batch=16, length=512):
    return bert("BERT-large", 24, 1024, 16, batch, length)


def bert(title, layers, hidden, heads, batch, length):
    model = Model(A100_BF16)
    inner, vocabulary = 4 * hidden, 30522
    rows = batch * length
    model.elementwise("embeddings", rows * hidden, tensors=[
        (".word", vocabulary * hidden), (".position", 512 * hidden), (".type", 2 * hidden)])
    model.norm("embeddings.norm", rows * hidden, hidden)
    for index in range(layers):
        name = f"layer.{index}"
        for part in ("query", "key", "value"):
            model.product(f"{name}.{part}", rows, hidden, hidden)
        attention(model, name, batch, length, heads, hidden // heads)
        model.product(f"{name}.output", rows, hidden, hidden)
        model.norm(f"{name}.norm1", rows * hidden, hidden)
        model.product(f"{name}.intermediate", rows, hidden, inner)
        model.elementwise(f"{name}.gelu", rows * inner)
        model.product(f"{name}.dense", rows, inner, hidden)
        model.norm(f"{name}.norm2", rows * hidden, hidden)
    model.product("pooler", batch, hidden, hidden)
    model.product("next_sentence", batch, hidden, 2)
    # 15 % of the tokens are predicted; the decoder's matrix is that of the embeddings.
    masked = round(0.15 * rows)
    model.product("transform", masked, hidden, hidden)
    model.norm("transform.norm", masked * hidden, hidden)
    model.product("decoder", masked, hidden, vocabulary, weight=False)
    model.elementwise("loss", masked * vocabulary)
    return model, f"{title}, batch {batch}, length {length}, A100 bf16"


def distilbert(batch=32, length=128):
    model = Model(V100_F32)
    hidden, inner, heads, vocabulary = 768, 3072, 12, 30522
    rows = batch * length
    model.elementwise("embeddings", rows * hidden, tensors=[
        (".word", vocabulary * hidden), (".position", 512 * hidden)])
    model.norm("embeddings.norm", rows * hidden, hidden)
    for index in range(6):
        name = f"layer.{index}"
        for part in ("query", "key", "value"):
            model.product(f"{name}.{part}", rows, hidden, hidden)
        attention(model, name, batch, length, heads, hidden // heads)
        model.product(f"{name}.output", rows, hidden, hidden)
        model.norm(f"{name}.norm1", rows * hidden, hidden)
        model.product(f"{name}.intermediate", rows, hidden, inner)
        model.elementwise(f"{name}.gelu", rows * inner)
        model.product(f"{name}.dense", rows, inner, hidden)
        model.norm(f"{name}.norm2", rows * hidden, hidden)
    # 15 % of the tokens are predicted; the decoder's matrix is that of the embeddings.
    masked = round(0.15 * rows)
    model.product("transform", masked, hidden, hidden)
    model.norm("transform.norm", masked * hidden, hidden)
    model.product("decoder", masked, hidden, vocabulary, weight=False)
    model.elementwise("loss", masked * vocabulary)
    return model, f"DistilBERT, batch {batch}, length {length}, V100 f32"


def gpt2_xl(batch=4, length=1024):
    model = Model(A100_BF16)
    hidden, heads, vocabulary = 1600, 25, 50257
    rows = batch * length
    model.elementwise("embeddings", rows * hidden, tensors=[
        (".token", vocabulary * hidden), (".position", 1024 * hidden)])
    for index in range(48):
        name = f"h.{index}"
        model.norm(f"{name}.ln_1", rows * hidden, hidden)
        model.product(f"{name}.attn.c_attn", rows, hidden, 3 * hidden)
        attention(model, f"{name}.attn", batch, length, heads, hidden // heads)
        model.product(f"{name}.attn.c_proj", rows, hidden, hidden)
        model.norm(f"{name}.ln_2", rows * hidden, hidden)
        model.product(f"{name}.mlp.c_fc", rows, hidden, 4 * hidden)
        model.elementwise(f"{name}.mlp.gelu", rows * 4 * hidden)
        model.product(f"{name}.mlp.c_proj", rows, 4 * hidden, hidden)
    model.norm("ln_f", rows * hidden, hidden)
    # The head's matrix is that of the token embeddings.
    model.product("head", rows, hidden, vocabulary, bias=False, weight=False)
    model.elementwise("loss", rows * vocabulary)
    return model, f"GPT-2 XL (1.5B), batch {batch}, length {length}, A100 bf16"


def llama_7b(batch=1, length=2048):
    model = Model(A100_BF16)
    hidden, inner, heads, vocabulary = 4096, 11008, 32, 32000
    rows = batch * length
    model.elementwise("embeddings", rows * hidden, tensors=[(".token", vocabulary * hidden)])
    for index in range(32):
        name = f"layers.{index}"
        model.norm(f"{name}.attention_norm", rows * hidden, hidden, bias=False)
        for part in ("wq", "wk", "wv"):
            model.product(f"{name}.{part}", rows, hidden, hidden, bias=False)
        model.elementwise(f"{name}.rotary", 2 * rows * hidden)
        attention(model, name, batch, length, heads, hidden // heads)
        model.product(f"{name}.wo", rows, hidden, hidden, bias=False)
        model.norm(f"{name}.ffn_norm", rows * hidden, hidden, bias=False)
        model.product(f"{name}.w1", rows, hidden, inner, bias=False)
        model.product(f"{name}.w3", rows, hidden, inner, bias=False)
        model.elementwise(f"{name}.silu", rows * inner, reads=2)
        model.product(f"{name}.w2", rows, inner, hidden, bias=False)
    model.norm("norm", rows * hidden, hidden, bias=False)
    model.product("output", rows, hidden, vocabulary, bias=False)
    model.elementwise("loss", rows * vocabulary)
    return model, f"Llama-7B, batch {batch}, length {length}, A100 bf16"


# With the numbers of parameters that their implementations report.
MODELS = {
    "resnet50": (resnet50, 25_557_032),
    "vgg16": (vgg16, 138_357_544),
    "bert_large": (bert_large, 336_226_108),
    "distilbert": (distilbert, 66_985_530),
    "gpt2_xl": (gpt2_xl, 1_557_611_200),
    "llama_7b": (llama_7b, 6_738_415_616),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--check", action="store_true",
                        help="compare with the files in the folder, and write nothing")
    arguments = parser.parse_args()
    status = 0
    for name, (make, parameters) in MODELS.items():
        model, title = make()
        if model.parameters != parameters:
            sys.exit(f"{name}: parameters must be {parameters}, got: {model.parameters}")
        path = arguments.folder / f"{name}.txt"
        text = model.text(title)
        if arguments.check:
            if not path.exists() or path.read_text() != text:
                print(f"{path} must be what generate.py makes: run it again", file=sys.stderr)
                status = 1
        else:
            path.write_text(text)
    sys.exit(status)


if __name__ == "__main__":
    main()
