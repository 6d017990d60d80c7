#!/bin/sh
# Everything of a release, from the sources of HEAD: release.sh [OUT]. OUT is out/release by default; $BUILD, the build
# folder, build-release; $CMAKE_ARGS, more for CMake, such as ccache for a trial. Equal sources give equal bytes,
# wherever they lie: dates are those of the commit.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
mkdir -p "${1:-out/release}"
out=$(cd "${1:-out/release}" && pwd)
mkdir -p "${BUILD:-build-release}"
build=$(cd "${BUILD:-build-release}" && pwd)
python=${PARSNETS_PYTHON:-/usr/bin/python3}
jobs=${JOBS:-$(nproc)}
version=$(sed -n 's/^project(parsnets VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "${out:?}"/*

say() { printf '%s\n' "$*"; }

# A folder of $work as an archive that depends on its content alone.
gzip_n() { gzip -n "$@"; }
pack() {
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu -cf - "$1" |
    "$2" -9 > "$3"
}

# configure PORTABLE: only the linking differs, nothing is compiled again.
configure() {
  # shellcheck disable=SC2086 # several words
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DPARSNETS_BUILD_TESTS=OFF \
    -DPARSNETS_BUILD_BENCH=OFF -DPARSNETS_UNITY=ON -DPARSNETS_DEBIAN=ON -DPARSNETS_PORTABLE="$1" \
    -DCMAKE_CXX_COMPILER_LAUNCHER= -DCMAKE_C_COMPILER_LAUNCHER= ${CMAKE_ARGS:-} > "$work/log" || { cat "$work/log"; exit 1; }
  cmake --build "$build" -j "$jobs" > "$work/log" || { tail -n 40 "$work/log"; exit 1; }
}

say "programs and libraries, in $build"
configure ON
portable=$work/portable
mkdir -p "$portable/src"
cp "$build/parsnets" "$build/parsnets-decode" "$portable"
cp -L "$build/src/libparsnets.so" "$portable/src"
configure OFF

say "Debian packages"
(cd "$build" && cpack -G DEB -B "$work/deb" > "$work/log" 2>&1) || { cat "$work/log"; exit 1; }
# CPack adds scripts that call ldconfig; the trigger does.
for package in "$work"/deb/libparsnets[0-9]*.deb; do
  dpkg-deb -R "$package" "$work/library"
  rm "$work/library/DEBIAN/postinst" "$work/library/DEBIAN/postrm"
  dpkg-deb --root-owner-group -b "$work/library" "$package" > "$work/log"
done
cp "$work"/deb/*.deb "$out"

say "wheel"
export PARSNETS_BUILD="$portable"
"$python" -m pip wheel --quiet --no-build-isolation --no-index --no-deps --wheel-dir "$work/wheels" ./python
"$python" python/packaging/vendor_libraries.py "$work"/wheels/*.whl "$out"

say "archive of the tool"
tree=parsnets-$version-linux-$(uname -m)
DESTDIR=$work/stage cmake --install "$build" --component tool > /dev/null
mkdir -p "$work/$tree"
cp -R "$work"/stage/usr/. "$work/$tree"
rm -rf "$work/$tree/share/doc" "$work/$tree/share/man/man1/parsnets.1.gz"
cp docs/parsnets.1 "$work/$tree/share/man/man1"
cp -R runtime "$work/$tree/share/parsnets/runtime"
rm -rf "$work/$tree/share/parsnets/runtime/tests"
cp LICENSE README.md CHANGELOG.md "$work/$tree"
cp "$portable/parsnets" "$portable/parsnets-decode" "$work/$tree/bin"
rm -r "${work:?}/${tree:?}/lib"  # parsnets-decode as it is installed
"$python" python/packaging/vendor_libraries.py --tree "$work/$tree"
pack "$tree" xz "$out/$tree.tar.xz"

say "sources"
git archive --prefix="parsnets-$version/" HEAD | xz -9 > "$out/parsnets-$version-source.tar.xz"
sdist=$work/parsnets-$version
mkdir -p "$sdist/engine"
git archive HEAD python LICENSE | tar -x -C "$work" -f -
cp -R "$work"/python/. "$sdist"
git archive HEAD . ':(exclude)tests' ':(exclude)bench' ':(exclude)fuzz' ':(exclude)python' ':(exclude)examples' \
  ':(exclude)npm' ':(exclude).github' | tar -x -C "$sdist/engine" -f -
rm -rf "$sdist/tests"
unzip -p "$out"/parsnets-*.whl '*.dist-info/METADATA' > "$sdist/PKG-INFO"
pack "parsnets-$version" "gzip_n" "$out/parsnets-$version.tar.gz"

if command -v npm > /dev/null; then
  say "npm package"
  (cd npm && npm pack --silent --pack-destination "$out" > /dev/null)
  mv "$out/parsnets-$version.tgz" "$out/parsnets-npm-$version.tgz"
else
  say "npm package: left out, npm is not installed"
fi

if "$python" -c 'import sphinx, myst_parser' 2> /dev/null; then
  say "documentation"
  "$python" -m sphinx -q -W --keep-going -b html -d "$work/doctrees" docs "$work/parsnets-$version-docs"
  rm -f "$work/parsnets-$version-docs/.buildinfo"
  pack "parsnets-$version-docs" xz "$out/parsnets-$version-docs.tar.xz"
else
  say "documentation: left out, Sphinx is not installed"
fi

say "SBOM"
"$python" scripts/sbom.py "$out" > "$work/sbom.json"
mv "$work/sbom.json" "$out/parsnets-$version.spdx.json"
(cd "$out" && sha256sum -- * > "$work/sums" && mv "$work/sums" SHA256SUMS)
cd "$root"
(cd "$out" && wc -c -- *)
