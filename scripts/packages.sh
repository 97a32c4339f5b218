#!/usr/bin/env bash
# Installs what is missing of the named groups of scripts/packages.txt: scripts/packages.sh build test
# Bash alone, because on a new machine nothing else is there yet.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

release=$(. /etc/os-release && echo "${ID:-unknown}${VERSION_ID:-${VERSION_CODENAME:-}}")  # Debian's testing has no number

wanted() {  # the packages of the groups, for this release
  local group line name packages
  while read -r line; do
    line=${line%%#*}
    name=${line%%:*}
    for group in "$@"; do
      if [[ $name == "$group" || "debian${name#*@}" == "$release" && ${name%@*} == "$group" ]]; then
        echo ${line#*:}
      elif [[ $group == "$name":* ]]; then  # cross:arm64
        packages=${line#*:}
        echo ${packages//ARCH/${group#*:}}
      fi
    done
  done <packages.txt | tr ' ' '\n' | sort -u
}

missing() {
  local package architecture
  for package in "$@"; do
    [[ $package == */* ]] && command -v "${package#*/}" >/dev/null && continue
    package=${package%/*}
    architecture=$(dpkg --print-architecture)
    [[ $package == *:* ]] && architecture=${package#*:}
    dpkg-query -W -f '${Architecture} ${db:Status-Status}\n' "$package" 2>/dev/null | grep -qxE "($architecture|all) installed" || echo "$package"
  done
}

mapfile -t packages < <(wanted "$@")
if ! command -v dpkg-query >/dev/null; then
  echo "dev: no dpkg here, so what is installed cannot be told; needed, by Debian's names: ${packages[*]%/*}" >&2
  exit 0
fi
mapfile -t lacking < <(missing "${packages[@]}")
[[ ${#lacking[@]} == 0 ]] && exit 0

as_root=()
if [[ $(id -u) != 0 ]]; then
  if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
    echo "dev: these packages are missing, and installing them needs root: ${lacking[*]}" >&2
    echo "dev: fix: apt-get install ${lacking[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "dev: installing ${lacking[*]}" >&2
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120)
# A server among the packages is only a program of the tests: it must neither start now (invoke-rc.d asks the policy) nor at boot.
policy=/usr/sbin/policy-rc.d
units=/etc/systemd/system/multi-user.target.wants
log=$(mktemp)
at_boot=$(ls "$units" 2>/dev/null || true)
restore() {
  rm -f "$log"
  if [[ ${own_policy:-} ]]; then "${as_root[@]}" rm -f "$policy"; fi
  comm -13 <(echo "$at_boot") <(ls "$units" 2>/dev/null || true) | while read -r unit; do "${as_root[@]}" rm "$units/$unit"; done
}
trap restore EXIT
if [[ ! -e $policy ]]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin "$policy"
  own_policy=yes
fi
if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${lacking[@]}"; } </dev/null &>"$log"; then
  tail -20 "$log" >&2
  echo "dev: apt-get could not install: ${lacking[*]}" >&2
  exit 1
fi
