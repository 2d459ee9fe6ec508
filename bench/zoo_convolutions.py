# SPDX-License-Identifier: Apache-2.0
"""Convolutions of kinds that the models of zoo.py do not have, one layer with a bias and a Relu each: in groups of several widths,
over three axes as in a video network, over one long axis as in the encoders of speech.
"""
from dataclasses import dataclass

import numpy as np

CHANNELS = 240  # of the grouped ones: every width of a group divides it


@dataclass
class Convolution:
    """`extents` are those of the input, without batch and channels; one number in `kernel`, `stride`, `dilation` stands for all axes.
    Without `padding`, the result is as large as the stride allows."""
    inputs: int
    outputs: int
    extents: tuple
    kernel: tuple | int = 3
    stride: tuple | int = 1
    dilation: int = 1
    groups: int = 1
    padding: int | None = None

    def model(self):
        """(the model, its inputs)"""
        from onnx import TensorProto, helper, numpy_helper
        def each(n):
            return list(n) if isinstance(n, tuple) else [n] * len(self.extents)
        kernel = each(self.kernel)
        pads = each(self.padding) if self.padding is not None else [self.dilation * (k - 1) // 2 for k in kernel]
        rng = np.random.default_rng(0)
        weights = rng.standard_normal((self.outputs, self.inputs // self.groups, *kernel), dtype=np.float32)
        weights /= np.sqrt(np.prod(weights.shape[1:]))
        bias = rng.standard_normal(self.outputs, dtype=np.float32)
        x = rng.standard_normal((1, self.inputs, *self.extents), dtype=np.float32)
        nodes = [helper.make_node("Conv", ["x", "w", "b"], ["sum"], kernel_shape=kernel, strides=each(self.stride),
                                  dilations=each(self.dilation), pads=pads * 2, group=self.groups),
                 helper.make_node("Relu", ["sum"], ["y"])]
        graph = helper.make_graph(nodes, "convolution", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), {"x": x}


GROUPED = {f"groups_of_{width}_{extent}": Convolution(CHANNELS, CHANNELS, (extent, extent), groups=CHANNELS // width)
           for width in (1, 2, 4, 8, 16, 24, 40) for extent in (7, 14, 28, 56)}
# The layers of the residual network of Tran et al. 2018 on 16 frames of 112 x 112, and of its form in two steps.
VIDEO = {
    "video_stem": Convolution(3, 64, (16, 112, 112), (3, 7, 7), (1, 2, 2)),
    "video_64_16x56": Convolution(64, 64, (16, 56, 56)),
    "video_128_stride_2": Convolution(64, 128, (16, 56, 56), stride=2),
    "video_128_8x28": Convolution(128, 128, (8, 28, 28)),
    "video_256_stride_2": Convolution(128, 256, (8, 28, 28), stride=2),
    "video_256_4x14": Convolution(256, 256, (4, 14, 14)),
    "video_512_stride_2": Convolution(256, 512, (4, 14, 14), stride=2),
    "video_512_2x7": Convolution(512, 512, (2, 7, 7)),
    "video_shortcut": Convolution(64, 128, (16, 56, 56), 1, 2),
    "video_in_space": Convolution(64, 144, (16, 56, 56), (1, 3, 3)),
    "video_in_time": Convolution(144, 64, (16, 56, 56), (3, 1, 1)),
}
# The encoders of Baevski et al. 2020 (1 s of sound and its places), of Radford et al. 2022, of Gulati et al. 2020, a dilated one of
# van den Oord et al. 2016.
SPEECH = {
    "speech_samples": Convolution(1, 512, (16000,), 10, 5, padding=0),
    "speech_512_k3": Convolution(512, 512, (3199,), 3, 2, padding=0),
    "speech_512_k2": Convolution(512, 512, (199,), 2, 2, padding=0),
    "speech_places": Convolution(768, 768, (499,), 128, groups=16, padding=64),
    "speech_mel": Convolution(80, 384, (3000,)),
    "speech_mel_stride_2": Convolution(384, 384, (3000,), stride=2),
    "speech_depthwise": Convolution(256, 256, (500,), 31, groups=256),
    "speech_dilated": Convolution(128, 128, (4000,), 3, dilation=16),
}
CONVOLUTIONS = GROUPED | VIDEO | SPEECH


def export(name, path):
    import onnx
    model, inputs = CONVOLUTIONS[name].model()
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return inputs
