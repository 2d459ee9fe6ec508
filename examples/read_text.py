#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the text in a picture with two real models (PP-OCRv4's detector and recogniser, from the PyPI package
rapidocr-onnxruntime), compiled here, and compares numbers and speed with ONNX Runtime.

    read_text.py [PICTURE.png] [--out FOLDER]

Without a picture it draws one. The modules and the picture with the found lines are left in FOLDER.
"""
import argparse
import importlib.util
import pathlib
import sys
import time

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw, ImageFont

import tilewright as tw

LINES = ["Tilewright reads this line.", "A model went in, one small", "module came out: 2026-11-15"]


def draw():
    picture = Image.new("RGB", (640, 224), "white")
    pen = ImageDraw.Draw(picture)
    for i, line in enumerate(LINES):
        pen.text((24, 20 + 64 * i), line, fill=(20, 20, 60), font=ImageFont.load_default(size=36))
    return picture


def model(name):
    spec = importlib.util.find_spec("rapidocr_onnxruntime")
    if spec is None:
        sys.exit("the package with the models is missing: tools/setup.sh --demo installs it")
    return str(pathlib.Path(spec.submodule_search_locations[0]) / "models" / name)


def pixels(picture):
    return ((np.asarray(picture, np.float32) / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None].copy()


def lines_of(heat):
    """Boxes (left, top, right, bottom) of the rows in which the detector sees text."""
    def runs(mask):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
        return list(zip(edges[::2], edges[1::2]))
    boxes = []
    for top, bottom in runs((heat > 0.3).any(axis=1)):
        columns = np.flatnonzero((heat[top:bottom] > 0.3).any(axis=0))
        if bottom - top < 4:
            continue
        grow = int(0.6 * (bottom - top))
        boxes.append((max(0, columns[0] - grow), max(0, top - grow),
                      min(heat.shape[1], columns[-1] + grow), min(heat.shape[0], bottom + grow)))
    return boxes


def text_of(scores, alphabet):
    best = scores.argmax(axis=-1)
    return "".join(alphabet[k - 1] for k, before in zip(best, np.concatenate([[0], best[:-1]])) if k and k != before)


class Contender:
    """One model by both engines, one thread each; times and the greatest difference."""

    def __init__(self, name, out, dims):
        path, start = model(name), time.perf_counter()
        self.module = tw.compile(path, threads=1, dims=dims)
        self.compile_s = time.perf_counter() - start
        self.file = out / (name.removesuffix(".onnx") + ".twm")
        self.module.save(self.file)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.name, self.ours, self.theirs, self.difference = name, [], [], 0.0

    def run(self, x):
        feed = {self.session.get_inputs()[0].name: x}
        for times, call in ((self.ours, lambda: self.module.run([x])[0]), (self.theirs, lambda: self.session.run(None, feed)[0])):
            call()
            for _ in range(5):
                start = time.perf_counter()
                result = call()
                times.append(1e3 * (time.perf_counter() - start))
            if times is self.ours:
                mine = result
        self.difference = max(self.difference, float(np.abs(mine - result).max() / np.abs(result).max()))
        return mine

    def report(self):
        print(f"  {self.name:30} compiled in {self.compile_s:4.1f} s   ours {np.median(self.ours):7.2f} ms   ONNX Runtime "
              f"{np.median(self.theirs):7.2f} ms   difference {self.difference:.1e}   {self.file}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", nargs="?")
    parser.add_argument("--out", default="build/demo", type=pathlib.Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    picture = Image.open(args.picture).convert("RGB") if args.picture else draw()
    picture = picture.resize([max(32, 32 * round(n / 32)) for n in picture.size])
    width, height = picture.size

    detector = Contender("ch_PP-OCRv4_det_infer.onnx", args.out,
                         {"p2o.DynamicDimension.0": 1, "p2o.DynamicDimension.1": height, "p2o.DynamicDimension.2": width})
    # One module for lines of every length.
    reader = Contender("ch_PP-OCRv4_rec_infer.onnx", args.out,
                       {"p2o.DynamicDimension.0": 1, "x_2": 48, "p2o.DynamicDimension.1": (8, 1600)})
    alphabet = reader.session.get_modelmeta().custom_metadata_map["character"].split("\n") + [" "]

    boxes = lines_of(detector.run(pixels(picture))[0, 0])
    print(f"{len(boxes)} lines of text in the picture:")
    pen = ImageDraw.Draw(picture)
    for box in boxes:
        line = picture.crop(box)
        line = line.resize((max(8, round(line.width * 48 / line.height)), 48))
        text = text_of(reader.run(pixels(line))[0], alphabet)
        print(f"  {tuple(int(b) for b in box)}  {text}")
        pen.rectangle(box, outline="red", width=2)
    picture.save(args.out / "found.png")
    detector.report()
    reader.report()
    print(f"the picture with the lines: {args.out / 'found.png'}")


if __name__ == "__main__":
    main()
