#!/bin/sh
# Sees to it that what only the tests need is on this machine: libfaketime, which gives a program another time of
# day. Where it cannot be installed this says so and ends well all the same: the test that needs it then fails.
set -eu
. "$(dirname "$0")/as-root.sh"

found() {
    for library in "${TASKDECK_FAKETIME:-/nonexistent}" \
        /usr/lib/*/faketime/libfaketimeMT.so.1 \
        /usr/lib/faketime/libfaketimeMT.so.1 /usr/lib64/faketime/libfaketimeMT.so.1 \
        /usr/lib/libfaketime/libfaketimeMT.so.1 /usr/lib64/libfaketime/libfaketimeMT.so.1 \
        /usr/lib/libfaketimeMT.so.1 /usr/lib64/libfaketimeMT.so.1; do
        if [ -f "$library" ]; then
            return 0
        fi
    done
    return 1
}

# In a shell of its own each, so that what fails in there ends nothing out here.
install() (
    echo "taskdeck: the tests need libfaketime; installing it with $1" >&2
    case "$1" in
        apt-get)
            as_root apt-get update -q
            as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q libfaketime
            ;;
        dnf) as_root dnf install -y libfaketime ;;
        apk) as_root apk add libfaketime ;;
        pacman) as_root pacman -S --noconfirm libfaketime ;;
        zypper) as_root zypper --non-interactive install libfaketime ;;
    esac
)

if found; then
    exit 0
fi

for manager in apt-get dnf apk pacman zypper; do
    if command -v "$manager" >/dev/null 2>&1; then
        install "$manager" || true
        break
    fi
done

if ! found; then
    echo "taskdeck: libfaketime was not found and could not be installed: the tests of wrong clocks will fail." >&2
    echo "Install it, or put the path of libfaketimeMT.so.1 into TASKDECK_FAKETIME." >&2
fi
