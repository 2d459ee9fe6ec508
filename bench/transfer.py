#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What records of some models are worth for others that were held back, without a trial.

  transfer.py [--seconds 60] [--rounds 20] [--models FOLDER] [--folder FOLDER]

Tunes SOURCES into one file of records and HELD_BACK into another, then runs each of the latter untuned, with what is
transferred from the sources, with its own records, and untuned from another build, in turn: what that one differs by is
noise that the others have, too. The share of the gain is (untuned - transferred) / (untuned - tuned),
summed over models whose tuned gain is beyond doubt. Files of records that are there are taken as they are.
"""
import argparse
import re
import subprocess
import tempfile
from pathlib import Path

from stats import pooled, quantile
from tuned import MODELS, PROGRAM, ROOT, race, speed, told, tune

HELD_BACK = ["resnet50", "ppocr_rec", "bert_base"]
SOURCES = ["resnet18", "mobilenet_v2", "yolov8n", "ppocr_det", "minilm_l6", "gpt2_prefill64", "gpt2_decode", "lstm_lm", "dcgan", "dqn",
           "magika", "silero_vad"]


def tune_all(models, names, records, seconds):
    if records.exists():
        return
    part = records.with_suffix(".part")
    for name in names:
        tune(models / f"{name}.onnx", part, seconds)
    part.rename(records)


def transferred_kernels(model, sources):
    with tempfile.TemporaryDirectory() as folder:
        text = subprocess.run([PROGRAM, "compile", model, "-v", "--no-shipped-records", "--records", sources, "--transfer",
                               "-o", Path(folder) / "model.twm"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"(\d+) transferred", text)
    return int(found[1]) if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--models", type=Path, default=MODELS)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench/transfer")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    sources, held_back = args.folder / "sources.db", args.folder / "held_back.db"
    tune_all(args.models, SOURCES, sources, args.seconds)
    tune_all(args.models, HELD_BACK, held_back, args.seconds)
    gained = possible = 0.0
    for name in HELD_BACK:
        model = args.models / f"{name}.onnx"
        variants = [{}, {"records": sources, "transfer": True}, {"records": held_back}, {}]
        untuned, moved, tuned, again = times = race(model, variants, args.rounds)
        print(f"{name}: {transferred_kernels(model, sources)} kernels transferred; transferred {told(speed(moved, untuned))}, "
              f"tuned {told(speed(tuned, untuned))}, untuned again {told(speed(again, untuned))}", flush=True)
        if speed(tuned, untuned)[1] > 1:
            untuned, moved, tuned, _ = (quantile(pooled(t)) for t in times)
            gained, possible = gained + untuned - moved, possible + untuned - tuned
    print(f"share of the gain: {100 * gained / possible:.0f} %" if possible else "no tuned gain is beyond doubt")


if __name__ == "__main__":
    main()
