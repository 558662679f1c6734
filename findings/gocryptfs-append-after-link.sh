#!/usr/bin/env bash
# On gocryptfs, what is appended right after a hard link was made comes after zeros that nobody wrote.
#
# A program links a file, which is a way to keep or publish it, and appends to it. Expected: the new bytes follow the old
# ones. Seen, with gocryptfs 2.3: 50 zeros are between them, in both names and for good; in a file of 10000 bytes, 114. It
# answers link() with the size of the encrypted file, which has a header and 32 more bytes for each block. Linux believes
# that for a second, and takes it for the end of the file, where O_APPEND is to write. The same append, two seconds after
# the link, is right. `stat` shows the wrong size for only that second, if nothing is appended, so the cause is gone when
# one looks. Needs /dev/fuse and the right to mount.
set -euo pipefail
folder=$(mktemp -d)
trap 'fusermount -u "$folder/plain" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
apt=(apt-get -qq -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root)
mkdir -p lists/partial cache/archives/partial encrypted plain
"${apt[@]}" update
"${apt[@]}" download gocryptfs=2.3-1+b4 fuse3=3.14.0-4
for package in *.deb; do dpkg -x "$package" .; done
PATH=$PATH:$folder/bin

mount_encrypted() { usr/bin/gocryptfs -q -nosyslog -extpass 'echo a password' encrypted plain; }
usr/bin/gocryptfs -q -init -scryptn 10 -extpass 'echo a password' encrypted
mount_encrypted
python3 - <<'PYTHON'
import os
import time

for size in [3, 10000]:
    for pause in [0, 2]:
        path = f"plain/{size} {pause}"
        with open(path, "wb") as file:
            file.write(b"o" * size)
        os.link(path, path + " linked")
        time.sleep(pause)
        with open(path, "ab") as file:
            file.write(b"new")
PYTHON
fusermount -u plain
mount_encrypted
python3 - <<'PYTHON'
for name, zeros in [("3 0", 50), ("3 2", 0), ("10000 0", 114), ("10000 2", 0)]:
    expected = b"o" * int(name.split()[0]) + bytes(zeros) + b"new"
    for path in [f"plain/{name}", f"plain/{name} linked"]:
        with open(path, "rb") as file:
            seen = file.read()
        assert seen == expected, (path, len(seen), seen[-200:])
PYTHON
echo 'ok: on gocryptfs 2.3, an append right after link() leaves 50 zeros after 3 bytes and 114 after 10000; later, none'
