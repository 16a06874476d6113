# shellcheck shell=bash disable=SC2034
# What app/run and tests/run share: packages, the toolkit's sources, builds. To be sourced.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

program_packages=(
  g++ cmake ninja-build ccache pkg-config python3-pip python3-venv
  libglfw3-dev libepoxy-dev libegl-dev libegl1 libgl1-mesa-dri libfreetype-dev libfontconfig-dev
  nlohmann-json3-dev libcli11-dev libfmt-dev libtbb-dev libpng-dev libxxhash-dev libzip-dev zlib1g-dev
  fonts-inter fonts-jetbrains-mono fonts-dejavu-core gnuplot-nox
)
package_packages=(dpkg-dev desktop-file-utils shared-mime-info)
test_packages=(clang libopenmpi-dev openmpi-bin libgtest-dev libgmock-dev libbenchmark-dev xvfb xauth xdotool libx11-dev imagemagick poppler-utils aspell aspell-en)

say() { printf '\033[1m%s\033[0m\n' "$*"; }

# The packages among "$@" that are not installed, one a line.
missing_packages() {
  comm -23 <(printf '%s\n' "$@" | sort) <(dpkg-query -W -f='${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null | sed -n 's/^ii *//p' | sort -u)
}

# Runs "$@" as root, or fails without asking anything when that needs more than a password typed at a terminal.
as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"
  elif [[ -t 0 ]]; then sudo "$@"
  else sudo -n "$@"
  fi
}

# Installs those of the packages "$@" that are missing. Where it cannot, it says so and goes on: the build names what it needs.
install_missing() {
  local missing
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "This is neither Debian nor Ubuntu, so nothing is installed; the build needs what these packages hold: $*."
    return
  fi
  mapfile -t missing < <(missing_packages "$@")
  [[ ${#missing[@]} == 0 ]] && return
  say "Installing ${missing[*]}."
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Dpkg::Use-Pty=0)
  if ! { as_root "${apt[@]}" update && as_root "${apt[@]}" install --no-install-recommends "${missing[@]}"; }; then
    say "Cannot install ${missing[*]} (it takes root or sudo, and a reachable package mirror); going on without."
  fi
}

# expected_build DIRECTORY TARGET: one sentence about how long a first build by ninja takes; how far it is, ninja says itself.
expected_build() {
  [[ -f $1/build.ninja && ! -f $1/.ninja_log ]] || return 0
  local steps each=18  # tenths of a second for a step on one core
  steps=$(ninja -C "$1" -t commands "$2" | wc -l)
  echo "$steps steps to build: about $((steps * each / 10 / $(nproc) / 60 + 1)) min, less where the compiler's cache knows them."
}

# build_in DIRECTORY TARGET CMAKE_OPTION...: configures, says whether there will be GPU kernels, and builds. A configured directory
# keeps its generator. The CUDA toolkit is used where it is, never installed.
build_in() {
  local directory=$1 target=$2
  shift 2
  local generator=()
  [[ -f $directory/CMakeCache.txt ]] || ! command -v ninja >/dev/null || generator=(-G Ninja)
  cmake -S "$root" -B "$directory" "${generator[@]}" "$@" >"$root/build/configure.log" 2>&1 ||
    { cat "$root/build/configure.log"; return 1; }
  sed -n 's/^-- \(GPU kernels: .*\)/\1/p; s/^-- \(There are no licences .*\)/\1/p' "$root/build/configure.log"
  expected_build "$directory" "$target"
  export NINJA_STATUS='[%f of %t, %e s] '
  # compiled files are found again from other clones too
  CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros cmake --build "$directory" --target "$target" --parallel "$(nproc)"
}

# build_with_clang TARGET...: the program without its window, and tests, under ASan and UBSan of clang, in build/clang. Fails with a
# sentence where there is no clang.
build_with_clang() {
  command -v clang++ >/dev/null || { say "There is no clang++ (package clang), so nothing is built with it."; return 1; }
  build_in "$root/build/clang" "$1" -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 \
    -DATTOSCOPE_TESTS=ON -DATTOSCOPE_GUI=OFF -DATTOSCOPE_CUDA=OFF -DATTOSCOPE_MPI=OFF -DATTOSCOPE_SANITIZE=fuzzer -DATTOSCOPE_TOGETHER=ON
}

mkdir -p "$root/build"
