# Sourced by bin/start and bin/test: a virtual environment in .venv, with what the named requirements files ask for.
# Nothing but Python 3.11 to 3.13 is needed on the machine.

find_python() {
    for candidate in ${PYTHON:-} python3.13 python3.12 python3.11 python3; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    echo "Accord needs Python 3.11, 3.12 or 3.13; none was found. Set PYTHON to one." >&2
    return 1
}

# prepare_environment REQUIREMENTS-FILE: calls pip only when the files changed since they were last installed. What pip
# says is shown where it fails: else its many warnings would bury how long this takes.
prepare_environment() {
    if [ ! -x .venv/bin/python ] || ! .venv/bin/python -c '' 2>/dev/null; then
        python=$(find_python) || return 1
        echo "Making .venv with $("$python" --version) ..."
        "$python" -m venv --clear .venv || {
            echo "The virtual environment could not be made (on Debian: apt-get install python3-venv)." >&2
            return 1
        }
    fi
    wanted=$(cat requirements.txt "$1" | .venv/bin/python -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())')
    stamp=".venv/installed-$(basename "$1" .txt)"
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
        echo "Installing $1 (about two minutes, once) ..."
        .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$1" >.venv/pip.log 2>&1 || {
            cat .venv/pip.log >&2
            echo "$1 could not be installed. What pip said stands above, and in .venv/pip.log." >&2
            return 1
        }
        echo "$wanted" >"$stamp"
    fi
}
