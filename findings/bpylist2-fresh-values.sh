#!/usr/bin/env bash
# bpylist2 takes different values for one object when encode_archive makes them on the spot.
#
# A class of one's own says in encode_archive what goes under each key. Expected: a list, a dictionary or a set that is
# made there, as by sorted(…), is stored with what is in it. Seen, with bpylist2 4.1.1: the second such list comes back as
# the first, and in an archive of a thousand objects every list is the first object's first. It knows objects again by
# id() but does not keep them, and CPython puts the next list where the last one was. Nothing fails, and the file is
# well-formed. When the program keeps each list until the archive is written, all come back as they were.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder" bpylist2==4.1.1
PYTHONPATH=$folder python3 - <<'PYTHON'
from bpylist2 import archiver


class Album:
    def __init__(self, tracks, guests):
        self.tracks, self.guests = tracks, guests

    @staticmethod
    def encode_archive(album, archive):
        archive.encode("tracks", Album.prepare(album.tracks))
        archive.encode("guests", Album.prepare(album.guests))

    @staticmethod
    def decode_archive(archive):
        return Album(archive.decode("tracks"), archive.decode("guests"))


def prepare_and_keep(names):
    kept.append(sorted(names))
    return kept[-1]


archiver.update_class_map({"Album": Album})
albums = [Album([f"track {number}"], [f"guest {number}"]) for number in range(1000)]
kept = []
all_as_first = [Album(["track 0"], ["track 0"])] * 1000
for prepare, expected in [(prepare_and_keep, albums), (sorted, all_as_first)]:
    Album.prepare = prepare
    read = archiver.unarchive(archiver.archive(albums))
    seen = [(album.tracks, album.guests) for album in read]
    assert seen == [(album.tracks, album.guests) for album in expected], (prepare, seen[:3])
PYTHON
echo 'ok: bpylist2 4.1.1 archives 2000 lists, sorted in encode_archive, as the first one; as they are if all are kept'
