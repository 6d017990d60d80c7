#!/bin/sh
# Runs `make demo` and `make test` of HEAD on a bare Debian 12 in build-chroot, where nothing is installed but what
# README.md asks for. Needs root. Packages come from where this machine's apt takes them. Real data ($PARSNETS_DATA or
# ../shared/data) is mounted read-only if it is there. Usage: stress_chroot.sh [first-test]
#   first-test   instead, the way of CONTRIBUTING.md from a clone to a first green test, and its seconds
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "stress_chroot.sh: expected to be run as root" >&2; exit 2; }
what=${1:-all}
case "$what" in all | first-test) ;; *) echo "usage: stress_chroot.sh [first-test]" >&2; exit 2 ;; esac
# Mounts of its own, which end with it.
[ "${PARSNETS_OWN_MOUNTS:-}" = 1 ] || PARSNETS_OWN_MOUNTS=1 exec unshare --mount scripts/stress_chroot.sh "$what"

base=$PWD/build-chroot/bookworm root=$PWD/build-chroot/root
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
start=$(date +%s)
git clone -q --no-hardlinks . "$root/srv/parsnets"
if [ "$what" = first-test ]; then
  run make -C /srv/parsnets one-test
  echo "from a clone to a first green test: $(($(date +%s) - start)) s on $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg)"
  exit 0
fi
run make -C /srv/parsnets demo
run make -C /srv/parsnets test
echo "make demo and make test pass on a bare Debian 12"
