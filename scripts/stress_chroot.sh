#!/bin/sh
# Runs `make demo` and `make test` of HEAD on a bare Debian 12 in build-chroot, where nothing is installed but what
# README.md asks for. Needs root. Packages come from where this machine's apt takes them. Real data ($PARSNETS_DATA or
# ../shared/data) is mounted read-only if it is there.
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "stress_chroot.sh: expected to be run as root" >&2; exit 2; }
# Mounts of its own, which end with it.
[ "${1:-}" = inside ] || exec unshare --mount scripts/stress_chroot.sh inside

base=$PWD/build-chroot/base root=$PWD/build-chroot/root
data=${PARSNETS_DATA:-../shared/data}

if [ ! -d "$base" ]; then
  # shellcheck disable=SC2016 # apt-get expands these
  mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "bookworm" { print $2; exit }')
  rm -rf "$base.part"
  mkdir -p build-chroot
  debootstrap --variant=minbase bookworm "$base.part" ${mirror:+"$mirror"} > build-chroot/debootstrap.log
  mv "$base.part" "$base"
fi
rm -rf --one-file-system "$root"
cp -a "$base" "$root"
rm -rf "$root/etc/apt"
cp -a /etc/apt "$root/etc/apt"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$root/srv/shared/data"
git clone -q --no-hardlinks . "$root/srv/parsnets"

mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
if [ -d "$data" ]; then
  mount --bind "$data" "$root/srv/shared/data"
  mount -o remount,bind,ro "$root/srv/shared/data"
fi

run() {
  printf '\n# %s\n' "$*"
  # shellcheck disable=SC2046
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    $(env | grep -iE '^(http|https|ftp|no)_proxy=' || true) "$@"
}
run apt-get update -q
run apt-get install -q -y --no-install-recommends make
run make -C /srv/parsnets demo
run make -C /srv/parsnets test
echo "make demo and make test pass on a bare Debian 12"
