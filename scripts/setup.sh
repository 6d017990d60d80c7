#!/bin/sh
# Installs the Debian packages a target needs, if any are missing: says how, and asks on a terminal. Usage: setup.sh build|test|peers|...
set -eu

build="g++ cmake ninja-build pkg-config libhdf5-dev zlib1g-dev libzip-dev libseccomp-dev
       libcli11-dev nlohmann-json3-dev libfmt-dev libasio-dev node-d3"
# What reads photographs; without it everything else works.
photos="$build libopencv-dnn-dev libopencv-imgcodecs-dev"
python="$build python3 python3-numpy python3-sklearn python3-tqdm python3-venv python3-pip python3-setuptools python3-wheel"
wheel="$python patchelf"
quick_lint="clang-format shellcheck python3-pyflakes python3-pycodestyle"
one_test="$build python3 libgtest-dev libeigen3-dev libsvm-dev"
test="$wheel $one_test python3-scipy python3-h5py python3-pandas python3-matplotlib
      python3-pytest mypy openmpi-bin libopenmpi-dev python3-dask python3-distributed valgrind $quick_lint
      $photos python3-onnx python3-pil python3-yaml curl"
lint="python3 $quick_lint cppcheck"
tidy="$test clang-tidy"
clang="$test clang"
docs="$build python3 python3-numpy python3-sklearn doxygen python3-sphinx python3-myst-parser furo"
release="$wheel $photos libopenmpi-dev git gzip xz-utils unzip dpkg-dev file python3-sphinx python3-myst-parser furo"
# Backbones by name (parsnets backbone get).
backbone="python3 python3-numpy"
bench="$photos $backbone git liblinear-dev libsvm-dev python3-scipy python3-sklearn python3-torch"
# PyTorch checks the numbers of one (scripts/check_backbone.py), photographs the answers.
peers="$test octave texlive-latex-base $backbone python3-onnx python3-pil python3-torch python3-skimage python-matplotlib-data"
playground="$photos python3-numpy python3-pil"
page="$playground chromium python3-onnx"
# The runtime for browsers, and for microcontrollers under an emulator.
wasm="clang-14 lld-14"
cross_c="gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user"
microcontroller="gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
# For ARM: compilers, an emulator and what the tests ask of the host. scripts/cross.sh fetches the ARM libraries itself.
cross="cmake ninja-build pkg-config g++-aarch64-linux-gnu libc6-dev-arm64-cross gcc-arm-linux-gnueabihf
       libc6-dev-armhf-cross qemu-user node-d3 python3 python3-numpy python3-scipy python3-h5py"

needs_npm=0
case "${1:-}" in
  build) wanted=$build ;;
  photos) wanted=$photos ;;
  test) wanted=$test ;;
  one-test) wanted=$one_test ;;
  bench) wanted=$bench ;;
  peers) wanted=$peers; needs_npm=1 ;;
  backbone) wanted=$backbone; needs_npm=1 ;;
  python) wanted=$python ;;
  wheel) wanted=$wheel ;;
  playground) wanted=$playground ;;
  page) wanted=$page; needs_npm=1 ;;
  cross) wanted=$cross ;;
  wasm) wanted=$wasm ;;
  npm) wanted=""; needs_npm=1 ;;
  microcontroller) wanted=$microcontroller ;;
  targets) wanted="$microcontroller $cross_c"; needs_npm=1 ;;
  docs) wanted=$docs ;;
  release) wanted=$release; needs_npm=1 ;;
  lint) wanted=$lint ;;
  tidy) wanted=$tidy ;;
  clang) wanted=$clang ;;
  chroot) wanted=debootstrap ;;
  install-test) wanted="debootstrap python3-numpy python3-pil" ;;
  *) echo "usage: setup.sh build|photos|one-test|test|bench|peers|backbone|playground|page|python|wheel|wasm|npm|microcontroller|targets|cross|docs|release|lint|tidy|clang|chroot|install-test" >&2; exit 2 ;;
esac
[ "$needs_npm" = 0 ] || command -v npm > /dev/null || wanted="$wanted nodejs npm"  # which may come from elsewhere

missing=""
for package in $wanted; do
  status=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
  case "$status" in ii*) ;; *) missing="$missing $package" ;; esac
done
[ -n "$missing" ] || exit 0

install="apt-get -q install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ]; then
  sudo=""
elif command -v sudo >/dev/null 2>&1; then
  sudo="sudo"
else
  echo "These packages are missing. As root, run:" >&2
  echo "  apt-get update && $install" >&2
  exit 1
fi
echo "These packages are missing; this installs them:"
echo "  ${sudo:+$sudo }apt-get update && ${sudo:+$sudo }$install"
if [ -t 0 ] && [ -t 1 ] && [ -z "${CI:-}" ]; then  # elsewhere nobody can answer
  printf 'Go on? [Y/n] '
  read -r answer
  case "$answer" in [Nn]*) exit 1 ;; esac
fi
start=$(date +%s)
$sudo apt-get -q update
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive $install
echo "installed packages in $(($(date +%s) - start)) s"
