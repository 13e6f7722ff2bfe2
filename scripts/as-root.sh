# To be read by the other scripts: runs a command as root, or says that it has to be.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        echo "taskdeck: run this as root, then try again: $*" >&2
        exit 1
    fi
}
