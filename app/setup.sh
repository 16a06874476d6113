# shellcheck shell=bash disable=SC2034
# Shared by app/run and tests/run: packages, the toolkit's sources, builds. To be sourced.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# If the tree is read-only, builds and downloads go to the user's cache.
builds=$root/build
if [[ ! -w $root ]]; then
  builds=${XDG_CACHE_HOME:-$HOME/.cache}/attoscope/build
  export ATTOSCOPE_IMGUI_BUNDLE=${ATTOSCOPE_IMGUI_BUNDLE:-$builds/imgui-bundle}
fi

program_packages=(
  g++ cmake ninja-build ccache pkg-config python3-pip python3-venv
  libglfw3-dev libx11-dev libepoxy-dev libegl-dev libegl1 libgl1-mesa-dri libfreetype-dev libfontconfig-dev
  nlohmann-json3-dev libcli11-dev libfmt-dev libtbb-dev libpng-dev libxxhash-dev libzip-dev zlib1g-dev
  fonts-inter fonts-jetbrains-mono fonts-dejavu-core gnuplot-nox
)
package_packages=(dpkg-dev desktop-file-utils shared-mime-info)
test_packages=(clang libopenmpi-dev openmpi-bin libgtest-dev libgmock-dev libboost-context-dev libbenchmark-dev xvfb xauth xdotool imagemagick poppler-utils aspell aspell-en locales)

say() { printf '\033[1m%s\033[0m\n' "$*"; }

# stage NAME: prints the stage that begins; .ci/run prints the seconds of each at its end.
stage() {
  say "${1^}"
  [[ -z ${ATTOSCOPE_STAGES:-} ]] || echo "$EPOCHSECONDS $1" >>"$ATTOSCOPE_STAGES"
}

# Prints the packages of "$@" that are not installed, one per line.
missing_packages() {
  comm -23 <(printf '%s\n' "$@" | sort) <(dpkg-query -W -f='${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null | sed -n 's/^ii *//p' | sort -u)
}

# Runs "$@" as root; without a terminal for the password it fails instead of asking.
as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"
  elif [[ -t 0 ]]; then sudo "$@"
  else sudo -n "$@"
  fi
}

# Installs the missing packages of "$@". A failure is only reported; the build then names what it lacks.
install_missing() {
  local missing
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "This is neither Debian nor Ubuntu, so nothing is installed; the build needs the files of these packages: $*."
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

# expected_build DIRECTORY TARGET: prints the expected time of a first build by ninja, which shows the progress itself.
expected_build() {
  [[ -f $1/build.ninja && ! -f $1/.ninja_log ]] || return 0
  local steps each=18  # tenths of a second for a step on one core
  steps=$(ninja -C "$1" -t commands "$2" | wc -l)
  echo "$steps steps to build: about $((steps * each / 10 / $(nproc) / 60 + 1)) min, less with hits of the compiler's cache."
}

# configure DIRECTORY CMAKE_OPTION...: runs CMake and reports on GPU kernels. A configured directory keeps its generator. An
# installed CUDA toolkit is used; none is installed.
configure() {
  local directory=$1
  shift
  local generator=()
  [[ -f $directory/CMakeCache.txt ]] || ! command -v ninja >/dev/null || generator=(-G Ninja)
  rm -f "$directory/gpu_attempt"
  cmake -S "$root" -B "$directory" "${generator[@]}" "$@" >"$builds/configure.log" 2>&1 ||
    { cat "$builds/configure.log"; return 1; }
  sed -n 's/^-- \(GPU kernels: .*\)/\1/p' "$builds/configure.log"
}

# prepare_build DIRECTORY TARGET: sets `build_command`. ccache finds compiled files of other clones too.
prepare_build() {
  expected_build "$1" "$2"
  export NINJA_STATUS='[%f of %t, %e s] '
  build_command=(env CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS='pch_defines,time_macros'
    cmake --build "$1" --target "$2" --parallel "$(nproc)")
}

# build_in DIRECTORY TARGET CMAKE_OPTION...: configures and builds, or fails.
build_in() {
  local directory=$1 target=$2
  shift 2
  configure "$directory" "$@" || return
  prepare_build "$directory" "$target"
  "${build_command[@]}"
}

# clang_options: CMake's options for clang, if installed: quicker than GCC without optimization, and its sanitizers check more.
clang_options() { ! command -v clang++ >/dev/null || echo -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++; }

# Succeeds if this process's group is in the foreground of the terminal.
in_foreground() {
  local group terminal_group
  read -r _ _ _ _ group _ _ terminal_group _ <"/proc/$$/stat" && [[ -t 0 && -t 1 && $group == "$terminal_group" ]]
}

# logged LOG COMMAND...: also writes the output to LOG. The command still sees a terminal, so ninja uses one line.
logged() {
  local log=$1
  shift
  if command -v script >/dev/null && in_foreground; then
    SHELL=$BASH script -qefc "$(printf '%q ' "$@")" "$log"
  else
    "$@" 2>&1 | tee "$log"
  fi
}

# Prints the first error in a log.
first_error() {
  tr '\r' '\n' <"$1" | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' |
    grep -m1 -E '(error|fatal)( *#[0-9A-Z-]+)? *:|undefined reference|Invalid record|died due to|No space left' || echo "it fails without a word"
}

# without_gpu DIRECTORY TARGET LOG CMAKE_OPTION...: builds without GPU kernels after they failed; `configure` reports the LOG's
# first error, now and the next time. If that fails too, the kernels were not the cause.
without_gpu() {
  local directory=$1 target=$2 log=$3
  shift 3
  { cat "$directory/gpu_attempt"; echo "$(first_error "$log") (all of it: $log)"; } >"$directory/gpu_failed"
  if configure "$directory" "$@"; then
    prepare_build "$directory" "$target"
    "${build_command[@]}" && return
  fi
  rm "$directory/gpu_failed"
  say "Without GPU kernels it does not build either; they will be tried again."
  return 1
}

# build_for_users DIRECTORY TARGET CMAKE_OPTION...: as build_in, but without GPU kernels if they fail and are not required. They
# are tried again when nvcc, its C++ compiler or the kernels change.
build_for_users() {
  local directory=$1 target=$2 log=$1/gpu.log status=0
  shift 2
  if configure "$directory" "$@"; then
    prepare_build "$directory" "$target"
    [[ -f $directory/gpu_attempt ]] || { "${build_command[@]}"; return; }
    logged "$log" "${build_command[@]}" || status=$?
    # above 128: ended by a signal, such as Ctrl-C
    [[ $status -gt 0 && $status -le 128 ]] || return "$status"
    ! grep -q 'interrupted by user' <(tail -n 5 "$log") || return "$status"
  else
    [[ -f $directory/gpu_attempt ]] || return
    cp "$builds/configure.log" "$log"
  fi
  without_gpu "$directory" "$target" "$log" "$@"
}

mkdir -p "$builds"
