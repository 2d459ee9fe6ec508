# SPDX-License-Identifier: Apache-2.0
"""Resize and GridSample, in all their modes. Ends of a graph: what they give, nothing else reads."""
import numpy as np

from graph import Value

NEAREST = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


def picture(g, rank):
    """A map whose numbers are exact: an existing one or an input."""
    x = g.pick(lambda v: v.elem == "f32" and v.exact and v.rank == rank and 0 < v.size <= 3000)
    if x is None:
        few = [1, 2, 3, 5, 7, 9]
        x = g.input("f32", [g.rng.choice([1, 2]), g.rng.choice([1, 3])] + [g.rng.choice(few) for _ in range(rank - 2)])
    return x


def scales_of(g, extents):
    """Mostly fractions that floats do not hold, also near ones and those of exporters."""
    same = g.rng.random() < 0.4
    fractions = [g.rng.choice([0.3, 0.5, 0.6, 0.7, 1.0, 1.3, 1.5, 1.7, 2.0, 2.1, 3.0, round(g.rng.uniform(0.25, 3), 2)]) for _ in extents]
    fractions = [fractions[0]] * len(extents) if same else fractions
    return [f if e * f >= 1.01 else 1.7 for f, e in zip(fractions, extents)]


def coordinates(g, mode):
    modes = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]
    if g.opset >= 19:
        modes.append("half_pixel_symmetric")
    if mode != "cubic":
        modes.append("tf_crop_and_resize")
    return g.rng.choice(modes)


def resize(g):
    mode = g.rng.choice(["nearest", "nearest", "linear", "cubic"])
    rank = 4 if mode == "cubic" else g.rng.choice([3, 4, 4, 5])
    x = picture(g, rank)
    how = coordinates(g, mode)
    attributes = {"mode": mode, "coordinate_transformation_mode": how}
    if mode == "nearest":
        attributes["nearest_mode"] = g.rng.choice(NEAREST)
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": g.rng.choice([-0.75, -0.5]), "exclude_outside": g.rng.randint(0, 1)}
    if mode != "nearest" and g.opset >= 18 and g.rng.random() < 0.25:
        attributes["antialias"] = 1
    roi = ""
    if how == "tf_crop_and_resize":
        starts, ends = [0.0] * rank, [1.0] * rank
        for axis in range(2, rank):
            starts[axis], ends[axis] = g.rng.choice([0, 0.1, 0.25]), g.rng.choice([0.7, 1.0, 1.2])
        roi = g.constant(np.array(starts + ends, np.float32))
        attributes["extrapolation_value"] = 1.5
    if g.rng.random() < 0.7:
        scales = [1.0, 1.0, *scales_of(g, x.shape[2:])]
        sizes = [roi, g.constant(np.array(scales, np.float32))]
    else:
        sizes = [roi, "", g.ints([*x.shape[:2], *(g.rng.randint(1, 2 * e + 1) for e in x.shape[2:])])]
        if g.opset >= 18 and g.rng.random() < 0.3:
            attributes |= {"keep_aspect_ratio_policy": g.rng.choice(["not_larger", "not_smaller"]), "axes": list(range(2, rank))}
            sizes[2] = g.ints([g.rng.randint(1, 2 * e + 1) for e in x.shape[2:]])
    g.leaves.append(Value(g.node("Resize", [x, *sizes], **attributes)[0], "f32", ()))


def places(g, extent, count, corners):
    """Coordinates of points within and outside of a map, from the pixels that they mean: none half-way between two, where
    the nearest one depends on how a float rounds."""
    out = []
    for _ in range(count):
        far = g.rng.random()
        pixel = g.rng.randint(-2, extent + 1) if far < 0.85 else g.rng.choice([-1, 1]) * g.rng.randint(3 * extent, 9 * extent)
        pixel += g.rng.choice([-0.37, -0.21, 0.04, 0.13, 0.29, 0.41])
        out.append(2 * pixel / max(extent - 1, 1) - 1 if corners else (2 * pixel + 1) / extent - 1)
    return out


def grid_sample(g):
    if g.opset < 16:
        return
    rank = 5 if g.opset >= 20 and g.rng.random() < 0.2 else 4
    x = picture(g, rank)
    modes = ["bilinear", "nearest", "bicubic"] if g.opset < 20 else ["linear", "nearest"] + ["cubic"] * (rank == 4)
    corners = g.rng.randint(0, 1)
    out = [g.rng.choice([1, 2, 3, 6]) for _ in range(rank - 2)]
    count = x.shape[0] * int(np.prod(out))
    grid = np.array([places(g, e, count, corners) for e in reversed(x.shape[2:])], np.float32).T  # x comes first
    grid = grid.reshape(x.shape[0], *out, rank - 2)
    points = g.fixed_input("f32", grid) if g.rng.random() < 0.5 else g.constant(grid)
    name, = g.node("GridSample", [x, points], mode=g.rng.choice(modes), padding_mode=g.rng.choice(["zeros", "border", "reflection"]),
                   align_corners=corners)
    g.leaves.append(Value(name, "f32", ()))


EMITTERS = {resize: 3, grid_sample: 3}
