#!/usr/bin/env bash
# fresh.sh bookworm|trixie: installs Coracle from source in a new, minimal Debian, with the commands of docs/start/install.md, then
# makes, builds and tests a project; prints what each step takes. Needs root and debootstrap.
set -euo pipefail
release=${1:?bookworm or trixie}
declare -A number=([bookworm]=12 [trixie]=13)
root=$(mktemp -d /tmp/coracle-fresh-XXXXXX)
# protoc finds its own files by way of /proc.
trap 'umount -l "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$root" "$root.log"' EXIT

step() { # name command...
  local name=$1 begin=$SECONDS
  shift
  "$@" > "$root.log" 2>&1 || { tail -30 "$root.log"; echo "FAIL $name"; exit 1; }
  printf 'PASS %-52s %4d s\n' "$name" $((SECONDS - begin))
}
inside() { chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -euc "$1"; }

packages=$(grep -A2 "<!-- packages: debian${number[$release]} -->" docs/start/install.md | grep -o 'apt-get install .*')
build=$(grep -m1 -o 'cmake -G Ninja -S \. .*' docs/start/install.md)

begin=$SECONDS
step "a minimal Debian $release" debootstrap --variant=minbase "$release" "$root" http://deb.debian.org/debian
mount -t proc proc "$root/proc"
# Settings of this machine by which apt reaches its servers.
cp -L /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
git archive --prefix=coracle/ HEAD | tar -x -C "$root/root"
step "the packages of the install page" inside "apt-get update -q && ${packages/install/install -y -q --no-install-recommends}"
step "the build of the install page" inside "cd /root/coracle && $build && cmake --build build --parallel && cmake --install build"
step "coracle new, build and test" inside "cd /root && coracle new movies && cd movies && cmake --preset release && cmake --build build --parallel && ctest --preset release"
step "with TLS" inside "cd /root && coracle new secure --tls && cd secure && cmake --preset release && cmake --build build --parallel && ctest --preset release"
echo "$release: $((SECONDS - begin)) s in all"
