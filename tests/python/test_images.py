# SPDX-License-Identifier: Apache-2.0
"""ImageDecoder by the plug-in: found beside whatever holds the runtime, named where it is missing."""
import os
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import tilewright as tw
from emitted import command, compile_model, tool
from test_runtime_package import installed  # noqa: F401 -- a fixture

PLUGIN = Path(tw.__file__).parent / "libtilewright_images.so.0"
needs_plugin = pytest.mark.skipif(not PLUGIN.exists(), reason="built without the libraries of tools/setup.sh")
PIXELS = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3) * 14


def png(pixels):
    """As the format says it, without filters."""
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def decoder(pixel_format="RGB"):
    node = helper.make_node("ImageDecoder", ["picture"], ["image"], pixel_format=pixel_format)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("picture", 2, ["n"])],
                              [helper.make_tensor_value_info("image", 2, None)])
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20)])


def array(content):
    return np.frombuffer(content, np.uint8)


@needs_plugin
def test_the_package_has_the_plug_in():
    file = array(png(PIXELS))
    np.testing.assert_array_equal(tw.compile(decoder())(file), PIXELS)
    np.testing.assert_array_equal(tw.compile(decoder("BGR"))(file), PIXELS[:, :, ::-1])
    gray = tw.compile(decoder("Grayscale"))(file)
    np.testing.assert_allclose(gray[:, :, 0], PIXELS @ [0.299, 0.587, 0.114], atol=0.51)


@needs_plugin
def test_damage_gives_an_image_without_pixels():
    module, whole = tw.compile(decoder()), png(PIXELS)
    for file in (whole[:-30], whole[:20], b"", b"GIF89a", whole[:50] + b"\0" + whole[51:]):
        assert module(array(file)).shape == (0, 0, 3)
    np.testing.assert_array_equal(module(array(whole)), PIXELS)


@needs_plugin
def test_the_program_finds_it(tmp_path):
    compile_model(decoder(), tmp_path, "-o", "m.twm")
    np.savez(tmp_path / "in.npz", picture=array(png(PIXELS)))
    subprocess.run([command(), "run", "m.twm", "--inputs", "in.npz", "--outputs", "out.npz"], cwd=tmp_path, check=True,
                   capture_output=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["image"], PIXELS)


MAIN = """
#include <stdio.h>
#include "libdecode.h"
int main(void) {
  unsigned char file[4096];
  decode* model;
  const uint8_t* image;
  int64_t dims[3];
  const int64_t bytes = (int64_t)fread(file, 1, sizeof file, stdin);
  if (decode_create(1, &model) != 0) return 1;
  if (decode_run(model, bytes, file, &image, dims) != 0) {
    printf("%s", decode_error(model));
  } else {
    for (int64_t i = 0; i < dims[0] * dims[1] * dims[2]; ++i) printf("%d ", image[i]);
  }
  decode_release(model);
  return 0;
}
"""


def printed(program, folder):
    environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    return subprocess.run([program], cwd=folder, input=png(PIXELS), capture_output=True, check=True,
                          env=environment).stdout.decode()


def test_a_library_says_what_it_lacks_and_finds_it_beside_itself(tmp_path):
    compile_model(decoder(), tmp_path, "--emit-library", "libdecode.so")
    (tmp_path / "main.c").write_text(MAIN)
    subprocess.run(["gcc", "main.c", "libdecode.so", "-Wl,-rpath,$ORIGIN", "-o", "main"], cwd=tmp_path, check=True)
    error = printed("./main", tmp_path)
    assert "ImageDecoder is given a PNG, for which the runtime needs its plug-in libtilewright_images.so.0" in error
    assert "cannot open shared object file" in error
    if PLUGIN.exists():
        shutil.copy(PLUGIN, tmp_path)
        assert printed("./main", tmp_path).split() == [str(v) for v in PIXELS.ravel()]


def test_a_static_program_says_that_it_cannot_load(tmp_path):
    compile_model(decoder(), tmp_path, "--emit-library", "libdecode.a")
    (tmp_path / "main.c").write_text(MAIN)
    done = subprocess.run(["gcc", "-static", "main.c", "libdecode.a", "-lm", "-lpthread", "-o", "main"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert "(this program is linked without dlopen)" in printed("./main", tmp_path)


@needs_plugin
def test_a_program_links_the_decoder_in(installed, tmp_path):  # noqa: F811 -- the fixture
    tool("pkg-config")
    build = Path(command()).parent
    subprocess.run(["cmake", "--install", build, "--component", "images", "--prefix", installed], check=True,
                   stdout=subprocess.DEVNULL)
    compile_model(decoder(), tmp_path, "--emit-library", "libdecode.a")
    (tmp_path / "main.c").write_text(MAIN.replace("const int64_t bytes", "tw_set_image_decoder(tw_decode_image);\n  const int64_t bytes")
                                     .replace('#include "libdecode.h"', '#include "libdecode.h"\n#include <tilewright/runtime.h>'))
    folder = next(installed.rglob("tilewright-images.pc")).parent
    assert (folder.parent / PLUGIN.name).exists()
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "--static", "tilewright-images"], check=True, text=True,
                           env=os.environ | {"PKG_CONFIG_PATH": str(folder)}, capture_output=True).stdout.split()
    flags = [str(folder.parent / "libtilewright_images.a") if f == "-ltilewright_images" else f for f in flags]
    runtime = subprocess.run(["pkg-config", "--cflags", "tilewright-runtime"], check=True, text=True,
                             env=os.environ | {"PKG_CONFIG_PATH": str(folder)}, capture_output=True).stdout.split()
    subprocess.run(["gcc", "main.c", "libdecode.a", *runtime, *flags, "-lm", "-lpthread", "-o", "main"], cwd=tmp_path, check=True)
    assert printed("./main", tmp_path).split() == [str(v) for v in PIXELS.ravel()]
