#!/bin/sh
# Sees to it that PostgreSQL server programs are on this machine. Where none are found it says what it is going
# to install, then asks the system's package manager for them. Does nothing where they are found.
set -eu
. "$(dirname "$0")/as-root.sh"

found() {
    for folder in "${TASKDECK_PG_BIN:-/nonexistent}" \
        $(echo "$PATH" | tr ':' ' ') \
        /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* \
        /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin \
        /Applications/Postgres.app/Contents/Versions/*/bin; do
        if [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ]; then
            return 0
        fi
    done
    return 1
}

if found; then
    exit 0
fi

if command -v apt-get >/dev/null 2>&1; then
    echo "taskdeck: no PostgreSQL server programs found; installing the package postgresql with apt-get" >&2
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q postgresql
elif command -v dnf >/dev/null 2>&1; then
    echo "taskdeck: no PostgreSQL server programs found; installing the package postgresql-server with dnf" >&2
    as_root dnf install -y postgresql-server postgresql
elif command -v apk >/dev/null 2>&1; then
    echo "taskdeck: no PostgreSQL server programs found; installing the package postgresql with apk" >&2
    as_root apk add postgresql postgresql-client
elif command -v pacman >/dev/null 2>&1; then
    echo "taskdeck: no PostgreSQL server programs found; installing the package postgresql with pacman" >&2
    as_root pacman -S --noconfirm postgresql
elif command -v zypper >/dev/null 2>&1; then
    echo "taskdeck: no PostgreSQL server programs found; installing the package postgresql-server with zypper" >&2
    as_root zypper --non-interactive install postgresql-server postgresql
elif command -v brew >/dev/null 2>&1; then
    echo "taskdeck: no PostgreSQL server programs found; installing postgresql@17 with Homebrew" >&2
    brew install postgresql@17
else
    echo "taskdeck: no PostgreSQL server programs found, and no package manager that this script knows." >&2
    echo "Install PostgreSQL 14 to 18 and put the folder of initdb and postgres into TASKDECK_PG_BIN." >&2
    exit 1
fi

if ! found; then
    echo "taskdeck: the package was installed, but initdb and postgres were not found afterwards;" >&2
    echo "put their folder into TASKDECK_PG_BIN." >&2
    exit 1
fi
