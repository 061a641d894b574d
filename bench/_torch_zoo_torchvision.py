# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Families of torchvision's models: small ones of each where its classes take sizes, else its smallest."""
import functools

SAMPLES = 4


def _makers():
    """name -> (makes it, shape of a sample)."""
    import torch
    from torch import nn
    from torchvision import models as m
    from torchvision.models import convnext, densenet, efficientnet, maxvit, mobilenetv2, mobilenetv3, regnet, resnet, shufflenetv2, swin_transformer, vgg, vision_transformer
    from torchvision.models.segmentation import deeplabv3, fcn, lraspp
    small, part = (3, 32, 32), functools.partial
    inverted = part(mobilenetv3.InvertedResidualConfig, dilation=1, width_mult=1.0)

    def mobile_v3(hs=True):
        rows = [inverted(8, 3, 8, 8, True, "RE", 2), inverted(8, 5, 16, 16, False, "HS", 2)]
        return mobilenetv3.MobileNetV3(rows, 16, num_classes=5)

    def efficient(fused):
        rows = [efficientnet.FusedMBConvConfig(2, 3, 1, 8, 8, 1)] if fused else [efficientnet.MBConvConfig(1, 3, 1, 8, 8, 1, 1.0, 1.0)]
        rows += [efficientnet.MBConvConfig(4, 5, 2, 8, 16, 2, 1.0, 1.0)]
        return efficientnet.EfficientNet(rows, dropout=0.0, stochastic_depth_prob=0.0, num_classes=5, last_channel=16 if fused else None)

    def swin(block, merging):
        return swin_transformer.SwinTransformer([4, 4], 8, [2, 1], [2, 2], [4, 4], stochastic_depth_prob=0.0, num_classes=5, block=block, downsample_layer=merging)

    def net_of(block=resnet.BasicBlock, **options):
        return resnet.ResNet(block, [1, 1, 1, 1], num_classes=5, **options)

    def vgg_of(norm):
        net = vgg.VGG(vgg.make_layers([8, "M", 16, "M"], norm), 5)
        net.avgpool, net.classifier = nn.AdaptiveAvgPool2d(3), nn.Linear(16 * 9, 5)  # whose own has 10^8 parameters
        return net

    def alexnet():
        net = m.alexnet(num_classes=5)
        net.classifier = nn.Sequential(nn.Dropout(), nn.Linear(256 * 36, 5))
        return net

    def backbone():
        return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())

    class Backbone(nn.Module):
        def __init__(self, names):
            super().__init__()
            self.body, self.names = backbone(), names

        def forward(self, x):
            return {name: self.body(x) for name in self.names}

    class Aspp(deeplabv3.ASPP):
        def __init__(self):
            super().__init__(8, [1, 2, 3], 8)
    params = regnet.BlockParams.from_init_params(depth=4, w_0=8, w_a=8.0, w_m=2.0, group_width=8, se_ratio=0.25)
    video = (3, 4, 32, 32)
    return {
        "alexnet": (alexnet, (3, 64, 64)),
        "vgg": (part(vgg_of, False), small), "vgg with batch norm": (part(vgg_of, True), small),
        "resnet, basic": (net_of, small), "resnet, bottleneck": (part(net_of, resnet.Bottleneck), small),
        "resnext": (part(net_of, resnet.Bottleneck, groups=2, width_per_group=8), small),
        "wide resnet": (part(net_of, resnet.Bottleneck, width_per_group=128), small),
        "squeezenet": (part(m.squeezenet1_1, num_classes=5, dropout=0.0), (3, 64, 64)),
        "densenet": (lambda: densenet.DenseNet(4, (2, 2), 8, num_classes=5), small),
        "densenet, checkpointed": (lambda: densenet.DenseNet(4, (2, 2), 8, num_classes=5, memory_efficient=True), small),
        "googlenet": (part(m.googlenet, num_classes=5, aux_logits=False, init_weights=False), small),
        "inception": (part(m.inception_v3, num_classes=5, aux_logits=False, init_weights=False), (3, 80, 80)),
        "mobilenet v2": (lambda: mobilenetv2.MobileNetV2(5, 0.25, [[1, 8, 1, 1], [4, 16, 2, 2]]), small),
        "mobilenet v3": (mobile_v3, small),
        "shufflenet": (lambda: shufflenetv2.ShuffleNetV2([1, 2, 1], [8, 16, 32, 32, 32], num_classes=5), small),
        "efficientnet": (part(efficient, False), small), "efficientnet v2": (part(efficient, True), small),
        "regnet": (lambda: regnet.RegNet(params, num_classes=5, stem_width=8), small),
        "mnasnet": (part(m.mnasnet0_5, num_classes=5, dropout=0.0), small),
        "convnext": (lambda: convnext.ConvNeXt([convnext.CNBlockConfig(8, 16, 1), convnext.CNBlockConfig(16, None,
            1)], num_classes=5), small),
        "vit": (lambda: vision_transformer.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=5), small),
        "swin": (part(swin, None, swin_transformer.PatchMerging), small),
        "swin v2": (part(swin, swin_transformer.SwinTransformerBlockV2, swin_transformer.PatchMergingV2), small),
        "maxvit": (lambda: maxvit.MaxVit((32, 32), 8, 4, [8, 16], [1, 1], 4, 0.0, num_classes=5), small),
        "fcn": (lambda: fcn.FCN(Backbone(["out"]), fcn.FCNHead(8, 5)), small),
        "deeplab v3": (lambda: deeplabv3.DeepLabV3(Backbone(["out"]), nn.Sequential(Aspp(), nn.Conv2d(8, 5, 1))),
            small),
        "lraspp": (lambda: lraspp.LRASPP(Backbone(["low", "high"]), 8, 8, 5, 8), small),
        "video resnet": (lambda: m.video.VideoResNet(m.video.resnet.BasicBlock, [m.video.resnet.Conv3DSimple] * 4, [1,
            1, 1, 1], m.video.resnet.BasicStem, 5), video),
        "video r2plus1d": (lambda: m.video.VideoResNet(m.video.resnet.BasicBlock, [m.video.resnet.Conv2Plus1D] * 4,
            [1, 1, 1, 1], m.video.resnet.R2Plus1dStem, 5), video),
        "video s3d": (lambda: m.video.s3d(num_classes=5, dropout=0.0), (3, 16, 32, 32)),
        "video swin": (lambda: m.video.swin_transformer.SwinTransformer3d([2, 4, 4], 8, [1, 1], [2, 2], [2, 4, 4],
            stochastic_depth_prob=0.0, num_classes=5), video),
        "video mvit": (lambda: m.video.mvit.MViT((32, 32), 4, [m.video.mvit.MSBlockConfig(1, 8, 16, [3, 3, 3], [1, 2,
            2], [], []), m.video.mvit.MSBlockConfig(2, 16, 16, [3, 3, 3], [1, 1, 1], [3, 3, 3], [1, 2, 2])],
                                                 False, False, False, num_classes=5, stochastic_depth_prob=0.0), video),
        "raft": (lambda: m.optical_flow.raft_small(), (6, 128, 128)),
    }


def _loss(model, x, y):
    import torch.nn.functional as F
    out = model(x[:, :3], x[:, 3:]) if x.shape[1] == 6 else model(x)
    if isinstance(out, list):  # flows, of each round
        return sum(flow.abs().mean() for flow in out)
    out = out["out"] if isinstance(out, dict) else out
    if out.dim() == 4:
        out = out.permute(0, 2, 3, 1).flatten(0, 2)
        y = y.repeat_interleave(len(out) // len(y))
    return F.cross_entropy(out, y)


def _batch(shape, g):
    import torch
    return (torch.randn(SAMPLES, *shape, generator=g), torch.randint(0, 5, (SAMPLES,), generator=g))


def models():
    """name -> (makes it, loss of the model and a batch, batch of a generator)."""
    return {f"torchvision/{n}": (make, _loss, functools.partial(_batch, shape)) for n, (make, shape) in _makers().items()}
