# Sourced by the other scripts: installs what the package needs and the machine lacks. Does nothing if nothing is
# missing.

say() { printf '%s\n' "$*" >&2; }

require_swift() {
  if ! command -v swift >/dev/null; then
    say "Swift is missing: install Swift 6.2 or newer from https://www.swift.org/install and try again."
    exit 1
  fi
}

# Prints which of the given Debian packages are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      printf '%s\n' "$package"
    fi
  done
}

# Installs what building the command line needs. Programs may come from anywhere; libraries must be Debian's packages.
require_build_packages() {
  local packages=(libleveldb-dev libssl-dev libmicrohttpd-dev libpq-dev libsqlite3-dev)
  # Swift's package manager calls git.
  command -v git >/dev/null || packages+=(git)
  install_packages "${packages[@]}"
}

# Installs what the tests and the benchmarks need, including the packages for building.
require_packages() {
  require_build_packages
  local packages=()
  command -v python3 >/dev/null || packages+=(python3)
  command -v xz >/dev/null || packages+=(xz-utils)
  command -v curl >/dev/null || packages+=(curl)
  # The tests start their own servers of PostgreSQL.
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || packages+=(postgresql)
  command -v pgbouncer >/dev/null || packages+=(pgbouncer)
  # LevelDB in Python, which writes tables with other options than the journal does.
  python3 -c 'import plyvel' 2>/dev/null || packages+=(python3-plyvel)
  install_packages "${packages[@]}"
}

# Installs the browser for the tests of the viewer's page. If that fails, these tests are skipped.
require_browser() {
  if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then return; fi
  (install_packages chromium chromium-driver) || say "There is no chromium: the tests of the page are skipped."
}

# Installs the given Debian packages that are missing, and ends the script if that fails.
install_packages() {
  local missing root=()
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    # Without apt-get or dpkg-query, nothing is installed, and the build reports what it does not find.
    return
  fi
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      say "These packages are missing, and there is no sudo; install them as root: ${missing[*]}"
      exit 1
    fi
    root=(sudo)
  fi
  say "installing ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${root[@]}" apt-get update -q &&
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -q -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    say "apt-get could not install ${missing[*]}; see above."
    exit 1
  fi
  rm -f "$log"
}
