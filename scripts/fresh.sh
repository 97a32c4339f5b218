#!/usr/bin/env bash
# fresh.sh bookworm|trixie [--packages]: installs Coracle in a new, minimal Debian with the commands of docs/start/install.md, from
# source or from the packages that ./dev package has made for this release. Then makes, builds and tests projects, and goes through
# the quickstart and the tutorial. Prints what each step takes. Needs root and debootstrap.
set -euo pipefail
release=${1:?bookworm or trixie}
how=${2:-}
declare -A number=([bookworm]=12 [trixie]=13)
page=docs/start/install.md
root=$(mktemp -d /tmp/coracle-fresh-XXXXXX)
# protoc finds its own files by way of /proc.
trap 'umount -l "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$root" "$root.log" "$root.cpu"' EXIT

step() { # name command...
  local name=$1 begin=$SECONDS cpu
  shift
  local TIMEFORMAT="%U %S"
  { time "$@" > "$root.log" 2>&1; } 2> "$root.cpu" || { tail -30 "$root.log"; echo "FAIL $name"; exit 1; }
  read -r -a cpu < "$root.cpu"
  printf 'PASS %-45s %4d s, %4.0f s of the CPU\n' "$name" $((SECONDS - begin)) "$(awk "BEGIN { print ${cpu[0]} + ${cpu[1]} }")"
}
inside() { chroot "$root" /usr/bin/env -i HOME=/srv PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -euc "$1"; }
apt_install() { inside "cd /srv && apt-get install -y -q ${1#*install }"; }
project() { # name options
  inside "cd /srv && coracle new $1 ${2:-} && cd $1 && cmake --preset release && cmake --build build --parallel && ctest --preset release"
}

begin=$SECONDS
step "a minimal Debian $release" debootstrap --variant=minbase "$release" "$root"
mount -t proc proc "$root/proc"
# Settings of this machine by which apt reaches its servers.
cp -L /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
step "its lists of packages" inside "apt-get update -q"
git archive --prefix=coracle/ HEAD | tar -x -C "$root/srv"
case $how in
  --packages)
    cp build/package/packages/*.deb "$root/srv/"
    step "the packages of Coracle" apt_install "$(grep -o 'apt install \./.*' "$page")"
    step "a compiler and CMake" apt_install "$(grep -m1 -x 'sudo apt-get install .*' "$page")"
    ;;
  "")
    packages=$(grep -A2 "<!-- packages: debian${number[$release]} -->" "$page" | grep -o 'apt-get install .*')
    build=$(grep -m1 -o 'cmake -G Ninja -S \. .*' "$page")
    step "the packages of the install page" apt_install "$packages"
    step "the build of the install page" inside "cd /srv/coracle && $build && cmake --build build --parallel && cmake --install build"
    ;;
  *) echo "fresh.sh: $how is not --packages" >&2; exit 2 ;;
esac
step "coracle new, build and test" project movies
step "with TLS" project secure --tls
echo "$release: $((SECONDS - begin)) s to a project with TLS"
step "Python, which goes through the pages" apt_install "install python3"
inside "PYTHONDONTWRITEBYTECODE=1 python3 /srv/coracle/tests/support/walk.py quickstart tutorial"
echo "$release: $((SECONDS - begin)) s in all"
